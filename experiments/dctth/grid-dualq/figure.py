"""The slides' grids behind DualQ Coupled: rates over time and queue PDFs of 121 cells, and the ratio."""

import numpy as np
import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, every, is_above, noted, some
from shallows.studies.paper.logic import negated

from ..common import (
    BACKENDS,
    BDP_PACKETS,
    COLUMNS,
    CUBIC,
    DCTCP,
    above_floor,
    all_within,
    cells,
    draw_ratios,
    draw_surface,
    flows_of,
    mixed,
    queue_cells,
    rate_cells,
    typical,
)

ASSUMED_MS = 32.0  # the classic queue behind the factor 8: (8 + 32) / 8 ms, times 1.63
SLOPES = [-1.0, 0.0, 1.0, 2.0]
FEW = [(2, 9), (1, 5), (1, 10)]  # few Cubic beside many DCTCP flows, where the classic queue is often empty


def formula(frame):
    """The slides' r_reno / r_dc = 1.22 / 2 x p_dc / p_reno^1/2 x RTT_dc / RTT_reno with what was measured."""
    rtt = pl.col("dctcp_srtt_ms") / pl.col("cubic_srtt_ms")
    return frame.with_columns(
        (1.22 / 2 * pl.col("dctcp_marked") / pl.col("cubic_dropped").sqrt() * rtt).alias("formula")
    )


def measure(runs):
    frame = cells(runs)
    both = mixed(frame)
    high, low = above_floor(both), both.filter(BDP_PACKETS / pl.col("flows") <= 2)
    roomy = frame.filter((pl.col("dctcp") > 0) & (BDP_PACKETS / pl.col("flows") >= 4))
    crowded = frame.filter((pl.col("dctcp") > 0) & (BDP_PACKETS / pl.col("flows") < 4))
    told = formula(high).select((pl.col("ratio") / pl.col("formula")).alias("x"))["x"]
    return {
        "ratio-above-floor": all_within(high),
        "ratio-below-floor": all_within(low),
        "ratio-median": noted(typical(high), _spread(high["ratio"])),
        "ratio-formula": noted(typical(formula(high), "formula"), _spread(told)),
        "dctcp-delay": _below(mixed(roomy), "dctcp_wait_p99_ms", 2.0),
        "dctcp-delay-alone": _below(roomy.filter(pl.col("cubic") == 0), "dctcp_wait_p99_ms", 2.0),
        "dctcp-delay-crowded": _below(crowded, "dctcp_wait_p99_ms", 2.0),
        "dctcp-queue-small": _small(both),
        "classic-queue": _classic(both),
        "link-full": _full(frame.filter(pl.col("flows") > 0)),
        "slope-matters": _slopes(runs),
        "fall-matters": _fall(runs),
    }


def _spread(values):
    return f"over the {len(values)} cells {values.min():.2f} to {values.max():.2f}"


def _below(frame, column, bound):
    worst = frame.sort(column, descending=True).row(0, named=True)
    below = (frame[column] < bound).sum()
    note = f"{below} of {len(frame)} cells below; most {worst[column]:.2f} ms, {flows_of(worst)}"
    return Measured(bool(worst[column] < bound), note=note)


def _small(both):
    share = both["dctcp_wait_ms"] / both["cubic_wait_ms"]
    return Measured(
        share.max() < 0.1,
        note=f"share of the classic wait: median {share.median():.4f}, most {share.max():.3f}",
    )


def _classic(both):
    waits = both["cubic_wait_ms"]
    near = waits.is_between(0.75 * ASSUMED_MS, 1.25 * ASSUMED_MS)
    note = (
        f"mean wait {waits.min():.1f} to {waits.max():.1f} ms, median {waits.median():.1f}; "
        f"within 24 to 40 ms in {near.sum()} of {len(both)} cells"
    )
    return Measured(bool(near.all()), note=note)


def _full(frame):
    least = frame.sort("utilisation").row(0, named=True)
    batches = np.array(least["all_batches"])  # goodput, of which the link's use is a fixed multiple
    return noted(mean_ci(100 * least["utilisation"] * batches / batches.mean()), flows_of(least))


def _slopes(runs):
    frame = cells(runs, "slopes").sort("classic_slope")
    spread = frame.group_by("classic_slope", maintain_order=True).agg(
        pl.col("ratio").min().alias("least"), pl.col("ratio").max().alias("most")
    )
    note = "; ".join(f"S_r = {s:g}: {a:.2f} to {b:.2f}" for s, a, b in spread.iter_rows())
    fair = [all_within(part) for part in frame.partition_by("classic_slope", maintain_order=True)]
    both = every([some(fair), some(part._replace(value=negated(part.value)) for part in fair)])
    return both._replace(note=f"ratios over 1+1, 3+3 and 6+6 flows: {note}")


def _fall(runs):
    frame = cells(runs, "fall")
    spread = frame.group_by("fall", maintain_order=True).agg(
        pl.col("ratio"), pl.col("dctcp_wait_p99_ms").max()
    )
    note = "; ".join(
        f"{f}: {', '.join(f'{x:.2f}' for x in r)}, DCTCP's p99 {w:.1f} ms" for f, r, w in spread.iter_rows()
    )
    least = {fall: np.array(part["ratio_batches"].to_list()).min(axis=0)
             for (fall,), part in frame.partition_by("fall", as_dict=True).items()}  # fmt: skip
    others = [is_above(mean_ci(least["min"] - each)) for fall, each in least.items() if fall != "min"]
    return every(others)._replace(note=f"ratios with 1 + 5, 2 + 9, 1 + 10 flows: {note}")


def draw(runs, reference):
    return {
        "throughput of each flow over time": rate_cells(runs),
        "queue size at dequeue": queue_cells(runs),
        "throughput ratio Cubic to DCTCP": draw_ratios(cells(runs)),
        "ratio in each cell": draw_surface(cells(runs)),
        "ratio and classic queue by slope": _draw_slopes(runs),
    }


def _draw_slopes(runs):
    from shallows.figures import relation

    frame = cells(runs, "slopes")
    named = {f"{n} + {n} flows": frame.filter(pl.col("cubic") == n) for n in frame["cubic"].unique().sort()}
    by = {
        column: {name: dict(part.select("classic_slope", column).iter_rows()) for name, part in named.items()}
        for column in ("ratio", "cubic_wait_ms")
    }
    label = "classic slope S_r (bits)"
    ratio = relation.panel(by["ratio"], (label, "ratio"), levels={"2": 2, "equal": 1, "1/2": 0.5}, log="y")
    assumed = {"assumed by the factor 8": ASSUMED_MS}
    wait = relation.panel(by["cubic_wait_ms"], (label, "mean wait (ms)"), levels=assumed)
    return relation.draw({"Cubic / DCTCP": ratio, "classic queue": wait})


def tables(runs):
    slopes = cells(runs, "slopes").select("classic_slope", "low_slope", "cubic", "dctcp", *COLUMNS)
    cells_with_both = formula(mixed(cells(runs))).select("cubic", "dctcp", "formula", *COLUMNS)
    fall = cells(runs, "fall").select("fall", "cubic", "dctcp", *COLUMNS)
    return {"Cells with both kinds": cells_with_both, "Slopes": slopes, "How the average falls": fall}


FIGURE = Figure(
    specs={
        "spec": "spec.toml",
        "fall": (
            "spec.toml",
            {
                "sweep": {
                    "grid": {"queue.fall": ["min", "decay", "keep"]},
                    "points": [{CUBIC: c, DCTCP: d} for c, d in FEW],
                }
            },
        ),
        "slopes": (
            "spec.toml",
            {
                "sweep": {
                    "zip": {"queue.classic_slope": SLOPES, "queue.low_slope": [s + 3 for s in SLOPES]},
                    "points": [{CUBIC: n, DCTCP: n} for n in (1, 3, 6)],
                }
            },
        ),
    },
    samples="batches",
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "throughput ratio Cubic to DCTCP": ("ratio-*",),
        "Slopes": ("slope-matters",),
        "Cells with both kinds": ("dctcp-*", "classic-queue", "link-full"),
    },
    captions={
        "throughput of each flow over time": "The slides' throughput grid behind the DualQ: goodput of each "
        "flow over time in every cell.",
        "queue size at dequeue": "The slides' grid of queue sizes behind the DualQ, both queues at dequeue.",
        "throughput ratio Cubic to DCTCP": "The slides' ratio of Cubic's goodput to DCTCP's, against the "
        "fair window of the cell.",
        "ratio in each cell": "Ratio of Cubic's goodput to DCTCP's, by cell.",
        "ratio and classic queue by slope": "Ratio and classic queue by the classic slope, which the slides "
        "do not give.",
    },
)
