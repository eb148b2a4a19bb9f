"""Figure 10: HPCC beside DCQCN in the document's testbed under WebSearch: slowdown by size, and queues."""

import numpy as np
import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS
from ..fabric import flows, slowdowns
from ..testbed import TESTBED, scheme

HPCC, DCQCN = "HPCC", "DCQCN"
NAMES = [HPCC, DCQCN]
LOADS = {"load-30": 0.3, "load-50": 0.5}
EARLY = TESTBED._replace(share=0.6)  # whose flows have the rest of the time to end
SMALL = TESTBED._replace(share=0.95)  # small flows need less of it
# WebSearch's sizes are uniform up to 10 KB, so these are its flows below 3 KB: more of them, at a
# thousandth of the load.
MICE = {
    "kind": "poisson", "from": "h*", "to": "h*", "every": "10us",
    "sizes": {"kind": "uniform", "min": "1B", "max": "3KB"},
}  # fmt: skip
KEPT = (80, 85, 90, 92, 94, 95, 96, 97, 98, 99)
"""Percentiles of the queue that are drawn: below them it is short or zero, and `reference.csv` has them."""

RACK = {"topology.leaves": 2, "topology.hosts_per_leaf": 32}
# 32 in 63 parts of the payload of 32 cards of 25 Gb/s leave the rack: so much of a load of cards loads two
# links of 100 Gb/s as much.
THIN = 2 * 100 / (32 * 25 * 32 / 63)
LINKS = {"four": ({"topology.spines": 8}, 1.0), "one": ({"topology.spines": 2}, THIN)}


def specs(reading):
    """The document's two racks at both loads, under HPCC and DCQCN."""
    links, share = LINKS[reading["links"]]
    marks = scheme(DCQCN) | {"transport.cnp_interval": reading["notifications"]}
    fixed = RACK | links | {
        "duration": "60ms", "warmup": "15ms", "seeds": 4, "probe.queue_trace": "10us",
        "traffic.mice": MICE, "sweep.points": [{"title": HPCC}, marks],
    }  # fmt: skip
    return {
        name: ("../scenarios/testbed.toml", fixed | {"traffic.background.load": load * share})
        for name, load in LOADS.items()
    }


def lengths(tables, ports="all"):
    """Queues in KB: of all ports at all instants, or of the port with the greatest mean."""
    first = TESTBED.warmup_ps(tables["queues"]["over_ps"].max())
    trace = tables["queue_trace"].filter(pl.col("time_ps") >= first)
    if ports == "busiest":
        means = trace.group_by("port").agg(pl.col("bytes").mean()).sort("bytes", "port")
        trace = trace.filter(pl.col("port") == means["port"][-1])
    return trace["bytes"].to_numpy() / 1e3


def seen(tables):
    """Percentiles of the slowdown of the smallest flows by its end, and of the queues by the ports."""
    mice = flows(tables, SMALL, "mice")
    found = {
        f"p{percent}_{end}": mice[end].quantile(percent / 100, "linear")
        for percent in (50, 95, 99)
        for end in ("sender", "receiver")
    }
    for ports in ("all", "busiest"):
        queues = lengths(tables, ports)
        for percent in (50, 95, 99):
            found[f"queue{percent}_{ports}"] = float(np.percentile(queues, percent))
    early = flows(tables, EARLY)
    return found | {"mice": len(mice), "flows": len(early), "unended": int((~early["ended"]).sum())}


def measure(runs):
    frames = {name: runs.where(name).frame(seen) for name in LOADS}
    p99, ports = f"p99_{runs.reading['end']}", runs.reading["ports"]
    found = {}
    for name, frame in frames.items():
        less = paired_difference(*(Rows(frame).samples(p99, title=title) for title in (DCQCN, HPCC)))
        load = name.removeprefix("load-")
        found[f"small-{load}"] = Rows(frame).estimate(p99, title=HPCC)
        found[f"small-order-{load}"] = is_above(less, unit="less than DCQCN's")
    half = Rows(frames["load-50"])
    found |= {
        f"queue-{percent}": half.estimate(f"queue{percent}_{ports}", title=HPCC) for percent in (95, 99)
    }
    found["queue-bound"] = found["queue-99"]
    longer = paired_difference(*(half.samples(f"queue99_{ports}", title=title) for title in (DCQCN, HPCC)))
    medians = (
        is_below(Rows(frame).estimate(f"queue50_{ports}", title=title), 0.001, unit=f"KB ({title})")
        for frame in frames.values()
        for title in NAMES
    )
    found |= {"queue-order": is_above(longer, unit="KB less than DCQCN's"), "queue-median": every(medians)}
    return found


def numbers(runs):
    """DCQCN's values at half load, which are not judged, and the medians of the smallest flows."""
    half, end, ports = runs.where("load-50").frame(seen), runs.reading["end"], runs.reading["ports"]
    return {
        "small-dcqcn": Rows(half).estimate(f"p99_{end}", title=DCQCN),
        "small-median": Rows(half).estimate(f"p50_{end}", title=HPCC),
        "queue-dcqcn": Rows(half).estimate(f"queue99_{ports}", title=DCQCN),
    }


def _sizes(runs, reference):
    """Panels of each load: lines found here, and the document's."""
    from shallows.figures import relation

    labels, panels = ("size (bytes)", "slowdown"), {}
    for name, load in LOADS.items():
        here, document = {}, {}
        for percent, words in ((99, "99 %"), (50, "median")):
            lines = slowdowns(runs.where(name), NAMES, EARLY, percent / 100)
            rows = reference.filter(load=load, what=f"slowdown-{percent}")
            for title in NAMES:
                here[f"{title}, {words}"] = lines[title]
                points = rows.filter(scheme=title).select("bytes", "value").iter_rows()
                document[f"{title}, {words}"] = list(points)
        panels[f"load {100 * load:.0f} %, here"] = relation.panel(here, labels, log="xy")
        panels[f"load {100 * load:.0f} %, the document"] = relation.panel(document, labels, log="xy")
    return relation.draw(panels, sharey=True)


def _queues(runs, reference):
    """Panels of each load: percentiles of the queue, with the document's."""
    from shallows.figures import relation

    labels, panels = ("percentile of the samples", "queue (KB)"), {}
    for name, load in LOADS.items():
        chosen, here, document = runs.where(name), {}, {}
        for title in NAMES:
            each = [
                np.percentile(lengths(run.tables, runs.reading["ports"]), KEPT)
                for run in chosen.where(title=title)
            ]
            here[title] = list(zip(KEPT, np.mean(each, axis=0), strict=True))
            rows = reference.filter(load=load, scheme=title)
            queue = {percent: rows.filter(what=f"queue-{percent}")["value"].item() for percent in KEPT}
            longer = {percent: value for percent, value in queue.items() if value > 0}
            document[f"{title}, the document"] = (list(longer), list(longer.values()))
        panels[f"load {100 * load:.0f} %"] = relation.panel(here, labels, theory=document, log="y")
    return relation.draw(panels, sharey=True)


def draw(runs, reference):
    return {"slowdown by size": _sizes(runs, reference), "queues at switches": _queues(runs, reference)}


def tables(runs):
    end, ports = runs.reading["end"], runs.reading["ports"]
    names = [f"p{percent}_{end}" for percent in (50, 95, 99)]
    names += [f"queue{percent}_{ports}" for percent in (50, 95, 99)]
    return {
        f"Load {100 * load:.0f} %: means over the seeds": Rows(runs.where(name).frame(seen)).table(
            [*names, "mice", "flows", "unended"], ["title"]
        )
        for name, load in LOADS.items()
    }


FIGURE = Figure(
    specs=specs,
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    numbers=numbers,
    shows={"slowdown by size": ("small-*",), "queues at switches": ("queue-*",)},
    captions={
        "slowdown by size": "Figures 10a and 10c: the median and the 99th percentile of the slowdown by "
        "size.",
        "queues at switches": "Figures 10b and 10d: percentiles of the queues at the switches' ports.",
    },
)
