"""Figure 3: DCQCN's thresholds of marking: slowdown under WebSearch at two loads."""

from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS
from ..fabric import slowdowns
from ..testbed import PRODUCTION, TESTBED, beside, scheme, seen

HIGH, MIDDLE, LOW = "400 and 1600 KB", "100 and 400 KB", "12 and 50 KB"
THRESHOLDS = {HIGH: (400, 1600), MIDDLE: PRODUCTION, LOW: (12, 50)}
POINTS = [scheme(title, kmin_kmax) for title, kmin_kmax in THRESHOLDS.items()]
LOADS = {"load-30": 0.3, "load-50": 0.5}


def measure(runs):
    found = {}
    for name in LOADS:
        rows = Rows(runs.where(name).frame(seen))
        for size, more, less in (("small", HIGH, LOW), ("big", LOW, HIGH)):
            column = f"{size}_{runs.reading['end']}"
            pair = (rows.samples(column, title=title) for title in (more, less))
            found[f"{size}-{name.removeprefix('load-')}"] = is_above(paired_difference(*pair))
    return found


def draw(runs, reference):
    from shallows.figures import relation

    panels = {}
    for name, load in LOADS.items():
        here = slowdowns(runs.where(name), list(THRESHOLDS), TESTBED)
        pair = beside(here, reference.filter(load=load), "slowdown")
        panels |= {f"load {100 * load:.0f} %, {title}": panel for title, panel in pair.items()}
    return {"slowdown by size": relation.draw(panels, sharey=True)}


def tables(runs):
    names = ["small_sender", "small_receiver", "big_sender", "big_receiver", "paused_percent"]
    return {
        f"Load {100 * load:.0f} %: means over the seeds": Rows(runs.where(name).frame(seen)).table(
            [*names, "flows", "unended"], ["title"]
        )
        for name, load in LOADS.items()
    }


FIGURE = Figure(
    specs={
        name: ("../scenarios/testbed.toml", {"sweep.points": POINTS, "traffic.background.load": load})
        for name, load in LOADS.items()
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"slowdown by size": ("*",)},
    captions={
        "slowdown by size": "Figure 3: the 95th percentile of the slowdown by size, by thresholds of marking."
    },
)
