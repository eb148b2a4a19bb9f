"""Figures 2 and 3: the queue with one threshold and with two, and a sender's window, over time."""

import numpy as np
import polars as pl
from shallows.figures import style
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured

from ..common import DCTCP, DTCWA, PORT, SPEC, sweep

FLOWS = 10
TRACE = {
    "duration": "100ms",
    "warmup": "0s",
    "seeds": 1,
    "probe.queue_trace": "change",
    "probe.ports": PORT,
    "probe.flow_trace": "100us",
}
SHOWN_MS = (60, 66)
"""After the start-up, and long enough for some swings of the queue."""


def specs(reading):
    """A few bulk flows, DCTCP and DT-CWA, with the queue and the flows recorded."""
    return {"spec": (SPEC, sweep("ftp", [FLOWS], (DCTCP, DTCWA), reading)[1] | TRACE)}


def thresholds(run):
    """From which queue on the run's switch marks, and below which it ends, in packets."""
    queue = run.stored.manifest["experiment"]["queue"]
    names = ("mark_at", "mark_at") if queue["kind"] == "threshold" else ("start_above", "stop_below")
    return tuple(int(queue[name].removesuffix("pkt")) for name in names)


def measure(runs):
    begins = {title: thresholds(runs.first(title=title))[0] for title in (DCTCP, DTCWA)}
    note = f"DT-CWA's switch marks from {begins[DTCWA]} packets on, DCTCP's from {begins[DCTCP]}"
    return {"marks-earlier": Measured(begins[DTCWA] < begins[DCTCP], n_seeds=0, note=note)}


def marking(packets, start, stop):
    """Whether the switch marks, at each change of the queue: from `start` on until it falls below `stop`."""
    on, found = False, []
    rising_past = start <= stop
    before = packets[0]
    for now in packets:
        if before < start <= now:
            on = True
        elif before >= stop > now or (rising_past and now < start):
            on = False
        found.append(on)
        before = now
    return np.array(found)


def _queue(ax, run):
    trace = run.tables["queue_trace"].filter(pl.col("port") == PORT)
    at, packets = trace["time_ps"].to_numpy() / 1e9, trace["packets"].to_numpy()
    start, stop = thresholds(run)
    ax.fill_between(
        at, 0, 1, where=marking(packets, start, stop), step="post", transform=ax.get_xaxis_transform(),
        color=style.QUIET, alpha=0.25, linewidth=0,
    )  # fmt: skip
    ax.plot(at, packets, color=style.colour(0, run.params["title"]), drawstyle="steps-post", linewidth=0.8)
    levels = {"K": start} if start == stop else {"K1": start, "K2": stop}
    for name, level in levels.items():
        ax.axhline(level, color=style.INK, linewidth=0.6, linestyle="--")
        above = level == max(levels.values())
        ax.annotate(
            f"{name} = {level}", (1, level), xycoords=("axes fraction", "data"), fontsize=6, ha="right",
            va="bottom" if above else "top", color=style.INK,
        )  # fmt: skip


@style.styled
def draw(runs, reference):
    by_title = {"(a) DCTCP, one threshold": DCTCP, "(b) DT-CWA, two thresholds": DTCWA}
    queues, axes = style.canvas(columns=2, width_inch=style.PAGE_INCH, height_inch=2.3, sharey=True)
    for ax, (words, title) in zip(axes, by_title.items(), strict=True):
        _queue(ax, runs.first(title=title))
        ax.set(title=words, xlabel="time (ms)", xlim=SHOWN_MS)
    axes[0].set(ylabel="queue (packets)")
    axes[0].set_ylim(bottom=0)
    windows, axes = style.canvas(columns=2, width_inch=style.PAGE_INCH, height_inch=2.0, sharey=True)
    for ax, title in zip(axes, by_title.values(), strict=True):
        trace = runs.first(title=title).tables["flow_trace"]
        inside = pl.col("time_ps").is_between(*(ms * 10**9 for ms in SHOWN_MS))
        mine = trace.filter(pl.col("flow") == _bulk(trace), inside).sort("time_ps")
        ax.plot(
            mine["time_ps"] / 1e9,
            mine["cwnd_bytes"] / 1460,
            color=style.colour(0, title),
            drawstyle="steps-post",
        )
        ax.set(title=title, xlabel="time (ms)", xlim=SHOWN_MS)
    axes[0].set(ylabel="congestion window (packets)")
    axes[0].set_ylim(bottom=0)
    return {"figure 3": queues, "figure 2": windows}


def _bulk(trace):
    """The flow that delivered most: a response, not a request."""
    most = trace.group_by("flow").agg(pl.col("delivered_bytes").max()).sort("delivered_bytes", "flow")
    return most["flow"][-1]


FIGURE = Figure(
    specs=specs,
    measure=measure,
    draw=draw,
    shows={"figure 3": ("marks-earlier",)},
    captions={
        "figure 3": "Figure 3, drawn from a run: (a) DCTCP's queue with one threshold, (b) DT-CWA's with "
        "two. Shaded: the switch marks.",
        "figure 2": "Figure 2's change at the sender, drawn from the same runs: the window of one flow.",
    },
)
