"""Figure 7: mean query completion time against the number of flows, "
"by load, in the base reading."""

from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import DTCWA, LOAD_NAMES, everywhere_below, seen, sweep, table_of

FLOWS = [25, 30, 35, 40, 45, 55, 60]
LOADS = ("query-1MB", "query-64KB")


def specs(reading):
    """Each load over the numbers of flows."""
    return {load: sweep(load, FLOWS, reading=reading) for load in LOADS}


def measure(runs):
    frame = runs.frame(seen)
    found = {}
    for load in LOADS:
        mine = frame.filter(frame["spec"] == load)
        if mine.is_empty():
            continue
        found[f"below-dctcp-{load}"] = everywhere_below(mine, "qct_ms", "workers")
        until = Rows(mine).samples("qct_ms", title=DTCWA, workers=35)
        least, most = mine["workers"].min(), mine["workers"].max()
        ends = [Rows(mine).samples("qct_ms", title=DTCWA, workers=n) for n in (most, least)]
        found[f"grows-{load}"] = is_above(paired_difference(*ends), unit=f"ms from {least} to {most} flows")
        found[f"below-50ms-{load}"] = is_below(mean_ci(until), 50.0, "ms at 35 flows")
    return found


def draw(runs, reference):
    from shallows.figures import curves

    rows = Rows(runs.frame(seen))
    lines = {"the document's, until 35 flows": 50.0}
    panels = {
        LOAD_NAMES[load]: curves.Panel(
            rows.curve("qct_ms", "workers", spec=load), "query completion (ms)", lines=lines
        )
        for load in LOADS
    }
    return {"query completion time by number of flows": curves.draw(curves.info(panels, "flows"))}


def tables(runs):
    rows = Rows(runs.frame(seen))
    names = ["qct_ms", "timeouts_per_query", "head_per_query", "tail_per_query"]
    return {
        f"Means over the seeds, {LOAD_NAMES[load]}": table_of(
            rows.at(spec=load).frame, names, ["workers", "title"]
        )
        for load in LOADS
    }


FIGURE = Figure(
    specs=specs,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"query completion time by number of flows": ("below-*", "grows-*")},
    captions={"query completion time by number of flows": "Figure 7: mean query completion time."},
)
