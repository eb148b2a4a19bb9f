"""Common to the figures of this paper: the two triplets, the document's definitions, and paired gains."""

import polars as pl
from shallows.statistics.estimates import Estimate
from shallows.studies.paper.kit import Rows
from shallows.tables import metrics

DCTCP = {"g": 0.0625, "ns": 0.5, "nl": 0.5}
OPTIMUM = {"g": 0.095, "ns": 0.4, "nl": 1.0}
SHORT = ("query", "short")  # the document's "short flows"
PORT = "switch->r0"
UNTIL_PS = 990_000_000_000  # the document's throughput counts arrivals in (0, 0.99] s
NAMES = {"g": "transport.cc.g", "ns": "transport.cc.ns", "nl": "transport.cc.nl"}

BY_THE_RFCS = {
    "transport.opening": "established",
    "transport.handshake_marks": False,
    "transport.ack_counts": "segments",
    "transport.window_counts": "bytes",
    "transport.ece_growth": "first",
    "transport.loss_halves": "flight",
}
"""None of the habits of ns-2's two-way TCP that the schedule's runs have: see `habits`."""
RANDOM_PHASES = BY_THE_RFCS | {
    "duration": "1150ms",
    "warmup": "150ms",
    "seeds": 20,
    "transport.initial_ssthresh": "65pkt",
    "traffic.query.phase": "random",
    "traffic.query.stagger": "0s",
    "traffic.short.phase": "random",
    "traffic.short.stagger": "0s",
    "traffic.long.stagger": "0s",
    "traffic.long.jitter": "10ms",
}
"""Settings over the published schedule: nothing is synchronised, and statistics start in the steady state.

The habits of ns-2 are off: the question here is the document's idea, not its simulator.

Without a first ssthresh the three long flows, which now start together, lose hundreds of packets in their
first slow start, and in one run of three one of them waits 200 ms for a timeout: chance, at any g, ns, nl.
"""


def settings(triplet):
    """A triplet as settings of an experiment file."""
    return {NAMES[name]: value for name, value in triplet.items()}


def published(tables):
    """The document's definitions: mean waits from time 0, and Mbit that arrive per long flow until 0.99 s."""
    return {
        "short_us": wait_us(tables, *SHORT),
        "query_us": wait_us(tables, "query"),
        "message_us": wait_us(tables, "short"),
        "long_us": wait_us(tables, "long"),
        "long_mbit": arrivals_mbit(tables, "long") / len(_flows(tables, ["long"])),
    }


def arrivals_mbit(tables, name):
    """Mbit of a class on the wire that arrived at the bottleneck until 0.99 s."""
    return metrics.arrivals_bits(tables, PORT, name, UNTIL_PS) / 1e6


def wait_us(tables, *classes):
    """Mean over the flows of these classes, unweighted, of each flow's mean wait in the switch."""
    return metrics.delays(tables, classes)["wait_us"]


def steady(tables):
    """Measures of a run in the steady state: four delays by class, throughput, queue, utilisation."""
    out = {}
    for label, classes in (
        ("short", SHORT),
        ("query", ["query"]),
        ("message", ["short"]),
        ("long", ["long"]),
    ):
        out |= {f"{label}_{name}": value for name, value in metrics.delays(tables, classes).items()}
    queue = metrics.bottleneck_metrics(tables["queues"])
    long = _flows(tables, ["long"])["goodput_bps"]
    return out | {
        "long_mbps": long.mean() / 1e6,
        "long_jain": metrics.jain(long),
        "queue_mean_packets": queue["bottleneck_mean_packets"],
        "queue_sd_packets": queue["bottleneck_sd_packets"],
        "queue_p99_packets": queue["bottleneck_p99_packets"],
        "utilisation": queue["bottleneck_utilisation"],
        "timeouts": int(tables["flows"]["timeouts"].sum()),
        "drops": metrics.drops(tables["queues"]),
    }


def _flows(tables, classes):
    return tables["flows"].filter(pl.col("class").is_in(list(classes)))


def change(frame, column, new=OPTIMUM, base=DCTCP, **which) -> Estimate:
    """Relative change of a column from `base` to `new` in per cent, paired by seed."""
    return Rows(frame).at(**which).change(column, new, base)


def difference(frame, column, new=OPTIMUM, base=DCTCP, **which) -> Estimate:
    """Difference of a column, `new` less `base`, paired by seed."""
    return Rows(frame).at(**which).difference(column, new, base)


CHANGES = {
    "short_wait_us": "wait in the queue, query and short",
    "query_wait_us": "wait, query",
    "message_wait_us": "wait, message",
    "long_wait_us": "wait, long",
    "short_delay_us": "one-way delay, query and short",
    "short_srtt_us": "smoothed RTT, query and short",
    "query_fct_us": "completion, query",
    "message_fct_us": "completion, message",
    "message_fct_p99_us": "completion, message, 99th percentile",
    "long_mbps": "goodput, long",
    "queue_mean_packets": "queue, mean",
    "queue_sd_packets": "queue, standard deviation",
    "queue_p99_packets": "queue, 99th percentile",
}
"""Columns of `steady` that are compared, with their names in figures."""


MAIN = [
    "short_wait_us",
    "query_fct_us",
    "message_fct_us",
    "message_fct_p99_us",
    "long_mbps",
    "queue_sd_packets",
]
"""The columns that matter most, for tables over many triplets."""
AXIS = "change against DCTCP (%), 95 % interval"


def changes(frame, new=OPTIMUM, base=DCTCP, columns=CHANGES, **which):
    """Every change in per cent by its name in figures; None where the base is nothing.

    With the clock of ns-2, which ticks every 10 ms, the smoothed RTT is nothing.
    """
    bases = Rows(frame).at(**which, **base).frame
    measured = {column: label for column, label in columns.items() if bases[column].min() > 1e-3}
    found = {label: change(frame, column, new, base, **which) for column, label in measured.items()}
    return dict.fromkeys(columns.values()) | found


def changes_table(series):
    """`{column: {row: Estimate}}` as a table of text, for the report."""
    rows = list(dict.fromkeys(row for values in series.values() for row in values))
    columns = {name: [str(values.get(row) or "-") for row in rows] for name, values in series.items()}
    return pl.DataFrame({"change in per cent": rows} | columns)
