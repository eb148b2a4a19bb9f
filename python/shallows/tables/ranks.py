"""Ranks of collectives and graphs over time: the wait of each, and the port that made it wait.

A message is overdue from its ideal end to its delivery, and its receiver waits for it. The time in which some
message to a host was overdue is what this rank lost to the network in a round. With `probe.shares` the row
names the port at which the packets of the latest message's connection waited most, and how many connections
sent data through it. These waits are sums over the run, not those of the one message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from shallows.terminal import readable

__all__ = ["lines", "timeline"]

MOST = 3
"""The ranks that a load's sentences name."""

LEAST = 0.05
"""The least share of an operation's time in which messages to a rank are overdue, for a sentence about it."""


def timeline(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """A row for each load, round and receiving host, in this order.

    `start_ps`, `end_ps`: first start and last delivery of the messages to it. `late_ps`: the time in which
    some of them were overdue. `step`, `src`, `latest_ps`: the latest one's step, sender and time beyond its
    ideal. `port`, `wait_ps`,
    `connections`: where its connection's packets waited most, their mean wait there, and the connections with
    data there; null without `probe.shares`, or if they waited nowhere. Messages that did not end are left
    out.
    """
    ended = pl.col("fct_ps").is_not_null() & pl.col("round").is_not_null()
    ends = tables["flows"].select("id", "src", "dst")
    messages = tables["messages"].filter(ended).join(ends, left_on="flow", right_on="id")
    late = pl.col("fct_ps").cast(pl.Int64) - pl.col("ideal_ps").cast(pl.Int64)
    messages = messages.with_columns(late.clip(0).alias("late_ps"))
    latest = pl.col("late_ps").arg_max()
    # In the order in which they become overdue, each adds what it is overdue beyond those before it.
    ends_at, rank = pl.col("end_ps").cast(pl.Int64), ["traffic", "round", "dst"]
    messages = messages.with_columns((ends_at - pl.col("late_ps")).alias("due"))
    messages = messages.sort(*rank, "due", "start_ps", "step")
    before = ends_at.cum_max().shift(1).over(rank)
    own = (ends_at - pl.max_horizontal("due", before)).clip(0)
    rows = (
        messages.with_columns(own.alias("own"))
        .group_by("traffic", "round", "dst", maintain_order=True)
        .agg(
            pl.col("start_ps").min(),
            pl.col("end_ps").max(),
            pl.len().alias("messages"),
            pl.col("own").sum().alias("late_ps"),
            pl.col("step").get(latest).alias("step"),
            pl.col("src").get(latest).alias("src"),
            pl.col("flow").get(latest).alias("flow"),
            pl.col("late_ps").max().alias("latest_ps"),
        )
    )
    return rows.join(_worst_ports(tables), on="flow", how="left", maintain_order="left").drop("flow")


def _worst_ports(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """By connection the port at which its data waited most."""
    schema = {"flow": pl.UInt32, "port": pl.String, "wait_ps": pl.Float64, "connections": pl.UInt32}
    shares = tables.get("shares")
    if shares is None or not len(shares):
        return pl.DataFrame(schema=schema)
    data = shares.filter(pl.col("reverse") == 0)
    crowd = data.group_by("port").agg(pl.len().cast(pl.UInt32).alias("connections"))
    waits = data.filter(pl.col("wait_ps") > 0).with_columns(
        (pl.col("wait_ps") / pl.col("packets")).alias("wait_ps")
    )
    most = waits.sort("wait_ps", "port", descending=[True, False]).unique(
        "flow", keep="first", maintain_order=True
    )
    return most.join(crowd, on="port").select(*schema)


def lines(tables: Mapping[str, pl.DataFrame]) -> Iterator[str]:
    """Sentences about the ranks that lost most time in a load's slowest round, with `probe.shares`."""
    if not len(tables.get("shares", ())):
        return
    rows = timeline(tables)
    for (load,), mine in rows.group_by("traffic", maintain_order=True):
        rounds = tables["rounds"].filter((pl.col("traffic") == load) & pl.col("fct_ps").is_not_null())
        if not len(rounds):
            continue
        worst = rounds.row(rounds["fct_ps"].arg_max() or 0, named=True)
        slowest = worst["round"]
        last = mine.filter((pl.col("round") == slowest) & (pl.col("late_ps") > LEAST * worst["fct_ps"]))
        for row in last.sort("late_ps", "dst", descending=[True, False]).head(MOST).iter_rows(named=True):
            yield f"{load}, round {slowest}: {_sentence(row)}"


def _sentence(row: Mapping[str, object]) -> str:
    waited, latest = (readable("wait_ps", row[name]) for name in ("late_ps", "latest_ps"))
    text = (
        f"the rank on {row['dst']} waited {waited} for overdue messages; "
        f"the latest, of step {row['step']} from {row['src']}, came {latest} late"
    )
    if row["port"] is None:
        return f"{text}, and no recorded queue held its connection's packets up."
    shared = row["connections"]
    crowd = f"which {shared} connections share" if shared != 1 else "which it has for itself"
    mean = readable("wait_ps", row["wait_ps"])
    return f"{text}. Its connection's packets waited most at {row['port']}, {mean} on average, {crowd}."
