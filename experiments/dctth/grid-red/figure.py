"""The slides' two grids behind one RED queue: rates over time and queue PDFs of 121 cells."""

import polars as pl
from shallows.studies.paper.claims import Measured

from ..common import (
    BATCHES,
    COLUMNS,
    FLOYD_RED,
    TC_RED,
    all_within,
    cells,
    draw_ratios,
    draw_surface,
    mixed,
    queue_cells,
    rate_cells,
    share_within,
)

QUEUES = {"floyd": FLOYD_RED, "tc-red": TC_RED}
TITLES = {"floyd": "RED, 5 to 15 packets", "tc-red": "tc-red, 30 to 90 KB"}
SPECS = {name: ("../grid-dualq/spec.toml", {"queue": queue}) for name, queue in QUEUES.items()}


def measure(runs):
    found = {}
    for name in QUEUES:
        frame = cells(runs, name)
        both = mixed(frame)
        fair = 100 - share_within(both)
        found[f"{name}-unfair"] = Measured(
            fair == 100,
            n_seeds=BATCHES,
            note=f"outside 0.5 to 2 in {fair:.0f} % of {len(both)} cells; {all_within(both).note}",
        )
        found[f"{name}-queue"] = _large(frame)
        found[f"{name}-cubic-less"] = Measured(
            (both["ratio_high"] < 1).all(),
            n_seeds=BATCHES,
            note=f"ratios {both['ratio'].min():.3f} to {both['ratio'].max():.3f}",
        )
    return found


def _large(frame):
    """Whether RED's queue with Cubic alone is longer than a BDP in the mean, whatever the flows."""
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
