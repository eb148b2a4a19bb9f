"""Common to the figures of this paper: the transports with their settings, and measures of a run."""

from pathlib import Path

import polars as pl
from shallows.statistics.estimates import Estimate
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.variants import read_settings
from shallows.tables import metrics
from shallows.theory import disciplines, mg1

PORT = "switch->r0"
TRANSPORTS = read_settings(Path(__file__).parent)
"""Settings over a scenario's, by id, in the base reading: the paper's variants.toml."""

NAMES = {
    "sack": "SACK drop-tail",
    "cubic": "CUBIC",
    "red": "SACK + RED/ECN",
    "dctcp": "DCTCP",
    "xdctcp": "xDCTCP",
    "dt-cwa": "DT-CWA",
    "d2tcp": "D2TCP",
    "d3": "D3",
    "pfabric": "pFabric-like",
    "rcp": "RCP",
    "sdc": "SDC",
    "racs": "RACS",
}


CHAPTER_3 = ("sack", "red", "sdc")
CHAPTER_4 = ("rcp", "sdc", "racs")
"""The transports that the thesis draws in each chapter; the others stand in figures that are folded."""


HEADS = {
    "afct": "mean time (ms)",
    "p99": "99th percentile (ms)",
    "round_ms": "round (ms)",
    "within": "within 10 ms (%)",
    "met": "deadlines met (%)",
    "utilisation": "link used (%)",
    "loss": "lost (%)",
    "queue": "mean queue (packets)",
    "queue_p99": "queue, 99th percentile (packets)",
}
"""Heads of tables by column."""


def bottleneck(tables):
    """The receiver's port: link use and packets lost in per cent, mean and 99th percentile of the queue."""
    port = tables["queues"].filter(pl.col("port") == PORT)
    lost = int(port["drops"][0])
    return {
        "utilisation": 100 * port["utilisation"][0],
        "queue": port["mean_packets"][0],
        "queue_p99": port["p99_packets"][0],
        "loss": 100 * lost / max(int(port["packets_in"][0]), 1),
    }


def responses(tables, traffic="short"):
    """Completion times of a load's messages in ms; those not delivered at the end are counted apart."""
    mine = tables["messages"].filter(pl.col("traffic") == traffic)
    ended = mine["fct_ps"].drop_nulls().cast(pl.Float64) / 1e9
    return {
        "afct": ended.mean(),
        "p99": ended.quantile(0.99, "linear"),
        "within": 100 * (ended <= 10).sum() / max(len(mine), 1),
        "unfinished": len(mine) - len(ended),
    }


LINK_BPS = 1e9
BYTE_MS = 8e3 * (1500 / 1460) / LINK_BPS
LAWS = {"mix": mg1.Uniform(2_000, 50_000), "benchmark": mg1.BoundedPareto(1.2, 5_353, 10_000_000)}
"""Sizes of the responses in bytes, which come as Poisson processes beside two long flows."""


def at_link(messages, permanent=2):
    """Completion times in ms under SRPT, PS and FB of these arrivals at the bottleneck alone, exactly."""
    starts, sizes = messages["start_ps"].to_list(), messages["bytes"].to_list()
    times = disciplines.on_link(starts, sizes, LINK_BPS, permanent=permanent)
    return {name: each / 1e9 for name, each in times.items()}


def mg1_ms(scenario, per_second, low=0.0, high=float("inf")):
    """M/G/1 means in ms of responses between these sizes in bytes; PS shares with the two long flows."""
    law = LAWS[scenario]
    load = per_second * mg1.mean_size(law) * BYTE_MS / 1e3
    times = mg1.mean_times(law, load, permanent=2, low=low, high=high)
    return {name: time * BYTE_MS for name, time in times.items()}


def mg1_rows(scenario, per_second):
    """The times of `mg1_ms` as rows of a figure."""
    return {f"M/G/1 {name}": Estimate(ms, None, None, 0) for name, ms in mg1_ms(scenario, per_second).items()}


def difference(frame, column, new, base, **which) -> Estimate:
    """Difference of a column between two transports, paired by seed."""
    return Rows(frame).at(**which).difference(column, {"spec": new}, {"spec": base})


def drops(tables):
    """Packets dropped in the run, wherever."""
    return metrics.drops(tables["queues"])
