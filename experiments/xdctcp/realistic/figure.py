"""Measured flow sizes, Poisson arrivals: completion times by size under DCTCP and xDCTCP."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_below
from shallows.tables import metrics

from ..common import AXIS, DCTCP, OPTIMUM, change, changes_table

MINING = {"traffic.flows.sizes": {"kind": "empirical", "name": "data_mining"}}
SPECS = {"web-search": "spec.toml", "data-mining": ("spec.toml", MINING)}
EDGES = (0, 100_000, 1_000_000)
BINS = {100_000: "≤ 100 KB", 1_000_000: "100 KB to 1 MB", None: "> 1 MB"}
WAYS = ("size", "sent")
MISSING = Measured(None, note="in some seed no flow of that size ended")


def by_size(tables):
    """Completion times of messages by size: mean and 99th percentile in us, counts; and the queue."""
    out = {}
    for row in metrics.by_size(tables["messages"], EDGES).to_dicts():
        name = BINS[row["high_bytes"]]
        out[f"{name}, mean"] = row["fct_mean_ps"] and row["fct_mean_ps"] / 1e6
        out[f"{name}, 99th percentile"] = row["fct_p99_ps"] and row["fct_p99_ps"] / 1e6
        out[f"{name}, slowdown"] = row["slowdown_mean"]
        out[f"{name}, ended"] = row["messages"]
        out[f"{name}, unfinished"] = row["messages_unfinished"]
    queue = metrics.bottleneck_metrics(tables["queues"])
    return out | {
        "wait of packets": metrics.delays(tables, ["flows"])["wait_us"],
        "queue, mean": queue["bottleneck_mean_packets"],
        "queue, standard deviation": queue["bottleneck_sd_packets"],
    }


SHOWN = [f"{name}, {what}" for name in BINS.values() for what in ("mean", "99th percentile")]
SHOWN += ["wait of packets", "queue, standard deviation"]


def _change(runs, spec, way, column):
    frame = runs.frame(by_size).filter(pl.col("spec") == spec)
    frame = frame.filter((pl.col("g") == DCTCP["g"]) | (pl.col("class_by") == way))
    try:
        return change(frame, column, OPTIMUM, DCTCP)
    except (ValueError, TypeError):  # a seed in which no flow of that size ended
        return None


def _series(runs, spec):
    return {f"class by {way}": {c: _change(runs, spec, way, c) for c in SHOWN} for way in WAYS}


def measure(runs):
    found = {}
    for spec in SPECS:
        for way in WAYS:
            small, large = (_change(runs, spec, way, f"{name}, mean") for name in ("≤ 100 KB", "> 1 MB"))
            found[f"{spec}-{way}-small"] = MISSING if small is None else is_below(small, unit="%")
            found[f"{spec}-{way}-large"] = large or MISSING
    return found


def draw(runs, reference):
    from shallows.figures import fct, forest

    figures = {spec: forest.draw(forest.info(_series(runs, spec), AXIS)) for spec in SPECS}
    for spec in SPECS:
        named = {
            "DCTCP": runs.first(spec, **DCTCP).tables,
            "xDCTCP, class by size": runs.first(spec, **OPTIMUM, class_by="size").tables,
        }
        figures[f"{spec}, first seed"] = fct.draw(fct.info(named))
    return figures


def tables(runs):
    means = runs.frame(by_size).group_by("spec", "g", "ns", "nl", "class_by", maintain_order=True)
    return {
        f"{spec}: optimum against DCTCP, mean [95 % interval]": changes_table(_series(runs, spec))
        for spec in SPECS
    } | {"Means over the seeds (times in us)": means.agg(pl.exclude("seed").mean())}


FIGURE = Figure(
    specs=SPECS,
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "web-search": "Change of the optimum against DCTCP with web-search flow sizes.",
        "data-mining": "Change of the optimum against DCTCP with data-mining flow sizes.",
    },
)
