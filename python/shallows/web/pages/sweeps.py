"""Stored runs as a sweep: parallel coordinates and a heat map over settings; both lead to the runs."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from nicegui import ui

from shallows.document.places import program
from shallows.results.store import StoredRun
from shallows.terminal import scale
from shallows.web.jobs.queue import hashes
from shallows.web.pages.frame import Commands, frame, heading, on_dark, page
from shallows.web.pages.papers import figure_of, runs_behind
from shallows.web.pages.runs import listed, varied
from shallows.web.pages.state import State
from shallows.web.pages.sweep_file import sweep_text

MOST_RUNS = 400
FEW = 8
"""Values of a setting that get a tick each; more of them stand on an even scale."""

Unit = tuple[float, str]
"""The size of a unit, and the name of the result with that unit."""

__all__ = ["register"]


def register(state: State) -> None:
    """Makes the page of sweeps known to the server."""

    @page("/sweep")
    async def sweep(
        q: str = "", metric: str = "", job: str = "", figure: str = "", form: str = "quick"
    ) -> None:
        with frame("Sweep", "Results"):
            heading("Runs as a sweep", 1)
            runs, said, here = await asyncio.to_thread(_chosen, state, q, job, figure, form)
            axes = {path: values for path, values in varied(runs).items() if path != "title"} if runs else {}
            settings = [path for path in axes if path != "seed"]
            if len(runs) < 2 or not axes:
                ui.label("A sweep needs two stored runs or more that differ in a setting.").classes("sh-soft")
                return
            ui.label(f"{len(runs)} runs {said}. They differ in {', '.join(settings) or 'seed'}.")
            metrics = await asyncio.to_thread(lambda: [state.metrics(run) for run in runs])
            names = [
                n
                for n, v in metrics[0].items()
                if isinstance(v, int | float) and all(n in m for m in metrics)
            ]
            chosen = metric if metric in names else _usual(names)
            picked = (
                ui.select(names, value=chosen, label="Result", with_input=True)
                .props("dense")
                .style("width: min(100%, 420px)")
            )
            picked.on_value_change(lambda e: ui.navigate.to(f"/sweep?{here}&metric={quote(str(e.value))}"))
            values = [float(m[chosen]) for m in metrics]
            unit = _unit(chosen, values)
            heading("Every run", 2)
            ui.label("A line is a run; a click on one opens it. Drag along an axis to choose lines.").classes(
                "sh-soft"
            )
            shown = settings[:7] or ["seed"]
            with ui.element("div").classes("sh-wide"):
                lines = ui.echart({}).classes("sh-chart").style(f"min-width: {150 * len(shown) + 150}px")
            lines.on_point_click(lambda e: ui.navigate.to(f"/run/{runs[e.data_index].hash}"))
            on_dark(lambda dark: _draw(lines, _parallel(runs, axes, shown, unit, values, Ink(dark))))
            if len(settings) >= 2:
                _heat(runs, axes, settings, unit, values, q)
            _commands(state, runs, chosen, await asyncio.to_thread(sweep_text, runs))


def _chosen(state: State, q: str, job: str, figure: str, form: str) -> tuple[list[StoredRun], str, str]:
    """Runs that an address names, in words, and the address: of a search, a job or a figure."""
    if job:
        done = state.jobs.get(job)
        names = hashes(done.result) if done is not None else []
        found = [
            run for run in map(state.store.find, dict.fromkeys(names[: 4 * MOST_RUNS])) if run is not None
        ]
        return found[:MOST_RUNS], "of this job", f"job={quote(job)}"
    if figure:
        known = figure_of(figure)
        stored = runs_behind(state, known, form == "quick")[0] if known is not None else []
        return stored[:MOST_RUNS], f"behind {figure}", f"figure={quote(figure)}&form={quote(form)}"
    return (
        listed(state.index, q, MOST_RUNS),
        f"that fit the search {q!r}" if q else "of the store",
        f"q={quote(q)}",
    )


def _usual(names: Sequence[str]) -> str:
    for wanted in ("queue_mean_packets", "goodput_bps_total", "fct_mean_ps"):
        for name in names:
            if wanted in name:
                return name
    return names[0]


def _word(value: Any) -> Any:
    return (
        value if isinstance(value, str | int | float) and not isinstance(value, bool) else json.dumps(value)
    )


def _unit(metric: str, values: Sequence[float]) -> Unit:
    """A result in the unit of its greatest value: Gb/s for goodput_bps_total."""
    size, unit = scale(metric, max(map(abs, values)))
    return size, f"{metric} ({unit})" if unit else metric


class Ink:
    """Colours of a chart's words and of the page behind them."""

    def __init__(self, dark: bool):
        self.text, self.back = ("#e8eaed", "#14181d") if dark else ("#1c2127", "#ffffff")
        self.line = "#9aa5b1" if dark else "#49535e"

    @property
    def words(self) -> dict[str, Any]:
        """Readable over lines, by a rim in the colour of the page."""
        return {"color": self.text, "textBorderColor": self.back, "textBorderWidth": 4, "fontSize": 13}


def _draw(chart: ui.echart, option: dict[str, Any]) -> None:
    chart.options.clear()
    chart.options.update(option)
    chart.update()


def _axis(name: str, values: Sequence[Any], place: int, ink: Ink) -> dict[str, Any]:
    style = {
        "dim": place,
        "name": name,
        "nameLocation": "end",
        "nameTextStyle": ink.words | {"fontWeight": 600},
        "axisLabel": ink.words,
        "axisLine": {"lineStyle": {"color": ink.line}},
        "axisTick": {"lineStyle": {"color": ink.line}},
        "z": 10,
    }
    if all(isinstance(value, int | float) for value in values) and len(set(values)) > FEW:
        return style | {"scale": True}
    return style | {"type": "category", "data": sorted({str(v) for v in values}, key=_size)}


def _size(text: str) -> tuple[float, str]:
    """Quantities in order of size: 5pkt before 20pkt."""
    from shallows.web.editor.editing import QUANTITY

    found = QUANTITY.match(text)
    return (float(found[1]), text) if found else (float("inf"), text)


COLOURS = {"inRange": {"color": ["#0072B2", "#56B4E9", "#E69F00", "#D55E00"]}}


def _scale(name: str, values: Sequence[float], ink: Ink) -> dict[str, Any]:
    """A legend below the chart, whose ends choose values."""
    low, high = min(values), max(values)
    shape = {"orient": "horizontal", "left": "center", "bottom": 0, "calculable": True, "itemHeight": 220}
    told = {":formatter": "v => Number(v).toPrecision(4)", "textStyle": ink.words, "text": [name, ""]}
    return {"min": low, "max": high if high > low else low + 1} | shape | told | COLOURS


def _parallel(
    runs: Sequence[StoredRun],
    axes: dict[str, list[Any]],
    settings: Sequence[str],
    unit: Unit,
    values: Sequence[float],
    ink: Ink,
) -> dict[str, Any]:
    size, name = unit
    results = [value / size for value in values]
    columns = {path: [_word(value) for value in axes[path]] for path in settings}
    sides = [_axis(path, column, place, ink) for place, (path, column) in enumerate(columns.items())]
    rows = [
        [
            column[i] if side.get("type") != "category" else str(column[i])
            for side, column in zip(sides, columns.values(), strict=True)
        ]
        for i in range(len(runs))
    ]
    data = [
        {"value": [*row, result], "name": run.hash}
        for row, result, run in zip(rows, results, runs, strict=True)
    ]
    last = _axis(name, [], len(columns), ink) | {"type": "value", "scale": True}
    series = {"type": "parallel", "data": data, "animation": False, "lineStyle": {"width": 2, "opacity": 0.7}}
    return {
        "parallelAxis": [*sides, last],
        "parallel": {"left": 70, "right": 130, "top": 50, "bottom": 70},
        "visualMap": _scale("", results, ink) | {"dimension": len(columns)},
        "series": [series],
    }


def _heat(
    runs: Sequence[StoredRun],
    axes: dict[str, list[Any]],
    settings: Sequence[str],
    unit: Unit,
    values: Sequence[float],
    q: str,
) -> None:
    """Means over all that is not on its axes."""
    heading("Two settings against each other", 2)
    ui.label(f"A cell is a mean of {unit[1]}; a click on it leads to its runs.").classes("sh-soft")
    with ui.row():
        across = ui.select(list(settings), value=settings[0], label="Across").props("dense")
        up = ui.select(list(settings), value=settings[1], label="Up").props("dense")
    with ui.element("div").classes("sh-wide"):
        chart = ui.echart({}).classes("sh-chart").style("min-width: 480px")
    cells: dict[tuple[str, str], list[int]] = {}
    sides: tuple[list[str], list[str]] = ([], [])
    ink = Ink(False)

    def draw() -> None:
        nonlocal sides
        a, b = str(across.value), str(up.value)
        cells.clear()
        for i in range(len(runs)):
            cells.setdefault((str(_word(axes[a][i])), str(_word(axes[b][i]))), []).append(i)
        xs, ys = (sorted({key[k] for key in cells}, key=_size) for k in (0, 1))
        sides = xs, ys
        means = [
            (xs.index(i), ys.index(j), sum(values[n] for n in own) / len(own) / unit[0])
            for (i, j), own in cells.items()
        ]
        low, high = min(mean[2] for mean in means), max(mean[2] for mean in means)
        # White is legible on the darkest colour alone, the first one.
        data = [
            {"value": mean, "label": {"color": "#fff" if mean[2] - low < 0.1 * (high - low) else "#14181d"}}
            for mean in means
        ]
        style = {"type": "category", "axisLabel": ink.words, "nameTextStyle": ink.words | {"fontWeight": 600}}
        label = {"show": len(data) <= 100, "fontSize": 13, ":formatter": "p => p.value[2].toPrecision(4)"}
        series = {"type": "heatmap", "name": unit[1], "data": data, "animation": False, "label": label}
        option = {
            "grid": {"left": 90, "right": 20, "top": 34, "bottom": 110},
            "tooltip": {"position": "top", ":valueFormatter": "v => Number(v).toPrecision(6)"},
            "xAxis": style | {"data": xs, "name": a, "nameLocation": "middle", "nameGap": 30},
            "yAxis": style | {"data": ys, "name": b},
            "visualMap": _scale("", [mean[2] for mean in means], ink),
            "series": [series],
        }
        _draw(chart, option)

    def recolour(dark: bool) -> None:
        nonlocal ink
        ink = Ink(dark)
        draw()

    def lead(event: Any) -> None:
        i, j, _ = event.value
        at = sides[0][int(i)], sides[1][int(j)]
        own = cells[at]
        words = f"{q} {across.value}={at[0]} {up.value}={at[1]}".strip()
        ui.navigate.to(f"/run/{runs[own[0]].hash}" if len(own) == 1 else f"/results?q={quote(words)}")

    chart.on_point_click(lead)
    across.on_value_change(draw)
    up.on_value_change(draw)
    on_dark(recolour)


def _commands(state: State, runs: Sequence[StoredRun], metric: str, text: str | None) -> None:
    """The file, command and Python that give these runs and this result, from the same store."""
    option = state.store_option
    if text is None:  # no single file describes them
        names = " ".join(run.hash for run in runs)
        Commands(
            f'for run in {names}; do {program()} report "$run"{option}; done',
            f'[{state.store_code}.find(run).metrics["{metric}"] for run in "{names}".split()]',
        )
        return
    ui.label(
        "These runs are one sweep file. What this version has stored is found; runs of another are made anew."
    )
    button = ui.button("Save sweep.toml", on_click=lambda: ui.download.content(text, "sweep.toml"))
    button.props("no-caps flat dense")
    given = f", store={json.dumps(str(state.store.path))}" if option else ""
    Commands(
        f"{program()} sweep sweep.toml --metric {shlex.quote(metric)}{option}",
        f'shallows.sweep("sweep.toml"{given}).frame["{metric}"]',
    )
