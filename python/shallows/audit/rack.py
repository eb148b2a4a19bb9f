"""RACK computed again: a repair needs a segment that was sent later and has come, and some time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from shallows.audit.quantities import picoseconds
from shallows.audit.repair import Answer, Sending, read
from shallows.audit.rule import Breach, rule
from shallows.audit.windows import Connection

if TYPE_CHECKING:
    from shallows.audit.trace import Trace

Sent = tuple[int, int]
"""When a segment was sent last, and the byte after its last: RFC 8985 s.6.1 orders segments so."""


@dataclass
class _Segment:
    first: int
    beyond: int
    at: int
    again: bool = False
    delivered: bool = False
    lost: bool = False


class _Rack:
    """RFC 8985 s.6.2, with the shortest reordering window and round trip that it allows."""

    def __init__(self, enough: int, least: int) -> None:
        self.enough = enough
        self.segments: dict[int, _Segment] = {}
        self.newest: Sent = (-1, -1)
        self.trip, self.least, self.measured = 0, least, least > 0
        self.far = self.una = self.point = self.high = 0
        self.reordered = False
        self.uneven = False
        """Something was reported above a hole, or sent again, and not all of it is acknowledged."""

    def send(self, one: Sending) -> _Segment | None:
        """A segment is sent; if it was sent before, that one."""
        old = self.segments.get(one.first)
        again = old is not None or one.first < self.high
        self.high, self.uneven = max(self.high, one.beyond), self.uneven or again
        self.segments[one.first] = _Segment(one.first, one.beyond, one.at, again)
        return old

    def take(self, answer: Answer) -> None:
        """RFC 8985 s.6.2 steps 1 to 3: an acknowledgement lands."""
        if answer.ack > self.una:
            # Step 1: the least of the round trips that RFC 6298 and RFC 7323 measure.
            self.measured, took = True, answer.at - answer.stamp
            self.least = min(self.least or took, took)
        self.una, trips = max(self.una, answer.ack), list[int]()
        self.uneven |= bool(answer.blocks)
        # Segments are in the order of their numbers.
        for one in list(self.segments.values()) if self.uneven else self._first():
            inside = any(a <= one.first and one.beyond <= b for a, b in answer.blocks)
            if one.delivered or not (one.beyond <= self.una or inside):
                continue
            one.delivered, took = True, answer.at - one.at
            if one.again and took < self.least:
                continue  # Step 2: it may be the first sending that has come.
            if not one.again:
                self.least = min(self.least or took, took)
                self.reordered |= one.beyond < self.far
            self.far = max(self.far, one.beyond)
            self.newest = max(self.newest, (one.at, one.beyond))
            trips.append(took)
        if trips:
            # One of them is the last. A segment that was sent twice may not count.
            self.trip = min(trips)
        for first in [one.first for one in self._first()]:
            del self.segments[first]
        self.uneven &= bool(self.segments)
        self.look(answer.at)

    def _first(self) -> list[_Segment]:
        """Segments below the acknowledged byte."""
        return list(takewhile(lambda one: one.beyond <= self.una, self.segments.values()))

    def look(self, now: int) -> None:
        """Steps 4 and 5: segments that are lost now. In order, none was sent before the newest that came."""
        if not self.uneven:
            return
        reported = sum(one.delivered for one in self.segments.values())
        if self.una >= self.point and any(one.again or one.lost for one in self.segments.values()):
            # Where a recovery ends and a repair is under way, another begins for all that has been sent.
            self.point = self.high
        repairing = self.una < self.point
        at_once = not self.reordered and (repairing or reported >= self.enough)
        # The window is at most the smoothed round trip, which is 0 until the first one is measured.
        window = 0 if at_once or not self.measured else self.least // 4
        for one in self.segments.values():
            if (
                not one.delivered
                and (one.at, one.beyond) < self.newest
                and now >= one.at + self.trip + window
            ):
                one.lost = True


@rule("rack", "RFC 8985 s.6.2: a segment sent later has come, and a round trip and the window have passed")
def repairs_in_time(trace: Trace) -> Iterator[Breach]:
    """Where losses are found by time, a segment is sent again once RACK takes it for lost, or by a timer."""
    if trace.warmup or trace.changes:
        return trace.skip("rack", "tables begin at warmup, or wires disturb packets")
    for one in trace.connections:
        settings = one.settings
        if settings["loss_detection"] != "rack" or one.until > trace.duration:
            continue
        usual = {
            "ack_pieces": 1,
            "ack_repeats": 0,
            "ack_ahead": "none",
            "rto_rtts": "none",
            "tail_loss_probe": False,
        }
        if any(settings[key] != value for key, value in usual.items()) or one.paced:
            trace.skip("rack", "probes or timeouts by the path send segments again, or a receiver misbehaves")
        else:
            yield from _judged(trace, one)


def _judged(trace: Trace, one: Connection) -> Iterator[Breach]:
    answers, sendings = read(trace, one)
    rack, place = _Rack(int(one.settings["dup_acks"]), _handshake(trace, one)), 0
    timer, silent = picoseconds(one.settings["min_rto"]), 0
    timer = min(timer, picoseconds(one.settings["initial_rto"]))
    for each in sendings:
        # An answer of the same time may come before it.
        while place < len(answers) and answers[place].at <= each.at:
            if answers[place].ack > rack.una:
                silent = answers[place].at
            rack.take(answers[place])
            place += 1
        rack.look(each.at)
        old = rack.send(each)
        if old is None:
            silent = silent or each.at
            continue
        if each.at - silent >= timer:
            for other in rack.segments.values():
                other.lost = other.lost or other.first != each.first
        elif not old.lost:
            text = (
                f"flow {one.number} sends byte {each.first} again {each.at - old.at} ps after the last time"
            )
            yield Breach(f"{text}, and nothing sent later has come for long enough", each.at, one.place)
            return
        if rack.una >= rack.point:
            rack.point = rack.high


def _handshake(trace: Trace, one: Connection) -> int:
    """The round trip that the answer to the SYN measured, or 0."""
    import polars as pl

    answer = trace.hops.filter(
        (pl.col("flow") == one.number) & (pl.col("reverse") == 1) & (pl.col("to") == pl.col("src"))
        & (pl.col("tcp_flags") & 2 == 2) & (pl.col("lost") == 0) & pl.col("landed_ps").is_not_null()
    )  # fmt: skip
    return int((answer["landed_ps"] - answer["stamp_ps"]).min() or 0)  # type: ignore[arg-type]
