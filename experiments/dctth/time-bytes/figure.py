"""DualQ with the queues measured in time, and in bytes."""

import numpy as np
from shallows.statistics.estimates import jackknife, mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above

from ..common import BACKENDS, COLUMNS, CUBIC, DCTCP, above_floor, all_within, cells, mixed, ratio_points

FLOWS = [1, 2, 3, 5, 8, 10]
GRID = {"sweep": {"grid": {CUBIC: FLOWS, DCTCP: FLOWS}}}
SPECS = {
    "time": ("../grid-dualq/spec.toml", GRID | {"queue.measure": "time"}),
    "bytes": ("../grid-dualq/spec.toml", GRID | {"queue.measure": "bytes"}),
}
TITLES = {"time": "queue in time", "bytes": "queue in bytes"}


def _distance(ratios):
    """Mean distance from 1 in octaves."""
    return float(np.abs(np.log2(ratios)).mean())


def _spread(ratios):
    """Standard deviation over the cells in octaves."""
    return float(np.log2(ratios).std(ddof=1))


def measure(runs):
    frames = {name: above_floor(mixed(cells(runs, name))) for name in SPECS}
    off = {name: np.abs(np.log2(frame["ratio"].to_numpy())) for name, frame in frames.items()}
    spread = {name: _spread(frame["ratio"].to_numpy()) for name, frame in frames.items()}
    batches = {name: np.array(frame["ratio_batches"].to_list()) for name, frame in frames.items()}
    gain, calmer = (
        mean_ci(jackknife(batches["bytes"], what) - jackknife(batches["time"], what))
        for what in (_distance, _spread)
    )
    note = "mean distance from 1 in octaves: " + ", ".join(
        f"{n} {v.mean():.2f}, spread {spread[n]:.2f}, worst {v.max():.2f}" for n, v in off.items()
    )
    return {
        "time-is-fairer": is_above(gain)._replace(note=f"{note}; difference {gain}"),
        "time-spreads-less": is_above(calmer)._replace(note=f"{note}; difference {calmer}"),
        "time-within-two": all_within(frames["time"]),
        "bytes-within-two": all_within(frames["bytes"]),
    }


def draw(runs, reference):
    from shallows.figures import relation, surface

    frames = {name: mixed(cells(runs, name)) for name in SPECS}
    labels = ("fair window (packets per 8 ms)", "Cubic / DCTCP, per flow")
    lines = {"2": 2, "equal": 1, "1/2": 0.5}
    panels = {
        TITLES[n]: relation.panel(ratio_points(f), labels, levels=lines, places={"floor": 2}, log="xy")
        for n, f in frames.items()
    }
    tables = {TITLES[n]: f for n, f in frames.items()}
    named = ("Cubic flows", "DCTCP flows", "Cubic / DCTCP, per flow")
    return {
        "ratio in all cells": relation.draw(panels, line="o", sharey=True),
        "ratio in each cell": surface.draw(surface.info(tables, "cubic", "dctcp", "ratio", named), digits=2),
    }


def tables(runs):
    return {TITLES[n]: mixed(cells(runs, n)).select("cubic", "dctcp", *COLUMNS) for n in SPECS}


FIGURE = Figure(
    specs=SPECS,
    samples="batches",
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"ratio in each cell": ("*",)},
    captions={
        "ratio in all cells": "Cubic's goodput over DCTCP's against the fair window, queues in time and in "
        "bytes.",
        "ratio in each cell": "Ratio of Cubic's goodput to DCTCP's, by cell.",
    },
)
