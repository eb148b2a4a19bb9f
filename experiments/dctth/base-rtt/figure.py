"""Fairness at base round trips other than the one that the coupling factor 8 was chosen for."""

from statistics import median

import polars as pl
from shallows.statistics.estimates import mean_ci, rank_correlation
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, is_below, is_within, noted

from ..common import BACKENDS, BATCHES, COLUMNS, COUPLED, CUBIC, DCTCP, cells, estimate

RTTS_MS = [1, 2, 4, 8, 10, 16, 24, 40, 60, 100]
FLOWS = (1, 3)
ABOVE_MS = 4  # below, the floors of three DCTCP flows are the whole link, and Cubic may get nothing
PAIRS = {
    "sweep": {
        "grid": {"topology.delay": [f"{250 * rtt}us" for rtt in RTTS_MS]},
        "points": [{CUBIC: n, DCTCP: n} for n in FLOWS],
    }
}


def by_rtt(runs, spec="dualq", flows=3):
    """The cells of one number of flows by base round trip, in ms."""
    frame = cells(runs, spec).filter(pl.col("cubic") == flows)
    rtt = pl.col("delay").str.strip_suffix("us").cast(pl.Float64) * 4 / 1000
    return frame.with_columns(rtt.alias("base_rtt_ms")).sort("base_rtt_ms")


def told(base_ms, queue_ms, k=8.0):
    """The slides' r_reno / r_dc = 1.22 / 2 x k x RTT_dc / RTT_reno with a classic queue of `queue_ms`."""
    return 1.22 / 2 * k * base_ms / (base_ms + queue_ms)


def measure(runs):
    frame = by_rtt(runs)
    at = {row["base_rtt_ms"]: row for row in frame.iter_rows(named=True)}
    batches = zip(*frame["ratio_batches"].to_list(), strict=True)
    order = mean_ci([rank_correlation(frame["base_rtt_ms"], pl.Series(values)) for values in batches])
    off = [row["ratio"] / told(rtt, row["cubic_wait_ms"]) for rtt, row in at.items() if rtt >= ABOVE_MS]
    fair = [f"{rtt:g}" for rtt, row in at.items() if 0.5 <= row["ratio"] <= 2]
    return {
        "grows": noted(order, ", ".join(f"{rtt:g} ms {row['ratio']:.2f}" for rtt, row in at.items())),
        "longer-is-less": is_above(estimate(at[40]), 1.0),
        "shorter-is-more": is_below(estimate(at[2]), 1.0),
        "testbed-8": is_within(estimate(at[8]), 0.75, of=1.25),
        "testbed-40": is_above(estimate(at[40]), 2.0)._replace(
            note=f"{estimate(at[40])}; within 0.5 to 2 at {', '.join(fair)} ms"
        ),
        "formula": Measured(
            median(off), min(off), max(off), BATCHES, "with the classic queue as measured", range=True
        ),
        "coupled-flat": _flat(by_rtt(runs, "coupled")),
    }


def _flat(frame):
    ratios = frame.filter(pl.col("base_rtt_ms") >= ABOVE_MS)["ratio"]
    note = f"from 4 to 100 ms {ratios.min():.2f} to {ratios.max():.2f}"
    return Measured(ratios.max() / ratios.min() < 2, n_seeds=BATCHES, note=note)


def draw(runs, reference):
    from shallows.figures import relation

    series = {
        f"{n} + {n} flows": [
            (r["base_rtt_ms"], estimate(r)) for r in by_rtt(runs, "dualq", n).iter_rows(named=True)
        ]
        for n in FLOWS
    }
    single = {
        f"{n} + {n} flows": [
            (r["base_rtt_ms"], estimate(r)) for r in by_rtt(runs, "coupled", n).iter_rows(named=True)
        ]
        for n in FLOWS
    }
    queue = by_rtt(runs).drop_nulls("cubic_wait_ms")
    theory = {
        "slides' formula, queue 40 ms": (RTTS_MS, [told(rtt, 40) for rtt in RTTS_MS]),
        "the same, queue as measured (3 + 3)": (
            queue["base_rtt_ms"],
            [told(a, b) for a, b in queue.select("base_rtt_ms", "cubic_wait_ms").iter_rows()],
        ),
    }
    labels = ("base RTT (ms)", "Cubic / DCTCP, per flow")
    shown = {
        "DualQ": relation.panel(
            series,
            labels,
            theory,
            levels={"2": 2, "equal": 1, "1/2": 0.5},
            places={"configured for": 8},
            log="xy",
        ),
        "coupled single queue": relation.panel(
            single, labels, levels={"2": 2, "equal": 1, "1/2": 0.5}, log="xy"
        ),
    }
    return {"ratio against base RTT": relation.draw(shown, sharey=True)}


def tables(runs):
    return {
        f"{title}, {n} + {n} flows": by_rtt(runs, name, n).select("base_rtt_ms", *COLUMNS)
        for name, title in (("dualq", "DualQ"), ("coupled", "Coupled single queue"))
        for n in FLOWS
    }


FIGURE = Figure(
    specs={
        "dualq": ("../grid-dualq/spec.toml", PAIRS),
        "coupled": ("../grid-dualq/spec.toml", PAIRS | {"queue": COUPLED}),
    },
    samples="batches",
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"ratio against base RTT": ("*",)},
    captions={
        "ratio against base RTT": "Cubic's goodput over DCTCP's against the base round trip, behind the "
        "DualQ and behind one coupled queue."
    },
)
