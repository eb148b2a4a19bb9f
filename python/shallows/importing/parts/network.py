"""A network as it is read: nodes, links, and the rules that all formats of networks share."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from shallows.importing.parts.content import Content
from shallows.importing.parts.source import Source

__all__ = ["NAME", "Network", "delay_of", "rate_of"]

NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""Names of nodes that an experiment takes."""

RATE = "10Gbps"
DELAY = "25us"
"""Rate and delay of a link whose file has none: the defaults of the topology `graph`."""

HOST_RATE = "100Gbps"
"""Rate of the link between a switch and the host that a reader adds to it."""

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTkmgt]?)(?:bps|b/s|bit/s|bits/s)", re.IGNORECASE)
_DELAY = re.compile(r"(\d+(?:\.\d+)?(?:e-?\d+)?)\s*(s|ms|us|ns|ps)")


def rate_of(text: str) -> str | None:
    """A rate with its unit, as an experiment has it; None for any other text."""
    found = _RATE.fullmatch(text.strip())
    if not found or float(found[1]) == 0:
        return None
    return f"{found[1]}{found[2].upper()}bps"


def delay_of(text: str) -> str | None:
    """A time with its unit, as an experiment has it; None for any other text."""
    found = _DELAY.fullmatch(text.strip())
    return f"{found[1]}{found[2]}" if found and "e" not in found[1] else None


class Network:
    """Collects nodes and links, and becomes a content."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.content = Content()
        self.names: dict[str, str] = {}
        self.roles: dict[str, str] = {}
        self.lines: list[int] = []
        self.joined: set[tuple[str, str]] = set()
        self.beside = 0

    def node(self, line: int | None, raw: Any, role: str) -> str:
        """Adds a node; returns its name in the experiment."""
        name = str(raw)
        if name in self.names:
            self.source.refuse(line, "must not be the name of another node", name)
            return self.names[name]
        legal = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_")[:100] or f"node{len(self.names)}"
        while legal in self.roles:
            legal += "_"
        if legal != name and len(self.content.ignored) < 20:
            self.content.ignored.append(f'the node "{name[:60]}" has the name {legal}')
        self.names[name] = legal
        self.roles[legal] = role
        (self.content.hosts if role == "host" else self.content.switches).append(legal)
        return legal

    def link(
        self, line: int | None, ends: tuple[Any, Any], rate: str, delay: str, duplex: bool = True
    ) -> int:
        """Adds a link between two nodes by their names in the file; returns its place, or -1."""
        names = [self.names.get(str(end)) for end in ends]
        for end, name in zip(ends, names, strict=True):
            if name is None:
                self.source.refuse(line, "must join nodes of this file; it has no such node", str(end))
        one, other = names
        if one is None or other is None:
            return -1
        if one == other:
            self.source.refuse(line, "must join two nodes, not one with itself", str(ends[0]))
            return -1
        return self.join(line, one, other, rate, delay, duplex)

    def join(self, line: int | None, one: str, other: str, rate: str, delay: str, duplex: bool = True) -> int:
        """Adds a link between two nodes by their names in the experiment; returns its place, or -1."""
        ways = [(one, other), (other, one)][: 2 if duplex else 1]
        self.beside += bool(self.joined & {*ways})
        self.joined |= {*ways}
        row: dict[str, Any] = {"from": one, "to": other, "rate": rate, "delay": delay}
        self.content.rows.append(row if duplex else row | {"duplex": False})
        self.lines.append(line or 0)
        return len(self.content.rows) - 1

    def done(self, ignored: Iterable[str] = ()) -> Content:
        """The content, with a sentence about its size."""
        content = self.content
        content.lines = self.lines
        rates = sorted({row["rate"] for row in content.rows})
        shown = ", ".join(rates[:6]) + (" ..." if len(rates) > 6 else "")
        content.understood.append(
            f"{len(content.hosts)} hosts, {len(content.switches)} switches, "
            f"{len(content.rows)} links ({shown})"
            + (f", {self.beside} of them beside another one" if self.beside else "")
        )
        content.ignored += ignored
        return content


_HOSTS = {"host", "server", "end-host", "endhost", "gpu", "client", "station"}
_SWITCHES = {"switch", "router", "tor", "leaf", "spine", "agg", "core"}
_ROLES = ("role", "type", "kind", "node_type", "device", "layer")
_PLACES = ("latitude", "lat", "longitude", "lon", "lng", "geolocation")
Node = Mapping[str, Any]


def of_graph(
    source: Source,
    nodes: Mapping[str, Node],
    edges: Iterable[tuple[str, str, Node]],
    directed: bool,
    hosts: str,
) -> Content:
    """The network of a graph whose nodes and edges have attributes.

    Roles are those that the attributes name. Without any, nodes with one link are hosts (`"leaves"`), or each
    node is a switch with a host of its name (`"each"`), as in wide-area networks, whose nodes are places.
    """
    edges = list(edges)
    network = Network(source)
    if hosts not in ("", "leaves", "each"):
        source.stop(None, '--option hosts must be "leaves" or "each"', hosts)
    known = {name: _role(node) for name, node in nodes.items()}
    if hosts or not all(known.values()) or "host" not in known.values():
        known = _by_links(network, nodes, edges, hosts, known)
    for name in nodes:
        if known[name] == "each":
            host = network.node(None, name, "host")
            network.node(None, f"{host}-sw", "switch")
        else:
            network.node(None, name, known[name] or "switch")
    links = _Links(network, nodes, known)
    for one, other, edge in edges:
        if one == other:
            links.loops += 1
        elif one in nodes and other in nodes:
            links.add(one, other, edge, not directed)
        else:
            network.link(None, (one, other), RATE, DELAY)
    for name in nodes:
        if known[name] == "each":
            network.join(None, network.names[name], f"{network.names[name]}-sw", HOST_RATE, "1us")
    return network.done(links.told())


def _role(node: Node) -> str:
    for key, value in node.items():
        if str(key).lower() in _ROLES and str(value).lower() in _HOSTS | _SWITCHES:
            return "host" if str(value).lower() in _HOSTS else "switch"
    return ""


def _by_links(
    network: Network,
    nodes: Mapping[str, Node],
    edges: list[tuple[str, str, Node]],
    hosts: str,
    known: dict[str, str],
) -> dict[str, str]:
    peers: dict[str, set[str]] = {name: set() for name in nodes}
    for one, other in ((one, other) for one, other, _ in edges if one != other):
        peers.setdefault(one, set()).add(other)
        peers.setdefault(other, set()).add(one)
    geographic = any(str(key).lower() in _PLACES for node in nodes.values() for key in node)
    leaves = {name for name in nodes if len(peers[name]) <= 1}
    told = network.content.ignored
    if hosts == "leaves" or (not hosts and len(leaves) > 1 and not geographic):
        told.append(
            "no attribute names the hosts: nodes with one link are hosts (--option hosts=each: every node)"
        )
        return {name: "host" if name in leaves else "switch" for name in nodes}
    told.append(
        f"no attribute names the hosts: each node is a switch NAME-sw with a host NAME at {HOST_RATE}, 1us"
        " (--option hosts=leaves: nodes with one link are hosts)"
    )
    return dict.fromkeys(known, "each")


class _Links:
    """Adds the edges of a graph as links, and counts those whose attributes say too little."""

    def __init__(self, network: Network, nodes: Mapping[str, Node], known: Mapping[str, str]) -> None:
        self.network, self.nodes, self.known = network, nodes, known
        self.without = {"rate": 0, "delay": 0}
        self.by_place = self.loops = 0
        self.unitless: set[str] = set()

    def add(self, one: str, other: str, edge: Node, duplex: bool) -> None:
        rate, delay = self._rate(edge), self._delay(edge)
        if delay is None and (far := _distance(self.nodes[one], self.nodes[other])) is not None:
            self.by_place += 1
            delay = f"{max(round(far * 5000), 1)}ns"  # light in fibre: 5 us a km
        self.without["rate"] += rate is None
        self.without["delay"] += delay is None
        ends = [self.network.names[name] for name in (one, other)]
        ends = [
            f"{end}-sw" if self.known[name] == "each" else end
            for end, name in zip(ends, (one, other), strict=True)
        ]
        self.network.join(None, *ends, rate or RATE, delay or DELAY, duplex)

    def told(self) -> list[str]:
        told = []
        if self.without["rate"]:
            told.append(f"{self.without['rate']} links have no rate with a unit: {RATE} is set")
        if self.without["delay"]:
            told.append(f"{self.without['delay']} links have no delay with a unit: {DELAY} is set")
        if self.by_place:
            told.append(f"{self.by_place} delays follow from coordinates: great circle, 5 us a km")
        if self.loops:
            told.append(f"{self.loops} links from a node to itself")
        if self.unitless:
            told.append(f"numbers without a unit are not read: {', '.join(sorted(self.unitless))}")
        return told

    def _rate(self, edge: Node) -> str | None:
        small = {str(key).lower(): value for key, value in edge.items()}
        raw = small.get("linkspeedraw")  # Topology Zoo: bits a second
        if raw is not None and _finite(raw):
            return f"{int(float(raw))}bps" if float(raw) >= 1 else None
        for key in ("rate", "datarate", "data_rate", "bandwidth", "capacity", "speed", "bw", "linkspeed"):
            if key in small:
                if found := rate_of(str(small[key])):
                    return found
                if key != "linkspeed":
                    self.unitless.add(key)
        return None

    def _delay(self, edge: Node) -> str | None:
        small = {str(key).lower(): value for key, value in edge.items()}
        for key in ("delay", "latency", "propagation_delay"):
            if key in small:
                if found := delay_of(str(small[key])):
                    return found
                self.unitless.add(key)
        return None


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value)) and 0 <= float(value) < 1e18
    except (TypeError, ValueError):
        return False


def _distance(one: Node, other: Node) -> float | None:
    """Kilometres between two nodes with coordinates (haversine on a sphere of 6371 km)."""
    places = []
    for node in (one, other):
        small = {str(key).lower(): value for key, value in node.items()}
        lat, lon = small.get("latitude", small.get("lat")), small.get("longitude", small.get("lon"))
        try:
            place = math.radians(float(lat)), math.radians(float(lon))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return None
        if not (abs(place[0]) <= math.pi / 2 and abs(place[1]) <= 2 * math.pi):
            return None
        places.append(place)
    (a, b), (c, d) = places
    h = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * 6371 * math.asin(min(1, math.sqrt(h)))
