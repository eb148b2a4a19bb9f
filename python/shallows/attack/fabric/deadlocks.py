"""Deadlocks: flows whose ports wait for each other in a circle.

The whole network and each network without a cable are searched for a circle of ports that can wait for each
other. The flows of a circle then run, and the simulator's detector says whether they deadlock.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shallows.attack.fabric.dependencies import Cycle, shortest_cycle
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
    """Whether networks without a cable were searched: no route is static, and no link has a cost."""

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
        return {"networks": self.networks, "searched_without_a_cable": self.plain, "deadlocks": rows}

    def shown(self, objective: Objective | None) -> list[Table | str]:
        """See `Part`."""
        circles = f"{len(self.deadlocks)} of {self.networks} networks have ports that can wait in a circle"
        lines: list[Table | str] = [
            f"{circles} (the whole one, and each without one cable)" if self.plain else circles
        ]
        if not self.plain:
            lines.append(
                "not searched: networks without a cable, since routes are static or links have costs"
            )
        for one in self.deadlocks[:SHOWN]:
            network = f"without {one.cable}" if one.cable else "the whole network"
            flows = ", ".join(f"{a} to {b}" for a, b in one.cycle.flows)
            ends = "they deadlock" if one.stands else "they do not deadlock in this run"
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
    found = []
    for cable in (None, *(cables if plain else [])):
        cycle = shortest_cycle(scene.network, cable or ())
        if cycle is None:
            continue
        document = _with_flows(scene, cycle, lossless)
        if cable:
            document = scene.without(document, [cable])
        note, stands = _stands(document, scene.runner)
        found.append(Deadlock(cable and cable_name(scene.network, cable), cycle, stands, document, note))
    return Deadlocks(found, 1 + len(cables) * plain, plain)


def _with_flows(scene: Scene, cycle: Cycle, lossless: Sequence[str]) -> Document:
    """The file with the circle's flows as its only traffic, over the transport of its first lossless load."""
    base, loads = scene.document, scene.experiment["traffic"]
    priority = {name: load["transport"].get("priority", 0) for name, load in loads.items()}
    first = next((name for name in loads if str(priority[name]) in lossless), None)
    if first is None:
        raise Nothing("needs a load of a lossless priority (`transport.priority`)")
    document = copy.deepcopy(base)
    own = base["traffic"][first].get("transport")
    document["traffic"] = {
        "circle": {
            "kind": "bulk",
            "from": [pair[0] for pair in cycle.flows],
            "to": [pair[1] for pair in cycle.flows],
            "pattern": "pairs",
            "flows": FLOWS_OF_A_PAIR,
        }
        | ({"transport": own} if own else {})
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
