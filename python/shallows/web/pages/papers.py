"""Papers: their claims and verdicts as a matrix, each leading to the runs behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nicegui import ui

from shallows.document.places import program
from shallows.errors import ShallowsError, SpecError
from shallows.web.jobs.queue import TARGET
from shallows.web.pages.elements import ReportFigure
from shallows.web.pages.frame import Commands, frame, heading, page
from shallows.web.pages.reports import report_of
from shallows.web.pages.state import State

SIGNS = {
    "holds": "✓ holds",
    "holds-if": "≈ holds if",
    "differs": "✕ differs",
    "not-determined": "? not determined",
}

FORMS = {"quick": "Quick form", "full": "Full form"}

__all__ = ["figure_of", "register", "runs_behind"]


def register(state: State) -> None:
    """Makes the pages of papers known to the server."""

    @page("/papers")
    async def papers(form: str = "quick") -> None:
        form = form if form in FORMS else "quick"
        with frame("Papers", "Papers"):
            heading("Papers", 1)
            ui.label(
                "Each row is a figure, each mark a claim with its verdict. A mark leads to the claim and the "
                f"runs behind it. Verdicts that {program()} reproduce measured here stand out. "
                "The paler ones are recorded for this form of the paper."
            )
            with ui.row().props('role="navigation" aria-label="Form"'):
                for name, words in FORMS.items():
                    link = ui.link(words, f"/papers?form={name}").classes("sh-tab")
                    if name == form:
                        link.props('aria-current="page"')
            _legend()
            figures = await asyncio.to_thread(_figures)
            if not figures:
                ui.label("No papers are installed here.").classes("sh-soft")
            for paper in dict.fromkeys(figure.paper for figure in figures):
                ours = [each for each in figures if each.paper == paper]
                heading(paper, 2)
                _document(ours[0], form)
                measured = await asyncio.to_thread(measured_here, paper, form, [each.name for each in ours])
                ui.label(_headline(ours, measured, form)).classes("sh-soft")
                with ui.element("div").classes("sh-wide"), ui.element("table").classes("sh-matrix"):
                    for figure in ours:
                        _row(figure, measured, form)
                with ui.row():
                    button = ui.button(f"Reproduce {paper}, {form} form").props("no-caps flat dense")
                    button.on_click(lambda _, p=paper: _start(state, p, form))
                    name = f"{paper}-quick" if form == "quick" else paper
                    if report_of(name) is not None:
                        ui.link("The report", f"/report/{name}").classes("sh-beside")

    @page("/figure/{paper}/{name}")
    async def one(paper: str, name: str, form: str = "quick") -> None:
        form = form if form in FORMS else "quick"
        with frame("Figure", "Papers"):
            figure = await asyncio.to_thread(figure_of, f"{paper}/{name}")
            if figure is None:
                heading("There is no such figure", 1)
                return
            await _figure_page(state, figure, form)


def figure_of(target: str) -> Any:
    """The figure of PAPER/FIGURE, or None."""
    if not TARGET.match(target):
        return None
    return next((figure for figure in _figures() if f"{figure.paper}/{figure.name}" == target), None)


def _figures() -> list[Any]:
    from shallows.studies.paper.study import find

    try:
        return find()
    except (SpecError, OSError):  # a package without its papers
        return []


def _reports(paper: str, form: str, figures: Iterable[str]) -> list[Path]:
    """Reports of one form in the working directory: of the paper, and of single figures; the newest last."""
    names = [f"{paper}-quick" if form == "quick" else paper]
    names += [f"{paper}-{figure}-quick" if form == "quick" else f"{paper}-{figure}" for figure in figures]
    found = [folder for folder in map(report_of, names) if folder is not None]
    return sorted(found, key=lambda folder: folder.stat().st_mtime)


def measured_here(paper: str, form: str, figures: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Verdicts measured here in one form, by a claim's name; of two reports the newer one decides."""
    found: dict[str, dict[str, Any]] = {}
    for folder in _reports(paper, form, figures):
        try:
            claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))["claims"]
            found |= {f"{claim['figure']}/{claim['id'].rsplit('/', 1)[-1]}": claim for claim in claims}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def _verdict(figure: Any, claim: Any, measured: dict[str, dict[str, Any]], form: str) -> tuple[str, bool]:
    """The verdict of a claim, and whether it was measured here."""
    told = measured.get(f"{figure.name}/{claim.id}")
    if told is not None and told.get("verdict") in SIGNS:
        return str(told["verdict"]), True
    return str(claim.expected.get(form) or "not-determined"), False


def _headline(figures: list[Any], measured: dict[str, dict[str, Any]], form: str) -> str:
    found = [_verdict(figure, claim, measured, form) for figure in figures for claim in figure.claims]
    counts = [f"{sum(v == verdict for v, _ in found)} {words[2:]}" for verdict, words in SIGNS.items()]
    return f"{', '.join(counts)}; {sum(here for _, here in found)} of {len(found)} measured here."


def _document(figure: Any, form: str) -> None:
    """The document of a paper, and the headline of its newest report in this form."""
    try:
        about = figure.about
    except SpecError:
        about = None
    if about:
        with ui.row().style("gap: 5px"):
            ui.label(f"{about.author}:").classes("sh-soft")
            ui.link(about.title, about.link, new_tab=True) if about.link else ui.label(about.title)
            if about.year:
                ui.label(f"({about.year})").classes("sh-soft")
    if headline := headline_of(figure.paper, form):
        ui.label(headline).classes("sh-headline")


def headline_of(paper: str, form: str) -> str:
    """The headline of the paper's report in this form; "" without a report."""
    folder = report_of(f"{paper}-quick" if form == "quick" else paper)
    try:
        found = json.loads((folder / "claims.json").read_text(encoding="utf-8")) if folder else {}
        return str(found.get("headline") or "")
    except (OSError, ValueError, AttributeError):
        return ""


def _legend() -> None:
    with ui.row().style("gap: 14px"):
        for verdict, words in SIGNS.items():
            with ui.row().style("gap: 5px; align-items: center"):
                ui.label(words[0]).classes(f"sh-verdict sh-{verdict}").props('aria-hidden="true"')
                ui.label(words[2:])


def _row(figure: Any, measured: dict[str, dict[str, Any]], form: str) -> None:
    to = f"/figure/{figure.paper}/{figure.name}?form={form}"
    with ui.element("tr"):
        with ui.element("th").props('scope="row"'):
            ui.link(figure.name, to)
        with ui.element("td"):
            for claim in figure.claims:
                verdict, here = _verdict(figure, claim, measured, form)
                sign = SIGNS.get(verdict, verdict)
                link = ui.link(sign[0], f"{to}#{claim.id}").classes(f"sh-verdict sh-{verdict}")
                link.props(f'aria-label="{"measured" if here else "recorded"}: {verdict}"')
                if not here:
                    link.classes("sh-recorded")
                link.tooltip(f"{claim.statement}: {sign}{'' if here else ' (recorded)'}")


def _start(state: State, target: str, form: str) -> None:
    try:
        job = state.jobs.start("reproduce", "", {"target": target, "quick": form == "quick"})
    except SpecError as error:
        ui.notify(str(error))
    else:
        ui.navigate.to(f"/jobs?job={job.name}")


async def _figure_page(state: State, figure: Any, form: str) -> None:
    heading(f"{figure.paper}: {figure.name}", 1)
    with ui.row().props('role="navigation" aria-label="Form"'):
        for name, words in FORMS.items():
            link = ui.link(words, f"/figure/{figure.paper}/{figure.name}?form={name}").classes("sh-tab")
            if name == form:
                link.props('aria-current="page"')
    measured = measured_here(figure.paper, form, [figure.name])
    with ui.element("div").classes("sh-wide"), ui.element("table").classes("sh-claims"):
        with ui.element("tr"):
            for words in ("Claim", "Published", "Measured here [95 %]", "Verdict"):
                with ui.element("th"):
                    ui.label(words)
        for claim in figure.claims:
            _claim(figure, claim, measured, form)
    target = f"{figure.paper}/{figure.name}"
    quick = " --quick" if form == "quick" else ""
    Commands(
        f"{program()} reproduce {target}{quick}",
        f'shallows.reproduce("{target}"{", quick=True" if quick else ""})',
    )
    button = ui.button(f"Reproduce it, {form} form").props("no-caps unelevated dense padding='4px 14px'")
    button.on_click(lambda: _start(state, target, form))
    newest = [
        sorted(folder.glob(f"{figure.name}-*.svg")) for folder in _reports(figure.paper, form, [figure.name])
    ]
    drawn = next(filter(None, reversed(newest)), [])
    if drawn:
        heading("Figures", 2)
        with ui.element("div").classes("sh-figures"):
            for path in drawn:
                with ui.element("figure").classes("sh-report-figure"):
                    words = path.stem.removeprefix(f"{figure.name}-").replace("-", " ").capitalize()
                    ReportFigure(f"/reports/{path.parent.name}/{path.name}", words)
                    with ui.element("figcaption"):
                        ui.label(words).classes("sh-soft")
    heading("Runs behind it", 2)
    try:
        stored, all_runs = await asyncio.to_thread(runs_behind, state, figure, form == "quick")
    except ShallowsError as error:
        ui.label(str(error)[:500])
        return
    ui.label(f"{len(stored)} of the {all_runs} runs of its {form} form are in the store.")
    if len(stored) > 1:
        ui.link("All of them as a sweep", f"/sweep?figure={target}&form={form}")
    with ui.element("ul").classes("sh-list"):
        for run in stored[:50]:
            with ui.element("li"):
                ui.link(
                    f"{run.experiment.get('title') or 'run'}, seed {run.seed}, {run.hash[:8]}",
                    f"/run/{run.hash}",
                )


def _said(value: Any) -> str:
    """A measured or published value in words."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _claim(figure: Any, claim: Any, measured: dict[str, dict[str, Any]], form: str) -> None:
    told = measured.get(f"{figure.name}/{claim.id}") or {}
    verdict, here = _verdict(figure, claim, measured, form)
    number, interval = told.get("measured"), told.get("ci95")
    shown, published = _said(number), _said(claim.published)
    if interval:
        shown += f" [{interval[0]:.4g}, {interval[1]:.4g}]"
    unit = str(claim.unit or "")
    with ui.element("tr").props(f'id="{claim.id}"'):
        for text in (
            claim.statement,
            f"{claim.published_text if claim.published_text[:1].isdigit() else published} {unit}",
            f"{shown} {unit}" if told else "-",
        ):
            with ui.element("td"):
                ui.label(text)
        with ui.element("td"):
            sign = ui.label(SIGNS.get(verdict, verdict)).classes(f"sh-verdict sh-{verdict}")
            if not here:
                sign.classes("sh-recorded")
                ui.label("recorded").classes("sh-soft")
            if told.get("because"):
                ui.label(str(told["because"])).classes("sh-soft")


def runs_behind(state: State, figure: Any, quick: bool) -> tuple[list[Any], int]:
    """Stored runs of a form of a figure, and how many there are in all. Raises ShallowsError."""
    from shallows.execution.runner import Runner

    points = [point for points in figure.points(quick=quick).values() for point in points]
    names = list(dict.fromkeys(job.name for job in Runner.of(store=state.store).identify(points)))
    found = [state.store.find(name) for name in names]
    return [run for run in found if run is not None], len(names)
