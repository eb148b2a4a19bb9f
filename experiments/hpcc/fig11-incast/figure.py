"""Figure 11: the six schemes at a load of 30 % with incasts: slowdown by size, and pauses."""

from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS
from ..fabric import (
    DCQCN,
    DCTCP,
    HPCC,
    NAMES,
    TIMELY,
    incasts,
    least_short,
    schemes,
    seen,
    slowdowns,
    topology,
)


def measure(runs):
    frame = runs.frame(seen)
    found = {"short-incast": least_short(frame, runs.reading)}
    for name in (DCQCN, TIMELY):
        paused = Rows(frame).samples("paused_percent", title=name)
        less = paired_difference(Rows(frame).samples("paused_percent", title=f"{name}+win"), paused / 10)
        found[f"pauses-{name.lower()}"] = is_above(mean_ci(paused), unit="% of the time")
        found[f"pauses-{name.lower()}-win"] = is_below(less, unit="% less a tenth of that without")
    others = (Rows(frame).estimate("paused_percent", title=name) for name in (HPCC, DCTCP))
    found["pauses-others"] = every(is_below(each, 0.01, unit="% of the time") for each in others)
    return found


def draw(runs, reference):
    from shallows.figures import forest, relation

    labels = ("size (bytes)", "slowdown, 95th percentile")
    rows = Rows(runs.frame(seen))
    paused = {"pauses": {name: rows.estimate("paused_percent", title=name) for name in NAMES}}
    return {
        "slowdown by size": relation.draw({"": relation.panel(slowdowns(runs), labels, log="xy")}),
        "share of the time in which ports are paused": forest.draw(
            forest.info(paused, "paused (% of the time), 95 % interval")
        ),
    }


def tables(runs):
    names = ["latency_us", "short_sender", "short_receiver", "long_sender", "paused_percent"]
    return {"Means over the seeds": Rows(runs.frame(seen)).table([*names, "flows", "unended"], ["title"])}


def specs(reading):
    """The six schemes with incasts."""
    changes = {
        "topology": topology(),
        "seeds": 6,
        "traffic.background.load": 0.3,
        "traffic.incast": incasts(0.1),
        "sweep.points": schemes(reading["samples"]),
    }
    return {"incast": ("../fig11/spec.toml", changes)}


FIGURE = Figure(
    specs=specs,
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "slowdown by size": ("short-incast",),
        "share of the time in which ports are paused": ("pauses-*",),
    },
    captions={
        "slowdown by size": "Figure 11a: the 95th percentile of the slowdown by size, at a load of 30 % and "
        "with incasts.",
        "share of the time in which ports are paused": "Figure 11b: the mean over all ports and the run.",
    },
)
