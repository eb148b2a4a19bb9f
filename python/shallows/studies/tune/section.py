"""The `[tune]` section of an experiment file, read strictly: `docs/tune.md` has the grammar.

Every fault is found before anything runs: unknown keys and metrics, empty ranges, settings that no component
declares, both ends of each range and each choice, seeds that are used twice.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from shallows.document import strict
from shallows.document.load import load
from shallows.document.paths import Document, flatten, set_path
from shallows.document.points import Point, expand, read_seeds
from shallows.document.strict import Strict, refuse
from shallows.errors import NOTHING, Fault, SpecError
from shallows.tables.metric_names import names
from shallows.words import did_you_mean

MAX_TRIALS = 10_000

__all__ = ["Constraint", "Objective", "Parameter", "TuneTable", "Tuning", "given", "read"]


class Range(Strict):
    """An entry of `parameters`: a range, or choices."""

    low: float | int | None = Field(None, description="Least value.")
    high: float | int | None = Field(None, description="Largest value.")
    step: Annotated[float | int, Field(gt=0)] | None = Field(None, description="Distance of the values.")
    log: bool = Field(False, description="Whether values are drawn on a logarithmic scale.")
    unit: str = Field("", description="Unit after the number: `pkt`, `us`.")
    choices: Annotated[list[Any], Field(min_length=2)] | None = Field(
        None, description="The values to choose from, instead of a range."
    )

    @model_validator(mode="after")
    def _range_or_choices(self) -> Range:
        if self.choices is not None:
            if self.model_fields_set - {"path", "choices"}:
                raise refuse("conflict", "choices cannot be combined with low, high, step, log or unit")
            return self
        if self.low is None or self.high is None:
            raise refuse("missing", "must be { low = ..., high = ... } or { choices = [...] }")
        if not self.low < self.high:
            raise refuse("out-of-range", "low must be below high")
        if self.step is not None and self.step > self.high - self.low:
            raise refuse("out-of-range", "step must fit between low and high")
        if self.log and (self.low <= 0 or self.step is not None):
            raise refuse("conflict", "a logarithmic range starts above zero and has no step")
        if self.unit and not all(isinstance(x, int) for x in (self.low, self.high, self.step or 1)):
            raise refuse("wrong-type", "a range with a unit needs whole numbers")
        return self

    def setting(self, value: Any) -> Any:
        """A drawn value as the experiment file would hold it."""
        return f"{value}{self.unit}" if self.unit else value

    @property
    def ends(self) -> tuple[Any, ...]:
        """Both ends of the range, or every choice."""
        return tuple(self.choices) if self.choices is not None else (self.low, self.high)


class Parameter(Range):
    """A setting that is tuned, by its path."""

    path: str


class Goal(Strict):
    """An entry of `objectives`."""

    goal: Literal["minimise", "maximise"] = Field(description="`minimise` or `maximise`.")
    margin: float = Field(
        0.0, ge=0, lt=1, description="A loss up to this share of the baseline's mean is none."
    )


class Objective(Goal):
    """A metric to make small or large. `margin`: a loss that counts as none, share of the baseline's mean."""

    metric: str


class Bounds(Strict):
    """An entry of `constraints`."""

    at_least: float | int | None = Field(None, description="Least mean over the seeds, in its unit.")
    at_most: float | int | None = Field(None, description="Largest mean over the seeds, in its unit.")

    @model_validator(mode="after")
    def _bounds(self) -> Bounds:
        if self.at_least is None and self.at_most is None:
            raise refuse("missing", "must be { at_most = ... }, { at_least = ... } or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise refuse("out-of-range", "at_least exceeds at_most: no trial could pass")
        return self

    def excess(self, value: float) -> float:
        """By how much a value breaks the bounds; 0 or less if it keeps them."""
        low = -math.inf if self.at_least is None else self.at_least - value
        high = -math.inf if self.at_most is None else value - self.at_most
        return max(low, high)


class Constraint(Bounds):
    """Bounds that a metric's mean over seeds must keep for a trial to count."""

    metric: str


def _entries(table: Any) -> Any:
    """Entries by dotted path: names with dots may be quoted, or written as tables in tables."""
    return dict(flatten(table, _is_entry)) if isinstance(table, dict) else table


def _is_entry(value: Any) -> bool:
    return any(not isinstance(inner, dict) for inner in value.values())


def _goal(given: Any) -> Any:
    return {"goal": given} if isinstance(given, str) else given


def _seeds(given: Any) -> Any:
    wrong: list[Fault] = []
    seeds = read_seeds({"seeds": copy.deepcopy(given)}, wrong)
    if wrong:
        raise refuse(wrong[0].code, wrong[0].rule, value=given)
    return {"seeds": seeds, "counted": isinstance(given, int)}


class _Seeds(Strict):
    seeds: list[int]
    counted: bool


Seeds = Annotated[_Seeds, BeforeValidator(_seeds), WithJsonSchema({"type": ["integer", "array"]})]
Named = BeforeValidator(_entries)
OPEN = WithJsonSchema({"type": "object"})
"""Entries by path may also be tables in tables, which no schema can tell from settings."""


class TuneTable(Strict):
    """The section `[tune]`."""

    parameters: Annotated[dict[str, Range], Named, Field(min_length=1), OPEN] = Field(
        description="The settings to tune, by path: `{ low, high, step, log, unit }` or `{ choices }`."
    )
    objectives: Annotated[
        dict[str, Annotated[Goal, BeforeValidator(_goal)]], Named, Field(min_length=1), OPEN
    ] = Field(description="Metrics and their goals: `minimise`, `maximise`, or `{ goal, margin }`.")
    constraints: Annotated[dict[str, Bounds], Named, OPEN] = Field(
        {}, description="Metrics and their bounds: `{ at_least, at_most }`."
    )
    baselines: dict[str, Annotated[dict[str, Any], Named]] = Field(
        {}, description="Settings to compare the winners with, by name; by default the file as written."
    )
    trials: int = Field(ge=1, le=MAX_TRIALS, description=f"Number of trials, from 1 to {MAX_TRIALS}.")
    seeds: Seeds = Field(description="Seeds of every trial: a number of them, or a list.")
    confirm: Seeds = Field(description="Fresh seeds for the winners: a number of further seeds, or a list.")
    batch: int = Field(8, ge=1, le=1000, description="Trials that are proposed at once.")
    winners: int = Field(3, ge=1, le=100, description="Number of trials that are run on the fresh seeds.")
    sampler: Literal["tpe", "nsga2", "random"] = Field("tpe", description="The sampler of Optuna.")
    seed: int = Field(1, ge=0, le=2**32 - 1, description="Seed of the sampler.")

    @property
    def confirmed(self) -> list[int]:
        """The fresh seeds; a number of them continues the seeds of the trials."""
        after = max(self.seeds.seeds) if self.confirm.counted else 0
        return [after + seed for seed in self.confirm.seeds]

    @model_validator(mode="after")
    def _fresh(self) -> TuneTable:
        both = sorted(set(self.seeds.seeds) & set(self.confirmed))
        if both:
            rule = "must be seeds that no trial used, because the choice favours lucky seeds"
            raise refuse("conflict", rule, value=both, at=("confirm",))
        if len(self.confirmed) < 2:
            rule = "needs at least two seeds: one cannot show random variation"
            raise refuse("too-few", rule, value=None, at=("confirm",))
        return self


@dataclass(frozen=True)
class Tuning:
    """A checked study."""

    title: str
    base: Document = field(repr=False)
    parameters: list[Parameter]
    objectives: list[Objective]
    constraints: list[Constraint]
    baselines: dict[str, dict[str, Any]]
    trials: int
    batch: int
    seeds: list[int]
    confirm: list[int]
    winners: int
    sampler: str
    seed: int

    @property
    def most_runs(self) -> int:
        """The runs of all trials, and of as many winners as there may be."""
        known = len(self.baselines)
        return (self.trials + known) * len(self.seeds) + (self.winners + known) * len(self.confirm)

    def points(self, settings: Mapping[str, Any], seeds: Sequence[int]) -> list[Point]:
        """The runs of one set of settings. Raises SpecError if together they are no legal experiment."""
        document = copy.deepcopy(self.base)
        for path, value in settings.items():
            set_path(document, path, copy.deepcopy(value))
        return expand(document | {"seeds": list(seeds)})


def read(experiment: Any, settings: Sequence[str] = (), algorithms: Sequence[Any] = ()) -> Tuning:
    """The study of a file, a table or an `Experiment`. Raises SpecError with all faults."""
    document = load(experiment, settings, algorithms)
    name = Path(experiment).stem if isinstance(experiment, str | Path) else "study"
    table = document.pop("tune", None)
    faults: list[Fault] = []
    if not isinstance(table, dict):
        hint = "docs/tune.md has an example"
        raise SpecError(
            [Fault("tune", "is missing: parameters, objectives, trials, seeds, confirm", NOTHING, hint)]
        )
    for key in ("sweep", "seeds", "seed", "compare"):
        if key in document:
            rule = "cannot be used with [tune], which has its own settings and seeds"
            faults.append(Fault(key, rule, document[key]))
    found = strict.read(TuneTable, table, "tune", faults)
    if found is None or faults:
        raise SpecError(faults)
    tuning = Tuning(
        title=document.get("title") or name,
        base=document,
        parameters=[Parameter(path=path, **given(one)) for path, one in found.parameters.items()],
        objectives=[Objective(metric=metric, **given(one)) for metric, one in found.objectives.items()],
        constraints=[Constraint(metric=metric, **given(one)) for metric, one in found.constraints.items()],
        baselines=dict(found.baselines) or {"as written": {}},
        trials=found.trials,
        batch=found.batch,
        seeds=found.seeds.seeds,
        confirm=found.confirmed,
        winners=found.winners,
        sampler=found.sampler,
        seed=found.seed,
    )
    _check_runs(tuning, faults)
    if faults:
        raise SpecError(faults)
    return tuning


def given(entry: Strict) -> dict[str, Any]:
    """The keys that an entry of the file has, with their values."""
    return {name: getattr(entry, name) for name in entry.model_fields_set}


def _check_runs(tuning: Tuning, faults: list[Fault]) -> None:
    """The file itself, its baselines, both ends of each range and each choice must be legal experiments."""
    baselines = tuning.baselines.items()
    experiments = [("", {})]
    experiments += [(f"tune.baselines.{name}: ", changes) for name, changes in baselines if changes]
    for parameter in tuning.parameters:
        for value in parameter.ends:
            experiments.append(("tune.parameters: ", {parameter.path: parameter.setting(value)}))
    known: list[str] = []
    for where, settings in experiments:
        try:
            point = tuning.points(settings, tuning.seeds[:1])[0]
        except SpecError as error:
            faults += [replace(f, path=where + f.path) for f in error.faults]
            if not where:
                return  # a fault of the file is a fault of all
        else:
            known += names(point.experiment, point.summary)
    for section, named in (("objectives", tuning.objectives), ("constraints", tuning.constraints)):
        for one in named:
            if one.metric not in known:
                hint = did_you_mean(one.metric, known)
                faults.append(Fault(f"tune.{section}", "names no metric of these runs", one.metric, hint))
