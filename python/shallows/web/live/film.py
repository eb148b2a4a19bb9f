"""Films of runs: states of the ports and of the first flows, look by look, as bytes that a page draws.

A film has a header (JSON) and chunks. A chunk is a JSON head, its length before it in four bytes, and
little-endian 32-bit floats: for each metric, a row a look, a column a port or a flow.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from shallows._core import Simulation

PORT_METRICS = ("queue", "busy", "marks", "drops")
"""Packets held; share of the interval in which it transmitted; packets marked and dropped in the interval."""

FLOW_METRICS = ("cwnd", "rate", "alpha", "srtt", "flight", "arrived")
"""Window in bytes; bit/s that arrived in the interval; DCTCP's or Prague's estimate; smoothed round-trip time
in us; bytes in flight as the sender counts; bytes that arrived so far.

Bytes count as they arrive, in order or not, each once, and a packet when its last bit arrives. So an interval
may seem to have a packet more than its links carry; a rate is at most that of the slower end's links.
"""

MOST_FLOWS = 64
"""Connections in a chunk: those that get most bytes in it, so that answers show and not their requests."""

MOST_WATCHED = 512
"""Connections among which it chooses: the first ones."""

MOST_LOOKS = 2000
FEWEST_LOOKS = 500
LOOK_EVERY_PS = 100_000_000
MOST_CELLS = 600_000
"""Looks times ports: bounds a film's memory (10 MB) and its time, also of a fabric of a thousand hosts."""

CHUNK_CELLS = 40_000
FIRST_LOOKS = 125
FIRST_PS = 12_500_000_000
"""The first chunk covers at most so much, so that a long run shows something at once."""

QUICK_S, SLOW_S = 0.02, 0.15

Seen = tuple[int, dict[str, list[tuple[str, str, Any]]]]
"""The first look's number, and the tables of `Simulation.watch`."""

__all__ = ["FLOW_METRICS", "MOST_FLOWS", "PORT_METRICS", "Filming", "columns_of", "pack", "steps"]


def steps(duration_ps: int, ports: int) -> tuple[int, int]:
    """Time between two looks in ps, and their number: fine enough to see a sawtooth, few enough to keep."""
    wanted = min(max(duration_ps // LOOK_EVERY_PS, FEWEST_LOOKS), MOST_LOOKS)
    looks = max(1, min(wanted, MOST_CELLS // max(ports, 1), duration_ps))
    every = -(-duration_ps // looks)
    return every, -(-duration_ps // every)


class Filming:
    """Runs a simulation to its end, a chunk of its film at a time.

    Chunks follow the pace of the machine where somebody watches (`paced`), and are always the same elsewhere.
    """

    def __init__(
        self,
        simulation: Simulation,
        duration_ps: int,
        ports: Sequence[Mapping[str, Any]],
        paced: bool = True,
    ):
        self._simulation, self._duration = simulation, duration_ps
        self._ports_at = {end: np.array([port[end] for port in ports], dtype=int) for end in ("from", "to")}
        self._rates = np.array([port["rate_bps"] for port in ports], dtype=float)
        self.every_ps, self.looks = steps(duration_ps, len(ports))
        self.done = 0
        self._before: np.ndarray[Any, Any] = np.zeros((3, len(ports)))
        self._arrived: dict[int, int] = {}
        self._most_looks = max(1, min(MOST_LOOKS, CHUNK_CELLS // max(len(ports), 1)))
        self._paced = paced
        first = min(FIRST_LOOKS, FIRST_PS // self.every_ps) if paced else self._most_looks
        self._looks_a_chunk = max(1, min(first, self._most_looks))

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self.done >= self.looks

    def chunks(self) -> Iterator[bytes]:
        """The chunks in order. Raises RunError."""
        while not self.ended:
            yield self.chunk()

    def chunk(self) -> bytes:
        """The next chunk. Raises RunError."""
        return self.encode(self.look())

    def look(self) -> Seen:
        """Advances the run by the looks of one chunk; `encode`, in any thread, makes it. Raises RunError."""
        began = time.perf_counter()
        first, wanted = self.done, min(self._looks_a_chunk, self.looks - self.done)
        ended, tables = self._simulation.watch(self.every_ps, wanted, MOST_WATCHED)
        self.done = self.looks if ended else first + wanted
        if self._paced:
            self._pace(time.perf_counter() - began)
        return first, tables

    def encode(self, seen: Seen) -> bytes:
        """The chunk of some looks; chunks in order, since rates are differences."""
        first, tables = seen
        ports, flows = (columns_of(tables[name]) for name in ("ports", "flows"))
        looks = len(ports["time_ps"]) // max(len(self._rates), 1)
        times = ports["time_ps"].reshape(looks, -1)[:, 0]
        spans = np.diff(times, prepend=min(first * self.every_ps, self._duration)) / 1e12
        rates = ports["rate_bps"].reshape(looks, -1).astype(float)
        # The higher rate of an interval in which an event changes it.
        bears = np.maximum(rates, np.concatenate([self._rates[None, :], rates[:-1]])) if looks else rates
        self._rates = rates[-1] if looks else self._rates
        head, per_flow = self._flows(flows, times, spans, bears)
        body = [*self._ports(ports, looks, spans), *per_flow]
        return pack(head | {"from": first, "looks": looks}, body)

    def _pace(self, spent: float) -> None:
        """Larger chunks of a quick run, whose cost is theirs; smaller ones of a slow run that one watches."""
        if spent < QUICK_S:
            self._looks_a_chunk = min(4 * self._looks_a_chunk, self._most_looks)
        elif spent > SLOW_S:
            self._looks_a_chunk = max(self._looks_a_chunk // 2, 1)

    def _ports(self, table: dict[str, Any], looks: int, spans: np.ndarray[Any, Any]) -> list[Any]:
        totals = [table[name].reshape(looks, -1).astype(float) for name in ("busy_ps", "marks", "drops")]
        sent, marks, drops = (
            np.diff(total, axis=0, prepend=before[None, :])
            for total, before in zip(totals, self._before, strict=True)
        )
        if looks:
            self._before = np.array([total[-1] for total in totals])
        busy = sent / 1e12 / np.maximum(spans, 1e-15)[:, None]
        return [table["packets"].reshape(looks, -1), busy, marks, drops]

    def _flows(
        self,
        table: dict[str, Any],
        times: np.ndarray[Any, Any],
        spans: np.ndarray[Any, Any],
        bears: np.ndarray[Any, Any],
    ) -> tuple[dict[str, Any], list[Any]]:
        ids = np.unique(table["id"])
        rows, columns = np.searchsorted(times, table["time_ps"]), np.searchsorted(ids, table["id"])
        shape = (len(times), len(ids))

        def spread(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            grid = np.full(shape, np.nan)
            grid[rows, columns] = values
            return grid

        arrived = spread(table["arrived_bytes"].astype(float))
        before = np.array([self._arrived.get(int(each), 0) for each in ids], dtype=float)
        rate = np.diff(arrived, axis=0, prepend=before[None, :]) if len(ids) else arrived
        # A flow's first look may come within the chunk.
        first = np.isnan(rate) & ~np.isnan(arrived)
        rate = np.where(first, arrived, rate) * 8 / np.maximum(spans, 1e-15)[:, None]
        for column, each in enumerate(ids):
            known = arrived[:, column][~np.isnan(arrived[:, column])]
            self._arrived[int(each)] = int(known[-1])
        _, places = np.unique(table["id"], return_index=True)
        gained = np.nanmax(arrived, axis=0, initial=0.0) - before
        kept = np.sort(np.argsort(-gained, kind="stable")[:MOST_FLOWS])
        rate, places = rate[:, kept], places[kept]
        ends = [[int(table[name][place]) for name in ("id", "load", "src", "dst")] for place in places]
        for column, (_, _, src, dst) in enumerate(ends):
            most = [
                bears[:, self._ports_at[end] == node].sum(axis=1)
                for end, node in (("from", src), ("to", dst))
            ]
            rate[:, column] = np.minimum(rate[:, column], np.minimum(*most))
        names = ("cwnd_bytes", "alpha", "srtt_ps", "flight_bytes")
        cwnd, alpha, srtt, flight = (spread(table[name])[:, kept] for name in names)
        return {"flows": ends}, [cwnd, rate, alpha, srtt / 1e6, flight, arrived[:, kept]]


def pack(head: dict[str, Any], body: list[Any]) -> bytes:
    """A chunk: its head, padded so that the floats are aligned, and its metrics one after the other."""
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return struct.pack("<I", len(text)) + text + b"".join(each.astype("<f4").tobytes() for each in body)


_DTYPES = {"u64": "<u8", "u32": "<u4", "f64": "<f8"}


def columns_of(table: list[tuple[str, str, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """The core's columns as arrays. An absent number of a float column is NaN already."""
    return {name: np.frombuffer(data, dtype=_DTYPES[dtype.rstrip("?")]) for name, dtype, data in table}
