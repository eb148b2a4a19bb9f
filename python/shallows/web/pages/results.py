"""Results: the store's runs, one run, two runs against each other, and runs as a sweep."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from nicegui import ui

from shallows.document.places import program
from shallows.document.settings import flat, sources, text_of
from shallows.results.store import FIGURES, StoredRun
from shallows.terminal import readable
from shallows.web.pages import address
from shallows.web.pages.elements import ReportFigure
from shallows.web.pages.frame import Commands, frame, heading, page, rows_table
from shallows.web.pages.index import Row
from shallows.web.pages.runs import differences, run_of
from shallows.web.pages.state import State

MOST_ROWS = 500

PART = 60
"""Runs on one page of the list."""

__all__ = ["register"]


def register(state: State) -> None:
    """Makes the pages of results known to the server."""

    @page("/results")
    async def results(q: str = "", part: int = 1) -> None:
        with frame("Results", "Results"):
            heading("Results", 1)
            ui.label(
                f"The store is {state.store.path}. A search finds the runs that fit all its words, "
                "such as queue.mark_at=20pkt dctcp."
            )
            box = (
                ui.input("Search by setting", value=q)
                .props("dense clearable")
                .style("width: min(100%, 560px)")
            )
            box.on("keydown.enter", lambda: ui.navigate.to(f"/results?q={quote(box.value or '')}"))
            found = await asyncio.to_thread(state.index.rows, q)
            parts = max(1, -(-len(found) // PART))
            part = min(max(part, 1), parts)
            runs = found[(part - 1) * PART : part * PART]
            if not q:
                _reports()
            if not runs:
                ui.label(f"No stored run fits. {program()} run FILE stores one.").classes("sh-soft")
                return
            heading("Runs", 2)
            table = _listing(runs)
            _parts(q, part, parts, len(found))
            with ui.row():
                two = ui.button("Compare the two chosen").props("no-caps flat dense")
                two.on_click(lambda: _compare_chosen(table))
                many = ui.button("These runs as a sweep").props("no-caps flat dense")
                many.on_click(lambda: ui.navigate.to(f"/sweep?q={quote(q)}"))

    @page("/run/{name}")
    async def one(name: str) -> None:
        run = run_of(state.store, name)
        with frame("Run", "Results"):
            if run is None:
                heading("There is no such run in the store, or it is damaged", 1)
                return
            await _run_page(state, run)

    @page("/difference")
    async def difference(a: str = "", b: str = "") -> None:
        runs = [run_of(state.store, a), run_of(state.store, b)]
        with frame("Two runs", "Results"):
            heading("Two runs", 1)
            if runs[0] is None or runs[1] is None:
                ui.label("One of them is not in the store.")
                return
            await _difference_page(runs[0], runs[1])


def _reports() -> None:
    """The reports in the working directory, above the runs."""
    from shallows.web.pages.reports import all_reports

    found = all_reports()
    if not found:
        return
    heading("Comparisons, tunings and papers", 2)
    with ui.element("ul").classes("sh-list"):
        for kind, title, name in found[:50]:
            with ui.element("li"):
                ui.link(title, f"/report/{name}")
                ui.label(f"{kind}, reports/{name}").classes("sh-soft")


def _parts(q: str, part: int, parts: int, count: int) -> None:
    """Links to the newer and the older runs, where they are not all on this page."""
    if parts == 1:
        return
    with ui.row().props('role="navigation" aria-label="Parts of the list"'):
        for text, to in (("Newer", part - 1), ("Older", part + 1)):
            if 1 <= to <= parts:
                ui.link(text, f"/results?q={quote(q)}&part={to}")
        ui.label(f"Part {part} of {parts}, {count} runs").classes("sh-soft")


def _title(run: StoredRun) -> str:
    return str(run.experiment.get("title") or "(no title)")


def _listing(runs: Sequence[Row]) -> ui.table:
    names = ["title", "cc", "queue", "topology", "seed", "backend", "finished", "hash"]
    rows = [{name: getattr(run, name) for name in names} for run in runs]
    columns = [{"name": n, "label": n, "field": n, "sortable": True, "align": "left"} for n in names]
    table = ui.table(rows=rows, columns=columns, row_key="hash", selection="multiple", pagination=15)
    table.classes("sh-table").props("dense flat")
    link = '<q-td :props="props"><a :href="\'/run/\' + props.row.hash">{{ props.value }}</a></q-td>'
    table.add_slot(
        "header-selection", '<q-checkbox v-model="props.selected" dense aria-label="Choose all" />'
    )
    choose = '<q-checkbox v-model="props.selected" dense :aria-label="\'Choose \' + props.row.hash" />'
    table.add_slot("body-selection", choose)
    table.add_slot("body-cell-title", link)
    table.add_slot("body-cell-hash", link)
    return table


def _compare_chosen(table: ui.table) -> None:
    chosen = [row["hash"] for row in table.selected]
    if len(chosen) == 2:
        ui.navigate.to(f"/difference?a={chosen[0]}&b={chosen[1]}")
    else:
        ui.notify("Choose two runs in the table first.")


async def _run_page(state: State, run: StoredRun) -> None:
    heading(_title(run), 1)
    made = f"{run.manifest.get('backend')}, finished {run.manifest.get('finished_at')}"
    ui.label(f"{run.hash}, seed {run.seed}, {made}").classes("sh-soft")
    packed = address.pack({"text": text_of(run.experiment), "second": ""})
    with ui.row():
        if len(packed) < 20_000:
            ui.link("Open in the laboratory", f"/?x={packed}")
        ui.link("Manifest", f"/stored/{run.hash}/manifest.json")
        ui.link("Film in one file", f"/stored/{run.hash}/film.html")
    Commands(
        f"{program()} report {run.hash}{state.store_option}",
        f'{state.store_code}.find("{run.hash}").tables["queues"]',
    )
    heading("Figures", 2)
    with ui.element("div").classes("sh-figures"):
        for kind in FIGURES:
            if await asyncio.to_thread(_can_draw, run, kind):
                with ui.column().style("gap: 2px"):
                    ReportFigure(f"/stored/{run.hash}/figures/{kind}.svg", kind.replace("_", " "))
                    with ui.row():
                        for form in ("svg", "png"):
                            link = ui.link(f"{kind}.{form}", f"/stored/{run.hash}/figures/{kind}.{form}")
                            link.props(f'download="{run.hash}-{kind}.{form}"')
    heading("Summary", 2)
    metrics = await asyncio.to_thread(lambda: run.metrics)
    rows_table(["metric", "value"], [(name, readable(name, value)) for name, value in metrics.items()])
    heading("Tables", 2)
    names = list(run.tables)
    box = ui.column().classes("sh-wide")

    async def show(name: str) -> None:
        frame = await asyncio.to_thread(lambda: run.tables[name])
        box.clear()
        with box:
            with ui.row():
                for form in ("parquet", "csv"):
                    ui.link(f"{name}.{form}", f"/stored/{run.hash}/tables/{name}.{form}")
                more = f", the first {MOST_ROWS} of them here" if frame.height > MOST_ROWS else ""
                ui.label(f"{frame.height} rows{more}").classes("sh-soft")
            rows_table(frame.columns, frame.head(MOST_ROWS).rows(), 10)

    ui.toggle(names, value="queues", on_change=lambda event: show(event.value)).props(
        "no-caps dense flat"
    ).classes("sh-tables")
    box.move()
    await show("queues")
    captured = await asyncio.to_thread(lambda: run.tables["packets"]["port"].unique().sort().to_list())
    for port in captured:
        ui.link(
            f"packets of {port} for Wireshark",
            f"/stored/{run.hash}/packets/{quote(str(port), safe='')}.pcapng",
        )
    heading("Settings and their sources", 2)
    rows_table(["setting", "value", "default", "source of the default"], list(sources(run.experiment)), 25)


def _can_draw(run: StoredRun, kind: str) -> bool:
    """Whether what a figure shows was recorded."""
    needed = {
        "queue_time": "queue_trace",
        "queue_cdf": "queue_histogram",
        "fct": "messages",
        "flow_time": "flow_trace",
        "goodput_time": "flow_trace",
        "time_sequence": "packets",
    }
    if needed[kind] not in run.tables or not run.tables[needed[kind]].height:
        return False
    if kind != "time_sequence":
        return True
    from shallows.figures import time_sequence

    try:
        time_sequence.info(run.tables)
    except ValueError:  # packets of other ports than the first sender's
        return False
    return True


async def _difference_page(a: StoredRun, b: StoredRun) -> None:
    for letter, run in (("A", a), ("B", b)):
        with ui.row():
            ui.label(letter).style("font-weight: 700")
            ui.link(f"{_title(run)} ({run.hash})", f"/run/{run.hash}")
    heading("Settings that differ", 2)
    rows = differences(flat(a.experiment), flat(b.experiment))
    rows_table(["setting", "A", "B"], rows) if rows else ui.label("None.")
    heading("Results that differ", 2)
    first, second = await asyncio.to_thread(lambda: (a.metrics, b.metrics))
    rows = [
        (name, readable(name, x), readable(name, y), y / x if _numbers(x, y) and x else None)
        for name, x, y in differences(first, second)
    ]
    rows_table(["metric", "A", "B", "B / A"], rows, 50) if rows else ui.label("None.")
    sets = [
        f"{path}={value if isinstance(value, str) else json.dumps(value)}"
        for path, _, value in differences(flat(a.experiment), flat(b.experiment))
        if value is not None
    ]
    shell = " ".join([f"{program()} run a.toml", *(f"--set {shlex.quote(each)}" for each in sets[:12])])
    Commands(shell, f'shallows.run("a.toml", settings={sets[:12]!r})')


def _numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
