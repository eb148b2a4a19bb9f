"""Figure 11's network, schemes and measures: five pods, 320 hosts, six schemes."""

import itertools

import numpy as np
import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies.paper.claims import every, is_above
from shallows.studies.paper.kit import samples

from .common import dcqcn, ramp

HPCC, DCQCN, TIMELY, DCTCP = "HPCC", "DCQCN", "TIMELY", "DCTCP"
WINDOW = "12240ns"  # the authors' T: twice the delays, and a packet's transmission at each hop
LEAST = "1Gbps"  # run.py's least rate
BINS = 20
SHORT = 120_000  # bytes
FROM_US, SHARE = (
    200,
    0.4,
)  # flows that start in this share of the time after it have the rest of the run to end
LINK_PS, BYTE_PS = 1_000_000, 80  # delay of a link, and of a byte at a host's rate
HEADER = 48  # bytes of a packet beside its payload, without telemetry

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
HOST, SWITCH = "100Gbps", "400Gbps"
PODS, EDGES, AGGREGATIONS, CORES, HOSTS = 5, 4, 4, 4, 16
"""Of them edges and aggregations by pod, cores by aggregation switch, hosts by edge switch."""


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


def flows(tables):
    """Background flows of the judged time by size, with slowdowns as the authors and as we count them.

    A flow that has not ended counts with the time that it has had: its slowdown is at least that.
    """
    first, over = FROM_US * 10**6, tables["queues"]["over_ps"].max()
    start, size = pl.col("start_ps").cast(pl.Int64), pl.col("bytes").cast(pl.Int64)
    mine = tables["messages"].filter(pl.col("traffic") == "background")
    mine = mine.filter(start >= first, start < first + SHARE * over).with_columns(
        took=pl.col("fct_ps").cast(pl.Int64).fill_null(first + over - start),
        sent=(size + HEADER * ((size + 999) // 1000)) * BYTE_PS,
        ended=pl.col("fct_ps").is_not_null(),
    )
    # The ideal time has the delays of all links, and less than one more for the transmissions at switches.
    way = (pl.col("ideal_ps").cast(pl.Int64) - pl.col("sent")) // LINK_PS * LINK_PS
    back = pl.col("took") + pl.col("way")  # an acknowledgement's way through an empty network
    return mine.with_columns(way=way).select(
        "bytes",
        "ended",
        "flow",
        receiver=pl.col("took") / pl.col("ideal_ps"),
        sender=(back / (2 * pl.col("way") + pl.col("sent"))).clip(lower_bound=1.0),
    )


def bins(tables, column="sender"):
    """For each of twenty bins of equally many flows the greatest size and the slowdown's 95th percentile."""
    mine = flows(tables).sort("bytes", maintain_order=True)
    edges = np.linspace(0, len(mine), BINS + 1).round().astype(int)
    parts = [mine.slice(low, high - low) for low, high in itertools.pairwise(edges)]
    return [(part["bytes"].max(), part[column].quantile(0.95, "linear")) for part in parts if len(part)]


def seen(tables):
    """Percentiles of slowdown, latency and pauses of a run."""
    mine = flows(tables)
    short = mine.filter(pl.col("bytes") < SHORT)
    long = mine.sort("bytes", maintain_order=True).tail(len(mine) // BINS)
    single = tables["flows"].join(mine.filter(pl.col("bytes") <= 1000), left_on="id", right_on="flow")
    pauses = tables["pauses"]
    found = {
        "latency_us": single["srtt_mean_ps"].quantile(0.95, "linear") / 1e6,
        "paused_percent": 100 * float(pauses["paused_ps"].sum() / pauses["over_ps"].sum()),
        "flows": len(mine),
        "unended": int((~mine["ended"]).sum()),
    }
    for column in ("sender", "receiver"):
        found[f"short_{column}"] = short[column].quantile(0.95, "linear")
        found[f"long_{column}"] = long[column].median()
    return found


def slowdowns(runs, schemes=NAMES):
    """For each scheme the means over the seeds of size and slowdown of each bin."""

    def line(chosen):
        each = [bins(run.tables) for run in chosen]
        return [tuple(np.mean(points, axis=0)) for points in zip(*each, strict=True)]

    return {title: line(runs.where(title=title)) for title in schemes}


def least_short(frame, reading):
    """Whether every other scheme has a greater slowdown of short flows than HPCC, seed by seed."""
    column = f"short_{reading['end']}"
    own = samples(frame, column, title=HPCC)
    others = [name for name in NAMES if name != HPCC]
    return every(
        is_above(paired_difference(samples(frame, column, title=name), own), unit=f"({name})")
        for name in others
    )
