"""The cells: `matrix.toml`, read strictly, each as an experiment."""

from __future__ import annotations

import json
import typing
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from math import isqrt
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from shallows.backends.ns3.command import PACKET_BYTES
from shallows.backends.ns3.tables import PORT
from shallows.document import strict
from shallows.document.load import read_toml
from shallows.document.points import Point, expand
from shallows.document.schema import facts
from shallows.document.strict import Strict, refuse
from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean

MOST_CELLS = 120

Peer = Literal["linux", "ns3"]
PEERS = typing.get_args(Peer)
"""The peers of the simulator; an explanation concerns the first unless it names one."""

__all__ = ["Cell", "Explained", "Matrix", "matrix_path", "read"]


class CellTable(Strict):
    """An entry `[[cell]]`."""

    name: str = Field(description="the cell's name")
    cc: str = Field(description="the congestion control")
    rate: str = Field(description="the rate of the bottleneck")
    rtt: str = Field(description="the round-trip time of the empty network")
    queue: dict[str, Any] = Field(description="the discipline of the bottleneck")
    flows: int | None = Field(None, description="the number of bulk flows")
    spines: int = Field(0, description="the spines of a leaf-spine, whose uplinks are the bottleneck")
    incast: dict[str, Any] | None = Field(None, description="an incast load instead of bulk flows")
    ecn: str | None = None
    transport: dict[str, Any] = Field({}, description="further settings of the transport")
    beside: dict[str, Any] | None = Field(
        None, description="a second load: its number of flows, and its cc or settings of its own"
    )
    wire: dict[str, Any] = Field({}, description="settings of the senders' wires, as of `port`")
    event: dict[str, dict[str, Any]] = Field({}, description="changes of the bottleneck's link")
    quiet: bool = Field(False, description="judged although it marks and drops next to nothing")
    warmup: str = "0s"
    duration: str = "1s"
    jitter: str | None = None
    seeds: int | None = None
    not_run: str | None = Field(None, description="the reason for not running the cell")

    @model_validator(mode="after")
    def _one_load(self) -> CellTable:
        if (self.flows is None) == (self.incast is None):
            raise refuse("conflict", "must have one of flows, incast", value=None)
        return self

    @model_validator(mode="after")
    def _each_with_each(self) -> CellTable:
        if self.spines and isqrt(self.flows or 0) ** 2 != self.flows:
            rule = "must be a square where there are spines: each host of a leaf sends to each of the other"
            raise refuse("conflict", rule, value=self.flows, at=("flows",))
        return self


class Explained(Strict):
    """An entry `[[explained]]`: why cells differ in a number from a peer. Names may be patterns."""

    cells: str = Field(description="the cells, as a pattern of names")
    what: str = Field(description="the numbers, as a pattern of names")
    why: str = Field(description="the explanation")
    peer: Peer = "linux"


class MatrixTable(Strict):
    """The whole file."""

    seeds: int = 5
    cell: list[CellTable] = Field([])
    explained: list[Explained] = Field([])

    @model_validator(mode="after")
    def _each_once(self) -> MatrixTable:
        names = [cell.name for cell in self.cell]
        for number, name in enumerate(names):
            if name in names[:number]:
                at = ("cell", number, "name")
                raise refuse("written-twice", "must be written once", value=name, at=at)
        if len(names) > MOST_CELLS:
            raise refuse("out-of-range", f"must be at most {MOST_CELLS}", value=len(names), at=("cell",))
        return self


@dataclass(frozen=True)
class Cell:
    """One cell: its description, and its experiment, or why it is not run."""

    name: str
    cc: str
    flows: int
    rate_bps: int
    rtt_ps: int
    queue: str
    points: tuple[Point, ...]  # one a seed
    not_run: str = ""
    spines: int = 0
    quiet: bool = False

    @property
    def ports(self) -> tuple[str, ...]:
        """The bottlenecks."""
        return tuple(f"leaf0->spine{number}" for number in range(self.spines)) or (PORT,)

    @property
    def incast(self) -> bool:
        """Whether its load is rounds of answers."""
        return bool(self.points) and any(
            "rounds" in facts("traffic", load["kind"])["fills"]
            for load in self.points[0].experiment["traffic"].values()
        )

    @property
    def bdp_packets(self) -> float:
        """Packets that the empty path holds."""
        return self.rate_bps * self.rtt_ps / 8e12 / PACKET_BYTES

    @property
    def packets(self) -> float:
        """Packets of a run at full rate: its cost."""
        from shallows import _core

        if not self.points:
            return 0.0
        span = _core.numbers(json.dumps(self.points[0].experiment))["duration"]
        full = len(self.ports) * self.rate_bps * span / 8e12 / PACKET_BYTES
        return full / 10 if self.incast else full


@dataclass(frozen=True)
class Matrix:
    """All cells in the file's order, and the explanations."""

    cells: tuple[Cell, ...]
    explained: tuple[Explained, ...]

    def chosen(self, pattern: str | None) -> Matrix:
        """The cells whose name matches; SpecError if none does."""
        wanted = pattern or "*"
        found = tuple(cell for cell in self.cells if fnmatchcase(cell.name, wanted))
        if not found:
            names = [cell.name for cell in self.cells]
            rule = f"matches no cell; the first are {', '.join(names[:4])}"
            raise SpecError([Fault("--cells", rule, wanted, did_you_mean(wanted, names))])
        return Matrix(found, self.explained)

    def why(self, cell: str, what: str, peer: str) -> str:
        """The explanation of a difference, or nothing."""
        return " ".join(
            entry.why
            for entry in self.explained
            if entry.peer == peer and fnmatchcase(cell, entry.cells) and fnmatchcase(what, entry.what)
        )


def matrix_path() -> Path:
    """The matrix that comes with Shallows."""
    return Path(__file__).with_name("matrix.toml")


def read(path: Path | None = None) -> Matrix:
    """All cells, checked. Errors: SpecError with all faults of the file."""
    faults: list[Fault] = []
    document = read_toml(path or matrix_path())
    table = strict.read(MatrixTable, document, "", faults)
    given = document.get("cell", [])
    # Each entry that is good in itself, in a faulty file too, so that all faults come at once.
    good = [strict.read(CellTable, one, "", []) for one in (given if isinstance(given, list) else [])]
    cells = [
        cell
        for number, one in enumerate(good)
        if one is not None
        for cell in _cell(f"cell[{number}]", one, table.seeds if table else 1, faults)
    ]
    if faults or table is None:
        raise SpecError(faults)
    return Matrix(tuple(cells), tuple(table.explained))


def _cell(where: str, table: CellTable, seeds: int, faults: list[Fault]) -> list[Cell]:
    from shallows import _core

    try:
        rate, rtt = _core.parse_quantity("rate", table.rate), _core.parse_quantity("span", table.rtt)
    except ValueError as error:
        faults.append(Fault(where, str(error)))
        return []
    flows = table.flows or (table.incast or {}).get("workers", 0)
    flows += (table.beside or {}).get("flows", 0)
    points: tuple[Point, ...] = ()
    if table.not_run is None:
        try:
            points = tuple(expand(_document(table, flows, rate, rtt) | {"seeds": table.seeds or seeds}))
        except SpecError as error:
            faults += [replace(f, path=f"{where}: {f.path}") for f in error.faults]
            return []
    about = ", ".join(f"{k} {v}" if k != "kind" else str(v) for k, v in table.queue.items())
    not_run = table.not_run or ""
    return [Cell(table.name, table.cc, flows, rate, rtt, about, points, not_run, table.spines, table.quiet)]


def _document(table: CellTable, flows: int, rate: int, rtt: int) -> dict[str, Any]:
    """A star whose receiver's link is the bottleneck, or a leaf-spine whose uplinks are."""
    senders_rate = min(10 * rate, max(4 * rate, 10 * 10**9))
    transport: dict[str, Any] = {"profile": "linux", "cc": table.cc} | table.transport
    if table.ecn:
        transport["ecn"] = table.ecn
    ends = {"from": "s*", "to": "r0"}
    topology: dict[str, Any] = {
        "kind": "star", "senders": flows, "rate": table.rate, "sender_rate": f"{senders_rate}bps",
        "delay": f"{rtt // 4}ps",
    }  # fmt: skip
    if table.spines:
        hosts, delay = isqrt(flows), f"{rtt // 8}ps"
        ends |= {"from": f"h0..h{hosts - 1}", "to": f"h{hosts}..h{2 * hosts - 1}"}
        topology = {
            "kind": "leaf-spine", "leaves": 2, "spines": table.spines, "hosts_per_leaf": hosts,
            "rate": f"{senders_rate}bps", "uplink_rate": table.rate, "delay": delay, "uplink_delay": delay,
        }  # fmt: skip
    if table.incast is not None:
        load = {"kind": "incast"} | ends | {"start": "1ms", "jitter": "100us"} | table.incast
    else:
        load = {"kind": "bulk"} | ends | {"jitter": table.jitter or f"{20 * rtt // 1000}ns"}
    traffic = {"load": load}
    if table.beside is not None:
        first = flows - table.beside["flows"]
        load["from"] = f"s0..s{first - 1}"
        other = {"from": f"s{first}..s{flows - 1}", "to": "r0"}
        if own := table.beside.get("load"):
            traffic["beside"] = own | other
        else:
            traffic["beside"] = load | other | {"transport": {"cc": table.beside["cc"]}}
    queue = dict(table.queue)
    if queue["kind"] == "threshold":
        queue.setdefault("not_ect", "drop")  # as Linux's RED does by default
    more: dict[str, Any] = {"port": {"s*->switch": table.wire}} if table.wire else {}
    if table.event:
        more["event"] = {name: {"link": "switch<->r0"} | event for name, event in table.event.items()}
    return {
        "title": table.name,
        "duration": table.duration,
        "warmup": table.warmup,
        "topology": topology,
        "queue": queue,
        "nic": "drop-tail",  # as ns-3 has; one flow leaves each host
        "transport": transport,
        "traffic": traffic,
        **more,
    }  # fmt: skip
