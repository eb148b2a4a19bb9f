"""The room that an attack takes in the store of runs: a bound on its runs, and their bytes by the first of
them.

An attack that was stopped finds its runs in the store and resumes, so the store keeps them all.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from shallows import terminal
from shallows.attack.search import QUARTERS, Laboratory
from shallows.attack.shrink import FACTORS
from shallows.attack.space import Space
from shallows.errors import Fault, SpecError

__all__ = ["bytes_of", "check", "most_runs"]

FIRST_RUNS = 2
"""The file as written, whole and with the duration `first`."""
WAYS = 2
"""A range shows its effect alone, and beside the middle of the others."""
ENDS = 2


def most_runs(space: Space) -> int:
    """The largest number of runs that an attack can take.

    Shrinking drops a part in each round and tries each part that is left, then two rounder values of each
    name. The neighbourhood moves each name by each factor. The checks are two of each further seed, and one
    run more that reads the links.
    """
    names = len(space.variables)
    parts = sum(len(steps) for steps in space.groups.values())
    searched = space.generations * space.population * (2 if space.first else 1)
    small = parts * (parts + 1) // 2 + 2 * names + len(FACTORS) * names
    judged = (searched + small + FIRST_RUNS) * space.seeds
    looks = ENDS + max([QUARTERS, *(len(one.choices or ()) for one in space.variables.values())])
    measured = WAYS * looks * len(space.groups) + 2 * space.check + FIRST_RUNS + 1
    return (judged + measured) * (2 if space.reference else 1)


def bytes_of(place: Path) -> int:
    """The bytes of the files of a directory."""
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


def check(lab: Laboratory) -> None:
    """Raises SpecError if all runs of the attack, each as large as the file as written, do not fit the
    disk."""
    [outcome] = lab.runner.run(lab.space.points({}))
    if outcome.run is None:
        return
    each = bytes_of(outcome.run.path)
    needed = each * most_runs(lab.space)
    free = shutil.disk_usage(outcome.run.path).free
    if needed > free:
        rule = (
            f"may take {most_runs(lab.space)} runs of {terminal.readable('x_bytes', each)}, "
            f"and {terminal.readable('x_bytes', free)} are free"
        )
        hint = "reduce attack.generations, switch traces of [probe] off, or name another --store"
        raise SpecError([Fault("--store", rule, terminal.readable("x_bytes", needed), hint)])
