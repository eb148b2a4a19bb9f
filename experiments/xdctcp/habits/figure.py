"""Habits of the simulator behind the published sweep, one by one: how far each takes ours to it."""

import polars as pl
from shallows.statistics.estimates import Estimate, mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below

from ..common import BY_THE_RFCS, SHORT, wait_us
from ..fig2.figure import CORNER

KEYS = ["g", "ns", "nl"]
DELAY = "queue_wait_short_us"

HABITS = {
    "short segments wait for their acknowledgement": ["transport.ack_counts"],
    "windows of whole segments": ["transport.window_counts"],
    "the cut before the growth": ["transport.ece_growth"],
    "losses halve the window": ["transport.loss_halves"],
    "the handshake's mark": ["transport.opening", "transport.handshake_marks"],
}
NONE, ALL, LOWER = "none of them", "all of them", "all, and K a packet lower"
GRID = {
    'sweep.grid."transport.cc.g"': [0.0625, 0.095],
    'sweep.grid."transport.cc.ns"': [0.2, 0.4, 0.5],
    'sweep.grid."transport.cc.nl"': [0.5, 0.8, 1.0],
}


def _without(keys):
    """The settings that switch all habits off but those of these keys."""
    return {key: value for key, value in BY_THE_RFCS.items() if key not in keys}


def seen(tables):
    """The wait of short flows by the document's definition, and measures of query flows."""
    query = tables["flows"].filter(pl.col("class") == "query")
    messages = tables["messages"].filter(pl.col("class") == "query")["fct_ps"].drop_nulls()
    return {
        "short_us": wait_us(tables, *SHORT),
        "query_cuts": float(query["ecn_reductions"].mean()),
        "query_median_us": messages.median() / 1e6,
    }


def compared(runs):
    """Our runs with the published row of each triplet, and the difference in per cent."""
    frame = runs.frame(seen).join(runs.reference, on=KEYS, how="left")
    return frame.with_columns(off=100 * (pl.col("short_us") / pl.col(DELAY) - 1), corner=_in_corner())


def _in_corner():
    return pl.all_horizontal(*(pl.col(key) >= least for key, least in CORNER.items()))


def difference(frame, spec, corner):
    """Mean difference from the published sweep over the triplets of the corner, or of the rest."""
    rows = frame.filter(pl.col("spec") == spec, pl.col("corner") == corner)
    return mean_ci(rows["off"].to_numpy())


def measure(runs):
    frame = compared(runs)
    return {
        "corner-without": is_below(difference(frame, NONE, True), 0.0, unit="%"),
        "corner-rises": is_above(shift(frame, True), unit="points"),
        "less-than-a-packet": is_below(difference(frame, LOWER, False), 0.0, unit="%"),
        "fewer-cuts": is_above(_paired(frame, "query_cuts"), unit="cuts of a query flow in a second"),
        "slower-queries": is_below(_paired(frame, "query_median_us"), unit="us"),
    }


def shift(frame, corner) -> Estimate:
    """How much all habits together add to the difference from the published sweep, triplet by triplet."""
    found = _paired(frame.filter(pl.col("corner") == corner), "off")
    return Estimate(
        -found.value, *(None if end is None else -end for end in (found.high, found.low)), found.n
    )


def _paired(frame, column) -> Estimate:
    """A column with none of the habits less that with all, triplet by triplet."""
    sides = [frame.filter(pl.col("spec") == spec).sort(KEYS)[column].to_numpy() for spec in (NONE, ALL)]
    return mean_ci(sides[0] - sides[1])


def draw(runs, reference):
    from shallows.figures import forest

    frame = compared(runs)
    names = [name for name in (NONE, *HABITS, ALL, LOWER) if len(frame.filter(pl.col("spec") == name))]
    series = {
        label: {name: difference(frame, name, corner) for name in names}
        for label, corner in (("corner: ns from 0.4, nl from 0.8", True), ("elsewhere", False))
    }
    return {
        "difference from the published sweep": forest.draw(forest.info(series, "ours less published (%)"))
    }


def tables(runs):
    frame = compared(runs)
    rows = frame.group_by("spec", "corner", maintain_order=True).agg(
        pl.len().alias("triplets"), pl.col("off").mean(), pl.col("query_cuts", "query_median_us").mean()
    )
    return {"By habit: difference in per cent, cuts of a query flow, median completion of queries": rows}


FIGURE = Figure(
    specs={
        title: ("../fig2/spec.toml", GRID | changes)
        for title, changes in (
            (NONE, BY_THE_RFCS),
            *((name, _without(keys)) for name, keys in HABITS.items()),
            (ALL, {}),
            (LOWER, {"queue.mark_at": "93440B"}),  # 64 x 1460
        )
    },
    reference="../fig2/reference.csv",
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"difference from the published sweep": ("*",)},
    captions={
        "difference from the published sweep": "Wait of short flows, ours less published, in the corner "
        "where both kinds of flow cut hardest and elsewhere: with none of the habits, each alone, and all; "
        "last, all with a threshold a packet lower."
    },
)
