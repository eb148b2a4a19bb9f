"""Figure 4: throughput of long flows over ns and nl at g = 0.095, published beside ours."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured

from ..common import published
from ..fig3.figure import REFERENCE, SPECS
from ..fig3.figure import draw as draw_surface


def measure(runs):
    at = runs.frame(published)
    kept = at.filter(pl.col("ns") >= 0.4, pl.col("nl") != 0.7)["long_mbit"]
    low = at.filter(pl.col("ns") == 0.1)["long_mbit"].mean()
    rest = at.filter(pl.col("ns") > 0.1)["long_mbit"].mean()
    odd = at.filter(pl.col("nl") == 0.7, pl.col("ns") >= 0.3)["long_mbit"]
    return {
        "kept": 100 * (kept.min() / kept.max() - 1),
        "lost-at-small-ns": Measured(low < rest, note=f"{low:.1f} against {rest:.1f} Mbit"),
        "lost-at-nl-07": 100 * (odd.max() / kept.max() - 1),
    }


def draw(runs, reference):
    label = "arrivals per long flow until 0.99 s (Mbit)"
    return draw_surface(runs, reference, "long_mbit", "long_throughput_mbps", label, 0)


FIGURE = Figure(
    specs=SPECS,
    reference=REFERENCE,
    measure=measure,
    draw=draw,
    shows={"surface": ("*",)},
    captions={
        "surface": "Figure 4 of the document: arrivals of a long flow over ns and nl at the optimum's g, "
        "published and ours."
    },
)
