"""Networks as HPCC's simulator and SimAI have them.

HPCC: `nodes switches links`, the ids of the switches, then `a b rate delay error_rate` a link (third.cc).
SimAI: `nodes gpus_per_server nv_switches other_switches links gpu_type`, then the ids of all switches,
NVSwitches first. Nodes are numbers from 0; those that are no switch are hosts.
"""

from __future__ import annotations

from collections.abc import Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.network import Network, delay_of, rate_of
from shallows.importing.parts.source import Head, Source


def _recognises(head: Head) -> bool:
    for line in head.lines[2:3] or head.lines[1:2]:
        words = line.split()
        return len(words) in (4, 5) and rate_of(words[2]) is not None and delay_of(words[3]) is not None
    return False


def _read(source: Source, options: Mapping[str, str]) -> Content:
    network = Network(source)
    lines = source.words()
    number, first = next(lines, (1, []))
    simai = len(first) in (5, 6)
    if len(first) != 3 and not simai:
        source.stop(
            number, "must begin with nodes, switches and links (SimAI: nodes, GPUs a server, NVSwitches, ...)"
        )
    values = [source.count(number, word, "a number of the first line", most=10_000_000) for word in first[:5]]
    nodes, links = values[0], values[4] if simai else values[2]
    expected = values[2] + values[3] if simai else values[1]
    if source.faults:
        return network.content
    if nodes > 1_000_000:
        source.stop(number, "may have at most 1000000 nodes", first[0])
    switches: dict[str, int] = {}
    second = listed = 0
    errors = read = 0
    for line, words in lines:
        if listed < expected:
            listed += len(words)
            second = second or line
            for word in words:
                switches[str(source.count(line, word, "a switch", most=nodes - 1))] = line
            continue
        if not network.roles:
            _nodes(network, nodes, switches)
        read += 1
        if read > links:
            continue
        if len(words) not in (4, 5):
            source.refuse(line, "must be a link: a b rate delay error_rate", " ".join(words)[:60])
            continue
        rate, delay = rate_of(words[2]), delay_of(words[3])
        if rate is None:
            source.refuse(line, "must have a rate such as 100Gbps", words[2])
        elif delay is None:
            source.refuse(line, "must have a delay with a unit, such as 1000ns", words[3])
        else:
            network.link(line, (words[0], words[1]), rate, delay)
        errors += len(words) == 5 and words[4].strip("0.") != ""
    if not network.roles:
        _nodes(network, nodes, switches)
    if len(switches) != expected:
        source.refuse(
            second or number,
            f"must list {expected} different switches, as the first line says",
            len(switches),
        )
    ignored = []
    if read < links and not source.faults:
        source.refuse(number, f"promises {links} links, and the file has {read}", links)
    elif read > links:
        told = f"the first line says {links} links: {read - links} further lines are not read"
        ignored.append(f"{told}, as in HPCC's simulator")
    if errors:
        ignored.append(f"error rates of {errors} links")
    if simai:
        ignored.append(
            f"{values[1]} GPUs a server, {values[2]} NVSwitches, "
            f"GPU type {first[5] if len(first) > 5 else 'none'}: links alone count"
        )
    return network.done(ignored)


def _nodes(network: Network, nodes: int, switches: Mapping[str, int]) -> None:
    for name in map(str, range(nodes)):
        network.node(switches.get(name), name, "switch" if name in switches else "host")


READER = Reader(
    "topology-hpcc",
    "topology",
    "topology.txt of HPCC and SimAI",
    "alibaba-edu/High-Precision-Congestion-Control, simulation/mix/; aliyun/SimAI",
    "4 1 3\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 1000ns 0\n0 3 25Gbps 1us 0\n",
    _recognises,
    _read,
    rdma=True,
)
