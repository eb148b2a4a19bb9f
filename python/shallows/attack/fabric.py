"""Worst cases of a fabric: `./shallows attack FILE --fabric`. The spaces are small, and are searched whole.

Each cable between two switches fails in a run of its own, and the runs are ordered by the objective. With a
lossless priority, the whole network and each network without a cable are searched for a circle of ports that
can wait for each other. A circle's flows then run, and the simulator's detector says whether they deadlock.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shallows.attack.dependencies import Cycle, Network, Port, shortest_cycle
from shallows.attack.objective import Objective
from shallows.attack.search import Laboratory
from shallows.attack.space import Space
from shallows.document.load import load
from shallows.document.paths import Document
from shallows.document.points import Point, expand
from shallows.errors import Fault, RunError, SpecError
from shallows.execution.runner import Runner

MOST_CABLES = 1000
FLOWS_OF_A_PAIR = 8
"""Connections of each pair of a circle: where ways are equal, each takes one by its hash."""

__all__ = ["Deadlock", "Fabric", "Failure", "search", "space_of"]


@dataclass(frozen=True)
class Failure:
    """A cable that failed. `value` is None if the run has none, which `note` explains."""

    cable: str
    value: float | None
    holds: bool
    document: Document
    note: str = ""


@dataclass(frozen=True)
class Deadlock:
    """A circle of waits, without `cable` if that is one, and whether its flows stood still in a run."""

    cable: str | None
    cycle: Cycle
    stands: bool
    document: Document
    note: str = ""


@dataclass(frozen=True)
class Fabric:
    """`failures`: all cables, the worst first. `deadlocks`: one for each network with a circle of waits."""

    title: str
    base: float | None
    failures: list[Failure]
    deadlocks: list[Deadlock]
    networks: int
    """Networks that were searched for circles; 0 without a lossless priority."""
    plain: bool = True
    """Whether networks without a cable were searched: no route is static, and no link has a cost."""


def space_of(experiment: Any, settings: Sequence[str] = ()) -> Space:
    """The file as a space without parameters. Raises SpecError."""
    document = load(experiment, settings)
    for key in ("sweep", "seed", "seeds", "compare", "tune"):
        if key in document:
            rule = "cannot be used with --fabric, which has its own seed"
            raise SpecError([Fault(key, rule, document[key])])
    document.pop("attack", None)
    title = document.get("title") or "fabric"
    return Space(title, document, [], {}, {}, [], generations=1, population=4, seed=1, check=2)


def search(space: Space, objective: Objective | None, runner: Runner) -> Fabric:
    """All failures and all circles. Raises SpecError if there is nothing to search, RunError, StoreError."""
    [point] = space.points({})
    lossless = [name for name, one in point.experiment.get("priority", {}).items() if one.get("pfc")]
    if objective is None and not lossless:
        rule = "needs --against, or a lossless priority, whose deadlocks are searched for"
        raise SpecError([Fault("--fabric", rule)])
    network = Network.of(point.experiment)
    if any(port["back"] is None for port in network.ports):
        raise SpecError([Fault("topology", "has links of one direction, which --fabric does not know")])
    cables = network.cables()
    if not 0 < len(cables) <= MOST_CABLES:
        rule = f"must have from 1 to {MOST_CABLES} cables between switches"
        raise SpecError([Fault("topology", rule, len(cables))])
    lab = Laboratory(space, objective, runner) if objective else None
    base, failures = _failures(lab, network, cables) if lab else (None, [])
    if not lossless:
        return Fabric(space.title, base, failures, [], 0)
    plain = network.plain
    cases = [None, *(cables if plain else [])]
    deadlocks = _deadlocks(space, network, cases, lossless, runner)
    return Fabric(space.title, base, failures, deadlocks, len(cases), plain)


def _without(document: Document, network: Network, cable: tuple[Port, Port]) -> Document:
    changed = copy.deepcopy(document)
    names = [network.ports[port]["name"] for port in cable]
    changed.setdefault("event", {})["failed-cable"] = {"at": "0s", "link": names, "state": "down"}
    return changed


def _name(network: Network, cable: tuple[Port, Port]) -> str:
    return network.ports[cable[0]]["name"].replace("->", "<->")


def _failures(
    lab: Laboratory, network: Network, cables: Sequence[tuple[Port, Port]]
) -> tuple[float, list[Failure]]:
    documents = [_without(lab.space.base, network, cable) for cable in cables]
    points: list[Point | str] = []
    for document in documents:
        try:
            points += expand(document | {"seeds": [1]})
        except SpecError as error:
            points.append(str(error))
    legal = [point for point in points if not isinstance(point, str)]
    [written, *outcomes] = lab.run([*lab.space.points({}), *legal])
    if isinstance(written, str):
        raise RunError(f"the file as written cannot be run: {written}")
    base = lab.objective.value(written, written)
    if base is None:
        rule = "must have a metric with a value in the run of the file as written"
        raise SpecError([Fault("--against", rule, lab.objective.text)])
    left = iter(outcomes)
    found = []
    for cable, document, point in zip(cables, documents, points, strict=True):
        outcome = point if isinstance(point, str) else next(left)
        value = None if isinstance(outcome, str) else lab.objective.value(outcome, written)
        note = outcome if isinstance(outcome, str) else "" if value is not None else "the metric has no value"
        found.append(Failure(_name(network, cable), value, lab.objective.holds(value), document, note))
    turn = 1 if lab.objective.least else -1
    found.sort(key=lambda one: (one.value is None, turn * (one.value or 0.0)))
    return base, found


def _deadlocks(
    space: Space,
    network: Network,
    cases: Sequence[tuple[Port, Port] | None],
    lossless: Sequence[str],
    runner: Runner,
) -> list[Deadlock]:
    """The deadlocks of the whole network (None) and without each cable."""
    found = []
    for cable in cases:
        cycle = shortest_cycle(network, cable or ())
        if cycle is None:
            continue
        document = _with_flows(space.base, cycle, lossless)
        if cable:
            document = _without(document, network, cable)
        note, stands = _stands(document, runner)
        found.append(Deadlock(cable and _name(network, cable), cycle, stands, document, note))
    return found


def _with_flows(base: Document, cycle: Cycle, lossless: Sequence[str]) -> Document:
    """The file with the circle's flows as its only traffic, over the transport of its first lossless load."""
    [point] = expand(base | {"seeds": [1]})
    loads = point.experiment["traffic"]
    priority = {name: load["transport"].get("priority", 0) for name, load in loads.items()}
    first = next((name for name in loads if str(priority[name]) in lossless), None)
    if first is None:
        raise SpecError([Fault("traffic", "must have a load of a lossless priority to search for deadlocks")])
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
