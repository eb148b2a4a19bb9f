"""The worst placement of a collective: the order of its ranks on its hosts in which a round takes longest.

Hosts in the file's order (block), in turn (striped), and in random orders are run. Then two climbs begin, one
at the worst order and one at the best: each step tries exchanges of two hosts, and takes the best of them if
it is better. Placements differ in the links that the ring or tree crosses.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shallows import terminal
from shallows.attack.fabric.scene import Case, Nothing, Scene, Table
from shallows.attack.objective import Objective
from shallows.document.paths import Document

RANDOM = 12
STEPS = 5
EXCHANGES = 10
SEED = 1

__all__ = ["Placed", "Placements", "placements"]


@dataclass(frozen=True)
class Placed:
    """An order of hosts, how it was found, and the mean time of a round; None: no round ended."""

    how: str
    hosts: tuple[str, ...]
    round_ps: float | None
    document: Document
    busiest: str = ""
    """The switch port with the highest utilisation."""
    busy: float = 0.0


@dataclass(frozen=True)
class Placements:
    """All that were run with a value, the worst first."""

    load: str
    placed: list[Placed]
    unended: int
    others: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """The longest round over the shortest."""
        return (self.placed[0].round_ps or 0.0) / (self.placed[-1].round_ps or 1.0)

    def record(self) -> dict[str, Any]:
        """See `Part`."""
        keys = ("how", "hosts", "round_ps", "busiest", "busy")
        worst, best = ({key: getattr(one, key) for key in keys} for one in (self.placed[0], self.placed[-1]))
        named = {one.how: one.round_ps for one in self.placed if one.how in ("block", "striped")}
        about = {"load": self.load, "tried": len(self.placed), "unended": self.unended}
        return {"placement": about | {"ratio": self.ratio, "worst": worst, "best": best, "named": named}}

    def shown(self, objective: Objective | None) -> list[Table | str]:
        """See `Part`."""
        worst, best = self.placed[0], self.placed[-1]
        rows = []
        named = [one for one in self.placed if one.how in ("block", "striped")]
        for what, one in (("worst", worst), *((one.how, one) for one in named), ("best", best)):
            hosts = ", ".join(one.hosts[:8]) + (
                f" and {len(one.hosts) - 8} more" if len(one.hosts) > 8 else ""
            )
            time = terminal.readable("x_ps", one.round_ps or 0.0)
            rows.append([what, time, f"{one.busiest} ({100 * one.busy:.0f} %)", one.how, hosts])
        title = (
            f"Placements of {self.load}: {len(self.placed)} tried; the worst takes {self.ratio:.3g} times "
        )
        title += "the best"
        told: list[Table | str] = [
            Table(title, ["placement", "a round", "straggling link (busy)", "found by", "hosts"], rows)
        ]
        if self.unended:
            told.append(f"not compared: {self.unended} placements in which no round ended within duration")
        if self.others:
            told.append(
                f"not searched: the collectives {', '.join(self.others)}, since {self.load} comes first"
            )
        return told

    def cases(self) -> list[Case]:
        """See `Part`."""
        found = []
        for file, one in (("worst-placement.toml", self.placed[0]), ("best-placement.toml", self.placed[-1])):
            time = terminal.readable("x_ps", one.round_ps or 0.0)
            found.append(Case(file, one.document, (f"A round of {self.load} takes {time}.",)))
        return found


def placements(scene: Scene) -> Placements:
    """Placements of the file's first collective. Raises Nothing, SpecError, RunError, StoreError."""
    loads = scene.experiment["traffic"]
    names = [name for name, one in loads.items() if one["kind"] == "collective"]
    if not names:
        raise Nothing("needs a load of the kind collective")
    load, *others = names
    hosts = tuple(scene.hosts(loads[load]["hosts"]))
    known: dict[tuple[str, ...], Placed] = {}
    unended = 0

    def run(orders: Sequence[tuple[str, tuple[str, ...]]]) -> list[Placed]:
        nonlocal unended
        new = {order: how for how, order in reversed(orders) if order not in known}
        documents = [_document(scene.document, load, order) for order in new]
        for (order, how), document, value in zip(
            new.items(), documents, scene.values(documents), strict=True
        ):
            metrics = (value.outcome.metrics if value.outcome else None) or {}
            mean = metrics.get(f"{load}.round_fct_mean_ps")
            unended += mean is None
            link = _busiest(value.outcome.run) if value.outcome and value.outcome.run else ("", 0.0)
            known[order] = Placed(how, order, mean, document, *link)
        return [known[order] for _, order in orders if known[order].round_ps is not None]

    chance = random.Random(SEED)
    orders = [("block", hosts), ("striped", tuple(_striped(scene, hosts)))]
    for _ in range(RANDOM):
        shuffled = list(hosts)
        chance.shuffle(shuffled)
        orders.append(("random order", tuple(shuffled)))
    first = run(orders)
    if not first:
        raise Nothing("needs a duration in which a round of the collective ends")
    for turn in (-1, 1):
        best = min(first, key=lambda one: turn * (one.round_ps or 0.0))
        for _ in range(STEPS):
            beside = [("exchanges of hosts", _exchanged(best.hosts, chance)) for _ in range(EXCHANGES)]
            better = min(run(beside), key=lambda one: turn * (one.round_ps or 0.0), default=best)
            if turn * (better.round_ps or 0.0) >= turn * (best.round_ps or 0.0):
                break
            best = better
    placed = [one for one in known.values() if one.round_ps is not None]
    placed.sort(key=lambda one: -(one.round_ps or 0.0))
    return Placements(load, placed, unended, tuple(others))


def _document(base: Document, load: str, order: Sequence[str]) -> Document:
    """The file with this order; `ranks` stays, so that jobs after it take the hosts that are left."""
    changed = copy.deepcopy(base)
    changed["traffic"][load] |= {"hosts": list(order), "placement": "block"}
    return changed


def _striped(scene: Scene, hosts: Sequence[str]) -> list[str]:
    """The hosts with their switches in turn."""
    nodes = scene.network.nodes
    switch = {nodes[port["from"]]["name"]: port["to"] for port in scene.network.ports}
    groups: dict[int, list[str]] = {}
    for host in hosts:
        groups.setdefault(switch[host], []).append(host)
    longest = max(map(len, groups.values()))
    return [group[k] for k in range(longest) for group in groups.values() if k < len(group)]


def _exchanged(order: tuple[str, ...], chance: random.Random) -> tuple[str, ...]:
    changed = list(order)
    a, b = chance.sample(range(len(order)), 2)
    changed[a], changed[b] = changed[b], changed[a]
    return tuple(changed)


def _busiest(run: Any) -> tuple[str, float]:
    """The port of a switch with the highest utilisation."""
    queues = run.tables["queues"]
    rows = queues.filter(queues["is_switch"] == 1).select("utilisation", "port").iter_rows()
    busy, port = max(rows, default=(0.0, ""))
    return port, busy
