"""Jobs: commands that the page has started, their progress, and how they ended."""

from __future__ import annotations

import time
from typing import Any

from nicegui import ui

from shallows.web.jobs.queue import Job, hashes
from shallows.web.pages.commands import python_of
from shallows.web.pages.frame import Commands, frame, heading, page
from shallows.web.pages.state import State

__all__ = ["register"]


def register(state: State) -> None:
    """Makes the page of jobs known to the server."""

    @page("/jobs")
    def jobs(job: str = "") -> None:
        with frame("Jobs", "Jobs"):
            heading("Jobs", 1)
            ui.label(
                "Sweeps, comparisons and the like that this server runs. They go on when the tab "
                "is closed, and what ends is stored. Start them from the laboratory or from a paper."
            )
            box = ui.column().style("width: 100%; gap: 12px")
            shown: list[dict[str, tuple[Any, ...]]] = []

            def refresh() -> None:
                found = state.jobs.all()
                now = {each.name: (each.state, each.share, each.left, len(each.lines)) for each in found}
                if shown == [now]:
                    return
                shown[:] = [now]
                box.clear()
                with box:
                    if not found:
                        ui.label("Nothing yet.").classes("sh-soft")
                    for each in found:
                        _card(state, each, each.name == job)

            refresh()
            ui.timer(1.0, refresh)


def _card(state: State, job: Job, marked: bool) -> None:
    with (
        ui.element("article")
        .classes("sh-card")
        .style("width: 100%" + ("; border-color: var(--sh-accent)" if marked else ""))
    ):
        with ui.row().classes("items-center"):
            heading(f"{job.kind}: {job.state}", 2)
            if job.state == "running":
                ui.button("Cancel", on_click=lambda: state.jobs.cancel(job)).props("no-caps flat dense")
        spent = (job.ended or time.time()) - job.began
        stage = f"{job.stage}: " if job.stage and job.state == "running" else ""
        ui.label(f"{stage}{job.share:.1%}, {job.left or f'{spent:.0f} s'}").classes("sh-soft")
        ui.linear_progress(job.share, show_value=False).props(f'aria-label="{job.kind}" size="8px"')
        Commands(job.shown, python_of(job.shown))
        if job.lines and job.state != "done":
            for line in job.lines[-8:]:
                ui.label(line).classes("sh-soft")
        for text, to in _leads(job):
            ui.link(text, to)


def _leads(job: Job) -> list[tuple[str, str]]:
    """Where the results of a finished job are."""
    if job.state != "done":
        return []
    if job.kind == "reproduce":
        return [("The papers and their verdicts", "/papers")]
    if job.report is not None:
        return [("The result", f"/report/{job.report}")]
    runs = hashes(job.result)
    if len(runs) > 1:
        return [(f"The {len(runs)} runs as a sweep", f"/sweep?job={job.name}")]
    return [*((f"Run {name}", f"/run/{name}") for name in runs), ("All results", "/results")]
