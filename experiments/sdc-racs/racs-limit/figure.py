"""How far RACS' two parameters bring it at 2000 responses a second, and what holds it there."""

import polars as pl
from shallows.figures import curves
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.variants import read_variants

from ..common import HEADS, bottleneck, difference, responses

THESIS_SHARE = 98.77
"""Use of the link in per cent that table 4.2 prints for RACS beside two long flows."""


BESIDE = {
    "default": "RACS, w_max 9 and 1 / a = 100KB",
    "near": "the same at a round trip of 60 us",
    "sparse": "RACS, 200 responses a second",
    "pfabric": "pFabric-like",
}


def seen(tables):
    """The receiver's port and the responses."""
    return bottleneck(tables) | responses(tables)


def _cells(frame):
    """Each cell of the grid: (w_max, 1 / a), from the least."""
    grid = frame.filter(pl.col("spec") == "grid")
    return list(grid.select("w_max", "size_scale").unique(maintain_order=True).iter_rows())


def _cell(frame, column, cell):
    w_max, scale = cell
    return Rows(frame).estimate(column, spec="grid", w_max=w_max, size_scale=scale)


def measure(runs):
    frame = runs.frame(seen)
    cells = _cells(frame)
    seeds = len(runs.seeds)
    used = {cell: _cell(frame, "utilisation", cell) for cell in cells}
    times = {cell: _cell(frame, "afct", cell) for cell in cells}
    most = max(cells, key=lambda cell: used[cell].value)
    best = min(cells, key=lambda cell: times[cell].value)
    pfabric = Rows(frame).estimate("afct", spec="pfabric")
    gained = difference(frame, "utilisation", "near", "default")
    sooner = difference(frame, "afct", "near", "default")
    return {
        "never-full": every(
            (is_below(each, THESIS_SHARE, "%") for each in used.values()),
            f"at most {used[most]} % with w_max {most[0]:g} and 1 / a {most[1]}",
        )._replace(n_seeds=seeds),
        "never-as-pfabric": every(
            (is_above(each, pfabric.value, "ms") for each in times.values()),
            f"at best {times[best]} ms with w_max {best[0]:g} and 1 / a {best[1]}; pFabric-like {pfabric} ms",
        )._replace(n_seeds=seeds),
        "near-uses-more": is_above(gained, 0, "points"),
        "near-is-sooner": is_below(sooner, 0, "ms"),
    }


def _series(frame, column):
    cells = _cells(frame)
    return {
        f"1 / a = {scale}": {w: _cell(frame, column, (w, scale)) for w, other in cells if other == scale}
        for scale in dict.fromkeys(scale for _, scale in cells)
    }


def draw(runs, reference):
    frame = runs.frame(seen)
    best = Rows(frame).estimate("afct", spec="pfabric").value
    panels = {
        "completion": curves.Panel(
            _series(frame, "afct"), "mean completion time (ms)", lines={"pFabric-like": best}
        ),
        "use": curves.Panel(
            _series(frame, "utilisation"), "share of the link (%)", lines={"table 4.2": THESIS_SHARE}
        ),
    }
    return {"limit": curves.draw(curves.info(panels, "w_max, in units of w_min", log_x=True))}


COLUMNS = ("afct", "p99", "utilisation", "queue", "loss")


def tables(runs):
    frame = runs.frame(seen)
    rows = [
        {"w_max": f"{w_max:g}", "1 / a": scale}
        | {HEADS[each]: str(_cell(frame, each, (w_max, scale))) for each in COLUMNS}
        for w_max, scale in _cells(frame)
    ]
    beside = [
        {"experiment": words} | {HEADS[each]: str(Rows(frame).estimate(each, spec=spec)) for each in COLUMNS}
        for spec, words in BESIDE.items()
    ]
    return {
        "RACS at 2000 responses a second": pl.DataFrame(rows),
        "Beside them": pl.DataFrame(beside),
    }


FIGURE = Figure(
    specs=read_variants(__file__),
    measure=measure,
    draw=draw,
    tables=tables,
    beyond=True,
    shows={"limit": ("never-*",), "Beside them": ("near-*",)},
    captions={
        "limit": "Mean completion time of a response and use of the link by RACS at 2000 responses a second, "
        "against w_max, by 1 / a. Means over the seeds with their 95 % intervals."
    },
)
