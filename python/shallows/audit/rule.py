"""A rule of the audit: its name, its source, and the list in which each stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from shallows.audit.trace import Trace

__all__ = ["RULES", "TCP", "Breach", "Rule", "Runs", "first", "rule", "slack", "times"]

TCP = ("datacentre", "rfc", "linux", "ns2")
"""Profiles of TCP."""

CHANCE = 1e-6
"""Chance with which a rule about random draws rejects a run that keeps it."""


class Breach(NamedTuple):
    """A rule that does not hold: the fault, its time, place and count."""

    text: str
    time_ps: int
    place: str
    rows: int = 1


class Runs(Enum):
    """The runs that a rule judges."""

    SIMULATOR = "simulator"
    BOTH = "both"
    KERNEL = "kernel"
    STANDARD = "standard"
    """Runs of the kernel too, which may part from the standard without being wrong."""


class Rule(NamedTuple):
    """A rule, its name, the source that states it, and the runs that it judges."""

    name: str
    source: str
    check: Callable[[Trace], Iterator[Breach]]
    runs: Runs = Runs.SIMULATOR

    def judges(self, kernel: bool) -> bool:
        """Whether it judges runs of the kernel, or those of the simulator."""
        return self.runs is Runs.BOTH or (self.runs is not Runs.SIMULATOR) == kernel


RULES: list[Rule] = []


def rule(
    name: str, source: str, runs: Runs = Runs.SIMULATOR
) -> Callable[[Callable[[Trace], Iterator[Breach]]], Any]:
    """Lists a function as the rule `name`."""

    def listed(check: Callable[[Trace], Iterator[Breach]]) -> Callable[[Trace], Iterator[Breach]]:
        RULES.append(Rule(name, source, check, runs))
        return check

    return listed


def first(wrong: pl.DataFrame, text: str, time: str = "time_ps") -> Iterator[Breach]:
    """The earliest of the rows `wrong`, if there are any."""
    if len(wrong):
        row = wrong.sort(time).row(0, named=True)
        yield Breach(text.format(**row), row[time], row["port"], len(wrong))


def times(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Departures, arrivals and transmission times; a transmission is rounded up to a ps."""
    time, came = rows["time_ps"].to_numpy().astype("i8"), rows["came"].to_numpy().astype("i8")
    bits = rows["size"].to_numpy().astype("i8") * 8
    bps = int(rows["rate_bps"][0])
    return time, came, -(-bits * 10**12 // bps)


def slack(variance: float) -> float:
    """Bound of a sum of draws less their probabilities, which `CHANCE` of runs exceed at most.

    Freedman 1975, Theorem 1.6, for steps of at most 1: 2 exp(-t^2 / (2 (v + t / 3))).
    """
    from math import log, sqrt

    x = log(2 / CHANCE)
    return x / 3 + sqrt(x * x / 9 + 2 * x * variance)
