"""The file and network that each search of a fabric works on, and the outcome that it hands back."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from shallows import _core
from shallows.attack.fabric.dependencies import Network, Port
from shallows.attack.objective import Objective
from shallows.attack.space import Space
from shallows.document.paths import Document
from shallows.document.points import Point, expand
from shallows.errors import Fault, RunError, SpecError
from shallows.execution.jobs import Outcome
from shallows.execution.runner import Runner

__all__ = ["Case", "Nothing", "Part", "Scene", "Table", "Value", "cable_name"]


class Nothing(Exception):
    """A file has nothing that a search could vary. Its text is the reason, and begins with a verb."""


@dataclass(frozen=True)
class Case:
    """A worst case as an experiment of its own: the name of the file, and the lines of its head."""

    file: str
    document: Document
    head: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table of the terminal."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Part(Protocol):
    """The outcome of one search."""

    def record(self) -> dict[str, Any]:
        """Its entries of `fabric.json`."""
        ...

    def shown(self, objective: Objective | None) -> list[Table | str]:
        """Its tables and lines in the terminal."""
        ...

    def cases(self) -> list[Case]:
        """Its worst cases as experiments."""
        ...


@dataclass(frozen=True)
class Value:
    """The objective in one run. `value` is None without one, which `note` explains."""

    value: float | None
    holds: bool
    note: str
    outcome: Outcome | None
    """The run; None if the experiment is not legal."""


@dataclass(frozen=True)
class Scene:
    """A file, its network, and where its runs are made."""

    space: Space
    objective: Objective | None
    runner: Runner
    point: Point
    network: Network

    @property
    def document(self) -> Document:
        """The file as written."""
        return self.space.base

    @property
    def experiment(self) -> Mapping[str, Any]:
        """The file with all defaults."""
        return self.point.experiment

    @property
    def lossless(self) -> list[str]:
        """The lossless priorities, as the file names them."""
        return [name for name, one in self.experiment.get("priority", {}).items() if one.get("pfc")]

    def needs_objective(self) -> Objective:
        """The objective. Raises Nothing without one."""
        if self.objective is None:
            raise Nothing("needs --against")
        return self.objective

    def needs_cables(self, most: int) -> list[tuple[Port, Port]]:
        """The cables between switches. Raises Nothing if there are none or too many."""
        if any(port["back"] is None for port in self.network.ports):
            raise Nothing("does not know links of one direction")
        cables = self.network.cables()
        if not 0 < len(cables) <= most:
            raise Nothing(
                f"needs from 1 to {most} cables between switches, and the network has {len(cables)}"
            )
        return cables

    def needs_lossless(self) -> list[str]:
        """The lossless priorities. Raises Nothing without one."""
        if not self.lossless:
            raise Nothing("needs a lossless priority (`priority.N.pfc = true`)")
        return self.lossless

    def hosts(self, names: Any) -> list[str]:
        """The hosts that a name, a pattern or a list selects, in its order."""
        picked = {"kind": "bulk", "from": names, "to": names}
        document = {key: value for key, value in self.experiment.items() if key in ("topology", "duration")}
        document |= {"queue": "drop-tail", "transport": {"cc": "newreno"}, "traffic": {"any": picked}}
        places = json.loads(_core.plan(json.dumps(document)))["loads"]["any"]["from"]
        known = [node["name"] for node in self.network.nodes if node["host"]]
        return [known[place] for place in places]

    def without(self, document: Document, cables: Sequence[tuple[Port, Port]]) -> Document:
        """A document in which cables are down from the start on."""
        names = [self.network.ports[port]["name"] for cable in cables for port in cable]
        return with_event(document, "failed-cable", {"at": "0s", "link": names, "state": "down"})

    @cached_property
    def written(self) -> Outcome:
        """The run of the file as written. Raises RunError."""
        [outcome] = self.runner.run(expand(self.document | {"seeds": [1]}), metrics=True)
        if outcome.metrics is None:
            raise RunError(f"the file as written cannot be run: {outcome.error or 'failed'}")
        return outcome

    def values(self, documents: Sequence[Document], seeds: Sequence[int] = (1,)) -> list[Value]:
        """The objective of each document on each seed, document by document, in one parallel batch."""
        points: list[Point] = []
        plans: list[list[int] | str] = []
        for document in documents:
            try:
                new = expand(document | {"seeds": list(seeds)})
            except SpecError as error:
                plans.append(str(error))
            else:
                plans.append(list(range(len(points), len(points) + len(new))))
                points += new
        outcomes = self.runner.run(points, metrics=True) if points else []
        base = self.written.metrics or {}
        found: list[Value] = []
        for plan in plans:
            if isinstance(plan, str):
                found += [Value(None, False, plan, None)] * len(seeds)
            else:
                found += [self._value(outcomes[place], base) for place in plan]
        return found

    def _value(self, outcome: Outcome, base: Mapping[str, Any]) -> Value:
        if outcome.metrics is None:
            return Value(None, False, outcome.error or "the run failed", outcome)
        if self.objective is None:
            return Value(None, False, "", outcome)
        value = self.objective.value(outcome.metrics, base)
        note = "" if value is not None else "the metric has no value"
        return Value(value, self.objective.holds(value), note, outcome)

    @cached_property
    def base(self) -> float | None:
        """The objective of the file as written, None without an objective. Raises SpecError if it has no
        value."""
        if self.objective is None:
            return None
        metrics = self.written.metrics or {}
        value = self.objective.value(metrics, metrics)
        if value is None:
            rule = "must have a metric with a value in the run of the file as written"
            raise SpecError([Fault("--against", rule, self.objective.text)])
        return value

    def worse(self, value: float | None) -> tuple[bool, float]:
        """A key of sorting: the worst for the victim first, those without a value last."""
        turn = 1 if self.objective and self.objective.least else -1
        return (value is None, turn * (value or 0.0))


def cable_name(network: Network, cable: tuple[Port, Port]) -> str:
    """A cable as events name it: `a<->b`."""
    return network.ports[cable[0]]["name"].replace("->", "<->")


def with_event(document: Document, name: str, event: dict[str, Any]) -> Document:
    """A document with one more event."""
    changed = copy.deepcopy(document)
    changed.setdefault("event", {})[name] = event
    return changed
