"""More seeds for claims that a figure's seeds leave undecided: once, and as many as their intervals need.

The rule has two looks. The first has the seeds of the file. The second has as many as the first shows to be
needed, unless these are more than the most that were asked for; then none are added, and the claim's note
says how many it would take. Either look errs at an end of the accepted range in 2.5 % of cases at most, so
both together in 5 % (Bonferroni). Looking after every seed would err more often the longer it looks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from shallows.document.points import Point, expand
from shallows.errors import Fault, SpecError
from shallows.statistics.estimates import seeds_for
from shallows.studies.paper.claims import Claim, Measured
from shallows.studies.paper.study import Runs
from shallows.studies.paper.verdicts import Found, accepted
from shallows.words import did_you_mean

if TYPE_CHECKING:
    from shallows.studies.paper.study import Study

MOST_SEEDS = {"linux": 24}
"""By backend, the most seeds of a claim in the full form. Elsewhere a figure's file has enough of them."""

Points = Mapping[str, Sequence[Point]]
Place = tuple[str, str]
"""Experiment and label of a point of its sweep."""

__all__ = ["MOST_SEEDS", "Further", "check", "concerning", "further", "needed"]


@dataclass(frozen=True)
class Further:
    """The second look of a figure: all its points by experiment, and by claim what is said of its seeds."""

    points: Points
    notes: Mapping[str, str] = field(default_factory=dict)


def needed(claim: Claim, found: Found) -> int | None:
    """The seeds that should decide an undecided claim. None: it is decided, or seeds do not help."""
    measured = found.measured
    if found.verdict != "not-determined" or claim.published is None or claim.deterministic or measured.flat:
        return None
    if measured.value is None or isinstance(measured.value, bool):
        return measured.needs
    if measured.low is None or measured.high is None or measured.range:
        return None
    away = min(abs(measured.value - end) for end in accepted(claim, measured))
    return seeds_for((measured.high - measured.low) / 2, measured.n_seeds or 0, away)


def further(
    figure: Study,
    documents: Mapping[str, dict[str, Any]],
    points: Points,
    found: Mapping[str, Found],
    most: int,
) -> Further:
    """The second look after `found`, by claim. `documents` are the experiments that `points` come from.

    Claims that share a point of an experiment are paired by seed, and so get the same number.
    """
    wants = {claim.id: needed(claim, found[claim.id]) for claim in figure.claims}
    fixed = {name for name, document in documents.items() if not _counted(document)}
    notes: dict[str, str] = {}
    seeds: dict[Place, int] = {}
    for claims, places in _groups(figure.claims, points):
        if any(name in fixed for name, _ in places):
            continue
        mine = {claim.id: wants[claim.id] for claim in claims}
        few = [want for want in mine.values() if want is not None and want <= most]
        run = max(few, default=0)
        seeds |= {place: run for place in places if run}
        for name, want in mine.items():
            if want is not None:
                notes[name] = _note(found[name].measured, want, run, most)
    return Further({name: _extended(name, documents[name], points[name], seeds) for name in points}, notes)


def _note(measured: Measured, want: int, run: int, most: int) -> str:
    if want > most:
        return f"about {want} seeds would decide it, and {most} are the most that are run"
    return f"{measured.n_seeds} seeds left it undecided, so {run} were run"


def _extended(
    name: str, document: dict[str, Any], points: Sequence[Point], seeds: Mapping[Place, int]
) -> list[Point]:
    """An experiment's points, each with its further seeds behind it."""
    most = max((seeds.get((name, point.label), 0) for point in points), default=0)
    if not most:
        return list(points)
    known = {point.key for point in points}
    every = expand(document | {"seeds": max(most, document.get("seeds", 1))})
    return [p for p in every if p.key in known or p.seed <= seeds.get((name, p.label), 0)]


def _counted(document: Mapping[str, Any]) -> bool:
    """Whether a document has a number of seeds, which can grow, and no seeds of its own choice."""
    return "seed" not in document and isinstance(document.get("seeds", 1), int)


def concerning(claim: Claim, runs: Runs) -> Runs:
    """The runs on which a claim rests."""
    mine = [run for run in runs if _rests(claim, (run.spec, run.label))]
    return Runs(mine, runs.reference, runs.reading)


def check(figure: Study, points: Points) -> None:
    """Raises SpecError with every pattern of a claim that names no experiment of the figure."""
    places = _places(points)
    names = [*points, *("/".join(place) for place in places)]
    faults = [
        Fault(f"claims.toml: {claim.id}.experiments", "names no experiment of the figure", pattern, hint)
        for claim in figure.claims
        for pattern in claim.experiments
        if pattern != "*"  # the default, also of a figure that computes and runs nothing
        if not any(_matches(pattern, place) for place in places)
        for hint in [did_you_mean(pattern, names)]
    ]
    if faults:
        raise SpecError(faults)


def _places(points: Points) -> list[Place]:
    return list(dict.fromkeys((name, point.label) for name, group in points.items() for point in group))


def _matches(pattern: str, place: Place) -> bool:
    return fnmatchcase(place[0], pattern) or fnmatchcase("/".join(place), pattern)


def _rests(claim: Claim, place: Place) -> bool:
    return any(_matches(pattern, place) for pattern in claim.experiments)


def _groups(claims: Sequence[Claim], points: Points) -> list[tuple[list[Claim], set[Place]]]:
    """The claims in groups that share no point of an experiment, with the points of each."""
    groups: list[tuple[list[Claim], set[Place]]] = []
    for claim in claims:
        mine, places = [claim], {place for place in _places(points) if _rests(claim, place)}
        apart = []
        for others, theirs in groups:
            if theirs & places:
                mine, places = others + mine, theirs | places
            else:
                apart.append((others, theirs))
        groups = [*apart, (mine, places)]
    return groups
