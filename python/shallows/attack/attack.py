"""The whole attack: the file as written, its ranges, the search, and the find that the search gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shallows.attack import shrink, storage
from shallows.attack.objective import Objective
from shallows.attack.search import Laboratory, Tried, base_run, check_ranges, estimated_s, search
from shallows.attack.shrink import Find
from shallows.attack.space import Space
from shallows.errors import Fault, SpecError
from shallows.execution.runner import Runner
from shallows.execution.threads import default_workers

__all__ = ["Attacked", "attack", "best_of"]


@dataclass(frozen=True)
class Attacked:
    """The outcome. `find` is None if no candidate fulfilled the objective; `best` is the nearest one then."""

    space: Space
    objective: Objective
    base: Tried
    tried: list[Tried]
    best: Tried | None
    find: Find | None
    runs: int
    cpu_s: float
    stopped: str = ""
    """The stage that Ctrl-C cut off: `the search` or `the shrinking and the checks`; empty for none."""


def attack(
    space: Space,
    objective: Objective,
    runner: Runner,
    budget_s: float | None = None,
    progress: Callable[[float, int], None] | None = None,
    corpus: Sequence[Mapping[str, Any]] = (),
    on_stop: Callable[[Attacked], None] | None = None,
) -> Attacked:
    """Searches, and makes the best candidate small. `progress` counts the runs of the search.
    `corpus` has values of earlier finds, which are tried first (`corpus.read`). On Ctrl-C `on_stop` gets what
    the finished generations gave, unless none has finished.

    Raises SpecError if the objective holds already, if a range has no effect, if the search does not fit
    the budget of wall-clock time, or if its runs do not fit the disk; RunError if the file as written cannot
    be run; StoreError; KeyboardInterrupt.
    """
    lab = Laboratory(space, objective, runner)
    base = base_run(lab)
    check_ranges(lab)
    _check_budget(lab, budget_s)
    storage.check(lab)
    before = lab.spent.runs
    if progress:
        lab.progress = lambda done, failed: progress(done - before, failed)
    tried: list[Tried] = []
    best, stage = None, "the search"

    def outcome(find: Find | None, stopped: str = "") -> Attacked:
        spent = lab.spent
        return Attacked(space, objective, base, tried, best, find, spent.runs, spent.cpu_s, stopped)

    try:
        for generation in search(lab, corpus):
            tried += generation
            best = best_of(objective, tried)
        lab.progress = None
        if best is None or not objective.holds(best.value):
            return outcome(None)
        stage = "the shrinking and the checks"
        return outcome(shrink.judged(lab, best, shrink.shrink(lab, best, base)))
    except KeyboardInterrupt:
        if on_stop and tried:
            on_stop(outcome(None, stage))
        raise


def best_of(objective: Objective, tried: list[Tried]) -> Tried | None:
    """The first of the best candidates that keep the constraints."""
    known = [one for one in tried if one.state == "feasible" and one.value is not None]
    turn = 1 if objective.least else -1
    return min(known, key=lambda one: turn * (one.value or 0.0), default=None)


def _check_budget(lab: Laboratory, budget_s: float | None) -> None:
    if budget_s is None:
        return
    workers = lab.runner.workers or default_workers()
    needed = estimated_s(lab, workers)
    if needed > budget_s:
        space = lab.space
        rule = (
            f"cannot hold {space.generations} generations of {space.population} candidates, "
            f"which take about {needed:.0f} s with {workers} workers"
        )
        hint = "reduce attack.generations or the duration, or give a larger budget"
        raise SpecError([Fault("--budget", rule, f"{budget_s:g} s", hint)])
