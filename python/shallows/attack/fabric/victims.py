"""Victims of pauses: flows that share no congested port, and lose goodput because others are paused.

The file runs as written, and once more without pauses: its lossless priorities are lossy there, and no memory
is bounded, so that nothing is dropped and nobody waits for a pause. A port of a switch is congested if it was
busy nearly all the time in that run, with packets of two flows or more. A flow over no such port that loses a
tenth of its goodput by the pauses is a victim (head-of-line blocking: Zhu et al., SIGCOMM 2015).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shallows.attack.fabric.scene import Case, Nothing, Scene, Table
from shallows.attack.objective import Objective
from shallows.document.paths import Document
from shallows.document.points import expand
from shallows.errors import RunError, SpecError

if TYPE_CHECKING:
    import polars as pl

    from shallows.results.store import StoredRun

BUSY = 0.95
KEPT = 0.9
SHOWN = 10
KEYS = ["id", "traffic", "src", "dst"]

__all__ = ["Victim", "Victims", "victims"]


@dataclass(frozen=True)
class Victim:
    """A flow, its goodput with and without pauses, and the port of its way that was paused longest."""

    flow: str
    with_bps: float
    without_bps: float
    port: str
    paused_ps: int

    @property
    def share(self) -> float:
        """The share of its goodput that pauses leave it."""
        return self.with_bps / self.without_bps


@dataclass(frozen=True)
class Victims:
    """Victims, the worst first, of `flows` flows; `congested` are the ports that they avoid."""

    victims: list[Victim]
    flows: int
    unmatched: int
    """Flows of one run that the other has not: loads that answer deliveries may open others."""
    congested: list[str]
    document: Document
    without: Document

    def record(self) -> dict[str, Any]:
        """See `Part`."""
        rows = [vars(one) | {"share": one.share} for one in self.victims]
        told = {"flows": self.flows, "unmatched": self.unmatched, "congested_ports": self.congested}
        return {"victims": rows, "victims_of": told}

    def shown(self, objective: Objective | None) -> list[Table | str]:
        """See `Part`."""
        ports = ", ".join(self.congested[:SHOWN]) or "none"
        title = f"Victims of pauses: {len(self.victims)} of {self.flows} flows; congested ports: {ports}"
        rows = [
            [
                one.flow,
                f"{100 * one.share:.3g} %",
                f"{one.with_bps / 1e9:.4g} Gb/s",
                f"{one.without_bps / 1e9:.4g} Gb/s",
                f"{one.port}, {one.paused_ps / 1e6:.4g} us",
            ]
            for one in self.victims[:SHOWN]
        ]
        columns = ["flow", "keeps", "with pauses", "without", "paused longest"]
        told: list[Table | str] = [Table(title, columns, rows)] if rows else [title]
        if self.unmatched:
            told.append(f"not compared: {self.unmatched} flows, which one of the two runs has not")
        return told

    def cases(self) -> list[Case]:
        """See `Part`."""
        if not self.victims:
            return []
        worst = self.victims[0]
        head = f"The worst victim of pauses is flow {worst.flow}: {worst.with_bps:.6g} bit/s"
        other = f"Without pauses, flow {worst.flow} has {worst.without_bps:.6g} bit/s."
        return [
            Case("victims.toml", self.document, (head + ", see victims-without-pauses.toml.",)),
            Case("victims-without-pauses.toml", self.without, (other,)),
        ]


def victims(scene: Scene) -> Victims:
    """The victims of the file's own traffic. Raises Nothing, SpecError, RunError, StoreError."""
    lossless = scene.needs_lossless()
    written = copy.deepcopy(scene.document)
    written["probe"] = dict(written.get("probe") or {}) | {"shares": True}
    if written.get("pfc", {}).get("deadlock", "stop") == "stop":
        written["pfc"] = dict(written.get("pfc", {})) | {"deadlock": "go-on"}
    free = _without_pauses(scene, written, lossless)
    try:
        points = expand(written | {"seeds": [1]}) + expand(free | {"seeds": [1]})
    except SpecError as error:
        raise Nothing(f"cannot run the file without pauses: {error}") from None
    outcomes = scene.runner.run(points)
    for outcome in outcomes:
        if outcome.run is None:
            raise RunError(f"the search for victims: {outcome.error}")
    paused, unpaused = (outcome.run for outcome in outcomes)
    assert paused is not None and unpaused is not None
    congested = _congested(unpaused)
    ways = _ways(unpaused)
    before, after = (run.tables["flows"] for run in (unpaused, paused))
    both = before.join(after, on=KEYS, suffix="_paused").sort("id")
    found = []
    for row in both.iter_rows(named=True):
        spared = not congested & ways.get(row["id"], set())
        kept = row["goodput_bps_paused"]
        if spared and row["goodput_bps"] > 0 and kept < KEPT * row["goodput_bps"]:
            port, paused_ps = _longest(paused, ways.get(row["id"], set()))
            name = f"{row['id']} ({row['traffic']}, {row['src']} to {row['dst']})"
            found.append(Victim(name, kept, row["goodput_bps"], port, paused_ps))
    found.sort(key=lambda one: one.share)
    unmatched = len(before) + len(after) - 2 * len(both)
    return Victims(found, len(both), unmatched, sorted(congested), written, free)


def _without_pauses(scene: Scene, document: Document, lossless: list[str]) -> Document:
    """The document with lossy priorities in their place, and without a bound of memory."""
    free = copy.deepcopy(document)
    for key in ("switch", "pfc"):
        free.pop(key, None)
    free["event"] = {name: event for name, event in free.get("event", {}).items() if not event.get("pause")}
    for name, port in list(free.get("port", {}).items()):
        free["port"][name] = {key: value for key, value in port.items() if not key.startswith("pfc_")}
    for name in lossless:
        lane = dict(free["priority"][name]) | {"pfc": False}
        queue: Any = lane.get("queue", free.get("queue", {}))
        lane["queue"] = ({"kind": queue} if isinstance(queue, str) else dict(queue)) | {"limit": "none"}
        free["priority"][name] = lane
    return free


def _congested(run: StoredRun) -> set[str]:
    """Ports of switches that were busy nearly all the time with data of two flows or more."""
    queues = run.tables["queues"]
    busy = queues.filter((queues["is_switch"] == 1) & (queues["utilisation"] >= BUSY))["port"].to_list()
    shares = _data(run)
    return {port for port in busy if shares.filter(shares["port"] == port)["flow"].n_unique() > 1}


def _ways(run: StoredRun) -> dict[int, set[str]]:
    """By flow the ports that its data took."""
    found: dict[int, set[str]] = {}
    for port, flow in _data(run).select("port", "flow").iter_rows():
        found.setdefault(flow, set()).add(port)
    return found


def _data(run: StoredRun) -> pl.DataFrame:
    shares = run.tables["shares"]
    return shares.filter(shares["reverse"] == 0)


def _longest(run: StoredRun, ports: set[str]) -> tuple[str, int]:
    """The port that was paused longest. A flow's own host is one of them, since its switch pauses it."""
    pauses = run.tables["pauses"]
    rows = pauses.select("port", "paused_ps").iter_rows()
    firsts = {port.split("->")[0] for port in ports}
    known = [(paused, port) for port, paused in rows if port in ports or port.split("->")[1] in firsts]
    paused, port = max(known, default=(0, ""))
    return port, paused
