"""Verdicts on claims, under the base reading of a document and under every other that was run.

`docs/claims.md` gives the rules. Under one reading a claim `holds` if what was measured lies in the accepted
range with its whole 95 % interval, `differs` if it lies wholly outside, and is `not-determined` otherwise.
Over all readings: `holds` by the base reading alone, `holds-if` by another one, `differs` only if every one
differs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from shallows.studies.paper import numbers
from shallows.studies.paper.claims import Claim, Measured
from shallows.studies.paper.readings import Reading
from shallows.tables.seeds import SEEDS_CHANGE_NOTHING

__all__ = [
    "SEEDS_CHANGE_NOTHING",
    "Conclusion",
    "Found",
    "conclude",
    "headline",
    "in_quick",
    "record",
    "unexpected",
    "verdict",
    "with_causes",
]


class Found(NamedTuple):
    """The measured value under one reading, and the verdict with a sentence on it."""

    reading: Reading
    measured: Measured
    verdict: str
    why: str


@dataclass(frozen=True)
class Conclusion:
    """The verdict over all readings. `under`: the least implausible ones under which a `holds-if` holds."""

    verdict: str
    base: Found
    others: Sequence[Found]
    under: Sequence[Found]
    because: str


def verdict(claim: Claim, found: Measured) -> tuple[str, str]:
    """The verdict under one reading and a sentence on how it came about (empty where it needs none)."""
    if found.value is None:
        return "not-determined", found.note or "nothing was measured"
    if claim.published is None:
        return "not-determined", "the document gives no value to compare with"
    if found.flat and not claim.deterministic:
        return "not-determined", SEEDS_CHANGE_NOTHING
    if isinstance(claim.published, bool) or isinstance(found.value, bool):
        if type(claim.published) is not type(found.value):
            raise TypeError(f"claim {claim.id}: published and measured must both be true or false")
        return ("holds" if claim.published == found.value else "differs"), ""
    if found.low is None or found.high is None:
        if found.n_seeds and not claim.deterministic:
            return "not-determined", found.note or f"no interval (seeds: {found.n_seeds})"
        low = high = float(found.value)
    else:
        low, high = found.low, found.high
    least, most = accepted(claim, found)
    if least <= low and high <= most:
        return "holds", ""
    if high < least or low > most:
        return "differs", numbers.away(float(found.value), claim.published, claim.unit)
    return "not-determined", "the interval reaches across an end of the accepted range"


def accepted(claim: Claim, found: Measured) -> tuple[float, float]:
    """The range that a published number and its tolerance allow.

    A number that its authors took from one random run may also lie as far from the mean as one more run of
    ours would with a chance of 95 %: t times the standard deviation over our seeds.
    """
    published = float(claim.published or 0.0)
    slack = (claim.tolerance or 0.0) + 1e-12 * abs(published)
    if claim.single_run:
        slack += scatter(found)
    least = -math.inf if claim.relation == "at-most" else published - slack
    most = math.inf if claim.relation == "at-least" else published + slack
    return least, most


def scatter(found: Measured) -> float:
    """How far a single run lies from the mean with a chance of 95 %, by the runs that were made."""
    if found.low is None or found.high is None or not found.n_seeds or found.n_seeds < 2:
        return 0.0
    half = (found.high - found.low) / 2  # t times the deviation over the root of n
    return half * math.sqrt(found.n_seeds)


def conclude(claim: Claim, base: Found, others: Sequence[Found]) -> Conclusion:
    """The verdict over the base reading and the others, which come the most plausible first."""
    holds = [found for found in others if found.verdict == "holds"]
    tried = len(others) + 1
    if base.verdict == "holds":
        return Conclusion("holds", base, others, (), _how_many(base, others) if others else base.why)
    if holds:
        least = holds[0].reading.implausibility
        under = [found for found in holds if found.reading.implausibility == least]
        words = ", or ".join(found.reading.words for found in under[:3])
        more = f"holds under {len(holds)} of {tried} readings tried"
        return Conclusion(
            "holds-if", base, others, under, f"if {words}; {more}; base reading: {base.why or 'differs'}"
        )
    decided = all(found.verdict == "differs" for found in (base, *others))
    outcome = "differs" if decided else "not-determined"
    if decided and claim.joint:
        return Conclusion(outcome, base, others, (), f"no reading of {tried} has them all; base: {base.why}")
    return Conclusion(outcome, base, others, (), _how_many(base, others) if others else base.why)


def in_quick(claim: Claim, concluded: Conclusion, left_out: Sequence[Reading]) -> Conclusion:
    """The verdict of the quick form, which leaves open all that its part of grid and readings cannot decide.

    `left_out`: the readings that concern the claim and take too long for it. A claim differs only if it does
    under every reading, so that one of them may still let it hold.
    """
    why = ""
    if claim.full_only:
        why = f"the full form decides: {claim.full_only}"
    elif left_out and concluded.verdict == "differs":
        words = "; ".join(reading.words for reading in left_out[:3])
        why = f"the full form decides, with {len(left_out)} readings that take longer ({words})"
    if not why or concluded.verdict == "not-determined":
        return concluded
    return replace(
        concluded,
        verdict="not-determined",
        under=(),
        because=f"{why}; here: {concluded.because or concluded.verdict}",
    )


def _how_many(base: Found, others: Sequence[Found]) -> str:
    counts = {
        name: sum(f.verdict == name for f in (base, *others))
        for name in ("holds", "differs", "not-determined")
    }
    words = {"holds": "holds under", "differs": "differs under", "not-determined": "is undecided under"}
    told = ", ".join(f"{words[name]} {count}" for name, count in counts.items() if count)
    return "; ".join(part for part in (base.why, f"{told} of {len(others) + 1} readings tried") if part)


def record(
    claim: Claim,
    concluded: Conclusion,
    *,
    paper: str,
    figure: str,
    mode: str,
    backend: str,
    n_of: str = "seeds",
    kernel: str | None = None,
) -> dict[str, Any]:
    """The claim's record of `reproduce --json`; its keys are a contract. `with_causes` checks the cause.

    `n_of`: the things that `n_seeds` counts, "seeds" or "batches" of one long run. `kernel`: the version of
    Linux on which the figure ran; None on other backends.
    """
    found = concluded.base.measured
    notes = [found.note if found.note != concluded.base.why else "", claim.note]
    return {
        "id": f"{paper}/{figure}/{claim.id}",
        "paper": paper,
        "figure": figure,
        "kind": claim.kind,
        "statement": claim.statement,
        "published": claim.published,
        "measured": found.value,
        "unit": claim.unit,
        "ci95": None if found.range else _interval(found),
        "range": _interval(found) if found.range else None,
        "n_seeds": found.n_seeds,
        "n_of": n_of,
        "tolerance": claim.tolerance,
        "verdict": concluded.verdict,
        "expected_verdict": claim.expected.get(f"{backend}-{mode}", claim.expected.get(mode)),
        "readings": [_reading(each) for each in (concluded.base, *concluded.others)],
        "cause": _cause(claim, concluded),
        "because": concluded.because,
        "backend": backend,
        "kernel": kernel,
        "note": "; ".join(note for note in notes if note),
        "sentence": claim.sentence,
        "where": claim.where,
        "joint": list(claim.joint),
    }


def _reading(found: Found) -> dict[str, Any]:
    return {
        "reading": found.reading.id,
        "words": found.reading.words,
        "value": found.measured.value,
        "interval": _interval(found.measured),
        "verdict": found.verdict,
    }


def _interval(found: Measured) -> list[float] | None:
    return None if found.low is None or found.high is None else [found.low, found.high]


def _cause(claim: Claim, concluded: Conclusion) -> dict[str, Any] | None:
    """The kind, the run behind it, and words. A reading is its own run; other causes may name a claim.

    `shown`: whether that run shows it here. None of a difference for which no cause is recorded.
    """
    if concluded.verdict == "holds-if":
        first = concluded.under[0].reading
        return {"kind": first.cause, "run": first.id, "words": first.words, "shown": True}
    if concluded.verdict != "differs" or claim.cause is None:
        return None
    why = claim.cause
    words = why.words or "; ".join(why.tried)
    return {"kind": why.kind, "run": why.claim, "words": words, "shown": bool(why.claim)}


def with_causes(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records, a cause shown only where the claim behind it holds here.

    A reading is a run already. A claim of a figure that was not run in this call shows nothing.
    """
    held = {
        f"{r['figure']}/{r['id'].rsplit('/', 1)[1]}" for r in records if r["verdict"] in ("holds", "holds-if")
    }
    found = []
    for one in records:
        cause = one["cause"]
        if one["verdict"] == "differs" and cause and cause["run"] and cause["run"] not in held:
            one = one | {"cause": cause | {"shown": False}}
        found.append(one)
    return found


def headline(records: Sequence[Mapping[str, Any]], kind: str) -> str:
    """One sentence on the claims of a kind: how many hold, hold under another reading, differ, are open."""
    mine = [r for r in records if r["kind"] == kind]
    counts = {
        name: sum(r["verdict"] == name for r in mine)
        for name in ("holds", "holds-if", "differs", "not-determined")
    }
    tried = max((len(r["readings"]) for r in mine), default=0)
    under = f" under every reading tried (up to {tried})" if tried > 1 else ""
    return (
        f"{counts['holds']} of {len(mine)} {'claims of ours' if kind == 'ours' else kind + ' claims'} hold, "
        f"{counts['holds-if']} hold under another reading, "
        f"{counts['differs']} differ{under}, {counts['not-determined']} not determined"
    )


def unexpected(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Records whose verdict is not the one recorded for them, or that have none recorded."""
    return [r for r in records if r["verdict"] != r["expected_verdict"]]
