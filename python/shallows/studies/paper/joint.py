"""Joint claims: claims of a figure that must hold together under one reading.

Single numbers that hold under different readings prove little. A joint claim holds under a reading if all its
claims do, and differs if one of them does. `docs/claims.md` has the rule with an example.
"""

from collections.abc import Mapping, Sequence

from shallows.studies.paper.claims import Claim, Measured
from shallows.studies.paper.logic import all_of
from shallows.studies.paper.readings import BASE, Reading
from shallows.studies.paper.verdicts import Found

__all__ = ["together"]

_TRUTH = {"holds": True, "differs": False}


def together(
    claim: Claim,
    claims: Mapping[str, Claim],
    judged: Mapping[str, Sequence[Found]],
    tried: Sequence[Reading],
) -> list[Found]:
    """A joint claim under the base reading and each other that concerns one of its claims.

    `claims` and `judged`: the figure's claims by id, and what was found for each under its readings. A part
    of a reading that does not concern a claim leaves that claim as it is.
    """
    members = [claims[name.rpartition("/")[2]] for name in claim.joint]
    found = {each.id: {one.reading.id: one for one in judged[each.id]} for each in members}
    results = []
    for reading in (BASE, *tried):
        parts = [_part(reading, each) for each in members]
        if {d.id for part in parts for d, _ in part.departures} != {d.id for d, _ in reading.departures}:
            continue  # the same as a smaller reading, for all its claims
        ones = [found[each.id].get(part.id) for each, part in zip(members, parts, strict=True)]
        truth = all_of([_TRUTH.get(one.verdict) if one else None for one in ones])
        note = ", ".join(
            f"{each.id}: {one.verdict.replace('-', ' ') if one else 'not run'}"
            for each, one in zip(members, ones, strict=True)
        )
        seeds = [one.measured.n_seeds for one in ones if one and one.measured.n_seeds is not None]
        outcome = {True: "holds", False: "differs", None: "not-determined"}[truth]
        measured = Measured(truth, n_seeds=min(seeds, default=0), note=note)
        results.append(Found(reading, measured, outcome, note))
    return results


def _part(reading: Reading, claim: Claim) -> Reading:
    """The part of a reading that concerns a claim; a question of ours has the base reading alone."""
    if claim.kind == "ours":
        return BASE
    return Reading(tuple(one for one in reading.departures if Reading((one,)).concerns(claim.about)))
