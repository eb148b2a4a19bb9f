"""NSCC beside DCQCN, HPCC and Swift: collectives at 400 and 800 Gb/s, over many paths and over one."""

import polars as pl
from shallows.statistics.estimates import paired_change
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS

RATES = {"400": "400Gbps", "800": "800Gbps"}
OPERATIONS = {
    "reduce": {"traffic.job.operation": "all-reduce"},
    "exchange": {"traffic.job.operation": "all-to-all", "traffic.job.window": "none"},
}
PAIRS = 16
LONGER, IDEAL = 0.1, 1.25
"""Bounds: a tenth longer than NSCC, and a quarter over the ideal time of the empty network."""


def roce(title, control, gbps, **more):
    """A scheme of RDMA cards: flow control by priority, one queue pair for each two hosts, one path each."""
    scale = gbps / 25
    ramp = {"kind": "ramp", "kmin": f"{100 * scale:.0f}KB", "kmax": f"{400 * scale:.0f}KB", "pmax": 0.2}
    plain = {"kind": "drop-tail", "limit": "none"}
    return {
        "title": title,
        "priority": {"3": {"pfc": True}, "6": {}},
        "switch": {"*": {"buffer": "64MB"}},
        "queue": ramp if "dcqcn" in str(control) else plain,
        "port_control": "hpcc" if control == "hpcc" else "none",
        "transport": {
            "profile": "roce", "cc": control, "mtu": "4096B", "priority": 3, "ack_priority": 6,
            "cnp_interval": "4us",
        } | more,
    }  # fmt: skip


def schemes(gbps):
    """Points of a sweep at one rate."""
    dcqcn = {"kind": "dcqcn", "parameters": "vendor"}
    return [
        {"title": "NSCC"},
        {"title": "NSCC, one path", "transport.entropy": "single"},
        roce("DCQCN", dcqcn, gbps),
        roce("HPCC", "hpcc", gbps),
        roce("Swift", "swift", gbps),
        roce("DCQCN, 16 pairs", dcqcn, gbps, qps=PAIRS),
        roce("Swift, 16 pairs", "swift", gbps, qps=PAIRS),
    ]


OTHERS = {
    "one-path": "NSCC, one path",
    "dcqcn": "DCQCN",
    "hpcc": "HPCC",
    "swift": "Swift",
    "dcqcn-16": "DCQCN, 16 pairs",
    "swift-16": "Swift, 16 pairs",
}


def took(tables):
    """The operation's time in us, and over that of the empty network."""
    rounds, ports = tables["rounds"], tables["queues"]
    return {
        "us": rounds["fct_ps"][0] / 1e6,
        "slowdown": rounds["slowdown"][0],
        "trims": int(ports["trims"].sum()),
        "drops": int(ports["drops"].sum()),
        "pauses": int(tables["pauses"]["paused"].sum() or 0),
    }


def measure(runs):
    frame = runs.frame(took)
    found = {}
    for name in frame["spec"].unique(maintain_order=True):
        rows = Rows(frame.filter(pl.col("spec") == name))
        if "NSCC" not in rows.frame["title"]:
            continue  # quick runs one rate
        base = rows.samples("us", title="NSCC")
        found[f"ideal-{name}"] = is_below(rows.estimate("slowdown", title="NSCC"), IDEAL, "of the ideal time")
        for slug, title in OTHERS.items():
            change = paired_change(rows.samples("us", title=title), base)
            # Many pairs even an all-to-all out, in which each host has many peers.
            side = is_below if slug.endswith("16") and name.startswith("exchange") else is_above
            found[f"{slug}-{name}"] = side(change, LONGER, "of NSCC's time")
    return found


def draw(runs, reference):
    from shallows.figures import forest

    frame = runs.frame(took)
    series = {}
    for name in frame["spec"].unique(maintain_order=True):
        rows = Rows(frame.filter(pl.col("spec") == name))
        series[WORDS[name]] = {
            title: rows.estimate("us", title=title)
            for title in rows.frame["title"].unique(maintain_order=True)
        }
    return {"times": forest.draw(forest.info(series, "time of the operation (us)", reference=None), log=True)}


WORDS = {
    f"{op}-{rate}": f"{text}, {rate} Gb/s"
    for op, text in (("reduce", "ring all-reduce"), ("exchange", "all-to-all"))
    for rate in RATES
}


def tables(runs):
    frame = runs.frame(took)
    return {
        f"{WORDS[name]}: times in us": Rows(frame.filter(pl.col("spec") == name)).table(
            ["us", "slowdown", "trims", "drops", "pauses"], ["title"]
        )
        for name in frame["spec"].unique(maintain_order=True)
    }


FIGURE = Figure(
    specs={
        f"{op}-{rate}": (
            "spec.toml",
            changes | {"topology.rate": RATES[rate], "sweep.points": schemes(int(rate))},
        )
        for op, changes in OPERATIONS.items()
        for rate in RATES
    },
    settings={"pairs": PAIRS, "rates": list(RATES.values())},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    beyond=True,
    captions={
        "times": "Collectives of 16 hosts at two rates: the time of one operation, with 95 % intervals "
        "over seeds."
    },
)
