"""Expectations: `web.fct_p99_ps < 2ms`, the grammar, the verdict over seeds, and JUnit's XML.

An expectation compares a metric with a value, or with another metric times a factor. Over several seeds the
whole 95 % interval of the mean must be on the expected side, as claims ask it: too few seeds decide nothing.
The callers know the metrics and measure them.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from shallows.errors import Fault, SpecError
from shallows.statistics.estimates import Estimate

__all__ = ["Expectation", "Judged", "judged", "measured", "read", "write_junit"]

Verdict = Literal["holds", "differs", "not-determined"]
RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
# A metric may have an arrow, as in `s0->r0.share`, which is no relation.
_FORM = re.compile(r"\s*((?:->|[^\s<>=!])+)\s*(<=|>=|==|!=|<|>)\s*(?:([0-9.eE+-]+)\s*\*\s*)?(\S.*?)\s*")
QUANTITIES = {"ps": "span", "bps": "rate", "bytes": "bytes"}
"""The kind of quantity of a metric's unit, for the reader of quantities."""


class Expectation(NamedTuple):
    """`metric` `relation` `bound`, or `factor` times the metric `other`; `text` as it was written."""

    text: str
    metric: str
    relation: str
    bound: float
    other: str = ""
    factor: float = 1.0


class Judged(NamedTuple):
    """An expectation of one point: its verdict, and what was measured, in words.

    `estimate` is the mean of the metric, or of its difference from the other metric times the factor.
    """

    expectation: Expectation
    label: str
    verdict: Verdict
    measured: str
    estimate: Estimate | None = None

    def record(self) -> dict[str, Any]:
        """For JSON: the interval and the mean are in the metric's own unit."""
        found = self.estimate
        number = None if found is None else {"mean": found.value, "ci95": found.ci, "n": found.n}
        return {
            "expectation": self.expectation.text,
            "label": self.label,
            "verdict": self.verdict,
            "measured": self.measured,
            "estimate": number,
        }


def read(
    text: str,
    at: str,
    example: str,
    unit: Callable[[str], str],
    metric: Callable[[str], bool],
    unknown: Callable[[str], Fault],
) -> Expectation:
    """The expectation of a text such as `example`. Raises SpecError for what is wrong in it.

    `unit` is that of a metric by its name, `metric` says whether a name is one, and `unknown` is the fault of
    a name that is none.
    """
    parts = _FORM.fullmatch(text)
    if parts is None:
        rule = f'must be like "{example}", with one of < <= > >= == !='
        raise SpecError([Fault(at, rule, text, code="wrong-form")])
    own, relation, factor, value = parts.groups()
    if not metric(own):
        raise SpecError([unknown(own)])
    if factor is None and not metric(value):
        return Expectation(text, own, relation, _bound(unit(own), value, text, at))
    if not metric(value):
        raise SpecError([unknown(value)])
    try:
        times = 1.0 if factor is None else float(factor)
    except ValueError:
        times = math.nan
    if not 0 < times < math.inf:
        raise SpecError([Fault(at, "must have a factor above zero", text)])
    if value == own:
        raise SpecError([Fault(at, "must compare two different metrics", text)])
    if unit(own) != unit(value):
        raise SpecError([Fault(at, "must compare metrics of one unit", text, code="wrong-unit")])
    return Expectation(text, own, relation, 0.0, value, times)


def _bound(unit: str, value: str, text: str, at: str) -> float:
    """The value in the metric's own unit."""
    from shallows import _core

    if unit in QUANTITIES:
        try:
            return float(_core.parse_quantity(QUANTITIES[unit], value))
        except ValueError as error:
            raise SpecError([Fault(at, f"{error}", text, code="wrong-unit")]) from None
    number, share = value.removesuffix("pkt") if unit == "packets" else value, value.endswith("%")
    try:
        bound = float(number.removesuffix("%")) / (100 if share else 1)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        form = "a number of packets" if unit == "packets" else "a number, or a share in %"
        raise SpecError([Fault(at, f"must end with {form}", text, code="wrong-form")])
    return bound


def measured(
    wanted: Expectation, own: Sequence[float], others: Sequence[float] | None, found: Estimate
) -> str:
    """The measurement in words: the metric, or both metrics and their difference."""
    from shallows import terminal

    def mean(values: Sequence[float]) -> float:
        return math.fsum(values) / len(values)

    over = f", {len(own)} seeds" if len(own) > 1 else ""
    if others is None:
        return terminal.readable_mean(wanted.metric, found.value, found.ci) + over
    both = (terminal.readable(wanted.metric, mean(own)), terminal.readable(wanted.other, mean(others)))
    difference = terminal.readable_mean(wanted.metric, found.value, found.ci)
    return f"{both[0]} and {both[1]}; the difference is {difference}{over}"


def judged(
    wanted: Expectation,
    label: str,
    runs: Sequence[dict[str, Any]],
    estimate: Callable[[Sequence[float]], Estimate],
    difference: Callable[[Sequence[float], Sequence[float]], Estimate],
) -> Judged:
    """The verdict on the metrics of the seeds' runs, by an estimate of one metric or of a difference."""
    own = _numbers(wanted.metric, runs)
    others = _numbers(wanted.other, runs) if wanted.other else None
    missing = wanted.metric if own is None else wanted.other if wanted.other and others is None else ""
    if missing or own is None:
        return Judged(wanted, label, "not-determined", f"{missing} has no value in some run")
    if others is None:
        samples, found = own, estimate(own)
    else:
        scaled = [wanted.factor * each for each in others]
        samples = [a - b for a, b in zip(own, scaled, strict=True)]
        found = difference(own, scaled)
    return Judged(
        wanted, label, _verdict(wanted, samples, found), measured(wanted, own, others, found), found
    )


def _numbers(name: str, runs: Sequence[dict[str, Any]]) -> list[float] | None:
    values = [metrics.get(name) for metrics in runs]
    return [float(v) for v in values if v is not None] if None not in values else None


def _verdict(wanted: Expectation, samples: Sequence[float], found: Estimate) -> Verdict:
    """Values that are equal in all runs are compared as they are; else the whole interval decides."""
    holds = RELATIONS[wanted.relation]
    if all(each == samples[0] for each in samples):
        return "holds" if holds(samples[0], wanted.bound) else "differs"
    if wanted.relation == "==":
        return "differs"
    if wanted.relation == "!=":
        return "holds" if all(holds(each, wanted.bound) for each in samples) else "differs"
    if found.ci is None:
        return "not-determined"
    sides = {holds(end, wanted.bound) for end in found.ci}
    return "not-determined" if len(sides) > 1 else "holds" if sides == {True} else "differs"


def write_junit(
    path: Path, name: str, verdicts: Sequence[Judged], errors: Sequence[tuple[str, str]] = ()
) -> None:
    """Writes the verdicts as JUnit's XML: a test case for each, and for each error its title and message."""
    from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite

    from shallows.files import write_whole

    suite = TestSuite(name)
    for each in verdicts:
        title = f"{each.label}: {each.expectation.text}" if each.label else each.expectation.text
        case = TestCase(title, classname=name)
        if each.verdict != "holds":
            case.result = [Failure(f"{each.verdict}: {each.measured}", type_=each.verdict)]
        suite.add_testcase(case)
    for title, message in errors:
        case = TestCase(title, classname=name)
        case.result = [Error(message, type_="RunError")]
        suite.add_testcase(case)
    xml = JUnitXml(name)
    xml.add_testsuite(suite)
    write_whole(path, xml.tostring())
