"""The verdict of a criterion's cell: the control's numbers, or their ratios to a yardstick, and a bound.

The cells of a row share one error of 5 % (Bonferroni): each comparison has the confidence
1 - 0.05 / comparisons, where a cell makes one for each yardstick that it is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shallows.assess import measures
from shallows.execution.jobs import Outcome
from shallows.results.store import StoredRun
from shallows.statistics.estimates import Estimate, mean_within, paired_ratio

__all__ = ["ROW_ERROR", "Cell", "badness", "confidence", "judge", "values", "whole"]

ROW_ERROR = 0.05
"""The chance that a row's verdict on the candidate is wrong in any of its cells."""

ORDER = ("not run", "shown", "not determined", "not shown", "worse than the yardstick", "failed")
"""Verdicts, the worst last."""


class Cell(NamedTuple):
    """A cell's verdict and estimate, the yardsticks' means, and the error of a run that failed.

    `about` is the criterion with what the cell says otherwise. `against` names the yardstick of the estimate.
    `run` is the candidate's first one, if it did not fail.
    """

    name: str
    verdict: str
    estimate: Estimate | None
    beside: dict[str, float]
    error: str
    about: dict[str, Any]
    against: str = ""
    run: StoredRun | None = None


INSTEAD = (("at_least", "at_most"), ("metric", "measure"))
"""Settings of which a cell has one: its own replaces either of the row's."""


def whole(about: Mapping[str, Any], cell: Mapping[str, Any]) -> dict[str, Any]:
    """A criterion with what a cell says otherwise."""
    every = (*about.items(), *cell.items())
    found = {key: value for key, value in every if key not in ("cells", "experiment")}
    for pair in INSTEAD:
        for one, other in (pair, pair[::-1]):
            if one in cell:
                found.pop(other, None)
    return found


def confidence(about: Mapping[str, Any]) -> float:
    """The confidence of each interval of a row: its comparisons share the error."""
    comparisons = sum(len((about | cell).get("against", ())) or 1 for cell in about["cells"])
    return 1 - ROW_ERROR / comparisons


def judge(
    name: str, about: dict[str, Any], level: float, own: list[Outcome], others: Mapping[str, list[Outcome]]
) -> Cell:
    """A cell's verdict. `others` are the yardsticks' runs with the same seeds."""
    errors = [f"seed {one.point.seed}: {one.error}" for one in own if one.error]
    yardsticks = {control: values(about, those) for control, those in others.items()}
    means = {control: sum(those) / len(those) for control, those in yardsticks.items() if those}
    every = [one for those in (own, *others.values()) for one in those]
    if not errors and all(_raw(about, one) is None for one in every):
        return Cell(name, "not run", None, {}, f"this backend has no {_word(about)}", about)
    measured = values(about, own)
    if errors or measured is None:
        return Cell(name, "failed", None, means, errors[0] if errors else "a run has no such value", about)
    if not about.get("against"):
        # No number of a criterion is below zero, and a share has a most: the interval keeps to them.
        estimate = mean_within(measured, 0.0, about.get("most"), level=level)
        return Cell(name, _verdict(about, measured, estimate), estimate, means, "", about)
    found = [
        _beside(name, about, level, measured, yardsticks[each], means, each) for each in about["against"]
    ]
    for one in found:
        if one.verdict == "failed":  # the other yardstick alone does not decide
            return one
    # The candidate is worse only if it is worse than each of the controls that are standards already.
    return min(found, key=badness)


def _beside(
    name: str,
    about: dict[str, Any],
    level: float,
    measured: list[float],
    base: list[float] | None,
    means: dict[str, float],
    against: str,
) -> Cell:
    """The verdict against one yardstick."""
    if base is None:
        return Cell(name, "failed", None, means, f"{against} has no such value", about, against)
    if min(measured + base) > 0:
        samples = [a / b for a, b in zip(measured, base, strict=True)]
        estimate = paired_ratio(measured, base, level)
    elif max(measured) == 0 and ("at_most" in about or max(base) > 0):
        samples, estimate = [0.0] * len(measured), Estimate(0.0, None, None, len(measured))
    else:
        zero = "the candidate" if min(measured) == 0 else against
        return Cell(name, "not determined", None, means, f"{zero} has zero in some run", about, against)
    return Cell(name, _verdict(about, samples, estimate), estimate, means, "", about, against)


def _word(about: Mapping[str, Any]) -> str:
    return about["measure"]["kind"] if "measure" in about else about["metric"]


def _raw(about: Mapping[str, Any], outcome: Outcome) -> float | None:
    if "measure" in about:
        return measures.measure(about["measure"], outcome.run.tables) if outcome.run else None
    value: float | None = (outcome.metrics or {}).get(about["metric"])
    return value


def values(about: Mapping[str, Any], outcomes: Sequence[Outcome]) -> list[float] | None:
    """The number of each run, over another metric if the criterion says so; None if one has no value."""
    found = []
    for one in outcomes:
        value = _raw(about, one)
        scale = (one.metrics or {}).get(about["over"]) if "over" in about else about.get("divide", 1.0)
        if value is None or not scale:
            return None
        found.append(value / scale)
    return found


def _verdict(about: Mapping[str, Any], samples: Sequence[float], estimate: Estimate) -> str:
    """Equal values are compared as they are; else the whole interval must lie on one side."""
    ends = estimate.ci or [estimate.value, estimate.value]
    if all(each == samples[0] for each in samples):
        ends = [samples[0]]
    sides = {_held(about, end) for end in ends}
    if sides == {True}:
        return "shown"
    if len(sides) > 1:
        return "not determined"
    return "worse than the yardstick" if about.get("against") else "not shown"


def _held(about: Mapping[str, Any], value: float) -> bool:
    held: bool = value <= about["at_most"] if "at_most" in about else value >= about["at_least"]
    return held


def badness(cell: Cell) -> tuple[int, float]:
    """Orders cells, the worst last: by the verdict, then by the estimate as a multiple of the bound."""
    if cell.estimate is None:
        return ORDER.index(cell.verdict), 0.0
    value, about = cell.estimate.value, cell.about
    worse = value / about["at_most"] if "at_most" in about else about["at_least"] / max(value, 1e-9)
    return ORDER.index(cell.verdict), worse
