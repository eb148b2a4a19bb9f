"""Rules of windows over TCP: how acknowledgements and marks change them, and how much they let out.

A connection is judged until its first loss: until an acknowledgement of it reports data out of order, or a
segment is sent again. The rules of recovery judge what follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.audit.quantities import level
from shallows.audit.rule import TCP, Breach, rule, times

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from shallows.audit.trace import Trace

RENO = {"newreno", "dctcp"}
"""Controls that grow by a segment a round trip: RFC 5681 s.3.1; RFC 8257 s.3.4 leaves growth to it."""


class Connection(NamedTuple):
    """A connection as its sender sees it."""

    number: int
    place: str
    traffic: str
    settings: Mapping[str, Any]
    mss: int
    sent_at: np.ndarray
    seq: np.ndarray
    end: np.ndarray
    ack_at: np.ndarray
    ack: np.ndarray
    gained: np.ndarray
    """Bytes that each acknowledgement is the first to acknowledge."""
    echo: np.ndarray
    counter: np.ndarray
    """AE, CWR and ECE of each acknowledgement: RFC 9768 s.3.2.2, marked packets modulo 8."""
    held: np.ndarray
    """Bytes that blocks of SACK report above the acknowledged byte."""
    row_at: np.ndarray
    cwnd: np.ndarray
    ssthresh: np.ndarray
    alpha: np.ndarray
    closed: int
    """When the first FIN was sent, which takes a number too."""
    paced: bool
    until: int
    """Time of the first sign of a loss."""


def connections(trace: Trace) -> Iterator[Connection]:
    """Connections over TCP whose acknowledgements are recorded."""
    import numpy as np
    import polars as pl

    loads = trace.experiment["traffic"]
    tcp = [name for name, load in loads.items() if load.get("transport", {}).get("profile", "") in TCP]
    hops = trace.hops.lazy().filter(pl.col("traffic").is_in(tcp))
    sent = hops.filter((pl.col("reverse") == 0) & (pl.col("from") == pl.col("src")))
    # RFC 9293 s.3.1: the flag FIN has the value 1, and SYN has 2.
    fins = sent.filter(pl.col("tcp_flags") & 1 == 1).group_by("flow").agg(pl.col("stamp_ps").min())
    closed = dict(fins.collect().iter_rows())
    sent = sent.filter(pl.col("payload") > 0)
    back = (pl.col("reverse") == 1) & (pl.col("to") == pl.col("src")) & (pl.col("lost") == 0)
    acks = hops.filter(back & pl.col("landed_ps").is_not_null() & (pl.col("tcp_flags") & 2 == 0))
    sent = sent.select("flow", "traffic", "src", "stamp_ps", "seq", "payload").sort("stamp_ps", "seq")
    at_once = acks.group_by("flow", "landed_ps").agg(pl.col("port").n_unique()).filter(pl.col("port") > 1)
    tied = set(at_once.select("flow").collect()["flow"])
    acks = acks.select("flow", "landed_ps", "seq", "tcp_flags", "held").sort("landed_ps")
    by_sent, by_acks = (each.collect().partition_by("flow", as_dict=True) for each in (sent, acks))
    by_rows = trace.tables["flow_trace"].partition_by("flow", as_dict=True)
    for key, data in by_sent.items():
        if key not in by_acks or key not in by_rows:
            continue
        if key[0] in tied:
            trace.skip(
                "window", "acknowledgements land at once by several ports, in an order that no table has"
            )
            continue
        load = str(data["traffic"][0])
        settings = loads[load]["transport"]
        seq = data["seq"].to_numpy().astype("i8")
        end = seq + data["payload"].to_numpy().astype("i8")
        at = data["stamp_ps"].to_numpy().astype("i8")
        answers, rows = by_acks[key], by_rows[key]
        ack = answers["seq"].to_numpy().astype("i8")
        reached = np.maximum.accumulate(ack)
        gained = np.diff(reached, prepend=0)
        held = answers["held"].to_numpy().astype("i8")
        ack_at = answers["landed_ps"].to_numpy().astype("i8")
        again = seq < np.maximum.accumulate(np.concatenate([[0], end[:-1]]))
        odd = (held > 0) | (gained == 0)
        signs = [at[again][:1], ack_at[odd][:1], [trace.duration + 1]]
        yield Connection(
            int(key[0]), str(data["src"][0]), load, settings, _mss(settings), at, seq, end,
            ack_at, ack, gained, (answers["tcp_flags"].to_numpy() & 0x40) != 0,
            (answers["tcp_flags"].to_numpy() >> 6) & 7, held,
            rows["time_ps"].to_numpy().astype("i8"), rows["cwnd_bytes"].fill_null(float("nan")).to_numpy(),
            rows["ssthresh_bytes"].fill_null(float("inf")).to_numpy(),
            rows["alpha"].fill_null(float("nan")).to_numpy(), int(closed.get(int(key[0]), trace.duration)),
            rows["pacing_bps"].null_count() < len(rows),
            int(min(s[0] for s in signs if len(s))),
        )  # fmt: skip


def _mss(settings: Mapping[str, Any]) -> int:
    return (level(str(settings["mss"])) or (0, False))[0]


def judged(
    trace: Trace, name: str, controls: set[str] | None
) -> Iterator[tuple[Connection, Mapping[str, Any]]]:
    """Connections that the rule `name` can judge, with their controls' settings."""
    loads = trace.experiment["traffic"].values()
    own = [load.get("transport", {}) for load in loads]
    kinds = {one["cc"]["kind"] for one in own if "cc" in one}
    if controls is not None and not kinds & controls:
        return
    if trace.warmup or trace.changes:
        return trace.skip(name, "tables begin at warmup, or wires disturb packets")
    for one in trace.connections:
        cc = one.settings["cc"]
        if controls is None or cc["kind"] in controls:
            if _odd(one.settings):
                trace.skip(name, "windows are counted in whole segments or by acknowledgements")
            elif resumes(one.settings) and name in ("growth", "cut"):
                trace.skip(name, "connections resume from a saved window")
            else:
                yield one, cc
        else:
            trace.skip(name, "a control has no such law in the audit")


def resumes(settings: Mapping[str, Any]) -> bool:
    """Whether connections jump to a part of a saved window, and retreat from it (RFC 9959)."""
    return settings.get("saved_cwnd", "none") != "none"


def _odd(settings: Mapping[str, Any]) -> bool:
    usual = {"growth": "bytes", "arithmetic": "exact", "window_counts": "bytes", "ece_growth": "each"}
    return any(settings[key] != value for key, value in usual.items())


@rule("window", "RFC 5681 s.3.1: a sender has no more outstanding than its congestion window")
def keeps_window(trace: Trace) -> Iterator[Breach]:
    """New data leave only within the congestion window, which counts from what is acknowledged."""
    import numpy as np

    for one, _ in judged(trace, "window", None):
        if np.isnan(one.cwnd).any() or one.settings["burst"] != 1:
            trace.skip("window", "a window bounds nothing, or senders gather segments")
            continue
        if one.settings["prr_on_ecn"] and one.echo.any():
            trace.skip("window", "a reduction for marks is spread over a round trip")
            continue
        new = one.sent_at < one.until
        at, end = one.sent_at[new], one.end[new]
        known = np.searchsorted(one.ack_at, at, side="right")
        base = np.where(known > 0, np.maximum.accumulate(one.ack)[np.maximum(known, 1) - 1], 0)
        # Rows of an instant may stand before or after what it sends.
        last, first = (np.searchsorted(one.row_at, at, side=side) for side in ("right", "left"))
        before = one.cwnd[np.maximum(first, 1) - 1]
        now = one.cwnd[np.maximum(last, 1) - 1]
        # RFC 8985 s.7.3: a loss probe is a new segment beyond the window, without an acknowledgement.
        # The outstanding data may be far more than the window that congestion has left.
        probe = one.settings["tail_loss_probe"] * ~np.isin(at, one.ack_at)
        outstanding = np.concatenate([[0], np.maximum.accumulate(end)[:-1]]) - base
        most = np.maximum(np.maximum(before, now), probe * (outstanding + one.mss))
        wrong = np.flatnonzero((end - base > most) & (last > 0))
        if len(wrong):
            place = int(wrong[0])
            text = f"flow {one.number} has {end[place] - base[place]} bytes outstanding, and its window has"
            yield Breach(f"{text} {now[place]:.0f}", int(at[place]), one.place, len(wrong))


@rule(
    "growth", "RFC 5681 s.3.1 and RFC 3465 s.2.1: bytes acknowledged in slow start, then a segment a window"
)
def grows_by_rule(trace: Trace) -> Iterator[Breach]:
    """A window grows by no more than its acknowledgements allow, from the initial window on."""
    import numpy as np

    for one, _ in judged(trace, "growth", RENO | {"cubic"}):
        mss, cc = one.mss, one.settings["cc"]["kind"]
        if not len(one.cwnd) or np.isnan(one.cwnd).any():
            continue
        start = level(str(one.settings["initial_window"])) or (0, False)
        first = start[0] * (mss if start[1] else 1)
        if one.cwnd[0] > first and one.row_at[0] < one.until:
            text = (
                f"flow {one.number} begins with a window of {one.cwnd[0]:.0f} bytes, and {first} are allowed"
            )
            yield Breach(text, int(one.row_at[0]), one.place)
        # RFC 9406 s.4.3: L = 8 where HyStart++ ends the first slow start.
        plus = one.settings["cc"].get("slow_start") == "hystart++"
        most = max(one.settings["slow_start_limit"], 8.0 * plus)
        slow = np.minimum(one.gained, most * mss)
        before = one.cwnd[np.maximum(np.searchsorted(one.row_at, one.ack_at, side="left"), 1) - 1]
        # RFC 9438 s.4.4: a target is at most 1.5 windows, so a window's acknowledgements add half of one.
        steady = one.gained * (0.5 if cc == "cubic" else mss / before)
        sums = [np.concatenate([[0], np.cumsum(part)]) for part in (slow, steady)]
        upto = np.searchsorted(one.ack_at, one.row_at, side="right")
        spare = 0.0
        for row in range(1, len(one.cwnd)):
            if one.row_at[row] >= one.until:
                break
            rise = one.cwnd[row] - one.cwnd[row - 1]
            in_slow_start = one.cwnd[row - 1] < one.ssthresh[row - 1]
            allowed = (
                sums[0 if in_slow_start else 1][upto[row]] - sums[0 if in_slow_start else 1][upto[row - 1]]
            )
            # Byte counting adds a segment when a window is acknowledged (RFC 3465 s.2.1). Bytes are rounded.
            spare = mss + 1.0 if rise < 0 or in_slow_start else spare + allowed - rise
            if (in_slow_start and rise > allowed + 1) or spare < -1:
                text = f"flow {one.number} has a window of {one.cwnd[row]:.0f} bytes"
                text += f" after {one.cwnd[row - 1]:.0f}"
                yield Breach(f"{text}, and may add {allowed:.0f}", int(one.row_at[row]), one.place)
                break


@rule(
    "cut",
    "RFC 3168 s.6.1.2, RFC 8257 s.3.3, RFC 9438 s.4.6, RFC 5681 s.3.1: after a mark or a loss",
)
def cuts_by_rule(trace: Trace) -> Iterator[Breach]:
    """A window falls on an ECN-Echo by the control's share, on a loss to a share of the flight."""
    import numpy as np

    for one, cc in judged(trace, "cut", RENO | {"cubic"}):
        mss = one.mss
        floor = level(str(one.settings["cwnd_floor"])) or (0, False)
        least = floor[0] * (mss if floor[1] else 1)
        falls = np.flatnonzero(np.diff(one.cwnd) < 0) + 1
        last_sent = -1
        for row in falls.tolist():
            at, old, new = int(one.row_at[row]), one.cwnd[row - 1], one.cwnd[row]
            here = (one.ack_at == at).nonzero()[0]
            if at > one.until:
                break
            if at == one.until:
                share = cc.get("beta", 0.5) if cc["kind"] == "cubic" else 0.5
                # Limited transmit (RFC 3042) has two segments more in flight than the window.
                if not one.echo[here].any() and one.ssthresh[row] > max(share * (old + 2 * mss), 2 * mss) + 1:
                    text = f"flow {one.number} has a threshold of {one.ssthresh[row]:.0f} bytes after a loss"
                    yield Breach(f"{text} at a window of {old:.0f}", at, one.place)
                break
            if not len(here):
                trace.skip("cut", "timers and idle times restart windows")
                continue
            if not one.echo[here].any():
                text = f"the window of flow {one.number} falls from {old:.0f} to {new:.0f} bytes"
                yield Breach(f"{text}, and no mark or loss is reported", at, one.place)
                break
            by_alpha = cc["kind"] == "dctcp"
            share = 1 - cc["reduction"] * one.alpha[row] if by_alpha else cc["ecn_beta"]
            if cc.get("whole_segments"):
                continue
            used = [old]
            if cc["kind"] == "cubic":
                # RFC 9438 s.4.6: of the flight, unless the window has no room for one more segment.
                una = int(one.ack[one.ack_at < at].max(initial=0))
                flight = int(one.end[one.sent_at < at].max(initial=0)) - una
                used = [each for each, far in ((old, flight + mss >= old), (flight, flight + mss <= old + 1))
                        if far]  # fmt: skip
            # Windows are whole bytes here. RFC 3168 s.6.1.2: an ECN-Echo adds nothing.
            due = [max(share * each, least) for each in used]
            if len(here) == 1 and min(abs(new - each) for each in due) > 1:
                text = f"the window of flow {one.number} falls from {old:.0f} to {new:.0f} bytes"
                yield Breach(f"{text}, and a mark leaves {due[0]:.0f}", at, one.place)
                break
            # RFC 3168 s.6.1.2: once a window of data, when what was sent at the last cut is acknowledged.
            if one.ack[here].max() < last_sent:
                text = f"flow {one.number} cuts its window twice in a window of data"
                yield Breach(text, at, one.place)
                break
            last_sent = int(one.end[one.sent_at < at].max(initial=0))


@rule("alpha", "RFC 8257 s.3.3: alpha = (1 - g) alpha + g M, M the marked share of the bytes of a window")
def estimates_marks(trace: Trace) -> Iterator[Breach]:
    """DCTCP's alpha, computed again from its acknowledgements, is the recorded one."""
    import numpy as np

    for one, cc in judged(trace, "alpha", {"dctcp"}):
        alpha, acked, marked, window_end = cc["initial_alpha"], 0, 0, 0
        highest = np.concatenate([[0], np.maximum.accumulate(one.end)])
        sent = highest[np.searchsorted(one.sent_at, one.ack_at, side="left")] + (one.ack_at > one.closed)
        found = np.empty(len(one.ack_at) + 1)
        found[0] = alpha
        for place, (gained, echo, ack, nxt) in enumerate(
            zip(one.gained.tolist(), one.echo.tolist(), one.ack.tolist(), sent.tolist(), strict=True), 1
        ):
            acked, marked = acked + gained, marked + gained * echo
            if ack > window_end and acked:
                alpha = (1 - cc["g"]) * alpha + cc["g"] * (marked / acked)
                acked, marked, window_end = 0, 0, nxt
            found[place] = alpha
        wanted = found[np.searchsorted(one.ack_at, one.row_at, side="right")]
        wrong = np.flatnonzero((np.abs(wanted - one.alpha) > 1e-9) & (one.row_at < one.until))
        if len(wrong):
            place = int(wrong[0])
            text = f"flow {one.number} has alpha {one.alpha[place]:.6f}, and its acknowledgements give"
            yield Breach(f"{text} {wanted[place]:.6f}", int(one.row_at[place]), one.place, len(wrong))


@rule(
    "prague",
    "draft-briscoe-iccrg-prague-congestion-control-04 s.2.4.1, s.2.4.2: alpha a round, cwnd (1 - alpha / 2)",
)
def reduces_by_marks(trace: Trace) -> Iterator[Breach]:
    """Prague's alpha follows from the counts of marks, and a window falls by its share once a round trip."""
    import numpy as np

    for one, cc in judged(trace, "prague", {"prague"}):
        if one.settings["ack_every"] != 1 or not len(one.cwnd):
            trace.skip("prague", "an acknowledgement counts several segments")
            continue
        floor = level(str(one.settings["cwnd_floor"])) or (0, False)
        least = floor[0] * (one.mss if floor[1] else 1)
        highest = np.concatenate([[0], np.maximum.accumulate(one.end)])
        sent = highest[np.searchsorted(one.sent_at, one.ack_at, side="left")] + (one.ack_at > one.closed)
        alpha, acked, marked, found, waits = cc["initial_alpha"], 0, 0, False, 0
        ends, cut, rounds = 0, 0, 0
        count = 5  # RFC 9768 s.3.2.1: the counters begin with 5.
        for place in range(len(one.ack_at)):
            at, gained = int(one.ack_at[place]), int(one.gained[place])
            # Draft s.2.4.4: after so many rounds a virtual round trip may be longer than the own one.
            late = rounds >= cc["rtt_after"] and cc["rtt_virt"] != "own"
            if at >= one.until or gained >= 8 * one.mss or late:
                break
            more, count = (int(one.counter[place]) - count) % 8, int(one.counter[place])
            waits += more * one.mss
            mine = min(waits, gained)
            waits, found = waits - mine, found or mine > 0
            round_ended = one.ack[place] > ends
            # No alpha before there is proof of marks.
            acked, marked = acked + gained * found, marked + mine
            if round_ended:
                rounds, ends = rounds + 1, int(sent[place])
                if found:
                    alpha = (1 - cc["g"]) * alpha + cc["g"] * (marked / acked)
                    acked = marked = 0
            row = int(np.searchsorted(one.row_at, at, side="right")) - 1
            before = int(np.searchsorted(one.row_at, at, side="left")) - 1
            if row < 0 or before < 0:
                continue
            old, new = one.cwnd[before], one.cwnd[row]
            text = f"flow {one.number} has alpha {one.alpha[row]:.6f}, and its counts give {alpha:.6f}"
            wrong = abs(one.alpha[row] - alpha) > 1e-9
            if not wrong and more and one.ack[place] > cut:
                cut, due = int(sent[place]), max((1 - cc["reduction"] * alpha) * old, least)
                text = f"the window of flow {one.number} falls from {old:.0f} to {new:.0f} bytes"
                text += f", and {due:.0f} are due"
                wrong = gained <= one.mss and abs(new - due) > 1
            elif not wrong:
                # Draft s.2.4.4: data without a mark adds its size in slow start, then a segment a window.
                slow, plain = old < one.ssthresh[before], gained - mine
                rise = (
                    min(plain, one.settings["slow_start_limit"] * one.mss) if slow else plain * one.mss / old
                )
                text = f"the window of flow {one.number} goes from {old:.0f} to {new:.0f} bytes"
                text += f" by {plain} bytes without a mark"
                wrong = not old - 1 <= new <= old + rise + 1
            if wrong:
                yield Breach(text, at, one.place)
                break


PERIODS = 5
"""Round trips after which a measurement of HPCC has faded: e^-5 of it is left."""


@rule("hpcc", "Li 2019 s.3.2 eq. (2) and (4): a window falls if a link of the path is used for more than eta")
def falls_by_use(trace: Trace) -> Iterator[Breach]:
    """HPCC cuts no window while all links of the path, computed again from their packets, are half idle.

    A window is compared with the least of the last two round trips. That is no more than the reference window
    of algorithm 1. Each answer sets the window anew from that reference, so a window may fall back to it
    without a cut.
    """
    import numpy as np
    import polars as pl

    loads = {n: one.get("transport", {}) for n, one in trace.experiment["traffic"].items()}
    own = {name: one for name, one in loads.items() if one.get("cc", {}).get("kind") == "hpcc"}
    if not own:
        return
    if trace.warmup or trace.faults("loss", "duplicate", "reorder", "jitter"):
        return trace.skip("hpcc", "tables begin at warmup, or wires disturb packets")
    hops = trace.hops.filter(pl.col("traffic").is_in(list(own)))
    back = hops.filter((pl.col("reverse") == 1) & (pl.col("to") == pl.col("src")))
    trips = back.drop_nulls("landed_ps").with_columns(
        (pl.col("landed_ps") - pl.col("stamp_ps")).alias("trip")
    )
    ends = trips.group_by("flow").agg(shortest=pl.col("trip").min(), longest=pl.col("trip").max())
    spans = {flow: each for flow, *each in ends.select("flow", "shortest", "longest").iter_rows()}
    starts = dict(hops.group_by("flow").agg(pl.col("time_ps").min()).iter_rows())
    there = hops.filter((pl.col("reverse") == 0) & (pl.col("is_switch") == 1))
    paths = dict(there.group_by("flow").agg(pl.col("port").unique()).iter_rows())
    who = {n: (name, src) for n, name, src in there.select("flow", "traffic", "src").unique().iter_rows()}
    for key, rows in trace.tables["flow_trace"].partition_by("flow", as_dict=True).items():
        flow = key[0]
        if flow not in paths or flow not in spans:
            continue
        trip, longest = spans[flow]
        at, cwnd = rows["time_ps"].to_numpy().astype("i8"), rows["cwnd_bytes"].fill_null(np.inf).to_numpy()
        fell = (np.flatnonzero(cwnd[1:] < cwnd[:-1] - 1) + 1).astype(int)
        fell = fell[at[fell] > starts[flow] + PERIODS * trip]
        since = np.minimum(np.searchsorted(at, at[fell] - 2 * longest), fell - 1)
        cut = [cwnd[row] < cwnd[first:row].min() - 1 for first, row in zip(since, fell, strict=True)]
        fell = fell[np.array(cut, dtype=bool)]
        if not len(fell):
            continue
        used = np.max([_use(trace.switched[port], at[fell], trip) for port in paths[flow]], axis=0)
        wrong = np.flatnonzero(used < own[who[flow][0]]["cc"]["eta"] / 2)
        if len(wrong):
            row = int(fell[wrong[0]])
            text = f"the window of flow {flow} falls from {cwnd[row - 1]:.0f} to {cwnd[row]:.0f} bytes"
            yield Breach(f"{text} at a use of {used[wrong[0]]:.3f}", int(at[row]), who[flow][1], len(wrong))


def _use(rows: pl.DataFrame, at: np.ndarray, trip: int) -> np.ndarray:
    """The most that a port was used in one of the last round trips before `at`, with its queue (eq. 2)."""
    import numpy as np

    time, came, takes = times(rows)
    sent = np.concatenate([[0], np.cumsum(takes)])
    waited = np.maximum(time - came - takes, 0)
    found = np.zeros(len(at))
    for period in range(PERIODS):
        ends = np.searchsorted(time, at - period * trip, side="right")
        begins = np.searchsorted(time, at - (period + 1) * trip, side="left")
        longest = np.array([waited[a:b].max(initial=0) for a, b in zip(begins, ends, strict=True)])
        found = np.maximum(found, (sent[ends] - sent[begins] + longest) / trip)
    return found
