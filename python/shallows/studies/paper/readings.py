"""Open questions of a document: dimensions with their values, and the readings to try.

A paper's `readings.toml` declares them before anything is run. `docs/claims.md` gives the format and the rule
of plausibility: of a dimension's values the one of the best rank is the base, and of equal ranks the first in
the file. So the base reading follows from the sources, never from a result.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from shallows.document.load import read_toml
from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean

RANKS = ("text", "tool", "year", "today")
"""Said in the document; the default of the tool that it says it used; the standard of its year; today's."""

CAUSES = ("document", "open", "simulator", "ours", "not-found")
"""Why a claim does not simply hold: the document contradicts itself, leaves it open, its simulator has a
habit, we deviate on purpose, or no run shows why."""

CAUSE_WORDS = {
    "document": "the document contradicts itself",
    "open": "the document leaves it open",
    "simulator": "a habit of its simulator",
    "ours": "our deliberate deviation",
    "not-found": "not found",
}

_CAUSE_OF_RANK = {"text": "open", "tool": "simulator", "year": "open", "today": "open"}
_WEIGHT = {"document": 0, "open": 1, "simulator": 2, "ours": 3}

__all__ = [
    "BASE",
    "CAUSES",
    "CAUSE_WORDS",
    "RANKS",
    "Dimension",
    "Plan",
    "Reading",
    "Readings",
    "Value",
    "read_readings",
]


@dataclass(frozen=True)
class Value:
    """One value of a dimension. `set`: dotted paths over each experiment; `given`: what figure.py is told."""

    id: str
    words: str
    rank: str
    source: str
    cause: str
    set: Mapping[str, Any]
    given: Any


@dataclass(frozen=True)
class Dimension:
    """Something that the document leaves open. `only`: the experiments concerned, as patterns of names."""

    id: str
    question: str
    only: tuple[str, ...]
    values: tuple[Value, ...]

    @property
    def base(self) -> Value:
        """The value of the best rank, of equal ranks the first."""
        return min(self.values, key=lambda value: RANKS.index(value.rank))

    def value(self, name: str) -> Value:
        """The value of this id."""
        return next(value for value in self.values if value.id == name)

    def concerns(self, spec: str) -> bool:
        """Whether it bears on the experiment of this name."""
        return any(fnmatchcase(spec, pattern) for pattern in self.only)


@dataclass(frozen=True)
class Reading:
    """One way to read a document: where it departs from the base reading, as (dimension, value)."""

    departures: tuple[tuple[Dimension, Value], ...] = ()

    @property
    def id(self) -> str:
        """Such as `initial_window=3, rtt=600us`; the base reading's is `base`."""
        return ", ".join(f"{d.id}={v.id}" for d, v in self.departures) or "base"

    @property
    def words(self) -> str:
        """The same as a sentence's part."""
        return " and ".join(v.words for _, v in self.departures) or "the base reading"

    @property
    def implausibility(self) -> tuple[int, int]:
        """The more departures the less plausible; of equally many, the worse their ranks."""
        return len(self.departures), sum(RANKS.index(v.rank) for _, v in self.departures)

    @property
    def cause(self) -> str:
        """The kind of cause if a claim holds under it: of several departures the one that weighs most."""
        return max((v.cause for _, v in self.departures), key=_WEIGHT.__getitem__)

    def concerns(self, patterns: Sequence[str]) -> bool:
        """Whether each departure bears on one of the experiments that these patterns name.

        One that does not would make this reading the same as a smaller one.
        """
        return all(
            any(fnmatchcase(p, only) or fnmatchcase(only, p) for p in patterns for only in dimension.only)
            for dimension, _ in self.departures
        )

    def settings(self, spec: str) -> dict[str, Any]:
        """What it sets over the experiment of this name."""
        return {k: v for d, value in self.departures if d.concerns(spec) for k, v in value.set.items()}


BASE = Reading()
"""The base reading: the best ranked value of every dimension."""


@dataclass(frozen=True)
class Plan:
    """What a figure tries: dimensions one at a time, whole grids of some, on these experiments alone.

    `dimension=value` in a grid is that value and the base alone.

    `set` holds dotted paths over each experiment under any reading but the base, such as fewer seeds.
    """

    dimensions: tuple[str, ...] = ()
    grids: tuple[tuple[str, ...], ...] = ()
    specs: tuple[str, ...] = ("*",)
    set: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Readings:
    """The dimensions of a paper by id, and each figure's plan."""

    dimensions: Mapping[str, Dimension] = field(default_factory=dict)
    plans: Mapping[str, Plan] = field(default_factory=dict)

    def given(self, reading: Reading) -> dict[str, Any]:
        """What each dimension is under a reading, as figure.py sees it."""
        base = {name: dimension.base.given for name, dimension in self.dimensions.items()}
        return base | {dimension.id: value.given for dimension, value in reading.departures}

    def plan(self, figure: str) -> Plan:
        """The plan of a figure; without one nothing but the base reading is run."""
        return self.plans.get(figure, Plan())

    def _values(self, name: str) -> tuple[Value, ...]:
        """The values of a dimension, or of `dimension=value` that one and the base."""
        name, chosen = _parts(name)
        dimension = self.dimensions[name]
        if not chosen:
            return dimension.values
        return dimension.base, dimension.value(chosen)

    def of(self, figure: str) -> list[Reading]:
        """The readings of a figure beside the base, the most plausible first."""
        plan = self.plan(figure)
        axes = [(name,) for name in plan.dimensions] + list(plan.grids)
        found: dict[str, Reading] = {}
        for names in axes:
            sides = [self.dimensions[_parts(name)[0]] for name in names]
            for values in itertools.product(*(self._values(name) for name in names)):
                away = [(d, v) for d, v in zip(sides, values, strict=True) if v is not d.base]
                reading = Reading(tuple(away))
                found.setdefault(reading.id, reading)
        found.pop("base", None)
        return sorted(found.values(), key=lambda reading: reading.implausibility)


def read_readings(path: Path) -> Readings:
    """The readings of a paper; none without a file. Errors: SpecError with every fault of the file."""
    if not path.exists():
        return Readings()
    document = read_toml(path)
    faults: list[Fault] = []
    plans = document.pop("figure", {})
    dimensions = {name: _dimension(name, table, faults) for name, table in document.items()}
    read = {name: _plan(f"figure.{name}", table, dimensions, faults) for name, table in plans.items()}
    if faults:
        raise SpecError(
            [Fault(f"{path.name}: {fault.path}", fault.rule, fault.value, fault.hint) for fault in faults]
        )
    return Readings(dimensions, read)


def _parts(name: str) -> tuple[str, str]:
    """The dimension of an axis and the one value of it that is meant, if only one is."""
    dimension, _, value = name.partition("=")
    return dimension, value


def _dimension(name: str, table: Any, faults: list[Fault]) -> Dimension:
    known = {"question": str, "only": list, "value": dict}
    if not _table(name, table, known, ("question", "value"), faults):
        return Dimension(name, "", ("*",), ())
    values = tuple(_value(f"{name}.value.{key}", key, each, faults) for key, each in table["value"].items())
    if len(values) < 2:
        faults.append(Fault(f"{name}.value", "must hold two values or more, else nothing is open"))
    return Dimension(name, table["question"], tuple(table.get("only", ("*",))), values)


def _value(path: str, name: str, table: Any, faults: list[Fault]) -> Value:
    known = {"words": str, "rank": str, "source": str, "cause": str, "set": dict, "given": object}
    if not _table(path, table, known, ("words", "rank", "source"), faults):
        return Value(name, "", RANKS[0], "", "open", {}, name)
    rank, cause = table["rank"], table.get("cause")
    if rank not in RANKS:
        faults.append(
            Fault(
                f"{path}.rank", f"must be one of {', '.join(RANKS)}", f'"{rank}"', did_you_mean(rank, RANKS)
            )
        )
        rank = RANKS[0]
    if cause is not None and cause not in _WEIGHT:
        faults.append(Fault(f"{path}.cause", f"must be one of {', '.join(_WEIGHT)}", f'"{cause}"'))
        cause = None
    if not table["source"].strip():
        faults.append(Fault(f"{path}.source", "must say where the value comes from"))
    cause = cause or _CAUSE_OF_RANK[rank]
    return Value(
        name, table["words"], rank, table["source"], cause, table.get("set", {}), table.get("given", name)
    )


def _plan(path: str, table: Any, dimensions: Mapping[str, Dimension], faults: list[Fault]) -> Plan:
    known = {"dimensions": list, "grids": list, "specs": list, "set": dict}
    if not _table(path, table, known, (), faults):
        return Plan()
    grids = tuple(tuple(grid) for grid in table.get("grids", ()))
    for axis in [*table.get("dimensions", ()), *itertools.chain.from_iterable(grids)]:
        name, value = _parts(axis)
        if value and name in dimensions and value not in [each.id for each in dimensions[name].values]:
            faults.append(Fault(path, f"names an unknown value of {name}", f'"{value}"'))
        if name not in dimensions:
            faults.append(
                Fault(path, "names an unknown dimension", f'"{name}"', did_you_mean(name, dimensions))
            )
    return Plan(
        tuple(table.get("dimensions", ())), grids, tuple(table.get("specs", ("*",))), table.get("set", {})
    )


def _table(
    path: str, table: Any, known: Mapping[str, type], needed: Sequence[str], faults: list[Fault]
) -> bool:
    """Whether it is a table of known keys and types with all that is needed; adds what is wrong."""
    if not isinstance(table, dict):
        faults.append(Fault(path, "must be a table", repr(table)))
        return False
    before = len(faults)
    for key, value in table.items():
        if key not in known:
            rule = f"unknown key; known: {', '.join(known)}"
            faults.append(Fault(f"{path}.{key}", rule, f'"{key}"', did_you_mean(key, known)))
        elif not isinstance(value, known[key]):
            faults.append(Fault(f"{path}.{key}", f"must be {known[key].__name__}", repr(value)))
    faults += [Fault(f"{path}.{key}", "must be written") for key in needed if key not in table]
    return len(faults) == before
