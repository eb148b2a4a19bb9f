"""A ring of switches that stands still, two ways out, and a fat tree that never does."""

import numpy as np
import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import ALONE, BACKENDS, DCQCN, FRAME, PAYLOAD

WATCHDOG, LOSSY = "PFC and a watchdog", "IRN, no PFC"
_MARKS = {"kind": "ramp", "kmin": "5KB", "kmax": "200KB", "pmax": 0.01}
_FLUSH = {"deadlock": "watchdog", "watchdog": "1ms", "action": "flush"}
SCHEMES = [
    {"title": ALONE, "pfc.deadlock": "go-on"},  # a stop would end the run where the figure begins
    {"title": WATCHDOG, "pfc": _FLUSH, "transport.timeout": "4ms"},
    {"title": DCQCN, "pfc.deadlock": "go-on", "transport.cc": "dcqcn", "priority.3.queue": _MARKS},
    {"title": LOSSY, "priority.3.pfc": False, "transport.repair": "irn"},
]
BUFFERS = ("500KB", "1MB", "2MB")

STEP_PS = 500_000_000


def course(tables):
    """Instants in ms and the wire rate of all flows in Gb/s, by intervals."""
    trace = tables["flow_trace"].select("time_ps", "flow", "arrived_bytes")
    due = pl.DataFrame({"time_ps": np.arange(0, trace["time_ps"].max() + 1, STEP_PS)}, {"time_ps": pl.UInt64})
    total = np.zeros(len(due))
    for (_,), mine in trace.sort("time_ps").group_by("flow"):
        seen = due.join_asof(mine, on="time_ps")["arrived_bytes"].fill_null(0)
        total += seen.to_numpy()
    rate = np.diff(total) * 8 * FRAME / PAYLOAD / (STEP_PS / 1e12) / 1e9
    return due["time_ps"].to_numpy()[1:] / 1e9, rate


def ring(tables):
    """Rates in the last half of a run, and what was lost."""
    time_ms, rate = course(tables)
    late = rate[time_ms > time_ms[-1] / 2]
    queues = tables["queues"]
    lost = int(queues["drops"].sum())
    return {
        "late": late.mean(),
        "most": late.max(),
        "lost": lost,
        "pauses": int(tables["pauses"]["paused"].sum()),
    }


def clos(tables):
    """Messages without an end, losses and pauses."""
    return {
        "without_end": tables["flows"]["end_ps"].null_count(),
        "lost": int(tables["queues"]["drops"].sum()),
        "pauses": int(tables["pauses"]["paused"].sum()),
        "last_ms": tables["flows"]["end_ps"].max() / 1e9,
    }


def measure(runs):
    rows = Rows(runs.where("spec").frame(ring))
    tree = runs.where("clos").frame(clos)
    still, watched, marked = (rows.estimate("late", title=t) for t in (ALONE, WATCHDOG, DCQCN))
    sizes = tree["buffer"].unique(maintain_order=True)

    def by_size(column):
        return [Rows(tree).estimate(column, buffer=size) for size in sizes]

    return {
        "ring-goodput": still,
        "ring-lossless": is_below(rows.estimate("lost", title=ALONE), 0.5, "packets"),
        "watchdog-works": is_above(watched, 1.0, "Gb/s"),
        "watchdog-loses": is_above(rows.estimate("lost", title=WATCHDOG), 0.5, "packets"),
        "dcqcn-works": is_above(marked, 1.0, "Gb/s"),
        "clos-ends": every(is_below(each, 0.5, "messages") for each in by_size("without_end")),
        "clos-lossless": every(is_below(each, 0.5, "packets") for each in by_size("lost")),
        "clos-pauses": every(is_above(each, 0.5, "pauses") for each in by_size("pauses")),
    }


def draw(runs, reference):
    from shallows.figures import relation

    shown = {}
    for scheme in SCHEMES:
        time_ms, rate = course(runs.first("spec", title=scheme["title"]).tables)
        shown[scheme["title"]] = list(zip(time_ms.tolist(), rate.tolist(), strict=True))
    panel = relation.panel(shown, ("time (ms)", "rate of all flows (Gb/s)"), levels={"fair shares": 100.0})
    return {"the ring over time": relation.draw({"": panel}, "-")}


def tables(runs):
    return {
        "The ring in the second half": Rows(runs.where("spec").frame(ring)).table(
            ["late", "most", "lost", "pauses"], ["title"]
        ),
        "The fat tree": Rows(runs.where("clos").frame(clos)).table(
            ["without_end", "lost", "pauses", "last_ms"], ["buffer"]
        ),
    }


FIGURE = Figure(
    specs={
        "spec": ("spec.toml", {"sweep.points": SCHEMES}),
        "clos": ("clos.toml", {"sweep.grid": {"switch.*.buffer": list(BUFFERS)}}),
    },
    settings={"buffers": BUFFERS, "watchdog": ["1ms", "4ms"]},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"the ring over time": ("ring-*", "watchdog-*", "dcqcn-*"), "The fat tree": ("clos-*",)},
    captions={
        "the ring over time": "Rate of all five flows together, in intervals of 500 us. Each link of the "
        "ring carries two flows, so that fair shares make half of the five links' rate."
    },
)
