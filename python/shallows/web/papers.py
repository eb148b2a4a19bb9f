"""Papers: their claims and verdicts as a matrix, each leading to the runs behind it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from nicegui import ui

from shallows.errors import ShallowsError, SpecError
from shallows.web.frame import commands, frame, heading
from shallows.web.jobs import TARGET
from shallows.web.results import rows_table
from shallows.web.state import State

SIGNS = {
    "holds": "✓ holds",
    "holds-if": "≈ holds if",
    "differs": "✕ differs",
    "not-determined": "? not determined",
}

__all__ = ["register"]


def register(state: State) -> None:
    """Makes the pages of papers known to the server."""

    @ui.page("/papers")
    async def papers() -> None:
        with frame("Papers", "Papers"):
            heading("Papers", 1)
            ui.label(
                "Each row is a figure, each mark a claim with its verdict: measured here where ./shallows "
                "reproduce has run, else (paler) as recorded for the quick form."
            )
            figures = await asyncio.to_thread(_figures)
            for paper in dict.fromkeys(figure.paper for figure in figures):
                heading(paper, 2)
                measured = await asyncio.to_thread(_measured, paper)
                with ui.element("table").classes("sh-matrix"):
                    for figure in (each for each in figures if each.paper == paper):
                        _row(figure, measured)
                with ui.row():
                    button = ui.button(f"Reproduce {paper}, quick form").props("no-caps flat dense")
                    button.on_click(lambda _, p=paper: _start(state, p))

    @ui.page("/figure/{paper}/{name}")
    async def one(paper: str, name: str) -> None:
        with frame("Figure", "Papers"):
            figure = None
            if TARGET.match(f"{paper}/{name}"):
                figure = next(
                    (f for f in await asyncio.to_thread(_figures) if (f.paper, f.name) == (paper, name)), None
                )
            if figure is None:
                heading("There is no such figure", 1)
                return
            await _figure_page(state, figure)


def _figures() -> list[Any]:
    from shallows.studies.paper.figure import find

    try:
        return find()
    except (SpecError, OSError):  # a package without its papers
        return []


def _measured(paper: str) -> dict[str, dict[str, Any]]:
    """Verdicts of the reports in the working directory, by a claim's name; those in full over quick ones."""
    found: dict[str, dict[str, Any]] = {}
    for path in (Path("reports") / f"{paper}-quick" / "claims.json", Path("reports") / paper / "claims.json"):
        try:
            claims = json.loads(path.read_text(encoding="utf-8"))["claims"]
            found |= {f"{claim['figure']}/{claim['id'].rsplit('/', 1)[-1]}": claim for claim in claims}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def _recorded(claim: Any) -> str | None:
    expected = getattr(claim, "expected", None)
    if expected is None:
        return None
    return expected.get("quick") if isinstance(expected, dict) else getattr(expected, "quick", None)


def _row(figure: Any, measured: dict[str, dict[str, Any]]) -> None:
    with ui.element("tr"):
        with ui.element("th").props('scope="row"'):
            ui.link(figure.name, f"/figure/{figure.paper}/{figure.name}")
        for claim in figure.claims:
            told = measured.get(f"{figure.name}/{claim.id}")
            verdict = (told or {}).get("verdict") or _recorded(claim) or "not-determined"
            with ui.element("td"):
                sign = SIGNS.get(str(verdict), str(verdict))
                link = ui.link(sign[0], f"/figure/{figure.paper}/{figure.name}").classes(
                    f"sh-verdict sh-{verdict}"
                )
                link.props(f'aria-label="{"measured" if told else "recorded"}: {verdict}"')
                if not told:
                    link.classes("sh-recorded")
                link.tooltip(f"{claim.statement}: {sign}{'' if told else ' (recorded)'}")


def _start(state: State, target: str) -> None:
    try:
        job = state.jobs.start("reproduce", "", {"target": target, "quick": True})
    except SpecError as error:
        ui.notify(str(error))
    else:
        ui.navigate.to(f"/work?job={job.name}")


async def _figure_page(state: State, figure: Any) -> None:
    heading(f"{figure.paper}: {figure.name}", 1)
    measured = _measured(figure.paper)
    rows = []
    for claim in figure.claims:
        told = measured.get(f"{figure.name}/{claim.id}") or {}
        verdict = told.get("verdict") or _recorded(claim) or "not-determined"
        number, interval = told.get("measured"), told.get("ci95")
        shown = "-" if number is None else f"{number:.6g}" if isinstance(number, float) else str(number)
        if interval:
            shown += f" [{interval[0]:.4g}, {interval[1]:.4g}]"
        sign = SIGNS.get(str(verdict), str(verdict)) + ("" if told else " (recorded)")
        rows.append(
            [claim.statement, str(getattr(claim, "published", "")), shown, getattr(claim, "unit", ""), sign]
        )
    rows_table(["claim", "published", "measured", "unit", "verdict"], rows)
    target = f"{figure.paper}/{figure.name}"
    commands(f"./shallows reproduce {target}", f'shallows.reproduce("{target}")')
    button = ui.button("Reproduce it, quick form").props("no-caps unelevated dense")
    button.on_click(lambda: _start(state, target))
    heading("Runs behind it", 2)
    try:
        stored, all_runs = await asyncio.to_thread(_runs, state, figure)
    except ShallowsError as error:
        ui.label(str(error)[:500])
        return
    ui.label(f"{len(stored)} of the {all_runs} runs of its quick form are in the store.")
    for run in stored[:50]:
        ui.link(f"{run.experiment.get('title') or run.hash} (seed {run.seed})", f"/run/{run.hash}")


def _runs(state: State, figure: Any) -> tuple[list[Any], int]:
    """Stored runs of a figure's quick form, and how many there are in all."""
    from shallows.execution.runner import Runner

    points = [point for points in figure.points(quick=True).values() for point in points]
    names = list(dict.fromkeys(job.name for job in Runner.of(store=state.store).identify(points)))
    found = [state.store.find(name) for name in names]
    return [run for run in found if run is not None], len(names)
