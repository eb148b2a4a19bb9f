"""Figure 2: delay of short flows against throughput of long flows, all triplets, published beside ours."""

import polars as pl
from shallows.statistics.estimates import mean_ci, pareto_front, rank_correlation
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_within

from ..common import DCTCP, OPTIMUM, published

KEYS = ["g", "ns", "nl"]
DELAY, THROUGHPUT = "queue_wait_short_us", "long_throughput_mbps"
ACCIDENT_MBIT = (2672, 2674)
CORNER = {"ns": 0.4, "nl": 0.8}  # from these on both kinds of flow cut hardest
MARGIN_PERCENT = 0.5
NO_HIT = 0.999  # "without a significant hit": the optimum's own loss is 0.01 %


def compared(runs):
    """Our sweep beside the published one, a row a triplet; columns of ours as `published` names them."""
    return runs.frame(published).join(runs.reference, on=KEYS, how="left").sort(KEYS)


def measure(runs):
    sweep = compared(runs)
    ours = pareto_front(sweep["short_us"], sweep["long_mbit"]).tolist()
    base = row(sweep, DCTCP)
    kept = sweep.filter(pl.col("long_mbit") >= NO_HIT * base["long_mbit"]).sort("short_us")
    best = {k: kept[k][0] for k in KEYS}
    chosen, slack = row(sweep, OPTIMUM), runs.reading["least"]
    close = [r for r in kept.to_dicts() if r["short_us"] <= kept["short_us"][0] + slack]
    ahead = sweep.filter(
        pl.col("short_us") < chosen["short_us"] - slack, pl.col("long_mbit") >= chosen["long_mbit"]
    )
    off = sweep["short_us"] / sweep[DELAY] - 1
    off_rate = sweep["long_mbit"] / sweep[THROUGHPUT] - 1
    corner = (sweep["ns"] >= CORNER["ns"]) & (sweep["nl"] >= CORNER["nl"])
    lost = sweep["long_mbit"].is_between(*ACCIDENT_MBIT).sum()
    whole = {"accidents": int(lost)} if len(sweep) == len(runs.reference) else {}
    return whole | {
        "optimum-is-least": Measured(chosen in close, note=f"ours: {best}, {kept['short_us'][0]:.2f} us"),
        "optimum-on-front": Measured(ahead.is_empty(), note=f"{len(ahead)} triplets dominate it"),
        "delay-differences": Measured(100 * off.median(), note=_spread(off)),
        "corner": is_within(mean_ci((100 * off.filter(corner)).to_numpy()), MARGIN_PERCENT, unit="%"),
        "elsewhere": is_within(mean_ci((100 * off.filter(~corner)).to_numpy()), MARGIN_PERCENT, unit="%"),
        "delay-worst": 100 * off.abs().max(),
        "throughput-differences": Measured(100 * off_rate.median(), note=_spread(off_rate)),
        "delay-ranks": rank_correlation(sweep["short_us"], sweep[DELAY]),
        "dctcp-is-not-on-front": base not in sweep[ours].to_dicts(),
    }


def row(sweep, triplet):
    """The row of a triplet."""
    return sweep.filter(*(pl.col(k) == v for k, v in triplet.items())).to_dicts()[0]


def _spread(off):
    low, high = 100 * off.quantile(0.025), 100 * off.quantile(0.975)
    return f"95 % of the triplets between {low:+.2f} and {high:+.2f} %"


STRIP_MBIT = (2689, 2690.5)


def draw(runs, reference):
    from shallows.figures import scatter

    sweep = compared(runs)
    rows = sweep.select(KEYS).to_dicts()
    named = {"DCTCP": rows.index(DCTCP), "optimum of the document": rows.index(OPTIMUM)}
    clouds = {
        "published": scatter.cloud(sweep[DELAY], sweep[THROUGHPUT], named),
        "ours": scatter.cloud(sweep["short_us"], sweep["long_mbit"], named),
    }
    labels = "mean wait of short flows (us)", "arrivals per long flow until 0.99 s (Mbit)"
    beside = scatter.cloud(sweep["short_us"], sweep[DELAY], named)
    strip = scatter.draw(scatter.info(clouds, *labels))
    for ax in strip.axes:
        ax.set_xlim(*STRIP_MBIT)
        ax.ticklabel_format(axis="x", useOffset=False)
    return {
        "delay against throughput": scatter.draw(scatter.info(clouds, *labels)),
        "the strip of full links": strip,
        "each triplet: published delay across, ours up": scatter.draw(
            scatter.info({"": beside._replace(front=beside.front[:0])}, "ours (us)", "published (us)")
        ),
    }


def tables(runs):
    sweep = compared(runs)
    front = sweep[pareto_front(sweep["short_us"], sweep["long_mbit"]).tolist()]
    columns = [*KEYS, "short_us", "query_us", "message_us", "long_us", "long_mbit", DELAY, THROUGHPUT]
    off = (100 * (pl.col("short_us") / pl.col(DELAY) - 1)).alias("difference_percent")
    worst = sweep.select(*KEYS, "short_us", DELAY, off).sort(pl.col("difference_percent").abs()).tail(10)
    return {
        "Our Pareto front": front.select(columns),
        "The ten triplets whose delay differs most": worst.select(
            *KEYS, "short_us", DELAY, "difference_percent"
        ),
    }


FIGURE = Figure(
    specs={"spec": "spec.toml"},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"delay against throughput": ("*-on-front", "optimum-is-least")},
    captions={
        "delay against throughput": "Figure 2: delay of short flows against throughput of long ones.",
        "the strip of full links": "Delay of short flows where the link is full, enlarged.",
        "each triplet: published delay across, ours up": "Each triplet's delay, published and ours.",
    },
    folded=("each triplet: published delay across, ours up",),
)
