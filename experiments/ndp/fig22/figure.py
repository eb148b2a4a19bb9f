"""Figure 22: a permutation of 128 hosts with a slow link in the core: NDP by its window, and DCTCP."""

import numpy as np
import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS, DCTCP, NDP, goodputs, ranked, tcp

SMALL, LARGE = f"{NDP}, window 15", f"{NDP}, window 46"
SLOW = 9.0
"""Flows with less Gb/s suffer: the authors' flows have at most half of the link, or more than this."""
POINTS = [
    {"title": SMALL, "transport.initial_window": "15pkt"},
    {"title": LARGE, "transport.initial_window": "46pkt"},
]
AUTHORS = {
    "ndp_perm": NDP,
    "dctcp": DCTCP,
    "ndp_penalty": "NDP with path penalties (not run)",
    "mptcp": "MPTCP (not run)",
}


def seen(tables):
    """Goodputs in Gb/s, and how many flows suffer."""
    rates = goodputs(tables)
    return {
        "mean": float(rates.mean()),
        "least": float(rates[0]),
        "slow": int((rates < SLOW).sum()),
        "others": float(rates[rates >= SLOW].mean()) if rates[-1] >= SLOW else np.nan,
    }


def frame_of(runs):
    """The runs, those of DCTCP with its title."""
    title = pl.when(pl.col("spec") == "dctcp").then(pl.lit(DCTCP)).otherwise(pl.col("title"))
    return runs.frame(seen).with_columns(title=title)


def measure(runs):
    rows = Rows(frame_of(runs))
    found = {
        "slow-flows": rows.estimate("slow", title=NDP),
        "ndp-mean": rows.estimate("mean", title=NDP),
        "ndp-min": rows.estimate("least", title=NDP),
    }
    if not len(runs.where("dctcp")):
        return found  # a reading of NDP
    means = {title: rows.samples("mean", title=title) for title in (NDP, SMALL, DCTCP)}
    least = {title: rows.samples("least", title=title) for title in (NDP, LARGE)}
    few = min(len(means[NDP]), len(means[DCTCP]))
    return found | {
        "window-15": is_above(paired_difference(means[NDP], means[SMALL]), unit="Gb/s more"),
        "window-46": is_above(paired_difference(least[LARGE], least[NDP]), unit="Gb/s more"),
        "dctcp-mean": rows.estimate("mean", title=DCTCP),
        "dctcp-below": is_above(paired_difference(means[NDP][:few], means[DCTCP][:few]), unit="Gb/s less"),
    }


def draw(runs, reference):
    from shallows.figures import relation

    authors = {
        name: [
            (rank, gbps) for rank, gbps in reference.filter(scheme=scheme).select("rank", "gbps").iter_rows()
        ]
        for scheme, name in AUTHORS.items()
    }
    labels = ("flow, by goodput", "goodput (Gb/s)")
    mine = {NDP: ranked(runs.where("ndp")), DCTCP: ranked(runs.where("dctcp"))}  # as in the other panel
    mine |= {title: ranked(runs.where("windows", title=title)) for title in (SMALL, LARGE)}
    panels = {
        "this simulator": relation.panel(mine, labels),
        "the authors' runs": relation.panel(authors, labels),
    }
    return {"goodput by rank": relation.draw(panels, "-", sharey=True)}


def tables(runs):
    return {"Goodputs in Gb/s": Rows(frame_of(runs)).table(["mean", "least", "slow", "others"], ["title"])}


FIGURE = Figure(
    specs={
        "ndp": ("ndp.toml", {"sweep.points": [{"title": NDP}]}),
        "windows": ("ndp.toml", {"sweep.points": POINTS}),
        "dctcp": ("ndp.toml", tcp("15pkt") | {"duration": "200ms", "warmup": "190ms", "seeds": 6}),
    },
    settings={
        "windows": ["23pkt", "15pkt", "46pkt"],
        "timeout": "50ms",
        "measured": ["15ms", "30ms", "10ms"],
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"goodput by rank": ("*",)},
    captions={
        "goodput by rank": "Figure 22: goodputs of 128 flows, the slowest first. On the right the authors' "
        "runs; path penalties and MPTCP are not built here."
    },
)
