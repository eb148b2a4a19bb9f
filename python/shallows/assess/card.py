"""The card: each criterion's cells as experiments, their runs, and what they show with intervals.

Source: RFC 9743 (BCP 133) names what an evaluation must consider and sets no thresholds. The thresholds are
this project's; each stands with its reason in its file of `criteria/`.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from shallows.assess.criteria import NAMES
from shallows.document.load import load
from shallows.document.points import Point, expand
from shallows.errors import Fault, SpecError
from shallows.execution.jobs import Outcome
from shallows.execution.runner import Progress, Runner
from shallows.statistics.estimates import Estimate, mean_ci, paired_ratio

__all__ = ["Cell", "Row", "Work", "assess", "plan"]

YARDSTICKS = ("cubic", "newreno")
QUICK_SEEDS, FULL_SEEDS = 3, 10


class Cell(NamedTuple):
    """A cell's verdict and estimate, the yardsticks' means, and the error of a run that failed."""

    name: str
    verdict: str
    estimate: Estimate | None
    beside: dict[str, float]
    error: str


class Row(NamedTuple):
    """A criterion with its cells, the worst first; `why` says why it was not run."""

    id: str
    about: dict[str, Any]
    verdict: str
    cells: list[Cell]
    why: str


@dataclass(frozen=True)
class Work:
    """The candidate and all runs of its card, by (row, cell, control)."""

    control: str
    seeds: int
    criteria: dict[str, dict[str, Any]]
    points: dict[tuple[str, str, str], list[Point]]

    @property
    def runs(self) -> int:
        """The number of runs."""
        return sum(map(len, self.points.values()))


def plan(control: str, quick: bool, rows: Sequence[str] = ()) -> Work:
    """All runs of a card. Raises SpecError for a control or a row that there is not."""
    if unknown := [row for row in rows if row not in NAMES]:
        raise SpecError([Fault("--row", f"must be one of C1 to {NAMES[-1]}", unknown[0])])
    seeds = QUICK_SEEDS if quick else FULL_SEEDS
    name, module = _named(control)
    home = files("shallows.assess.criteria")
    criteria = {row: tomllib.loads((home / f"{row.lower()}.toml").read_text()) for row in rows or NAMES}
    points = {}
    for row, about in criteria.items():
        for cell in about.get("cells", ()):
            for each in (name, *YARDSTICKS):
                document = _filled(about["experiment"], each) | {"seeds": seeds}
                if module and each == name:
                    document["python"] = {"modules": [module]}
                for path, value in cell["set"].items():
                    _put(document, path, value)
                points[row, cell["name"], each] = list(expand(load(document)))
    return Work(name, seeds, criteria, points)


def _named(control: str) -> tuple[str, str]:
    """The control's name and the file that holds it: `cubic`, or `mine.py:gentle`."""
    file, colon, name = control.rpartition(":")
    return name, str(Path(file).resolve()) if colon else ""


def _filled(part: Any, control: str) -> Any:
    """The template with the control in its place."""
    if isinstance(part, dict):
        return {key: _filled(value, control) for key, value in part.items()}
    return control if part == "$CONTROL" else copy.deepcopy(part)


def _put(document: dict[str, Any], path: str, value: Any) -> None:
    *above, last = path.split(".")
    for key in above:
        document = document[key]
    document[last] = value


def assess(work: Work, runner: Runner, progress: Progress | None = None) -> list[Row]:
    """Runs the card, or finds its runs in the store. A run that fails is named, and the card goes on."""
    every = [point for points in work.points.values() for point in points]
    outcomes = iter(runner.run(every, metrics=True, progress=progress))
    found = {key: [next(outcomes) for _ in points] for key, points in work.points.items()}
    return [_row(work, row, about, found) for row, about in work.criteria.items()]


def _row(work: Work, row: str, about: dict[str, Any], found: dict[Any, list[Outcome]]) -> Row:
    if why := about.get("not_run", ""):
        return Row(row, about, "not run", [], why)
    cells = []
    for cell in about["cells"]:
        own, *others = (found[row, cell["name"], each] for each in (work.control, *YARDSTICKS))
        cells.append(_cell(cell["name"], about, own, others))
    cells.sort(key=lambda cell: _badness(cell, about), reverse=True)
    worst = cells[0]
    return Row(row, about, worst.verdict, cells, worst.error if worst.verdict == "not run" else "")


def _cell(name: str, about: dict[str, Any], own: list[Outcome], others: list[list[Outcome]]) -> Cell:
    errors = [f"seed {one.point.seed}: {one.error}" for one in own if one.error]
    measured = _values(about, own)
    yardsticks = {control: _values(about, those) for control, those in zip(YARDSTICKS, others, strict=True)}
    means = {control: sum(values) / len(values) for control, values in yardsticks.items() if values}
    if not errors and all(_unknown(about, one) for each in (own, *others) for one in each):
        return Cell(name, "not run", None, {}, f"this backend has no {about['metric']}")
    if errors or measured is None:
        return Cell(name, "failed", None, means, errors[0] if errors else "a run has no such value")
    if against := about.get("against"):
        base = yardsticks[against]
        if base is None:
            return Cell(name, "failed", None, means, f"{against} has no such value")
        if min(measured + base) > 0:
            samples, estimate = (
                [a / b for a, b in zip(measured, base, strict=True)],
                paired_ratio(measured, base),
            )
        elif max(measured) == 0:
            samples, estimate = [0.0] * len(measured), Estimate(0.0, None, None, len(measured))
        else:
            return Cell(name, "not determined", None, means, f"{against} has zero in some run")
    else:
        samples, estimate = measured, mean_ci(measured)
    return Cell(name, _verdict(about, samples, estimate), estimate, means, "")


def _unknown(about: dict[str, Any], outcome: Outcome) -> bool:
    return (outcome.metrics or {}).get(about["metric"]) is None


def _values(about: dict[str, Any], outcomes: list[Outcome]) -> list[float] | None:
    """The metric of each run, over another one if the criterion says so; None where one has no value."""
    values = []
    for one in outcomes:
        value = (one.metrics or {}).get(about["metric"])
        scale = (one.metrics or {}).get(about["over"]) if "over" in about else about.get("divide", 1.0)
        if value is None or not scale:
            return None
        values.append(value / scale)
    return values


def _verdict(about: dict[str, Any], samples: list[float], estimate: Estimate) -> str:
    """Equal values are compared as they are; else the whole interval must lie on one side."""
    ends = estimate.ci or [estimate.value, estimate.value]
    if all(each == samples[0] for each in samples):
        ends = [samples[0]]
    sides = {_held(about, end) for end in ends}
    if sides == {True}:
        return "shown"
    if len(sides) > 1:
        return "not determined"
    return "worse than the yardstick" if "against" in about else "not shown"


def _held(about: dict[str, Any], value: float) -> bool:
    return value <= about["at_most"] if "at_most" in about else value >= about["at_least"]


def _badness(cell: Cell, about: dict[str, Any]) -> tuple[int, float]:
    order = ("shown", "not run", "not determined", "not shown", "worse than the yardstick", "failed")
    value = cell.estimate.value if cell.estimate else 0.0
    return order.index(cell.verdict), value if "at_most" in about else -value
