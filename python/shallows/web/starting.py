"""Buttons that start work on what the laboratory shows."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

from nicegui import ui

from shallows.errors import ShallowsError
from shallows.web.jobs import Jobs

SEEDS = 5
"""Of a comparison that says nothing else."""

__all__ = ["buttons"]


def buttons(jobs: Jobs, text: Callable[[], str], overrides: Callable[[], list[str]]) -> None:
    """Keep the run, sweep, compare, tune: each only where the experiment describes it."""
    try:
        document = tomllib.loads(text())
    except tomllib.TOMLDecodeError:
        return

    def start(kind: str, **options: Any) -> None:
        try:
            job = jobs.start(kind, text(), options)
        except (ShallowsError, ValueError) as error:
            ui.notify(str(error), type="negative")
        else:
            ui.navigate.to(f"/work?job={job.name}")

    with ui.row().style("gap: 6px"):
        if not {"sweep", "compare", "tune"} & set(document):
            _button("Run and keep", lambda: start("run"))
        if "sweep" in document:
            _button("Sweep", lambda: start("sweep"))
        if overrides():
            _button(f"Compare both, {SEEDS} seeds", lambda: start("compare", second=overrides(), seeds=SEEDS))
        elif "compare" in document:
            _button("Compare", lambda: start("compare"))
        if "tune" in document:
            _button("Tune", lambda: start("tune"))


def _button(text: str, action: Callable[[], None]) -> None:
    ui.button(text, on_click=action).props("no-caps outline dense padding='2px 10px'")
