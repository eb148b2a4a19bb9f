"""Figures 14 to 16: completion times of small flows under DCQCN, TIMELY and patched TIMELY."""

import polars as pl
from shallows.statistics.estimates import paired_change, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_below, is_within
from shallows.studies.paper.kit import Rows, percent

from ..common import BACKENDS

LOADS = {0.4: 0.032, 0.6: 0.048, 0.8: 0.064}
"""By load factor, payload over the receivers' links together; 1 is 8 Gb/s on the bottleneck."""
SMALL = 100_000
PORT = "left->right"
ALIKE = 2.0
"""Margin in which the use of the link counts as the same, in per cent of the link."""

_TCP = {"opening": "established", "clock_grain": "0s", "mss": "960B"}
_RATE = {"initial_rate": "10Gbps", "max_cut": 1.0, "hai": 1}
_TIMELY = {
    "queue": {"kind": "drop-tail", "limit": "none"},
    "transport": _TCP | {"cc": {"kind": "timely"} | _RATE},
}
_PATCHED = _TIMELY | {"transport": _TCP | {"cc": {"kind": "timely", "law": "patched"} | _RATE}}
_SWEEP = {"sweep.grid": {"traffic.flows.load": list(LOADS.values())}}
NAMES = {"flows-dcqcn": "DCQCN", "flows-patched": "patched TIMELY", "flows-timely": "TIMELY"}
SHORT = ("dcqcn", "patched", "timely")


def seen(tables):
    """Completion times of small flows in ms, and the bottleneck."""
    small = tables["flows"].filter((pl.col("bytes") < SMALL) & pl.col("fct_ps").is_not_null())["fct_ps"] / 1e9
    row = tables["queues"].filter(pl.col("port") == PORT).row(0, named=True)
    return {
        "median": small.median(),
        "p90": small.quantile(0.9),
        "small": len(small),
        "queue": row["mean_bytes"] / 1e3,
        "queue_p99": row["p99_packets"],
        "used": 100 * row["utilisation"],
    }


def frame_of(runs):
    """The runs with the load factor of the document."""
    factors = {load: factor for factor, load in LOADS.items()}
    named = pl.col("spec").replace_strict(NAMES, return_dtype=pl.String)
    return runs.frame(seen).with_columns(
        factor=pl.col("load").replace_strict(factors, return_dtype=pl.Float64), scheme=named
    )


def measure(runs):
    rows = Rows(frame_of(runs))
    found = {}
    for column in ("median", "p90"):
        times = {name: rows.samples(column, spec=f"flows-{name}", factor=0.8) for name in SHORT}
        for one, other in (("dcqcn", "patched"), ("patched", "timely")):
            change = percent(paired_change(times[one], times[other]))
            found[f"{column}-{one}-{other}"] = is_below(change, 0.0, "% of its time")
    used = {name: rows.samples("used", spec=f"flows-{name}", factor=0.8) for name in SHORT}
    found["same-use"] = every(
        is_within(paired_difference(used[spec], used["dcqcn"]), ALIKE, unit="% of the link")
        for spec in ("patched", "timely")
    )
    return found


def draw(runs, reference):
    from shallows.figures import curves

    rows = Rows(frame_of(runs))
    words = {"median": "median (ms)", "p90": "90th percentile (ms)", "queue": "mean queue (KB)"}
    panels = {
        words[column].partition(" (")[0]: curves.Panel(
            rows.curve(column, "factor", "scheme"), words[column], log=True
        )
        for column in words
    }
    return {"small flows by load": curves.draw(curves.info(panels, "load factor"), columns=3)}


def tables(runs):
    columns = ["median", "p90", "queue", "queue_p99", "used", "small"]
    return {"Times in ms, queue in KB, use in %": Rows(frame_of(runs)).table(columns, ["scheme", "factor"])}


FIGURE = Figure(
    specs={
        "flows-dcqcn": ("spec.toml", _SWEEP),
        "flows-timely": ("spec.toml", _TIMELY | _SWEEP),
        "flows-patched": ("spec.toml", _PATCHED | _SWEEP),
    },
    settings={"loads": [*LOADS, "8Gbps"], "small": "100KB", "alike": "2 %", "link": "10Gbps"},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"small flows by load": ("*",)},
    captions={
        "small flows by load": "Completion times of flows below 100 KB: median and 90th percentile by load."
    },
)
