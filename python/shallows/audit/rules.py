"""Rules of packets, ports and disciplines that decide by the queue, in the order in which they are applied.

A rule yields the places where a run breaks it. It notes with `Trace.skip` where it cannot be applied.
Sources stand at the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.audit.quantities import level, picoseconds, rate
from shallows.audit.rule import TCP, Breach, Runs, first, rule, times

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from shallows.audit.trace import Trace

__all__ = ["declared_delay", "declared_rate", "followed", "marks_of", "queue_found"]


@rule("arrival", "RFC 1812 s.5.2.1: a router forwards datagrams that it has received", Runs.BOTH)
def arrives_before(trace: Trace) -> Iterator[Breach]:
    """A packet that leaves a switch came to it before."""
    import polars as pl

    if trace.faults("duplicate", "reorder", "jitter"):
        return trace.skip("arrival", "a wire doubles, delays or reorders packets")
    whole = (pl.col("is_switch") == 1) & (pl.col("reverse") == 0) & (pl.col("trimmed") == 0)
    text = "packet {seq} of flow {flow} leaves a switch to which it did not come"
    yield from first(trace.hops.filter(whole & pl.col("came").is_null()), text)
    text = "packet {seq} of flow {flow} leaves before it came"
    # The time of a kernel is when a transmission begins, to a nanosecond.
    early = pl.col("came") > pl.col("time_ps") if trace.kernel else pl.col("came") >= pl.col("time_ps")
    yield from first(trace.hops.filter(whole & early), text)


@rule("once", "RFC 791 s.1.2: a router forwards a datagram and does not copy it", Runs.BOTH)
def passes_once(trace: Trace) -> Iterator[Breach]:
    """A packet of data leaves each port once."""
    import polars as pl

    if trace.faults("duplicate"):
        return trace.skip("once", "a wire doubles packets")
    data = trace.hops.lazy().filter((pl.col("payload") > 0) & (pl.col("reverse") == 0))
    data = data.select("name", "port", "seq", "flow", "time_ps")
    wrong = data.filter(pl.struct("name", "port").is_duplicated()).collect()
    yield from first(wrong, "packet {seq} of flow {flow} leaves the port more than once")


@rule(
    "content",
    "RFC 1812 s.4.2.2.7 and s.5.2.1: a router forwards the data of a datagram as they came",
    Runs.BOTH,
)
def keeps_content(trace: Trace) -> Iterator[Breach]:
    """A packet of data has the same payload and size at each port, unless a switch trims it."""
    import polars as pl

    empty = trace.hops.filter((pl.col("pure_ack") == 1) & (pl.col("reverse") == 1) & (pl.col("payload") > 0))
    yield from first(empty, "an acknowledgement of flow {flow} has {payload} bytes of data")
    own = pl.col("reverse") == 0
    if trace.hops.select((own & (pl.col("trimmed") == 1)).any()).item():
        return trace.skip("content", "switches trim packets")
    # A header alone may leave its host at the time and with the first byte of data.
    at_host = (pl.col("from") == pl.col("src")).sum().over("name")
    needed = ("name", "payload", "size", "seq", "flow", "time_ps", "port", "from", "src")
    data = trace.hops.lazy().filter(own).select(needed).filter(at_host <= 1)
    one = pl.col("payload").n_unique().over("name"), pl.col("size").n_unique().over("name")
    wrong = data.filter((pl.col("payload").max().over("name") > 0) & ((one[0] > 1) | (one[1] > 1)))
    yield from first(
        wrong.collect(), "packet {seq} of flow {flow} has {payload} bytes of data, and others elsewhere"
    )


@rule("conservation", "conservation of packets: each that came has left, was lost, or is held")
def conserves(trace: Trace) -> Iterator[Breach]:
    """Packets that came to a switch have left it, were lost there, or are held at the end."""
    import polars as pl

    if trace.changes or trace.ports["returned"].sum():
        return trace.skip("conservation", "links change, wires disturb packets, or headers return")
    landed = trace.hops.lazy().filter(pl.col("landed_ps").is_not_null() & (pl.col("lost") == 0))
    came = landed.group_by(pl.col("to").alias("node")).agg(pl.len().alias("came")).collect()
    left = trace.hops.group_by(pl.col("from").alias("node")).agg(pl.len().alias("left"))
    lost = trace.losses.group_by(pl.col("from").alias("node")).agg(pl.len().alias("lost"))
    switches = trace.ports.filter(pl.col("is_switch") == 1)
    nodes = switches.group_by(pl.col("from").alias("node")).agg(pl.col("packets_held").sum())
    for other in (came, left, lost):
        nodes = nodes.join(other.cast({"node": pl.String}), on="node", how="left")
    signed = nodes.fill_null(0).with_columns(pl.all().exclude("node").cast(pl.Int64))
    wrong = signed.filter(pl.col("came") != pl.col("left") + pl.col("lost") + pl.col("packets_held"))
    for row in wrong.iter_rows(named=True):
        text = "{came} packets came, {left} left, {lost} were lost and {packets_held} are held"
        yield Breach(text.format(**row), trace.duration, row["node"])


@rule("books", "docs/reference/tables.md, queues: what the table of ports counts")
def counts_agree(trace: Trace) -> Iterator[Breach]:
    """The table of ports counts the departures, losses and marks that the traces have."""
    import polars as pl

    if trace.warmup:
        return trace.skip("books", "the table of ports counts from warmup on")
    here = (pl.col("ecn") == 3) & (pl.col("ecn_before") != 3)
    seen = trace.hops.group_by("port").agg(pl.len().alias("seen"), pl.col("size").sum().alias("seen_bytes"),
                                           here.sum().alias("seen_marks"))  # fmt: skip
    lost = trace.losses.group_by("port").agg(pl.len().alias("seen_losses")).cast({"port": pl.String})
    seen = seen.cast({"port": pl.String})
    rows = trace.ports.join(seen, on="port", how="left").join(lost, on="port", how="left")
    rows = rows.with_columns(pl.col(r"^seen.*$").fill_null(0), pl.lit(trace.duration).alias("time_ps"))
    text = "{packets_out} packets are counted, and {seen} left"
    yield from first(rows.filter(pl.col("packets_out") != pl.col("seen")), text)
    text = "{bytes_out} bytes are counted, and {seen_bytes} left"
    yield from first(rows.filter(pl.col("bytes_out") != pl.col("seen_bytes")), text)
    at_port = pl.sum_horizontal("drops_full", "drops_aqm", "drops_evicted", "drops_buffer", "drops_dead")
    text = "{drops} drops are counted, and {seen_losses} packets were lost"
    yield from first(rows.filter(at_port != pl.col("seen_losses")), text)
    if not trace.changes and not trace.faults("mark", "mark_every"):
        marked = rows.filter((pl.col("is_switch") == 1) & (pl.col("seen_marks") > pl.col("marks")))
        yield from first(marked, "{marks} marks are counted, and {seen_marks} packets were marked")


@rule("destination", "RFC 791 s.2.3: a datagram goes to the host that its header names", Runs.BOTH)
def ends_right(trace: Trace) -> Iterator[Breach]:
    """A packet lands at no host but its own."""
    import polars as pl

    hosts = trace.ports.filter(pl.col("is_switch") == 0)["from"].unique()
    own = pl.when(pl.col("reverse") == 1).then("src").otherwise("dst")
    here = pl.col("to").is_in(hosts.to_list()) & (pl.col("trimmed") == 0)
    wrong = trace.hops.filter(here & (pl.col("to") != own))
    yield from first(wrong, "packet {seq} of flow {flow} from {src} to {dst} reaches {to}")


@rule(
    "path",
    "RFC 2992 s.2: equal-cost paths; Thaler and Hopps 2000, RFC 2991 s.2: one path a flow",
    Runs.BOTH,
)
def one_path(trace: Trace) -> Iterator[Breach]:
    """A direction of a connection leaves each node by one port, and none has a loop."""
    import polars as pl

    if trace.experiment.get("ecmp", "flow") not in ("flow", "symmetric") or trace.experiment.get("event"):
        return trace.skip("path", "flows are spread over several paths, or links change")
    own = [load.get("transport", {}) for load in trace.experiment["traffic"].values()]
    if any(one.get("entropy", "single") != "single" for one in own):
        return trace.skip("path", "senders spread packets over several paths")
    rows = trace.hops.lazy().filter(pl.col("trimmed") == 0)
    ways = rows.group_by("flow", "reverse", "from").agg(
        pl.col("port").n_unique().alias("ways"), pl.col("port").first(), pl.col("time_ps").min()
    ).collect()  # fmt: skip
    text = "flow {flow} leaves {from} by {ways} ports"
    yield from first(ways.filter(pl.col("ways") > 1), text)


@rule("service", "a transmitter sends one packet at a time, at the rate of its link")
def serves_one(trace: Trace) -> Iterator[Breach]:
    """Two packets of a port are as far apart as the second takes to transmit."""
    import polars as pl

    if trace.experiment.get("event") or trace.faults("trace", "rate"):
        return trace.skip("service", "the rate of a link changes")
    # At most 65 535 bytes x 8 x 10^12 fit into 63 bits.
    bits, bps = pl.col("size").cast(pl.Int64) * 8 * 10**12, pl.col("rate_bps").cast(pl.Int64)
    time = pl.col("time_ps").cast(pl.Int64)
    takes = ((bits + bps - 1) // bps).alias("takes")
    spare = (time - takes - time.shift(1).over("port").fill_null(0)).alias("spare")
    rows = trace.hops.lazy().select("port", "seq", "flow", "time_ps", takes, spare)
    wrong = rows.filter(pl.col("spare") < 0).collect()
    yield from first(
        wrong, "packet {seq} of flow {flow} takes {takes} ps, and the port had that and {spare} ps"
    )
    if not trace.faults("rate"):
        yield from _declared(trace, "rate_bps", declared_rate)


@rule("propagation", "a wire delays each packet by its length alone")
def propagates(trace: Trace) -> Iterator[Breach]:
    """All packets of a wire take the same time, the experiment's, and those that can land do."""
    import polars as pl

    if trace.changes:
        return trace.skip("propagation", "links or wires change")
    took = (pl.col("landed_ps") - pl.col("time_ps")).alias("took")
    rows = trace.hops.lazy().select("port", "seq", "flow", "time_ps", took)
    by_port = rows.filter(pl.col("took").is_not_null()).group_by("port")
    usual = by_port.agg(pl.col("took").mode().min().alias("usual")).collect()
    wrong = rows.join(usual.lazy(), on="port").filter(pl.col("took") != pl.col("usual")).collect()
    text = "packet {seq} of flow {flow} takes {took} ps, and others take {usual} ps"
    yield from first(wrong, text)
    under_way = trace.hops.filter(pl.col("landed_ps").is_null()).join(usual, on="port")
    late = under_way.filter(pl.col("time_ps") + pl.col("usual") < trace.duration)
    yield from first(late, "packet {seq} of flow {flow} does not land in {usual} ps")
    if not trace.faults("delay") and not trace.experiment.get("switch"):
        frame = usual.rename({"usual": "delay_ps"}).cast({"port": pl.String})
        yield from _declared(trace, "delay_ps", declared_delay, frame)


def declared_rate(port: Mapping[str, Any], topology: Mapping[str, Any]) -> int | None:
    """The rate that the experiment gives to a link of a star or a dumbbell."""
    kind, host = topology["kind"], "" if port["is_switch"] else port["from"]
    host = host or port["to"]
    if kind == "star":
        own = topology["sender_rate"] if host.startswith("s") else "none"
        return rate(topology["rate"] if own == "none" else own)
    if kind == "dumbbell":
        inner = {port["from"], port["to"]} == {"left", "right"}
        own = "none" if inner else topology["access_rate"]
        return rate(topology["rate"] if own == "none" else own)
    return None


def declared_delay(port: Mapping[str, Any], topology: Mapping[str, Any]) -> int | None:
    """The delay that the experiment gives to a wire of a star or a dumbbell."""
    kind, host = topology["kind"], port["to"] if port["is_switch"] else port["from"]
    if kind == "star":
        own = topology["sender_delay"] if host.startswith("s") else "none"
        return picoseconds(topology["delay"] if own == "none" else own)
    if kind == "dumbbell":
        inner = {port["from"], port["to"]} == {"left", "right"}
        return picoseconds(topology["delay" if inner else "access_delay"])
    return None


def _declared(
    trace: Trace, column: str, wanted: Callable[..., int | None], found: pl.DataFrame | None = None
) -> Iterator[Breach]:
    ports = trace.ports if found is None else trace.ports.join(found, on="port")
    for port in ports.iter_rows(named=True):
        own = wanted(port, trace.experiment["topology"])
        if own is None:
            return trace.skip(f"declared {column}", "the audit reads the links of star and dumbbell alone")
        if own != port[column]:
            text = f"{column} is {port[column]}, and the experiment says {own}"
            yield Breach(text, 0, port["port"])


def followed(trace: Trace, rule: str) -> Iterator[tuple[str, pl.DataFrame]]:
    """The departures of each switch port whose arrivals are all known."""
    if trace.changes:
        return trace.skip(rule, "links change or wires disturb packets")
    if trace.experiment.get("pfc") or trace.experiment.get("priority"):
        return trace.skip(rule, "ports pause, or serve by priority")
    for port, rows in trace.switched.items():
        if rows["came"].null_count():
            trace.skip(rule, "a switch makes packets or sends them back")
        elif port in trace.mistakable:
            trace.skip(rule, "acknowledgements that are alike leave a switch by several ports")
        else:
            yield port, rows


_RESTING = {"credit", "policer"}


@rule("work", "Kleinrock 1976 s.3.4: a work-conserving server is not idle while a customer waits")
def works(trace: Trace) -> Iterator[Breach]:
    """A transmission begins when the transmitter is free and a packet is there."""
    import numpy as np

    for port, rows in followed(trace, "work"):
        if rows["kind"][0] in _RESTING:
            trace.skip("work", "a discipline holds packets back")
            continue
        time, came, takes = times(rows)
        soonest = np.minimum.accumulate(came[::-1])[::-1]
        begin = np.maximum(np.concatenate([[0], time[:-1]]), soonest)
        wrong = np.flatnonzero(time != begin + takes)
        if len(wrong):
            at = int(wrong[0])
            late = int(time[at] - begin[at] - takes[at])
            text = f"packet {rows['seq'][at]} of flow {rows['flow'][at]} leaves {late} ps after its turn"
            yield Breach(text, int(time[at]), port, len(wrong))


@rule("order", "first in, first out: the port decides at arrival and serves in that order", Runs.BOTH)
def in_order(trace: Trace) -> Iterator[Breach]:
    """A port of a discipline that decides at arrival serves in the order of arrival."""
    import numpy as np

    for port, rows in followed(trace, "order"):
        if not trace.fifo(port):
            trace.skip("order", "a discipline chooses its next packet")
            continue
        came = rows["came"].to_numpy().astype("i8")
        wrong = np.flatnonzero(np.diff(came) < 0)
        if len(wrong):
            at = int(wrong[0]) + 1
            text = f"packet {rows['seq'][at]} of flow {rows['flow'][at]} came before the one that left first"
            yield Breach(text, int(rows["time_ps"][at]), port, len(wrong))


class _Queue(NamedTuple):
    """The queue that each accepted packet finds, as a discipline measures it."""

    packets: np.ndarray
    bytes: np.ndarray

    def above(self, limit: tuple[int, bool], reached: bool) -> np.ndarray:
        found = self.packets if limit[1] else self.bytes
        return found >= limit[0] if reached else found > limit[0]


def queue_found(
    rows: pl.DataFrame, at: np.ndarray, ahead: np.ndarray, size: np.ndarray, settings: Any, after: bool
) -> _Queue:
    """At `at`, with `ahead` packets having come before: those of them that have not left yet."""
    import numpy as np

    time, _, _ = times(rows)
    sizes = rows["size"].to_numpy().astype("i8")
    total = np.concatenate([[0], np.cumsum(sizes)])
    gone = np.minimum(np.searchsorted(time, at, side="right"), ahead)
    packets, held = ahead - gone, total[ahead] - total[gone]
    if not settings.get("count_in_service", True):
        serving = packets > 0
        packets, held = packets - serving, held - np.where(serving, np.append(sizes, 0)[gone], 0)
    return _Queue(packets + after, held + (size if after else 0))


def _fifos(trace: Trace, rule: str, kinds: set[str]) -> Iterator[tuple[str, pl.DataFrame, Any, _Queue]]:
    import numpy as np

    present = {trace.discipline(port, True)["kind"] for port in trace.switched}
    if not present & kinds:
        return  # No port has the discipline of which the rule speaks.
    for port, rows in followed(trace, rule):
        settings = trace.discipline(port, True)
        if settings["kind"] in kinds:
            came, size = rows["came"].to_numpy().astype("i8"), rows["size"].to_numpy().astype("i8")
            after = settings.get("measure", "before") == "after"
            yield port, rows, settings, queue_found(rows, came, np.arange(len(rows)), size, settings, after)
        else:
            trace.skip(rule, "a discipline has no such law in the audit")


def _report(port: str, rows: pl.DataFrame, wrong: np.ndarray, queue: _Queue, text: str) -> Iterator[Breach]:
    import numpy as np

    places = np.flatnonzero(wrong)
    if len(places):
        at = int(places[0])
        found = f"{int(queue.packets[at])} packets and {int(queue.bytes[at])} bytes"
        full = f"packet {rows['seq'][at]} of flow {rows['flow'][at]} finds {found}, and {text}"
        yield Breach(full, int(rows["came"][at]), port, len(places))


@rule("limit", "RFC 7567 s.1: a packet that finds the queue full is dropped, and no other")
def keeps_limit(trace: Trace) -> Iterator[Breach]:
    """No accepted packet found the queue full; each that was lost as it came did."""
    import numpy as np
    import polars as pl

    for port, rows, settings, queue in _fifos(trace, "limit", {"drop-tail", "threshold"}):
        limit, after = level(settings["limit"]), settings["measure"] == "after"
        lost = trace.losses.filter((pl.col("port") == port) & (pl.col("cause") == "drops_full"))
        if limit is None:
            yield from first(lost, "packet {seq} of flow {flow} is lost, and the queue has no limit")
            continue
        yield from _report(port, rows, queue.above(limit, not after), queue, "is queued beyond the limit")
        at, came = lost["time_ps"].to_numpy().astype("i8"), rows["came"].to_numpy().astype("i8")
        # Packets that come at the same instant may have come before it or after it.
        ahead = np.searchsorted(came, at, side="right")
        size = lost["size"].to_numpy().astype("i8")
        full = queue_found(rows, at, ahead, size, settings, after).above(limit, not after)
        # Packets that are held at the end have no departure, so that the last losses cannot be judged.
        known = at < (came[-1] if len(came) else 0)
        yield from first(lost.filter(pl.Series(~full & known)), "packet {seq} of flow {flow} found room")


def marks_of(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Which packets were marked here, and which could have been."""
    before, now = rows["ecn_before"].to_numpy(), rows["ecn"].to_numpy()
    return (now == 3) & (before != 3), (before == 1) | (before == 2)


@rule("codepoint", "RFC 3168 s.5: a router sets CE on ECT packets, and changes nothing else", Runs.BOTH)
def keeps_codepoints(trace: Trace) -> Iterator[Breach]:
    """A switch leaves the codepoint, or sets CE on a packet whose transport can answer."""
    import polars as pl

    if trace.faults("duplicate"):
        return trace.skip("codepoint", "wires double packets, and a copy may be marked alone")
    changed = pl.col("ecn") != pl.col("ecn_before")
    wrong = trace.hops.filter(changed & ((pl.col("ecn") != 3) | (pl.col("ecn_before") == 0)))
    yield from first(
        wrong, "packet {seq} of flow {flow} comes with codepoint {ecn_before} and leaves with {ecn}"
    )


@rule("threshold", "Alizadeh 2010 s.3.1; RFC 8257 s.3.1: mark if the queue is greater than K upon arrival")
def marks_above(trace: Trace) -> Iterator[Breach]:
    """A packet is marked if it finds more than the threshold, and not otherwise."""
    if trace.faults("mark", "mark_every"):
        return trace.skip("threshold", "wires mark packets")
    for port, rows, settings, queue in _fifos(trace, "threshold", {"threshold"}):
        if settings["first_exempt"]:
            trace.skip("threshold", "the first packet above the threshold is exempt")
            continue
        marked, able = marks_of(rows)
        threshold = level(settings["mark_at"])
        if threshold is None:
            continue
        above = queue.above(threshold, False)
        yield from _report(port, rows, marked & ~above, queue, "is marked")
        yield from _report(port, rows, able & above & ~marked, queue, "is not marked")


@rule("red", "Floyd and Jacobson 1993 fig. 2: no mark while the average is below min_th")
def red_marks(trace: Trace) -> Iterator[Breach]:
    """RED marks only if the queue has ever reached min_th: an average is below the greatest value."""
    import numpy as np

    if trace.faults("mark", "mark_every"):
        return trace.skip("red", "wires mark packets")
    for port, rows, settings, queue in _fifos(trace, "red", {"red"}):
        least = level(settings["min"])
        if least is None or least[0] == 0:
            trace.skip("red", "min_th follows from the rate")
            continue
        seen = np.maximum.accumulate(queue.packets if least[1] else queue.bytes)
        marked, _ = marks_of(rows)
        yield from _report(port, rows, marked & (seen < least[0]), queue, "is marked below min_th")


@rule("codel", "RFC 8289 s.5.3: CoDel acts on packets that waited for target or longer")
def codel_marks(trace: Trace) -> Iterator[Breach]:
    """CoDel and FQ-CoDel mark no packet that waited for less than the target."""
    import numpy as np

    if trace.faults("mark", "mark_every"):
        return trace.skip("codel", "wires mark packets")
    kinds = {trace.discipline(port, True)["kind"] for port in trace.switched}
    if not kinds & {"codel", "fq-codel"}:
        return
    for port, rows in followed(trace, "codel"):
        settings = trace.discipline(port, True)
        if settings["kind"] not in ("codel", "fq-codel"):
            continue
        if settings.get("ce_threshold", "none") != "none":
            trace.skip("codel", "packets are marked above a second threshold")
            continue
        time, came, takes = times(rows)
        waited = time - takes - came
        marked, _ = marks_of(rows)
        wrong = np.flatnonzero(marked & (waited < picoseconds(settings["target"])))
        if len(wrong):
            at = int(wrong[0])
            text = f"packet {rows['seq'][at]} of flow {rows['flow'][at]} waited {waited[at]} ps and is marked"
            yield Breach(text, int(time[at]), port, len(wrong))


@rule("delivery", "docs/reference/tables.md, flows: each byte that arrived counts once")
def delivers(trace: Trace) -> Iterator[Breach]:
    """A connection's `arrived_bytes` are those that landed; goodput is at most the rate of a link."""
    import polars as pl

    flows = trace.tables["flows"].with_columns(pl.lit(trace.duration).alias("time_ps"))
    links = trace.ports.filter(pl.col("is_switch") == 0)
    rates = links.group_by(pl.col("from").alias("src")).agg(pl.col("rate_bps").sum())
    fast = flows.join(rates, on="src").filter(pl.col("goodput_bps") > pl.col("rate_bps") * 1.000000001)
    if not trace.changes:
        text = "flow {id} has a goodput of {goodput_bps} b/s from a host of {rate_bps} b/s"
        yield from first(fast.with_columns(pl.col("src").alias("port")), text)
    kinds = [load.get("transport", {}).get("profile", "") for load in trace.experiment["traffic"].values()]
    tcp = all(kind in TCP for kind in kinds)
    if trace.warmup or not tcp or trace.changes:
        return trace.skip(
            "delivery", "statistics begin at warmup, or a transport other than TCP carries data"
        )
    data = trace.hops.lazy().filter(
        (pl.col("payload") > 0) & (pl.col("reverse") == 0) & (pl.col("to") == pl.col("dst"))
        & pl.col("landed_ps").is_not_null() & (pl.col("lost") == 0)
    ).select("flow", "seq", "payload").sort("flow", "seq")  # fmt: skip
    end = pl.col("seq") + pl.col("payload")
    reached = end.cum_max().over("flow").shift(1).over("flow").fill_null(0)
    new = pl.max_horizontal(end, reached) - pl.max_horizontal(pl.col("seq"), reached)
    landed = (
        data.with_columns(new.alias("new"))
        .group_by("flow")
        .agg(pl.col("new").sum().alias("landed"))
        .collect()
    )
    rows = flows.join(landed, left_on="id", right_on="flow", how="left").with_columns(
        pl.col("landed").fill_null(0), pl.col("dst").alias("port"))  # fmt: skip
    text = "flow {id} counts {arrived_bytes} bytes, and {landed} landed"
    yield from first(rows.filter(pl.col("landed") != pl.col("arrived_bytes")), text)


@rule(
    "acknowledgement",
    "RFC 9293 s.3.10.7.4: an acknowledgement names no byte that did not come",
    Runs.BOTH,
)
def acknowledges(trace: Trace) -> Iterator[Breach]:
    """An acknowledgement of TCP leaves its host after the data that it acknowledges landed there."""
    import polars as pl

    kinds = {load.get("transport", {}).get("profile", "") for load in trace.experiment["traffic"].values()}
    if not kinds.issubset(TCP) or trace.changes:
        return trace.skip(
            "acknowledgement", "a transport other than TCP carries data, or wires disturb packets"
        )
    loads = trace.experiment["traffic"].values()
    if any(load["transport"].get("ack_ahead", "none") != "none" for load in loads):
        return trace.skip("acknowledgement", "a receiver acknowledges ahead of its data (ack_ahead)")
    # RFC 9293 s.3.4: a FIN takes one number of the sequence.
    fin = (pl.col("tcp_flags") & 1).cast(pl.UInt64)
    there = (pl.col("reverse") == 0) & (pl.col("lost") == 0) & (pl.col("to") == pl.col("dst"))
    data = trace.hops.lazy().filter(there & pl.col("landed_ps").is_not_null())
    end = (pl.col("seq") + pl.col("payload") + fin).alias("e")
    came = data.select("flow", pl.col("landed_ps").alias("at"), end)
    came = came.sort("at").with_columns(pl.col("e").cum_max().over("flow"))
    acks = trace.hops.lazy().filter((pl.col("pure_ack") == 1) & (pl.col("reverse") == 1) & (pl.col("seq") > 0)
                             & (pl.col("from") == pl.col("dst")))  # fmt: skip
    acks = acks.filter(pl.col("opcode").is_null()).select("flow", "seq", "time_ps", "port").sort("time_ps")
    known = acks.join_asof(came, left_on="time_ps", right_on="at", by="flow", check_sortedness=False)
    wrong = known.filter(pl.col("seq") > pl.col("e").fill_null(0)).collect()
    yield from first(wrong, "flow {flow} acknowledges byte {seq}, and byte {e} is the last that came")
