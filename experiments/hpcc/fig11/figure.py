"""Figure 11: six schemes on a fat tree at half load: slowdown by size, and latency."""

from shallows.statistics.estimates import paired_ratio
from shallows.studies import Figure
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS
from ..fabric import DCQCN, HPCC, least_short, schemes, seen, slowdowns, topology


def measure(runs):
    frame = runs.frame(seen)
    long = f"long_{runs.reading['end']}"
    return {
        "latency": Rows(frame).estimate("latency_us", title=HPCC),
        "short-half": least_short(frame, runs.reading),
        "long-half": paired_ratio(*(Rows(frame).samples(long, title=title) for title in (HPCC, DCQCN))),
    }


def draw(runs, reference):
    from shallows.figures import relation

    labels = ("size (bytes)", "slowdown, 95th percentile")
    return {"slowdown by size": relation.draw({"": relation.panel(slowdowns(runs), labels, log="xy")})}


def tables(runs):
    names = ["latency_us", "short_sender", "short_receiver", "long_sender", "paused_percent"]
    return {"Means over the seeds": Rows(runs.frame(seen)).table([*names, "flows", "unended"], ["title"])}


def specs(reading):
    """The six schemes at half load."""
    return {"half": ("spec.toml", {"topology": topology(), "sweep.points": schemes(reading["samples"])})}


FIGURE = Figure(
    specs=specs,
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"slowdown by size": ("short-half",), "Means over the seeds": ("latency", "long-half")},
    captions={
        "slowdown by size": "Figure 11c: the 95th percentile of the slowdown by size, twenty bins of equally "
        "many flows, at a load of 50 %."
    },
)
