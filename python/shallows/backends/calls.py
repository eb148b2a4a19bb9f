"""Watches a run that calls algorithms written in Python: calls that do not return, unseeded draws."""

from __future__ import annotations

import linecache
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from shallows.errors import PluginError
from shallows.terminal import note

__all__ = ["PATIENCE_S", "watched"]

PATIENCE_S = 5.0
"""A call that takes longer is named on standard error. Most take a microsecond."""

USER = "shallows_user_"
"""How the names of users' modules begin (see `authoring.modules`)."""


@contextmanager
def watched(alone: bool) -> Iterator[None]:
    """Names a call of this thread that does not return.

    If the process is `alone` with the run, a draw from Python's or numpy's global random numbers raises
    PluginError: another run of the same experiment would draw others. Elsewhere, as in a notebook, somebody
    else may have drawn: then a line on standard error names the draw.
    """
    over = threading.Event()
    before = _global_states()
    watch = threading.Thread(target=_watch, args=(threading.get_ident(), over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
    drawn = [name for (name, now), (_, then) in zip(_global_states(), before, strict=False) if now != then]
    if drawn and alone:
        raise PluginError(
            f"an algorithm drew from {drawn[0]}'s global random numbers, so that the run cannot be repeated; "
            "draw from flow.random or net.random"
        )
    if drawn:
        note(
            f"shallows: {drawn[0]}'s global random numbers were drawn from while algorithms in Python ran in "
            "this process. If one of them drew, the run cannot be repeated; they draw from flow.random"
        )


def _global_states() -> list[tuple[str, Any]]:
    states: list[tuple[str, Any]] = [("Python", random.getstate())]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kind, keys, *rest = numpy.random.get_state()
        states.append(("numpy", (kind, keys.tobytes(), *rest)))
    return states


def _watch(thread: int, over: threading.Event) -> None:
    held: FrameType | None = None
    waited = 0.0
    while not over.wait(1.0):
        call = _call(sys._current_frames().get(thread))
        # The frame is held, so that another call cannot get its place in memory and look the same.
        waited = waited + 1.0 if call is not None and call is held else 0.0
        held = call
        if call is not None and waited >= PATIENCE_S:
            name, line = Path(call.f_code.co_filename).name, call.f_lineno
            text = linecache.getline(call.f_code.co_filename, line).strip()
            note(f"{call.f_code.co_qualname} has not returned for {waited:g} s ({name}, line {line}: {text})")
            return


def _call(frame: FrameType | None) -> FrameType | None:
    """The outermost frame of a user's module: the call that the simulation waits for."""
    found = None
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(USER):
            found = frame
        frame = frame.f_back
    return found
