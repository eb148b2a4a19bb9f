"""One experiment from several files: a network and loads, and each choice that no file makes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from typing import Any

from shallows.errors import Fault, SpecError
from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.network import NAME

__all__ = ["Composed", "Part", "compose"]

STAR_RATE = "100Gbps"
STAR_DELAY = "1us"
LINK_TIME = "10s"
LINKS = ("rates", "opportunities")
"""Files that belong to a port."""

_SHOWN = 12


@dataclass
class Part:
    """A file that was read."""

    name: str
    reader: Reader
    content: Content


@dataclass
class Composed:
    """An experiment; `rows` are those of each load that stand in a CSV of its own, by the load's name."""

    document: dict[str, Any]
    rows: dict[str, tuple[str, list[Any]]] = field(default_factory=dict)
    chosen: list[str] = field(default_factory=list)
    """Choices that the files do not make."""


def compose(parts: Sequence[Part], hosts: str | None, title: str) -> Composed:
    """The experiment. Raises SpecError for files that do not fit together."""
    networks = [part for part in parts if part.reader.gives == "topology"]
    if len(networks) > 1:
        rule = f"must be one network; {networks[0].name} is one already"
        raise SpecError([Fault(part.name, rule) for part in networks[1:]])
    traces = [part for part in parts if part.reader.gives in LINKS]
    if traces and (networks or len(traces) > 1):
        rule = 'belongs to a link: write [port."a->b"] trace = { kind = ..., name = ... } in the experiment'
        raise SpecError([Fault(part.name, rule) for part in traces])
    loads = [part for part in parts if part.reader.gives not in ("topology", *LINKS)]
    if hosts is not None:
        _rename(loads, hosts)
    composed = Composed({"title": title, "duration": "10ms"})
    if networks:
        network = networks[0].content
        _fail_links(loads, network)
    else:
        network = _star(loads, composed, traces)
    _check_hosts(loads, network, networks[0].name if networks else "")
    links = {"hosts": _ranges(network.hosts), "switches": _ranges(network.switches), "links": network.rows}
    composed.document["topology"] = {"kind": "graph"} | links
    rdma = any(part.reader.rdma for part in parts)
    composed.document |= _transport(rdma, _buffer_kb(network))
    composed.chosen.append(_of_transport(rdma, _common_rate(network), _buffer_kb(network)))
    composed.document["traffic"] = {}
    for part in loads:
        _load(part, network, composed)
    for part in traces:
        _link(part, network, composed)
    if not loads and not traces:
        composed.chosen.append("traffic: the files have none; each host sends 1 MB to one other host")
        composed.document["traffic"]["example"] = {
            "kind": "bulk",
            "from": _ranges(network.hosts),
            "pattern": "permutation",
            "bytes": "1MB",
        }
    spans = [_time(part.content, network) for part in loads if part.reader.gives != "sizes"]
    if spans:
        length = max(spans)
        if length > 100_000:
            rule = f"takes {length:.0f} s at the rate of the hosts' links; a run has at most 100000 s"
            raise SpecError([Fault(loads[0].name, rule)])
        composed.document["duration"] = f"{max(math.ceil(length * 1000), 1)}ms"
    composed.chosen.append(f"duration: {composed.document['duration']}")
    return composed


def _rename(loads: Sequence[Part], pattern: str) -> None:
    """Gives the hosts of the loads the names of `pattern`, in which {} is the number or name in the file."""
    if pattern.count("{}") != 1 or not NAME.fullmatch(pattern.replace("{}", "0")):
        raise SpecError(
            [Fault("--hosts", "must be a name with {} in it for the number in the file", pattern, "h{}")]
        )
    for part in loads:
        names = {host: pattern.replace("{}", host) for host in part.content.hosts}
        part.content.hosts = [*names.values()]
        _apply(part, names)


def _apply(part: Part, names: Mapping[str, str]) -> None:
    if part.reader.gives == "sizes":
        return
    for row in part.content.rows:
        for end in ("from", "to"):
            if isinstance(row, dict) and row.get(end) in names:
                row[end] = names[row[end]]


def _fail_links(loads: Sequence[Part], network: Content) -> None:
    """Takes the links that files of flows declare as failed out of the network."""
    gone: set[int] = set()
    faults = []
    for part in loads:
        for switch, link, line in part.content.failures:
            links = network.uplinks.get(switch)
            if links is None or link >= len(links):
                has = f"{len(links)} links up" if links else "no such switch"
                rule = (
                    f"fails link {link} of {switch}, and the network has {has} (line {line} of {part.name})"
                )
                faults.append(Fault(part.name, rule))
                continue
            ends = {network.rows[links[link]]["from"], network.rows[links[link]]["to"]}
            same = [i for i, row in enumerate(network.rows) if {row["from"], row["to"]} == ends]
            gone |= {links[link], *(i for i in same if network.rows[i].get("duplex") is False)}
        if part.content.failures:
            part.content.understood.append(f"{len(gone)} failed links are left out of the network")
            part.content.ignored = [line for line in part.content.ignored if "failed links" not in line]
    if faults:
        raise SpecError(faults)
    network.rows = [row for i, row in enumerate(network.rows) if i not in gone]


def _star(loads: Sequence[Part], composed: Composed, traces: Sequence[Part] = ()) -> Content:
    """One switch between the hosts of all loads; with a trace alone, between a sender and a receiver."""
    hosts = dict.fromkeys(host for part in loads for host in part.content.hosts)
    if traces and not hosts:
        hosts = dict.fromkeys(("sender", "receiver"))
    renamed = {}
    for host in hosts:
        if not NAME.fullmatch(host):
            renamed[host] = re.sub(r"[^A-Za-z0-9_.-]+", "_", host).strip("_") or "host"
    for old, new in renamed.items():
        if new in hosts or [*renamed.values()].count(new) > 1:
            rule = "must be letters, digits, - _ and .; a name made of it is taken"
            raise SpecError([Fault("hosts", rule, old)])
        composed.chosen.append(f'the host "{old[:60]}" has the name {new}')
    for part in loads:
        _apply(part, renamed)
        part.content.hosts = [renamed.get(host, host) for host in part.content.hosts]
    names = [renamed.get(host, host) for host in hosts] or [f"h{i}" for i in range(8)]
    failed = [part.name for part in loads if part.content.failures]
    if failed:
        rule = "declares failed links, which belong to a network: import it with its .topo"
        raise SpecError([Fault(name, rule) for name in failed])
    hub = "switch" if "switch" not in names else "the-switch"
    composed.chosen.append(
        f"network: the files have none; {len(names)} hosts at one switch, {STAR_RATE}, {STAR_DELAY} a link"
    )
    rows = [{"from": name, "to": hub, "rate": STAR_RATE, "delay": STAR_DELAY} for name in names]
    return Content(rows, hosts=names, switches=[hub])


def _check_hosts(loads: Sequence[Part], network: Content, name: str) -> None:
    """Refuses loads whose hosts the network has not, and lists them."""
    known = {*network.hosts}
    faults = []
    for part in loads:
        lacking = [host for host in part.content.hosts if host not in known]
        if lacking:
            shown = ", ".join(lacking[:_SHOWN]) + (" ..." if len(lacking) > _SHOWN else "")
            rule = f"has {len(lacking)} hosts that {name or 'the network'} does not have"
            hint = f"it has {', '.join(network.hosts[:4])} ...; --hosts 'h{{}}' names host h7 for 7"
            faults.append(Fault(part.name, rule, shown, hint, "not-found"))
    if faults:
        raise SpecError(faults)


def _link(part: Part, network: Content, composed: Composed) -> None:
    """Lets the link to the last host follow a trace."""
    port = f"{network.switches[0]}->{network.hosts[-1]}"
    trace = {"kind": part.reader.gives, "name": ""}
    composed.document["port"] = {port: {"trace": trace}}
    composed.rows["link"] = (part.reader.gives, part.content.rows)
    composed.chosen.append(f"port: {port} follows the trace")
    if not composed.document["traffic"]:
        composed.document["duration"] = LINK_TIME
        composed.document["traffic"]["example"] = {"kind": "bulk", "from": "sender", "to": "receiver"}
        composed.chosen.append("traffic: the files have none; sender sends without end to receiver")


_KINDS = {"flows": "table", "messages": "graph", "datagrams": "datagrams"}
"""The kind of a load by the rows of its file."""


def _load(part: Part, network: Content, composed: Composed) -> None:
    """Adds the load of a file."""
    traffic = composed.document["traffic"]
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", part.name.split(".")[0]).strip("-") or "load"
    name, number = stem, 1
    while name in traffic:
        number += 1
        name = f"{stem}-{number}"
    composed.rows[name] = (part.reader.gives, part.content.rows)
    if part.reader.gives == "sizes":
        hosts = _ranges(network.hosts)
        load: dict[str, Any] = {"kind": "poisson", "from": hosts, "to": hosts, "load": 0.3}
        traffic[name] = load | {"sizes": {"kind": "empirical", "name": ""}}
        composed.chosen.append(f"traffic.{name}: arrivals at random between all hosts, load 0.3")
        return
    traffic[name] = {"kind": _KINDS[part.reader.gives], "name": ""}
    if part.reader.gives == "datagrams":
        traffic[name] |= {"from": part.content.hosts[0], "to": part.content.hosts[1]}
        return
    if part.reader.gives == "messages" and part.reader.rdma:
        return
    if part.reader.rdma:
        traffic[name]["connection"] = "persistent"
        composed.chosen.append(f"traffic.{name}: one queue pair for each sender and receiver")


def _transport(rdma: bool, buffer_kb: int) -> dict[str, Any]:
    if not rdma:
        queue = {"kind": "threshold", "limit": "250pkt", "mark_at": "65pkt"}
        return {"queue": queue, "transport": {"profile": "datacentre", "cc": "dctcp"}}
    return {
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": f"{buffer_kb}KB"}},
        "priority": {"3": {"pfc": True}, "6": {}},
        "transport": {
            "profile": "roce",
            "mtu": "1000B",
            "cc": {"kind": "dcqcn", "parameters": "vendor"},
            "cnp_interval": "4us",
            "priority": 3,
            "ack_priority": 6,
        },
    }


def _of_transport(rdma: bool, rate: float, buffer_kb: int) -> str:
    if not rdma:
        return "transport: DCTCP; ports mark at 65 packets and hold 250"
    share = rate / 25e9
    # Li 2019 (HPCC), config.txt: Kmin 100 KB and Kmax 400 KB at 25 Gb/s, in proportion to the rate.
    return (
        f"transport: RoCE with DCQCN, lossless, {buffer_kb} KB a switch; ports mark nothing, "
        "since the files have no thresholds "
        f'(as in HPCC: [queue] kind = "ramp", kmin = "{100 * share:.0f}KB", kmax = "{400 * share:.0f}KB", '
        "pmax = 0.2)"
    )


_RATE = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "": 1.0}
_SPAN = {"s": 12, "ms": 9, "us": 6, "ns": 3, "ps": 0}
_SIZE = {"KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "B": 1.0}


def _bps(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)([KMGT]?)bps", text).groups()  # type: ignore[union-attr]
    return float(number) * _RATE[unit]


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([\d.]+)(s|ms|us|ns|ps)", text.strip())
    return float(Decimal(found[1]).scaleb(_SPAN[found[2]] - 12)) if found else 0.0


def _bytes(text: str) -> float:
    found = re.fullmatch(r"([\d.]+)\s*([KMG]?i?B)", str(text).strip())
    return float(found[1]) * _SIZE.get(found[2], 1.0) if found else 0.0


def _common_rate(network: Content) -> float:
    """The rate that most links of hosts have."""
    hosts = {*network.hosts}
    rates = [row["rate"] for row in network.rows if row["from"] in hosts or row["to"] in hosts]
    return _bps(max(sorted({*rates}), key=rates.count)) if rates else 10e9


def _buffer_kb(network: Content) -> int:
    """A shared buffer of HPCC's 32 MB, or what the headrooms of the largest switch need if that is more.

    A port's headroom is the data of a round trip on its link and some packets. Three times the sum leaves
    room to share.
    """
    needed: dict[str, float] = {}
    for row in network.rows:
        headroom = 2 * _seconds(row["delay"]) * _bps(row["rate"]) / 8 + 10_000
        for end in (row["from"], row["to"]):
            needed[end] = needed.get(end, 0.0) + headroom
    most = max((needed.get(switch, 0.0) for switch in network.switches), default=0.0)
    return math.ceil(max(32e6, 3 * most + 8e6) / 1000)


def _time(content: Content, network: Content) -> float:
    """A time in seconds in which the load ends unless the network is badly crowded.

    It is the last start, 10 ms, and four times the longer of two: the bytes of the busiest host, and the
    longest chain of messages, at the slowest rate of a host's link.
    """
    hosts = {*network.hosts}
    rates = [_bps(row["rate"]) for row in network.rows if row["from"] in hosts or row["to"] in hosts]
    rate = min(rates, default=10e9)
    delay = 8 * max((_seconds(row["delay"]) for row in network.rows), default=0)
    busy: dict[str, float] = {}
    last = 0.0
    for row in content.rows:
        if not isinstance(row, dict):
            continue
        size = _bytes(row.get("bytes", ""))
        for end in ("from", "to"):
            busy[row.get(end, "")] = busy.get(row.get(end, ""), 0.0) + size
        start = _seconds(str(row.get("start", row.get("at", "0s"))))
        last = max(last, start)
    longest = _longest(content.rows, rate, delay)
    return last + 4 * max(max(busy.values(), default=0.0) * 8 / rate, longest) + 0.01


def _longest(rows: Sequence[Any], rate: float, delay: float) -> float:
    """The end of the longest chain of messages in seconds, each alone on its way; 0 for other rows."""
    ends: dict[str, float] = {}
    good = [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]
    known: set[str] = set()
    for row in good:
        if not known.issuperset(row.get("after", ())):
            good = _in_order(good)
            break
        known.add(row["id"])
    for row in good:
        ready = max((ends.get(other, 0.0) for other in row.get("after", ())), default=0.0)
        begin = max(ready, _seconds(str(row.get("start", "0s")))) + _seconds(str(row.get("delay", "0s")))
        ends[row["id"]] = begin + _bytes(row.get("bytes", "")) * 8 / rate + delay
    return max(ends.values(), default=0.0)


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, each behind those that it waits for; as they are if they wait in a circle."""
    by_id = {row["id"]: row for row in rows}
    waits = {row["id"]: [other for other in row.get("after", ()) if other in by_id] for row in rows}
    try:
        return [by_id[name] for name in TopologicalSorter(waits).static_order()]
    except CycleError:  # the checker names the circle
        return rows


def _ranges(names: Sequence[str]) -> str | list[str]:
    """The names, with runs of numbers as ranges: h0..h7."""
    runs: list[tuple[str, int, int]] = []
    for name in names:
        found = re.fullmatch(r"(.*?)(0|[1-9]\d{0,8})", name)
        if found and runs and runs[-1][0] == found[1] and runs[-1][2] == int(found[2]) - 1:
            runs[-1] = (found[1], runs[-1][1], int(found[2]))
        elif found and ".." not in name:
            runs.append((found[1], int(found[2]), int(found[2])))
        else:
            runs.append((name, -1, -1))
    spelt = [
        stem if first < 0 else f"{stem}{first}" if first == last else f"{stem}{first}..{stem}{last}"
        for stem, first, last in runs
    ]
    return spelt[0] if len(spelt) == 1 else spelt
