"""Whether a fifth of the latency makes the dynamics five times better: joining, short messages, delay."""

import numpy as np
import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, is_below
from shallows.tables import metrics
from shallows.tables.goodput import delivered
from shallows.tables.metrics import wait_quantile_ms

from ..common import BACKENDS

KINDS = {"cubic": "cubic", "dctcp": {"kind": "dctcp", "whole_segments": True}}
SPECS = {name: ("spec.toml", {"transport.cc": cc}) for name, cc in KINDS.items()}
FAIR_MBPS = 40 / 3 * 1448 / 1500
ASSUMED_MS = 32.0  # the classic queue in the slides' 1/5 = 8 / (8 + 32)
WINDOW = 10  # samples of 100 ms: goodput over a second


def seconds_to_fair(tables, share=0.8):
    """Time from the joiner's start until its goodput over a second first reaches this share of a third."""
    ((time_s, total),) = delivered(tables, "joiner", 0.1)
    start_s = tables["flows"].filter(pl.col("class") == "joiner")["start_ps"][0] / 1e12
    mbps = (total[WINDOW:] - total[:-WINDOW]) * 8e-6 / (WINDOW * 0.1)
    reached = np.flatnonzero(mbps >= share * FAIR_MBPS)
    return time_s[WINDOW:][reached[0]] - start_s if len(reached) else None


def dynamics(tables):
    """Joining time, completion of messages, queueing delay, round trip."""
    messages = metrics.message_metrics(tables["messages"].filter(pl.col("class") == "message"))
    long = tables["flows"].filter(pl.col("class") == "long")
    return {
        "join_s": seconds_to_fair(tables),
        "message_ms": messages["fct_mean_ps"] / 1e9,
        "message_p99_ms": messages["fct_p99_ps"] / 1e9,
        "wait_ms": long["wait_mean_ps"].mean() / 1e9,
        "wait_p99_ms": wait_quantile_ms(tables, "long", 0.99),
        "srtt_ms": long["srtt_mean_ps"].mean() / 1e9,
    }


NAMES = {
    "srtt_ms": "smoothed round trip",
    "wait_ms": "mean wait in the queue",
    "wait_p99_ms": "wait, 99th percentile",
    "join_s": "time to 80 % of a fair share",
    "message_ms": "completion of 30 KB, mean",
    "message_p99_ms": "completion of 30 KB, 99th percentile",
}


def _by_seed(runs, spec, column):
    """A column of one kind of sender by seeds."""
    return runs.frame(dynamics).filter(pl.col("spec") == spec).sort("seed")[column]


def times(runs, column):
    """How many times as large a column is for Cubic as for DCTCP, by seeds."""
    a, b = _by_seed(runs, "cubic", column), _by_seed(runs, "dctcp", column)
    if a.null_count() or b.null_count():
        return None
    return mean_ci(a.to_numpy() / b.to_numpy())


def measure(runs):
    found = {column: times(runs, column) for column in NAMES}
    joining, missing = found["join_s"], Measured(None, note="in some seed the joiner never got there")
    return {
        "latency": found["srtt_ms"],
        "classic-shorter": is_below(mean_ci(_by_seed(runs, "cubic", "wait_ms").to_list()), ASSUMED_MS),
        "five-times-joining": is_above(joining, 5.0, "times") if joining else missing,
        "better-joining": is_above(joining, 1.0, "times") if joining else missing,
        "five-times-messages": is_above(found["message_ms"], 5.0, "times"),
        "better-messages": is_above(found["message_ms"], 1.0, "times"),
        "five-times-wait": is_above(found["wait_p99_ms"], 5.0, "times"),
    }


def draw(runs, reference):
    from shallows.figures import forest, relation

    series = {}
    for name, label in (("cubic", "Cubic"), ("dctcp", "DCTCP")):
        tables = runs.first(name).tables
        for kind in ("long", "joiner"):
            for k, (t, b) in enumerate(delivered(tables, kind, 0.5)):
                mbps = np.diff(b) * 8e-6 / np.diff(t)
                shown = t[1:] >= 45
                series.setdefault(label, {})[f"{kind} {k + 1}" if kind == "long" else kind] = list(
                    zip(t[1:][shown], mbps[shown], strict=True)
                )
    panels = {
        label: relation.panel(lines, ("time (s)", "goodput (Mb/s)"), levels={"fair share": FAIR_MBPS})
        for label, lines in series.items()
    }
    rows = {label: times(runs, column) for column, label in NAMES.items()}
    return {
        "a third flow joins": relation.draw(panels, line="-", sharey=True),
        "Cubic over DCTCP": forest.draw(forest.info({"": rows}, "Cubic / DCTCP (times)", 5.0), log=True),
    }


def tables(runs):
    rows = []
    for column, label in NAMES.items():
        row = {"quantity": label}
        for name in SPECS:
            values = _by_seed(runs, name, column).drop_nulls()
            row[name] = str(mean_ci(values)) if len(values) else "-"
        rows.append(row | {"times": str(times(runs, column) or "-")})
    return {"Means over the seeds [95 % interval]": pl.DataFrame(rows)}


FIGURE = Figure(
    specs=SPECS,
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"Cubic over DCTCP": ("*",)},
    captions={
        "a third flow joins": "Goodput of each flow before and after a third one joins.",
        "Cubic over DCTCP": "How many times as long Cubic takes; the slides' factor is dashed.",
    },
)
