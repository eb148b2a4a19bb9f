"""SDC's classes: their mapping switched off, two to five of them, and an alpha above 1 under incast."""

import polars as pl
from shallows.figures import curves, forest
from shallows.statistics.estimates import mean_ci, paired_change
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below, is_within
from shallows.studies.paper.kit import Rows, percent
from shallows.studies.paper.variants import read_variants

from ..common import bottleneck, difference, responses

COUNTS = ("two", "three", "four", "five")
LITTLE = 0.1


def seen(tables):
    """The receiver's port, and the responses where there are any."""
    names = set(tables["messages"]["traffic"])
    traffic = next((name for name in ("short", "incast") if name in names), None)
    return bottleneck(tables) | (responses(tables, traffic) if traffic else {"afct": None})


def _time(frame, name):
    return frame.filter(pl.col("spec") == f"{name} classes").sort("seed")["afct"].to_list()


def measure(runs):
    frame = runs.frame(seen)
    few = runs.reading["long_flows"]
    less = difference(frame, "utilisation", "fixed", "dynamic", senders=few)
    measured = {"mapping-needed": is_below(less, 0, "points")}
    if not runs.where("five classes"):
        return measured
    change = percent(paired_change(_time(frame, "five"), _time(frame, "three")))
    more = percent(paired_change(_time(frame, "three"), _time(frame, "two")))
    return measured | {
        "more-classes-help": is_below(more, 0, "%"),
        "too-many-give-little": is_within(change, 100 * LITTLE, unit="%"),
        "alpha-makes-incast": is_above(
            difference(frame, "loss", "alpha 1.8", "alpha 0.9", senders=40), 0, "points"
        ),
    }


def draw(runs, reference):
    frame = runs.frame(seen)
    panel = curves.Panel(
        {
            f"{name} mapping": Rows(frame).by("utilisation", "senders", spec=name)
            for name in ("dynamic", "fixed")
        },
        "share of the link (%)",
        lines={"95 %": 95},
    )
    times = {f"{name} classes": mean_ci(_time(frame, name)) for name in COUNTS}
    label = "mean completion time of a response (ms)"
    return {
        "mapping": curves.draw(curves.info({"": panel}, "senders", log_x=True)),
        "count": forest.draw(forest.info({"": times}, label, None)),
    }


def tables(runs):
    frame = runs.frame(seen).with_columns(senders=pl.col("senders").fill_null(12))
    rows = [
        {"experiment": spec, "senders": senders}
        | {name: str(Rows(part).estimate(name)) for name in ("utilisation", "loss", "queue")}
        for (spec, senders), part in frame.sort("spec", "senders").group_by(
            "spec", "senders", maintain_order=True
        )
    ]
    return {"Classes: use of the link and loss in per cent, queue in packets": pl.DataFrame(rows)}


FIGURE = Figure(
    specs=read_variants(__file__),
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "mapping": ("mapping-needed",),
        "count": ("more-classes-help", "too-many-give-little"),
        "Classes: use of the link and loss in per cent, queue in packets": ("alpha-makes-incast",),
    },
    captions={
        "mapping": "Use of the link by long flows of SDC with the dynamic mapping of classes and without it.",
        "count": "Mean completion time of benchmark traffic by the number of classes.",
    },
)
