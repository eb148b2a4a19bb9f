"""The document's result in two rows: DCTCP and the optimum, delay and throughput, as published."""

import polars as pl
from shallows.statistics.estimates import Estimate
from shallows.studies import Figure

from ..common import DCTCP, OPTIMUM, arrivals_mbit, published

TRIPLETS = {"dctcp": DCTCP, "optimum": OPTIMUM}
CAPACITY_MBIT = 10_000 * 0.94  # from the first message, at 50 ms, to 0.99 s


def measure(runs):
    found = {name: published(runs.first(**triplet).tables) for name, triplet in TRIPLETS.items()}
    dctcp, optimum = found["dctcp"], found["optimum"]
    tables = runs.first(**DCTCP).tables
    times = [completion(runs.first(**triplet).tables) for triplet in (DCTCP, OPTIMUM)]
    arrived = sum(arrivals_mbit(tables, name) for name in ("query", "short", "long"))
    return {
        "delay-dctcp": dctcp["short_us"],
        "throughput-dctcp": dctcp["long_mbit"],
        "delay-optimum": optimum["short_us"],
        "throughput-optimum": optimum["long_mbit"],
        "delay-change": 100 * (optimum["short_us"] / dctcp["short_us"] - 1),
        "throughput-change": 100 * (optimum["long_mbit"] / dctcp["long_mbit"] - 1),
        "budget": arrived / CAPACITY_MBIT,
        "query-fct-change": 100 * (times[1]["query, mean"] / times[0]["query, mean"] - 1),
        "message-fct-change": 100 * (times[1]["short, mean"] / times[0]["short, mean"] - 1),
    }


def completion(tables):
    """Completion times of messages in us by class: mean, median and 99th percentile."""
    out = {}
    for name in ("query", "short"):
        times = tables["messages"].filter(pl.col("class") == name)["fct_ps"].drop_nulls() / 1e6
        out |= {
            f"{name}, mean": times.mean(),
            f"{name}, median": times.median(),
            f"{name}, 99th percentile": times.quantile(0.99),
        }
    return out


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
    rows, times = [], []
    for name, triplet in TRIPLETS.items():
        found = runs.first(**triplet).tables
        rows.append({"triplet": name} | {k: f"{v:.2f}" for k, v in published(found).items()})
        times.append({"triplet": name} | completion(found))
    return {
        "Our values by the document's definitions": pl.DataFrame(rows),
        "Completion times on the published schedule (us)": pl.DataFrame(times),
    }


FIGURE = Figure(
    specs={"spec": "spec.toml"},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"Our values by the document's definitions": ("*",)},
    captions={
        "network": "Figure 1 of the document, drawn from the experiment: senders, the switch and the "
        "receiver.",
        "delay of short flows": "Mean wait of short flows under both triplets, published and ours.",
    },
)
