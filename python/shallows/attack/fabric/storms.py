"""Storms of pauses: a node that pauses its neighbour without end, as a card or a switch with a fault does.

Each port stops in a run of its own, from the start on, for all lossless priorities (`event.NAME.pause`). How
far the pauses spread is counted: the ports that were paused for half of the measured time or longer. Guo et
al. (SIGCOMM 2016, s.4.3) report such storms in production.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shallows.attack.fabric.scene import Case, Nothing, Scene, Table, with_event
from shallows.attack.objective import Objective
from shallows.attack.words import share_text
from shallows.document.paths import Document

MOST_PORTS = 1000
LONG = 0.5
"""A port is counted as stopped if it was paused for this share of the measured time."""
SHOWN = 10

__all__ = ["Storm", "Storms", "storms"]


@dataclass(frozen=True)
class Storm:
    """A node that pauses a port. `stopped` counts ports that stood for long, this one among them."""

    port: str
    node: str
    host: bool
    value: float | None
    holds: bool
    stopped: int | None
    document: Document
    note: str = ""


@dataclass(frozen=True)
class Storms:
    """Storms, the worst first. `base` is the value without one; `ports` counts all ports with flow
    control."""

    base: float | None
    storms: list[Storm]
    ports: int
    went_on: bool
    """Whether runs went on in a deadlock, which the file stops."""

    def record(self) -> dict[str, Any]:
        """See `Part`."""
        keys = ("port", "node", "host", "value", "holds", "stopped", "note")
        return {"storms": [{key: getattr(one, key) for key in keys} for one in self.storms]}

    def shown(self, objective: Objective | None) -> list[Table | str]:
        """See `Part`."""
        assert objective is not None
        rows = [
            [
                f"{'host' if one.host else 'switch'} {one.node} pauses {one.port}",
                share_text(objective, one.value),
                "no value" if one.stopped is None else f"{one.stopped} of {self.ports}",
                "fulfils it" if one.holds else "",
                one.note,
            ]
            for one in self.storms[:SHOWN]
        ]
        title = f"{objective.text}: {len(self.storms)} storms of pauses, the worst first; without one "
        columns = ["storm", "value", "ports stopped", "", ""]
        told: list[Table | str] = [Table(title + share_text(objective, self.base), columns, rows)]
        return [*told, "the storms' runs go on in a deadlock (pfc.deadlock)"] if self.went_on else told

    def cases(self) -> list[Case]:
        """See `Part`."""
        worst = next((one for one in self.storms if one.holds), None)
        if worst is None:
            return []
        head = (f"{worst.node} pauses {worst.port} without end: value {worst.value:.6g}.",)
        return [Case("pause-storm.toml", worst.document, head)]


def storms(scene: Scene) -> Storms:
    """A storm at each port. Raises Nothing, SpecError, RunError, StoreError."""
    scene.needs_objective()
    lossless = [int(name) for name in scene.needs_lossless()]
    network = scene.network
    if len(network.ports) > MOST_PORTS:
        raise Nothing(f"needs at most {MOST_PORTS} ports, and the network has {len(network.ports)}")
    stops = scene.experiment["pfc"]["deadlock"] == "stop"
    documents = []
    for port in network.ports:
        event = {"at": "0s", "link": port["name"], "pause": lossless}
        document = with_event(scene.document, "storm", event)
        if stops:
            document["pfc"] = dict(document.get("pfc", {})) | {"deadlock": "go-on"}
        documents.append(document)
    found = []
    for port, document, value in zip(network.ports, documents, scene.values(documents), strict=True):
        node = network.nodes[port["to"]]
        stopped = None
        if value.outcome is not None and value.outcome.run is not None:
            pauses = value.outcome.run.tables["pauses"]
            ports = pauses.filter(pauses["paused_ps"] >= LONG * pauses["over_ps"])["port"]
            stopped = ports.n_unique()
        held = (value.value, value.holds, stopped, document, value.note)
        found.append(Storm(port["name"], node["name"], node["host"], *held))
    found.sort(key=lambda one: scene.worse(one.value))
    return Storms(scene.base, found, len(network.ports), stops)
