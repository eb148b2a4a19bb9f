"""The document's result in two rows: DCTCP and the optimum, delay and throughput, as published."""

import polars as pl
from shallows.statistics.estimates import Estimate

from ..common import DCTCP, OPTIMUM, arrivals_mbit, published

TRIPLETS = {"dctcp": DCTCP, "optimum": OPTIMUM}
CAPACITY_MBIT = 10_000 * 0.94  # from the first message, at 50 ms, to 0.99 s


SHOWS = {
    "Our values by the document's definitions": ("*",),
}


def measure(runs):
    found = {name: published(runs.first(**triplet).tables) for name, triplet in TRIPLETS.items()}
    dctcp, optimum = found["dctcp"], found["optimum"]
    tables = runs.first(**DCTCP).tables
    arrived = sum(arrivals_mbit(tables, name) for name in ("query", "short", "long"))
    return {
        "delay-dctcp": dctcp["short_us"],
        "throughput-dctcp": dctcp["long_mbit"],
        "delay-optimum": optimum["short_us"],
        "throughput-optimum": optimum["long_mbit"],
        "delay-change": 100 * (optimum["short_us"] / dctcp["short_us"] - 1),
        "throughput-change": 100 * (optimum["long_mbit"] / dctcp["long_mbit"] - 1),
        "budget": arrived / CAPACITY_MBIT,
    }


CAPTIONS = {
    "network": "Figure 1 of the document, drawn from the experiment: senders, the switch and the receiver.",
    "delay of short flows": "Mean wait of short flows under both triplets, published and ours.",
}


def draw(runs, reference):
    from shallows.figures import forest, network

    series: dict[str, dict[str, Estimate]] = {"published": {}, "ours": {}}
    for row in reference.to_dicts():
        ours = published(runs.first(**TRIPLETS[row["name"].lower()]).tables)
        series["published"][row["name"]] = Estimate(row["queue_wait_short_us"], None, None, 1)
        series["ours"][row["name"]] = Estimate(ours["short_us"], None, None, 1)
    drawn = network.draw(network.info(runs[0].tables), {"switch": "K and limit here"})
    return {
        "network": drawn,
        "delay of short flows": forest.draw(forest.info(series, "mean wait (us)", reference=None)),
    }


def tables(runs):
    rows = [{"triplet": n} | published(runs.first(**t).tables) for n, t in TRIPLETS.items()]
    return {"Our values by the document's definitions": pl.DataFrame(rows)}
