"""Where TCP of the Linux kernel parts from its standards, as far as packets show.

Each rule reads what a host sent and what came to it. A kernel that parts from a sentence of an RFC is not
wrong by that: later RFCs, and its own reasons, may say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.audit.quantities import level
from shallows.audit.rule import TCP, Breach, Runs, rule

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from shallows.audit.trace import Trace

SECOND = 10**12
JIFFY = 10**9
"""CONFIG_HZ is 1000."""
FIN, SYN, ECE, CWR = 1, 2, 0x40, 0x80

Check = Callable[["Trace"], Iterator[Breach]]


def standard(name: str, source: str) -> Callable[[Check], Check]:
    """Lists a function as a standard from which the kernel may part: the first place, and how often."""

    def listed(each: Check) -> Check:
        def together(trace: Trace) -> Iterator[Breach]:
            found = list(each(trace))
            if found:
                first = min(found, key=lambda one: one.time_ps)
                yield first._replace(rows=sum(one.rows for one in found))

        rule(name, source, Runs.STANDARD)(together)
        return each

    return listed


class Packets(NamedTuple):
    """Packets of a connection in one direction at one of its ends, in the order of `at`."""

    at: np.ndarray
    seq: np.ndarray
    payload: np.ndarray
    flags: np.ndarray
    ecn: np.ndarray
    stamp: np.ndarray
    """When each left the host that made it; of an acknowledgement, when the data did that it echoes."""
    blocks: np.ndarray
    """First and last bounds of four blocks of SACK, or -1; shape (packets, 8)."""

    @property
    def end(self) -> np.ndarray:
        """The byte after the last of each packet."""
        return self.seq + self.payload

    def chosen(self, which: np.ndarray) -> Packets:
        """Those of them that `which` marks."""
        return Packets(*(each[which] for each in self))

    @property
    def held(self) -> np.ndarray:
        """Bytes that the blocks report."""
        return (self.blocks[:, 1::2] - self.blocks[:, ::2]).clip(min=0).sum(axis=1)


class Sides(NamedTuple):
    """A connection as both of its hosts see it."""

    number: int
    sender: str
    receiver: str
    settings: Mapping[str, Any]
    mss: int
    sent: Packets
    """All that the sender sent."""
    told: Packets
    """Acknowledgements that came to it."""
    came: Packets
    """All that came to the receiver."""
    answered: Packets
    """Acknowledgements that it sent."""
    quiet: bool
    """The receiver's host sends nothing but answers, which then do not wait for its port."""
    until: int
    """When the sender first learnt of a loss, or sent something again."""
    least: int
    """The least round trip, of its SYN or of data."""


def _packets(rows: pl.DataFrame, time: str) -> Packets:
    import numpy as np

    rows = rows.sort(time, maintain_order=True)
    names = [f"sack{block}_{edge}" for block in range(4) for edge in ("first", "beyond")]
    blocks = [rows[name].cast(int).fill_null(-1).to_numpy() for name in names]
    columns = (time, "seq", "payload", "tcp_flags", "ecn", "stamp_ps")
    return Packets(*(rows[name].to_numpy().astype("i8") for name in columns), np.stack(blocks, axis=1))


def sides(trace: Trace) -> Iterator[Sides]:
    """The connections of which data were sent and acknowledged. Ask `Trace.sides` for them."""
    import polars as pl

    table = trace.tables["packets"]
    loads = trace.experiment["traffic"]
    ends = table["port"].str.replace(r"#\d+$", "").str.split_exact("->", 1).struct
    rows = table.with_columns(ends.field("field_0").alias("from"), ends.field("field_1").alias("to"))
    hosts = pl.concat([table["src"], table["dst"]]).unique().implode()
    rows = rows.filter(pl.col("from").is_in(hosts) | pl.col("to").is_in(hosts))
    busy = set(table.filter((pl.col("payload") > 0) & (pl.col("reverse") == 0))["src"])
    for key, own in rows.partition_by("flow", as_dict=True, maintain_order=True).items():
        src, dst, load = own.row(0, named=True)["src"], own.row(0, named=True)["dst"], own["traffic"][0]
        settings = loads[load]["transport"]
        if settings["profile"] not in TCP:
            continue
        forth, back = own.filter(pl.col("reverse") == 0), own.filter(pl.col("reverse") == 1)
        arrived = pl.col("landed_ps").is_not_null() & (pl.col("lost") == 0)
        here = (
            forth.filter(pl.col("from") == src),
            back.filter((pl.col("to") == src) & arrived),
            forth.filter((pl.col("to") == dst) & arrived),
            back.filter(pl.col("from") == dst),
        )
        times = ("time_ps", "landed_ps", "landed_ps", "time_ps")
        sent, told, came, answered = (_packets(each, time) for each, time in zip(here, times, strict=True))
        if not len(told.at) or not sent.payload.any():
            continue
        yield Sides(
            int(key[0]), src, dst, settings, int(sent.payload.max()),
            sent, told.chosen(told.flags & SYN == 0), came, answered.chosen(answered.flags & SYN == 0),
            dst not in busy, _first_sign(sent, told), _least(sent, told),
        )  # fmt: skip


def _least(sent: Packets, told: Packets) -> int:
    """The least time from a first sending to an answer that acknowledges or reports it."""
    import numpy as np

    first, most = sent.chosen(_new(sent) | (sent.flags & SYN > 0)), np.iinfo("i8").max
    # An answer is to the newest data that it names, or to older ones.
    named = np.maximum(told.seq, told.blocks[:, 1::2].max(axis=1))
    place = (np.searchsorted(first.end, named, side="right") - 1).clip(min=0)
    took = told.at - first.at[place]
    return int(took[took > 0].min(initial=most))


def _acknowledged(one: Sides, at: np.ndarray) -> np.ndarray:
    """The bytes that acknowledgements had reached at the sender by each time."""
    import numpy as np

    reached = np.concatenate([[0], np.maximum.accumulate(one.told.seq)])
    return reached[np.searchsorted(one.told.at, at, side="right")]


def _new(sent: Packets) -> np.ndarray:
    """Which packets of data hold a byte that was not sent before."""
    import numpy as np

    before = np.concatenate([[0], np.maximum.accumulate(sent.end)[:-1]])
    return (sent.payload > 0) & (sent.end > before)


def _first_sign(sent: Packets, told: Packets) -> int:
    """When the sender first learnt of a loss, or sent something again."""
    import numpy as np

    data = sent.chosen(sent.payload > 0)
    again = data.at[~_new(data)][:1]
    blocks = told.at[told.held > 0][:1]
    duplicates = told.at[np.diff(told.seq, prepend=-1) == 0][:1]
    return int(np.concatenate([again, blocks, duplicates, [np.iinfo("i8").max]]).min())


@standard("initial-window", "RFC 6928 s.2: min(10 MSS, max(2 MSS, 14600)) bytes before the first answer")
def begins_with_ten(trace: Trace) -> Iterator[Breach]:
    """A sender sends no more data than the initial window before data are acknowledged."""
    for one in trace.sides:
        data = one.sent.chosen(one.sent.payload > 0)
        early = data.end[data.at < min(_first_answer(trace, one), one.until)]
        most = _initial_window(one)
        # RFC 8985 s.7.3: a loss probe may be one new segment.
        if len(early) and early.max() > most + one.mss:
            text = f"flow {one.number} sends {early.max()} bytes before an answer, and {most} are allowed"
            yield Breach(text, int(data.at[0]), one.sender)


def _initial_window(one: Sides) -> int:
    """RFC 6928 s.2, eq. (1)."""
    return min(10 * one.mss, max(2 * one.mss, 14600))


def _first_answer(trace: Trace, one: Sides) -> int:
    """When the first acknowledgement of data comes."""
    found = one.told.at[one.told.seq > 0]
    return int(found[0]) if len(found) else trace.duration


@standard("slow-start", "RFC 3465 s.2.3: an acknowledgement adds at most 2 SMSS, RFC 5681 s.3.1")
def grows_by_two(trace: Trace) -> Iterator[Breach]:
    """Until a loss, at most the first window and two segments for each acknowledgement are outstanding."""
    import numpy as np

    for one in trace.sides:
        data = one.sent.chosen(one.sent.payload > 0)
        told = one.told.chosen(one.told.seq > 0)
        gained = np.diff(np.maximum.accumulate(told.seq), prepend=0)
        given = level(str(one.settings["initial_window"])) or (0, False)
        most = max(_initial_window(one), given[0] * (one.mss if given[1] else 1))
        first = data.end[data.at < _first_answer(trace, one)].max(initial=most)
        # RFC 8985 s.7.3: a loss probe may be one new segment beyond the window.
        allowed = first + one.mss + np.concatenate([[0], np.cumsum(np.minimum(gained, 2 * one.mss))])
        known = np.searchsorted(told.at, data.at, side="right")
        out = data.end - _acknowledged(one, data.at)
        wrong = np.flatnonzero((out > allowed[known]) & (data.at < one.until))
        if len(wrong):
            place = int(wrong[0])
            text = f"flow {one.number} has {out[place]} bytes outstanding, and its answers allow"
            yield Breach(f"{text} {allowed[known[place]]}", int(data.at[place]), one.sender, len(wrong))


class _Repair(NamedTuple):
    """The first segment that is sent again in an episode of loss, and what the sender knew then."""

    at: int
    byte: int
    duplicates: int
    held: int
    later: bool
    """Something that was sent later has been acknowledged: RFC 8985 s.6.2 takes the segment for lost then."""
    silence: int
    age: int
    """The time since it was sent before."""
    last: bool
    """It is the last segment that was outstanding."""


def _repairs(one: Sides) -> Iterator[_Repair]:
    import numpy as np

    data = one.sent.chosen(one.sent.payload > 0)
    told = one.told
    reached = np.maximum.accumulate(told.seq)
    news = np.diff(reached, prepend=-1) > 0
    held, new = told.held, _new(data)
    far, recovering = 0, -1
    sent_at: dict[int, int] = {}
    for place in range(len(data.at)):
        at, seq, end = int(data.at[place]), int(data.seq[place]), int(data.end[place])
        if new[place]:
            far = max(far, end)
        else:
            upto = int(np.searchsorted(told.at, at, side="right"))
            una = int(reached[upto - 1]) if upto else 0
            if una >= recovering:
                since = int(np.flatnonzero(news[:upto])[-1]) if news[:upto].any() else -1
                # RFC 5681 s.2: a duplicate repeats the acknowledged byte while data are outstanding.
                signs = upto - since - 1
                sent = sent_at.get(seq, 0)
                later = bool(((data.at[:place] > sent) & (data.end[:place] <= una)).any())
                silence = at - max(int(told.at[since]) if since >= 0 else 0, sent)
                reported = int(held[max(since, 0) : upto].max(initial=0))
                yield _Repair(at, seq, signs, reported, later, silence, at - sent, end >= far)
                recovering = far
        sent_at[seq] = at


@standard("third-duplicate", "RFC 5681 s.3.2, RFC 6675 s.5: three duplicates, or more than 2 SMSS in SACK")
def repairs_at_third(trace: Trace) -> Iterator[Breach]:
    """A segment that answers report as missing is sent again after three of them, and not before."""
    for one in trace.sides:
        for each in _repairs(one):
            reported = each.duplicates or each.held or each.later
            if reported and each.duplicates < 3 and each.held <= 2 * one.mss and each.silence < SECOND:
                text = f"flow {one.number} sends byte {each.byte} again after {each.duplicates} duplicates"
                yield Breach(f"{text} and {each.held} bytes in SACK", each.at, one.sender)


@standard("settling", "RFC 8985 s.6.2 steps 4 and 5: the reordering window is a quarter of the least RTT")
def repairs_after_settling(trace: Trace) -> Iterator[Breach]:
    """A segment that fewer than three segments report is sent again a round trip and a quarter later."""
    for one in trace.sides:
        if not one.settings["sack"]:
            trace.skip("settling", "RACK needs SACK")
            continue
        due = one.least + one.least // 4
        for each in _repairs(one):
            if each.duplicates < 3 and 0 < each.held <= 2 * one.mss and each.age < due:
                text = f"flow {one.number} sends byte {each.byte} again after {each.age} ps"
                yield Breach(f"{text}, and {due} ps are due", each.at, one.sender)


@standard("least-timer", "RFC 6298 s.2.4: a timer runs for a second or longer")
def waits_a_second(trace: Trace) -> Iterator[Breach]:
    """A segment that no answer reports as missing is sent again after a second of silence."""
    for one in trace.sides:
        for each in _repairs(one):
            # RFC 8985 s.7.2: a loss probe may send the last segment again, sooner than a timer.
            if not (each.duplicates or each.held or each.later or each.last) and each.silence < SECOND:
                text = f"flow {one.number} sends byte {each.byte} again after {each.silence} ps"
                yield Breach(f"{text} without an answer", each.at, one.sender)


@standard("backoff", "RFC 6298 s.5.5: a timer that expires again has doubled")
def doubles_timer(trace: Trace) -> Iterator[Breach]:
    """A segment that is sent again and again without an answer waits twice as long each time."""
    import numpy as np

    for one in trace.sides:
        data = one.sent.chosen(one.sent.payload > 0)
        times: dict[int, list[int]] = {}
        for at, seq in zip(data.at.tolist(), data.seq.tolist(), strict=True):
            times.setdefault(seq, []).append(at)
        for seq, each in times.items():
            for before, now, after in zip(each, each[1:], each[2:], strict=False):
                low, high = np.searchsorted(one.told.at, [before, after], side="left")
                others = ((data.at > before) & (data.at < after) & (data.seq != seq)).any()
                # kernel/time/timer.c: a timer is late by an eighth of its time at most, and by a jiffy.
                due = 2 * (8 * (now - before - JIFFY) // 9)
                if high == low and not others and after - now < due:
                    text = f"flow {one.number} sends byte {seq} again after {now - before} ps"
                    yield Breach(f"{text} and {after - now} ps", after, one.sender)


@standard("second-segment", "RFC 5681 s.4.2: an acknowledgement for every second segment of full size")
def answers_every_second(trace: Trace) -> Iterator[Breach]:
    """An acknowledgement of data in order acknowledges two segments at most."""
    import numpy as np

    for one in trace.sides:
        gained = np.diff(np.maximum.accumulate(one.answered.seq), prepend=0)
        calm = (one.answered.held == 0) & (np.concatenate([[0], one.answered.held[:-1]]) == 0)
        # A hole that is filled, or a segment that is sent again, is acknowledged with what it held back.
        wrong = np.flatnonzero((gained > 2 * one.mss) & calm & (one.answered.at < one.until))
        if len(wrong):
            place = int(wrong[0])
            text = f"flow {one.number} acknowledges {gained[place]} bytes at once"
            yield Breach(text, int(one.answered.at[place]), one.receiver, len(wrong))


@standard("delayed-answer", "RFC 1122 s.4.2.3.2: an acknowledgement is delayed for less than 500 ms")
def answers_in_time(trace: Trace) -> Iterator[Breach]:
    """Data that came are acknowledged, in order or by SACK, within half a second."""
    import numpy as np

    for one in trace.sides:
        data = one.came.chosen(one.came.payload > 0)
        after = np.searchsorted(one.answered.at, data.at, side="left")
        ends = np.append(one.answered.at, trace.duration)[after]
        wrong = np.flatnonzero(ends - data.at >= SECOND // 2)
        if len(wrong):
            place = int(wrong[0])
            text = f"flow {one.number} answers byte {data.seq[place]} after {(ends - data.at)[place]} ps"
            yield Breach(text, int(data.at[place]), one.receiver, len(wrong))


class Order(NamedTuple):
    """Packets of data as they came, which of them came above a hole, and the bytes that came without one."""

    data: Packets
    above: np.ndarray
    reached: int
    old: bool
    """A segment came after one that was sent later and filled a hole: RFC 7323 s.5.3 may discard it."""


def order_of(one: Sides) -> Order:
    """The order in which a connection's data came to its receiver."""
    import numpy as np

    data = one.came.chosen(one.came.payload > 0)
    above = np.zeros(len(data.at), bool)
    reached = recent = 0
    old = False
    beyond: dict[int, int] = {}
    each = zip(data.seq.tolist(), data.end.tolist(), data.stamp.tolist(), strict=True)
    for place, (seq, end, stamp) in enumerate(each):
        old |= stamp < recent
        if seq <= reached:
            recent = max(recent, stamp)
        if seq > reached:
            beyond[seq] = max(end, beyond.get(seq, 0))
            above[place] = True
        else:
            reached = max(reached, end)
            while reached in beyond:
                reached = max(reached, beyond.pop(reached))
    return Order(data, above, reached, old)


@standard("gap-answer", "RFC 5681 s.4.2: a segment that comes out of order is answered at once")
def answers_gaps(trace: Trace) -> Iterator[Breach]:
    """Each segment above a hole has an acknowledgement of its own, before the next segment comes."""
    import numpy as np

    if trace.changes:
        return trace.skip("gap-answer", "links or wires change, so that packets come close together")
    for one in trace.sides:
        if not one.quiet:
            trace.skip("gap-answer", "a receiver's host sends data, for which answers wait")
            continue
        data, above, *_ = order_of(one)
        following = np.append(data.at[1:], trace.duration)
        # Its own port takes an answer in the time of the segment itself, which is longer.
        answers = [np.searchsorted(one.answered.at, side, side="left") for side in (data.at, following)]
        wrong = np.flatnonzero(above & (answers[0] == answers[1]) & (following > data.at))
        if len(wrong):
            place = int(wrong[0])
            text = f"flow {one.number} does not answer byte {data.seq[place]}, which came above a hole"
            yield Breach(f"{text}, before the next packet", int(data.at[place]), one.receiver, len(wrong))


@standard("first-block", "RFC 2018 s.4: the first block holds the segment that triggered the answer")
def reports_newest_first(trace: Trace) -> Iterator[Breach]:
    """The first block of an acknowledgement holds the last segment that came, if that is above a hole."""
    import numpy as np

    for one in trace.sides:
        if not one.quiet:
            trace.skip("first-block", "a receiver's host sends data, for which answers wait")
            continue
        data, above, *_ = order_of(one)
        begins, ends = one.answered.blocks[:, 0], one.answered.blocks[:, 1]
        # RFC 2883 s.4: a first block of what had come before reports a duplicate.
        asked = (one.answered.held > 0) & (ends > one.answered.seq)
        # An answer that leaves later was held back, and others may have come meanwhile. Of packets that come
        # in the nanosecond of the answer, some may have come after it.
        right = ~asked | ~np.isin(one.answered.at, data.at)
        for side in ("left", "right"):
            last = np.searchsorted(data.at, one.answered.at, side=side) - 1
            seq = data.seq[np.maximum(last, 0)]
            right |= (last < 0) | ~above[np.maximum(last, 0)] | ((begins <= seq) & (seq < ends))
        wrong = np.flatnonzero(~right)
        if len(wrong):
            place = int(wrong[0])
            what = f"bytes {begins[place]} to {ends[place]} first"
            text = f"flow {one.number} reports {what}, and byte {seq[place]} came last"
            yield Breach(text, int(one.answered.at[place]), one.receiver, len(wrong))


@standard("true-blocks", "RFC 2018 s.3: a block holds only what came")
def reports_what_came(trace: Trace) -> Iterator[Breach]:
    """No block of SACK reports a byte that had not come."""
    for one in trace.sides:
        data = one.came.chosen(one.came.payload > 0)
        order = data.at.argsort(kind="stable")
        place, spans = 0, _Spans()
        for at, blocks in zip(one.answered.at.tolist(), one.answered.blocks.tolist(), strict=True):
            while place < len(order) and data.at[order[place]] <= at:
                spans.add(int(data.seq[order[place]]), int(data.end[order[place]]))
                place += 1
            for begin, end in zip(blocks[::2], blocks[1::2], strict=True):
                if begin >= 0 and not spans.have(begin, end):
                    text = f"flow {one.number} reports bytes {begin} to {end}, which did not all come"
                    yield Breach(text, at, one.receiver)


class _Spans:
    """A set of bytes as disjoint spans in order."""

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []

    def add(self, begin: int, end: int) -> None:
        from bisect import bisect_left, bisect_right

        low, high = bisect_left(self.ends, begin), bisect_right(self.begins, end)
        if low < high:
            begin, end = min(begin, self.begins[low]), max(end, self.ends[high - 1])
        self.begins[low:high], self.ends[low:high] = [begin], [end]

    def have(self, begin: int, end: int) -> bool:
        from bisect import bisect_right

        place = bisect_right(self.begins, begin) - 1
        return place >= 0 and self.ends[place] >= end


def _without_codepoint(one: Sides, packets: Packets, which: np.ndarray, what: str) -> Iterator[Breach]:
    import numpy as np

    wrong = np.flatnonzero(which & (packets.ecn != 0))
    if len(wrong):
        text = f"flow {one.number} sends {what} with codepoint {packets.ecn[wrong[0]]}"
        place = one.sender if packets is one.sent else one.receiver
        yield Breach(text, int(packets.at[wrong[0]]), place, len(wrong))


@standard("plain-syn", "RFC 3168 s.6.1.1: no codepoint of ECN in a SYN")
def opens_plainly(trace: Trace) -> Iterator[Breach]:
    """A SYN is not ECN-capable."""
    for one in trace.sides:
        yield from _without_codepoint(one, one.sent, (one.sent.flags & SYN) != 0, "a SYN")


@standard("plain-answer", "RFC 3168 s.6.1.4: no codepoint of ECN in an acknowledgement without data")
def answers_plainly(trace: Trace) -> Iterator[Breach]:
    """An acknowledgement without data is not ECN-capable."""
    for one in trace.sides:
        for packets in (one.sent, one.answered):
            bare = (packets.payload == 0) & (packets.flags & (SYN | FIN) == 0)
            yield from _without_codepoint(one, packets, bare, "an acknowledgement")


@standard("plain-repeat", "RFC 3168 s.6.1.5: no codepoint of ECN in a segment that is sent again")
def repeats_plainly(trace: Trace) -> Iterator[Breach]:
    """A segment that is sent again is not ECN-capable."""
    for one in trace.sides:
        again = (one.sent.payload > 0) & ~_new(one.sent)
        yield from _without_codepoint(one, one.sent, again, "a segment again")


def _negotiated(one: Sides) -> bool:
    """The SYN asked for ECN as RFC 3168 s.6.1.1 says: both flags, and not the third (RFC 9768 s.3.1.1)."""
    syn = one.sent.flags[(one.sent.flags & SYN) != 0]
    return bool(len(syn)) and syn[0] & 0x1C0 == ECE | CWR


def _is_dctcp(one: Sides) -> bool:
    own = one.settings["cc"]
    return "dctcp" in (own["kind"], own.get("name"))


@standard("echo-until-cwr", "RFC 3168 s.6.1.3: ECE in each answer from a CE packet on until CWR comes")
def echoes_until_told(trace: Trace) -> Iterator[Breach]:
    """A receiver without DCTCP sets ECN-Echo from a marked packet on, until its sender says CWR."""
    for one in trace.sides:
        if not _negotiated(one) or _is_dctcp(one) or not one.quiet:
            continue
        events = [
            (at, 0, flags, ecn)
            for at, flags, ecn in zip(*map(list, (one.came.at, one.came.flags, one.came.ecn)), strict=True)
        ]
        events += [
            (at, 1, flags, 0)
            for at, flags in zip(list(one.answered.at), list(one.answered.flags), strict=True)
        ]
        echo, changed, wrong = False, -1, []
        for at, answers, flags, ecn in sorted(events, key=lambda each: each[:2]):
            if not answers:
                before = echo
                echo = ecn == 3 or (echo and not flags & CWR)
                changed = at if echo != before else changed
            elif bool(flags & ECE) != echo and at != changed:
                wrong.append((at, echo))
        if wrong:
            at, echo = wrong[0]
            text = f"flow {one.number} answers {'without' if echo else 'with'} ECN-Echo"
            when = f"{'before' if echo else 'after'} CWR came"
            yield Breach(f"{text} {when}", int(at), one.receiver, len(wrong))


@standard(
    "echo-exact", "RFC 8257 s.3.2: an answer of DCTCP has ECE if the data that it acknowledges were marked"
)
def echoes_exactly(trace: Trace) -> Iterator[Breach]:
    """The data that an answer of DCTCP is the first to acknowledge were all marked, or none, as it says."""
    import numpy as np

    for one in trace.sides:
        if not _is_dctcp(one) or not _negotiated(one):
            continue
        data = one.came.chosen(one.came.payload > 0)
        order = np.argsort(data.end, kind="stable")
        ends, marked = data.end[order], (data.ecn[order] == 3)
        before, wrong = 0, []
        for at, seq, flags in zip(
            one.answered.at.tolist(), one.answered.seq.tolist(), one.answered.flags.tolist(), strict=True
        ):
            if at >= one.until:
                break
            low, high = np.searchsorted(ends, [before, seq], side="right")
            if high > low and (marked[low:high] != bool(flags & ECE)).any():
                wrong.append((at, seq, int(marked[low:high].sum()), high - low, bool(flags & ECE)))
            before = max(before, seq)
        if wrong:
            at, seq, count, among, echo = wrong[0]
            text = f"flow {one.number} acknowledges byte {seq} {'with' if echo else 'without'} ECN-Echo"
            text += f", and {count} of {among} packets were marked"
            yield Breach(text, int(at), one.receiver, len(wrong))


@standard("cwr", "RFC 3168 s.6.1.2: CWR in the first new data after a reduction for ECN-Echo")
def says_cwr(trace: Trace) -> Iterator[Breach]:
    """Among the data of a round trip after an ECN-Echo, one new packet has CWR."""
    import numpy as np

    for one in trace.sides:
        if not _negotiated(one):
            continue
        data = one.sent.chosen((one.sent.payload > 0) & _new(one.sent))
        echoes = one.told.at[(one.told.flags & ECE) != 0]
        upto, wrong = -1, []
        for at in echoes.tolist():
            if at < upto:
                continue
            here = np.searchsorted(data.at, at, side="left")
            # A round trip: until what is sent next is acknowledged.
            if here >= len(data.at):
                break
            known = np.flatnonzero((one.told.at > at) & (one.told.seq >= data.end[here]))
            if not len(known):
                break
            upto = int(one.told.at[known[0]])
            beyond = np.searchsorted(data.at, upto, side="left")
            if not (data.flags[here:beyond] & CWR).any():
                wrong.append(at)
        if wrong:
            text = f"flow {one.number} has an ECN-Echo, and no data of the next round trip has CWR"
            yield Breach(text, wrong[0], one.sender, len(wrong))


@standard("idle-restart", "RFC 5681 s.4.1: after an idle timeout no more than the restart window")
def restarts_slowly(trace: Trace) -> Iterator[Breach]:
    """After a second without anything outstanding, a sender begins with an initial window at most."""
    import numpy as np

    for one in trace.sides:
        data = one.sent.chosen(one.sent.payload > 0)
        una = _acknowledged(one, data.at)
        before = np.concatenate([[0], np.maximum.accumulate(data.end)[:-1]])
        idle = np.flatnonzero((una >= before) & (np.diff(data.at, prepend=data.at[0]) >= SECOND))
        most = _initial_window(one)
        for place in idle.tolist():
            first = one.told.at[(one.told.at > data.at[place]) & (one.told.seq > data.seq[place])]
            burst = data.end[
                (data.at >= data.at[place]) & (data.at < (first[0] if len(first) else trace.duration))
            ]
            sent = int(burst.max() - data.seq[place])
            if sent > most:
                text = (
                    f"flow {one.number} sends {sent} bytes at once after an idle time, and {most} are allowed"
                )
                yield Breach(text, int(data.at[place]), one.sender)
