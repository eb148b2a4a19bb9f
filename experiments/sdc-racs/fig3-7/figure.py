"""Figures 3.7, 3.8, 4.4, 4.5: use of the link and mean queue of n long flows."""

import polars as pl
from shallows.figures import curves
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.variants import read_variants

from ..common import CHAPTER_3, CHAPTER_4, HEADS, NAMES, bottleneck, difference

IDS = ("sack", "red", "dctcp", "rcp", "d3", "sdc", "racs")
CAPTIONS = {
    "figures 3.7 and 3.8": "Share of the link that n long flows use, and their mean queue: the transports of "
    "chapter 3. Crosses: what the text prints "
    "of SDC and SACK; the plots' own values are not in it.",
    "figures 4.4 and 4.5": "Share of the link that n long flows use, and their mean queue: the transports of "
    "chapter 4. Crosses: what the text prints of RACS.",
    "all transports": "Share of the link and mean queue of n long flows for every transport that was run.",
}
PRINTED = {
    CHAPTER_3: {"printed: SDC at least 95 %": 95, "printed: SACK about 3 points more": 98},
    (*CHAPTER_4, "sack"): {"printed: RACS 100 %": 100},
    IDS: {},
}
"""By figure's transports, the levels that the text prints, in per cent of the link."""


def measure(runs):
    frame = runs.frame(bottleneck)
    few, many = min(frame["senders"]), max(frame["senders"])
    red = {n: Rows(frame).estimate("utilisation", spec="red", senders=n) for n in (2, many)}
    queue = Rows(frame).estimate("queue", spec="sack", senders=many)
    return {
        "sack-full": is_above(Rows(frame).estimate("utilisation", spec="sack", senders=many), 99, "%"),
        "sack-queue": is_above(queue, 50, "packets"),
        "red-queue": is_below(difference(frame, "queue", "red", "sack", senders=many), 0, "packets"),
        "red-falls": is_below(difference_of(red[many], red[2]), 0, "points"),
        "rcp-few": is_below(Rows(frame).estimate("utilisation", spec="rcp", senders=few), 95, "%"),
        "sdc-utilisation": least(frame, "sdc"),
        "racs-utilisation": least(frame, "racs"),
        "sack-more": sack_more(frame, runs.reading["senders_of"], many),
        "sdc-queue": is_below(difference(frame, "queue", "sdc", "sack", senders=many), 0, "packets"),
        "racs-queue": is_below(difference(frame, "queue", "racs", "sack", senders=many), 0, "packets"),
    }


def least(frame, name):
    """The least use of the link over all numbers of senders."""
    by = Rows(frame).by("utilisation", "senders", spec=name)
    n = min(by, key=lambda n: by[n].value)
    return Measured(*by[n], note=f"with {n} senders")


def sack_more(frame, over, many):
    """By how much more SACK uses the link than SDC: the mean over these numbers of senders, or at most."""
    if over == "most":
        return difference(frame, "utilisation", "sack", "sdc", senders=many)
    if over == "up-to-20":
        frame = frame.filter(pl.col("senders") <= 20)
    means = frame.group_by("spec", "seed").agg(pl.col("utilisation").mean())
    return difference(means, "utilisation", "sack", "sdc")


def difference_of(a, b):
    """Difference of two means over independent seeds, its interval the root of the sum of squares."""
    half = sum((e.ci[1] - e.value) ** 2 for e in (a, b)) ** 0.5
    return a._replace(value=a.value - b.value, low=a.value - b.value - half, high=a.value - b.value + half)


def _drawn(frame, ids):
    def series(column):
        return {NAMES[name]: Rows(frame).by(column, "senders", spec=name) for name in NAMES if name in ids}

    counts = sorted(set(frame["senders"]))
    printed = {name: [(n, level) for n in counts] for name, level in PRINTED[ids].items()}
    panels = {
        "throughput": curves.Panel(series("utilisation"), "share of the link (%)", published=printed),
        "queue": curves.Panel(series("queue"), "mean queue (packets)"),
    }
    drawn = curves.draw(curves.info(panels, "senders", log_x=True))
    drawn.axes[0].set_ylim(0, 105)
    return drawn


def draw(runs, reference):
    frame = runs.frame(bottleneck)
    return {name: _drawn(frame, ids) for name, ids in zip(CAPTIONS, PRINTED, strict=True)}


def tables(runs):
    frame = runs.frame(bottleneck)
    rows = []
    for (name, n), part in frame.sort("spec", "senders").group_by("spec", "senders", maintain_order=True):
        row = {"transport": NAMES[name], "senders": n}
        for column in ("utilisation", "queue", "queue_p99", "loss"):
            row[HEADS[column]] = str(Rows(part).estimate(column))
        rows.append(row)
    return {"Long flows: share of the link and loss in per cent, queue in packets": pl.DataFrame(rows)}


FIGURE = Figure(
    specs=read_variants(__file__),
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"figures 3.7 and 3.8": ("sack-*", "red-*", "sdc-*"), "figures 4.4 and 4.5": ("rcp-*", "racs-*")},
    captions=CAPTIONS,
    folded=("all transports",),
)
