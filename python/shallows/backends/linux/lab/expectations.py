"""Expectations of programs' runs: `s0.1.ended_ps < 2s`, judged over the seeds as those of `run` are.

`statistics.expected` has the grammar and the verdict. Which metrics a run has is known when it has ended, so
that a name is checked by its last word before, and whole afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from shallows.backends.linux.lab.metrics import OF_FLOWS, OF_PORTS, OF_PROGRAMS
from shallows.errors import Fault, SpecError
from shallows.statistics import expected
from shallows.statistics.estimates import Estimate, mean_ci, paired_difference
from shallows.statistics.expected import Expectation, Judged
from shallows.words import did_you_mean

EXAMPLE = "s0.1.ended_ps < 2s"
LAST = (*OF_PROGRAMS, *OF_PORTS, *OF_FLOWS)
"""The last words of metrics."""
PACKETS = ("drops", "marks", "packets_out")
"""Last words of numbers of packets that do not end so."""

__all__ = ["Expectation", "Judged", "judge", "read", "write_junit"]


def read(texts: Iterable[str], at: str = "--expect") -> list[Expectation]:
    """Expectations by their texts. Raises SpecError for a form, unit, number or last word that is wrong."""
    found, faults = [], []
    for text in texts:
        try:
            found.append(expected.read(text, at, EXAMPLE, _unit, _is_metric, lambda name: _unknown(name, at)))
        except SpecError as error:
            faults += error.faults
    if faults:
        raise SpecError(faults)
    return found


def _is_metric(name: str) -> bool:
    before, _, last = name.rpartition(".")
    return bool(before) and last in LAST


def _unknown(name: str, at: str) -> Fault:
    before = name.rpartition(".")[0]
    hint = did_you_mean(name, [f"{before}.{last}" for last in LAST])
    return Fault(at, "must end with a metric of programs, ports or flows", name, hint, "unknown-word")


def _unit(metric: str) -> str:
    last = metric.rpartition(".")[2]
    return "packets" if last in PACKETS else re.split("_", last)[-1]


def judge(
    expectations: Sequence[Expectation], runs: Sequence[Mapping[str, float | None]], at: str = "--expect"
) -> list[Judged]:
    """Each expectation over the runs' metrics. Raises SpecError for a metric that no run has."""
    known = list(dict.fromkeys(name for run in runs for name in run))
    faults = [
        Fault(at, "names no metric of this run", name, did_you_mean(name, known), "unknown-word")
        for each in expectations
        for name in (each.metric, each.other)
        if name and name not in known
    ]
    if faults:
        raise SpecError(faults)
    values = [dict(run) for run in runs]
    return [expected.judged(each, "", values, _mean, _difference) for each in expectations]


def _mean(samples: Sequence[float]) -> Estimate:
    flat = all(each == samples[0] for each in samples)
    return Estimate(samples[0], None, None, len(samples)) if flat else mean_ci(samples)


def _difference(own: Sequence[float], others: Sequence[float]) -> Estimate:
    first = own[0] - others[0]
    flat = all(a - b == first for a, b in zip(own, others, strict=True))
    return Estimate(first, None, None, len(own)) if flat else paired_difference(own, others)


def write_junit(path: Path, name: str, judged: Sequence[Judged], broken: Sequence[str] = ()) -> None:
    """The verdicts as JUnit's XML: a test case for each, and for each run that broke."""
    expected.write_junit(path, name, judged, [("the run reaches its end", why) for why in broken])
