"""A negative experiment: marks that no receiver echoes."""

from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import SPEC, scheme, seen, step

RIGHT, BROKEN = "as it should be", "ECN-Echo never set"


def measure(runs):
    rows = Rows(runs.frame(seen))
    pairs = {
        name: paired_difference(rows.samples(name, title=BROKEN), rows.samples(name, title=RIGHT))
        for name in ("mean", "drops")
    }
    return {
        "marks-unanswered": is_above(rows.estimate("marks", title=BROKEN), 0.5, unit="of the packets marked"),
        "alpha-zero": is_below(rows.estimate("alpha", title=BROKEN), 0.01),
        "queue-at-limit": is_above(pairs["mean"], 100, unit="packets more"),
        "packets-lost": is_above(pairs["drops"], unit="packets more"),
        "throughput-hides": rows.estimate("throughput", title=BROKEN),
    }


def draw(runs, reference):
    from shallows.figures import queue_time

    shown = {title: runs.first(title=title).tables for title in (RIGHT, BROKEN)}
    return {
        "queue over time": queue_time.draw(queue_time.info(shown, "switch->r0", 4000, 12000, {"K": 20.0}))
    }


def tables(runs):
    names = ["mean", "swing", "peak", "throughput", "marks", "alpha", "drops"]
    return {"With and without the fault": Rows(runs.frame(seen)).table(names, ["title"])}


FIGURE = Figure(
    specs={
        "spec": (
            SPEC,
            {
                "sweep.points": [
                    scheme(title, "dctcp", step(20, 200))
                    | {"transport.echo": echo, "transport.opening": "established"}
                    for title, echo in ((RIGHT, "auto"), (BROKEN, "never"))
                ]
            },
        )
    },
    backends={"linux": "a kernel that breaks its own receiver would be needed"},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"With and without the fault": ("*",)},
    captions={
        "queue over time": "The queue with receivers as they should be, and with receivers that never echo a "
        "mark."
    },
)
