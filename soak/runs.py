"""The questions to every random run: no panic, laws of all tables, the same bytes again and in threads."""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

from shallows import _core
from shallows.authoring import modules
from shallows.errors import RunError, SpecError
from shallows.tables.frames import to_frame
from shallows.tables.laws import broken

Document = dict[str, Any]

MOST_S = 20.0
"""A run that takes longer is stopped; it is a finding if it did not move at all."""

STOPPED = "stopped by the clock"
"""A run that others' work made slow says nothing."""


def faults(experiment: Document, threads: int = 1) -> list[str]:
    """The fault of the run of a resolved experiment; nothing for a good one.

    A RunError in words is a legal end. With `threads` the run is repeated in as many at once, each of which
    works the cells of its run with another number of the core's threads.
    """
    first = finished(experiment)
    if first is STOPPED or first is None:
        return []
    if isinstance(first, str):
        return [first]
    tables, counts = first
    frames = {name: to_frame(columns) for name, columns in tables.items()}
    found = [str(law) for law in broken(frames, experiment, counts)]
    again: list[Any] = [None] * threads

    def repeat(place: int) -> None:
        again[place] = finished(experiment, 2 + place % 2)

    others = [threading.Thread(target=repeat, args=(k,)) for k in range(1, threads)]
    for other in others:
        other.start()
    repeat(0)
    for other in others:
        other.join()
    for other in again:
        if other is STOPPED:
            continue
        if not isinstance(other, tuple):
            found.append(f"the second run: {other or 'ends in a RunError'}")
        elif digest(other[0]) != digest(tables) or other[1] != counts:
            found.append("the second run has other bytes")
    return found


def finished(experiment: Document, core_threads: int = 1) -> str | tuple[Any, dict[str, int]] | None:
    """Tables and counts, how it failed, or None where it ends in words. One cell has one thread."""
    components = modules.objects(experiment) if "python" in experiment else None
    text = json.dumps(experiment)
    try:
        simulation = _core.Simulation(text, components) if components else _core.Simulation(text)
    except SpecError as error:
        return f"it is not legal: {error}"
    simulation.set_threads(core_threads)
    watch = threading.Timer(MOST_S, simulation.cancel)
    watch.start()
    try:
        simulation.run()
    except RunError as error:
        if "cancel" in str(error):
            return STOPPED if simulation.progress() > 0 else f"the run has not begun after {MOST_S:g} s"
        return None if str(error) else "a RunError without a word"
    except BaseException as error:  # a panic of the core is no Exception
        return f"{type(error).__name__}: {error}"
    finally:
        watch.cancel()
    return simulation.tables(), json.loads(simulation.manifest())["counts"]


def digest(tables: dict[str, Any]) -> str:
    """SHA-256 of all columns."""
    sum_ = hashlib.sha256()
    for name, columns in sorted(tables.items()):
        for column, kind, data in columns:
            sum_.update(f"{name}.{column}:{kind}:".encode())
            for part in data if isinstance(data, tuple) else (data,):
                sum_.update(part if isinstance(part, bytes) else repr(part).encode())
    return sum_.hexdigest()
