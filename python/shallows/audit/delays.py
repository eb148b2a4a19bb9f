"""The rule of Swift: a window that keeps the round trip at a target, until the connection's first loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, isnan, sqrt
from typing import TYPE_CHECKING, Any

from shallows.audit.quantities import level, picoseconds
from shallows.audit.rates import Event, Sender, senders
from shallows.audit.rule import Breach, rule

if TYPE_CHECKING:
    from shallows.audit.trace import Trace

USUAL = 20 * 10**6
"""Least target of a path without switches in ps, where the experiment leaves it to the path."""


def _paths(trace: Trace, segments: dict[int, int]) -> dict[int, tuple[int, int]]:
    """By connection: the switches of its path, and the round trip of a full packet on the empty path."""
    import polars as pl

    rows = trace.hops.filter(pl.col("flow").is_in(list(segments)) & pl.col("landed_ps").is_not_null())
    rows = rows.select(
        "flow", "reverse", "port", "is_switch", "rate_bps", "size", "payload", "opcode",
        took=pl.col("landed_ps") - pl.col("time_ps"),
    )  # fmt: skip
    # InfiniBand s.9.2.1: an acknowledgement has an AETH of 4 bytes more than data in the middle of a message.
    beyond = pl.col("size").cast(pl.Int64) - pl.when(pl.col("opcode") == 17).then(4).otherwise("payload")
    header = beyond.filter((pl.col("payload") > 0) | (pl.col("opcode") == 17)).min().over("flow")
    by_port = rows.with_columns(header=header).group_by("flow", "reverse", "port")
    ways = by_port.agg(pl.col("took").min(), pl.col("header", "is_switch", "rate_bps").first())
    found: dict[int, tuple[int, int]] = {}
    for flow, reverse, _, took, header, switch, bps in ways.sort("flow", "reverse", "port").iter_rows():
        switches, trip = found.get(flow, (0, 0))
        bits = 0 if reverse else 8 * (segments[flow] + (header or 0))
        found[flow] = (switches + (0 if reverse else switch), trip + took + -(-bits * 10**12 // bps))
    return found


def _size(settings: Mapping[str, Any], key: str, mss: int) -> float:
    found = level(str(settings.get(key, "none")))
    return inf if found is None else float(found[0] * (mss if found[1] else 1))


def _segment(settings: Mapping[str, Any]) -> int:
    return int(_size(settings, "mss" if "mss" in settings else "mtu", 1))


MOST = 16
"""Most windows that are followed at once."""


class _Delay:
    """Swift's sender: Kumar 2020 algorithm 1 and s.3.5, without the window of the endpoint's delay."""

    def __init__(self, one: Sender, switches: int, trip: int) -> None:
        cc = self.cc = one.settings["cc"]
        self.mss = _segment(one.settings)
        first = _size(one.settings, "initial_window", self.mss)
        first = min(one.cwnd[0] if first == inf else first, _size(one.settings, "cwnd_max", self.mss))
        self.window = first / self.mss
        self.most = _size(one.settings, "cwnd_max", self.mss) / self.mss
        base = max(USUAL, trip) if cc["base_target"] == "none" else picoseconds(cc["base_target"])
        self.target = base + switches * picoseconds(cc["hop_target"])
        self.range, self.smoothed = picoseconds(cc["scaling_range"]), 0
        self.states = [(self.window, -inf)]
        """Windows that the record allows, each with the time of its last decrease."""

    def wanted(self, window: float) -> float:
        """Target: base, hops, and alpha / sqrt(cwnd) + beta between 0 and the range."""
        least, most = self.cc["scaling_min"], self.cc["scaling_max"]
        alpha = self.range / (1 / sqrt(least) - 1 / sqrt(most))
        return self.target + min(max(alpha * (1 / sqrt(window) - 1 / sqrt(most)), 0.0), self.range)

    def after(self, event: Event, window: float, shrunk: float) -> Iterator[tuple[float, float]]:
        """The windows that may follow, each with the time of the last decrease."""
        target, delay, cc = self.wanted(window), event.trip, self.cc
        if delay < target * (1 + 1e-9):
            more = cc["ai"] * (event.gained / self.mss) / max(window, 1.0)
            yield min(window + more, self.most), shrunk
        if delay > target * (1 - 1e-9):
            rests = event.at - shrunk - self.smoothed
            if rests >= -8:
                factor = max(1 - cc["beta"] * (delay - target) / delay, 1 - cc["max_decrease"])
                yield max(window * factor, cc["min_window"]), event.at
            if rests <= 8:
                yield window, shrunk


@rule(
    "swift", "Kumar 2020 algorithm 1: additive increase below a target delay, a decrease by the excess above"
)
def keeps_target(trace: Trace) -> Iterator[Breach]:
    """Swift's window, computed again from its round trips, is the recorded one."""
    every = list(senders(trace, "swift", "swift"))
    if not every:
        return
    if trace.experiment.get("ecmp", "flow") not in ("flow", "symmetric"):
        return trace.skip("swift", "flows are spread over several paths")
    paths = _paths(trace, {one.number: _segment(one.settings) for one in every})
    for one in every:
        if one.number in paths:  # else none of its packets has come back
            yield from _follows(one, _Delay(one, *paths[one.number]))


def _follows(one: Sender, law: _Delay) -> Iterator[Breach]:
    row, last, first = 0, len(one.row_at), int(law.window * law.mss)
    if abs(one.cwnd[0] - first) > 1:
        text = f"flow {one.number} begins with a window of {one.cwnd[0]:.0f} bytes, and {first} are due"
        yield Breach(text, int(one.row_at[0]), one.place)
        return
    for place, event in enumerate(one.events):
        if event.at >= one.until:
            return
        if not event.gained:
            continue
        while row + 1 < last and one.row_at[row + 1] <= event.at:
            row += 1
            if one.row_at[row] != event.at and abs(one.cwnd[row] - one.cwnd[row - 1]) > 1:
                text = f"flow {one.number} goes to a window of {one.cwnd[row]:.0f} bytes without an answer"
                yield Breach(text, int(one.row_at[row]), one.place)
                return
        if isnan(one.cwnd[row]):
            return
        law.smoothed = law.smoothed - law.smoothed // 8 + event.trip // 8 if law.smoothed else event.trip
        if one.row_at[row] == event.at and not isnan(one.smoothed[row]):
            law.smoothed = int(one.smoothed[row])
        before = law.states[0][0]
        ways = list(dict.fromkeys(way for state in law.states for way in law.after(event, *state)))
        due = [int(max(window, 1.0) * law.mss) for window, _ in ways]
        near = [way for way, each in zip(ways, due, strict=True) if abs(each - one.cwnd[row]) <= 1]
        more = place + 1 < len(one.events) and one.events[place + 1].at == event.at
        if not near and not more:
            text = f"flow {one.number} has a window of {one.cwnd[row]:.0f} bytes after {before * law.mss:.0f}"
            text += f" and a round trip of {event.trip} ps"
            yield Breach(f"{text}, and {' or '.join(map(str, due))} are due", event.at, one.place)
            return
        law.states = (near or ways)[:MOST]
        window = law.states[0][0]
        paced = 8 * law.mss * window / (law.smoothed / 1e12)
        if window < 1 and not more and abs(one.rate[row] - paced) > 1 + 1e-6 * paced:
            text = f"flow {one.number} sends {one.rate[row]:.0f} b/s with a window of {window:.3f} segments"
            yield Breach(f"{text}, and {paced:.0f} are due", event.at, one.place)
            return
