"""Claims of a source document, read strictly from claims.toml, and what an experiment found for one.

`docs/claims.md` explains the rules with examples; `verdicts` applies them.
"""

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from shallows.errors import Fault, SpecError
from shallows.statistics.estimates import Estimate, mean_ci
from shallows.studies.paper.logic import Truth, all_of, any_of
from shallows.studies.paper.numbers import estimate as said
from shallows.studies.paper.readings import CAUSES
from shallows.words import did_you_mean

KINDS = ("published", "implied", "ours")
"""The document says it; its argument needs it; a question or check of this project."""

VERDICTS = ("holds", "holds-if", "differs", "not-determined")
RELATIONS = ("equals", "at-least", "at-most")
MODES = ("full", "quick")
LINUX_MODES = ("linux-full", "linux-quick")
"""Verdicts expected on Linux where they are not the simulator's."""

Value = float | int | bool | None


class Measured(NamedTuple):
    """What an experiment found: a number with its interval, or a boolean, or None (undecided).

    `n_seeds` is None where the caller should take the number of seeds that were run; 0 stands for a
    closed form, which needs none. `note` says what the numbers alone do not. `flat`: every seed gave the
    same.
    """

    value: Value
    low: float | None = None
    high: float | None = None
    n_seeds: int | None = None
    note: str = ""
    flat: bool = False


@dataclass(frozen=True)
class Cause:
    """Why a claim differs: a kind, in words, and the claim (`figure/id`) whose run shows it."""

    kind: str
    claim: str
    words: str


@dataclass(frozen=True)
class Claim:
    """One claim as written in claims.toml. `tolerance` is absolute, in `unit`; None for booleans.

    `published_text`: the published value with its source's digits. `single_run`: the source's number comes
    from one random run, whose scatter is added to the tolerance. `about`: the experiments that it rests on.
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


_KEYS: dict[str, tuple[type, ...]] = {
    "id": (str,), "statement": (str,), "kind": (str,), "published": (int, float, bool), "unit": (str,),
    "relation": (str,), "tolerance": (dict,), "deterministic": (bool,), "expected": (dict,), "holds_if":
    (str,), "cause": (dict,), "about": (list,), "note": (str,),
}  # fmt: skip
_TOLERANCE_KEYS = ("absolute", "relative", "because", "single_run")
_CAUSE_KEYS = ("kind", "claim", "words")


def read_claims(path: Path) -> list[Claim]:
    """The claims of a claims.toml, in its order. Errors: SpecError with every fault of the file."""
    try:
        text = path.read_text(encoding="utf-8")
        document, digits = tomllib.loads(text), tomllib.loads(text, parse_float=str)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError([Fault(path.name, f"is not TOML: {error}")]) from None
    faults = [_unknown(key, key, ("claim",)) for key in document if key != "claim"]
    found: list[Claim] = []
    for k, table in enumerate(document.get("claim", [])):
        faults += _faults_of(f"claim[{k}]", table)
        if table.get("id") in {claim.id for claim in found}:
            faults.append(Fault(f"claim[{k}].id", "must be written once", f'"{table["id"]}"'))
        if not faults:
            written = digits["claim"][k].get("published", "")
            found.append(_claim(table, "" if isinstance(written, bool) else str(written)))
    if faults:
        raise SpecError(faults)
    return found


def _unknown(path: str, name: str, known: Sequence[str]) -> Fault:
    return Fault(path, f"unknown key; known: {', '.join(known)}", f'"{name}"', did_you_mean(name, known))


def _one_of(path: str, value: Any, known: Sequence[str]) -> list[Fault]:
    return [] if value in known else [Fault(path, f"must be one of {', '.join(known)}", repr(value))]


def _faults_of(path: str, table: Mapping[str, Any]) -> list[Fault]:
    faults = [_unknown(f"{path}.{key}", key, tuple(_KEYS)) for key in table if key not in _KEYS]
    for key in ("id", "statement", "kind"):
        if key not in table:
            faults.append(Fault(f"{path}.{key}", "must be written"))
    for key, value in table.items():
        if key in _KEYS and type(value) not in _KEYS[key]:
            faults.append(Fault(f"{path}.{key}", f"must be {_KEYS[key][-1].__name__}", repr(value)))
    if faults:
        return faults
    faults += _one_of(f"{path}.kind", table["kind"], KINDS)
    faults += _one_of(f"{path}.relation", table.get("relation", "equals"), RELATIONS)
    for mode, verdict in table.get("expected", {}).items():
        if mode not in MODES + LINUX_MODES:
            faults.append(_unknown(f"{path}.expected.{mode}", mode, MODES + LINUX_MODES))
        else:
            faults += _one_of(f"{path}.expected.{mode}", verdict, VERDICTS)
    return faults + _cause_faults(path, table) + _tolerance_faults(f"{path}.tolerance", table)


def _cause_faults(path: str, table: Mapping[str, Any]) -> list[Fault]:
    """A cause is a kind, the claim whose run shows it, and words; nothing less than all three."""
    cause = table.get("cause")
    if cause is None:
        return []
    faults = [_unknown(f"{path}.cause.{key}", key, _CAUSE_KEYS) for key in cause if key not in _CAUSE_KEYS]
    missing = [key for key in _CAUSE_KEYS if not isinstance(cause.get(key), str) or not cause[key]]
    faults += [
        Fault(f"{path}.cause.{key}", "must be written: a cause is shown by a claim with a run")
        for key in missing
    ]
    return faults or _one_of(f"{path}.cause.kind", cause["kind"], CAUSES[:-1])


def _tolerance_faults(path: str, table: Mapping[str, Any]) -> list[Fault]:
    published, tolerance = table.get("published"), table.get("tolerance")
    if published is None or isinstance(published, bool):
        return [] if tolerance is None else [Fault(path, "belongs to a published number")]
    if not math.isfinite(published):
        return [Fault(path.removesuffix("tolerance") + "published", "must be finite", repr(published))]
    if tolerance is None:
        return [Fault(path, "must be written for a published number")]
    strange = [key for key in tolerance if key not in _TOLERANCE_KEYS]
    if strange:
        return [_unknown(f"{path}.{key}", key, _TOLERANCE_KEYS) for key in strange]
    faults = []
    if not isinstance(tolerance.get("because"), str):
        faults.append(Fault(f"{path}.because", "must say where the tolerance comes from"))
    if not isinstance(tolerance.get("single_run", False), bool):
        faults.append(Fault(f"{path}.single_run", "must be true or false", repr(tolerance["single_run"])))
    sizes = [tolerance[key] for key in ("absolute", "relative") if key in tolerance]
    if len(sizes) != 1:
        faults.append(Fault(path, "must have one of absolute, relative"))
    elif type(sizes[0]) not in (int, float) or not 0 <= sizes[0] < math.inf:
        faults.append(Fault(path, "must be a finite number >= 0", repr(sizes[0])))
    return faults


def _claim(table: Mapping[str, Any], digits: str) -> Claim:
    tolerance = dict(table.get("tolerance", {}))
    absolute = tolerance.get("absolute")
    if "relative" in tolerance:
        absolute = tolerance["relative"] * abs(table["published"])
    return Claim(
        id=table["id"],
        statement=table["statement"],
        kind=table["kind"],
        published=table.get("published"),
        published_text=digits,
        unit=table.get("unit", ""),
        relation=table.get("relation", "equals"),
        tolerance=absolute,
        tolerance_because=tolerance.get("because", ""),
        single_run=tolerance.get("single_run", False),
        deterministic=table.get("deterministic", False),
        expected=dict(table.get("expected", {})),
        holds_if=table.get("holds_if", ""),
        cause=Cause(**table["cause"]) if "cause" in table else None,
        about=tuple(table.get("about", ("*",))),
        note=table.get("note", ""),
    )


def as_measured(found: Any, n_seeds: int) -> Measured:
    """What `measure` of a figure.py returned, as `Measured`.

    A number, a boolean or None stands for itself; an `Estimate` brings its interval; a list is one
    sample a seed, summarised by its mean. NaN counts as None.
    """
    if isinstance(found, Measured):
        return found if found.n_seeds is not None else found._replace(n_seeds=n_seeds)
    if isinstance(found, Estimate):
        return Measured(found.value, found.low, found.high, found.n, flat=is_flat(found))
    if isinstance(found, Sequence) and not isinstance(found, str):
        return as_measured(mean_ci(found), n_seeds)
    if isinstance(found, float) and not math.isfinite(found):
        return Measured(None, n_seeds=n_seeds, note="the result is not a number")
    return Measured(found, n_seeds=n_seeds)


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
    return _decided(decided, estimate, unit)


def is_below(estimate: Estimate, bound: float = 0.0, unit: str = "") -> Measured:
    """Whether a quantity is below `bound`, decided as by `is_above`."""
    decided = None
    if estimate.ci is not None:
        low, high = estimate.ci
        decided = True if high < bound else False if low >= bound else None
    return _decided(decided, estimate, unit)


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
    return _decided(decided, estimate, unit)


def _decided(truth: Truth, estimate: Estimate, unit: str) -> Measured:
    note = f"{said(*estimate[:3])} {unit}".strip()
    return Measured(truth, n_seeds=estimate.n, note=note, flat=is_flat(estimate))


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
    return Measured(truth, n_seeds=min(seeds) if seeds else None, note=notes, flat=any(p.flat for p in parts))
