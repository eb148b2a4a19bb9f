"""Queue size at dequeue of one flow alone: Reno behind drop-tail and RED, DCTCP behind a shallow step."""

import polars as pl
from shallows.statistics.estimates import mean_ci, paired_change
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above
from shallows.tables import metrics

from ..common import BACKENDS, FLOYD_RED, PORT, SECOND, TC_RED

DCTCP = {
    "queue": {"kind": "threshold", "limit": "250pkt", "mark_at": "5pkt"},
    "transport.cc": {"kind": "dctcp", "whole_segments": True},
}
SCHEMES = {"drop-tail": {}, "red": {"queue": FLOYD_RED}, "tc-red": {"queue": TC_RED}, "dctcp": DCTCP}
NAMES = {
    "drop-tail": "Reno, drop-tail 250",
    "red": "Reno, RED 5 to 15",
    "tc-red": "Reno, tc-red 20 to 60",
    "dctcp": "DCTCP, step at 5",
}


def queue(tables):
    """Packets left behind by departures (mean, 99th percentile), the mean wait, the link's use."""
    port = tables["queues"].filter(port=PORT).row(0, named=True)
    left = tables["queue_histogram"].filter(port=PORT)
    total = left["at_dequeue"].sum()
    return {
        "mean_packets": (left["packets"] * left["at_dequeue"]).sum() / total,
        "p99_packets": metrics.weighted_quantile(left["packets"], left["at_dequeue"], 0.99),
        "mean_wait_ms": port["mean_wait_ps"] / 1e9,
        "utilisation": port["utilisation"],
        "goodput_mbps": tables["flows"]["goodput_bps"].sum() / 1e6,
    }


def _means(runs, spec, column="mean_packets"):
    return runs.where(spec).frame(queue).sort("seed")[column].to_list()


def measure(runs):
    times = {k: paired_change(_means(runs, k), _means(runs, "dctcp")) for k in SCHEMES if k != "dctcp"}
    red = {"floyd": "red", "tc-red": "tc-red"}[runs.reading["red"]]
    orders = {"drop-tail-order": "drop-tail", "red-order": red}
    return {name: is_above(_plus_one(times[k]), 10.0, "times") for name, k in orders.items()} | {
        f"{k}-full": [100 * share for share in _means(runs, k, "utilisation")] for k in ("drop-tail", "dctcp")
    }


def _plus_one(change):
    return change._replace(value=change.value + 1, low=change.low + 1, high=change.high + 1)


def draw(runs, reference):
    from shallows.figures import queue_cdf

    def whole(suffix):
        return queue_cdf.draw(
            queue_cdf.info({NAMES[k]: runs.first(k + suffix).tables for k in SCHEMES}, PORT, "at_dequeue")
        )

    return {
        "queue at dequeue, one second, as the slides have it": _pdf(runs, "-second"),
        "queue at dequeue, 225 s": _pdf(runs, ""),
        "queue at dequeue, cumulated": whole(""),
    }


def _pdf(runs, suffix):
    from shallows.figures import relation

    series = {}
    for name in SCHEMES:
        left = runs.first(name + suffix).tables["queue_histogram"].filter(port=PORT)
        share = 100 * left["at_dequeue"] / left["at_dequeue"].sum()
        series[NAMES[name]] = list(zip(left["packets"], share, strict=True))
    return relation.draw(
        {"": relation.panel(series, ("packets left behind", "share of departures (%)"))}, line="-"
    )


def tables(runs):
    rows = [
        {"flow and queue": NAMES[k]}
        | {column: str(mean_ci(_means(runs, k, column))) for column in queue(runs.first(k).tables)}
        for k in SCHEMES
    ]

    return {"Mean over seeds [95 % interval]": pl.DataFrame(rows)}


FIGURE = Figure(
    specs={name: ("spec.toml", changes) for name, changes in SCHEMES.items()}
    | {f"{name}-second": ("spec.toml", changes | SECOND) for name, changes in SCHEMES.items()},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"Mean over seeds [95 % interval]": ("*",)},
    captions={
        "queue at dequeue, one second, as the slides have it": "Queue lengths at dequeue over one second, "
        "one Reno and one DCTCP flow.",
        "queue at dequeue, 225 s": "Queue lengths at dequeue over the whole run of 225 s.",
        "queue at dequeue, cumulated": "Queue lengths at dequeue over the whole run, cumulated.",
    },
)
