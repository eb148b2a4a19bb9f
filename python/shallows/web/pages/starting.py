"""Buttons that start jobs on the experiment of the laboratory."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

from nicegui import ui

from shallows.errors import ShallowsError
from shallows.web.jobs.queue import Jobs

SEEDS = 5
"""The seeds of a comparison that sets none."""

STUDIES = {"sweep": "Sweep", "compare": "Compare", "tune": "Tune"}

__all__ = ["Starting"]


class Starting:
    """Keep the run, sweep, compare, tune: each only where the experiment describes it."""

    def __init__(self, jobs: Jobs, text: Callable[[], str], overrides: Callable[[], list[str]]):
        self._jobs, self._text, self._overrides = jobs, text, overrides
        self._row = ui.row().style("gap: 6px")
        self._shown: tuple[str, ...] | None = None

    def show(self) -> None:
        """Follows the experiment; the buttons stay as they are while it describes the same jobs."""
        try:
            document = tomllib.loads(self._text())
        except tomllib.TOMLDecodeError:
            return
        studies = STUDIES.keys() & document.keys()
        wanted = {} if studies else {"run": "Run and keep"}
        wanted |= {kind: name for kind, name in STUDIES.items() if kind in studies}
        if self._overrides():
            wanted.pop("compare", None)
            wanted["second"] = f"Compare both, {SEEDS} seeds"
        if self._shown == tuple(wanted):
            return
        self._shown = tuple(wanted)
        self._row.clear()
        with self._row:
            for kind, name in wanted.items():
                button = ui.button(name, on_click=lambda _, kind=kind: self._start(kind))
                button.props("no-caps outline dense padding='2px 10px'")

    def _start(self, kind: str) -> None:
        options: dict[str, Any] = {}
        if kind == "second":
            kind, options = "compare", {"second": self._overrides(), "seeds": SEEDS}
        try:
            job = self._jobs.start(kind, self._text(), options)
        except (ShallowsError, ValueError) as error:
            ui.notify(str(error), type="negative")
        else:
            ui.navigate.to(f"/jobs?job={job.name}")
