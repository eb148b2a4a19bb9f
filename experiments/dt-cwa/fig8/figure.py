"""Figure 8: mean short message completion time beside a number of FTP flows."""

import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_below
from shallows.studies.paper.kit import Rows
from shallows.tables import metrics

from ..common import COMPARED, everywhere_below, seen, sweep, table_of

FLOWS = [25, 35, 45, 60]
SIZES = {"20KB": "messages of 20 KB", "100KB": "messages of 100 KB"}
SMALL = "2KB"
EVERY = {SMALL: "2ms", "20KB": "20ms", "100KB": "100ms"}
"""8 Mb/s a connection, below the share of 15 Mb/s that 63 flows have of the link."""


def _spec(size):
    path, changes = sweep("ftp", FLOWS)
    short = {
        "kind": "messages", "from": ["h0", "h3", "h6"], "to": "r0", "bytes": size,
        "interval": EVERY[size], "phase": "random", "start": "20ms",
    }  # fmt: skip
    return (path, changes | {"traffic.short": short, "duration": "2s"})


QUERIES = "query-1MB"


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


def measure(runs):
    found = {}
    for size in SIZES:
        mine = runs.where(f"short-{size}").frame(messages)
        found[f"below-dctcp-{size}"] = everywhere_below(mine, "completion_ms", "workers")
    for size in EVERY:
        mine = runs.where(f"short-{size}").frame(messages)
        found[f"below-queries-{size}"] = every(_below_queries(runs, mine))
    return found


def _below_queries(runs, short):
    """By number of flows and scheme: whether messages take less time than queries without other traffic."""
    queries = runs.where(QUERIES).frame(seen)
    for flows in sorted(set(short["workers"]) & set(queries["workers"])):
        for title in COMPARED:
            which = {"title": title, "workers": flows}
            less = paired_difference(
                Rows(short).samples("completion_ms", **which), Rows(queries).samples("qct_ms", **which)
            )
            yield is_below(less, unit=f"ms for {title} at {flows}")


def draw(runs, reference):
    from shallows.figures import curves

    panels = {}
    for size, name in SIZES.items():
        rows = Rows(runs.where(f"short-{size}").frame(messages))
        panels[name] = curves.Panel(rows.curve("completion_ms", "workers"), "completion (ms)")
    return {"completion of short messages by number of flows": curves.draw(curves.info(panels, "FTP flows"))}


def tables(runs):
    names = ["completion_ms", "p99_ms", "unfinished", "timeouts"]
    keys = ["workers", "title"]
    found = {
        f"Means over the seeds, messages of {size[:-2]} KB": table_of(
            runs.where(f"short-{size}").frame(messages), names, keys
        )
        for size in EVERY
    }
    queries = table_of(runs.where(QUERIES).frame(seen), ["qct_ms", "unfinished", "timeouts_per_query"], keys)
    return found | {"Queries of 1 MB in all, alone": queries}


FIGURE = Figure(
    specs={f"short-{size}": _spec(size) for size in EVERY} | {QUERIES: sweep(QUERIES, FLOWS)},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "completion of short messages by number of flows": ("below-dctcp-*",),
        **{f"Means over the seeds, messages of {size[:-2]} KB": (f"below-queries-{size}",) for size in EVERY},
    },
    captions={
        "completion of short messages by number of flows": "Figure 8: mean completion time of short "
        "messages beside FTP flows. The text prints no value and no size; two are shown."
    },
)
