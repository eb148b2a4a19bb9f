"""All searches of a fabric: `./shallows attack FILE --fabric`. The spaces are small.

Each search says by itself what it needs. A search without it is listed with the reason, and refused if
`--search` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shallows.attack.fabric import cables, collisions, deadlocks, incast, placement, storms, victims
from shallows.attack.fabric.dependencies import Network
from shallows.attack.fabric.names import Search
from shallows.attack.fabric.scene import Nothing, Part, Scene
from shallows.attack.objective import Objective
from shallows.attack.space import Space
from shallows.document.load import load
from shallows.errors import Fault, SpecError
from shallows.execution.runner import Runner

SEARCHES: dict[Search, Callable[[Scene], Part]] = {
    Search.cable: cables.alone,
    Search.cables: cables.pairs,
    Search.storm: storms.storms,
    Search.deadlock: deadlocks.circles,
    Search.victim: victims.victims,
    Search.incast: incast.degree,
    Search.collision: collisions.collisions,
    Search.placement: placement.placements,
}
assert [*SEARCHES] == [*Search]

__all__ = ["SEARCHES", "Fabric", "search", "space_of"]


@dataclass(frozen=True)
class Fabric:
    """The outcome of each search by its name. `unsearched` has the reason of those that had nothing to
    search."""

    title: str
    base: float | None
    parts: dict[str, Part]
    unsearched: dict[str, str]


def space_of(experiment: Any, settings: Sequence[str] = ()) -> Space:
    """The file as a space without parameters. Raises SpecError."""
    document = load(experiment, settings)
    for key in ("sweep", "seed", "seeds", "compare", "tune"):
        if key in document:
            rule = "cannot be used with --fabric, which has its own seed"
            raise SpecError([Fault(key, rule, document[key])])
    document.pop("attack", None)
    title = document.get("title") or "fabric"
    return Space(title, document, [], {}, {}, [], generations=1, population=4, seed=1, check=2)


def search(space: Space, objective: Objective | None, runner: Runner, only: Sequence[str] = ()) -> Fabric:
    """The searches that `only` names, or all that the file has something for.

    Raises SpecError if there is nothing to search, RunError, StoreError.
    """
    [point] = space.points({})
    scene = Scene(space, objective, runner, point, Network.of(point.experiment))
    base = scene.base  # before all else, since it refuses an objective without a value
    parts: dict[str, Part] = {}
    unsearched: dict[str, str] = {}
    for name in only or SEARCHES:
        try:
            parts[str(name)] = SEARCHES[Search(name)](scene)
        except Nothing as nothing:
            unsearched[str(name)] = str(nothing)
    if unsearched and (only or not parts):
        where = "--search" if only else "--fabric"
        raise SpecError([Fault(f"{where}: {name}", reason) for name, reason in unsearched.items()])
    return Fabric(space.title, base, parts, unsearched)
