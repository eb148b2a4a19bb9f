"""One coupled queue: Cubic or Reno beside DCTCP, dropped with the square of DCTCP's marking probability."""

import math

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.tables.goodput import goodput_curves

from ..common import BACKENDS, BATCHES, COLUMNS, COUPLED, CUBIC, DCTCP, all_within, cells, estimate

FLOWS = (1, 3, 5, 10)
FACTORS = (1.0, 1.16, 1.4, 1.63, 2.0)  # the slope follows, so that p_reno keeps its line
PAIRS = {"queue": COUPLED, "sweep": {"points": [{CUBIC: n, DCTCP: n} for n in FLOWS]}}
ROOMY = 5  # up to so many flows of each, the windows are above the floor


def measure(runs):
    found = {}
    for name in ("cubic", "reno"):
        frame = cells(runs, name)
        found[f"{name}-equal"] = all_within(frame.filter(pl.col("cubic") <= ROOMY), 1 / 1.25, 1.25)
        found[f"{name}-within-two"] = all_within(frame)
        same = frame["dctcp_wait_ms"] / frame["cubic_wait_ms"]
        found[f"{name}-same-queue"] = Measured(
            same.median(), same.min(), same.max(), BATCHES, _waits(frame), range=True
        )
    law = frame.select((pl.col("cubic_dropped").sqrt() * 1.63 / pl.col("dctcp_marked")).alias("x"))["x"]
    found["law"] = Measured(law.median(), law.min(), law.max(), BATCHES, range=True)
    return found


def _waits(frame):
    rows = frame.select("cubic", "dctcp_wait_ms", "cubic_wait_ms").iter_rows()
    return "mean waits of DCTCP and the other: " + "; ".join(
        f"{n} + {n} flows {d:.1f} and {c:.1f} ms" for n, d, c in rows
    )


def draw(runs, reference):
    from shallows.figures import relation

    both = {name: list(_points(cells(runs, name), "cubic")) for name in ("cubic", "reno")}
    factor = {"5 + 5 flows": list(_points(cells(runs, "by-factor"), "k"))}
    levels = {"equal": 1.0}
    panels = {
        "by number of flows": relation.panel(
            {"Cubic": both["cubic"], "Reno": both["reno"]},
            ("flows of each kind", "over DCTCP, per flow"),
            levels=levels,
        ),
        "by coupling factor k": relation.panel(
            factor, ("k", "Reno over DCTCP, per flow"), levels=levels, places={"slides: 1.63": 1.63}
        ),
    }
    tables = runs.first("reno", **{CUBIC: 3, DCTCP: 3}).tables
    series = {}
    for kind, key in (("Reno", "cubic"), ("DCTCP", "dctcp")):
        for k, curve in enumerate(goodput_curves(tables, key, 2)):
            series[f"{kind} {k + 1}"] = list(zip(*curve, strict=True))
    return {
        "rates": relation.draw(panels, sharey=True),
        "three Reno and three DCTCP flows over time": relation.draw(
            {"": relation.panel(series, ("time (s)", "goodput (Mb/s)"))}, line="-"
        ),
    }


def _points(frame, x):
    for row in frame.sort(x).iter_rows(named=True):
        yield row[x], estimate(row)


def tables(runs):
    return {name: cells(runs, name).select("cubic", "dctcp", *COLUMNS) for name in ("cubic", "reno")} | {
        "by coupling factor": cells(runs, "by-factor")
        .sort("k")
        .select("k", "ratio", "ratio_low", "ratio_high", "cubic_wait_ms", "dctcp_marked", "cubic_dropped")
    }


FIGURE = Figure(
    specs={
        "cubic": ("../grid-dualq/spec.toml", PAIRS),
        "reno": ("../grid-dualq/spec.toml", PAIRS | {"transport.cc": "newreno"}),
        "by-factor": (
            "../grid-dualq/spec.toml",
            {
                "queue": COUPLED,
                "sweep": {
                    "zip": {"queue.k": list(FACTORS), "queue.slope": [math.log2(k) for k in FACTORS]},
                    "points": [{CUBIC: 5, DCTCP: 5}],
                },
                "transport.cc": "newreno",
            },
        ),
    },
    samples="batches",
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"rates": ("cubic-*", "reno-*"), "by coupling factor": ("law",)},
    captions={
        "rates": "Goodput over DCTCP's behind one coupled queue, by the number of flows and by the coupling "
        "factor.",
        "three Reno and three DCTCP flows over time": "Goodput of three flows of each kind over time.",
    },
)
