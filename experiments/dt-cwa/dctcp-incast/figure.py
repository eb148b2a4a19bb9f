"""The DCTCP paper's basic incast: from how many servers on do queries suffer timeouts, and why."""

import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.variants import read_variants
from shallows.tables import metrics

from ..common import table_of

BUFFER = 100
RATIOS = [0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8, 2.0]  # of the first windows together to the buffer
WINDOWS = [2, 4, 10]
WORKERS = "traffic.query.workers"
SPECS = {
    "windows": (
        "spec.toml",
        {
            "traffic.query.connection": "fresh",
            "traffic.query.rounds": 5,
            "sweep.points": [
                {"transport.initial_window": f"{window}pkt", WORKERS: round(ratio * BUFFER / window)}
                for window in WINDOWS
                for ratio in RATIOS
            ],
        },
    )
}
"""Beside variants.toml: numbers of workers that follow from the window and the buffer."""
OFTEN = 0.02  # of the queries; fewer are taken for none, as a figure's eye would


def queries(tables):
    """Share of the queries that suffered a timeout, completion in ms, timeouts by kind."""
    rounds = tables["rounds"]
    found = metrics.round_metrics(tables, "query")
    return {
        "share": float((rounds["timeouts"] > 0).mean()),
        "ms": found["round_fct_mean_ps"] / 1e9,
        "head": found["round_timeouts_head_mean"],
        "tail": found["round_timeouts_tail_mean"],
        "queue_max": int(tables["queues"].filter(pl.col("port") == "switch->r0")["max_packets"][0]),
    }


def onset(frame):
    """Least number of workers, seed by seed, at which more than `OFTEN` of the queries suffer timeouts.

    None where that was not reached under some seed.
    """
    hit = frame.filter(pl.col("share") > OFTEN).group_by("seed").agg(pl.col("workers").min())
    seeds = frame.select("seed").unique().join(hit, on="seed", how="left").sort("seed")
    return None if seeds["workers"].null_count() else seeds["workers"].to_numpy()


def measure(runs):
    rows = Rows(runs.frame(queries))
    persistent = rows.at(spec="persistent").frame
    found = {
        f"onset-{key}": _onset(Rows(persistent).at(title=title).frame)
        for key, title in (("dctcp", "DCTCP"), ("dctcp-2", "DCTCP, least window 2"), ("newreno", "NewReno"))
    }
    few = [n for n in persistent["workers"].unique() if n <= 30]
    none = max(Rows(persistent).samples("share", title="DCTCP", workers=n).mean() for n in few)
    found["dctcp-none-to-30"] = Measured(bool(none == 0), note=f"largest share {none:.3f}")
    first, other = (onset(Rows(persistent).at(title=title).frame) for title in ("DCTCP", "NewReno"))
    if first is not None and other is not None:
        found["dctcp-after-newreno"] = is_above(mean_ci(first - other), unit="workers later")
    if not runs.where("shared"):
        return found
    shared = rows.at(spec="shared", title="DCTCP").frame.filter(pl.col("workers") <= 40)
    most = shared["share"].max()
    found["shared-none-to-40"] = Measured(bool(most == 0), note=f"largest share {most:.3f}")
    windows = rows.at(spec="windows").frame
    for window in sorted(windows["initial_window"].unique(), key=_packets):
        found[f"law-{window}"] = _law(windows, window)
    return found


def _estimate(samples):
    if samples is None:
        return Measured(None, note="none at the numbers of workers that were run")
    value, low, high, n = mean_ci(samples)
    return Measured(value, low, high, n)


def _onset(frame):
    """The onset with an interval that begins at the number of workers before: between the two it lies."""
    first = onset(frame)
    found = _estimate(first)
    if found.low is None:
        return found
    steps = sorted(frame["workers"].unique())
    before = [max((n for n in steps if n < at), default=at) for at in first]
    return found._replace(low=min(found.low, mean_ci(before).low))


def _packets(window):
    return int(window.removesuffix("pkt"))


def _law(windows, window):
    """Onset times initial window, over the buffer."""
    packets = _packets(window) / BUFFER
    at = _onset(Rows(windows).at(initial_window=window).frame)
    ends = (None if end is None else end * packets for end in at[:3])
    return at._replace(**dict(zip(("value", "low", "high"), ends, strict=True)))


def draw(runs, reference):
    from shallows.figures import curves

    rows = Rows(runs.frame(queries))
    persistent = rows.at(spec="persistent")
    panels = {
        "queries with timeouts, 100 packets a port": curves.Panel(
            persistent.curve("share", "workers"), "share"
        ),
        "completion, 100 packets a port": curves.Panel(
            persistent.curve("ms", "workers"), "query completion (ms)"
        ),
        "queries with timeouts, 4 MB shared": curves.Panel(
            rows.curve("share", "workers", spec="shared"), "share"
        ),
        "completion, 4 MB shared": curves.Panel(
            rows.curve("ms", "workers", spec="shared"), "query completion (ms)"
        ),
    }
    windows = Rows(
        rows.at(spec="windows").frame.with_columns(
            burst=pl.col("initial_window").str.strip_suffix("pkt").cast(pl.Int64) * pl.col("workers") / BUFFER
        )
    )
    scaled = {
        "new connections": curves.Panel(
            windows.curve("share", "burst", "initial_window"), "share of the queries with timeouts"
        )
    }
    return {
        "timeouts and completion by number of workers": curves.draw(curves.info(panels, "workers")),
        "timeouts by initial window x workers / buffer":
            curves.draw(curves.info(scaled, "initial window x workers / buffer of 100 packets")),
    }  # fmt: skip


def tables(runs):
    rows = Rows(runs.frame(queries))
    names = ["share", "ms", "head", "tail", "queue_max"]
    return {
        "Means over the seeds, 100 packets a port": table_of(
            rows.at(spec="persistent").frame, names, ["workers", "title"]
        ),
        "Means over the seeds, 4 MB shared by the ports": table_of(
            rows.at(spec="shared").frame, names, ["workers", "title"]
        ),
    }


FIGURE = Figure(
    specs=read_variants(__file__) | SPECS,
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "timeouts and completion by number of workers": "The DCTCP paper's figure 18: share of the queries "
        "that suffer a timeout, and their completion time, by the number of workers.",
        "timeouts by initial window x workers / buffer": "The law behind it: first windows of all workers "
        "over the buffer, for new connections.",
    },
)
