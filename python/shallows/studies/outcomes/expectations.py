"""Expectations of results: `long.fct_p99_ps < 2ms`, judged over the seeds, for commands, tests and CI.

An expectation compares a metric with a value, or with another metric times a factor. Over several seeds the
whole 95 % interval of the mean must be on the expected side, as claims ask it: too few seeds decide nothing.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from shallows import _core, terminal
from shallows.document.summary import DEFAULT, Summary
from shallows.errors import Fault, SpecError
from shallows.execution.jobs import Outcome
from shallows.statistics.estimates import Estimate, paired_difference
from shallows.studies.outcomes.rows import groups
from shallows.tables import metric_names, seeds

__all__ = ["Expectation", "Judged", "judge", "read", "write_junit"]

Verdict = Literal["holds", "differs", "not-determined"]
RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_FORM = re.compile(r"\s*([^\s<>=!]+)\s*(<=|>=|==|!=|<|>)\s*(?:([0-9.eE+-]+)\s*\*\s*)?(\S.*?)\s*")
_FORM_IN_WORDS = 'must be like "web.fct_p99_ps < 2ms", with one of < <= > >= == !='
QUANTITIES = {"ps": "span", "bps": "rate", "bytes": "bytes"}
"""The kind of quantity of a metric's unit, for the reader of quantities."""
OF_THE_ENDED = ("slowdown_acked_", "slowdown_", "acked_", "fct_")
"""Quantities that only messages, rounds and steps have that ended."""


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


# ---- reading ----


def read(
    texts: Iterable[str],
    experiments: Iterable[Mapping[str, Any]],
    at: str = "--expect",
    summary: Summary = DEFAULT,
) -> list[Expectation]:
    """The expectations of runs of these resolved experiments, before they run. Raises SpecError.

    A metric that no run has, a value without its unit, and an expectation that cannot fail are faults.
    """
    known = list(dict.fromkeys(name for each in experiments for name in metric_names.names(each, summary)))
    found, faults = [], []
    for text in texts:
        try:
            found.append(_read(text, known, at))
        except SpecError as error:
            faults += error.faults
    if faults:
        raise SpecError(faults)
    return found


def _read(text: str, known: Sequence[str], at: str) -> Expectation:
    parts = _FORM.fullmatch(text)
    if parts is None:
        raise SpecError([Fault(at, _FORM_IN_WORDS, text, code="wrong-form")])
    metric, relation, factor, value = parts.groups()
    if metric not in known:
        raise SpecError([_unknown(metric, known, at)])
    if factor is not None or value in known:
        return _of_two(text, (metric, relation, value), factor, known, at)
    bound = _bound(metric, value, text, at)
    low, high = metric_names.bounds(metric)
    high = math.inf if high is None else high
    if ends := _cannot(relation, bound, low, high):
        span = f"from {low:g} to {high:g}" if high < math.inf else f"{low:g} or more"
        raise SpecError([Fault(at, f"can never {ends}: {metric} is {span}", text)])
    return Expectation(text, metric, relation, bound)


def _cannot(relation: str, bound: float, low: float, high: float) -> str:
    """`fail` or `hold`, if no value from `low` to `high` can make the expectation do so."""
    outside = not low <= bound <= high
    always, never = {
        "<": (high < bound, low >= bound),
        "<=": (high <= bound, low > bound),
        ">": (low > bound, high <= bound),
        ">=": (low >= bound, high < bound),
        "==": (False, outside),
        "!=": (outside, False),
    }[relation]
    return "fail" if always else "hold" if never else ""


def _unknown(metric: str, known: Sequence[str], at: str) -> Fault:
    from shallows.words import did_you_mean

    return Fault(
        at, "must begin with a metric of these runs", metric, did_you_mean(metric, known), "unknown-word"
    )


def _of_two(
    text: str, parts: tuple[str, str, str], factor: str | None, known: Sequence[str], at: str
) -> Expectation:
    metric, relation, other = parts
    if other not in known:
        raise SpecError([_unknown(other, known, at)])
    try:
        times = 1.0 if factor is None else float(factor)
    except ValueError:
        times = math.nan
    if not 0 < times < math.inf:
        raise SpecError([Fault(at, "must have a factor above zero", text)])
    if other == metric:
        raise SpecError([Fault(at, "must compare two different metrics", text)])
    if metric_names.unit(metric) != metric_names.unit(other):
        raise SpecError([Fault(at, "must compare metrics of one unit", text, code="wrong-unit")])
    return Expectation(text, metric, relation, 0.0, other, times)


def _bound(metric: str, value: str, text: str, at: str) -> float:
    """The value in the metric's own unit."""
    unit = metric_names.unit(metric)
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


# ---- judging ----


def judge(expectations: Sequence[Expectation], outcomes: Sequence[Outcome]) -> list[Judged]:
    """Each expectation at each point that did not fail, over its seeds."""
    return [_judged(each, group) for group in groups(outcomes) for each in expectations]


def _judged(wanted: Expectation, group: Sequence[Outcome]) -> Judged:
    label, runs = group[0].point.label, [one.metrics or {} for one in group]
    own = _numbers(wanted.metric, runs)
    others = _numbers(wanted.other, runs) if wanted.other else None
    missing = wanted.metric if own is None else wanted.other if wanted.other and others is None else ""
    if missing or own is None:
        return Judged(wanted, label, "not-determined", f"{missing} has no value in some run")
    same = seeds.alike(runs)
    if others is None:
        samples, found = own, seeds.estimate(wanted.metric, own, same)
    else:
        scaled = [wanted.factor * each for each in others]
        samples = [a - b for a, b in zip(own, scaled, strict=True)]
        found = _difference(own, scaled, same)
    verdict = _verdict(wanted, samples, found)
    words = _words(wanted, own, others, found)
    if verdict == "holds" and (cut_off := _cut_off(wanted, group)):
        return Judged(wanted, label, "not-determined", f"{words}; {cut_off}", found)
    return Judged(wanted, label, verdict, words, found)


def _numbers(name: str, runs: Sequence[Mapping[str, Any]]) -> list[float] | None:
    values = [metrics.get(name) for metrics in runs]
    return [float(v) for v in values if v is not None] if None not in values else None


def _difference(own: list[float], others: list[float], same: bool) -> Estimate:
    """The mean difference over the seeds; without an interval where the seeds change nothing."""
    first = own[0] - others[0]
    flat = all(a - b == first for a, b in zip(own, others, strict=True))
    return Estimate(first, None, None, 1) if same or flat else paired_difference(own, others)


def _verdict(wanted: Expectation, samples: list[float], found: Estimate) -> Verdict:
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


def _words(wanted: Expectation, own: list[float], others: list[float] | None, found: Estimate) -> str:
    def mean(values: list[float]) -> float:
        return math.fsum(values) / len(values)

    over = f", {len(own)} seeds" if len(own) > 1 else ""
    if others is None:
        return terminal.readable_mean(wanted.metric, found.value, found.ci) + over
    both = (terminal.readable(wanted.metric, mean(own)), terminal.readable(wanted.other, mean(others)))
    difference = terminal.readable_mean(wanted.metric, found.value, found.ci)
    return f"{both[0]} and {both[1]}; the difference is {difference}{over}"


def _cut_off(wanted: Expectation, group: Sequence[Outcome]) -> str:
    """Why a time that counts only what ended does not show that the expectation holds; or nothing.

    A message that the run's end cut off says nothing against a bound that it is still younger than.
    """
    stem, _, last = wanted.metric.partition(".")
    last = last.rpartition(".")[2]
    kind = next((k for k in ("round", "step") if last.startswith(f"{k}_")), "message")
    quantity = next((q for q in OF_THE_ENDED if q in f"{last}_"), "")
    runs = [one.metrics or {} for one in group]
    missing, of = seeds.unfinished(runs).get(f"{kind}s of {stem}", (0, 0)) if quantity else (0, 0)
    if not missing:
        return ""
    told = f"{missing} of {of} {kind}s did not end"
    if kind != "message" or wanted.other or wanted.relation not in ("<", "<="):
        return told
    oldest = max(_age(one, stem, quantity) for one in group)
    return f"{told}, one after {terminal.readable(last, oldest)}" if oldest >= wanted.bound else ""


def _age(outcome: Outcome, of_class: str, quantity: str) -> float:
    """The age of the oldest message of a class at the end of the run, in ps or in ideal times."""
    import polars as pl

    assert outcome.run is not None
    end = _core.numbers(json.dumps(outcome.point.experiment))["duration"]
    answered = "acked_" if "acked" in quantity else ""
    ended = pl.col("acked_ps" if answered else "fct_ps")
    age = end - pl.col("start_ps")
    value = age / pl.col(f"ideal_{answered}ps") if "slowdown" in quantity else age
    left = outcome.run.tables["messages"].filter(pl.col("class") == of_class, ended.is_null())
    return float(left.select(value.max()).item() or 0.0)


# ---- JUnit ----


def write_junit(path: Path, name: str, judged: Sequence[Judged], outcomes: Sequence[Outcome]) -> None:
    """Writes the verdicts as JUnit's XML: a test case for each, and for each run that failed."""
    from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite

    from shallows.files import write_whole

    suite = TestSuite(name)
    for each in judged:
        title = f"{each.label}: {each.expectation.text}" if each.label else each.expectation.text
        case = TestCase(title, classname=name)
        if each.verdict != "holds":
            case.result = [Failure(f"{each.verdict}: {each.measured}", type_=each.verdict)]
        suite.add_testcase(case)
    for outcome in outcomes:
        if outcome.error:
            label = outcome.point.label
            case = TestCase(
                f"{label}, seed {outcome.point.seed}" if label else f"seed {outcome.point.seed}",
                classname=name,
            )
            case.result = [Error(f"{outcome.error}", type_="RunError")]
            suite.add_testcase(case)
    xml = JUnitXml(name)
    xml.add_testsuite(suite)
    write_whole(path, xml.tostring())
