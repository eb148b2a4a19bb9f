"""Rules of repair: when a sender sends a segment again, how long its timer waits, and its round-trip time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from shallows.audit.quantities import picoseconds
from shallows.audit.rule import Breach, rule
from shallows.audit.windows import Connection

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from shallows.audit.trace import Trace


def _lossy(trace: Trace, name: str) -> Iterator[Connection]:
    if trace.warmup or trace.changes:
        return trace.skip(name, "tables begin at warmup, or wires disturb packets")
    for one in trace.connections:
        if one.settings["tail_loss_probe"] or one.settings["rto_rtts"] != "none":
            trace.skip(name, "probes or timeouts by the path send segments again")
        else:
            yield one


def _again(one: Connection) -> tuple[np.ndarray, np.ndarray]:
    """Places of segments that are sent again, and of the segment sent before that has their first byte."""
    import numpy as np

    order = np.lexsort((np.arange(len(one.seq)), one.seq))
    same = one.seq[order][1:] == one.seq[order][:-1]
    now, before = order[1:][same], order[:-1][same]
    by_time = np.argsort(now, kind="stable")
    return now[by_time], before[by_time]


def _least(one: Connection, at: int) -> int:
    """The shortest timer that may expire at `at`, in ps: the first one until a round trip is measured."""
    least = picoseconds(one.settings["min_rto"])
    if len(one.ack_at) and at > int(one.ack_at[0]):
        return least
    return min(least, picoseconds(one.settings["initial_rto"]))  # RFC 6298 s.2.1


@rule(
    "retransmission",
    "RFC 6675 s.4 and s.5, RFC 5681 s.3.2, RFC 8985 s.6.2, RFC 6298 s.5: a loss is known first",
)
def repairs_with_cause(trace: Trace) -> Iterator[Breach]:
    """A segment is sent again only after duplicate or selective acknowledgements, or a silent timer."""
    import numpy as np

    for one in _lossy(trace, "retransmission"):
        again, before = _again(one)
        base = np.maximum.accumulate(one.ack)
        duplicate = (one.gained == 0) | (one.held > 0)
        news = np.concatenate([one.sent_at[:1], one.ack_at[one.gained > 0]])
        wanted = int(one.settings["dup_acks"]) if one.settings["loss_detection"] == "rfc6675" else 1
        known, enough = np.concatenate([[0], np.cumsum(duplicate)]), (wanted - 1) * one.mss
        # In recovery, until all that had been sent is acknowledged, holes are repaired by less.
        recovering, began = -1, 0
        by_time, plain = one.settings["loss_detection"] == "rack", not one.settings["sack"]
        for place, last in zip(again.tolist(), before.tolist(), strict=True):
            at, sent = int(one.sent_at[place]), int(one.sent_at[last])
            low, high = np.searchsorted(one.ack_at, [sent, at], side="right")
            una = int(base[high - 1]) if high else 0
            signs = int(known[high] - known[low])
            if by_time:
                # RFC 8985 s.6.2: an acknowledgement of data that was sent later is a sign too.
                signs += int(((one.sent_at > sent) & (one.sent_at < at) & (one.end <= una)).any())
            held = int(one.held[low:high].max(initial=0))
            since = news[np.searchsorted(news, at, side="right") - 1]
            least = _least(one, at)
            if plain and una < recovering:
                # RFC 6582 s.4 "Impatient": the first partial acknowledgement alone restarts the timer.
                first = int(np.searchsorted(news, began, side="right"))
                since = min(since, news[min(first, len(news) - 1)])
            # A timer that has expired since the segment went out lets all that is outstanding go again.
            ends = np.concatenate([news[1:][news[1:] <= at], [at]])
            silent = (ends - news[: len(ends)] >= least) & (ends > sent)
            if silent.any() or at - since >= least:
                recovering, began = int(one.end[:place].max(initial=0)), at
                continue
            in_recovery = una < recovering
            if not in_recovery and (signs >= wanted or held > enough):
                recovering, began = int(one.end[:place].max(initial=0)), at
                continue
            if in_recovery and (signs or high > low):
                continue
            text = f"flow {one.number} sends byte {one.seq[place]} again after {signs} signs of a loss"
            yield Breach(f"{text} and {at - since} ps without news", at, one.place)
            break


@rule("timer", "RFC 6298 s.2.4, s.5.3 to s.5.6: a timer runs min_rto or longer, and doubles when it expires")
def waits_for_timer(trace: Trace) -> Iterator[Breach]:
    """A segment that is sent again and again without any answer waits longer each time."""
    import numpy as np

    for one in _lossy(trace, "timer"):
        again, before = _again(one)
        settings = one.settings
        most = picoseconds(settings["max_rto"])
        gaps: dict[int, int] = {}
        timed: set[int] = set()
        news = set(one.ack_at[one.gained > 0].tolist())
        base, reached = np.maximum.accumulate(one.ack), np.maximum.accumulate(one.end)
        for place, last in zip(again.tolist(), before.tolist(), strict=True):
            at, sent = int(one.sent_at[place]), int(one.sent_at[last])
            low, high = np.searchsorted(one.ack_at, [sent, at + 1], side="left")
            between = (one.sent_at > sent) & (one.sent_at < at)
            if high > low or between.any() or picoseconds(settings["timer_grain"]):
                continue  # Something came back, or something else went out.
            known, earlier = np.searchsorted(one.ack_at, sent), np.searchsorted(one.sent_at, sent)
            idle = not earlier or (known and base[known - 1] >= reached[earlier - 1])
            starts = idle or last in timed or sent in news
            timed.add(place)
            if not starts:
                continue  # RFC 6298 s.5.1: a timer that runs goes on when something is sent.
            gap = at - sent
            before_that = gaps.get(last)
            wanted = _least(one, at)
            if before_that is not None:
                wanted = min(before_that * int(settings["rto_backoff"]), most)
            if gap < wanted or (before_that is not None and gap > wanted + 1):
                text = f"flow {one.number} sends byte {one.seq[place]} again {gap} ps after the last time"
                yield Breach(f"{text}, and {wanted} are due", at, one.place)
                break
            gaps[place] = gap


@rule("roundtrip", "RFC 6298 s.2.2 and s.2.3: SRTT = 7/8 SRTT + 1/8 R, over the acknowledgements of new data")
def smooths_round_trips(trace: Trace) -> Iterator[Breach]:
    """The recorded smoothed round-trip time follows from the stamps that acknowledgements echo."""
    import numpy as np
    import polars as pl

    if trace.warmup or trace.changes or not trace.connections:
        return (
            trace.skip("roundtrip", "tables begin at warmup, or wires disturb packets")
            if trace.warmup
            else None
        )
    back = trace.hops.filter(
        (pl.col("reverse") == 1) & (pl.col("to") == pl.col("src")) & (pl.col("lost") == 0)
    )
    back = back.filter(pl.col("landed_ps").is_not_null()).sort("landed_ps")
    by_flow = back.partition_by("flow", as_dict=True)
    rows = trace.tables["flow_trace"].partition_by("flow", as_dict=True)
    for one in trace.connections:
        usual = {"rtt_by": "timestamps", "clock_grain": "0s", "ack_every": 1, "opening": "handshake"}
        if any(one.settings[key] != value for key, value in usual.items()):
            trace.skip("roundtrip", "round trips are not measured by every acknowledgement")
            continue
        own, traced = by_flow[one.number,], rows[one.number,]
        at = own["landed_ps"].to_numpy().astype("i8")
        sample = at - own["stamp_ps"].to_numpy().astype("i8")
        fresh = np.diff(np.maximum.accumulate(own["seq"].to_numpy().astype("i8")), prepend=-1) > 0
        srtt, found = 0.0, np.zeros(len(at) + 1)
        for place, (measured, counts) in enumerate(zip(sample.tolist(), fresh.tolist(), strict=True), 1):
            if counts:
                srtt = srtt + (measured - srtt) / 8 if srtt else float(measured)
            found[place] = srtt
        row_at = traced["time_ps"].to_numpy().astype("i8")
        wanted = found[np.searchsorted(at, row_at, side="right")]
        recorded = traced["srtt_ps"].fill_null(0).to_numpy()
        # Whole picoseconds: each step rounds by one at most, of which 7/8 remain, so that 8 is the sum.
        wrong = np.flatnonzero((np.abs(wanted - recorded) > 8) & (row_at < one.until))
        if len(wrong):
            place = int(wrong[0])
            text = f"flow {one.number} has a smoothed round trip of {recorded[place]:.0f} ps"
            yield Breach(
                f"{text}, and its acknowledgements give {wanted[place]:.0f}", int(row_at[place]), one.place
            )


def _pairs(trace: Trace, name: str, repair: str) -> Iterator[tuple[Any, pl.DataFrame, pl.DataFrame]]:
    """Queue pairs that repair so: their settings, packets of data in the order of sending, and answers."""
    import polars as pl

    for load, about in trace.experiment["traffic"].items():
        settings = about.get("transport", {})
        if settings.get("profile") != "roce" or settings.get("repair") != repair:
            continue
        if trace.warmup or trace.changes or settings["verb"] == "read":
            trace.skip(name, "tables begin at warmup, wires disturb packets, or receivers ask for data")
            continue
        own = trace.hops.filter(pl.col("traffic") == load)
        sent = own.filter(
            (pl.col("reverse") == 0) & (pl.col("from") == pl.col("src")) & (pl.col("payload") > 0)
        )
        # An acknowledgement has the opcode 17; others that come back are notifications.
        back = (pl.col("to") == pl.col("src")) & pl.col("landed_ps").is_not_null() & (pl.col("opcode") == 17)
        answers = own.filter((pl.col("reverse") == 1) & back & (pl.col("lost") == 0))
        came = answers.sort("landed_ps").partition_by("flow", as_dict=True)
        for key, data in sent.sort("stamp_ps", "time_ps").partition_by("flow", as_dict=True).items():
            if key in came:
                yield settings, data, came[key]


@rule(
    "go-back-n",
    "InfiniBand s.9.7.5.1: after a NAK or a timeout a sender begins again with the packet asked for",
)
def goes_back(trace: Trace) -> Iterator[Breach]:
    """A queue pair sends in order, and goes back only to the first byte that is not acknowledged."""
    import numpy as np

    for settings, data, answers in _pairs(trace, "go-back-n", "go-back-n"):
        at, seq = (data[key].to_numpy().astype("i8") for key in ("stamp_ps", "seq"))
        end = seq + data["payload"].to_numpy().astype("i8")
        back = np.flatnonzero(seq[1:] < end[:-1]) + 1
        gaps = np.flatnonzero(seq[1:] > np.maximum.accumulate(end)[:-1]) + 1
        landed, ack = (answers[key].to_numpy().astype("i8") for key in ("landed_ps", "seq"))
        nak, timeout = answers["nak"].to_numpy() == 1, picoseconds(settings["timeout"])
        for place in np.sort(np.concatenate([back, gaps])).tolist():
            known = int(np.searchsorted(landed, at[place], side="right"))
            una = int(ack[:known].max(initial=0))
            # An answer of the same time may come after the timer.
            sooner = int(ack[: np.searchsorted(landed, at[place], side="left")].max(initial=0))
            before = int(np.searchsorted(landed, at[place - 1], side="left"))
            asked = nak[before:known].any()
            news = int(landed[:known].max(initial=int(at[0])))
            silent = at[place] - min(news, int(at[place - 1])) >= timeout
            # A timer may have expired before the answer that came while the repeat waited for its port.
            quiet = landed[before:known] - np.concatenate([at[:1], landed])[before:known]
            silent = silent or bool((quiet >= timeout).any())
            if place in gaps or seq[place] not in (una, sooner) or not (asked or silent):
                text = f"flow {data['flow'][0]} goes to byte {seq[place]} after {end[place - 1]}"
                yield Breach(f"{text}, and {una} is the first missing", int(at[place]), str(data["src"][0]))
                break


@rule("irn", "Mittal 2018 s.3.1: a packet is sent again for a NAK, or after RTO_low without news")
def repairs_single_packets(trace: Trace) -> Iterator[Breach]:
    """A queue pair with IRN sends a packet again only after a NAK, or after a timeout."""
    import numpy as np

    for settings, data, answers in _pairs(trace, "irn", "irn"):
        at, seq = (data[key].to_numpy().astype("i8") for key in ("stamp_ps", "seq"))
        landed = answers["landed_ps"].to_numpy().astype("i8")
        naks = landed[answers["nak"].to_numpy() == 1]
        least = picoseconds(settings["rto_low"])
        last: dict[int, int] = {}
        for place in range(len(at)):
            sent = last.get(int(seq[place]))
            last[int(seq[place])] = place
            if sent is None:
                continue
            since = int(at[sent])
            told = np.searchsorted(naks, at[place], side="right") > np.searchsorted(naks, since, side="right")
            if not told and at[place] - since < least:
                text = f"flow {data['flow'][0]} sends byte {seq[place]} again {at[place] - since} ps later"
                yield Breach(f"{text}, and no NAK came", int(at[place]), str(data["src"][0]))
                break
