"""Open questions of a document: dimensions with their values, and the readings to try.

A paper's `readings.toml` declares them before anything is run, and `readings_file` reads it. `docs/claims.md`
gives the format and the rule of plausibility. The base is the value of the best rank, of equals the first
in the file. So the base reading follows from the sources, never from a result.
"""

import itertools
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

Rank = Literal["text", "tool", "year", "today"]
"""Said in the document; the default of the tool that it says it used; the standard of its year; today's."""

Shown = Literal["document", "open", "simulator", "ours"]
"""The kinds of causes that a run shows."""

CauseKind = Literal[Shown, "network", "looked-for"]
"""Those, the network's own work, and what nothing that was tried explains."""

RANKS = typing.get_args(Rank)
CAUSES = typing.get_args(CauseKind)
"""Why a claim does not simply hold: the document contradicts itself, leaves it open, its simulator has a
habit, we deviate on purpose, it is how the network works, or what was tried does not explain it."""

CAUSE_WORDS = {
    "document": "the document contradicts itself",
    "open": "the document leaves it open",
    "simulator": "a habit of its simulator",
    "ours": "our deliberate deviation",
    "network": "the network's own behaviour",
    "looked-for": "looked for, and not found",
}

_WEIGHT = {"document": 0, "open": 1, "simulator": 2, "ours": 3}

__all__ = [
    "BASE",
    "CAUSES",
    "CAUSE_WORDS",
    "RANKS",
    "CauseKind",
    "Dimension",
    "Plan",
    "Rank",
    "Reading",
    "Readings",
    "Shown",
    "Value",
    "axis_parts",
]


@dataclass(frozen=True)
class Value:
    """One value of a dimension. `set`: dotted paths over each experiment; `given`: for figure.py.

    `long`: its runs are too long for `--quick`.
    """

    id: str
    words: str
    rank: str
    source: str
    cause: str
    set: Mapping[str, Any]
    given: Any
    long: bool = False


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
        """Whether it concerns the experiment of this name."""
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
        """The reading as a part of a sentence."""
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
        """Whether each departure concerns one of the experiments that these patterns name.

        One that does not would make this reading the same as a smaller one.
        """
        return all(
            any(fnmatchcase(p, only) or fnmatchcase(only, p) for p in patterns for only in dimension.only)
            for dimension, _ in self.departures
        )

    def settings(self, spec: str) -> dict[str, Any]:
        """Its settings over the experiment of this name."""
        return {k: v for d, value in self.departures if d.concerns(spec) for k, v in value.set.items()}


BASE = Reading()
"""The base reading: the best ranked value of every dimension."""


@dataclass(frozen=True)
class Plan:
    """Readings that a figure tries: dimensions one by one, whole grids of some, on these experiments alone.

    `dimension=value` in a grid is that value and the base alone.

    `set` holds dotted paths over each experiment under any reading but the base, such as fewer seeds.
    `on`: by backend, the `dimension=value` that is judged there in place of the base's.
    """

    dimensions: tuple[str, ...] = ()
    grids: tuple[tuple[str, ...], ...] = ()
    specs: tuple[str, ...] = ("*",)
    set: Mapping[str, Any] = field(default_factory=dict)
    on: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Readings:
    """The dimensions of a paper by id, and each figure's plan."""

    dimensions: Mapping[str, Dimension] = field(default_factory=dict)
    plans: Mapping[str, Plan] = field(default_factory=dict)

    def on(self, figure: str, backend: str) -> Reading:
        """The reading that judges a figure's runs on a backend: the base, unless its plan has `on`."""
        chosen = self.plan(figure).on.get(backend)
        if chosen is None:
            return BASE
        name, value = axis_parts(chosen)
        return Reading(((self.dimensions[name], self.dimensions[name].value(value)),))

    def given(self, reading: Reading) -> dict[str, Any]:
        """The choice for each dimension under a reading, as figure.py sees it."""
        base = {name: dimension.base.given for name, dimension in self.dimensions.items()}
        return base | {dimension.id: value.given for dimension, value in reading.departures}

    def plan(self, figure: str) -> Plan:
        """The plan of a figure; without one nothing but the base reading is run."""
        return self.plans.get(figure, Plan())

    def _values(self, name: str) -> tuple[Value, ...]:
        """The values of a dimension, or of `dimension=value` that one and the base."""
        name, chosen = axis_parts(name)
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
            sides = [self.dimensions[axis_parts(name)[0]] for name in names]
            for values in itertools.product(*(self._values(name) for name in names)):
                away = [(d, v) for d, v in zip(sides, values, strict=True) if v is not d.base]
                reading = Reading(tuple(away))
                found.setdefault(reading.id, reading)
        found.pop("base", None)
        return sorted(found.values(), key=lambda reading: reading.implausibility)


def axis_parts(name: str) -> tuple[str, str]:
    """The dimension of an axis and the one value of it that is meant, if only one is."""
    dimension, _, value = name.partition("=")
    return dimension, value
