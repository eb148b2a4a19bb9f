"""The `[tune]` section of an experiment file, read strictly: `docs/tune.md` has the grammar.

Every fault is found before anything runs: unknown keys and metrics, empty ranges, settings that no component
declares, both ends of each range and each choice, seeds that are used twice.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows.document.load import load
from shallows.document.paths import Document, set_path
from shallows.document.points import Point, expand, read_seeds
from shallows.errors import Fault, SpecError
from shallows.tables.metric_names import names
from shallows.words import did_you_mean, show

SAMPLERS = ("tpe", "nsga2", "random")
GOALS = ("minimise", "maximise")
MAX_TRIALS = 10_000

__all__ = ["GOALS", "SAMPLERS", "Constraint", "Objective", "Parameter", "Tuning", "read"]


@dataclass(frozen=True)
class Parameter:
    """What is tuned: a setting by its path, and a range or choices."""

    path: str
    low: float | int = 0
    high: float | int = 0
    step: float | int | None = None
    log: bool = False
    unit: str = ""
    choices: tuple[Any, ...] = ()

    def setting(self, value: Any) -> Any:
        """A drawn value as the experiment file would hold it."""
        return f"{value}{self.unit}" if self.unit else value


@dataclass(frozen=True)
class Objective:
    """A metric to make small or large. `margin`: what counts as no loss, a share of the baseline's mean."""

    metric: str
    goal: str
    margin: float = 0.0


@dataclass(frozen=True)
class Constraint:
    """Bounds that the mean over seeds must keep for a trial to count."""

    metric: str
    at_least: float | None = None
    at_most: float | None = None

    def excess(self, value: float) -> float:
        """By how much a value breaks the bounds; 0 or less if it keeps them."""
        over = [bound for bound in (self.at_least, self.at_most) if bound is not None]
        low = over[0] - value if self.at_least is not None else -float("inf")
        high = value - over[-1] if self.at_most is not None else -float("inf")
        return max(low, high)


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
            [Fault("tune", "is missing: parameters, objectives, trials, seeds, confirm", "", hint)]
        )
    for key in ("sweep", "seeds", "seed", "compare"):
        if key in document:
            rule = "has no place beside [tune], which varies settings and has seeds of its own"
            faults.append(Fault(key, rule, show(document[key])))
    reader = _Reader(table, faults)
    numbers = reader.numbers()
    parameters = [p for path, given in reader.table("parameters") if (p := reader.parameter(path, given))]
    objectives = [o for name, given in reader.table("objectives") if (o := reader.objective(name, given))]
    constraints = [
        c
        for name, given in reader.table("constraints", required=False)
        if (c := reader.constraint(name, given))
    ]
    baselines = reader.baselines()
    tune_seeds, confirm = reader.seeds()
    sampler = reader.word("sampler", SAMPLERS, "tpe")
    if faults:
        raise SpecError(faults)
    tuning = Tuning(
        document.get("title") or name, document, parameters, objectives, constraints,
        baselines or {"as written": {}}, seeds=tune_seeds, confirm=confirm, sampler=sampler, **numbers,
    )  # fmt: skip
    _check_runs(tuning, faults)
    if faults:
        raise SpecError(faults)
    return tuning


def _check_runs(tuning: Tuning, faults: list[Fault]) -> None:
    """The file itself, its baselines, both ends of each range and each choice must be legal experiments."""
    experiments = [("", {})]
    experiments += [(f"tune.baselines.{name}: ", given) for name, given in tuning.baselines.items() if given]
    for parameter in tuning.parameters:
        for value in parameter.choices or (parameter.low, parameter.high):
            experiments.append(("tune.parameters: ", {parameter.path: parameter.setting(value)}))
    known: list[str] = []
    for where, settings in experiments:
        try:
            point = tuning.points(settings, tuning.seeds[:1])[0]
        except SpecError as error:
            faults += [Fault(where + f.path, f.rule, f.value, f.hint) for f in error.faults]
            if not where:
                return  # what is wrong with the file is wrong with all
        else:
            known += names(point.experiment)
    for section, named in (("objectives", tuning.objectives), ("constraints", tuning.constraints)):
        for one in named:
            if one.metric not in known:
                hint = did_you_mean(one.metric, known)
                faults.append(Fault(f"tune.{section}", "names no metric of these runs", one.metric, hint))


class _Reader:
    """Reads the table piece by piece and collects faults."""

    NUMBERS = {  # noqa: RUF012
        "trials": (None, 1, MAX_TRIALS),
        "batch": (8, 1, 1000),
        "winners": (3, 1, 100),
        "seed": (1, 0, 2**32 - 1),
    }
    KEYS = (*NUMBERS, "seeds", "confirm", "sampler", "parameters", "objectives", "constraints", "baselines")

    def __init__(self, table: dict[str, Any], faults: list[Fault]):
        self._table, self._faults = table, faults
        self._known("tune", table, self.KEYS)

    def _fault(self, at: str, rule: str, value: Any = None, hint: str = "") -> None:
        self._faults.append(Fault(f"tune.{at}", rule, "" if value is None else show(value), hint))

    def _known(self, at: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                rule = f"unknown key; known: {', '.join(known)}"
                self._faults.append(Fault(f"{at}.{key}", rule, show(table[key]), did_you_mean(key, known)))

    def numbers(self) -> dict[str, int]:
        found = {}
        for key, (default, low, high) in self.NUMBERS.items():
            value = self._table.get(key, default)
            if value is None:
                self._fault(key, f"is required: a whole number from {low} to {high}")
            elif not _whole(value) or not low <= value <= high:
                self._fault(key, f"must be a whole number from {low} to {high}", value)
            found[key] = value
        return found

    def word(self, key: str, known: Sequence[str], default: str) -> str:
        value = self._table.get(key, default)
        if value not in known:
            self._fault(key, f"must be one of {', '.join(known)}", value, did_you_mean(str(value), known))
        return value

    def table(self, key: str, required: bool = True) -> list[tuple[str, Any]]:
        """The entries of a table; names with dots may be quoted, or written as tables in tables."""
        value = self._table.get(key, {})
        if not isinstance(value, dict):
            self._fault(key, "must be a table", value)
            return []
        if required and not value:
            self._fault(key, "is required: a table with one entry or more")
        return _flat(value)

    def parameter(self, path: str, given: Any) -> Parameter | None:
        at, before = f'parameters."{path}"', len(self._faults)
        if not isinstance(given, dict) or ("choices" in given) == ("low" in given or "high" in given):
            self._fault(at, "must be { low = ..., high = ... } or { choices = [...] }", given)
            return None
        if "choices" in given:
            self._known(f"tune.{at}", given, ("choices",))
            choices = given["choices"]
            if not isinstance(choices, list) or len(choices) < 2:
                self._fault(at, "choices must be a list of two or more", choices)
                return None
            return Parameter(path, choices=tuple(choices))
        self._known(f"tune.{at}", given, ("low", "high", "step", "log", "unit"))
        low, high, step = given.get("low"), given.get("high"), given.get("step")
        log, unit = given.get("log", False), given.get("unit", "")
        if not _number(low) or not _number(high) or not low < high:
            self._fault(at, "low and high must be numbers, low below high", given)
            return None
        if step is not None and (not _number(step) or not 0 < step <= high - low):
            self._fault(at, "step must be above zero and fit between low and high", step)
        if not isinstance(log, bool):
            self._fault(at, "log must be true or false", log)
        elif log and (low <= 0 or step is not None):
            self._fault(at, "a logarithmic range starts above zero and has no step", given)
        if not isinstance(unit, str) or (unit and not all(map(_whole, (low, high, step or 1)))):
            self._fault(at, "a range with a unit is of whole numbers", given)
        if len(self._faults) > before:
            return None
        return Parameter(path, low, high, step, log, unit)

    def objective(self, name: str, given: Any) -> Objective | None:
        at, table = f'objectives."{name}"', given if isinstance(given, dict) else {"goal": given}
        self._known(f"tune.{at}", table, ("goal", "margin"))
        goal, margin = table.get("goal"), table.get("margin", 0.0)
        if goal not in GOALS:
            self._fault(at, f"must be one of {', '.join(GOALS)}", goal, did_you_mean(str(goal), GOALS))
            return None
        if not _number(margin) or not 0 <= margin < 1:
            self._fault(at, "margin must be a share of the baseline, from 0 to below 1", margin)
            return None
        return Objective(name, goal, float(margin))

    def constraint(self, name: str, given: Any) -> Constraint | None:
        at = f'constraints."{name}"'
        if not isinstance(given, dict) or not given:
            self._fault(at, "must be { at_most = ... }, { at_least = ... } or both", given)
            return None
        self._known(f"tune.{at}", given, ("at_least", "at_most"))
        low, high = given.get("at_least"), given.get("at_most")
        if not all(value is None or _number(value) for value in (low, high)):
            self._fault(at, "bounds must be numbers, in the metric's unit", given)
            return None
        if low is not None and high is not None and low > high:
            self._fault(at, "at_least lies above at_most: nothing would count", given)
            return None
        return Constraint(name, low, high)

    def baselines(self) -> dict[str, dict[str, Any]]:
        value = self._table.get("baselines", {})
        if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
            self._fault(
                "baselines", 'must be a table of settings by name: { published = { "a.b" = 1 } }', value
            )
            return {}
        return {name: dict(_flat(each)) for name, each in value.items()}

    def seeds(self) -> tuple[list[int], list[int]]:
        """Those of the trials and those of the winners. A number of the latter means the next ones."""
        found: dict[str, list[int]] = {}
        for key in ("seeds", "confirm"):
            if key not in self._table:
                self._fault(key, "is required: a number of seeds, or a list")
                return [1], [2]
            wrong: list[Fault] = []
            found[key] = read_seeds({"seeds": copy.deepcopy(self._table[key])}, wrong)
            for fault in wrong:
                self._fault(key, fault.rule, hint=fault.value)
            if wrong:
                return [1], [2]
        if _whole(self._table["confirm"]):
            after = max(found["seeds"])
            found["confirm"] = [after + seed for seed in found["confirm"]]
        both = sorted(set(found["seeds"]) & set(found["confirm"]))
        if both:
            self._fault(
                "confirm", "must be seeds that no trial used: the luck of being chosen is no gain", both
            )
        if len(found["confirm"]) < 2:
            self._fault("confirm", "must be two seeds or more: one says nothing of chance")
        return found["seeds"], found["confirm"]


def _flat(table: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    """Entries by dotted path; a table of settings of an entry (`low`, `goal`, `kind` ...) ends the walk."""
    found = []
    for key, value in table.items():
        path = f"{above}.{key}" if above else key
        inner = isinstance(value, dict) and value and all(isinstance(each, dict) for each in value.values())
        found += _flat(value, path) if inner else [(path, value)]
    return found


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
