"""Does averaging over the start-up, as the document does, change its conclusion?"""

import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.kit import Rows

from ..common import AXIS, DCTCP, OPTIMUM, RANDOM_PHASES, change, settings, steady

WARMUPS = ["0s", "100ms", "400ms"]
LAST = "400ms"


def relative(frame, column, warmup):
    """The optimum's change in per cent, one number a seed."""
    new, old = (Rows(frame).samples(column, warmup=warmup, **t) for t in (OPTIMUM, DCTCP))
    return 100 * (new / old - 1)


def measure(runs):
    frame = runs.frame(steady)
    waits = {w: relative(frame, "short_wait_us", w) for w in ("0s", LAST)}
    rates = {w: relative(frame, "long_mbps", w) for w in ("0s", LAST)}
    return {
        "gain": paired_difference(waits["0s"], waits[LAST]),
        "throughput": paired_difference(rates["0s"], rates[LAST]),
    }


def draw(runs, reference):
    from shallows.figures import forest

    frame = runs.frame(steady)
    columns = {"wait, query and short": "short_wait_us", "goodput, long": "long_mbps"}
    warmups = frame["warmup"].unique(maintain_order=True)
    series = {
        label: {f"warm-up {w}": change(frame, column, warmup=w) for w in warmups}
        for label, column in columns.items()
    }
    return {"gain by warm-up": forest.draw(forest.info(series, AXIS))}


def tables(runs):
    frame = runs.frame(steady)
    means = frame.group_by("warmup", "g", "ns", "nl", maintain_order=True).agg(
        pl.col("short_wait_us", "query_wait_us", "message_wait_us", "long_mbps", "queue_sd_packets").mean()
    )
    return {"Means over the seeds": means}


FIGURE = Figure(
    specs={
        "spec": (
            "../table/spec.toml",
            RANDOM_PHASES
            | {
                "duration": "1400ms",
                "transport.initial_ssthresh": "none",  # the start-up is the subject here
                "probe.port_trace": "off",
                "sweep.points": [settings(t) for t in (DCTCP, OPTIMUM)],
                "sweep.grid.warmup": WARMUPS,
            },
        )
    },
    measure=measure,
    draw=draw,
    tables=tables,
    captions={"gain by warm-up": "The optimum's gain by the time from which statistics begin."},
)
