"""Where the nodes of a network stand on the page: in a row of switches, in tiers, or as a matrix of ports.

Coordinates are shares of the width and height, from the upper left.
"""

from __future__ import annotations

from collections import deque
from typing import Any

MOST_DRAWN_HOSTS = 72
MOST_DRAWN_PORTS = 600
"""A larger network is a matrix of its ports by tier: drawn as lines it would be a hairball."""

__all__ = ["layout"]


def layout(plan: dict[str, Any], experiment: dict[str, Any]) -> dict[str, Any]:
    """Nodes with places, ports with ends, rates, limits, thresholds and failures, and how to draw all."""
    names = [node["name"] for node in plan["nodes"]]
    hosts = [node["host"] for node in plan["nodes"]]
    ports = [_port(port, names, hosts) for port in plan["ports"]]
    tiers = _tiers(hosts, plan["ports"])
    large = sum(hosts) > MOST_DRAWN_HOSTS or len(ports) > MOST_DRAWN_PORTS
    drawn: dict[str, Any] = {"names": names, "hosts": hosts, "ports": ports, "tiers": tiers}
    if large:
        return drawn | {"kind": "matrix", "blocks": _blocks(plan["ports"], names, hosts, tiers)}
    places = _row(plan, hosts, experiment) or _by_tier(names, hosts, tiers, plan["ports"])
    return drawn | {"kind": "graph", "places": places}


def _port(port: dict[str, Any], names: list[str], hosts: list[bool]) -> dict[str, Any]:
    queue = port["queue"]
    return {
        "name": f"{names[port['from']]}->{names[port['to']]}",
        "from": port["from"],
        "to": port["to"],
        "switch": not hosts[port["from"]],
        "rate_bps": port["rate_bps"],
        "delay_ps": port["delay_ps"],
        "queue": queue["kind"],
        "limit": _packets(queue.get("limit")),
        "mark_at": _packets(queue.get("mark_at")),
    } | ({"dead": port["dead"]} if "dead" in port else {})


def _packets(text: Any) -> int | None:
    """A limit that is written in packets, as their number."""
    if isinstance(text, str) and text.endswith("pkt") and text[:-3].isdigit():
        return int(text[:-3])
    return None


def _neighbours(count: int, ports: list[dict[str, Any]]) -> list[list[int]]:
    around: list[list[int]] = [[] for _ in range(count)]
    for port in ports:
        if port["to"] not in around[port["from"]]:
            around[port["from"]].append(port["to"])
    return around


def _tiers(hosts: list[bool], ports: list[dict[str, Any]]) -> list[int]:
    """Hops to the nearest host: hosts are tier 0, switches that have hosts tier 1, and so on."""
    tiers = [0 if host else -1 for host in hosts]
    around = _neighbours(len(hosts), ports)
    waiting = deque(node for node, host in enumerate(hosts) if host)
    while waiting:
        node = waiting.popleft()
        for other in around[node]:
            if tiers[other] < 0:
                tiers[other] = tiers[node] + 1
                waiting.append(other)
    return [max(tier, 0) for tier in tiers]


def _row(plan: dict[str, Any], hosts: list[bool], experiment: dict[str, Any]) -> list[list[float]] | None:
    """Switches in a row with their hosts around them, if they are a chain."""
    around = _neighbours(len(hosts), plan["ports"])
    chain = _chain([node for node, host in enumerate(hosts) if not host], around)
    if chain is None:
        return None
    places = [[0.5, 0.5] for _ in hosts]
    for number, switch in enumerate(chain):
        places[switch] = [(number + 1.4) / (len(chain) + 1.8), 0.5]
    for number, switch in enumerate(chain):
        own = [node for node in around[switch] if hosts[node]]
        left, right, below = [], [], []
        if len(chain) == 1:
            receivers = _receivers(experiment, [plan["nodes"][node]["name"] for node in own])
            right = [node for node in own if plan["nodes"][node]["name"] in receivers]
            left = [node for node in own if node not in right]
            if not left:
                left, right = own[: len(own) // 2], own[len(own) // 2 :]
        elif number == 0:
            left = own
        elif number == len(chain) - 1:
            right = own
        else:
            below = own
        _column(places, left, 0.06)
        _column(places, right, 0.94)
        for place, node in enumerate(below):
            shift = (place - (len(below) - 1) / 2) * 0.09
            places[node] = [places[switch][0] + shift, 0.86]
    return places


def _column(places: list[list[float]], nodes: list[int], x: float) -> None:
    for number, node in enumerate(nodes):
        places[node] = [x, (number + 1) / (len(nodes) + 1)]


def _chain(switches: list[int], around: list[list[int]]) -> list[int] | None:
    """The switches from one end to the other, or nothing if they are no chain."""
    inner = {switch: [other for other in around[switch] if other in set(switches)] for switch in switches}
    if not switches or any(len(others) > 2 for others in inner.values()):
        return None
    ends = [switch for switch, others in inner.items() if len(others) < 2]
    if not ends:
        return None
    chain = [ends[0]]
    while True:
        more = [other for other in inner[chain[-1]] if other not in chain]
        if not more:
            return chain if len(chain) == len(switches) else None
        chain.append(more[0])


def _receivers(experiment: dict[str, Any], names: list[str]) -> set[str]:
    """Hosts to which the loads send and that send nothing themselves, by the patterns of the experiment."""
    from fnmatch import fnmatchcase

    def named(key: str) -> set[str]:
        found = set()
        for load in experiment.get("traffic", {}).values():
            given = load.get(key, [])
            for pattern in given if isinstance(given, list) else [given]:
                found |= {name for name in names if fnmatchcase(name, str(pattern))}
        return found

    return named("to") - named("from")


def _by_tier(
    names: list[str], hosts: list[bool], tiers: list[int], ports: list[dict[str, Any]]
) -> list[list[float]]:
    """Hosts at the bottom, under the switches that they belong to; the other tiers above."""
    around = _neighbours(len(names), ports)
    top = max(tiers, default=0)
    places = [[0.5, 0.5] for _ in names]
    order: dict[int, float] = {}
    for tier in range(top, -1, -1):
        nodes = [node for node, own in enumerate(tiers) if own == tier]
        above = {node: [order[other] for other in around[node] if other in order] for node in nodes}
        nodes.sort(key=lambda node: (sum(above[node]) / len(above[node]) if above[node] else 0.5, node))
        for number, node in enumerate(nodes):
            order[node] = (number + 0.5) / len(nodes)
            places[node] = [0.03 + 0.94 * order[node], 0.08 + 0.84 * (top - tier) / max(top, 1)]
    return places


def _blocks(
    ports: list[dict[str, Any]], names: list[str], hosts: list[bool], tiers: list[int]
) -> list[dict[str, Any]]:
    """The ports by the tiers that they lead from and to: a block each, with a row for each switch."""
    blocks: dict[tuple[int, int], dict[int, list[int]]] = {}
    for number, port in enumerate(ports):
        ends = tiers[port["from"]], tiers[port["to"]]
        owner = port["to"] if hosts[port["from"]] else port["from"]
        blocks.setdefault(ends, {}).setdefault(owner, []).append(number)
    called = ["hosts", "leaves", "spines", "cores"]

    def tier(number: int) -> str:
        return called[number] if number < len(called) else f"tier {number}"

    return [
        {
            "title": f"{tier(low)} to {tier(high)}",
            "rows": [{"name": names[owner], "ports": numbers} for owner, numbers in rows.items()],
        }
        for (low, high), rows in sorted(blocks.items())
    ]
