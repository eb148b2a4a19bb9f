"""How a flow's class is known: by declaration, by its size, or by the bytes it has sent so far."""

import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import is_below

from ..common import AXIS, CHANGES, DCTCP, MAIN, OPTIMUM, changes, changes_table, settings, steady

FRESH = {"traffic.query.connection": "fresh", "traffic.short.connection": "fresh"}
WAYS = {
    "declared": {"transport.cc.class_by": "declared", "transport.cc.long_from": "1MB"},
    "by size": {"transport.cc.class_by": "size", "transport.cc.long_from": "1MB"},
    "by bytes sent, 1 MB": {"transport.cc.class_by": "sent", "transport.cc.long_from": "1MB"},
    "by bytes sent, 100 KB": {"transport.cc.class_by": "sent", "transport.cc.long_from": "100KB"},
}
POINTS = [settings(DCTCP) | WAYS["declared"]] + [settings(OPTIMUM) | way for way in WAYS.values()]
SHOWN = {k: CHANGES[k] for k in MAIN}


def _frame(runs):
    """Runs with the way in a column of its own; DCTCP has none, and stands beside each."""
    frame = runs.frame(steady)
    return {
        label: frame.filter(
            (pl.col("g") == DCTCP["g"])
            | (
                (pl.col("class_by") == way["transport.cc.class_by"])
                & (pl.col("long_from") == way["transport.cc.long_from"])
            )
        )
        for label, way in WAYS.items()
    }


def _series(runs):
    return {label: changes(frame, columns=SHOWN) for label, frame in _frame(runs).items()}


def measure(runs):
    wait, fct = CHANGES["short_wait_us"], CHANGES["message_fct_us"]
    series = _series(runs)
    return {
        "declared": is_below(series["declared"][wait], unit="%"),
        "size": is_below(series["by size"][wait], unit="%"),
        "sent": is_below(series["by bytes sent, 1 MB"][wait], unit="%"),
        "sent-fct": is_below(series["by bytes sent, 1 MB"][fct], unit="%"),
    }


def draw(runs, reference):
    from shallows.figures import forest

    return {"changes by way of classing": forest.draw(forest.info(_series(runs), AXIS))}


def tables(runs):
    base = runs.frame(steady).filter(pl.col("g") == DCTCP["g"])
    means = {c: [str(mean_ci(base[c].to_numpy()))] for c in MAIN}
    return {
        "Optimum against DCTCP, mean [95 % interval]": changes_table(_series(runs)),
        "DCTCP, mean [95 % interval]": pl.DataFrame(means),
    }


FIGURE = Figure(
    specs={"spec": ("../clean/spec.toml", FRESH | {"sweep.points": POINTS})},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"changes by way of classing": ("*",)},
    captions={
        "changes by way of classing": "Change of the optimum against DCTCP for each way of knowing a flow's "
        "class; left of zero it has less."
    },
)
