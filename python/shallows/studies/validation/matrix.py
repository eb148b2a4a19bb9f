"""The cells: `matrix.toml`, read strictly, each as an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from shallows.backends.ns3.command import PACKET_BYTES
from shallows.document.load import read_toml
from shallows.document.points import Point, expand
from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean

MOST_CELLS = 60

_NEEDED = {"name": str, "cc": str, "rate": str, "rtt": str, "queue": dict}
_OPTIONAL = {
    "flows": int, "incast": dict, "ecn": str, "warmup": str, "duration": str, "jitter": str, "seeds": int,
    "not_run": str,
}  # fmt: skip
_EXPLAINED = {"cells": str, "what": str, "why": str}
PEERS = ("linux", "ns3")
"""What the simulator is held against; an explanation is of the first unless it names one."""

__all__ = ["Cell", "Explained", "Matrix", "matrix_path", "read"]


@dataclass(frozen=True)
class Cell:
    """One cell: what it is, and its experiment, or why it is not run."""

    name: str
    cc: str
    flows: int
    rate_bps: int
    rtt_ps: int
    queue: str
    points: tuple[Point, ...]  # one a seed
    not_run: str = ""

    @property
    def incast(self) -> bool:
        """Whether its load is rounds of answers."""
        return bool(self.points) and any(
            load["kind"] == "incast" for load in self.points[0].experiment["traffic"].values()
        )

    @property
    def bdp_packets(self) -> float:
        """Packets that the empty path holds."""
        return self.rate_bps * self.rtt_ps / 8e12 / PACKET_BYTES

    @property
    def packets(self) -> float:
        """Packets of a run at full rate: what it costs."""
        from shallows import _core

        if not self.points:
            return 0.0
        span = _core.parse_quantity("span", self.points[0].experiment["duration"])
        full = self.rate_bps * span / 8e12 / PACKET_BYTES
        return full / 10 if self.incast else full


@dataclass(frozen=True)
class Explained:
    """Why cells whose names match differ from a peer in a quantity (`*`: all)."""

    cells: str
    what: str
    why: str
    peer: str = PEERS[0]


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
            raise SpecError([Fault("--cells", rule, f'"{wanted}"', did_you_mean(wanted, names))])
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
    document = read_toml(path or matrix_path())
    faults = _unknown("", document, {"seeds", "cell", "explained"})
    seeds = document.get("seeds", 5)
    cells: list[Cell] = []
    for number, table in enumerate(document.get("cell", [])):
        where = f"cell[{number}]"
        wrong = _wrong(where, table, _NEEDED, _OPTIONAL)
        if not wrong and table["name"] in {cell.name for cell in cells}:
            wrong = [Fault(f"{where}.name", "must be written once", f'"{table["name"]}"')]
        if not wrong and ("flows" in table) == ("incast" in table):
            wrong = [Fault(where, "must have one of flows, incast")]
        faults += wrong
        if not wrong:
            cells += _cell(where, table, seeds, faults)
    if len(cells) > MOST_CELLS:
        faults.append(Fault("cell", f"must be at most {MOST_CELLS}", str(len(cells))))
    entries = []
    for number, table in enumerate(document.get("explained", [])):
        where = f"explained[{number}]"
        wrong = _wrong(where, table, _EXPLAINED, {"peer": str})
        if not wrong and table.get("peer", PEERS[0]) not in PEERS:
            wrong = [Fault(f"{where}.peer", f"must be one of {', '.join(PEERS)}", f'"{table["peer"]}"')]
        faults += wrong
        entries += [] if wrong else [Explained(**table)]
    if faults:
        raise SpecError(faults)
    return Matrix(tuple(cells), tuple(entries))


def _unknown(where: str, table: Mapping[str, Any], known: set[str]) -> list[Fault]:
    prefix = f"{where}." if where else ""
    return [
        Fault(
            prefix + key,
            f"unknown key; known: {', '.join(sorted(known))}",
            f'"{key}"',
            did_you_mean(key, known),
        )
        for key in table
        if key not in known
    ]


def _wrong(
    where: str, table: Mapping[str, Any], needed: Mapping[str, type], optional: Mapping[str, type]
) -> list[Fault]:
    faults = _unknown(where, table, set(needed) | set(optional))
    faults += [Fault(f"{where}.{key}", "must be written") for key in needed if key not in table]
    for key, kind in {**needed, **optional}.items():
        if key in table and type(table[key]) is not kind:
            faults.append(Fault(f"{where}.{key}", f"must be {kind.__name__}", repr(table[key])))
    return faults


def _cell(where: str, table: Mapping[str, Any], seeds: int, faults: list[Fault]) -> list[Cell]:
    from shallows import _core

    try:
        rate, rtt = _core.parse_quantity("rate", table["rate"]), _core.parse_quantity("span", table["rtt"])
    except ValueError as error:
        faults.append(Fault(where, str(error)))
        return []
    flows = table.get("flows") or table["incast"].get("workers", 0)
    points: tuple[Point, ...] = ()
    if "not_run" not in table:
        try:
            points = tuple(expand(_document(table, flows, rate, rtt) | {"seeds": table.get("seeds", seeds)}))
        except SpecError as error:
            faults += [Fault(f"{where}: {f.path}", f.rule, f.value, f.hint) for f in error.faults]
            return []
    about = ", ".join(f"{k} {v}" if k != "kind" else str(v) for k, v in table["queue"].items())
    return [Cell(table["name"], table["cc"], flows, rate, rtt, about, points, table.get("not_run", ""))]


def _document(table: Mapping[str, Any], flows: int, rate: int, rtt: int) -> dict[str, Any]:
    """A star whose senders' links are faster than the receiver's, which is the bottleneck."""
    senders_rate = min(10 * rate, max(4 * rate, 10 * 10**9))
    transport = {"profile": "linux", "cc": table["cc"]} | ({"ecn": table["ecn"]} if "ecn" in table else {})
    warmup, duration = table.get("warmup", "0s"), table.get("duration", "1s")
    ends = {"from": "s*", "to": "r0"}
    if "incast" in table:
        load = {"kind": "incast"} | ends | {"start": "1ms", "jitter": "100us"} | table["incast"]
    else:
        load = {"kind": "bulk"} | ends | {"jitter": table.get("jitter", f"{20 * rtt // 1000}ns")}
    queue = dict(table["queue"])
    if queue["kind"] == "threshold":
        queue["not_ect"] = "drop"  # as Linux's RED does
    return {
        "title": table["name"],
        "duration": duration,
        "warmup": warmup,
        "topology": {
            "kind": "star", "senders": flows, "rate": table["rate"], "sender_rate": f"{senders_rate}bps",
            "delay": f"{rtt // 4}ps",
        },
        "queue": queue,
        "transport": transport,
        "traffic": {"load": load},
    }  # fmt: skip
