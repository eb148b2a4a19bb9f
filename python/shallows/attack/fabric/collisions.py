"""Collisions of ECMP: the seed whose hashes put the most flows on one port of several equal ones.

A seed draws each flow's label, from which every switch hashes its next hop, and the pairs of random patterns.
The file runs with 64 seeds. Their mean is the expected collision, and the fullest port of all is the find. By
RFC 2992 a flow keeps its port, so that two flows on one port stay together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shallows import _core
from shallows.attack.fabric.scene import Case, Nothing, Scene, Table
from shallows.attack.objective import Objective
from shallows.attack.words import share_text
from shallows.document.paths import Document
from shallows.errors import RunError

if TYPE_CHECKING:
    from shallows.results.store import StoredRun

SEEDS = 64
SHOWN = 5
BY_FLOW = ("flow", "symmetric", "weighted")
"""The choices of `ecmp` that keep a flow on one path by a hash."""

__all__ = ["Collision", "Collisions", "collisions"]


@dataclass(frozen=True)
class Collision:
    """The fullest of the equal ports under a seed: its flows, and those of all ports of its group."""

    seed: int
    port: str
    flows: int
    of: int
    ports: int
    value: float | None


@dataclass(frozen=True)
class Collisions:
    """A collision for each seed, the worst first."""

    base: float | None
    collisions: list[Collision]
    document: Document

    @property
    def expected(self) -> float:
        """The mean over seeds of the flows on the fullest port."""
        return sum(one.flows for one in self.collisions) / len(self.collisions)

    def record(self) -> dict[str, Any]:
        """See `Part`."""
        rows = [vars(one) for one in self.collisions]
        return {"collisions": rows, "collisions_expected_flows": self.expected}

    def shown(self, objective: Objective | None) -> list[Table | str]:
        """See `Part`."""
        worst = self.collisions[0]
        title = (
            f"Collisions of ECMP over {len(self.collisions)} seeds: {self.expected:.3g} flows expected on "
        )
        title += f"the fullest of equal ports, {worst.flows} at worst (even: {worst.of / worst.ports:.3g})"
        rows = [
            [str(one.seed), one.port, f"{one.flows} of {one.of}", str(one.ports)]
            + ([share_text(objective, one.value)] if objective else [])
            for one in self.collisions[:SHOWN]
        ]
        columns = ["seed", "fullest port", "flows", "equal ports"]
        return [Table(title, columns + ([objective.text] if objective else []), rows)]

    def cases(self) -> list[Case]:
        """See `Part`."""
        worst = self.collisions[0]
        head = f"{worst.flows} of {worst.of} flows take {worst.port}; {self.expected:.3g} are expected."
        return [Case("collision.toml", self.document | {"seed": worst.seed}, (head,))]


def collisions(scene: Scene) -> Collisions:
    """The collisions of each seed. Raises Nothing, RunError, StoreError."""
    ecmp = scene.experiment["ecmp"]
    groups = json.loads(_core.ways(json.dumps(scene.experiment)))
    if not groups:
        raise Nothing("needs several equal paths, and each pair of hosts has one path here")
    if ecmp not in BY_FLOW:
        raise Nothing(f'needs flows that keep to one path, and ecmp = "{ecmp}" moves them')
    document = dict(scene.document)
    document["probe"] = dict(document.get("probe", {})) | {"shares": True}
    found = []
    for seed, value in enumerate(scene.values([document], range(1, 1 + SEEDS)), 1):
        if value.outcome is None or value.outcome.run is None:
            raise RunError(f"the search for collisions, seed {seed}: {value.note}")
        fullest = _fullest(scene, groups, value.outcome.run)
        if fullest is None:
            raise Nothing("needs flows over ports that have equal ones beside them")
        found.append(Collision(seed, *fullest, value.value))
    found.sort(key=lambda one: (-one.flows, scene.worse(one.value), one.seed))
    return Collisions(scene.base, found, document)


def _fullest(
    scene: Scene, groups: list[Mapping[str, Any]], run: StoredRun
) -> tuple[str, int, int, int] | None:
    """The port with the most flows of a group, these, all flows of the group, and the ports of the group."""
    shares = run.tables["shares"]
    shares = shares.filter(shares["reverse"] == 0)
    flows: dict[str, set[int]] = {}
    for port, flow in shares.select("port", "flow").iter_rows():
        flows.setdefault(port, set()).add(flow)
    found = []
    for group in groups:
        names = [scene.network.ports[port]["name"] for port in group["ports"]]
        counts = [len(flows.get(name, ())) for name in names]
        if sum(counts):
            found.append((max(counts), names[counts.index(max(counts))], sum(counts), len(names)))
    if not found:
        return None
    most, port, of, ports = max(found, key=lambda one: (one[0], -one[2]))
    return port, most, of, ports
