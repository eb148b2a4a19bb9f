"""Claims of a source document, and the measured result of an experiment for one.

`claims_file` reads them, `docs/claims.md` explains the rules with examples, `verdicts` applies them.
"""

import math
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

from shallows.statistics.estimates import Estimate, Samples, mean_ci, paired_difference, seeds_for
from shallows.studies.paper.logic import Truth, all_of, any_of
from shallows.studies.paper.numbers import estimate as said

Kind = Literal["published", "implied", "ours"]
"""The document says it; its argument needs it; a question or check of this project."""

Verdict = Literal["holds", "holds-if", "differs", "not-determined"]
Relation = Literal["equals", "at-least", "at-most"]

KINDS = typing.get_args(Kind)
VERDICTS = typing.get_args(Verdict)
RELATIONS = typing.get_args(Relation)
MODES = ("full", "quick")
LINUX_MODES = ("linux-full", "linux-quick")
"""Verdicts expected on Linux where they are not the simulator's."""

Value = float | int | bool | None


class Measured(NamedTuple):
    """The finding of an experiment: a number with its interval, or a boolean, or None (undecided).

    `n_seeds` is None where the caller should take the number of seeds that were run; 0 stands for a
    closed form, which needs none. `note` says what the numbers alone do not. `flat`: every seed gave the
    same. `range`: `low` and `high` are the least and the greatest of several settings, no interval of chance.
    `needs`: about how many seeds would decide it; None where that is not known.
    """

    value: Value
    low: float | None = None
    high: float | None = None
    n_seeds: int | None = None
    note: str = ""
    flat: bool = False
    range: bool = False
    needs: int | None = None


@dataclass(frozen=True)
class Cause:
    """Why a claim differs: a kind, in words, and the claim (`figure/id`) whose run shows it.

    Without a claim it is `open` (the document does not say it) or `looked-for` (`tried` did not explain it).
    """

    kind: str
    claim: str = ""
    words: str = ""
    tried: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """One claim as written in claims.toml. `tolerance` is absolute, in `unit`; None for booleans.

    `published_text`: the published value with its source's digits. `single_run`: the source's number comes
    from one random run, whose scatter is added to the tolerance. `about`: the experiments that it rests on,
    as far as readings concern it. `experiments`: those whose runs it is measured on. `sentence`: the
    document's own words, and `where` they are. `joint`: claims that must hold under one reading.
    """

    id: str
    statement: str
    kind: str
    published: Value
    published_text: str
    unit: str
    relation: str
    tolerance: float | None
    tolerance_because: str
    single_run: bool
    deterministic: bool
    expected: Mapping[str, str]
    holds_if: str
    cause: Cause | None
    about: tuple[str, ...]
    note: str
    experiments: tuple[str, ...] = ("*",)
    sentence: str = ""
    where: str = ""
    joint: tuple[str, ...] = ()
    full_only: str = ""
    """Why quick's part of the grid cannot decide it."""


def as_measured(found: Any, n_seeds: int) -> Measured:
    """The answer of `measure` of a figure.py, as `Measured`.

    A number, a boolean or None stands for itself; an `Estimate` brings its interval; a list is one
    sample a seed, summarised by its mean. NaN counts as None. Error: TypeError for anything else.
    """
    if isinstance(found, Measured):
        return found if found.n_seeds is not None else found._replace(n_seeds=n_seeds)
    if isinstance(found, Estimate):
        return Measured(found.value, found.low, found.high, found.n, flat=is_flat(found))
    if isinstance(found, Sequence) and not isinstance(found, str):
        return as_measured(mean_ci(found), n_seeds)
    if found is not None and not isinstance(found, Real):
        raise TypeError(f"measured must be a number, true, false or None, got {found!r}")
    if isinstance(found, float) and not math.isfinite(found):
        return Measured(None, n_seeds=n_seeds, note="the result is not a number")
    return Measured(found, n_seeds=n_seeds)


def noted(estimate: Estimate, note: str) -> Measured:
    """An estimate with what its numbers alone do not say."""
    return Measured(estimate.value, estimate.low, estimate.high, estimate.n, note)


def is_flat(estimate: Estimate) -> bool:
    """Whether several seeds gave the same number: an interval of no width but for rounding."""
    if estimate.n < 2 or estimate.low is None or estimate.high is None:
        return False
    return estimate.high - estimate.low <= 1e-12 * max(abs(estimate.value), 1.0)


def is_above(estimate: Estimate, bound: float = 0.0, unit: str = "") -> Measured:
    """Whether a quantity is above `bound`: true or false if its whole interval says so, else None."""
    decided = None
    if estimate.ci is not None:
        low, high = estimate.ci
        decided = True if low > bound else False if high <= bound else None
    return _decided(decided, estimate, unit, bound)


def is_below(estimate: Estimate, bound: float = 0.0, unit: str = "") -> Measured:
    """Whether a quantity is below `bound`, decided as by `is_above`."""
    decided = None
    if estimate.ci is not None:
        low, high = estimate.ci
        decided = True if high < bound else False if low >= bound else None
    return _decided(decided, estimate, unit, bound)


def is_within(estimate: Estimate, margin: float, of: float = 0.0, unit: str = "") -> Measured:
    """Whether a quantity is within `margin` of `of`: an equivalence test.

    True if its whole interval is inside, false if it is wholly outside, else None: that no difference was
    found does not say that there is none (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987).
    """
    decided = None
    if estimate.ci is not None:
        low, high = estimate.ci
        inside, outside = of - margin <= low and high <= of + margin, high < of - margin or low > of + margin
        decided = True if inside else False if outside else None
    return _decided(decided, estimate, unit, of - margin, of + margin)


def settled(samples: Samples, first: Samples, second: Samples, unit: str = "") -> Measured:
    """The mean over seeds; without an interval while it still changes within the measured time.

    `first` and `second`: the same quantity in the halves of that time, by seed. It changes if the interval of
    their paired differences excludes zero and the change is larger than the half width of the mean's own
    interval, which would then say nothing of where it comes to rest.
    """
    mean, change = mean_ci(samples), paired_difference(second, first)
    if mean.low is None or mean.high is None or change.low is None or change.high is None:
        return as_measured(mean, mean.n)
    half = (mean.high - mean.low) / 2
    if change.low <= 0 <= change.high or abs(change.value) <= half:
        return as_measured(mean, mean.n)
    ends = (f"{said(*mean_ci(each)[:3])} {unit}".strip() for each in (first, second))
    note = "still changes within the measured time: {} in its first half, {} in its second".format(*ends)
    return Measured(mean.value, n_seeds=mean.n, note=note)


def _decided(truth: Truth, estimate: Estimate, unit: str, *ends: float) -> Measured:
    note = f"{said(*estimate[:3])} {unit}".strip()
    needs = None
    if truth is None and estimate.low is not None and estimate.high is not None:
        away = min(abs(estimate.value - end) for end in ends)
        needs = seeds_for((estimate.high - estimate.low) / 2, estimate.n, away)
    return Measured(truth, n_seeds=estimate.n, note=note, flat=is_flat(estimate), needs=needs)


def every(parts: Iterable[Measured], note: str = "") -> Measured:
    """Whether all parts are true; an undecided part leaves it undecided unless another is false."""
    return _joined(list(parts), all_of, note)


def some(parts: Iterable[Measured], note: str = "") -> Measured:
    """Whether one part is true; an undecided part leaves it undecided unless another is true."""
    return _joined(list(parts), any_of, note)


def _joined(parts: Sequence[Measured], join: Any, note: str) -> Measured:
    truth = join([None if part.value is None else bool(part.value) for part in parts])
    seeds = [part.n_seeds for part in parts if part.n_seeds is not None]
    notes = note or "; ".join(dict.fromkeys(part.note for part in parts if part.note))
    wanted = [part.needs for part in parts if part.value is None]
    known = [want for want in wanted if want is not None]
    return Measured(
        truth,
        n_seeds=min(seeds) if seeds else None,
        note=notes,
        flat=any(part.flat for part in parts),
        needs=max(known) if truth is None and known and len(known) == len(wanted) else None,
    )
