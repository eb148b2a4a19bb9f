"""Stored runs as a sweep: parallel coordinates and a heat map over what differs; both lead to the runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from nicegui import ui

from shallows.results.store import StoredRun
from shallows.web.frame import commands, frame, heading, room
from shallows.web.jobs import hashes
from shallows.web.papers import figure_of, runs_behind
from shallows.web.runs import listed, varied
from shallows.web.state import State

MOST_RUNS = 400
GREY = "#808a96"

__all__ = ["register"]


def register(state: State) -> None:
    """Makes the page of sweeps known to the server."""

    @room("/sweep")
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
            values = [m[chosen] for m in metrics]
            heading("Every run", 2)
            ui.label("A line is a run; a click on one opens it. Drag along an axis to choose lines.").classes(
                "sh-soft"
            )
            lines = ui.echart(_parallel(runs, axes, settings[:7] or ["seed"], chosen, values)).classes(
                "sh-chart"
            )
            lines.on_point_click(lambda e: ui.navigate.to(f"/run/{runs[e.data_index].hash}"))
            if len(settings) >= 2:
                _heat(runs, axes, settings, chosen, values, q)
            commands("./shallows sweep mine.toml --json", 'shallows.sweep("mine.toml").frame')


def _chosen(state: State, q: str, job: str, figure: str, form: str) -> tuple[list[StoredRun], str, str]:
    """Runs that an address names, in words, and the address: of a search, of work, or of a figure."""
    if job:
        work = state.jobs.get(job)
        names = hashes(work.result) if work is not None else []
        found = [
            run for run in map(state.store.find, dict.fromkeys(names[: 4 * MOST_RUNS])) if run is not None
        ]
        return found[:MOST_RUNS], "of this piece of work", f"job={quote(job)}"
    if figure:
        known = figure_of(figure)
        stored = runs_behind(state, known, form == "quick")[0] if known is not None else []
        return stored[:MOST_RUNS], f"behind {figure}", f"figure={quote(figure)}&form={quote(form)}"
    return (
        listed(state.store, q)[:MOST_RUNS],
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


def _axis(name: str, values: Sequence[Any], place: int) -> dict[str, Any]:
    style = {"nameTextStyle": {"color": GREY}, "axisLabel": {"color": GREY}, "nameLocation": "end"}
    if all(isinstance(value, int | float) for value in values):
        return {"dim": place, "name": name, "scale": True} | style
    return {
        "dim": place,
        "name": name,
        "type": "category",
        "data": sorted({str(v) for v in values}, key=_size),
    } | style


def _size(text: str) -> tuple[float, str]:
    """Quantities in order of size: 5pkt before 20pkt."""
    from shallows.web.editing import QUANTITY

    found = QUANTITY.match(text)
    return (float(found[1]), text) if found else (float("inf"), text)


COLOURS = {"inRange": {"color": ["#0072B2", "#56B4E9", "#E69F00", "#D55E00"]}, "textStyle": {"color": GREY}}


def _scale(values: Sequence[float]) -> dict[str, Any]:
    low, high = min(values), max(values)
    return {"min": low, "max": high if high > low else low + 1, "right": 0, "calculable": True} | COLOURS


def _parallel(
    runs: Sequence[StoredRun],
    axes: dict[str, list[Any]],
    settings: Sequence[str],
    metric: str,
    values: list[Any],
) -> dict[str, Any]:
    columns = {path: [_word(value) for value in axes[path]] for path in settings} | {metric: values}
    rows = zip(
        *([v if isinstance(v, int | float) else str(v) for v in column] for column in columns.values()),
        strict=True,
    )
    data = [{"value": list(row), "name": run.hash} for row, run in zip(rows, runs, strict=True)]
    series = {"type": "parallel", "data": data, "animation": False, "lineStyle": {"width": 2, "opacity": 0.7}}
    return {
        "parallelAxis": [_axis(name, column, place) for place, (name, column) in enumerate(columns.items())],
        "parallel": {"left": 60, "right": 230, "top": 50, "bottom": 40},
        "visualMap": _scale(values) | {"dimension": len(columns) - 1},
        "series": [series],
    }


def _heat(
    runs: Sequence[StoredRun],
    axes: dict[str, list[Any]],
    settings: Sequence[str],
    metric: str,
    values: Sequence[Any],
    q: str,
) -> None:
    """Means over all that is not on its axes."""
    heading("Two settings against each other", 2)
    x, y = settings[0], settings[1]
    with ui.row():
        across = ui.select(list(settings), value=x, label="Across").props("dense")
        up = ui.select(list(settings), value=y, label="Up").props("dense")
    box = ui.column().style("width: 100%")

    def draw() -> None:
        box.clear()
        a, b = str(across.value), str(up.value)
        cells: dict[tuple[str, str], list[float]] = {}
        for i in range(len(runs)):
            cells.setdefault((str(_word(axes[a][i])), str(_word(axes[b][i]))), []).append(float(values[i]))
        xs, ys = (sorted({key[k] for key in cells}, key=_size) for k in (0, 1))
        data = [[xs.index(i), ys.index(j), sum(v) / len(v)] for (i, j), v in cells.items()]
        style = {"type": "category", "axisLabel": {"color": GREY}, "nameTextStyle": {"color": GREY}}
        label = {"show": len(data) <= 100, ":formatter": "p => Number(p.value[2]).toPrecision(5)"}
        option = {
            "grid": {"left": 110, "right": 190, "top": 30, "bottom": 60},
            "tooltip": {"position": "top"},
            "xAxis": style | {"data": xs, "name": a, "nameLocation": "middle", "nameGap": 32},
            "yAxis": style | {"data": ys, "name": b},
            "visualMap": _scale([cell[2] for cell in data]),
            "series": [{"type": "heatmap", "name": metric, "data": data, "animation": False, "label": label}],
        }
        with box:
            chart = ui.echart(option).classes("sh-chart")

            def lead(event: Any) -> None:
                i, j, _ = event.data
                words = f"{q} {a}={xs[int(i)]} {b}={ys[int(j)]}".strip()
                ui.navigate.to(f"/results?q={quote(words)}")

            chart.on_point_click(lead)

    across.on_value_change(draw)
    up.on_value_change(draw)
    draw()
