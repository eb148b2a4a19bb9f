"""Queue and congestion windows over time, under DCTCP and under the document's optimum."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.tables import metrics
from shallows.theory.dctcp import dctcp

from ..common import DCTCP, OPTIMUM, PORT

NAMES = {"DCTCP": DCTCP, "xDCTCP, optimum": OPTIMUM}
FROM_MS, TO_MS = 200, 220


def queue(tables):
    """The bottleneck's queue in packets."""
    return metrics.bottleneck_metrics(tables["queues"])


def measure(runs):
    base, best = (queue(runs.first(**triplet).tables) for triplet in NAMES.values())

    def lower(name):
        return Measured(best[name] < base[name], note=f"{best[name]:.1f} against {base[name]:.1f} packets")

    return {
        "queue-shorter": lower("bottleneck_mean_packets"),
        "queue-steadier": lower("bottleneck_sd_packets"),
    }


def draw(runs, reference):
    from shallows.figures import flow_time, queue_cdf, queue_time

    tables = {name: runs.first(**triplet).tables for name, triplet in NAMES.items()}
    window = {"from_ms": FROM_MS, "to_ms": TO_MS}
    figures = {
        "queue over time": queue_time.draw(queue_time.info(tables, PORT, lines={"K": 65}, **window)),
        "queue length, share of time": queue_cdf.draw(queue_cdf.info(tables, PORT)),
    }
    for name, run in tables.items():
        figures[f"windows, {name}"] = flow_time.draw(
            flow_time.info(run, ("cwnd_bytes", "alpha", "flight_bytes"), **window)
        )
    return figures


def tables(runs):
    rows = [{"triplet": n} | queue(runs.first(**t).tables) for n, t in NAMES.items()]
    three = dctcp(flows=3, k_packets=65)
    sawtooth = {k: [v] for k, v in three.items()}
    return {
        "Queue at the bottleneck": pl.DataFrame(rows),
        "Three synchronised DCTCP flows alone, by the closed form of the DCTCP paper": pl.DataFrame(sawtooth),
    }


FIGURE = Figure(
    specs={
        "spec": (
            "../table/spec.toml",
            {"probe.queue_trace": "10us", "probe.flow_trace": "20us", "duration": "300ms", "warmup": "100ms"},
        )
    },
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "queue over time": "The queue at the switch under both triplets; K is dashed.",
        "queue length, share of time": "Share of time that the queue spends at or below each length.",
    },
)
