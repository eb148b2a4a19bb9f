"""Packets with headers that switches read and write, and the ports that do so.

No table has the headers. A rule derives from a sender's own packets and answers the values that it wrote,
then follows each port through its arrivals, and then holds the sender to what its answers bring back.
A port is followed while its arrivals are known: until the first time that a packet comes at the very time
of its clock. A sender is judged until its first sign of a loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from shallows.audit.quantities import level
from shallows.audit.rule import TCP
from shallows.audit.trace import matches

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from shallows.audit.trace import Trace

__all__ = ["Answer", "Arrival", "Port", "Sender", "Sent", "follow", "ports", "senders"]

SYN, FIN = 2, 1
"""Flags of RFC 9293 s.3.1."""
USUAL = {
    "rtt_by": "timestamps", "clock_grain": "0s", "opening": "handshake", "arithmetic": "exact",
    "ack_every": 1, "ack_pieces": 1, "ack_repeats": 0, "ack_ahead": "none", "tail_loss_probe": False,
}  # fmt: skip
"""Settings with which each packet has an answer of its own, and each answer measures a round trip."""


Name = tuple[int, int, int, int]
"""A packet: its connection, its time of sending, its first byte and its size."""


class Sent(NamedTuple):
    """A packet as it leaves its sender."""

    at: int
    syn: bool
    fin: bool
    payload: int
    extra: int
    """Bytes beyond its data and the headers of TCP."""
    remaining: float
    """Bytes written and not acknowledged, or announced by a SYN. Not a number where nobody knows."""
    trip: int
    """The sender's smoothed round trip in ps, 0 before the first."""
    open: bool
    """An answer comes at this very time, before it or after it: its values are not known."""


class Answer(NamedTuple):
    """A packet that comes back to the sender."""

    at: int
    to: Name | None
    """The packet that it answers."""
    gained: int
    """Bytes that it is the first to acknowledge."""
    smoothed: int
    """The round trip in ps, smoothed by RFC 6298, with this answer."""


class Sender(NamedTuple):
    """A connection as its sender sees it."""

    number: int
    place: str
    settings: Mapping[str, Any]
    mss: int
    sent: dict[Name, Sent]
    answers: list[Answer]
    row_at: np.ndarray
    rate: np.ndarray
    cwnd: np.ndarray
    starts: list[int]
    """When the application writes."""
    until: int
    """Time of the first sign of a loss."""


def senders(trace: Trace, name: str, kind: str) -> dict[int, Sender]:
    """Connections over TCP with the control `kind`, by number."""
    import polars as pl

    own = {
        load: about["transport"]
        for load, about in trace.experiment["traffic"].items()
        if about.get("transport", {}).get("cc", {}).get("kind") == kind
    }
    if not own:
        return {}
    if trace.warmup or trace.changes or trace.experiment["probe"]["classes"] != "*":
        trace.skip(name, "tables begin at warmup, wires disturb packets, or classes are left out")
        return {}
    usual = {load for load, one in own.items() if one["profile"] in TCP and _usual(one)}
    if len(usual) < len(own):
        trace.skip(name, "some packets have no answer of their own, or clocks are coarse")
        return {}
    hops = trace.hops.filter(pl.col("traffic").is_in(list(own)) & (pl.col("trimmed") == 0))
    left = hops.filter((pl.col("reverse") == 0) & (pl.col("from") == pl.col("src")))
    back = (pl.col("reverse") == 1) & (pl.col("to") == pl.col("src")) & (pl.col("lost") == 0)
    came = hops.filter(back & pl.col("landed_ps").is_not_null()).sort("landed_ps")
    answers = came.partition_by("flow", as_dict=True)
    traced = trace.tables["flow_trace"].partition_by("flow", as_dict=True)
    written = trace.tables["messages"].sort("start_ps").partition_by("flow", as_dict=True)
    bounded = set(trace.tables["flows"].drop_nulls("bytes")["id"])
    found = {}
    for key, rows in left.sort("stamp_ps", "seq").partition_by("flow", as_dict=True).items():
        if key not in traced:
            continue
        app, seen = None, key in written
        if seen:
            app = written[key].select("start_ps", "bytes").rows()
        elif key[0] in bounded:
            # A request of an incast is a packet of its own, and has no row.
            new = rows.filter((pl.col("payload") > 0) & (pl.col("seq") >= pl.col("seq").cum_max()))
            app = new.select("stamp_ps", "payload").rows()
            app[:1] = [(rows["stamp_ps"][0], size) for _, size in app[:1]]
        settings = own[rows["traffic"][0]]
        found[int(key[0])] = _sender(settings, rows, answers.get(key, came.clear()), traced[key], app, seen)
    return found


def _usual(settings: Mapping[str, Any]) -> bool:
    return all(settings[key] == value for key, value in USUAL.items())


class _Answers:
    """The answers of a connection in their order, with the state that they leave its sender in."""

    def __init__(self, back: pl.DataFrame, smoothed: Mapping[int, float]) -> None:
        self.rows = back.select("landed_ps", "stamp_ps", "seq").rows()
        self.recorded, self.found = smoothed, list[Answer]()
        self.una, self.least, self.smoothed, self.odd = 0, 2**62, 0, inf
        """`odd`: the time of the first one that acknowledges nothing new."""

    def advance(self, now: float, sent: Mapping[Name, Sent], ends: Mapping[tuple[int, int], Name]) -> None:
        """Takes in those that land until `now`."""
        while len(self.found) < len(self.rows) and self.rows[len(self.found)][0] <= now:
            landed, stamp, ack = self.rows[len(self.found)]
            trip, gained = landed - stamp, max(ack - self.una, 0)
            # A FIN takes a number, and a header alone none.
            names = (ends.get((stamp, end)) for end in (ack, ack - 1, -1))
            to = next((one for one in names if one), None)
            self.least = min(self.least, trip)
            if gained or not self.found:
                self.smooth(trip, self.recorded.get(landed))
            elif to is None or sent[to].payload or sent[to].syn:
                self.odd = min(self.odd, landed)
            self.una += gained
            self.found.append(Answer(landed, to, gained, self.smoothed))

    def trip(self) -> int:
        """The round trip that a sender reports: no less than the least, and 0 before the first."""
        return max(self.smoothed, self.least) if self.smoothed else 0

    def smooth(self, trip: int, recorded: float | None) -> None:
        """RFC 6298 s.2.2 and s.2.3 in whole numbers (Jacobson 1988 appendix A), as the table has them."""
        self.smoothed = self.smoothed - self.smoothed // 8 + trip // 8 if self.smoothed else trip
        if recorded is not None and abs(recorded - self.smoothed) <= 8:
            self.smoothed = int(recorded)


def _sender(
    settings: Mapping[str, Any], rows: pl.DataFrame, back: pl.DataFrame, traced: pl.DataFrame,
    app: list[tuple[int, int]] | None, seen: bool,
) -> Sender:  # fmt: skip
    number, header = int(rows["flow"][0]), (level(settings["header"]) or (0, False))[0]
    header += 12 * settings["timestamps"]
    row_at = traced["time_ps"].to_numpy().astype("i8")
    answers = _Answers(back, dict(zip(row_at.tolist(), traced["srtt_ps"].to_list(), strict=True)))
    # A connection without messages has no last byte.
    starts, sizes = [start for start, _ in app or ()], [size for _, size in app or ()]
    begun, total, reached, again = 0, 0.0 if app else inf, 0, inf
    sent: dict[Name, Sent] = {}
    ends: dict[tuple[int, int], Name] = {}
    names = ("stamp_ps", "seq", "payload", "size", "tcp_flags", "pure_ack")
    for at, seq, payload, size, flags, alone in rows.select(names).iter_rows():
        answers.advance(at - 1, sent, ends)
        earlier = answers.una, answers.trip(), reached > answers.una
        answers.advance(at, sent, ends)
        while begun < len(starts) and starts[begun] <= at:
            total += sizes[begun]
            begun += 1
        if alone:
            continue  # It acknowledges what the receiver sends.
        if (payload and seq < reached) or (flags & SYN and sent):
            again = min(again, at)
        reached = max(reached, seq + payload)
        # With nothing under way an answer lets data out.
        tied = earlier[1] > 0 and (not payload or earlier[2]) and earlier[:2] != (answers.una, answers.trip())
        key = (number, at, seq, size)
        ends[at, seq + payload if payload else -1] = key
        extra, rest = size - payload - header, max(total - answers.una, 0)
        if not (seen or payload or rest) and reached:
            rest = nan  # The header goes ahead of a request of unknown time.
        if flags & SYN and sizes:
            rest = max(rest, sizes[0])  # A SYN announces what the connection is opened for.
        sent[key] = Sent(at, flags & SYN > 0, flags & FIN > 0, payload, extra, rest, answers.trip(), tied)
    answers.advance(inf, sent, ends)
    return Sender(
        number, str(rows["src"][0]), settings, (level(str(settings["mss"])) or (0, False))[0], sent,
        answers.found, row_at, traced["pacing_bps"].fill_null(float("nan")).to_numpy(),
        traced["cwnd_bytes"].fill_null(float("nan")).to_numpy(), starts, int(min(again, answers.odd, 2**62)),
    )  # fmt: skip


class Arrival(NamedTuple):
    """A packet that comes to a port."""

    at: int
    key: Name | None
    """None of an acknowledgement of the other direction."""
    size: int
    accepted: bool


class Port(NamedTuple):
    """A port with a controller."""

    name: str
    bps: int
    settings: Mapping[str, Any]
    arrivals: list[Arrival]
    begun: np.ndarray
    """When the transmissions begin, in their order."""
    left: np.ndarray
    """When they end."""
    place: np.ndarray
    """The place of each packet in the order of arrivals that are accepted."""
    total: np.ndarray
    """Bytes of accepted packets in the order of arrivals, summed up."""
    sent: np.ndarray
    """Bytes in the order of transmissions, summed up."""
    until: int
    """The arrivals before are known."""

    def waiting(self, now: int, accepted: int) -> int:
        """Bytes that wait at `now`, after so many accepted packets. One in transmission does not wait."""
        started, beyond = self.begun.searchsorted([now, now + 1])
        if beyond > started and self.place[started] < accepted:
            started += 1
        return int(self.total[accepted] - self.sent[started])

    def empty(self, now: int, accepted: int) -> bool:
        """None of the packets that came is there at `now`."""
        return int(self.left.searchsorted(now, side="right")) >= accepted


def _controller(trace: Trace, port: str, switch: bool) -> Mapping[str, Any]:
    found = trace.experiment.get("port_control", {}) if switch else {}
    for names, over in trace.experiment.get("port", {}).items():
        if "port_control" in over and any(matches(name.strip(), port) for name in names.split(",")):
            found = over["port_control"]
    return found


def ports(trace: Trace, name: str, kind: str) -> Iterator[Port]:
    """Ports with the controller `kind`. The arrivals of some are not known."""
    import polars as pl

    served = not (trace.experiment.get("pfc") or trace.experiment.get("priority"))
    about = trace.ports.select("port", "is_switch", "rate_bps").iter_rows()
    control = {
        port: (bool(switch), _controller(trace, port, bool(switch)), bps) for port, switch, bps in about
    }
    own = [port for port, (_, settings, _) in control.items() if settings.get("kind") == kind]
    rows = trace.hops.filter(pl.col("port").is_in(own)).partition_by("port", as_dict=True)
    for port in own:
        switch, settings, bps = control[port]
        frame, lost = rows.get((port,)), trace.losses.filter(pl.col("port") == port)
        if frame is None:
            continue
        if not switch:
            frame = _at_host(trace, frame)
        # A host's port may choose its next packet, if it loses none.
        in_order = trace.fifo(port) if switch else not len(lost)
        known = served and in_order and not frame["came"].null_count()
        if not known:
            trace.skip(name, "a port does not serve in order, or its arrivals are not recorded")
            frame = frame.with_columns(came=pl.col("time_ps"))
        one = _port(port, bps, settings, frame, lost)
        yield one if known else one._replace(until=-1)


def _at_host(trace: Trace, frame: pl.DataFrame) -> pl.DataFrame:
    """Packets of a host's port, which come there when they are sent.

    An acknowledgement has another's time, and is sent when that one lands. One of a sender follows a FIN.
    """
    import polars as pl

    here = (pl.col("to") == frame["from"][0]) & pl.col("landed_ps").is_not_null() & (pl.col("lost") == 0)
    landed = trace.hops.filter(here).sort("landed_ps")
    fins = landed.filter((pl.col("reverse") == 1) & (pl.col("tcp_flags") & (SYN | FIN) != 0))
    fins = fins.select("flow", pl.col("landed_ps").alias("closed"))
    nth = pl.int_range(pl.len()).over("flow", "stamp_ps", "reverse").alias("nth")
    data = landed.filter(pl.col("reverse") == 0).with_columns(nth)
    data = data.select("flow", "stamp_ps", "nth", pl.col("landed_ps").alias("answered"), reverse=1)
    frame = frame.with_columns(nth, pl.col("reverse").cast(pl.Int32))
    keys = ["flow", "stamp_ps", "nth", "reverse"]
    frame = frame.join(data, on=keys, how="left", maintain_order="left")
    frame = frame.join_asof(fins, left_on="time_ps", right_on="closed", by="flow", check_sortedness=False)
    came = pl.when(reverse=1).then("answered").when(pure_ack=1).then("closed").otherwise("stamp_ps")
    return frame.with_columns(came=came)


def _port(port: str, bps: int, settings: Mapping[str, Any], frame: pl.DataFrame, lost: pl.DataFrame) -> Port:
    import numpy as np

    came, left, size = (frame[key].to_numpy().astype("i8") for key in ("came", "time_ps", "size"))
    begun = left - -(-size * 8 * 10**12 // bps)
    arrivals = [Arrival(*one, True) for one in zip(came.tolist(), _names(frame), size.tolist(), strict=True)]
    refused = zip(lost["time_ps"].to_list(), _names(lost), lost["size"].to_list(), strict=True)
    arrivals += [Arrival(*one, False) for one in refused]
    arrivals.sort(key=lambda one: one.at)
    order = np.argsort(came, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    if np.all(np.diff(came) >= 0):
        until = came[-1]
    else:
        # Packets that are there at the end came after the port was last at rest.
        until = begun[np.flatnonzero(np.diff(left, prepend=0) > left - begun)[-1]]
    total, sent = (np.concatenate([[0], np.cumsum(each)]) for each in (size[order], size))
    return Port(port, bps, settings, arrivals, begun, left, place, total, sent, int(until))


def _names(frame: pl.DataFrame) -> Iterator[Name | None]:
    columns = (frame[key].to_list() for key in ("flow", "stamp_ps", "seq", "size", "reverse"))
    for flow, stamp, seq, size, reverse in zip(*columns, strict=True):
        yield None if reverse else (flow, stamp, seq, size)


class Law(Protocol):
    """A port's law: its clock, which gives the time of the next tick or none, and what it writes."""

    def wake(self, now: int) -> int:
        """A packet comes while the clock sleeps."""
        ...

    def tick(self, now: int, accepted: int) -> Any:
        """The time of the clock has come, after so many accepted packets. `...` if the rest is not known."""
        ...

    def tie(self, one: Arrival, accepted: int) -> bool:
        """A packet comes at the very time of the clock, before it or after it. Whether the law goes on."""
        ...

    def arrive(self, one: Arrival, accepted: int) -> Any:
        """A packet comes; returns the value that it gets here, or none if it carries no header."""
        ...


def follow(port: Port, law: Law, into: dict[Name, list[Any]]) -> None:
    """Notes into `into` the value that each packet gets at `port`, or `...` where that is not known."""
    due: Any = None
    accepted, known = 0, True
    for one in port.arrivals:
        known = known and one.at <= port.until
        while known and due is not None and due < one.at:
            due = law.tick(due, accepted)
            known = due is not ...
        if known and due == one.at:
            # Which comes first is not recorded.
            known = law.tie(one, accepted)
            due = law.tick(due, accepted) if known else None
        if known and due is None:
            due = law.wake(one.at)
        given = law.arrive(one, accepted) if known else ...
        if given is not None and one.key is not None:
            into.setdefault(one.key, []).append(given)
        accepted += one.accepted
