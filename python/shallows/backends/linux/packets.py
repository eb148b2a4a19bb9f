"""The tables `packets` and `losses` of a run with `probe.audit`, from what ports and ends of wires captured.

The guest captures each packet twice: when a port takes it from its queue, which begins its transmission, and
when it leaves the wire (`guest/capture.c`). So `time_ps` is the first instant, and `landed_ps` the second.
A packet that comes to a node and does not leave it was dropped at the port by which its connection leaves.

Left out: drops at the end of a run, of which nobody sees whether the packet only waits; and the cause of each
drop at a port that counted two, all of which get the cause that the port counted more often.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.backends.linux import transports
from shallows.errors import Fault, RunError

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.network import Scenario

__all__ = ["faults", "least_trace_ps", "lines", "tables"]

NUMBER = 1000
"""The capture's number; those of `linux exec` count from 0."""
FILE = f"capture{NUMBER}.pcapng"
FIRST_PORT = 10000
"""The first port of a sender (`guest/traffic.c`). Each further connection of a host has the next one."""
LEAST_TRACE_PS = 100_000_000
TRACE_SAMPLES = 20_000

FIN, SYN, ECE, CWR, AE = 0x01, 0x02, 0x40, 0x80, 0x100
ETHERNET, IP, TCP = 14, 20, 6
PACKET, NO_OPTION, TIMESTAMPS, SACK = 6, 1, 8, 5
BLOCK, ENHANCED, TWO = Struct("<II"), Struct("<IIIII"), Struct(">II")
HEADERS = Struct(">BHHHBBHIIHHIIH")
"""From IP's type of service to TCP's flags."""
AHEAD = b"\x01\x01\x08\x0a"
"""Before the timestamps, as the kernel places them in all segments but a SYN."""


def faults(experiment: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of `probe.audit` on Linux."""
    audit = experiment["probe"]["audit"]
    if audit and any(transports.datagrams(load) for load in experiment["traffic"].values()):
        rule = "is not supported on Linux beside loads of datagrams, whose packets it would leave out"
        yield Fault("probe.audit", rule, audit)


def least_trace_ps(duration: int) -> int:
    """The time between two samples of connections in a run with `probe.audit`."""
    return max(duration // TRACE_SAMPLES // 1000 * 1000, LEAST_TRACE_PS)


def lines(ports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines of the plan that capture what each port sends and what each wire delivers."""
    for number, port in enumerate(ports):
        yield f"capture {NUMBER} {port['from']} p{number} {port['name']} 0"
        yield f"capture {NUMBER} {port['to']} i{number} {port['name']} 1"


class Captured(NamedTuple):
    """A packet of TCP in a file of the guest. `port` is the port's number; `arrives` at its wire's end."""

    at_ns: int
    port: int
    arrives: int
    source: tuple[int, int]
    target: tuple[int, int]
    identity: int
    tos: int
    size: int
    seq: int
    ack: int
    header: int
    flags: int
    value: int
    echo: int
    blocks: tuple[int, ...]

    @property
    def lasting(self) -> tuple[Any, ...]:
        """The fields that stay the same on its way, and tell it from other packets, its copies included."""
        flags = self.flags & ~(ECE | CWR | AE)
        return (self.source, self.target, self.identity, self.seq, self.ack, self.value, flags)


def captured(data: bytes) -> Iterator[Captured]:
    """The packets of TCP in a file of the guest, in the file's order."""
    place = 0
    while place + BLOCK.size <= len(data):
        kind, length = BLOCK.unpack_from(data, place)
        if kind == PACKET:
            interface, high, low, kept, _ = ENHANCED.unpack_from(data, place + 8)
            frame = data[place + 28 : place + 28 + kept]
            tos, size, identity, _, _, protocol, _, source, target, port, other, seq, ack, bits = (
                HEADERS.unpack_from(frame, ETHERNET + 1)
            )
            if protocol == TCP:
                header = (bits >> 12) * 4
                value, echo, blocks = _options(frame[ETHERNET + IP + 20 : ETHERNET + IP + header])
                yield Captured(
                    (high << 32) + low,
                    interface // 2,
                    interface % 2,
                    (source, port),
                    (target, other),
                    identity,
                    tos,
                    size,
                    seq,
                    ack,
                    header,
                    bits & 0x1FF,
                    value,
                    echo,
                    blocks,
                )
        place += length


def _options(options: bytes) -> tuple[int, int, tuple[int, ...]]:
    """A segment's timestamps, or zeros, and the ends of its SACK blocks."""
    value = echo = place = 0
    blocks: tuple[int, ...] = ()
    if options.startswith(AHEAD):
        (value, echo), place = TWO.unpack_from(options, 4), 12
    while place + 1 < len(options) and options[place]:
        kind, length = options[place : place + 2]
        if kind == NO_OPTION:
            place += 1
            continue
        if kind == TIMESTAMPS:
            value, echo = TWO.unpack_from(options, place + 2)
        elif kind == SACK:
            blocks = Struct(f">{(length - 2) // 4}I").unpack_from(options, place + 2)
        place += max(length, 2)
    return value, echo, blocks


def near(number: int, first: int, last: int) -> int:
    """The place in a stream of a number of 32 bits, near the place `last`; the SYN has the number `first`."""
    further = (number - first - 1 - last) & 0xFFFFFFFF
    return max(last + further - (1 << 32 if further >= 1 << 31 else 0), 0)


class Rows:
    """Rows of the table `packets`, from captured packets."""

    def __init__(self, made: Scenario, flows: pl.DataFrame, addresses: Sequence[str]):
        self.names = [port.name for port in made.ports]
        binary = [_binary(address) for address in addresses]
        self.ends = [
            (made.loads[load], made.hosts[sender], made.hosts[receiver])
            for load, sender, receiver in flows.select("load", "from", "to").rows()
        ]
        self.flow: dict[tuple[int, int], int] = {}
        count: Counter[int] = Counter()
        for number, sender in enumerate(flows["from"]):
            self.flow[binary[sender], FIRST_PORT + count[sender]] = number
            count[sender] += 1
        self.first: dict[int, int] = {}
        self.last: dict[tuple[int, bool], int] = {}
        self.sent_at: dict[tuple[int, int], int] = {}
        self.found: list[dict[str, Any]] = []
        self.journeys: dict[tuple[Any, ...], list[int]] = {}
        """The rows of each packet, in the order of its ports."""

    def read(self, packets: Sequence[Captured]) -> None:
        """Adds a row for each departure, with its arrival."""
        under_way: dict[tuple[Any, ...], deque[int]] = defaultdict(deque)
        for packet in sorted(packets, key=lambda each: (each.at_ns, each.arrives)):
            key = packet.lasting
            place = (packet.port, key)
            if packet.arrives:
                if under_way[place]:
                    self.found[under_way[place].popleft()]["landed_ps"] = packet.at_ns * 1000
                continue
            reverse = packet.source not in self.flow
            flow = self.flow.get(packet.target if reverse else packet.source)
            if flow is None:
                continue
            journey = self.journeys.setdefault(key, [])
            row = self._row(packet, flow, reverse)
            if journey:
                row["stamp_ps"] = self.found[journey[0]]["stamp_ps"]
            under_way[place].append(len(self.found))
            journey.append(len(self.found))
            self.found.append(row)

    def _row(self, packet: Captured, flow: int, reverse: bool) -> dict[str, Any]:
        time, (load, src, dst) = packet.at_ns * 1000, self.ends[flow]
        plain = not packet.flags & (SYN | FIN)
        if not reverse:
            if packet.flags & SYN:
                self.first[flow] = packet.seq
            self.sent_at.setdefault((flow, packet.value), time)
        first, last = self.first.get(flow, 0), self.last.get((flow, reverse), 0)
        # A receiver's packet has the place that it acknowledges. A SYN's own number is before the first byte.
        number = packet.ack if reverse else packet.seq + bool(packet.flags & SYN)
        seq = self.last[flow, reverse] = near(number & 0xFFFFFFFF, first, last)
        payload = packet.size - IP - packet.header
        edges = [near(edge, first, seq) for edge in packet.blocks]
        row = {
            "time_ps": time,
            "landed_ps": None,
            "port": self.names[packet.port],
            "flow": flow,
            "traffic": load,
            "src": src,
            "dst": dst,
            "reverse": int(reverse),
            "pure_ack": int(plain and not payload),
            "seq": seq,
            "payload": payload,
            "size": packet.size,
            "tcp_flags": packet.flags,
            "trimmed": 0,
            "ecn": packet.tos & 3,
            "stamp_ps": self.sent_at.get((flow, packet.echo), 0) if reverse else time,
            "lost": 0,
        }
        for block, (begin, beyond) in enumerate(zip(edges[::2], edges[1::2], strict=False)):
            row |= {f"sack{block}_first": begin, f"sack{block}_beyond": beyond}
        return row


def _binary(address: str) -> int:
    return int.from_bytes(map(int, address.split(".")), "big")


def tables(
    directory: Path,
    made: Scenario,
    experiment: Mapping[str, Any],
    flows: pl.DataFrame,
    queues: pl.DataFrame,
    addresses: Sequence[str],
) -> dict[str, pl.DataFrame]:
    """`packets` and `losses`, with the columns that Linux has; nothing without `probe.audit`.

    `flows` are the guest's connections, `queues` the table, `addresses` those of the hosts.
    Raises RunError for more than `trace_rows`.
    """
    import polars as pl

    if not experiment["probe"].get("audit"):
        return {}
    rows = Rows(made, flows, addresses)
    rows.read(list(captured((directory / FILE).read_bytes())))
    most = experiment["probe"]["trace_rows"]
    if len(rows.found) > most:
        raise RunError(f"the table packets has {len(rows.found)} rows, more than probe.trace_rows = {most}")
    duration = made.numbers["duration"]
    _lose_on_wires(rows.found, duration)
    lost = list(_dropped(rows, queues))
    kept = [row for row in rows.found if row["time_ps"] <= duration]
    for row in kept:
        if row["landed_ps"] is not None and row["landed_ps"] > duration:
            row["landed_ps"] = None
    found = {"packets": kept, "losses": lost}
    return {name: pl.DataFrame(each, infer_schema_length=None) for name, each in found.items() if each}


def _lose_on_wires(rows: Sequence[dict[str, Any]], duration: int) -> None:
    """Marks packets as lost that had all the time that any packet needed on that wire, and did not arrive."""
    longest: dict[str, int] = {}
    for row in rows:
        if row["landed_ps"] is not None:
            longest[row["port"]] = max(longest.get(row["port"], 0), row["landed_ps"] - row["time_ps"])
    for row in rows:
        needed = longest.get(row["port"])
        if row["landed_ps"] is None and needed is not None and row["time_ps"] + needed < duration:
            row["lost"] = 1


def _dropped(rows: Rows, queues: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Packets that came to a node, did not leave it, and were overtaken there: rows of `losses` by time."""
    following: dict[tuple[int, int, str], str] = {}
    """The port by which packets of a connection and direction leave a node."""
    toward: dict[tuple[str, str], set[str]] = defaultdict(set)
    """The ports by which packets to a host leave a node, for connections of which none left it."""
    turns: dict[str, list[tuple[int, int]]] = defaultdict(list)
    """By port when each packet left and came."""
    came: dict[Any, int] = {}
    """When the last packet came that left by a port, of any connection or of one."""
    for journey in rows.journeys.values():
        for before, after in pairwise(journey):
            earlier, later = rows.found[before], rows.found[after]
            if earlier["landed_ps"] is None:
                continue
            who = (later["flow"], later["reverse"])
            following[(*who, _ends(later["port"])[0])] = later["port"]
            toward[_target(later), _ends(later["port"])[0]].add(later["port"])
            turns[later["port"]].append((later["time_ps"], earlier["landed_ps"]))
            for key in (later["port"], (later["port"], *who)):
                came[key] = max(came.get(key, 0), earlier["landed_ps"])
    # Elsewhere a packet may leave before an earlier one of another connection, which then only waits.
    in_turn = {port for port, each in turns.items() if _rise([came for _, came in sorted(each)])}
    causes = dict(zip(queues["port"], _causes(queues), strict=True))
    found = []
    for journey in rows.journeys.values():
        row = rows.found[journey[-1]]
        who, node = (row["flow"], row["reverse"]), _ends(row["port"])[1]
        if row["landed_ps"] is None or node == _target(row):
            continue
        only = toward[_target(row), node]
        port = following.get((*who, node), next(iter(only)) if len(only) == 1 else None)
        if port is None:
            continue
        if row["landed_ps"] < came.get(port if port in in_turn else (port, *who), 0):
            kept = ("flow", "reverse", "pure_ack", "seq", "size", "trimmed", "ecn", "stamp_ps")
            lost = {"time_ps": row["landed_ps"], "port": port, "cause": causes[port]}
            found.append(lost | {key: row[key] for key in kept})
    yield from sorted(found, key=lambda each: each["time_ps"])


def _rise(times: Sequence[int]) -> bool:
    return all(before <= after for before, after in pairwise(times))


def _target(row: Mapping[str, Any]) -> str:
    """The host to which a packet goes."""
    return str(row["src" if row["reverse"] else "dst"])


def _ends(port: str) -> tuple[str, str]:
    """The nodes of a port `a->b` or `a->b#2`."""
    begin, _, end = port.partition("#")[0].partition("->")
    return begin, end


def _causes(queues: pl.DataFrame) -> Iterator[str]:
    """The cause of the drops of each port."""
    for full, law in queues.select("drops_full", "drops_aqm").rows():
        yield "drops_aqm" if law > full else "drops_full"
