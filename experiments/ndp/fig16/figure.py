"""Figure 16: the first and the last completion of an incast by the number of its senders."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_within
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS, HEADER_US, optimum_us, total

HOSTS, PACKETS = 432, 50
SENDERS = (1, 11, 51, 101, 201, 431)
NEAR, WITHIN = 0.9, 0.01
RACK = [f"h{i}" for i in range(6)]
"""Hosts of the receiver's rack."""


def named(n):
    """The last n hosts."""
    return f"h{HOSTS - 1}" if n == 1 else f"h{HOSTS - n}..h{HOSTS - 1}"


def seen(tables):
    """Completions in ms, their ratio, and the last one over the closed form."""
    times = tables["flows"]["fct_ps"]
    others = tables["flows"].filter(~pl.col("src").is_in(RACK))["fct_ps"]
    n = len(times)
    law = optimum_us(n, PACKETS) + total(tables, "flows", "fast_recoveries") * HEADER_US
    return {
        "senders": n,
        "first": times.min() / 1e9,
        "last": times.max() / 1e9,
        "close": times.min() / times.max(),
        "apart": others.min() / times.max() if len(others) else None,
        "law": times.max() / 1e6 / law,
        "nacks": total(tables, "flows", "fast_recoveries") / (n * PACKETS),
        "returns": total(tables, "queues", "returned") / (n * PACKETS),
    }


def measure(runs):
    frame = runs.frame(seen)
    present = sorted(frame["senders"].unique())
    return {
        "close": every(
            is_above(Rows(frame).estimate("close", senders=n), NEAR, f"of the last, {n} senders")
            for n in present
            if n > 1
        ),
        "other-racks": every(
            is_above(Rows(frame).estimate("apart", senders=n), NEAR, f"of the last, {n} senders")
            for n in present
            if n > 1
        ),
        "link-time": every(
            is_within(Rows(frame).estimate("law", senders=n), WITHIN, 1.0, f"of the link's time, {n} senders")
            for n in present
            if n > 1
        ),
    }


def draw(runs, reference):
    from shallows.figures import relation

    frame = runs.frame(seen)
    present = sorted(frame["senders"].unique())
    lines = {
        f"{which} completion": {n: Rows(frame).estimate(which, senders=n) for n in present}
        for which in ("first", "last")
    }
    law = {"all packets on the link": (present, [optimum_us(n, PACKETS) / 1e3 for n in present])}
    panel = relation.panel(lines, ("senders", "completion (ms)"), law)
    return {"first and last completion": relation.draw({"": panel}, "o")}


def tables(runs):
    columns = ["first", "last", "close", "apart", "law", "nacks", "returns"]
    return {
        "Completions in ms": Rows(runs.frame(seen).sort(pl.col("senders"), "seed")).table(
            columns, ["senders"]
        )
    }


FIGURE = Figure(
    specs={"ndp": ("ndp.toml", {"sweep.grid": {"traffic.x.from": [named(n) for n in SENDERS]}})},
    settings={"senders": list(SENDERS)},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"first and last completion": ("*",)},
    captions={
        "first and last completion": "Figure 16: first and last completion of an incast of 50 packets each."
    },
)
