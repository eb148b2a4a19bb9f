"""Rules of ports and wires for runs of the Linux kernel, whose shaper and wire are not the simulator's.

A token bucket of one frame lets a packet begin, and a netem at the end of the wire sends it at the link's
rate. The time of a departure is when its transmission began, to a nanosecond. A queue holds packets that came
and whose transmission has not begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from shallows.audit.quantities import level, picoseconds
from shallows.audit.rule import Breach, Runs, rule
from shallows.audit.rules import declared_delay, declared_rate, followed, marks_of
from shallows.audit.standards import order_of

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from shallows.audit.trace import Trace

NANOSECOND = 1000
"""Ps by which a time may be off, since the kernel counts whole nanoseconds."""
LATE = 4 * NANOSECOND
"""Ps by which the kernel's timers and divisions may delay a packet."""
ETHERNET = 14
SPARE = 10
"""Bytes of a token bucket above a frame, or as many as its link sends in as many nanoseconds."""


def _report(
    port: str, rows: pl.DataFrame, wrong: np.ndarray, at: np.ndarray, found: np.ndarray, text: str
) -> Iterator[Breach]:
    """The first of the rows that are `wrong`; `text` says what was `found` there."""
    import numpy as np

    places = np.flatnonzero(wrong)
    if len(places):
        place = int(places[0])
        what = f"packet {rows['seq'][place]} of flow {rows['flow'][place]} {text.format(found[place])}"
        yield Breach(what, int(at[place]), port, len(places))


def _ports(trace: Trace, name: str) -> Iterator[tuple[str, pl.DataFrame]]:
    if trace.experiment.get("event") or trace.faults("trace", "rate"):
        return trace.skip(name, "the rate of a link changes")
    for key, rows in trace.hops.partition_by("port", as_dict=True, maintain_order=True).items():
        yield str(key[0]), rows.sort("time_ps", maintain_order=True)


@rule("bucket", "tc-tbf(8): a packet is sent when the bucket holds tokens for its bytes", Runs.KERNEL)
def keeps_to_bucket(trace: Trace) -> Iterator[Breach]:
    """No port sends more in any time than its rate allows, and a frame."""
    for port, rows in _ports(trace, "bucket"):
        bps = _rate(trace, port, rows)
        size = rows["size"].to_numpy().astype("i8")
        # The kernel's own packets have no Ethernet header; a port that takes bursts apart counts it.
        frame = max(int(size.max()), _frame(trace)) + ETHERNET
        deep = (frame + max(SPARE, SPARE * bps // (8 * 10**9))) * 8 * 10**12 // bps
        # Times of packets are whole nanoseconds in the bucket, up to one less than is due.
        cost = -(-size * 8 * 10**12 // bps) - NANOSECOND
        at = rows["time_ps"].to_numpy().astype("i8")
        # Arrivals at hosts' ports are not recorded.
        came = rows["came"].fill_null(2**63 - 1).to_numpy().astype("i8")
        tokens, last = deep, 0
        for place, (now, takes) in enumerate(zip(at.tolist(), cost.tolist(), strict=True)):
            waited = now > max(int(came[place]), last)
            tokens, last = min(tokens + now - last, deep) - takes, now
            if waited:
                # A packet that waited for its tokens leaves none.
                tokens = min(tokens, 2 * NANOSECOND)
            if tokens < -NANOSECOND:
                text = f"packet {rows['seq'][place]} of flow {rows['flow'][place]} leaves {-tokens} ps"
                yield Breach(f"{text} too soon for {bps} b/s", now, port)
                break


@rule("turn", "tc-tbf(8): a packet that is there begins as soon as there are tokens for it", Runs.KERNEL)
def begins_in_turn(trace: Trace) -> Iterator[Breach]:
    """A packet waits no longer than its own bytes take after it came to a switch, or the one before began."""
    import numpy as np

    if trace.experiment.get("event") or trace.faults("trace", "rate"):
        return trace.skip("turn", "the rate of a link changes")
    for port, rows in followed(trace, "turn"):
        if trace.discipline(port, True)["kind"] == "policer":
            trace.skip("turn", "a discipline holds packets back")
            continue
        bps = _rate(trace, port, rows)
        at, came = (rows[name].to_numpy().astype("i8") for name in ("time_ps", "came"))
        # The shaper is a millionth slower than its link (docs/linux.md), in whole bytes a second, and its
        # clock has whole nanoseconds.
        takes = rows["size"].to_numpy().astype("i8") * 8 * 10**12 // bps
        most = (
            np.maximum(came, np.concatenate([[0], at[:-1]]))
            + takes
            + takes // 500_000
            + takes * 16 // bps
            + LATE
        )
        late = at - most
        yield from _report(port, rows, late > 0, at, late, "begins {} ps too late")


@rule(
    "wire", "tc-netem(8): rate and delay; a packet lands when its last bit has passed the wire", Runs.KERNEL
)
def wire_keeps_time(trace: Trace) -> Iterator[Breach]:
    """Each packet lands after its own transmission and the delay, behind the one before it."""
    import numpy as np

    if trace.changes:
        return trace.skip("wire", "links or wires change")
    topology = trace.experiment["topology"]
    ends = {row["port"]: row for row in trace.ports.iter_rows(named=True)}
    for port, rows in _ports(trace, "wire"):
        bps = _rate(trace, port, rows)
        # Packets that the wire loses do not pass its rate.
        rows = rows.filter(rows["landed_ps"].is_not_null() & (rows["lost"] == 0))
        if not len(rows):
            continue
        size = rows["size"].to_numpy().astype("i8")
        takes = size * 8 * 10**12 // bps
        at, landed = (rows[name].to_numpy().astype("i8") for name in ("time_ps", "landed_ps"))
        delay = None if trace.faults("delay") else declared_delay(ends[port], topology)
        if delay is None:
            trace.skip("declared delays", "the audit reads the delays of star and dumbbell alone")
            delay = int((landed - at - takes).min())
        behind = np.concatenate([[0], landed[:-1]])
        due = np.maximum(at + delay, behind) + takes
        off = landed - due
        # The wire rounds its delay and the packet's time, and its clock is read once more.
        wrong = np.abs(off) > 2 * NANOSECOND
        yield from _report(port, rows, wrong, landed, off, "lands {} ps after its time")


def _frame(trace: Trace) -> int:
    """The largest frame that the experiment's loads send. RFC 7323 s.3.2: timestamps take 12 bytes."""
    found = 0
    for load in trace.experiment["traffic"].values():
        own = load["transport"]
        payload, header = (level(str(own[key])) or (0, False) for key in ("mss", "header"))
        found = max(found, payload[0] + header[0] + (12 if own["timestamps"] else 0))
    return found


def _rate(trace: Trace, port: str, rows: pl.DataFrame) -> int:
    """The rate that the experiment gives to a port's link, or that of the table of ports."""
    ends = trace.ports.filter(trace.ports["port"] == port).row(0, named=True)
    found = declared_rate(ends, trace.experiment["topology"])
    return int(rows["rate_bps"][0]) if found is None else found


class _Waiting:
    """The queue that each packet finds at its port, in packets or bytes: at least, and at most.

    Packets that come in the nanosecond in which another begins may find it there, or gone.
    """

    def __init__(self, rows: pl.DataFrame):
        import numpy as np

        order = np.argsort(rows["came"].to_numpy().astype("i8"), kind="stable")
        self.came = rows["came"].to_numpy().astype("i8")[order]
        self.began = np.sort(rows["time_ps"].to_numpy().astype("i8"))
        size = rows["size"].to_numpy().astype("i8")
        by_start = np.argsort(rows["time_ps"].to_numpy().astype("i8"), kind="stable")
        self.arrived = np.concatenate([[0], np.cumsum(size[order])])
        self.gone = np.concatenate([[0], np.cumsum(size[by_start])])

    def found(self, at: np.ndarray, in_packets: bool) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        sides = [np.searchsorted(self.came, at, side=side) for side in ("left", "right")]
        left = [np.searchsorted(self.began, at, side=side) for side in ("right", "left")]
        if in_packets:
            return sides[0] - left[0], sides[1] - left[1]
        return self.arrived[sides[0]] - self.gone[left[0]], self.arrived[sides[1]] - self.gone[left[1]]


def _queues(trace: Trace, name: str, kinds: set[str]) -> Iterator[tuple[str, pl.DataFrame, Any, _Waiting]]:
    present = {trace.discipline(port, True)["kind"] for port in trace.switched}
    if not present & kinds:
        return
    for port, rows in followed(trace, name):
        settings = trace.discipline(port, True)
        if settings["kind"] in kinds:
            yield port, rows, settings, _Waiting(rows)


def _in_service(settings: Any, size: int) -> int:
    """The packet in transmission, which the experiment's limits count and the kernel's queue does not."""
    return size if settings["count_in_service"] else 0


@rule(
    "tail",
    "pfifo_enqueue and bfifo_enqueue: a packet is dropped if the queue is full, and no other",
    Runs.KERNEL,
)
def drops_at_limit(trace: Trace) -> Iterator[Breach]:
    """No accepted packet found a full queue, and each that was dropped did."""
    import polars as pl

    frame = _frame(trace)
    for port, rows, settings, queue in _queues(trace, "tail", {"drop-tail", "threshold"}):
        limit = level(settings["limit"])
        lost = trace.losses.filter((pl.col("port") == port) & (pl.col("cause") == "drops_full"))
        if limit is None:
            continue
        # RED of the kernel counts bytes, also where the experiment counts packets of full size.
        packets = limit[1] and settings["kind"] == "drop-tail"
        most = limit[0] * (frame if limit[1] and not packets else 1)
        most -= _in_service(settings, 1 if packets else frame)
        for each, dropped in ((rows, False), (lost, True)):
            if not len(each):
                continue
            at = each["time_ps" if dropped else "came"].to_numpy().astype("i8")
            size = 1 if packets else each["size"].to_numpy().astype("i8")
            least, greatest = queue.found(at, packets)
            # Packets that are held at the end have no departure, so that the last drops cannot be judged.
            known = at < queue.came[-1]
            wrong = (greatest + size <= most) & known if dropped else least + size > most
            fate, unit = "dropped" if dropped else "queued", "packets" if packets else "bytes"
            found = greatest if dropped else least
            yield from _report(port, each, wrong, at, found, f"finds {{}} {unit} and is {fate}")


@rule(
    "step", "red_enqueue with a weight of 1: a packet that finds the threshold or more is marked", Runs.KERNEL
)
def marks_at_step(trace: Trace) -> Iterator[Breach]:
    """A packet is marked if it finds more than the threshold, and not otherwise."""
    if trace.faults("mark", "mark_every"):
        return trace.skip("step", "wires mark packets")
    frame = _frame(trace)
    for port, rows, settings, queue in _queues(trace, "step", {"threshold"}):
        threshold = level(settings["mark_at"])
        if threshold is None:
            continue
        # A packet that finds more than so many is marked: one packet more, or one byte.
        above = (threshold[0] + 1) * frame if threshold[1] else threshold[0] + 1
        above -= _in_service(settings, frame)
        at = rows["came"].to_numpy().astype("i8")
        least, greatest = queue.found(at, False)
        # The greatest counts the packet itself, and its like that came in the same nanosecond.
        greatest = greatest - rows["size"].to_numpy().astype("i8")
        marked, able = marks_of(rows)
        early, missing = marked & (greatest < above), able & ~marked & (least >= above)
        yield from _report(port, rows, early, at, greatest, "finds {} bytes and is marked")
        yield from _report(port, rows, missing, at, least, "finds {} bytes and is not marked")


@rule("sojourn", "codel_should_drop: no packet that waited for less than the target is marked", Runs.KERNEL)
def marks_late_packets(trace: Trace) -> Iterator[Breach]:
    """CoDel marks no packet that had waited for less than its target when it was taken."""
    import numpy as np

    for port, rows in followed(trace, "sojourn"):
        settings = trace.discipline(port, True)
        if settings["kind"] not in ("codel", "fq-codel"):
            continue
        if settings.get("ce_threshold", "none") != "none":
            trace.skip("sojourn", "packets are marked above a second threshold")
            continue
        began, came = (rows[name].to_numpy().astype("i8") for name in ("time_ps", "came"))
        waited = began - came
        if settings["kind"] == "codel":
            # The shaper takes the next packet as the one before begins, and holds it (qdisc_peek_dequeued).
            waited = np.maximum(np.concatenate([[0], began[:-1]]) - came, 0)
        marked, _ = marks_of(rows)
        # codel_time_t counts in 1024 ns.
        wrong = marked & (waited < picoseconds(settings["target"]) - 2 * 1024 * NANOSECOND)
        yield from _report(port, rows, wrong, began, waited, "waited {} ps and is marked")


@rule("counters", "tc-stats: what a discipline and its shaper counted, and what its port sent", Runs.KERNEL)
def counts_what_left(trace: Trace) -> Iterator[Breach]:
    """The table of ports counts the packets that left, and at most one more that the shaper holds."""
    import polars as pl

    if trace.warmup:
        return trace.skip("counters", "the table of ports counts from warmup on")
    here = (pl.col("ecn") == 3) & (pl.col("ecn_before") != 3)
    left = trace.hops.group_by("port").agg(
        pl.len().alias("left"), pl.col("size").sum().alias("left_bytes"), here.sum().alias("marked")
    )
    lost = trace.losses.group_by("port").agg(pl.len().alias("lost")).cast({"port": pl.String})
    rows = trace.ports.join(left.cast({"port": pl.String}), on="port", how="left")
    rows = rows.join(lost, on="port", how="left").fill_null(0)
    bare = trace.hops.filter((pl.col("ecn_before") == 0) & (pl.col("payload") > 0))
    stepped = {port for port in trace.switched if trace.discipline(port, True)["kind"] == "threshold"}
    blind = stepped & set(bare["port"].cast(pl.String))
    unseen = 0
    for row in rows.iter_rows(named=True):
        holds = row["packets_out"] - row["left"]
        text = "{packets_out} packets of {bytes_out} bytes are counted, and {left} of {left_bytes} left"
        more = row["bytes_out"] - row["left_bytes"]
        if holds not in (0, 1) or (more > 0) != (holds > 0) or more < 0:
            yield Breach(text.format(**row), trace.duration, row["port"])
        dropped = row["drops_full"] + row["drops_aqm"]
        if row["lost"] > dropped:
            text = f"{dropped} drops are counted, and {row['lost']} packets did not leave"
            yield Breach(text, trace.duration, row["port"])
        if row["port"] in blind and row["drops_full"]:
            # red_enqueue counts a mark before its FIFO drops the packet; no count has codepoints of drops.
            trace.skip("counters of marks", "packets without ECN may be among those that were dropped")
        elif row["is_switch"] and row["marked"] > row["marks"] and not trace.faults("mark", "mark_every"):
            yield Breach(
                "{marks} marks are counted, and {marked} left".format(**row), trace.duration, row["port"]
            )
        unseen += dropped - row["lost"]
    if unseen > 0:
        trace.skip("some drops", f"{unseen} that the ports counted have no row: nothing overtook them")


@rule("in-order", "docs/reference/tables.md, flows: on Linux `arrived_bytes` are those in order", Runs.KERNEL)
def delivers_in_order(trace: Trace) -> Iterator[Breach]:
    """A connection has received the bytes that landed without a hole before them, and no more."""
    if trace.warmup:
        return trace.skip("in-order", "tables count from warmup on")
    counted = dict(trace.tables["flows"].select("id", "arrived_bytes").iter_rows())
    for one in trace.sides:
        _, _, reached, old = order_of(one)
        if old and one.settings["timestamps"]:
            trace.skip("in-order", "a segment came after one that was sent later, and may be discarded")
        elif counted.get(one.number, reached) != reached:
            text = f"flow {one.number} counts {counted[one.number]} bytes, and {reached} landed in order"
            yield Breach(text, trace.duration, one.receiver)
