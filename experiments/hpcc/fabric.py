"""Figure 11's network, schemes and measures: five pods, 320 hosts, six schemes; and flows of any network."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies.paper.claims import every, is_above
from shallows.studies.paper.kit import Rows

from .common import dcqcn, ramp

HPCC, DCQCN, TIMELY, DCTCP = "HPCC", "DCQCN", "TIMELY", "DCTCP"
WINDOW = "12240ns"  # the authors' T: twice the delays, and a packet's transmission at each hop
LEAST = "1Gbps"  # run.py's least rate
BINS = 20
SHORT = 120_000  # bytes
HEADER = 48  # bytes of a packet beside its payload, without telemetry


class Network(NamedTuple):
    """A network as its flows are judged in it.

    `byte_ps`: the time of a byte at a host's rate. `ways_ps`: the delays that paths have, ascending.
    `warmup_ps`: the time left out, from the time of the statistics. Flows that start in the first `share` of
    this one have its rest to end.
    """

    byte_ps: int
    ways_ps: tuple[int, ...]
    warmup_ps: Callable[[int], int]
    share: float = 0.4


FABRIC = Network(80, (2_000_000, 4_000_000, 6_000_000), lambda over_ps: 200_000_000)

ABOVE = {"transport.ack_priority": 6}  # acknowledgements above the data, as in the authors' simulator


def _timely(**more):
    return {
        "kind": "timely",
        "delta": "100Mbps",
        "min_rate": LEAST,
    } | more  # 10 Mb/s at 10 Gb/s, times the rate


def _at_switches(queue):
    return {f"port.{ports}.queue": queue for ports in ("edge*->agg*", "agg*->*", "core*->*")}


_MARKS = _at_switches(ramp(400))
_STEP = {"kind": "threshold", "limit": "none"}
SCHEMES = [
    {"title": HPCC},
    dcqcn(100, min_rate=LEAST) | _MARKS | ABOVE,
    dcqcn(100, min_rate=LEAST, window_rtt=WINDOW) | _MARKS | {"title": f"{DCQCN}+win"},
    {"title": TIMELY, "transport.cc": _timely(), "port_control": "none"} | ABOVE,
    {"title": f"{TIMELY}+win", "transport.cc": _timely(window_rtt=WINDOW), "port_control": "none"} | ABOVE,
    {
        "title": DCTCP,
        "port_control": "none",
        "queue": _STEP | {"mark_at": "300KB"},
        "transport": {
            "profile": "datacentre", "cc": "dctcp", "opening": "established", "clock_grain": "0s",
            "mss": "1000B", "header": "48B", "initial_window": "153KB", "priority": 3,
        },
    }
    | _at_switches(_STEP | {"mark_at": "1200KB"}),
]  # fmt: skip
NAMES = [scheme["title"] for scheme in SCHEMES]


def schemes(samples):
    """The six schemes; TIMELY takes its round-trip times as a reading says (`segment` or `window`)."""
    timely = [scheme for scheme in SCHEMES if scheme["title"].startswith(TIMELY)]
    other = {
        one["title"]: one | {"transport.cc": one["transport.cc"] | {"samples": samples}} for one in timely
    }
    return [other.get(scheme["title"], scheme) for scheme in SCHEMES]


HOST, SWITCH = "100Gbps", "400Gbps"
PODS, EDGES, AGGREGATIONS, CORES, HOSTS = 5, 4, 4, 4, 16
"""Pods; edges and aggregations by pod; cores by aggregation switch; hosts by edge switch."""


def topology():
    """`fat.txt` of the authors' simulator: 320 links of 100 and 160 of 400 Gb/s, 1 us each."""
    links = []

    def link(one, other, rate):
        links.append({"from": one, "to": other, "rate": rate, "delay": "1us"})

    for pod in range(PODS):
        for place in range(EDGES):
            edge = pod * EDGES + place
            for host in range(HOSTS):
                link(f"h{edge * HOSTS + host}", f"edge{edge}", HOST)
            for up in range(AGGREGATIONS):
                link(f"edge{edge}", f"agg{pod * AGGREGATIONS + up}", SWITCH)
        for place in range(AGGREGATIONS):
            for core in range(CORES):
                link(f"agg{pod * AGGREGATIONS + place}", f"core{place * CORES + core}", SWITCH)
    switches = [
        f"edge0..edge{PODS * EDGES - 1}",
        f"agg0..agg{PODS * AGGREGATIONS - 1}",
        f"core0..core{AGGREGATIONS * CORES - 1}",
    ]
    hosts = f"h0..h{PODS * EDGES * HOSTS - 1}"
    return {"kind": "graph", "hosts": hosts, "switches": switches, "links": links}


def incasts(load):
    """Incasts by Poisson: sixty senders of 500 KB each to one receiver."""
    sizes = {"kind": "fixed", "bytes": "500KB"}
    return {"kind": "poisson", "from": "h*", "to": "h*", "sizes": sizes, "fan_in": 60, "load": load}


def flows(tables, network=FABRIC, traffic="background"):
    """Flows of a load of the judged time by size, with slowdowns as the authors and as we count them.

    A flow that has not ended counts with the time that it has had: its slowdown is at least that.
    """
    over = tables["queues"]["over_ps"].max()
    first = network.warmup_ps(over)
    start, size = pl.col("start_ps").cast(pl.Int64), pl.col("bytes").cast(pl.Int64)
    mine = tables["messages"].filter(pl.col("traffic") == traffic)
    mine = mine.filter(start >= first, start < first + network.share * over).with_columns(
        took=pl.col("fct_ps").cast(pl.Int64).fill_null(first + over - start),
        sent=(size + HEADER * ((size + 999) // 1000)) * network.byte_ps,
        ended=pl.col("fct_ps").is_not_null(),
    )
    # The ideal time has the delays of all links, and for transmissions less than to the next longer way.
    beside = pl.col("ideal_ps").cast(pl.Int64) - pl.col("sent")
    way = pl.max_horizontal(pl.when(beside >= each).then(each).otherwise(0) for each in network.ways_ps)
    # Until the last acknowledgement; of a flow without one the way of one through an empty network.
    back = pl.coalesce(pl.col("acked_ps").cast(pl.Int64), pl.col("took") + pl.col("way"))
    return mine.with_columns(way=way).select(
        "bytes",
        "ended",
        "flow",
        took_receiver="took",
        took_sender=back,
        receiver=pl.col("took") / pl.col("ideal_ps"),
        sender=(back / (2 * pl.col("way") + pl.col("sent"))).clip(lower_bound=1.0),
    )


def bins(tables, column="sender", network=FABRIC, share=0.95):
    """For each of twenty bins of equally many flows the greatest size and the slowdown's percentile."""
    mine = flows(tables, network).sort("bytes", maintain_order=True)
    edges = np.linspace(0, len(mine), BINS + 1).round().astype(int)
    parts = [mine.slice(low, high - low) for low, high in itertools.pairwise(edges)]
    return [(part["bytes"].max(), part[column].quantile(share, "linear")) for part in parts if len(part)]


def paused_percent(tables):
    """The share of the time in which ports are paused: the mean over all ports."""
    pauses = tables["pauses"]
    return 100 * float(pauses["paused_ps"].sum() / pauses["over_ps"].sum())


def seen(tables):
    """Percentiles of slowdown, latency and pauses of a run."""
    mine = flows(tables)
    short = mine.filter(pl.col("bytes") < SHORT)
    long = mine.sort("bytes", maintain_order=True).tail(len(mine) // BINS)
    single = tables["flows"].join(mine.filter(pl.col("bytes") <= 1000), left_on="id", right_on="flow")
    found = {
        "latency_us": single["srtt_mean_ps"].quantile(0.95, "linear") / 1e6,
        "paused_percent": paused_percent(tables),
        "flows": len(mine),
        "unended": int((~mine["ended"]).sum()),
    }
    for column in ("sender", "receiver"):
        found[f"short_{column}"] = short[column].quantile(0.95, "linear")
        found[f"long_{column}"] = long[column].median()
    return found


def slowdowns(runs, schemes=NAMES, network=FABRIC, share=0.95):
    """For each scheme the means over the seeds of size and slowdown of each bin."""

    def line(chosen):
        each = [bins(run.tables, network=network, share=share) for run in chosen]
        return [tuple(np.mean(points, axis=0)) for points in zip(*each, strict=True)]

    return {title: line(runs.where(title=title)) for title in schemes}


def least_short(frame, reading):
    """Whether every other scheme has a greater slowdown of short flows than HPCC, seed by seed."""
    column = f"short_{reading['end']}"
    own = Rows(frame).samples(column, title=HPCC)
    others = [name for name in NAMES if name != HPCC]
    return every(
        is_above(paired_difference(Rows(frame).samples(column, title=name), own), unit=f"({name})")
        for name in others
    )
