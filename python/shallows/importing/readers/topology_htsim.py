"""Networks as htsim's `.topo` files have them: leaf-spines and fat-trees by tier.

The wiring is that of FatTreeTopology (fat_tree_topology.cpp): ToR t has hosts t*d to t*d+d-1; each ToR of a
pod has links to all aggregation switches of the pod; aggregation switch a has its l-th bundle of links to
core switch a mod A + A*l, for A aggregation switches a pod. With two tiers all ToRs are in one pod.
"""

from __future__ import annotations

from collections.abc import Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.network import Network
from shallows.importing.parts.source import Head, Source

_HEADER = {"nodes", "tiers", "podsize"}
_KEYS = {
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "downlink_latency_ns",
    "switch_latency_ns",
    "queue_up",
    "queue_down",
    "oversubscribed",
    "bundle",
}
Tier = dict[str, tuple[int, int]]


def _recognises(head: Head) -> bool:
    words = [line.split() for line in head.lines[:20]]
    first = {row[0].lower() for row in words if len(row) == 2}
    return "tiers" in first and "nodes" in first


def _read(source: Source, options: Mapping[str, str]) -> Content:
    network = Network(source)
    header, tiers, ignored = _values(source)
    if source.faults:
        return network.content
    value = {key: header[key][0] for key in header}
    count = len(tiers)
    for i, tier in enumerate(tiers):
        wanted = {"downlink_speed_gbps", "radix_down", "downlink_latency_ns"} | (
            {"radix_up"} if i + 1 < count else set()
        )
        for key in sorted(wanted - {*tier}):
            source.refuse(None, f"must have {key} in tier {i}")
        for key in sorted({*tier} & {"radix_down", "bundle", "downlink_speed_gbps"}):
            if tier[key][0] < 1:
                source.refuse(tier[key][1], f"{key} must be at least 1", tier[key][0])
    if source.faults:
        return network.content
    _wire(source, network, value["nodes"], value.get("podsize", value["nodes"]), tiers)
    return network.done(ignored)


def _values(source: Source) -> tuple[Tier, list[Tier], list[str]]:
    header: Tier = {}
    tiers: list[Tier] = []
    seen: Tier = header
    ignored: dict[str, None] = {}
    for line, words in source.words():
        key = words[0].lower()
        if len(words) != 2 or key not in _HEADER | _KEYS | {"tier"}:
            source.refuse(line, "must be a known key and a number", " ".join(words))
            continue
        number = source.count(line, words[1], words[0], most=10_000_000)
        if key == "tier":
            if number != len(tiers) or number > 2:
                source.refuse(line, f"must be tier {len(tiers)}", words[1])
            seen = {}
            tiers.append(seen)
            continue
        if key in seen:
            source.refuse(line, f"must not be written twice, first in line {seen[key][1]}", words[0])
        if (key in _HEADER) != (seen is header):
            source.refuse(
                line, "stands in the wrong part: nodes, tiers and podsize come before the tiers", words[0]
            )
        if key in ("queue_up", "queue_down"):
            ignored["sizes of queues (queue_up, queue_down)"] = None
        if key == "switch_latency_ns" and number:
            ignored["latency of switches is added to the links that lead into them"] = None
        seen[key] = (number, line)
    for key in ("nodes", "tiers"):
        if key not in header:
            source.refuse(None, f"must have the key {key}")
    if "tiers" in header and header["tiers"][0] != len(tiers):
        source.refuse(
            header["tiers"][1], f"promises {header['tiers'][0]} tiers, and the file has {len(tiers)}"
        )
    if not 2 <= len(tiers) <= 3:
        source.refuse(None, "must have two or three tiers", len(tiers))
    if "nodes" in header and not 1 <= header["nodes"][0] <= 131_072:
        source.refuse(header["nodes"][1], "must have 1 to 131072 nodes", header["nodes"][0])
    return header, tiers, [*ignored]


def _wire(source: Source, network: Network, nodes: int, pod: int, tiers: list[Tier]) -> None:
    """Adds hosts, switches and links; a fault where the numbers do not fit each other."""
    down = [tier["radix_down"][0] for tier in tiers]
    up = [tier.get("radix_up", (0, 0))[0] for tier in tiers]
    bundle = [tier.get("bundle", (1, 0))[0] for tier in tiers]
    three = len(tiers) == 3
    pod = pod if three else nodes

    def whole(a: int, b: int, rule: str) -> int:
        if not b or a % b:
            source.stop(None, rule, f"{a} / {b}")
        return a // b

    pods = whole(nodes, pod, "nodes must be a multiple of podsize")
    tors = whole(pod, down[0], "podsize must be a multiple of tier 0's radix_down")
    aggs = whole(up[0], bundle[1], "tier 0's radix_up must be a multiple of tier 1's bundle")
    if down[1] != tors * bundle[1]:
        rule = f"tier 1's radix_down must be {tors * bundle[1]}: {tors} ToRs a pod, {bundle[1]} links each"
        source.stop(tiers[1]["radix_down"][1], rule, down[1])
    spread = (
        whole(up[1], bundle[2], "tier 1's radix_up must be a multiple of tier 2's bundle") if three else 0
    )
    if three and down[2] != pods * bundle[2]:
        rule = f"tier 2's radix_down must be {pods * bundle[2]}: {pods} pods, {bundle[2]} links each"
        source.stop(tiers[2]["radix_down"][1], rule, down[2])
    if nodes + pods * (tors * up[0] + aggs * up[1]) > 1_000_000:
        source.stop(None, "may have at most 1000000 links")

    def link(tier: int, low: str, high: str, switches: bool) -> list[int]:
        rate, latency = tiers[tier]["downlink_speed_gbps"][0], tiers[tier]["downlink_latency_ns"][0]
        into = (
            [tiers[t].get("switch_latency_ns", (0, 0))[0] for t in (tier, tier - 1)]
            if switches
            else [
                tiers[tier].get("switch_latency_ns", (0, 0))[0],
                0,
            ]
        )
        places = []
        for _ in range(bundle[tier]):
            upward, downward = f"{latency + into[0]}ns", f"{latency + into[1]}ns"
            if upward == downward:
                places.append(network.join(None, low, high, f"{rate}Gbps", upward))
            else:
                places.append(network.join(None, low, high, f"{rate}Gbps", upward, False))
                network.join(None, high, low, f"{rate}Gbps", downward, False)
        return places

    for name in (*map(str, range(nodes)),):
        network.node(None, name, "host")
    for kind, number in (("tor", pods * tors), ("agg", pods * aggs), ("core", aggs * spread)):
        for i in range(number):
            network.node(None, f"{kind}{i}", "switch")
    for host in range(nodes):
        link(0, str(host), f"tor{host // down[0]}", False)
    for tor in range(pods * tors):
        places = [link(1, f"tor{tor}", f"agg{tor // tors * aggs + j}", True) for j in range(aggs)]
        network.content.uplinks[f"TOR {tor}"] = [place[0] for place in places]
    for agg in range(pods * aggs if three else 0):
        places = [link(2, f"agg{agg}", f"core{agg % aggs + aggs * j}", True) for j in range(spread)]
        network.content.uplinks[f"AGG {agg}"] = [place[0] for place in places]


READER = Reader(
    "topology-htsim",
    "topology",
    "htsim's .topo: leaf-spine or fat-tree by tier",
    "Broadcom/csg-htsim, sim/datacenter/topologies/; ultraethernet/uet-htsim",
    "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n"
    "Downlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 1000\n",
    _recognises,
    _read,
)
