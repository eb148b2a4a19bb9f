"""The section `[attack]`: its ranges, and the experiment of each candidate.

A candidate is a table of plain values by name. A parameter that it does not name is as the file has it, and a
step of a schedule that it does not name does not occur. So a find is made smaller by taking names out.
`docs/how-to/attack.md` has the grammar.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from shallows import _core
from shallows.document import strict
from shallows.document.load import load
from shallows.document.paths import Document, apply_settings, set_path, split_path
from shallows.document.points import Point, expand
from shallows.document.strict import Strict, refuse
from shallows.errors import NOTHING, Fault, SpecError
from shallows.studies.tune.section import OPEN, Bounds, Constraint, Named, Parameter, Range, given
from shallows.tables.metric_names import names
from shallows.words import did_you_mean

OTHERS = ("sweep", "seed", "seeds", "compare", "tune")
"""Keys of a file that the search takes the place of."""
MOST_CANDIDATES = 100_000
MOST_STEPS = 8
MOST_LOSSES = 16

Candidate = dict[str, Any]
"""Values without units, by the names of `Space.variables`."""

__all__ = ["AttackTable", "Candidate", "Losses", "Schedule", "Space", "read"]


class Schedule(Strict):
    """An entry of `schedules`: up to `steps` changes of links at times."""

    link: str = Field(description='The links that change: "a->b", "a<->b" or a pattern.')
    what: Literal["rate", "delay", "loss"] = Field(description="The property of the links that changes.")
    steps: int = Field(MOST_STEPS, ge=1, le=MOST_STEPS, description="The largest number of changes.")
    at: Range = Field(description="The range of the times: `{ low, high, unit }`.")
    to: Range = Field(description="The range of the values: `{ low, high, unit, log }`.")

    @field_validator("at", mode="after")
    @classmethod
    def _times(cls, at: Range) -> Range:
        if at.choices is not None or not at.unit:
            raise refuse("missing", "must be { low, high, unit } with a unit of time")
        return at


class Losses(Strict):
    """An entry of `losses`: up to `packets` packets that a wire loses, by their numbers."""

    link: str = Field(description='The wire behind this port: "a->b".')
    of: str | None = Field(None, description="The class whose packets are numbered; all packets without it.")
    packets: int = Field(MOST_LOSSES, ge=1, le=MOST_LOSSES, description="The largest number of losses.")
    numbers: Range = Field(description="The range of the packets' numbers, from 1: `{ low, high, log }`.")

    @field_validator("numbers", mode="after")
    @classmethod
    def _whole(cls, one: Range) -> Range:
        if one.choices is not None or one.unit or not all(isinstance(x, int) and x > 0 for x in one.ends):
            raise refuse("wrong-type", "must be { low, high } of whole numbers from 1 on")
        return one


class AttackTable(Strict):
    """The section `[attack]`."""

    parameters: Annotated[dict[str, Range], Named, OPEN] = Field(
        {}, description="Settings that may vary, by path: `{ low, high, step, log, unit }` or `{ choices }`."
    )
    schedules: dict[str, Schedule] = Field({}, description="Changes of links over time, by name.")
    losses: dict[str, Losses] = Field({}, description="Packets that wires lose by number, by name.")
    constraints: Annotated[dict[str, Bounds], Named, OPEN] = Field(
        {}, description="Metrics and the bounds that a candidate must keep: `{ at_least, at_most }`."
    )
    generations: int = Field(10, ge=1, le=1000, description="Number of generations.")
    population: int = Field(16, ge=4, le=1000, description="Candidates of a generation.")
    first: str | None = Field(
        None, description="Duration of a shorter run that each candidate takes first; it stops hopeless ones."
    )
    seed: int = Field(1, ge=0, le=2**32 - 1, description="Seed of the search.")
    seeds: int = Field(
        1, ge=1, le=100, description="Seeds on which each candidate runs. Its value is the least bad of them."
    )
    check: int = Field(5, ge=2, le=100, description="Number of further seeds on which a find is run again.")

    @model_validator(mode="after")
    def _something(self) -> AttackTable:
        if not self.parameters and not self.schedules and not self.losses:
            raise refuse("missing", "must name what may vary: parameters, schedules or losses", value=None)
        if both := sorted(self.schedules.keys() & self.losses.keys()):
            raise refuse("conflict", "must have other names than schedules", value=both, at=("losses",))
        if self.generations * self.population > MOST_CANDIDATES:
            rule = f"times population exceeds {MOST_CANDIDATES} candidates"
            raise refuse("out-of-range", rule, value=self.generations, at=("generations",))
        return self


@dataclass(frozen=True)
class Space:
    """A checked section: the file without it, and what may vary."""

    title: str
    base: Document = field(repr=False)
    parameters: list[Parameter]
    schedules: dict[str, Schedule]
    losses: dict[str, Losses]
    constraints: list[Constraint]
    generations: int
    population: int
    seed: int
    check: int
    seeds: int = 1
    first: str | None = None
    reference: tuple[str, ...] = ()
    """Settings of the reference, which sees the same conditions; empty without one."""

    @property
    def own_seeds(self) -> range:
        """The seeds of a candidate."""
        return range(1, 1 + self.seeds)

    @property
    def further_seeds(self) -> range:
        """The seeds on which a find is run again."""
        return range(1 + self.seeds, 1 + self.seeds + self.check)

    @property
    def variables(self) -> dict[str, Parameter]:
        """The drawn values by name: parameters, the numbers of steps, then each step's time and value."""
        found = {each.path: each for each in self.parameters}
        spans: dict[str, Range] = {}
        for name, one in self.schedules.items():
            spans |= _of_schedule(name, one)
        for name, loss in self.losses.items():
            spans |= _of_losses(name, loss)
        for path, span in spans.items():
            found[path] = Parameter(path=path, **given(span))
        return found

    @property
    def groups(self) -> dict[str, list[list[str]]]:
        """By entry its names that can go together: a parameter alone, the time and value of each step."""
        found = {each.path: [[each.path]] for each in self.parameters}
        for name, one in self.schedules.items():
            found[name] = [[f"{name}.{step}.at", f"{name}.{step}.to"] for step in range(one.steps)]
        for name, loss in self.losses.items():
            found[name] = [[f"{name}.{step}.packet"] for step in range(loss.packets)]
        return found

    def drawn(self, values: Mapping[str, Any]) -> Candidate:
        """The candidate of drawn values: steps beyond the drawn number are left out."""
        found: Candidate = {}
        for name, steps in self.groups.items():
            for keys in steps[: values.get(f"{name}.steps", 1)]:
                found |= {key: values[key] for key in keys}
        return found

    def document(self, candidate: Candidate, *, reference: bool = False) -> Document:
        """The experiment of a candidate, or of the reference under the same conditions. Error: SpecError."""
        document = copy.deepcopy(self.base)
        for parameter in sorted(self.parameters, key=lambda one: len(split_path(one.path))):
            if parameter.path in candidate:
                value = parameter.setting(candidate[parameter.path])
                set_path(document, parameter.path, copy.deepcopy(value))
        for name, one in self.schedules.items():
            for step in range(one.steps):
                if f"{name}.{step}.at" in candidate:
                    _add_step(document, name, step, one, candidate)
        for name, loss in self.losses.items():
            keys = [f"{name}.{step}.packet" for step in range(loss.packets)]
            if numbers := sorted({candidate[key] for key in keys if key in candidate}):
                port = document.setdefault("port", {}).setdefault(loss.link, {})
                port["drop_packets"] = numbers
                if loss.of:
                    port["drop_class"] = loss.of
        if reference:
            apply_settings(document, self.reference)
        return document

    def points(
        self, candidate: Candidate, seeds: Sequence[int] = (1,), *, reference: bool = False
    ) -> list[Point]:
        """The runs of a candidate. Raises SpecError if it is no legal experiment."""
        return expand(self.document(candidate, reference=reference) | {"seeds": list(seeds)})

    def without_idle_steps(self, candidate: Candidate) -> Candidate:
        """The candidate without steps that the checker refuses: to the value of before, or at one time."""
        while True:
            try:
                self.points(candidate)
            except SpecError as error:
                idle = {key for key in candidate if _is_idle(key, error.faults)}
                if not idle:
                    return candidate
                candidate = {key: value for key, value in candidate.items() if key not in idle}
            else:
                return candidate


def _is_idle(key: str, faults: Sequence[Fault]) -> bool:
    stem, _, last = key.rpartition(".")
    name, _, step = stem.rpartition(".")
    entry = f"event.{name}-{step}."
    return last in ("at", "to") and any(
        fault.path.startswith(entry) and fault.rule.startswith(("changes nothing", "contradicts event."))
        for fault in faults
    )


def _of_schedule(name: str, one: Schedule) -> dict[str, Range]:
    spans = (
        {f"{name}.steps": Range(low=1, high=one.steps, step=1, log=False, unit="", choices=None)}
        if one.steps > 1
        else {}
    )
    for step in range(one.steps):
        spans |= {f"{name}.{step}.at": one.at, f"{name}.{step}.to": one.to}
    return spans


def _of_losses(name: str, one: Losses) -> dict[str, Range]:
    whole = Range(low=1, high=one.packets, step=1, log=False, unit="", choices=None)
    count = {f"{name}.steps": whole} if one.packets > 1 else {}
    return count | {f"{name}.{step}.packet": one.numbers for step in range(one.packets)}


def _add_step(document: Document, name: str, step: int, one: Schedule, candidate: Candidate) -> None:
    value = candidate[f"{name}.{step}.to"]
    entry = {
        "at": f"{candidate[f'{name}.{step}.at']}{one.at.unit}",
        "link": one.link,
        one.what: f"{value}{one.to.unit}" if one.to.unit else value,
    }
    document.setdefault("event", {})[f"{name}-{step}"] = entry


def read(experiment: Any, settings: Sequence[str] = (), reference: Sequence[str] = ()) -> Space:
    """The space of a file, a table or an `Experiment`. Raises SpecError with all faults."""
    document = load(experiment, settings)
    table = document.pop("attack", None)
    hint = "docs/how-to/attack.md has an example"
    if table is None:
        raise SpecError([Fault("attack", "is missing: parameters or schedules", NOTHING, hint)])
    if not isinstance(table, dict):
        raise SpecError([Fault("attack", "must be a table with parameters or schedules", table, hint)])
    faults: list[Fault] = []
    for key in OTHERS:
        if key in document:
            rule = "cannot be used with [attack], which has its own seeds"
            faults.append(Fault(key, rule, document[key]))
    found = strict.read(AttackTable, table, "attack", faults)
    others = _cannot_vary(table.get("parameters"))
    faults += others
    if found is None or others:
        # The entries that can be read are checked against the file too, so that all faults appear at once.
        found = strict.read(AttackTable, _readable(table), "attack", [])
    if found is None or any(fault.path in OTHERS for fault in faults):
        raise SpecError(faults)
    name = Path(experiment).stem if isinstance(experiment, str | Path) else "attack"
    space = Space(
        title=document.get("title") or name,
        base=document,
        parameters=[Parameter(path=path, **given(one)) for path, one in found.parameters.items()],
        schedules=found.schedules,
        losses=found.losses,
        constraints=[Constraint(metric=metric, **given(one)) for metric, one in found.constraints.items()],
        generations=found.generations,
        population=found.population,
        seed=found.seed,
        check=found.check,
        seeds=found.seeds,
        first=found.first,
        reference=tuple(reference),
    )
    _check(space, faults)
    if faults:
        raise SpecError(faults)
    return space


def _cannot_vary(parameters: Any) -> list[Fault]:
    """A fault for each parameter that does not belong to a run."""
    rule = "cannot vary, because it does not belong to a run"
    paths = parameters if isinstance(parameters, dict) else {}
    return [
        Fault(
            strict.join("attack.parameters", [path]), rule, hint="attack.seed and attack.seeds choose seeds"
        )
        for path in paths
        if path.split(".")[0] in (*OTHERS, "attack")
    ]


def _readable(table: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of the section that have no fault by themselves."""
    models: dict[str, type[Strict]] = {
        "parameters": Range,
        "schedules": Schedule,
        "losses": Losses,
        "constraints": Bounds,
    }
    found: dict[str, Any] = {}
    for section, model in models.items():
        entries = table.get(section)
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            wrong: list[Fault] = _cannot_vary({name: entry}) if section == "parameters" else []
            if strict.read(model, entry, "", wrong) is not None and not wrong:
                found.setdefault(section, {})[name] = entry
    for name in found.get("schedules", {}):
        found.get("losses", {}).pop(name, None)
    return found


def _check(space: Space, faults: list[Fault]) -> None:
    """The file, the reference, and both ends of each range must be legal experiments by themselves."""
    known: list[str] = []
    cases: list[tuple[str, Candidate, bool]] = [("", {}, False)]
    cases += [("--reference: ", {}, True)] if space.reference else []
    for each in space.parameters:
        cases += [("attack.parameters: ", {each.path: end}, False) for end in each.ends]
    for name, one in space.schedules.items():
        for at, to in zip(one.at.ends, (one.to.ends[0], one.to.ends[-1]), strict=True):
            step = {f"{name}.0.at": at, f"{name}.0.to": to}
            cases.append((f"attack.schedules.{name}: ", step, False))
    if space.first is not None:
        faults += _faults_of_first(space, space.first)
    for name, loss in space.losses.items():
        cases.append((f"attack.losses.{name}: ", {f"{name}.0.packet": loss.numbers.ends[0]}, False))
    for where, candidate, reference in cases:
        try:
            [point] = space.points(space.without_idle_steps(candidate), reference=reference)
        except SpecError as error:
            faults += [replace(f, path=where + f.path) for f in error.faults]
            if not where:
                return  # a fault of the file is a fault of all
        else:
            known += names(point.experiment, point.summary)
    for bounds in space.constraints:
        if bounds.metric not in known:
            hint = did_you_mean(bounds.metric, known)
            faults.append(Fault("attack.constraints", "names no metric of these runs", bounds.metric, hint))


def _faults_of_first(space: Space, first: str) -> list[Fault]:
    """The shorter run must be an experiment, and shorter."""
    try:
        cases = [space, replace(space, base=space.base | {"duration": first})]
        [whole, shorter] = [_duration_ps(each) for each in cases]
    except SpecError as error:
        return [replace(fault, path=f"attack.first: {fault.path}") for fault in error.faults]
    return [Fault("attack.first", "must be shorter than duration", first)] if shorter >= whole else []


def _duration_ps(space: Space) -> int:
    [point] = space.points({})
    return _core.numbers(json.dumps(point.experiment))["duration"]
