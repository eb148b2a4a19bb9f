"""HPCC computed again: the records that switches write into packets, and the windows of their senders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.audit.quantities import level, picoseconds
from shallows.audit.rule import Breach, rule
from shallows.audit.rules import followed

if TYPE_CHECKING:
    import polars as pl

    from shallows.audit.trace import Trace

SENT, WAITING = 128, 80
"""Units of the header's bytes sent and queues, times `unit_factor`: Li 2019 s.4.1."""
TIME_BITS, SENT_BITS, QUEUE_MOST = 24, 20, 2**16 - 1
ACKNOWLEDGEMENT = 17
"""Its opcode: InfiniBand table 38."""

Name = tuple[int, int, int]
"""A packet of data: its connection, first byte and time of sending."""


class _Record(NamedTuple):
    """A switch's record in a header."""

    port: str
    bps: int
    at_ns: int
    sent: int
    queue: int


def _records(trace: Trace, settings: Mapping[str, Any]) -> dict[Name, list[_Record]]:
    """By packet of data, the records of its path in their order, where all queues of it are known."""
    import numpy as np

    found: dict[Name, list[tuple[int, _Record]]] = {}
    unknown: set[Name] = set()
    factor = settings["unit_factor"]
    ports = dict(followed(trace, "hpcc-law"))
    for port, rows in trace.switched.items():
        if port not in ports:
            unknown |= set(rows.select("flow", "seq", "stamp_ps").iter_rows())
    for port, rows in ports.items():
        bps = int(rows["rate_bps"][0])
        size, time, came = (rows[name].to_numpy().astype("i8") for name in ("size", "time_ps", "came"))
        arrived = np.concatenate([[0], np.cumsum(size[np.argsort(came, kind="stable")])])
        left = np.cumsum(size)
        # A packet that comes as another leaves finds that one gone, so that it is not there yet.
        first = settings["written"] == "first-bit"
        at = time - (-(-size * 8 * 10**12 // bps)) if first else time
        there = arrived[np.searchsorted(np.sort(came), at, side="left")]
        # A record as the first bit leaves has neither the packet's bytes nor its place in the queue.
        counted = left - size if first else left
        waiting = np.maximum(there - left, 0)
        data = (rows["payload"].to_numpy() > 0) & (rows["reverse"].to_numpy() == 0)
        names = rows.select("flow", "seq", "stamp_ps").rows()
        # Packets that are held at the end have no row, and may have come since the last that left.
        late = data & (at >= came.max())
        unknown |= {names[place] for place in np.flatnonzero(late).tolist()}
        for place in np.flatnonzero(data).tolist():
            record = _Record(
                port,
                bps,
                int(at[place]) // 1000,
                int(counted[place]) // (SENT * factor),
                min(int(waiting[place]) // (WAITING * factor), QUEUE_MOST),
            )
            found.setdefault(names[place], []).append((int(time[place]), record))
    known = {name: each for name, each in found.items() if name not in unknown}
    return {name: [one for _, one in sorted(each)] for name, each in known.items()}


class _Sender:
    """Li 2019 algorithm 1, on its own numbers; U begins at 1 as in its authors' rdma-hw.cc."""

    def __init__(self, settings: Mapping[str, Any], factor: int, bps: int):
        self.eta, self.stages = settings["eta"], settings["max_stage"]
        self.step = float((level(str(settings["step"])) or (0, False))[0])
        self.trip = picoseconds(settings["base_rtt"]) / 1e12
        self.factor, self.reaction = factor, settings["reaction"]
        self.window = self.reference = self.most = bps / 8 * self.trip
        self.use, self.stage = 1.0, 0
        self.last: list[_Record] = []

    def measured(self, path: list[_Record]) -> bool:
        """MeasureInflight: U of the link that is used most, over the time since the last record."""
        old, self.last = self.last, path
        if [one.port for one in old] != [one.port for one in path] or not path:
            return False
        most = took = 0.0
        for new, before in zip(path, old, strict=True):
            seconds = ((new.at_ns - before.at_ns) % 2**TIME_BITS) * 1e-9
            if not seconds:
                continue
            sent = ((new.sent - before.sent) % 2**SENT_BITS) * SENT * self.factor
            queue = min(new.queue, before.queue) * WAITING * self.factor
            share = 8 * queue / (new.bps * self.trip) + 8 * sent / (seconds * new.bps)
            if share > most:
                most, took = share, seconds
        weight = min(took, self.trip) / self.trip
        self.use = (1 - weight) * self.use + weight * most
        return True

    def computed(self, update: bool) -> None:
        """ComputeWind: W from Wc, which moves once a round trip."""
        over = self.use / self.eta
        multiplies = over >= 1 or self.stage >= self.stages
        wanted = (self.reference / over if multiplies and over else self.reference) + self.step
        if multiplies and not over:
            wanted = self.most
        self.window = min(max(wanted, self.step), max(self.most, self.step))
        if update:
            self.stage = 0 if multiplies else self.stage + 1
            self.reference = self.window


@rule("hpcc-law", "Li 2019 s.3.2, algorithm 1: U from the records of a path, W from U and Wc, R = W / T")
def follows_hpcc(trace: Trace) -> Iterator[Breach]:
    """HPCC's rate, computed again from the records in its acknowledgements, is the recorded one."""
    import polars as pl

    own = {
        name: load["transport"]
        for name, load in trace.experiment["traffic"].items()
        if load.get("transport", {}).get("cc", {}).get("kind") == "hpcc"
    }
    control = trace.experiment.get("port_control", {})
    if not own or control.get("kind") != "hpcc":
        return
    if trace.warmup or trace.changes:
        return trace.skip("hpcc-law", "tables begin at warmup, or wires disturb packets")
    usual = {name for name, one in own.items() if _usual(one, control)}
    if len(usual) < len(own):
        trace.skip("hpcc-law", "T or the answers differ from those that the audit follows")
    if not usual:
        return
    records = _records(trace, control)
    hops = trace.hops.filter(pl.col("traffic").is_in(list(usual)))
    own_port = (pl.col("reverse") == 0) & (pl.col("from") == pl.col("src"))
    sent = hops.filter(own_port & (pl.col("payload") > 0))
    back = (pl.col("reverse") == 1) & (pl.col("to") == pl.col("src")) & (pl.col("lost") == 0)
    told = hops.filter(back & pl.col("landed_ps").is_not_null()).sort("landed_ps")
    by_told = told.partition_by("flow", as_dict=True)
    by_rows = trace.tables["flow_trace"].partition_by("flow", as_dict=True)
    for key, data in sent.sort("stamp_ps", "seq").partition_by("flow", as_dict=True).items():
        if key in by_told and key in by_rows:
            settings = own[str(data["traffic"][0])]
            sender = _Sender(settings["cc"], control["unit_factor"], int(data["rate_bps"][0]))
            yield from _judged(trace, sender, data, by_told[key], by_rows[key], records)


def _usual(settings: Mapping[str, Any], control: Mapping[str, Any]) -> bool:
    cc = settings["cc"]
    plain = cc["base_rtt"] != "none" and cc["reaction"] in ("reference", "per-ack", "per-rtt")
    return plain and settings["profile"] == "roce" and control["counts"] == "sent"


def _judged(
    trace: Trace,
    sender: _Sender,
    data: pl.DataFrame,
    told: pl.DataFrame,
    rows: pl.DataFrame,
    records: Mapping[Name, list[_Record]],
) -> Iterator[Breach]:
    import numpy as np

    flow, place = int(data["flow"][0]), str(data["src"][0])
    at, seq = (data[name].to_numpy().astype("i8") for name in ("stamp_ps", "seq"))
    end = np.maximum.accumulate(seq + data["payload"].to_numpy().astype("i8"))
    again = at[1:][seq[1:] < end[:-1]][:1].tolist()
    names = dict(zip(at.tolist(), zip([flow] * len(at), seq.tolist(), at.tolist(), strict=True), strict=True))
    row_at = rows["time_ps"].to_numpy().astype("i8")
    rates = rows["pacing_bps"].fill_null(float("nan")).to_numpy()
    round_end = una = 0
    answers = (
        told.filter(told["opcode"] == ACKNOWLEDGEMENT).select("landed_ps", "seq", "stamp_ps", "nak").rows()
    )
    for number, (now, ack, stamp, nak) in enumerate(answers):
        if nak or (again and now >= again[0]):
            return  # It repairs a loss, after which answers no longer name single packets.
        una = max(una, ack)
        ended = una > round_end
        if ended:
            round_end = int(end[np.searchsorted(at, now, side="left") - 1])
        name = names.get(stamp)
        path = records.get(name) if name else []
        if path is None:
            return  # A port of its path is not followed, or its queue is not known.
        fresh = bool(path) and sender.measured(path)
        if fresh and (sender.reaction != "per-rtt" or ended):
            sender.computed(ended if sender.reaction == "reference" else True)
        if number + 1 < len(answers) and answers[number + 1][0] == now:
            continue
        row = int(np.searchsorted(row_at, now, side="right")) - 1
        wanted = max(round(8 * sender.window / sender.trip), 1)
        if row >= 0 and not abs(rates[row] - wanted) <= 1 + 1e-5 * wanted:
            text = f"flow {flow} sends at {rates[row]:.0f} b/s, and its records give {wanted}"
            yield Breach(text, now, place)
            return
