"""Figure 8: mean short message completion time beside a number of FTP flows."""

import polars as pl
from shallows.studies.paper.kit import curve, of
from shallows.tables import metrics

from ..common import everywhere_below, sweep, table_of

FLOWS = [25, 35, 45, 60]
SIZES = {"20KB": "messages of 20 KB", "100KB": "messages of 100 KB"}
EVERY = {"20KB": "20ms", "100KB": "100ms"}
"""8 Mb/s a connection, below the share of 15 Mb/s that 63 flows have of the link."""


def _spec(size):
    path, changes = sweep("ftp", FLOWS)
    short = {
        "kind": "messages", "from": ["h0", "h3", "h6"], "to": "r0", "bytes": size,
        "interval": EVERY[size], "phase": "random", "start": "20ms",
    }  # fmt: skip
    return (path, changes | {"traffic.short": short, "duration": "2s"})


SPECS = {f"short-{size}": _spec(size) for size in SIZES}


def messages(tables):
    """Completion of the short messages in ms, and their connections' timeouts."""
    short = tables["messages"].filter(pl.col("traffic") == "short")
    found = metrics.message_metrics(short)
    flows = tables["flows"].filter(pl.col("traffic") == "short")
    return {
        "completion_ms": found["fct_mean_ps"] / 1e9,
        "p99_ms": found["fct_p99_ps"] / 1e9,
        "unfinished": found["messages_unfinished"],
        "timeouts": int(flows["timeouts"].sum()),
    }


CAPTIONS = {
    "completion of short messages by number of flows": "Figure 8: mean completion time of short "
    "messages beside FTP flows. The text prints no value and no size; two are shown.",
}

SHOWS = {
    "completion of short messages by number of flows": ("below-*",),
}


def measure(runs):
    frame = runs.frame(messages)
    found = {}
    for size in SIZES:
        mine = of(frame, spec=f"short-{size}")
        found[f"below-dctcp-{size}"] = everywhere_below(mine, "completion_ms", "workers")
    return found


def draw(runs, reference):
    from shallows.figures import curves

    frame = runs.frame(messages)
    panels = {
        name: curves.Panel(curve(frame, "completion_ms", "workers", spec=f"short-{size}"), "completion (ms)")
        for size, name in SIZES.items()
    }
    return {"completion of short messages by number of flows": curves.draw(curves.info(panels, "FTP flows"))}


def tables(runs):
    frame = runs.frame(messages)
    names = ["completion_ms", "p99_ms", "unfinished", "timeouts"]
    keys = ["workers", "title"]
    return {
        f"Means over the seeds, {name}": table_of(of(frame, spec=f"short-{size}"), names, keys)
        for size, name in SIZES.items()
    }
