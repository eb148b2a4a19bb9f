"""Deadlocks: flows whose ports wait for each other in a circle.

The whole network and each network without a cable are searched for a circle of ports that can wait for each
other. The flows of a circle then run, and the simulator's detector says whether they deadlock.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shallows.attack.fabric.dependencies import Cycle, Port, shortest_cycle
from shallows.attack.fabric.scene import Case, Nothing, Scene, Table, cable_name
from shallows.attack.objective import Objective
from shallows.document.paths import Document
from shallows.document.points import expand
from shallows.errors import SpecError
from shallows.execution.runner import Runner

MOST_CABLES = 1000
SHOWN = 10
FLOWS_OF_A_PAIR = 8
"""Connections of each pair of a circle: where ways are equal, each takes one by its hash."""

__all__ = ["Deadlock", "Deadlocks", "circles"]


@dataclass(frozen=True)
class Deadlock:
    """A circle of waits, without `cable` if that is one, and whether its flows stood still in a run."""

    cable: str | None
    cycle: Cycle
    stands: bool
    document: Document
    note: str = ""


@dataclass(frozen=True)
class Deadlocks:
    """One for each network with a circle of waits, of `networks` that were searched."""

    deadlocks: list[Deadlock]
    networks: int
    plain: bool
    """Whether networks without a cable were searched: no link has a cost."""
    refused: Sequence[str] = ()
    """Cables without which static routes lead in a circle, so that no run can lack them."""

    def record(self) -> dict[str, Any]:
        """See `Part`."""
        rows = [
            {
                "without": one.cable,
                "ports": one.cycle.ports,
                "flows": [list(pair) for pair in one.cycle.flows],
                "stands": one.stands,
                "note": one.note,
            }
            for one in self.deadlocks
        ]
        return {"networks": self.networks, "searched_without_a_cable": self.plain, "deadlocks": rows} | {
            "routes_in_a_circle_without": list(self.refused)
        }

    def shown(self, objective: Objective | None) -> list[Table | str]:
        """See `Part`."""
        circles = f"{len(self.deadlocks)} of {self.networks} networks have ports that can wait in a circle"
        lines: list[Table | str] = [
            f"{circles} (the whole one, and each without one cable)" if self.plain else circles
        ]
        if not self.plain:
            lines.append("not searched: networks without a cable, since links have costs")
        if self.refused:
            lines.append(f"static routes lead in a circle without {', '.join(self.refused)}")
        for one in self.deadlocks[:SHOWN]:
            network = f"without {one.cable}" if one.cable else "the whole network"
            flows = ", ".join(f"{a} to {b}" for a, b in one.cycle.flows)
            ends = "they do not deadlock in this run"
            if one.note:
                ends = "they deadlock" if one.stands else f"their run failed: {one.note}"
            lines.append(f"{network}: {' waits for '.join(one.cycle.ports)}; flows {flows}: {ends}")
        return lines

    def cases(self) -> list[Case]:
        """See `Part`."""
        still = next((one for one in self.deadlocks if one.stands), None)
        if still is None:
            return []
        return [Case("deadlock.toml", still.document, ("The run ends with the deadlock as its error.",))]


def circles(scene: Scene) -> Deadlocks:
    """The circles of all networks. Raises Nothing, SpecError, RunError, StoreError."""
    lossless = scene.needs_lossless()
    cables = scene.needs_cables(MOST_CABLES)
    plain = scene.network.plain
    found: list[Deadlock] = []
    refused: list[str] = []
    for cable in (None, *(cables if plain else [])):
        try:
            cycle = shortest_cycle(scene.network, cable or ())
        except SpecError:
            if cable is None:
                raise
            refused.append(cable_name(scene.network, cable))
            continue
        if cycle is None:
            continue
        found.append(_run(scene, cable, cycle, lossless))
    return Deadlocks(found, 1 + len(cables) * plain, plain, refused)


def _run(scene: Scene, cable: tuple[Port, Port] | None, cycle: Cycle, lossless: Sequence[str]) -> Deadlock:
    """The run of the circle's flows. If they do not deadlock, all flows that make its waits run, and those
    that the deadlock does not need are taken out."""

    def tried(flows: list[tuple[str, str]]) -> Deadlock:
        document = _with_flows(scene, flows, lossless)
        if cable:
            document = scene.without(document, [cable])
        note, stands = _stands(document, scene.runner)
        name = cable and cable_name(scene.network, cable)
        return Deadlock(name, replace(cycle, flows=flows, more=[]), stands, document, note)

    first = tried(cycle.flows)
    if first.stands or not cycle.more:
        return first
    best = tried([*cycle.flows, *cycle.more])
    if not best.stands:
        return first
    for flow in list(best.cycle.flows):
        fewer = [one for one in best.cycle.flows if one != flow]
        if fewer and (smaller := tried(fewer)).stands:
            best = smaller
    return best


def _with_flows(scene: Scene, flows: Sequence[tuple[str, str]], lossless: Sequence[str]) -> Document:
    """The file with these flows as its only traffic, over the transport of its first lossless load."""
    base, loads = scene.document, scene.experiment["traffic"]
    priority = {name: load["transport"].get("priority", 0) for name, load in loads.items()}
    first = next((name for name in loads if str(priority[name]) in lossless), None)
    if first is None:
        raise Nothing("needs a load of a lossless priority (`transport.priority`)")
    document = copy.deepcopy(base)
    own = base["traffic"][first].get("transport")
    more = {"transport": own} if own else {}
    document["traffic"] = {
        f"circle-{number}": {"kind": "bulk", "from": a, "to": b, "flows": FLOWS_OF_A_PAIR} | more
        for number, (a, b) in enumerate(flows)
    }
    document["pfc"] = dict(document.get("pfc", {})) | {"deadlock": "stop"}
    document.pop("probe", None)
    return document


def _stands(document: Mapping[str, Any], runner: Runner) -> tuple[str, bool]:
    """The words of the run of the circle's flows, and whether it stood still."""
    try:
        points = expand(dict(document) | {"seeds": [1]})
    except SpecError as error:
        return str(error), False
    [outcome] = runner.run(points, metrics=True)
    return outcome.error or "", "deadlock" in (outcome.error or "")
