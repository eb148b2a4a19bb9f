"""Claims of a source document and their verdicts: read strictly, computed always, never typed in.

`docs/claims.md` explains the rules with examples. In short: the accepted range is the published value
and its tolerance; a claim `holds` if what was measured, with its 95 % interval, lies inside, `differs`
if it lies wholly outside, and is `not-determined` if it straddles an end or has no interval.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from shallows.errors import Fault, SpecError
from shallows.statistics.estimates import Estimate, mean_ci
from shallows.words import did_you_mean

VERDICTS = ("holds", "differs", "not-determined")
RELATIONS = ("equals", "at-least", "at-most")
MODES = ("full", "quick")
LINUX_MODES = ("linux-full", "linux-quick")
"""Verdicts expected on Linux where they are not the simulator's."""

Value = float | int | bool | None


class Measured(NamedTuple):
    """What an experiment found: a number with its interval, or a boolean, or None (undecided).

    `n_seeds` is None where the caller should take the number of seeds that were run; 0 stands for a
    closed form, which needs none. `note` says what the numbers alone do not.
    """

    value: Value
    low: float | None = None
    high: float | None = None
    n_seeds: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """One claim as written in claims.toml. `tolerance` is absolute, in `unit`; None for booleans."""

    id: str
    statement: str
    published: Value
    unit: str
    relation: str
    tolerance: float | None
    tolerance_because: str
    deterministic: bool
    expected: Mapping[str, str]
    reason: str
    note: str


_KEYS: dict[str, tuple[type, ...]] = {
    "id": (str,), "statement": (str,), "published": (int, float, bool), "unit": (str,), "relation": (str,),
    "tolerance": (dict,), "deterministic": (bool,), "expected": (dict,), "reason": (str,), "note": (str,),
}  # fmt: skip
_TOLERANCE_KEYS = ("absolute", "relative", "because")


def read_claims(path: Path) -> list[Claim]:
    """The claims of a claims.toml, in its order. Errors: SpecError with every fault of the file."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError([Fault(path.name, f"is not TOML: {error}")]) from None
    faults = [_unknown(key, key, ("claim",)) for key in document if key != "claim"]
    found: list[Claim] = []
    for k, table in enumerate(document.get("claim", [])):
        faults += _faults_of(f"claim[{k}]", table)
        if table.get("id") in {claim.id for claim in found}:
            faults.append(Fault(f"claim[{k}].id", "must be written once", f'"{table["id"]}"'))
        if not faults:
            found.append(_claim(table))
    if faults:
        raise SpecError(faults)
    return found


def _unknown(path: str, name: str, known: Sequence[str]) -> Fault:
    return Fault(path, f"unknown key; known: {', '.join(known)}", f'"{name}"', did_you_mean(name, known))


def _faults_of(path: str, table: Mapping[str, Any]) -> list[Fault]:
    faults = [_unknown(f"{path}.{key}", key, tuple(_KEYS)) for key in table if key not in _KEYS]
    for key in ("id", "statement"):
        if key not in table:
            faults.append(Fault(f"{path}.{key}", "must be written"))
    for key, value in table.items():
        if key in _KEYS and type(value) not in _KEYS[key]:
            faults.append(Fault(f"{path}.{key}", f"must be {_KEYS[key][-1].__name__}", repr(value)))
    if faults:
        return faults
    if table.get("relation", "equals") not in RELATIONS:
        rule = f"must be one of {', '.join(RELATIONS)}"
        faults.append(Fault(f"{path}.relation", rule, repr(table["relation"])))
    for mode, verdict in table.get("expected", {}).items():
        if mode not in MODES + LINUX_MODES:
            faults.append(_unknown(f"{path}.expected.{mode}", mode, MODES + LINUX_MODES))
        elif verdict not in VERDICTS:
            rule = f"must be one of {', '.join(VERDICTS)}"
            faults.append(Fault(f"{path}.expected.{mode}", rule, repr(verdict)))
    return faults + _tolerance_faults(f"{path}.tolerance", table)


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
    sizes = [tolerance[key] for key in ("absolute", "relative") if key in tolerance]
    if len(sizes) != 1:
        faults.append(Fault(path, "must have one of absolute, relative"))
    elif type(sizes[0]) not in (int, float) or not 0 <= sizes[0] < math.inf:
        faults.append(Fault(path, "must be a finite number >= 0", repr(sizes[0])))
    return faults


def _claim(table: Mapping[str, Any]) -> Claim:
    tolerance = dict(table.get("tolerance", {}))
    absolute = tolerance.get("absolute")
    if "relative" in tolerance:
        absolute = tolerance["relative"] * abs(table["published"])
    return Claim(
        id=table["id"],
        statement=table["statement"],
        published=table.get("published"),
        unit=table.get("unit", ""),
        relation=table.get("relation", "equals"),
        tolerance=absolute,
        tolerance_because=tolerance.get("because", ""),
        deterministic=table.get("deterministic", False),
        expected=dict(table.get("expected", {})),
        reason=table.get("reason", ""),
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
        return Measured(found.value, found.low, found.high, found.n)
    if isinstance(found, Sequence) and not isinstance(found, str):
        return as_measured(mean_ci(found), n_seeds)
    if isinstance(found, float) and not math.isfinite(found):
        return Measured(None, n_seeds=n_seeds, note="the result is not a number")
    return Measured(found, n_seeds=n_seeds)


def is_above(estimate: Estimate, bound: float = 0.0, unit: str = "") -> Measured:
    """Whether a quantity is above `bound`: true or false if its whole interval says so, else None."""
    decided = None
    if estimate.ci is not None:
        low, high = estimate.ci
        decided = True if low > bound else False if high <= bound else None
    return Measured(decided, n_seeds=estimate.n, note=f"{estimate} {unit}".strip())


def is_below(estimate: Estimate, bound: float = 0.0, unit: str = "") -> Measured:
    """Whether a quantity is below `bound`, decided as by `is_above`."""
    decided = None
    if estimate.ci is not None:
        low, high = estimate.ci
        decided = True if high < bound else False if low >= bound else None
    return Measured(decided, n_seeds=estimate.n, note=f"{estimate} {unit}".strip())


def verdict(claim: Claim, found: Measured) -> tuple[str, str]:
    """The verdict and a sentence on how it came about (empty where it needs none)."""
    if found.value is None:
        return "not-determined", found.note or "nothing was measured"
    if claim.published is None:
        return "not-determined", "the document gives no value to compare with"
    if isinstance(claim.published, bool) or isinstance(found.value, bool):
        if type(claim.published) is not type(found.value):
            raise TypeError(f"claim {claim.id}: published and measured must both be true or false")
        return ("holds" if claim.published == found.value else "differs"), ""
    least, most = _accepted(claim.published, claim.tolerance or 0.0, claim.relation)
    if found.low is None or found.high is None:
        if found.n_seeds and not claim.deterministic:
            return "not-determined", f"{found.n_seeds} seed(s) give no interval"
        low = high = float(found.value)
    else:
        low, high = found.low, found.high
    if least <= low and high <= most:
        return "holds", ""
    if high < least or low > most:
        away = found.value - claim.published
        share = f" ({100 * away / abs(claim.published):+.2g} %)" if claim.published else ""
        return "differs", f"by {away:+.4g} {claim.unit}".rstrip() + share
    return "not-determined", "the interval reaches across an end of the accepted range"


def _accepted(published: float, tolerance: float, relation: str) -> tuple[float, float]:
    slack = tolerance + 1e-12 * abs(published)
    least = -math.inf if relation == "at-most" else published - slack
    most = math.inf if relation == "at-least" else published + slack
    return least, most


def record(
    claim: Claim, found: Measured, *, paper: str, figure: str, mode: str, backend: str
) -> dict[str, Any]:
    """The claim's record of `reproduce --json`; its keys are a contract."""
    outcome, why = verdict(claim, found)
    notes = [why, found.note if found.note != why else "", claim.note]
    return {
        "id": f"{paper}/{figure}/{claim.id}",
        "paper": paper,
        "figure": figure,
        "statement": claim.statement,
        "published": claim.published,
        "measured": found.value,
        "unit": claim.unit,
        "ci95": None if found.low is None or found.high is None else [found.low, found.high],
        "n_seeds": found.n_seeds,
        "tolerance": claim.tolerance,
        "verdict": outcome,
        "expected_verdict": claim.expected.get(f"{backend}-{mode}", claim.expected.get(mode)),
        "backend": backend,
        "note": "; ".join(note for note in notes if note),
    }


def unexpected(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Records whose verdict is not the one recorded for them, or that have none recorded."""
    return [r for r in records if r["verdict"] != r["expected_verdict"]]
