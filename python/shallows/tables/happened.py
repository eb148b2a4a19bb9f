"""The events of a run in sentences: losses by kind, pauses, timeouts, messages that did not end.

Metrics are numbers of a known list, so a reader has to know which one to ask for. A summary prints these
sentences beside them: each names a cause that the tables hold, and how much it cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from shallows.tables import ranks
from shallows.tables.drops import causes
from shallows.tables.metrics import Tables
from shallows.terminal import readable

__all__ = ["lines"]

MOST = 3
"""The most flows, ports or operations that one kind of sentence names."""


def lines(tables: Tables, experiment: Mapping[str, Any], numbers: Mapping[str, Any]) -> list[str]:
    """The sentences. `numbers` are the experiment's quantities by path, times in ps."""
    return [
        *_drops(tables),
        *_trims(tables["queues"]),
        *_pauses(tables["pauses"]),
        *_timeouts(tables, experiment, numbers),
        *_operations(tables, numbers),
        *ranks.lines(tables),
        *_messages(tables["messages"]),
        *_datagrams(tables),
    ]


def _drops(tables: Tables) -> Iterator[str]:
    """A sentence a cause, with the port that lost most."""
    queues = tables["queues"]
    for cause in causes():
        lost = queues[cause.column].fill_null(0)
        total = int(lost.sum())
        if total:
            worst = queues["port"][lost.arg_max() or 0]
            most = int(lost.max() or 0)
            place = f"all at {worst}" if most == total else f"most of them, {most}, at {worst}"
            yield f"{_counted(total, 'packet was', 'packets were')} dropped {cause.why}, {place}."
    control = tables["inner_queues"]
    if len(control):
        control = control.filter(control["what"] == "ack")
        total = int(control["drops"].sum())
        if total:
            yield f"Of the dropped packets {total} went back to a sender: acknowledgements and notifications."


def _trims(queues: pl.DataFrame) -> Iterator[str]:
    trims, returned = (int(queues[name].fill_null(0).sum()) for name in ("trims", "returned"))
    if trims:
        more = f", and {returned} headers went back to their senders" if returned else ""
        yield f"Ports cut the payload off {_counted(trims, 'packet', 'packets')}{more}."


def _pauses(pauses: pl.DataFrame) -> Iterator[str]:
    """A sentence a lossless priority."""
    for (priority,), mine in pauses.sort("priority").group_by("priority", maintain_order=True):
        count = int(mine["paused"].sum())
        used = mine.drop_nulls("max_headroom_bytes").sort("max_headroom_bytes", descending=True)
        used = used.filter(used["max_headroom_bytes"] > 0)
        room = ""
        if len(used):
            top = used.row(0, named=True)
            held, whole = (_size(top[name]) for name in ("max_headroom_bytes", "headroom_bytes"))
            room = f" The headroom held at most {held} of {whole}, at {top['port']}."
        if not count:
            yield f"Priority {priority}: no pause.{room}"
            continue
        hosts, switches = (
            mine.filter((mine["is_switch"] == side) & (mine["paused"] > 0))["port"]
            .str.split("->")
            .list.first()
            .n_unique()
            for side in (0, 1)
        )
        worst = mine.sort("paused_ps", "port", descending=[True, False]).row(0, named=True)
        share = int(mine["paused_ps"].sum()) / max(int(mine["over_ps"].sum()), 1)
        yield (
            f"Priority {priority}: {_counted(count, 'pause', 'pauses')} stopped "
            f"{_counted(hosts, 'host', 'hosts')} and {_counted(switches, 'switch', 'switches')}, "
            f"{share:.2g} of the ports' time together; {worst['port']} stood for {_time(worst['paused_ps'])}."
            f"{room}"
        )


def _timeouts(tables: Tables, experiment: Mapping[str, Any], numbers: Mapping[str, Any]) -> Iterator[str]:
    """A sentence a load: how many, whose, and which setting they waited for."""
    flows = tables["flows"]
    for (load,), mine in flows.filter(flows["timeouts"] > 0).group_by("traffic", maintain_order=True):
        transport = experiment["traffic"].get(load, {}).get("transport", {})
        count, worst = int(mine["timeouts"].sum()), mine.sort("timeouts", "id", descending=[True, False])
        setting, waited = _timer(transport, f"traffic.{load}.transport", numbers)
        kind = "queue pair" if "verb" in transport else "connection"
        named = [_flow(row, tables["messages"]) for row in worst.head(MOST).iter_rows(named=True)]
        who = ", ".join(named) + (f" and {len(mine) - MOST} more" if len(mine) > MOST else "")
        whose = _counted(len(mine), kind, f"{kind}s")
        longest = int(worst["timeouts"][0])
        if waited is None or longest > 1 or count != len(mine):
            each = f", {_time(waited)} at least" if waited else ""
            yield f"{load}: {whose} ({who}) had {_counted(count, 'timeout', 'timeouts')} of {setting}{each}."
        else:
            yield f"{load}: {whose} ({who}) waited {_time(waited)} for {setting}."
        head, tail = (int(mine[name].fill_null(0).sum()) for name in ("timeouts_head", "timeouts_tail"))
        if head or tail:
            yield (
                f"{load}: at {head} of these timeouts nothing of the message was known to have arrived; "
                f"{tail} missed the acknowledgement of its last segments."
            )


def _timer(transport: Mapping[str, Any], path: str, numbers: Mapping[str, Any]) -> tuple[str, int | None]:
    """The setting by which a transport's timer waits at least, and its time in ps."""
    names = ("rto_low",) if transport.get("repair") == "irn" else ("timeout", "min_rto")
    for name in names:
        found = numbers.get(f"{path}.{name}")
        if found is not None and name in transport:
            return f"transport.{name}", int(found)
    return "the retransmission timer", None


def _flow(row: Mapping[str, Any], messages: pl.DataFrame) -> str:
    """A connection by its ends, with the step of its slowest message if it has steps."""
    mine = messages.filter((pl.col("flow") == row["id"]) & pl.col("step").is_not_null())
    if not len(mine):
        return f"{row['src']}->{row['dst']}"
    slow = mine.sort("fct_ps", "start_ps", descending=[True, False], nulls_last=False)
    return f"{row['src']}->{row['dst']}, step {slow['step'][0]}"


def _operations(tables: Tables, numbers: Mapping[str, Any]) -> Iterator[str]:
    """A sentence an operation or round that did not end: how far it came, and what it needs."""
    rounds, messages = tables["rounds"], tables["messages"]
    for (load,), mine in rounds.filter(pl.col("fct_ps").is_null()).group_by("traffic", maintain_order=True):
        for row in mine.head(MOST).iter_rows(named=True):
            parts = messages.filter((pl.col("traffic") == load) & (pl.col("round") == row["round"]))
            text = f"{load}: round {row['round']} did not end"
            if len(parts):
                came = _arrived(parts, tables["flows"], messages)
                ran = int(numbers["duration"]) - int(row["start_ps"])
                text += f": {came / row['bytes']:.1%} of its {_size(row['bytes'])} came in {_time(ran)}"
            text += _steps(tables["steps"], load, row["round"])
            if row["ideal_ps"] is not None:
                text += f"; on the empty network it takes {_time(row['ideal_ps'])} at least"
            yield text + "."
        if len(mine) > MOST:
            yield f"{load}: {len(mine) - MOST} more rounds did not end."


def _steps(steps: pl.DataFrame, load: str, number: int) -> str:
    """How many steps of a round ended, if it has any."""
    mine = steps.filter((pl.col("traffic") == load) & (pl.col("round") == number))
    if not len(mine):
        return ""
    under_way = mine["fct_ps"].null_count()
    return f"; {_counted(len(mine) - under_way, 'step', 'steps')} ended, {under_way} had begun"


def _arrived(parts: pl.DataFrame, flows: pl.DataFrame, messages: pl.DataFrame) -> int:
    """Bytes of these messages that are there: all of those that ended, and what followed on their flows."""
    ended = pl.col("fct_ps").is_not_null()
    whole = int(parts.filter(ended)["bytes"].sum())
    before = messages.filter(ended).group_by("flow").agg(pl.col("bytes").sum().alias("before"))
    under_way = parts.filter(~ended).group_by("flow").agg(pl.col("bytes").sum())
    joined = under_way.join(flows, left_on="flow", right_on="id").join(before, on="flow", how="left")
    rest = pl.col("delivered_bytes").cast(pl.Int64) - pl.col("before").fill_null(0).cast(pl.Int64)
    partial = joined.select(rest.clip(0, pl.col("bytes").cast(pl.Int64))).to_series()
    return whole + int(partial.sum())


def _messages(messages: pl.DataFrame) -> Iterator[str]:
    """A sentence a class of which messages did not end."""
    for (name,), mine in messages.sort("class").group_by("class", maintain_order=True):
        missing = mine["fct_ps"].null_count()
        if missing:
            yield (
                f"{missing} of {len(mine)} messages of {name} did not end: "
                "completion times and slowdowns are those of the others."
            )


def _datagrams(tables: Tables) -> Iterator[str]:
    """A sentence a load about lost datagrams, and one about those that waited in their hosts."""
    for (load,), mine in tables.get("datagrams", pl.DataFrame(schema=["traffic"])).group_by(
        "traffic", maintain_order=True
    ):
        sent, lost, late = (int(mine[name].sum()) for name in ("sent", "lost", "late"))
        arrived = int(mine["arrived"].sum())
        if lost:
            share = lost / (lost + arrived)
            yield f"{load}: {lost} of {_counted(sent, 'datagram', 'datagrams')} were lost ({share:.2g})."
        if late:
            wait = _time(int(mine["late_max_ps"].max()))
            yield (
                f"{load}: {late} of {_counted(sent, 'datagram', 'datagrams')} waited for room in their "
                f"host's port (transport.send_buffer), up to {wait}: the host offers more than it can send."
            )


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _time(ps: float) -> str:
    return readable("time_ps", ps)


def _size(size: float) -> str:
    return readable("size_bytes", size)
