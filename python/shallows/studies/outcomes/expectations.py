"""Expectations of results: `long.fct_p99_ps < 2ms`, judged over the seeds, for commands, tests and CI.

`statistics.expected` has the grammar and the verdict. Here are the metrics of runs: their names and units,
expectations that cannot fail, and times that count only what ended.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from shallows import _core, terminal
from shallows.document.summary import DEFAULT, Summary
from shallows.errors import Fault, SpecError
from shallows.execution.jobs import Outcome
from shallows.statistics import expected
from shallows.statistics.estimates import Estimate, paired_difference
from shallows.statistics.expected import Expectation, Judged
from shallows.studies.outcomes.rows import groups
from shallows.tables import metric_names, seeds

__all__ = ["Expectation", "Judged", "judge", "read", "write_junit"]

EXAMPLE = "web.fct_p99_ps < 2ms"
OF_THE_ENDED = ("slowdown_acked_", "slowdown_", "acked_", "fct_")
"""Quantities that only messages, rounds and steps have that ended."""


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
    wanted = expected.read(
        text, at, EXAMPLE, metric_names.unit, known.__contains__, lambda name: _unknown(name, known, at)
    )
    if wanted.other:
        return wanted
    low, high = metric_names.bounds(wanted.metric)
    high = math.inf if high is None else high
    if ends := _cannot(wanted.relation, wanted.bound, low, high):
        span = f"from {low:g} to {high:g}" if high < math.inf else f"{low:g} or more"
        raise SpecError([Fault(at, f"can never {ends}: {wanted.metric} is {span}", text)])
    return wanted


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


# ---- judging ----


def judge(expectations: Sequence[Expectation], outcomes: Sequence[Outcome]) -> list[Judged]:
    """Each expectation at each point that did not fail, over its seeds."""
    return [_judged(each, group) for group in groups(outcomes) for each in expectations]


def _judged(wanted: Expectation, group: Sequence[Outcome]) -> Judged:
    runs = [one.metrics or {} for one in group]
    same = seeds.alike(runs)
    found = expected.judged(
        wanted,
        group[0].point.label,
        runs,
        partial(seeds.estimate, wanted.metric, same=same),
        partial(_difference, same=same),
    )
    if found.verdict == "holds" and (cut_off := _cut_off(wanted, group)):
        return found._replace(verdict="not-determined", measured=f"{found.measured}; {cut_off}")
    return found


def _difference(own: Sequence[float], others: Sequence[float], same: bool) -> Estimate:
    """The mean difference over the seeds; without an interval where the seeds change nothing."""
    first = own[0] - others[0]
    flat = all(a - b == first for a, b in zip(own, others, strict=True))
    return Estimate(first, None, None, 1) if same or flat else paired_difference(own, others)


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
    errors = []
    for outcome in outcomes:
        if outcome.error:
            label, seed = outcome.point.label, f"seed {outcome.point.seed}"
            errors.append((f"{label}, {seed}" if label else seed, f"{outcome.error}"))
    expected.write_junit(path, name, judged, errors)
