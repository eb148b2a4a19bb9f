"""Cyclic buffer dependencies of a network: the ports that can wait for each other under flow control.

A packet that came to a switch by one port waits there for the port by which it goes on. If such waits form a
circle, the network can deadlock (Dally and Seitz 1987, of channels; Hu et al. 2016, HotNets, of PFC). Each of
several equal ways counts, whichever of them a flow's hash takes.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from shallows import _core

Port = int
Table = dict[int, list[Port]]
"""By node the next ports towards a host."""

MOST_PAIRS = 8
"""Flows that are kept of those that make a wait."""

__all__ = ["Cycle", "Network", "shortest_cycle"]


@dataclass(frozen=True)
class Cycle:
    """Ports that wait for each other in a circle, and flows (sender, receiver) that make all these waits.

    `more` has further flows, of which each makes one of the waits too.
    """

    ports: list[str]
    flows: list[tuple[str, str]]
    more: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Network:
    """Nodes and ports of a plan (`_core.plan`), and the experiment that has them, as JSON."""

    nodes: list[dict[str, Any]]
    ports: list[dict[str, Any]]
    text: str

    @classmethod
    def of(cls, experiment: Mapping[str, Any]) -> Network:
        """The network of an experiment. Raises SpecError."""
        text = json.dumps(experiment)
        plan = json.loads(_core.plan(text))
        return cls(plan["nodes"], plan["ports"], text)

    @cached_property
    def plain(self) -> bool:
        """Whether its computed tables are those of a graph of its cables: no link has a cost."""
        return _sets(self._computed) == _sets(self._tables(self._graph((), static=False)))

    @cached_property
    def _computed(self) -> list[Table]:
        """The tables without static routes."""
        document = json.loads(self.text)
        if not document.get("routing", {}).pop("routes", None):
            return self.tables()
        return self._tables(json.dumps(document))

    @cached_property
    def _static(self) -> dict[tuple[int, int], list[Port]]:
        """By node and host the next ports of static routes."""
        found: dict[tuple[int, int], list[Port]] = {}
        for row in json.loads(self.text).get("routing", {}).get("routes", []):
            at, to, via = (self._chosen(row[key]) for key in ("at", "to", "via"))
            for node in at:
                ports = [n for n, port in enumerate(self.ports) if port["from"] == node and port["to"] in via]
                found |= {(node, host): ports for host in to}
        return found

    def _chosen(self, patterns: str | list[str]) -> list[int]:
        """The nodes that one of the patterns names."""
        several = [patterns] if isinstance(patterns, str) else patterns
        return [
            place
            for place, node in enumerate(self.nodes)
            if any(_named(node["name"], pattern) for pattern in several)
        ]

    def cables(self) -> list[tuple[Port, Port]]:
        """Both ports of each cable between two switches."""
        hosts = {place for place, node in enumerate(self.nodes) if node["host"]}
        return [
            (number, port["back"])
            for number, port in enumerate(self.ports)
            if port["back"] is not None and number < port["back"] and not hosts & {port["from"], port["to"]}
        ]

    def tables(self, without: Collection[Port] = ()) -> list[Table]:
        """By host, in order, the next ports of each node towards it without some ports, as the core has them.

        A node from which a host cannot be reached has no ports towards it. A static route has the ports that
        are left, and the computed ones without any. Raises SpecError if it then leads in a circle.
        """
        return self._tables(self._graph(without) if without else self.text)

    def _graph(self, without: Collection[Port], *, static: bool = True) -> str:
        """An experiment over a graph of the cables that are left, with the static routes over them."""
        kept = [number for number in range(len(self.ports)) if number not in without]
        cables = [number for number in kept if number < self.ports[number]["back"]]
        names = {host: [n["name"] for n in self.nodes if n["host"] is host] for host in (True, False)}
        rows = [
            {
                "from": self.nodes[self.ports[number]["from"]]["name"],
                "to": self.nodes[self.ports[number]["to"]]["name"],
                "rate": f"{self.ports[number]['rate_bps']}bps",
                "delay": f"{self.ports[number]['delay_ps']}ps",
            }
            for number in cables
        ]
        hosts = names[True]
        document = {
            "duration": "1s",
            "topology": {"kind": "graph", "hosts": hosts, "switches": names[False], "links": rows},
            "queue": "drop-tail",
            "transport": {"cc": "newreno"},
            "traffic": {"any": {"kind": "bulk", "from": hosts[0], "to": hosts[1]}},
        }
        if static and (routes := self._routes(without)):
            document["routing"] = {"routes": routes}
        return json.dumps(document)

    def _routes(self, without: Collection[Port]) -> list[dict[str, Any]]:
        name = [node["name"] for node in self.nodes]
        left = {place: [p for p in ports if p not in without] for place, ports in self._static.items()}
        return [
            {"at": name[node], "to": name[host], "via": [name[self.ports[port]["to"]] for port in ports]}
            for (node, host), ports in left.items()
            if ports
        ]

    def _tables(self, text: str) -> list[Table]:
        """The tables of an experiment over these nodes, with the numbers of this network's ports."""
        plan, ways = json.loads(_core.plan(text)), json.loads(_core.ways(text))
        mine = [self._of_name(plan, port) for port in range(len(plan["ports"]))]
        node = {n["name"]: place for place, n in enumerate(self.nodes)}
        place = [node[n["name"]] for n in plan["nodes"]]
        by_host = [node[n["name"]] for n in plan["nodes"] if n["host"]]
        found: dict[int, Table] = {host: {} for host in by_host}
        for host, row in zip(by_host, plan["routes"], strict=True):
            found[host] = {place[at]: [mine[port]] for at, port in enumerate(row) if port is not None}
        for group in ways:
            for host in group["hosts"]:
                found[by_host[host]][place[group["node"]]] = [mine[port] for port in group["ports"]]
        return [found[host] for host in sorted(found)]

    def _of_name(self, plan: Mapping[str, Any], number: int) -> Port:
        """The port with the same ends: bundles lead the same way."""
        ends = [plan["nodes"][plan["ports"][number][key]]["name"] for key in ("from", "to")]
        known = {
            (self.nodes[port["from"]]["name"], self.nodes[port["to"]]["name"]): place
            for place, port in reversed(list(enumerate(self.ports)))
        }
        return known[ends[0], ends[1]]


def _named(name: str, pattern: str) -> bool:
    """Whether a pattern names a node: its name, with `*` for any text, or a range `h0..h7` (`select.rs`)."""
    if ".." not in pattern:
        return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None
    parts = [re.fullmatch(r"(.*?)([0-9]+)", one) for one in (*pattern.split("..", 1), name)]
    low, high, own = (one.groups() if one else ("", "") for one in parts)
    if not low[0] == high[0] == own[0] or not own[1]:
        return False
    width = len(low[1]) if len(low[1]) == len(high[1]) else 1
    return int(low[1]) <= int(own[1]) <= int(high[1]) and own[1] == str(int(own[1])).zfill(width)


def _sets(tables: list[Table]) -> list[dict[int, set[Port]]]:
    return [{node: set(ports) for node, ports in table.items()} for table in tables]


def shortest_cycle(network: Network, without: Collection[Port] = ()) -> Cycle | None:
    """The shortest circle of ports that wait for each other, or None: then no flows deadlock.

    Raises SpecError as `Network.tables` does.
    """
    hosts = [place for place, node in enumerate(network.nodes) if node["host"]]
    waits: dict[Port, dict[Port, list[tuple[int, int]]]] = {}
    for host, table in zip(hosts, network.tables(without), strict=True):
        for sender in (one for one in hosts if one != host):
            for port, following in _steps(network, table, sender):
                pairs = waits.setdefault(port, {}).setdefault(following, [])
                if len(pairs) < MOST_PAIRS:
                    pairs.append((sender, host))
    cycles = [found for port in waits if (found := _back_to(port, waits))]
    if not cycles:
        return None
    ports = min(cycles, key=lambda cycle: (len(cycle), cycle))
    each = [waits[a][b] for a, b in zip(ports, [*ports[1:], ports[0]], strict=True)]
    first = dict.fromkeys(pairs[0] for pairs in each)
    more = dict.fromkeys(pair for pairs in each for pair in pairs if pair not in first)
    named, others = (
        [(network.nodes[a]["name"], network.nodes[b]["name"]) for a, b in pairs] for pairs in (first, more)
    )
    return Cycle([network.ports[port]["name"] for port in ports], named, others)


def _steps(network: Network, table: Table, sender: int) -> list[tuple[Port, Port]]:
    """Each port of a sender's ways with each that follows it."""
    found, seen, ahead = [], set(), deque(table.get(sender, []))
    while ahead:
        port = ahead.popleft()
        if port in seen:
            continue
        seen.add(port)
        following = table.get(network.ports[port]["to"], [])
        found += [(port, one) for one in following]
        ahead.extend(following)
    return found


def _back_to(start: Port, waits: Mapping[Port, Mapping[Port, Any]]) -> list[Port] | None:
    """The shortest way from a port back to itself."""
    came: dict[Port, Port] = {}
    ahead = deque([start])
    while ahead:
        port = ahead.popleft()
        for following in waits.get(port, {}):
            if following == start:
                way = [port]
                while way[-1] != start:
                    way.append(came[way[-1]])
                return way[::-1]
            if following not in came:
                came[following] = port
                ahead.append(following)
    return None
