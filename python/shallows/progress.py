"""Progress: a bar in a notebook or a terminal, or a function of the caller."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shallows import terminal

__all__ = ["Wanted", "shown"]

Wanted = bool | Callable[[float, int], None] | None
"""Whether to show progress, by default in a notebook or a terminal; or a function that receives it.

It is called a few times a second with the runs that are done, shares of runs included, and those that failed.
"""


@contextmanager
def shown(what: str, total: float, wanted: Wanted = None) -> Iterator[Callable[..., None] | None]:
    """The listener for the progress of `total` runs, or None if there is none."""
    display = _notebook()
    if callable(wanted):
        yield wanted
    elif wanted is False or (wanted is None and display is None and not sys.stderr.isatty()):
        yield None
    elif display is not None:
        bar = _Bar(display, what, total)
        try:
            yield bar.report
        finally:
            bar.close()
    else:
        with terminal.progress(what, total) as report:
            yield report


def _notebook() -> Callable[..., Any] | None:
    """IPython's `display`, if this is a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display


class _Bar:
    """A bar of plain HTML: nothing to install in the browser, and gone at the end."""

    def __init__(self, display: Callable[..., Any], what: str, total: float):
        self._what, self._total, self._began = what, total, time.monotonic()
        self._handle = display({"text/html": self._html(0, 0)}, raw=True, display_id=True)

    def _html(self, done: float, failed: int) -> str:
        share = done / self._total if self._total else 1.0
        elapsed = time.monotonic() - self._began
        left = f", about {elapsed / share - elapsed:.0f} s left" if share > 0.02 else ""
        bad = f", {failed} failed" if failed else ""
        count = f" {int(done)}/{self._total}" if self._total > 1 else ""
        return f"<progress value='{share:.4f}'></progress> {self._what}{count}{bad}{left}"

    def report(self, done: float, failed: int = 0) -> None:
        """Shows how far it is."""
        self._handle.update({"text/html": self._html(done, failed)}, raw=True)

    def close(self) -> None:
        """Takes the bar away."""
        self._handle.update({"text/html": ""}, raw=True)
