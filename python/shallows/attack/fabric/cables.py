"""The failed cable, and the two failed cables, that harm most.

Each cable between two switches fails in a run of its own, from the start on. Of pairs a bounded number is
tried: all, or those of the cables that harm most alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

from shallows.attack.fabric.scene import Case, Nothing, Scene, Table, cable_name
from shallows.attack.objective import Objective
from shallows.attack.words import share_text
from shallows.document.paths import Document

MOST_CABLES = 1000
MOST_PAIRS = 200
SHOWN = 10

__all__ = ["Failure", "Failures", "alone", "pairs"]


@dataclass(frozen=True)
class Failure:
    """Cables that failed together. `value` is None if the run has none, which `note` explains."""

    cables: tuple[str, ...]
    value: float | None
    holds: bool
    document: Document
    note: str = ""

    @property
    def cable(self) -> str:
        """The cables as one text."""
        return " and ".join(self.cables)


@dataclass(frozen=True)
class Failures:
    """Failures, the worst first, of `possible` ones. `base` is the value of the whole network."""

    base: float | None
    failures: list[Failure]
    possible: int
    of_worst: int = 0
    """The number of cables whose pairs were tried, if not all pairs were."""

    @property
    def _pairs(self) -> bool:
        return any(len(one.cables) > 1 for one in self.failures)

    def record(self) -> dict[str, Any]:
        """See `Part`."""
        rows = [
            {"cable": one.cable, "value": one.value, "holds": one.holds, "note": one.note}
            for one in self.failures
        ]
        if self._pairs:
            return {"pairs": rows, "pairs_possible": self.possible, "pairs_of_worst": self.of_worst or None}
        return {"failures": rows}

    def shown(self, objective: Objective | None) -> list[Table | str]:
        """See `Part`."""
        assert objective is not None
        rows = [
            [one.cable, share_text(objective, one.value), "fulfils it" if one.holds else "", one.note]
            for one in self.failures[:SHOWN]
        ]
        what = "pairs of cables" if self._pairs else "cables"
        title = f"{objective.text}: {len(self.failures)} {what}, the worst first; whole network "
        name = "failed cables" if self._pairs else "failed cable"
        table = Table(title + share_text(objective, self.base), [name, "value", "", ""], rows)
        if not self.of_worst:
            return [table]
        told = f"not searched: {self.possible - len(self.failures)} of {self.possible} pairs of cables; "
        return [table, told + f"the pairs shown are those of the {self.of_worst} cables that harm most alone"]

    def cases(self) -> list[Case]:
        """See `Part`."""
        worst = next((one for one in self.failures if one.holds), None)
        if worst is None:
            return []
        file = "failed-cables.toml" if self._pairs else "failed-cable.toml"
        return [Case(file, worst.document, (f"Value {worst.value:.6g} without {worst.cable}.",))]


def alone(scene: Scene) -> Failures:
    """Each cable by itself. Raises Nothing, SpecError, RunError, StoreError."""
    scene.needs_objective()
    cables = scene.needs_cables(MOST_CABLES)
    failures = _failures(scene, [(cable,) for cable in cables])
    return Failures(scene.base, failures, len(failures))


def pairs(scene: Scene) -> Failures:
    """Each pair of cables, or those of the worst cables. Raises Nothing, SpecError, RunError, StoreError."""
    scene.needs_objective()
    cables = scene.needs_cables(MOST_CABLES)
    if len(cables) < 2:
        raise Nothing("needs two cables between switches")
    possible, kept = comb(len(cables), 2), cables
    if possible > MOST_PAIRS:
        by_name = {cable_name(scene.network, cable): cable for cable in cables}
        kept = [by_name[one.cable] for one in alone(scene).failures if one.cable in by_name]
        while comb(len(kept), 2) > MOST_PAIRS:
            kept = kept[:-1]
    failures = _failures(scene, list(combinations(kept, 2)))
    return Failures(scene.base, failures, possible, len(kept) if possible > MOST_PAIRS else 0)


def _failures(scene: Scene, groups: list[tuple[tuple[int, int], ...]]) -> list[Failure]:
    documents = [scene.without(scene.document, group) for group in groups]
    found = []
    for group, document, value in zip(groups, documents, scene.values(documents), strict=True):
        names = tuple(cable_name(scene.network, cable) for cable in group)
        found.append(Failure(names, value.value, value.holds, document, value.note))
    found.sort(key=lambda one: scene.worse(one.value))
    return found
