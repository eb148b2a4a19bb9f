"""Makes a find small, and tells a weakness from an artefact.

A find is smaller with fewer names and rounder numbers. Each change must keep nine tenths of the way from the
file as written to the find (`Objective.near`). Then the find runs on other seeds, and with a random time of a
packet on every wire: an effect that vanishes there needed the exact order of packets (Floyd and Jacobson
1991, phase effects).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from shallows.attack.search import Laboratory, Tried
from shallows.attack.space import Candidate, Space
from shallows.studies.tune.section import Parameter

Verdict = Literal["weakness", "artefact", "not-determined"]
PACKET_BITS = 1500 * 8
"""The packet whose time on the slowest link is the jitter of the second check: Ethernet's largest."""
NUDGE = 0.1
FACTORS = (0.1, 0.25, 0.5, 0.75, 1 - NUDGE, 1 + NUDGE, 1.25, 1.5, 2.0, 4.0, 10.0)
"""Values beside the find's own, as multiples of it."""

__all__ = ["Find", "Neighbour", "judged", "shrink"]


@dataclass(frozen=True)
class Neighbour:
    """Whether the objective holds with one value moved, the others as they are; None: not a legal run.

    `tried` has each value with its outcome, from the lowest to the highest.
    """

    name: str
    tried: list[tuple[float, bool | None]]
    lower: bool | None
    """With the value a tenth lower."""
    higher: bool | None
    """With the value a tenth higher."""

    def holds_between(self, value: float) -> tuple[float, float]:
        """The lowest and the highest value tried that holds, without one between that does not."""
        ends = []
        for side in (
            reversed([t for t in self.tried if t[0] < value]),
            [t for t in self.tried if t[0] > value],
        ):
            reached = value
            for moved, holds in side:
                if not holds:
                    break
                reached = moved
            ends.append(reached)
        return ends[0], ends[1]


@dataclass(frozen=True)
class Find:
    """`first`: the best of the search; `tried`: the same made small. `seeds` and `jittered` say for each
    further seed whether the objective holds, the second with a packet time of jitter on every wire."""

    first: Tried
    tried: Tried
    jitter_ps: int
    seeds: list[bool]
    jittered: list[bool]
    neighbours: list[Neighbour]

    @property
    def verdict(self) -> Verdict:
        """A weakness holds in all checks; an artefact on all seeds, but on none with jitter."""
        if not all(self.seeds):
            return "not-determined"
        if all(self.jittered):
            return "weakness"
        return "not-determined" if any(self.jittered) else "artefact"


def shrink(lab: Laboratory, first: Tried, base: Tried) -> Tried:
    """The find with as few names and as round numbers as keep its effect; `first` if none can go."""
    assert first.value is not None and base.value is not None
    best = first
    while True:
        smaller = _first_near(
            lab, [_without(best.candidate, names) for names in _parts(lab.space, best)], first, base
        )
        if smaller is None:
            break
        best = smaller
    for name in list(best.candidate):
        one = lab.space.variables[name]
        if one.choices is not None:
            continue
        rounder = [best.candidate | {name: value} for value in _rounder(one, best.candidate[name])]
        best = _first_near(lab, rounder, first, base) or best
    return replace(best, number=first.number)


def _first_near(lab: Laboratory, candidates: Sequence[Candidate], first: Tried, base: Tried) -> Tried | None:
    assert first.value is not None and base.value is not None
    for tried in lab.judge(candidates):
        if tried.state == "feasible" and lab.objective.near(tried.value, first.value, base.value):
            return tried
    return None


def _parts(space: Space, tried: Tried) -> list[list[str]]:
    """Names that can go together: a parameter alone, a step of a schedule with its time and value."""
    steps = [names for group in space.groups.values() for names in group]
    return [names for names in steps if names[0] in tried.candidate]


def _without(candidate: Candidate, names: Sequence[str]) -> Candidate:
    return {name: value for name, value in candidate.items() if name not in names}


def _rounder(one: Parameter, value: Any) -> list[Any]:
    """The value at one and at two significant digits, the rounder first, within the range and its step."""
    if not value or one.step is not None:
        return []
    assert one.low is not None and one.high is not None
    found = []
    for digits in (1, 2):
        places = digits - 1 - math.floor(math.log10(abs(value)))
        rounded = round(value, places)
        if rounded != value and one.low <= rounded <= one.high and rounded not in found:
            found.append(rounded)
    return found


def judged(lab: Laboratory, first: Tried, small: Tried) -> Find:
    """The find on other seeds, with jitter, and a tenth beside each of its values."""
    further = lab.space.further_seeds
    [plain] = lab.measure([small.candidate], further)
    jitter = _packet_time_ps(lab, small)
    [jittered] = _with_jitter(lab, jitter).measure([small.candidate], further)
    return Find(
        first, small, jitter, [_holds(lab, one) for one in plain], [_holds(lab, one) for one in jittered],
        _neighbours(lab, small),
    )  # fmt: skip


def _holds(lab: Laboratory, tried: Tried) -> bool:
    return tried.state == "feasible" and lab.objective.holds(tried.value)


def _with_jitter(lab: Laboratory, jitter_ps: int) -> Laboratory:
    """The laboratory in which every wire has a jitter; that of the file's own ports stays."""
    base = dict(lab.space.base)
    ports = dict(base.get("port", {}))
    everywhere = {"jitter": f"{jitter_ps}ps"} | ports.pop("*->*", {})
    base["port"] = {"*->*": everywhere} | ports
    return replace(lab, space=replace(lab.space, base=base))


def _packet_time_ps(lab: Laboratory, tried: Tried) -> int:
    """The time of a packet on the slowest link of the loads' ways."""
    outcome = lab.runner.run(lab.space.points(tried.candidate))[0]
    slowest = outcome.run.manifest.get("slowest", {}) if outcome.run else {}
    rates = [rate for rate in _rates(slowest) if rate > 0]
    return round(PACKET_BITS * 1e12 / min(rates)) if rates else 1_000_000


def _rates(slowest: Any) -> list[float]:
    return [float(one["rate_bps"]) for one in slowest.values()] if isinstance(slowest, dict) else []


def _neighbours(lab: Laboratory, small: Tried) -> list[Neighbour]:
    variables = lab.space.variables
    numbers = {
        name: value
        for name, value in small.candidate.items()
        if isinstance(value, int | float) and value and variables[name].choices is None
    }
    moved = {name: [_moved(value, factor) for factor in FACTORS] for name, value in numbers.items()}
    candidates = [small.candidate | {name: value} for name, values in moved.items() for value in values]
    outcomes = iter(lab.judge(candidates))
    found = []
    for name, values in moved.items():
        held = [
            None if one.state == "illegal" else _holds(lab, one) for one in (next(outcomes) for _ in values)
        ]
        beside = dict(zip(FACTORS, held, strict=True))
        tried = sorted(dict(zip(values, held, strict=True)).items())
        found.append(Neighbour(name, tried, beside[1 - NUDGE], beside[1 + NUDGE]))
    return found


def _moved(value: Any, factor: float) -> Any:
    """A multiple of a value, at least one aside for whole numbers; its range does not bound it."""
    if not isinstance(value, int):
        return value * factor
    return (
        min(math.floor(value * factor), value - 1)
        if factor < 1
        else max(math.ceil(value * factor), value + 1)
    )
