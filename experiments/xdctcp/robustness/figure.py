"""Random phases on the document's own network: is the gain there, and which of g, ns, nl makes it?"""

import itertools

import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import (
    AXIS,
    CHANGES,
    DCTCP,
    MAIN,
    OPTIMUM,
    RANDOM_PHASES,
    change,
    changes,
    changes_table,
    settings,
    steady,
)

FACTORS = ("g", "ns", "nl")
TRIPLETS = [
    {k: (OPTIMUM if k in taken else DCTCP)[k] for k in FACTORS}
    for size in range(4)
    for taken in itertools.combinations(FACTORS, size)
]


def effect(frame, factor, column):
    """Mean change in per cent from taking one factor from the optimum, over the settings of the two others.

    A full 2^3 design: each seed gives one number, the mean of four paired relative changes.
    """
    wide = []
    for rest in itertools.product((DCTCP, OPTIMUM), repeat=2):
        others = dict(zip([f for f in FACTORS if f != factor], rest, strict=True))
        fixed = {name: source[name] for name, source in others.items()}
        low = Rows(frame).samples(column, **fixed, **{factor: DCTCP[factor]})
        high = Rows(frame).samples(column, **fixed, **{factor: OPTIMUM[factor]})
        wide.append(100 * (high / low - 1))
    return mean_ci(sum(wide) / len(wide))


def effects(frame, columns):
    """Main effects of the three factors on each column."""
    return {f: {label: effect(frame, f, column) for column, label in columns.items()} for f in FACTORS}


SHOWN = {
    k: CHANGES[k]
    for k in ("query_wait_us", "message_wait_us", "long_wait_us", "query_fct_us", "message_fct_us")
}


def measure(runs):
    frame = runs.frame(steady)
    return {
        "gain": change(frame, "short_wait_us"),
        "gain-sign": is_below(change(frame, "short_wait_us"), unit="%"),
        "gain-query-fct": is_below(change(frame, "query_fct_us"), unit="%"),
        "gain-message-fct": is_below(change(frame, "message_fct_us"), unit="%"),
        "gain-message-tail": is_below(change(frame, "message_fct_p99_us"), unit="%"),
        "throughput": change(frame, "long_mbps"),
        "steadier": is_below(change(frame, "queue_sd_packets"), unit="%"),
        "nl-helps": is_below(effect(frame, "nl", "short_wait_us"), unit="%"),
        "ns-helps": is_below(effect(frame, "ns", "short_wait_us"), unit="%"),
        "g-helps": is_below(effect(frame, "g", "short_wait_us"), unit="%"),
        "ns-hurts-messages": is_above(effect(frame, "ns", "message_wait_us"), unit="%"),
    }


def draw(runs, reference):
    from shallows.figures import forest

    frame = runs.frame(steady)
    whole = forest.info({"optimum": changes(frame)}, AXIS)
    parts = forest.info(effects(frame, SHOWN), "effect of one factor (%), 95 % interval")
    return {"optimum against DCTCP": forest.draw(whole), "effects of g, ns and nl": forest.draw(parts)}


def tables(runs):
    frame = runs.frame(steady)
    means = frame.group_by(FACTORS).agg(pl.col(MAIN).mean()).sort(FACTORS)
    return {
        "Optimum against DCTCP, mean [95 % interval]": changes_table({"optimum": changes(frame)}),
        "Effect of each factor, mean [95 % interval]": changes_table(effects(frame, SHOWN)),
        "Means over the seeds": means,
    }


FIGURE = Figure(
    specs={
        "spec": (
            "../table/spec.toml",
            RANDOM_PHASES | {"probe.port_trace": "off", "sweep.points": [settings(t) for t in TRIPLETS]},
        )
    },
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "optimum against DCTCP": "Change of the optimum against DCTCP under random phases, for every delay "
        "and for the queue.",
        "effects of g, ns and nl": "The change taken apart: the effect of changing one of the three, "
        "averaged over the other two.",
    },
)
