"""The story of one connection of TCP, from the tables of a run with `probe.audit`.

Losses form episodes: an episode lasts from its first loss to the acknowledgement that covers its last one.
The cause of each pause of the sender follows from the instant at which it ends: at an acknowledgement the
window was the limit, at the end of another packet the host's own port, at a new message the application.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

__all__ = ["Episode", "Seen", "Story", "see", "tell"]

NEAR_PS = 1000
"""Instants that differ by this at most are the same: times at ports are rounded to whole picoseconds."""
DUPLICATES = 3
"""RFC 5681 section 3.2."""
_LATE = 2**63

Tables = Mapping[str, pl.DataFrame]


class Episode(NamedTuple):
    """Losses and their repair. Times are in ps, windows in bytes; None is what the run does not show.

    `repeats` of the `packets` were lost again.
    """

    begin: int
    end: int
    packets: int
    repeats: int
    places: dict[tuple[str, str], int]
    how: str
    silence: int
    again: int | None
    repaired: int | None
    round_trips: float | None
    window_before: float | None
    window_least: float | None


@dataclass(frozen=True)
class Story:
    """The facts about a connection. `waits` are ps by cause, of the time until its last packet left."""

    flow: dict[str, Any]
    ports: list[str]
    packets: int
    episodes: list[Episode]
    marked: dict[str, int] = field(default_factory=dict)
    first_mark: int | None = None
    acks_lost: int = 0
    handshakes_lost: int = 0
    needless: int = 0
    """Repeats of data of which no earlier copy was lost."""
    until: int = 0
    waits: dict[str, int] = field(default_factory=dict)


class Seen(NamedTuple):
    """The packets of a connection: data at each port and at the sender, acknowledgements, and losses.

    `lost` has a payload for data only; for others it is null.
    """

    about: dict[str, Any]
    data: pl.DataFrame
    sent: pl.DataFrame
    acks: pl.DataFrame
    lost: pl.DataFrame


def see(tables: Tables, flow: int) -> Seen | None:
    """The packets of a connection in the order of their times; None if no connection has the number."""
    found = tables["flows"].filter(pl.col("id") == flow)
    if found.is_empty():
        return None
    about = found.row(0, named=True)
    rows = tables["packets"].filter(pl.col("flow") == flow).sort("time_ps")
    plain = pl.col("port").str.replace(r"#\d+$", "")
    data = rows.filter((pl.col("reverse") == 0) & (pl.col("payload") > 0))
    sent = data.filter(plain.str.starts_with(f"{about['src']}->"))
    back = rows.filter((pl.col("reverse") == 1) & pl.col("landed_ps").is_not_null() & (pl.col("lost") == 0))
    acks = back.filter(plain.str.ends_with(f"->{about['src']}")).sort("landed_ps")
    known = sent.select("seq", "stamp_ps", "payload").unique()
    lost = _lost(tables, rows, flow).join(known, on=["seq", "stamp_ps"], how="left")
    return Seen(about, data, sent, acks, lost.sort("time_ps"))


def tell(tables: Tables, flow: int, min_rto: int, receive_window: int = 0, limits: bool = True) -> Story:
    """The story of a connection. `min_rto` is in ps, `receive_window` in bytes or 0 for none.

    Without `limits` it does not say what the sender waited for.

    Raises KeyError for a number that no connection has.
    """
    seen = see(tables, flow)
    if seen is None:
        raise KeyError(flow)
    about, data, sent, acks, lost = seen
    mine = lost.filter((pl.col("reverse") == 0) & pl.col("payload").is_not_null())
    handshakes = lost.filter(
        (pl.col("reverse") == 0) & pl.col("payload").is_null() & (pl.col("pure_ack") == 0)
    )
    trace = tables["flow_trace"].filter(pl.col("flow") == flow).sort("time_ps")
    marks = data.filter(pl.col("ecn") == 3).unique(["seq", "stamp_ps"], keep="first", maintain_order=True)
    return Story(
        about,
        list(data["port"].unique(maintain_order=True)),
        len(sent),
        [_episode(each, sent, acks, trace, min_rto) for each in _episodes(mine, acks)],
        dict(marks.group_by("port", maintain_order=True).len().rows()),
        marks["time_ps"].min() if len(marks) else None,  # type: ignore[arg-type]
        len(lost.filter(pl.col("reverse") == 1)),
        len(handshakes),
        _needless(sent, mine),
        int(sent["time_ps"].max() or 0),  # type: ignore[arg-type]
        _waits(tables, about, sent, acks, trace, receive_window) if limits else {},
    )


def _needless(sent: pl.DataFrame, lost: pl.DataFrame) -> int:
    """The number of repeats that left although no earlier copy was lost."""
    gone: dict[int, int] = dict(lost.group_by("seq").agg(pl.len()).rows())
    copies: dict[int, int] = dict(sent.group_by("seq").agg(pl.len()).rows())
    return sum(max(count - 1 - gone.get(seq, 0), 0) for seq, count in copies.items())


def _lost(tables: Tables, rows: pl.DataFrame, flow: int) -> pl.DataFrame:
    """Packets that ports dropped or wires lost, each with the cause."""
    names = ["time_ps", "port", "reverse", "pure_ack", "seq", "stamp_ps", "cause"]
    wires = _on_wires(rows, tables["queues"]).select(names)
    if "losses" not in tables:
        return wires
    dropped = tables["losses"].filter(pl.col("flow") == flow).select(names)
    return pl.concat([dropped, wires.cast(dropped.schema)])


def _on_wires(rows: pl.DataFrame, queues: pl.DataFrame) -> pl.DataFrame:
    """Packets that wires lost: by an injected fault as they landed, or earlier by a link that went down."""
    took = pl.col("landed_ps") - pl.col("time_ps")
    usual = rows.filter(pl.col("lost") == 0).group_by("port").agg(took.median().alias("usual"))
    lost = rows.filter(pl.col("lost") == 1).join(usual, on="port", how="left")
    counted = lost.join(queues.select("port", "drops_wire", "drops_cut"), on="port", how="left")
    early = (took < pl.col("usual")) | (pl.col("drops_wire") == 0)
    return counted.with_columns(
        cause=pl.when((pl.col("drops_cut") > 0) & early)
        .then(pl.lit("drops_cut"))
        .otherwise(pl.lit("drops_wire"))
    )


def _repairs(lost: pl.DataFrame, acks: pl.DataFrame) -> list[int | None]:
    """For each loss the arrival of the first acknowledgement that covers it."""
    landed, upto = acks["landed_ps"].to_numpy(), np.maximum.accumulate(acks["seq"].to_numpy())
    found: list[int | None] = []
    for time, seq, payload in lost.select("time_ps", "seq", "payload").rows():
        k = max(int(np.searchsorted(upto, seq + payload)), int(np.searchsorted(landed, time, "right")))
        found.append(int(landed[k]) if k < len(landed) else None)
    return found


def _episodes(lost: pl.DataFrame, acks: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The losses of each episode, with the column `repaired`."""
    if lost.is_empty():
        return
    lost = lost.with_columns(pl.Series("repaired", _repairs(lost, acks), pl.UInt64))
    first, open_until = 0, 0.0
    for k, (time, repaired) in enumerate(lost.select("time_ps", "repaired").rows()):
        if k > first and time > open_until:
            yield lost[first:k]
            first, open_until = k, 0.0
        open_until = max(open_until, float("inf") if repaired is None else repaired)
    yield lost[first:]


def _episode(
    lost: pl.DataFrame, sent: pl.DataFrame, acks: pl.DataFrame, trace: pl.DataFrame, min_rto: int
) -> Episode:
    begin, end = int(lost["time_ps"][0]), int(lost["time_ps"][-1])
    repaired = None if lost["repaired"].null_count() else int(lost["repaired"].max())  # type: ignore[arg-type]
    known = trace.filter(pl.col("time_ps") <= begin).tail(1)
    rtt = known["srtt_ps"].drop_nulls().to_list()
    again = sent.filter((pl.col("time_ps") > begin) & pl.col("seq").is_in(lost["seq"].implode()))
    # A lost packet can leave its host after the first loss: only a second departure of its bytes repairs.
    again = again.join(lost.select("seq", "stamp_ps"), on=["seq", "stamp_ps"], how="anti")
    how, silence = _how(lost, again, sent, acks, min_rto)
    windows = pl.concat([known, trace.filter(pl.col("time_ps").is_between(begin, repaired or _LATE))])
    first = int(again["time_ps"][0]) if len(again) else None
    before = windows.filter(pl.col("time_ps") <= (first or _LATE))["cwnd_bytes"].max()
    return Episode(
        begin,
        end,
        len(lost),
        len(lost) - lost["seq"].n_unique(),
        dict(Counter(zip(lost["port"], lost["cause"], strict=True))),
        how,
        silence,
        first,
        repaired,
        (repaired - begin) / rtt[0] if rtt and repaired is not None else None,
        before,  # type: ignore[arg-type]
        windows["cwnd_bytes"].min(),  # type: ignore[arg-type]
    )


def _how(
    lost: pl.DataFrame, again: pl.DataFrame, sent: pl.DataFrame, acks: pl.DataFrame, min_rto: int
) -> tuple[str, int]:
    """The sender's reason to repeat the first loss, and the length of its silence before that."""
    if again.is_empty():
        return "nothing", 0
    seq, time = int(again["seq"][0]), int(again["time_ps"][0])
    told = acks.filter(pl.col("landed_ps").is_between(lost["time_ps"][0], time))
    beyond = [pl.col(f"sack{k}_beyond") > seq for k in range(4)]
    if len(told.filter(pl.any_horizontal(beyond))):
        return "SACK", 0
    if len(told.filter((pl.col("seq") == seq) & (pl.col("pure_ack") == 1))) > DUPLICATES:
        return "duplicate acknowledgements", 0
    before = [
        sent.filter(pl.col("time_ps") < time)["time_ps"].max() or 0,
        acks.filter(pl.col("landed_ps") <= time - NEAR_PS)["landed_ps"].max() or 0,
    ]
    silence = time - int(max(before))  # type: ignore[type-var, arg-type]
    return ("timeout" if silence >= min_rto else "probe"), silence


def _waits(
    tables: Tables,
    about: dict[str, Any],
    sent: pl.DataFrame,
    acks: pl.DataFrame,
    trace: pl.DataFrame,
    receive_window: int,
) -> dict[str, int]:
    """The time until the last packet left, in ps by cause."""
    if sent.is_empty():
        return {}
    rates = dict(tables["queues"].select("port", "rate_bps").rows())
    ports = list(sent["port"].unique())
    others = tables["packets"].filter(pl.col("port").is_in(ports))["time_ps"].unique().sort().to_numpy()
    landed = acks["landed_ps"].unique().sort().to_numpy()
    mine = tables["messages"].filter(pl.col("flow") == about["id"]).sort("start_ps")
    starts, earlier = mine["start_ps"].to_numpy(), (mine["bytes"].cum_sum() - mine["bytes"]).to_numpy()
    looked, windows = trace["time_ps"].to_numpy(), trace["cwnd_bytes"].to_numpy()
    waits: Counter[str] = Counter()
    previous, upto = int(about["start_ps"]), 0
    for k, (time, port, size, seq, payload) in enumerate(
        sent.select("time_ps", "port", "size", "seq", "payload").rows()
    ):
        begins = time - -(-size * 8 * 10**12 // rates[port])
        if begins - previous > NEAR_PS:
            new = slice(*np.searchsorted(starts, [previous, begins], "right"))
            fresh = bool((earlier[new] <= upto).any())
            cause = "handshake" if k == 0 else "application" if fresh else _cause(begins, landed, others)
            if cause == "clock" and seq < upto:
                cause = "timer"
            if cause == "window" and receive_window:
                last = int(np.searchsorted(looked, previous, "right")) - 1
                cause = "receiver" if last >= 0 and windows[last] >= receive_window else cause
            waits[cause] += begins - previous
        waits["sending"] += time - max(begins, previous)
        previous, upto = time, max(upto, seq + payload)
    return dict(waits)


def _cause(begins: int, landed: np.ndarray, others: np.ndarray) -> str:
    """Why a packet left its host at this instant and not before."""
    if _has(landed, begins):
        return "window"
    return "port" if _has(others, begins) else "clock"


def _has(times: np.ndarray, instant: int) -> bool:
    k = int(np.searchsorted(times, instant - NEAR_PS))
    return k < len(times) and int(times[k]) <= instant + NEAR_PS
