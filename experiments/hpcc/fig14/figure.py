"""Figure 14: the additive step against the queue and fairness, sixteen senders."""

import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above
from shallows.studies.paper.kit import Rows
from shallows.tables.metrics import jain

from ..common import BACKENDS, waiting

STEPS = [25, 50, 75, 100, 150, 300]
SENDERS, ETA, BASE_BYTES = 16, 0.95, 50_000  # B x T at 100 Gb/s and 4 us


def seen(tables):
    """Quantiles of the queue in whole KB as the authors' monitor has them, and how even the shares are."""
    times, length = waiting(tables)
    late = pl.Series(length[times >= 1000.0] // 1000)
    shares = tables["flows"]["goodput_bps"]
    return {
        "p50_kb": late.quantile(0.5, "lower"),
        "p95_kb": late.quantile(0.95, "lower"),
        "p99_kb": late.quantile(0.99, "lower"),
        "jain": jain(shares),
        "gbps": shares.sum() / 1e9,
    }


def standing_kb(step):
    """The fixed point: W = W eta / U + W_AI and N W = U B T, so that U = eta + N W_AI / (B T)."""
    return max(0.0, (ETA + SENDERS * step / BASE_BYTES - 1) * BASE_BYTES) / 1e3


def numbered(frame):
    """The step as a number of bytes."""
    return frame.with_columns(bytes=pl.col("step").str.strip_suffix("B").cast(pl.Int64), title=pl.lit("HPCC"))


def measure(runs):
    rows = Rows(runs.frame(seen))
    low, high = (rows.samples("jain", step=f"{step}B") for step in (STEPS[0], STEPS[-1]))
    return {
        "queue-300": rows.estimate("p95_kb", step="300B"),
        "queue-150": rows.estimate("p95_kb", step="150B"),
        "queue-100": rows.estimate("p95_kb", step="100B"),
        "fairer": is_above(paired_difference(high, low), unit="of Jain's index"),
    }


def draw(runs, reference):
    from shallows.figures import curves

    rows = Rows(numbered(runs.frame(seen)))
    line = {"fixed point": {step: standing_kb(step) for step in STEPS}}
    panels = {
        "95th percentile of the queue": curves.Panel(
            rows.curve("p95_kb", "bytes"),
            "queue (KB)",
            references=line,
            published={"published": [(150, 4.0), (300, 13.0)]},
        ),
        "fairness": curves.Panel(rows.curve("jain", "bytes"), "Jain's index"),
    }
    return {"queue and fairness by step": curves.draw(curves.info(panels, "W_AI (bytes)"))}


def tables(runs):
    names = ["p50_kb", "p95_kb", "p99_kb", "jain", "gbps"]
    return {"Means over the seeds": Rows(numbered(runs.frame(seen))).table(names, ["bytes"])}


FIGURE = Figure(
    specs={
        "spec": (
            "../fig13/spec.toml",
            {
                "duration": "5ms",
                "seeds": 8,
                "warmup": "1ms",
                "sweep.grid": {"transport.cc.step": [f"{step}B" for step in STEPS]},
                "probe.flow_trace": "off",
            },
        )
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"queue and fairness by step": ("queue-*",)},
    captions={
        "queue and fairness by step": "Figure 14: the queue's 95th percentile and Jain's index of the flows' "
        "goodput. The line is the queue of the fixed point, U = eta + N W_AI / (B T)."
    },
)
