"""Decides whether two backends agree on a cell, by rules that were written before any cell was run.

Mean queue: within the largest of 5 % (10 % for Reno, CUBIC and BBR), 1 packet, and two standard errors of the
difference. Throughput: within 1 % (3 % for BBR). Marks: within the larger of 10 % and 0.5 % of the packets.
The first of two loads' share: within the largest of 10 %, a point, and two standard errors. Mean
completion of incast rounds: within the larger of 5 % and two standard errors. Cells in which no two runs
can be expected to agree stand apart, by rule too: windows at the floor, phase-locked flows, few events.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shallows.studies.validation.matrix import Cell

FLOOR_SEGMENTS = 3.0
"""Windows of fewer segments in the mean are at the floor: two is Linux's least."""
FEW_EVENTS = 50.0
LOCKED_SHARE = 0.5
"""A flow with less than this of its fair share over 50 epochs is locked out by the others' phase."""

QUANTITIES = {
    "queue_mean": "pkt",
    "throughput_bps": "bit/s",
    "marks": "",
    "first_share": "",
    "fct_mean_ps": "ps",
}
"""The judged quantity, with its unit."""

Numbers = Mapping[str, float | None]

__all__ = ["QUANTITIES", "Compared", "Mean", "compare", "group", "mean"]


@dataclass(frozen=True)
class Mean:
    """Mean over the seeds, its standard error, and their number."""

    value: float
    error: float
    n: int


@dataclass(frozen=True)
class Compared:
    """A quantity on two backends: the second is held against the first."""

    what: str
    ours: Mean
    theirs: Mean
    allowed: float

    @property
    def difference(self) -> float:
        """Ours less theirs."""
        return self.ours.value - self.theirs.value

    @property
    def agrees(self) -> bool:
        """Whether it is within what is allowed."""
        return abs(self.difference) <= self.allowed


def mean(samples: Sequence[float]) -> Mean:
    """Mean and standard error."""
    n = len(samples)
    value = math.fsum(samples) / n
    spread = math.fsum((s - value) ** 2 for s in samples)
    return Mean(value, math.sqrt(spread / (n - 1) / n) if n > 1 else 0.0, n)


def _samples(runs: Sequence[Numbers], what: str) -> list[float]:
    return [value for run in runs if (value := run[what]) is not None]


def compare(cell: Cell, ours: Sequence[Numbers], theirs: Sequence[Numbers]) -> list[Compared]:
    """Every judged quantity that both have."""
    found = []
    for what in QUANTITIES:
        if cell.incast != (what == "fct_mean_ps"):
            continue
        a, b = _samples(ours, what), _samples(theirs, what)
        if not a or not b:
            continue
        one, other = mean(a), mean(b)
        packets = mean(_samples(theirs, "packets")).value
        found.append(Compared(what, one, other, _allowed(cell, what, one, other, packets)))
    return found


def _allowed(cell: Cell, what: str, ours: Mean, theirs: Mean, packets: float) -> float:
    noise = 2 * math.hypot(ours.error, theirs.error)
    size = abs(theirs.value)
    if what == "queue_mean":
        return max((0.05 if cell.cc == "dctcp" else 0.1) * size, 1.0, noise)
    if what == "throughput_bps":
        return (0.03 if cell.cc == "bbr1" else 0.01) * size
    if what == "marks":
        return max(0.1 * size, 0.005 * packets)
    if what == "first_share":
        return max(0.1 * size, 0.01, noise)
    return max(0.05 * size, noise)


def group(cell: Cell, runs: Mapping[str, Sequence[Numbers]]) -> tuple[str, str]:
    """The table of a cell, and the reason: main, floor, locked, few."""
    every = [numbers for of in runs.values() for numbers in of]
    if cell.incast or not every:
        return "main", ""
    waiting = max(mean(_samples(of, "queue_mean")).value for of in runs.values() if of)
    window = (cell.bdp_packets + waiting + 1) * len(cell.ports) / cell.flows
    if window < FLOOR_SEGMENTS:
        return "floor", f"{window:.1f} segments a window; Linux's floor is 2"
    events = min(
        mean([_of(run, "marks") + _of(run, "drops") for run in of]).value for of in runs.values() if of
    )
    if events < FEW_EVENTS and not cell.quiet:
        return "few", f"{events:.0f} marks and drops a run"
    least = min(run["least_share"] or 0.0 for run in every)
    if cell.flows > 1 and least < LOCKED_SHARE:
        return "locked", f"a flow has {least:.0%} of its fair share over the whole run"
    return "main", ""


def _of(run: Numbers, what: str) -> float:
    value = run[what]
    return 0.0 if value is None else value


def as_record(compared: Compared) -> dict[str, Any]:
    """The record of a comparison, for the JSON."""

    def side(of: Mean) -> dict[str, float | int]:
        return {"mean": of.value, "standard_error": of.error, "seeds": of.n}

    return {
        "what": compared.what,
        "unit": QUANTITIES[compared.what],
        "ours": side(compared.ours),
        "theirs": side(compared.theirs),
        "difference": compared.difference,
        "relative": compared.difference / compared.theirs.value if compared.theirs.value else None,
        "allowed": compared.allowed,
        "agrees": compared.agrees,
    }
