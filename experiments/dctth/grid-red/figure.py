"""The slides' two grids behind one RED queue: rates over time and queue PDFs of 121 cells."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.studies.paper.logic import all_of

from ..common import (
    BACKENDS,
    BATCHES,
    COLUMNS,
    FAIR,
    FLOYD_RED,
    TC_RED,
    all_within,
    cells,
    draw_ratios,
    draw_surface,
    mixed,
    queue_cells,
    rate_cells,
)

QUEUES = {"floyd": FLOYD_RED, "tc-red": TC_RED}
TITLES = {"floyd": "RED, 5 to 15 packets", "tc-red": "tc-red, 30 to 90 KB"}


def measure(runs):
    frame = cells(runs, runs.reading["red"])
    both = mixed(frame)
    ratios = f"ratios {both['ratio'].min():.3f} to {both['ratio'].max():.3f}; {all_within(both).note}"
    return {
        "unfair": Measured(all_of(_apart(row) for row in both.to_dicts()), n_seeds=BATCHES, note=ratios),
        "queue": _large(frame),
        "cubic-less": Measured(all_of(_less(row) for row in both.to_dicts()), n_seeds=BATCHES, note=ratios),
    }


def _apart(row):
    """Whether a cell's rates differ by more than a factor of two: its whole interval says so, or neither."""
    low, high = row["ratio_low"], row["ratio_high"]
    return True if high < FAIR[0] or low > FAIR[1] else False if low >= FAIR[0] and high <= FAIR[1] else None


def _less(row):
    """Whether Cubic gets less in a cell, likewise."""
    return True if row["ratio_high"] < 1 else False if row["ratio_low"] >= 1 else None


def _large(frame):
    """Whether RED's queue with Cubic alone is longer than a BDP in the mean, for all numbers of flows."""
    alone = frame.filter((pl.col("dctcp") == 0) & (pl.col("cubic") > 0)).sort("cubic")
    queues = ", ".join(f"{q:.0f}" for q in alone["queue_mean_packets"])
    return Measured(
        (alone["queue_mean_packets"] > 27).all(),
        n_seeds=BATCHES,
        note=f"mean packets with {alone['cubic'][0]} to {alone['cubic'][-1]} Cubic flows alone: {queues}",
    )


def draw(runs, reference):
    figures = {}
    for name, title in TITLES.items():
        figures[f"{title}: throughput of each flow over time"] = rate_cells(runs, name, per="dctcp")
        figures[f"{title}: queue size at dequeue"] = queue_cells(runs, name)
        figures[f"{title}: throughput ratio Cubic to DCTCP"] = draw_ratios(cells(runs, name))
        figures[f"{title}: ratio in each cell"] = draw_surface(cells(runs, name))
    return figures


def tables(runs):
    return {
        f"{TITLES[name]}: cells with both kinds": mixed(cells(runs, name)).select(
            "cubic", "dctcp", "queue_mean_packets", *COLUMNS
        )
        for name in QUEUES
    }


FIGURE = Figure(
    specs={name: ("../grid-dualq/spec.toml", {"queue": queue}) for name, queue in QUEUES.items()},
    samples="batches",
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={f"{title}: cells with both kinds": ("*",) for title in TITLES.values()},
)
