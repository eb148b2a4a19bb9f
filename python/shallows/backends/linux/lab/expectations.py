"""Expectations of programs' runs: `s0.1.ended_ps < 2s`, judged over the seeds as those of `run` are.

With several seeds the mean's whole 95 % interval must be on the expected side; values that are equal in all
seeds are compared as they are.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from shallows.errors import Fault, SpecError
from shallows.files import write_whole
from shallows.statistics.estimates import mean_ci
from shallows.words import did_you_mean

RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
FORM = re.compile(r"\s*(\S+?)\s*(<=|>=|==|!=|(?<!-)>|<)\s*(\S+)\s*")
QUANTITIES = {"ps": "span", "bps": "rate", "bytes": "bytes"}
"""The kind of quantity of a metric by the end of its name."""

__all__ = ["Expectation", "Judged", "judge", "read", "write_junit"]


@dataclass(frozen=True)
class Expectation:
    """A metric of `metrics`, a relation, and a value in the metric's unit; `text` as it was written."""

    text: str
    metric: str
    relation: str
    bound: float


@dataclass(frozen=True)
class Judged:
    """An expectation with its verdict, the mean over the seeds, and the interval if there is one."""

    expectation: Expectation
    verdict: str
    measured: str
    mean: float | None = None
    interval: tuple[float, float] | None = None

    def record(self) -> dict[str, Any]:
        """For JSON."""
        told = {"expectation": self.expectation.text, "verdict": self.verdict, "measured": self.measured}
        return {**told, "mean": self.mean, "ci95": self.interval}


def read(texts: Iterable[str], at: str = "--expect") -> list[Expectation]:
    """Expectations by their texts. Raises SpecError for a form, unit or number that is wrong."""
    found, faults = [], []
    for text in texts:
        parts = FORM.fullmatch(text)
        if parts is None:
            rule = 'must be like "s0.1.ended_ps < 2s", with one of < <= > >= == !='
            faults.append(Fault(at, rule, text, code="wrong-form"))
            continue
        try:
            found.append(Expectation(text, parts[1], parts[2], _bound(parts[1], parts[3])))
        except ValueError as error:
            faults.append(Fault(at, str(error), text, code="wrong-unit"))
    if faults:
        raise SpecError(faults)
    return found


def _bound(metric: str, value: str) -> float:
    from shallows import _core

    unit = re.split(r"[._]", metric)[-1]
    if unit in QUANTITIES:
        return float(_core.parse_quantity(QUANTITIES[unit], value))
    number = value.removesuffix("%").removesuffix("pkt")
    try:
        bound = float(number) / (100 if value.endswith("%") else 1)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise ValueError("must end with a number, packets such as 20pkt, or a share in %")
    return bound


def judge(
    expectations: Sequence[Expectation], runs: Sequence[Mapping[str, float | None]], at: str = "--expect"
) -> list[Judged]:
    """Each expectation over the runs' metrics. Raises SpecError for a metric that no run has."""
    known = list(dict.fromkeys(name for run in runs for name in run))
    faults = [
        Fault(
            at, "names no metric of this run", each.metric, did_you_mean(each.metric, known), "unknown-word"
        )
        for each in expectations
        if each.metric not in known
    ]
    if faults:
        raise SpecError(faults)
    return [_judged(each, [run.get(each.metric) for run in runs]) for each in expectations]


def _judged(wanted: Expectation, values: Sequence[float | None]) -> Judged:
    numbers = [float(value) for value in values if value is not None]
    if len(numbers) < len(values):
        return Judged(
            wanted, "not-determined", f"no value in {len(values) - len(numbers)} of {len(values)} runs"
        )
    holds = RELATIONS[wanted.relation]
    over = f", {len(numbers)} seeds" if len(numbers) > 1 else ""
    if all(each == numbers[0] for each in numbers):
        verdict = "holds" if holds(numbers[0], wanted.bound) else "differs"
        return Judged(wanted, verdict, f"{_shown(wanted.metric, numbers[0])}{over}", numbers[0])
    found = mean_ci(numbers)
    low, high = found.low, found.high
    assert low is not None and high is not None
    measured = (
        f"{_shown(wanted.metric, found.value)} [{_shown(wanted.metric, low)}, {_shown(wanted.metric, high)}]"
    )
    if wanted.relation in ("==", "!="):
        verdict = "holds" if all(holds(each, wanted.bound) for each in numbers) else "differs"
    else:
        sides = {holds(low, wanted.bound), holds(high, wanted.bound)}
        verdict = "not-determined" if len(sides) > 1 else "holds" if sides == {True} else "differs"
    return Judged(wanted, verdict, measured + over, found.value, (low, high))


def _shown(metric: str, value: float) -> str:
    if metric.endswith("_ps"):
        return f"{value / 1e12:.6g} s"
    if metric.endswith("_bps"):
        return f"{value / 1e6:.6g} Mb/s"
    return f"{value:.6g}"


def write_junit(path: Path, name: str, judged: Sequence[Judged], broken: Sequence[str] = ()) -> None:
    """The verdicts as JUnit's XML: a test case for each, and for each run that broke."""
    failures = sum(each.verdict != "holds" for each in judged)
    counts = {"tests": str(len(judged) + len(broken)), "failures": str(failures), "errors": str(len(broken))}
    suites = ElementTree.Element("testsuites", name=name)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": name, **counts})
    for each in judged:
        case = ElementTree.SubElement(suite, "testcase", name=each.expectation.text, classname=name)
        if each.verdict != "holds":
            message = f"{each.verdict}: {each.measured}"
            ElementTree.SubElement(case, "failure", type=each.verdict, message=message)
    for why in broken:
        case = ElementTree.SubElement(suite, "testcase", name="the run reaches its end", classname=name)
        ElementTree.SubElement(case, "error", type="RunError", message=why)
    write_whole(path, ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True))
