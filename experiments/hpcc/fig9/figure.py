"""Figure 9: cards of 25 Gb/s, HPCC beside DCQCN: a flow that comes and goes, an incast, and mice."""

import numpy as np
import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.tables.goodput import total_gbps

from ..common import BACKENDS, dcqcn, drained_us, queue

HPCC, DCQCN = "HPCC", "DCQCN"
BASE_US = 5.4  # a round trip of the empty network
T_US = 9.0
BYTES_US = 25e3 / 8  # of the link in a microsecond
PACKET = 1104  # bytes on the wire with the header of telemetry
JOIN_US = 1000.0
RECOVERED = 0.9


def _with(duration, senders, loads, **more):
    """The experiment with further loads."""
    loads = {f"traffic.{name}": load for name, load in loads.items()}
    return {"duration": duration, "topology.senders": senders} | loads | more


def _bulk(hosts, **more):
    return {"kind": "bulk", "from": hosts, "to": "r0", "jitter": "1us"} | more


EXPERIMENTS = {
    "leave": _with("6ms", 2, {"short": _bulk("s1", bytes="1MB", start="1ms")}),
    "incast": _with("3ms", 8, {"joining": _bulk("s1..s7", start="1ms")}),
    "mice": _with(
        "20ms",
        3,
        {
            "long": _bulk(["s0", "s1"]),
            "mouse": {
                "kind": "messages", "from": "s2", "to": "r0", "bytes": "1KB", "interval": "50us",
                "phase": "random", "connection": "fresh",
            },
        },
        warmup="2ms",
        **{"probe.flow_trace": "off", "probe.queue_trace": "off"},
    ),
}  # fmt: skip


def specs(reading):
    """Each experiment under HPCC and under DCQCN with the reading's timer."""
    schemes = [{"title": HPCC}, dcqcn(25, increase_period=reading["timers"])]
    return {name: ("spec.toml", changes | {"sweep.points": schemes}) for name, changes in EXPERIMENTS.items()}


def leaving(tables):
    """From when after a short flow's end the long one keeps nine tenths of what it had before that flow came.

    The rest of the run where it does not.
    """
    [end] = tables["flows"].filter(pl.col("class") == "short")["end_ps"]
    times, rates = total_gbps(tables, ["long"])
    before = rates[(times > JOIN_US / 2) & (times <= JOIN_US)].mean()
    short = np.flatnonzero(rates < RECOVERED * before)
    until = max(float(times[short[-1]]), end / 1e6)
    return {"recovery_us": until - end / 1e6, "before_gbps": float(before), "short_us": end / 1e6 - JOIN_US}


def joining(tables):
    """The greatest queue after seven senders joined, and how long it lasts."""
    times, length = queue(tables)
    peak = float(length[times >= JOIN_US].max())
    drained = drained_us(tables, 2 * PACKET, JOIN_US) - JOIN_US
    return {
        "peak_kb": peak / 1e3,
        "drained_us": drained,
        "link_rtts": peak / BYTES_US / BASE_US,
        "empty_rtts": drained / BASE_US,
        "loaded_rtts": drained / (T_US + peak / BYTES_US),
    }


def mice(tables):
    """Completion of 1 KB, from its start to the acknowledgement at the sender, in us."""
    mine = tables["flows"].filter(pl.col("class") == "mouse", pl.col("end_ps").is_not_null())
    times = mine["srtt_mean_ps"] / 1e6
    return {"p50_us": times.median(), "p95_us": times.quantile(0.95, "linear"), "mice": len(mine)}


RTTS = {"empty": "empty_rtts", "loaded": "loaded_rtts"}


def measure(runs):
    left, joined, small = (
        runs.where(spec).frame(seen)
        for spec, seen in (("leave", leaving), ("incast", joining), ("mice", mice))
    )
    longer = paired_difference(*(Rows(small).samples("p50_us", title=title) for title in (DCQCN, HPCC)))
    peaks = paired_difference(*(Rows(joined).samples("peak_kb", title=title) for title in (DCQCN, HPCC)))
    return {
        "leave-hpcc": is_below(Rows(left).estimate("recovery_us", title=HPCC), 10 * BASE_US, unit="us"),
        "leave-dcqcn": is_above(Rows(left).estimate("recovery_us", title=DCQCN), 2000.0, unit="us"),
        "incast-drained": Rows(joined).estimate(RTTS[runs.reading["round_trip"]], title=HPCC),
        "first-windows": Rows(joined).estimate("link_rtts", title=HPCC),
        "incast-order": is_above(peaks, unit="KB more"),
        "mice-hpcc": Rows(small).estimate("p50_us", title=HPCC),
        "mice-order": is_above(longer, unit="us more"),
    }


def _lines(runs, spec, series):
    from shallows.figures import relation

    drawn = {}
    for title in (HPCC, DCQCN):
        times, values = series(runs.first(spec, title=title).tables)
        drawn[title] = list(zip(times / 1e3, values, strict=True))
    return drawn, relation


def draw(runs, reference):
    from shallows.figures import curves

    rates, relation = _lines(runs, "leave", lambda tables: total_gbps(tables, ["long"]))
    queues, _ = _lines(runs, "incast", lambda tables: (queue(tables)[0], queue(tables)[1] / 1e3))
    small = Rows(runs.where("mice").frame(mice))
    percentiles = {50: "p50_us", 95: "p95_us"}
    waits = {
        title: {at: small.estimate(name, title=title) for at, name in percentiles.items()}
        for title in (HPCC, DCQCN)
    }
    published = {"published, HPCC": [(50, 5.4)], "published, DCQCN: more than": [(50, 35.0)]}
    panel = curves.Panel(waits, "completion (us)", log=True, published=published, lines={"empty": BASE_US})
    return {
        "a flow comes and goes": relation.draw(
            {"": relation.panel(rates, ("time (ms)", "payload of the long flow (Gb/s)"))}, line="-"
        ),
        "seven senders join": relation.draw(
            {"": relation.panel(queues, ("time (ms)", "queue (KB)"), levels={"published, DCQCN": 550.0})},
            line="-",
        ),
        "mice over two elephants": curves.draw(curves.info({"": panel}, "percentile of the messages")),
    }


def tables(runs):
    shown = {
        "a flow comes and goes": ("leave", leaving, ["recovery_us", "before_gbps", "short_us"]),
        "seven senders join": ("incast", joining, ["peak_kb", "drained_us", "empty_rtts", "loaded_rtts"]),
        "mice over two elephants": ("mice", mice, ["p50_us", "p95_us", "mice"]),
    }
    return {
        f"{name}: means over the seeds": Rows(runs.where(spec).frame(seen)).table(names, ["title"])
        for name, (spec, seen, names) in shown.items()
    }


FIGURE = Figure(
    specs=specs,
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "a flow comes and goes": ("leave-*",),
        "seven senders join": ("incast-*", "first-windows"),
        "mice over two elephants": ("mice-*",),
    },
    captions={
        "a flow comes and goes": "Figures 9a and 9b: payload of the long flow while another sends 1 MB.",
        "seven senders join": "Figures 9c and 9d: the queue as seven senders join one. The published value "
        "is DCQCN's greatest queue.",
        "mice over two elephants": "Figure 9e: completion of messages of 1 KB beside two long flows.",
    },
)
