"""Common to the figures of this paper: measures at the port, and the fluid models beside them."""

import numpy as np
import polars as pl
from shallows.statistics.estimates import Estimate
from shallows.theory import dcqcn

BACKENDS = {
    "linux": "Linux hosts have no queue pairs, no DCQCN and no TIMELY",
    "ns3": "the ns-3 backend has none of these controls",
}
DCQCN_SPEC, TIMELY_SPEC = "../base/dcqcn.toml", "../base/timely.toml"
PORT = "switch->r0"
PACKET = 1000
"""Bytes of a packet, here as in the document's models."""

SWINGS = 1.0
"""A model's queue oscillates if its 1st and 99th percentile of time are further apart than its mean. In the
authors' own model the one case that oscillates has some twice its mean, and the others have none."""

MODEL_STEP = 5e-6
"""Steps of the fluid models in s."""


def queue(tables):
    """The queue at the port in KB by time, its swing over its mean, and how long the link was idle."""
    row = tables["queues"].filter(pl.col("port") == PORT).row(0, named=True)
    histogram = tables["queue_histogram"].filter(pl.col("port") == PORT).sort("packets")
    shares = histogram["time_ps"].to_numpy().cumsum() / histogram["time_ps"].sum()
    low, high = (float(histogram["packets"][int(np.searchsorted(shares, q))]) for q in (0.01, 0.99))
    mean = row["mean_bytes"] / 1e3
    return {
        "mean": mean,
        "sd": row["sd_packets"] * PACKET / 1e3,
        "low": low * PACKET / 1e3,
        "high": high * PACKET / 1e3,
        "swing": (high - low) * PACKET / 1e3 / mean if mean else 0.0,
        "idle": 1 - row["utilisation"],
    }


def shares(tables):
    """The queue, and the goodputs of the fastest and the slowest flow in Gb/s, and their ratio."""
    rates = np.sort(tables["flows"]["goodput_bps"].to_numpy()) / 1e9
    return queue(tables) | {
        "fast": rates[-1],
        "slow": rates[0],
        "ratio": rates[-1] / rates[0] if rates[0] > 0 else np.inf,
    }


def loop(flows, delay_us, ramp, **changes):
    """The fluid model's loop under a reading of the marking ramp, `{"kmax": "200KB", "pmax": 0.01}`."""
    kmax = float(ramp["kmax"].removesuffix("KB"))
    return dcqcn.Loop(flows, delay_us * 1e-6, kmax=kmax, pmax=ramp["pmax"], **changes)


def model(course, from_ms):
    """The queue's mean and swing, as `queue` has them, of a fluid model's course after so many ms."""
    late = course.queue_bytes[course.time_s * 1e3 >= from_ms] / 1e3
    low, high = np.quantile(late, [0.01, 0.99])
    mean = float(late.mean())
    return {"mean": mean, "sd": float(late.std()), "swing": float(high - low) / mean}


SETTLED_MS = 20
"""Figures of queues begin here: the first round trips at line rate leave a queue that hides all others."""


def traced(tables, to_ms=np.inf, from_ms=SETTLED_MS):
    """Instants in ms and the queue at the port in KB, from a trace."""
    trace = tables["queue_trace"].filter(pl.col("port") == PORT)
    points = zip((trace["time_ps"] / 1e9).to_list(), (trace["bytes"] / 1e3).to_list(), strict=True)
    return [(x, y) for x, y in points if from_ms <= x <= to_ms]


def modelled(course):
    """Times in ms and the queue in KB of a model's course, as two lists."""
    late = course.time_s * 1e3 >= SETTLED_MS
    return course.time_s[late] * 1e3, course.queue_bytes[late] / 1e3


def flow_rates(tables, step_ms, payload=960):
    """By source, instants in ms and the rate on the wire in Gb/s, from a trace of flows.

    `payload` is what a packet carries: over TCP 960 bytes of 1000, over queue pairs 938.
    """
    names = dict(tables["flows"].select("id", "src").iter_rows())
    found = {}
    for (flow,), mine in tables["flow_trace"].sort("time_ps").group_by("flow", maintain_order=True):
        due = np.arange(0.0, mine["time_ps"].max() / 1e9 + step_ms, step_ms)
        sent = np.interp(due, mine["time_ps"].to_numpy() / 1e9, mine["arrived_bytes"].to_numpy())
        rate = np.diff(sent) * PACKET / payload * 8e-6 / step_ms
        found[names[flow]] = list(zip(due[1:].tolist(), rate.tolist(), strict=True))
    return dict(sorted(found.items()))


def alone(value):
    """A number without an interval, as figures take it."""
    return Estimate(value, None, None, 0)


def draw_margins(panels):
    """Phase margins by the number of flows: by title, lines by name, and the authors' points."""
    from shallows.figures import style

    @style.styled
    def drawn():
        figure, axes = style.canvas(len(panels), width_inch=style.PAGE_INCH, height_inch=2.6, sharey=True)
        for ax, (title, (lines, crosses)) in zip(axes, panels.items(), strict=True):
            for k, (name, degrees) in enumerate(lines.items()):
                ax.plot(list(degrees), list(degrees.values()), color=style.colour(k), label=name)
                theirs = crosses[name]
                label = "the authors' data" if k == 0 else None
                ax.plot(
                    list(theirs), list(theirs.values()), "x", color=style.colour(k), label=label, markersize=3
                )
            ax.axhline(0, color=style.INK, linewidth=0.6)
            ax.set(title=title, xlabel="flows")
        axes[0].set_ylabel("phase margin (degrees)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        return figure

    return drawn()
