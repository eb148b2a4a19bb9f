"""Rules of the amount that a sender sends while it repairs losses: by pipe or by proportional rate reduction.

A connection is followed from its first sign of a loss on. Its scoreboard is read from the blocks of SACK that
its acknowledgements bring, and its window from `flow_trace`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from math import floor
from typing import TYPE_CHECKING, NamedTuple

from shallows.audit.quantities import level
from shallows.audit.rule import Breach, rule
from shallows.audit.windows import Connection, resumes

if TYPE_CHECKING:
    from shallows.audit.trace import Trace


class Answer(NamedTuple):
    """An acknowledgement as it lands at its sender."""

    at: int
    ack: int
    blocks: tuple[tuple[int, int], ...]
    stamp: int
    """The time of sending that it echoes."""


class Sending(NamedTuple):
    """A packet of data or a FIN as its sender hands it to the host's port."""

    at: int
    first: int
    payload: int
    beyond: int


class Board:
    """RFC 6675 s.4: the scoreboard of SACK, and the pipe that follows from it."""

    def __init__(self, one: Connection) -> None:
        """Nothing is reported."""
        self.most, self.mss = int(one.settings["dup_acks"]), one.mss
        self.ranges: list[tuple[int, int]] = []
        self.held = 0

    def add(self, first: int, beyond: int) -> int:
        """Bytes of a block that were not reported before."""
        if first >= beyond:
            return 0
        low = bisect_right(self.ranges, (first, -1))
        if low and self.ranges[low - 1][1] >= first:
            low -= 1
        high = low
        known, start, end = 0, first, beyond
        while high < len(self.ranges) and self.ranges[high][0] <= beyond:
            a, b = self.ranges[high]
            known += max(0, min(b, beyond) - max(a, first))
            start, end, high = min(start, a), max(end, b), high + 1
        self.ranges[low:high] = [(start, end)]
        self.held += beyond - first - known
        return beyond - first - known

    def cut(self, una: int) -> int:
        """All below `una` is acknowledged; bytes of it that were reported before."""
        known = self.below(una)
        self.ranges = [(max(a, una), b) for a, b in self.ranges if b > una]
        self.held -= known
        return known

    def below(self, edge: int) -> int:
        """Bytes reported below `edge`."""
        return sum(max(0, min(b, edge) - a) for a, b in self.ranges)

    def holes(self, una: int) -> Iterator[tuple[int, int, bool]]:
        """Ranges that are not reported, and whether each is lost (`IsLost`)."""
        start, above, held = una, len(self.ranges), self.held
        for a, b in self.ranges:
            if start < a:
                # DupThresh discontiguous ranges, or more than (DupThresh - 1) SMSS bytes, lie above it.
                yield start, a, above >= self.most or held > (self.most - 1) * self.mss
            start, above, held = b, above - 1, held - (b - a)

    def pipe(self, una: int, high: int, again: int) -> int:
        """RFC 6675 s.4 `SetPipe`: all that is not reported or lost, and all sent again below `again`."""
        top = max(self.ranges[-1][1] if self.ranges else una, una)
        found = high - top
        for a, b, lost in self.holes(una):
            found += (0 if lost else b - a) + max(0, min(again, b) - a)
        return found

    def wants(self, una: int, again: int) -> bool:
        """RFC 6675 s.4 `NextSeg` (1): a lost segment waits to be sent again."""
        return any(lost and max(a, again) < b for a, b, lost in self.holes(una))


class Reduction:
    """RFC 6937 s.3, with the slow-start bound: the window of a recovery after each acknowledgement."""

    def __init__(self, one: Connection, since: int = 0) -> None:
        """`since` is RecoverFS."""
        self.mss = one.mss
        self.whole = one.settings["arithmetic"] != "exact"
        self.since, self.window = since, 0
        self.delivered = self.out = 0

    def answer(self, more: int, pipe: int, target: int, moves: bool) -> None:
        """An acknowledgement delivers `more` bytes; it `moves` if it acknowledges more by number."""
        self.delivered += more
        if self.whole:
            self._by_segments(more, pipe, target, moves)
        elif pipe > target:
            due = -(-self.delivered * target // max(self.since, 1))
            self.window = pipe + max(0, due - self.out)
        else:
            limit = max(self.delivered - self.out, more, 0) + self.mss
            self.window = pipe + min(target - pipe, limit)

    def _by_segments(self, more: int, pipe: int, target: int, moves: bool) -> None:
        # Linux tcp_cwnd_reduction counts segments, and gives one more only to an acknowledgement that moves.
        if not more:
            return
        pipe, target, since, out, delivered, more = (
            -(-each // self.mss) for each in (pipe, target, self.since, self.out, self.delivered, more)
        )
        if pipe > target:
            send = max(0, -(-target * delivered // max(since, 1)) - out)
        else:
            send = min(target - pipe, max(delivered - out, more) + moves)
        self.window = (pipe + max(send, out == 0)) * self.mss


def _lossy(trace: Trace, name: str, detection: str) -> Iterator[Connection]:
    """Connections with a sign of a loss that they find so, whose recovery can be followed."""
    import numpy as np

    if trace.warmup or trace.changes:
        return trace.skip(name, "tables begin at warmup, or wires disturb packets")
    usual = {"pipe": "rfc6675", "window_counts": "bytes", "ack_pieces": 1, "loss_halves": "flight",
             "ack_repeats": 0, "ack_ahead": "none"}  # fmt: skip
    for one in trace.connections:
        if one.until > trace.duration or one.settings["loss_detection"] != detection:
            continue
        if any(one.settings[key] != value for key, value in usual.items()):
            trace.skip(name, "a receiver misbehaves, or a window or a pipe is counted otherwise")
        elif resumes(one.settings):
            trace.skip(name, "connections resume from a saved window")
        elif one.settings["prr_on_ecn"] and one.echo.any():
            trace.skip(name, "a reduction for marks is spread over a round trip")
        elif not len(one.cwnd) or np.isnan(one.cwnd).any() or one.paced:
            trace.skip(name, "senders are paced, or no window bounds them")
        else:
            yield one


def read(trace: Trace, one: Connection) -> tuple[list[Answer], list[Sending]]:
    """Acknowledgements and sendings of a connection, in order."""
    import polars as pl

    own = trace.tables["packets"].filter(pl.col("flow") == one.number)
    ends = pl.col("port").str.replace(r"#\d+$", "").str.split("->")
    plain = (pl.col("tcp_flags") & 2 == 0) & (pl.col("payload") + (pl.col("tcp_flags") & 1) > 0)
    sent = own.filter((pl.col("reverse") == 0) & (ends.list.first() == pl.col("src")) & plain)
    back = own.filter(
        (pl.col("reverse") == 1) & (ends.list.last() == pl.col("src")) & (pl.col("lost") == 0)
        & (pl.col("tcp_flags") & 2 == 0) & pl.col("landed_ps").is_not_null()
    ).sort("landed_ps", "time_ps")  # fmt: skip
    blocks = [f"sack{i}_{end}" for i in range(4) for end in ("first", "beyond")]

    def pairs(held: list[int]) -> Iterator[tuple[int, int]]:
        return zip(held[::2], held[1::2], strict=True)

    answers = [
        Answer(at, ack, tuple(span for span in pairs(held) if span[0] is not None), stamp)
        for at, ack, stamp, *held in back.select("landed_ps", "seq", "stamp_ps", *blocks).iter_rows()
    ]  # fmt: skip
    sendings = [
        Sending(at, seq, payload, seq + payload + (flags & 1))
        for at, seq, payload, flags in sent.sort("stamp_ps", "time_ps")
        .select("stamp_ps", "seq", "payload", "tcp_flags").iter_rows()
    ]  # fmt: skip
    return answers, sendings


OPEN, REPAIR, TIMEOUT = "open", "repair", "timeout"


class Sender:
    """A sender from its first sign of a loss on, as its acknowledgements and sendings show it."""

    def __init__(self, trace: Trace, one: Connection) -> None:
        """As it stands when the first sign comes."""
        load = trace.experiment["traffic"][one.traffic]
        self.one, self.settings = one, one.settings
        self.endless = load["kind"] == "bulk" and load["bytes"] == one.settings["receive_window"] == "none"
        self.answers, self.sendings = read(trace, one)
        self.last = self.sendings[-1].at
        """Packets that were handed to the host's port later may not have left it."""
        self.answers = [each for each in self.answers if each.at >= one.until]
        before = [each for each in self.sendings if each.at < one.until]
        self.sendings = self.sendings[len(before) :]
        known = one.ack[one.ack_at < one.until]
        self.una = int(known.max()) if len(known) else 0
        self.high = self.next = max((each.beyond for each in before), default=0)
        self.board, self.mss = Board(one), one.mss
        self.state, self.point, self.again, self.repeats = OPEN, 0, 0, 0
        self.pipe, self.inflated = 0, 0
        self.reduction = Reduction(one)
        self.entry = 0
        """Bytes that the last acknowledgement was the first to report."""
        self.echoed, self.expired = bool(one.echo.any()), False

    def window(self, at: int, before: bool = False) -> int:
        """The congestion window at a time, or just `before`."""
        row = int(self.one.row_at.searchsorted(at, side="left" if before else "right")) - 1
        return int(self.one.cwnd[max(row, 0)])

    def take(self, answer: Answer) -> int:
        """An acknowledgement lands; the bytes that it is the first to report."""
        if answer.ack > self.high:
            return 0
        low = max(self.una, answer.ack)
        more = sum(self.board.add(max(a, low), min(b, self.high)) for a, b in answer.blocks)
        self.entry, moved = more, answer.ack - self.una
        if moved > 0:
            more += moved - self.board.cut(answer.ack)
            self.entry, self.una, self.next = more, answer.ack, max(self.next, answer.ack)
            self.expired = False
            if self.state != REPAIR:
                self.repeats = 0
            if self.state != OPEN and self.una >= self.point:
                self.state, self.repeats = OPEN, 0
            elif self.state == REPAIR and not self.settings["sack"]:
                # RFC 6582 s.3.2 step 3: less what is acknowledged, and a segment for that sent.
                self.inflated = max(0, self.inflated - moved) + (self.mss if moved >= self.mss else 0)
        elif moved < 0 or self.next <= self.una or (self.settings["sack"] and not more):
            return more
        else:
            self.repeats += 1
            if self.state == REPAIR and not self.settings["sack"]:
                self.inflated += self.mss
        if self.state == REPAIR and self.settings["sack"]:
            self.again = max(self.again, self.una)
            self.pipe = self.board.pipe(self.una, self.high, self.again)
            self.reduction.answer(more, self.pipe, self.window(answer.at), moved > 0)
        return more

    def limit(self, at: int) -> int:
        """The most bytes that may be in flight."""
        cwnd = self.window(at)
        if self.state == REPAIR and self.settings["sack"] and self.settings["prr"]:
            return self.reduction.window
        if self.state == REPAIR and not self.settings["sack"]:
            cwnd += self.inflated
        elif self.state == OPEN and self.settings["limited_transmit"] and not self.settings["sack"]:
            cwnd += min(self.repeats, 2) * self.mss  # RFC 3042 s.2
        return cwnd

    def flight(self) -> int:
        """Bytes in flight, as the state counts them."""
        if self.state == REPAIR and self.settings["sack"]:
            return self.pipe
        out = self.next - self.una
        if self.state == TIMEOUT:
            return out - self.board.below(self.next)
        # RFC 3042 s.2: with SACK, segments that have left the network make room.
        return out - (self.board.held if self.state == OPEN and self.settings["limited_transmit"] else 0)

    def expire(self) -> None:
        """The timer has expired: all goes again from the first byte that is not acknowledged."""
        if self.expired:
            self.board = Board(self.one)  # RFC 2018 s.8: the receiver may have reneged.
        self.expired, self.repeats = True, 0
        self.state, self.point, self.next = TIMEOUT, self.high, self.una

    def enter(self, at: int) -> str | None:
        """Recovery begins; a threshold that does not follow from the flight."""
        out, settings = self.high - self.una, self.settings
        before, cwnd = self.window(at, before=True), self.window(at)
        self.state, self.point, self.again = REPAIR, self.high, self.una
        self.inflated = int(settings["dup_acks"]) * self.mss  # RFC 5681 s.3.2 step 3
        since = before if settings["arithmetic"] != "exact" else out
        self.pipe = self.board.pipe(self.una, self.high, self.again) if settings["sack"] else out
        # RFC 6937 s.3.1: the acknowledgement that begins a recovery counts, and shows a loss.
        self.reduction = Reduction(self.one, since)
        self.reduction.answer(self.entry, self.pipe, cwnd, False)
        if self.repeats and not self.echoed:
            due = self.thresholds(out, before)
            if due and min(abs(cwnd - each) for each in due) > 1:
                return f"begins a recovery with a window of {cwnd} bytes, and {due[0]} are due"
        return None

    def thresholds(self, out: int, before: int) -> list[int]:
        """Windows that a loss may leave: RFC 5681 eq. (4), RFC 9438 s.4.6 of the window in use."""
        cc, mss = self.settings["cc"], self.mss
        low = level(str(self.settings["ssthresh_floor"])) or (2, True)
        least = low[0] * (mss if low[1] else 1)
        flight = min(out, before)
        if self.settings["arithmetic"] != "exact":
            shares: list[float] = [before // mss // 2 * mss] if cc["kind"] == "newreno" else []
        elif cc["kind"] == "newreno":
            shares = [flight / 2]
        elif cc["kind"] == "cubic":
            # A window without room for one more segment is in use whole; the record has whole bytes of it.
            used = [before] if flight + mss > before else [flight]
            shares = [each * cc["beta"] for each in ([before, flight] if flight + mss == before else used)]
        else:
            shares = []
        return [floor(max(each, least)) for each in shares]

    def begun(self, at: int, sending: Sending) -> None:
        """The first segment of a recovery goes at once, even without room (RFC 6675 s.5 step 4.3)."""
        if not self.settings["sack"]:
            return
        self.again = max(self.again, sending.beyond)
        self.pipe = self.board.pipe(self.una, self.high, self.again)
        self.reduction.out += sending.payload


def _judge(one: Sender) -> Iterator[Breach]:
    answers, place = one.answers, 0
    times = sorted({each.at for each in answers} | {each.at for each in one.sendings})
    next_answer = 0
    for at in times:
        landed = 0
        while next_answer < len(answers) and answers[next_answer].at == at:
            one.take(answers[next_answer])
            next_answer, landed = next_answer + 1, landed + 1
        if landed > 1:
            return  # Sendings between two acknowledgements of an instant are not told apart.
        timed = False
        while place < len(one.sendings) and one.sendings[place].at == at:
            sending = one.sendings[place]
            place += 1
            old = sending.first < one.high
            alone = old and not landed and not timed
            if alone and (one.state != TIMEOUT or sending.first == one.una):
                # Nothing came, so the timer has expired (RFC 6298 s.5.4).
                one.expire()
                timed = True
            elif old and one.state == OPEN:
                text = one.enter(at)
                if text:
                    yield Breach(f"flow {one.one.number} {text}", at, one.one.place)
                    return
                one.begun(at, sending)
                continue
            elif old and one.state == REPAIR and not one.settings["sack"]:
                continue  # RFC 6582 s.3.2 step 3: a partial acknowledgement sends the next hole at once.
            breach = _too_much(one, at, sending)
            if breach:
                yield breach
                return
        if landed and at < one.last and one.state == REPAIR and one.settings["sack"]:
            least = one.limit(at)
            waits = one.board.wants(one.una, one.again)
            if one.pipe + one.mss <= least and (waits or one.endless):
                text = f"flow {one.one.number} leaves {least - one.pipe} bytes unused in recovery"
                yield Breach(text, at, one.one.place)
                return


def _too_much(one: Sender, at: int, sending: Sending) -> Breach | None:
    """Sends a segment; a breach if the window has no room for it."""
    flight, most = one.flight(), one.limit(at)
    # A sender that repairs by SACK asks for room for a whole segment (RFC 6675 s.5 step C).
    by_sack = one.state == REPAIR and bool(one.settings["sack"])
    takes = one.mss if by_sack else sending.payload
    if flight + takes > most and flight > 0:
        text = f"flow {one.one.number} sends byte {sending.first} with {flight} bytes in flight"
        return Breach(f"{text}, and {most} may be ({one.state})", at, one.one.place)
    if by_sack:
        one.pipe += sending.payload
        top = one.board.ranges[-1][1] if one.board.ranges else one.una
        if sending.first < min(one.high, top):
            one.again = max(one.again, sending.beyond)  # RFC 6675 s.4: a rescue does not move HighRxt.
        one.reduction.out += sending.payload
    one.next = max(one.next, sending.beyond)
    one.high = max(one.high, one.next)
    return None


def _followed(trace: Trace, name: str, proportional: bool) -> Iterator[Breach]:
    for one in _lossy(trace, name, "rfc6675"):
        if bool(one.settings["prr"] and one.settings["sack"]) == proportional:
            yield from _judge(Sender(trace, one))


def _by_time(one: Sender) -> Iterator[Breach]:
    """Where losses are found by time the pipe is not computed, and the slow-start bound alone is judged.

    A recovery is judged from an acknowledgement on that reduces the window, until a timer sends a segment.
    """
    place, next_answer, judged = 0, 0, False
    delivered = out = 0
    for at in sorted({each.at for each in one.answers} | {each.at for each in one.sendings}):
        landed = more = 0
        while next_answer < len(one.answers) and one.answers[next_answer].at == at:
            more += one.take(one.answers[next_answer])
            next_answer, landed = next_answer + 1, landed + 1
        judged = judged and one.state == REPAIR
        here = []
        while place < len(one.sendings) and one.sendings[place].at == at:
            here.append(one.sendings[place])
            place += 1
        again = any(each.first < one.high for each in here)
        if again and not landed:
            # A timer: for order, for a probe, or of retransmission.
            one.state, one.point, judged = REPAIR, one.high, False
        elif again and one.state == OPEN:
            one.state, one.point, judged = REPAIR, one.high, one.window(at) < one.window(at, before=True)
            delivered = out = 0
        delivered += more
        one.high = one.next = max([one.high, *(each.beyond for each in here)])
        sent = sum(each.payload for each in here)
        # The first segment goes at once, and a short one counts as a whole one.
        allowed = max(delivered - out, more) + (3 if out == 0 else 2) * one.mss
        if judged and more and sent >= allowed:
            text = f"flow {one.one.number} sends {sent} bytes in recovery"
            yield Breach(f"{text}, after {delivered} delivered and {out} sent", at, one.one.place)
            return
        out += sent


@rule("pipe", "RFC 6675 s.4, s.5; RFC 6582 s.3.2; RFC 3042 s.2; RFC 5681 eq. (4): a repair keeps its window")
def repairs_within_window(trace: Trace) -> Iterator[Breach]:
    """In and after a recovery the pipe is at most the window, and a sender by SACK uses the window."""
    if any(one.settings["loss_detection"] == "rack" for one in trace.connections):
        trace.skip("pipe", "losses are found by time (RACK)")
    yield from _followed(trace, "pipe", False)


@rule("prr", "RFC 6937 s.3: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out, or the slow-start bound")
def reduces_in_proportion(trace: Trace) -> Iterator[Breach]:
    """A recovery by proportional rate reduction sends as much as its acknowledgements deliver."""
    yield from _followed(trace, "prr", True)
    for one in _lossy(trace, "prr", "rack"):
        if one.settings["prr"] and one.settings["sack"]:
            yield from _by_time(Sender(trace, one))
