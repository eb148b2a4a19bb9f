"""An incast of seven across spines, and a victim that shares nothing but spines with it."""

import polars as pl
from shallows.statistics.estimates import mean_ci, paired_change, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, every, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS

EVEN, NONE = 0.1, 0.05
"""Bounds for words: "almost perfectly" is within a tenth of the mean, "no impact" a twentieth at most."""
WHOLE = 0.95
"""A victim with more than this share of its link has a spine without a flow of the incast."""
ALONE = "the victim alone"
MRC, ONE, EIGHT, PFC = "MRC", "DCQCN, 1 pair", "DCQCN, 8 pairs", "PFC alone"
EARLY = "DCQCN, 8 pairs, at first"
SHARED = "PFC alone, a shared spine"
NO_INCAST = {"title": ALONE, "traffic.incast.flows": 0, "duration": "3ms", "warmup": "1ms"}


def seen(tables):
    """Goodputs in Gb/s: the victim's, and the least, the mean and the greatest of the incast's hosts."""
    flows, ports = tables["flows"], tables["queues"]
    by = flows.group_by("traffic", "src").agg(pl.col("goodput_bps").sum() / 1e9)
    incast = by.filter(pl.col("traffic") == "incast")["goodput_bps"]
    found = {"victim": float(by.filter(pl.col("traffic") == "victim")["goodput_bps"].sum())}
    found |= {"trimmed": int(ports["trims"].sum()), "dropped": int(ports["drops"].sum())}
    found["pauses"] = int(tables["pauses"]["paused"].sum() or 0)
    if incast.is_empty():
        return found | dict.fromkeys(("least", "each", "most", "uneven"))
    least, mean, most = incast.min(), incast.mean(), incast.max()
    return found | {
        "least": least,
        "each": mean,
        "most": most,
        "uneven": max(most / mean - 1, 1 - least / mean),
    }


def measure(runs):
    rows = Rows(runs.frame(seen))

    def change(title, spec):
        alone = rows.samples("victim", title=ALONE, spec=spec)
        return paired_change(rows.samples("victim", title=title), alone)

    own = rows.samples("victim", title=ALONE, spec="mrc")
    early = rows.samples("victim", title=EARLY)
    ours, mine = (rows.samples("victim", title=title) for title in (MRC, PFC))
    one, eight = (rows.samples("victim", title=title) for title in (ONE, EIGHT))
    alone = rows.samples("victim", title=ALONE, spec="roce")
    return {
        "even": is_below(rows.estimate("uneven", title=MRC), EVEN, "of the mean"),
        "untouched": is_above(change(MRC, "mrc"), -NONE, "of the victim's goodput"),
        "dcqcn-1": mean_ci(100 * (1 - one / alone)),
        "dcqcn-8": mean_ci(100 * (1 - eight / alone)),
        "more-pairs": is_below(paired_difference(eight, one), 0, "Gb/s"),
        "early-8": is_above(mean_ci(100 * (1 - early / alone)), 50, "% of the victim's goodput"),
        "pfc": extremes(mine),
        "pfc-shared": extremes(mine[mine < WHOLE * alone[0]]),
        "better": every(
            is_above(paired_difference(ours / own, other[: len(alone)] / alone), 0, "of the goodput alone")
            for other in (one, eight, mine)
        ),
    }


def extremes(samples):
    """The mean, with the least and the greatest seed as a range."""
    if len(samples) == 0:
        return Measured(None, n_seeds=0)
    return Measured(
        float(samples.mean()), float(samples.min()), float(samples.max()), len(samples), range=True
    )


SCHEMES = (MRC, ONE, EIGHT, EARLY, PFC)


def draw(runs, reference):
    from shallows.figures import forest

    rows = Rows(runs.frame(seen))
    alone = rows.samples("victim", title=PFC)
    shared = {SHARED: mean_ci(alone[alone < WHOLE * alone.max()])}
    series = {
        "victim": {title: rows.estimate("victim", title=title) for title in SCHEMES} | shared,
        "a host of the incast": {title: rows.estimate("each", title=title) for title in SCHEMES},
    }
    return {"goodputs": forest.draw(forest.info(series, "goodput (Gb/s)", reference=None))}


def tables(runs):
    columns = ["victim", "least", "each", "most", "trimmed", "dropped", "pauses"]
    rows = Rows(runs.frame(seen))
    by_seed = rows.frame.filter(pl.col("title").is_in(SCHEMES)).select("title", "seed", "victim")
    return {
        "Goodputs in Gb/s": rows.table(columns, ["spec", "title"]),
        "The victim's goodput in Gb/s by seed": by_seed.pivot("seed", index="title", values="victim"),
    }


FIGURE = Figure(
    specs={
        "mrc": ("mrc.toml", {"sweep.points": [{"title": MRC}, NO_INCAST]}),
        "roce": (
            "roce.toml",
            {"sweep.points": [{"title": ONE}, {"title": EIGHT, "transport.qps": 8}, NO_INCAST]},
        ),
        "early": (
            "roce.toml",
            {"sweep.points": [{"title": EARLY, "transport.qps": 8}], "duration": "10ms", "warmup": "1ms"},
        ),
        "pfc": (
            "roce.toml",
            {
                "sweep.points": [{"title": PFC}],
                "transport.cc": "line-rate",
                "queue": {"kind": "drop-tail", "limit": "none"},
                "duration": "2ms",
                "warmup": "500us",
                "seeds": 24,
            },
        ),
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"goodputs": ("*",)},
    captions={
        "goodputs": "An incast of seven across spines and a victim from the senders' rack to another host of "
        "the receiver's: goodputs with 95 % intervals over seeds, which draw the hashes of paths."
    },
)
