"""Figure 6: throughput against the number of flows."""

from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, every, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import (
    DCTCP,
    DCTCP0,
    DTCWA,
    FLOWS,
    LOAD_NAMES,
    LOADS,
    SPEC,
    WORKERS,
    change,
    schemes,
    seen,
    sweep,
    table_of,
)

PRINTED = {30: 59.0, 55: 43.0}
"""Gains in per cent by the number of flows."""
FEWER = [10, 30, 45, 55, 60]


WRONG_K = "DCTCP, K = 65"


def specs(reading):
    """Each load over the numbers of flows; under another reading where the text has numbers."""
    found = {load: sweep(load, FEWER if load == "ftp" else FLOWS, reading=reading) for load in LOADS}
    wrong = {"title": WRONG_K} | {
        k: v for k, v in schemes(reading | {"baseline": 65})[DCTCP].items() if k != "title"
    }
    points = [schemes(reading)[DCTCP], wrong]
    return found | {"right-k": (SPEC, {"sweep.grid": {WORKERS: [30, 55]}, "sweep.points": points})}


def measure(runs):
    found = {}
    frame = runs.frame(seen)
    for load in LOADS:
        mine = frame.filter(frame["spec"] == load)
        if mine.is_empty():
            continue
        for flows in (30, 55):
            found[f"gain-{flows}-{load}"] = change(mine, "mbps", workers=flows)
    if runs.where("right-k"):
        for flows in (30, 55):
            mine = frame.filter(frame["spec"] == "right-k")
            gain = change(mine, "mbps", DCTCP, WRONG_K, workers=flows)
            found[f"right-k-gains-{flows}"] = is_above(gain, unit="%")
    if runs.where("ftp"):
        ftp = Rows(frame).at(spec="ftp", title=DCTCP)
        parts = [is_above(ftp.estimate("mbps", workers=n), 700.0, "Mb/s") for n in PRINTED]
        found["ftp-leaves-no-room"] = every(parts)
    queries = frame.filter(frame["spec"] == "query-1MB")
    found["below-200"] = is_below(Rows(queries).estimate("mbps", title=DTCWA, workers=40), 200.0, "Mb/s")
    found["dctcp-below-200"] = is_below(
        Rows(queries).estimate("mbps", title=DCTCP, workers=40), 200.0, "Mb/s"
    )
    found["gain-after-20"] = _appears(queries)
    if DCTCP0 in queries["title"]:
        found["alpha-1-costs"] = is_above(change(queries, "mbps", DCTCP0, DCTCP, workers=30), unit="%")
        zero, one = (Rows(queries).samples("timeouts_per_flow", title=t, workers=55) for t in (DCTCP0, DCTCP))
        found["alpha-0-times-out"] = is_above(paired_difference(zero, one), unit="timeouts a flow")
    return found


def _gains(frame, new=DTCWA, base=DCTCP):
    """Gain in per cent by the number of flows."""
    return {n: change(frame, "mbps", new, base, workers=n) for n in sorted(frame["workers"].unique())}


def _appears(frame):
    """Whether the gain is above zero at every number of flows beyond 20 that was run."""
    each = {n: is_above(change(frame, "mbps", workers=n)) for n in frame["workers"].unique().sort() if n > 20}
    values = [m.value for m in each.values()]
    whole = False if False in values else None if None in values else True
    return Measured(whole, note="; ".join(f"{n}: {m.note} %" for n, m in each.items()))


def draw(runs, reference):
    from shallows.figures import curves, network

    rows = Rows(runs.frame(seen))
    panels = {
        LOAD_NAMES[load]: curves.Panel(
            rows.curve("mbps", "workers", spec=load),
            "throughput (Mb/s)",
            lines={"printed bound": 200},
        )
        for load in LOADS
    }
    loads = {LOAD_NAMES[load]: _gains(rows.at(spec=load).frame) for load in LOADS}
    right = {f"DCTCP, K = 20, over {WRONG_K}": _gains(rows.at(spec="right-k").frame, DCTCP, WRONG_K)}
    panels["gain of DT-CWA over DCTCP"] = curves.Panel(
        loads | right, "gain (%)", published={"printed gain": list(PRINTED.items())}
    )
    drawn = network.draw(network.info(runs[0].tables), {"sw0": "switch 1", "r0": "aggregator"})
    return {"network": drawn, "throughput by number of flows": curves.draw(curves.info(panels, "flows"))}


def tables(runs):
    rows = Rows(runs.frame(seen))
    names = ["mbps", "timeouts_per_flow", "drops"]
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
    shows={
        "throughput by number of flows": (
            "gain-*",
            "*below-200",
            "right-k-*",
            "alpha-*",
            "ftp-*",
            "59-and-43",
        )
    },
    captions={
        "network": "Figure 5 of the document, drawn from the experiment: nine workers behind four switches.",
        "throughput by number of flows": "Figure 6: throughput against the number of flows, by load, in the "
        "base reading, and the gain over DCTCP. Crosses: what the text prints. The dashed line is the text's "
        "bound: throughput is below it after 35 flows. DCTCP's own "
        "gain by marking from 20 packets instead of 65 stands beside it.",
    },
)
