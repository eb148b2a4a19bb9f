"""A find on another backend: its value there, seed by seed, as a share of what that backend gives itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shallows.attack.attack import Attacked
from shallows.attack.search import Laboratory
from shallows.execution.runner import Runner

Verdict = Literal["confirmed", "not-confirmed", "not-determined", "failed"]

__all__ = ["Confirmed", "confirm"]


@dataclass(frozen=True)
class Confirmed:
    """`base` is the value of the file as written, `values` that of the find for each seed, on `backend`.

    `note` says why the verdict is `failed`, or that the objective holds for the file as written.
    """

    backend: str
    base: float | None = None
    values: tuple[float | None, ...] = ()
    holds: tuple[bool, ...] = ()
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """`confirmed` if the objective holds on each seed and does not hold for the file as written."""
        if not self.values:
            return "failed"
        if self.note:
            return "not-determined"
        return "confirmed" if all(self.holds) else "not-determined" if any(self.holds) else "not-confirmed"


def confirm(found: Attacked, runner: Runner, backend: str) -> Confirmed | None:
    """Runs the file as written and the find there; None without a find. Raises StoreError."""
    if found.find is None:
        return None
    lab = Laboratory(found.space, found.objective, runner)
    [written] = lab.run(found.space.points({}))
    if isinstance(written, str):
        return Confirmed(backend, note=f"the file as written cannot be run: {written}")
    lab.base = written
    seeds = [*found.space.own_seeds, *found.space.further_seeds]
    [[base], tried] = lab.measure([{}], [1]) + lab.measure([found.find.tried.candidate], seeds)
    failed = [one.note for one in (base, *tried) if one.value is None]
    if failed:
        return Confirmed(backend, note=failed[0])
    already = found.objective.holds(base.value)
    return Confirmed(
        backend,
        base.value,
        tuple(one.value for one in tried),
        tuple(found.objective.holds(one.value) for one in tried),
        "the objective holds for the file as written there" if already else "",
    )
