"""The guest's plan with the meaning of its answers, and the check of its network before any traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from shallows.backends.linux import readback
from shallows.backends.linux.readback import Asked
from shallows.errors import RunError

__all__ = ["Port", "Scenario", "matches"]


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern names a port; `a->b` names all cables, `a->b#1`, `a->b#2` and so on."""
    return fnmatchcase(name, pattern) or fnmatchcase(name.partition("#")[0], pattern)


@dataclass(frozen=True)
class Port:
    """A port whose counts the guest reads, and the tables that have its samples."""

    name: str
    rate_bps: int  # at the end
    mean_bps: float  # over the measured time
    switch: bool
    measured: bool  # lengths in `queues` and their histogram
    traced: bool  # queue_trace and port_trace
    header: int = 0  # bytes that its discipline counts beside those of each packet
    step: bool = False  # its discipline is `threshold`
    marks_full: bool = False  # its discipline counts a packet as marked before it drops it for want of room

    @property
    def sampled(self) -> bool:
        """Whether its length is read again and again."""
        return self.measured or self.traced


@dataclass
class Scenario:
    """The work of the guest, and the meaning of its answers."""

    plan: str
    ports: list[Port] = field(default_factory=list)  # in the plan's order
    hosts: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    ends: dict[str, dict[str, list[int]]] = field(default_factory=dict)  # hosts that each load names
    sample_ps: int = 0
    numbers: Mapping[str, int] = field(default_factory=dict)  # the experiment's quantities (`_core.plan`)
    memory_mb: int = 512
    disciplines: list[Asked] = field(default_factory=list)  # as tc reports them before the traffic
    at_end: list[Asked] = field(default_factory=list)  # and after it, where links have changed
    devices: list[Asked] = field(default_factory=list)  # as ip reports them, with the node in the key
    routes: list[Asked] = field(default_factory=list)
    nodes: int = 0

    def verify(self, directory: Path) -> None:
        """Compares the network as programs report it with what was asked. Raises RunError with all
        differences.
        """

        _same(self._differences(directory, self.disciplines, ("disciplines", "devices", "routes")))

    def changed(self, directory: Path) -> list[str]:
        """The differences of the network at the end, which programs have made: a line for each."""
        asked = [_lasting(each) for each in self.at_end]
        return self._differences(directory, asked, ("at_end", "devices_end", "routes_end"))

    def _differences(
        self, directory: Path, disciplines: Sequence[Asked], names: tuple[str, str, str]
    ) -> list[str]:
        def told(name: str) -> str:
            return (directory / name).read_text(errors="replace")

        devices: dict[tuple[Any, ...], dict[str, Any]] = {}
        routes: dict[tuple[Any, ...], dict[str, Any]] = {}
        for node in range(self.nodes):
            devices |= readback.of_devices(node, told(f"{names[1]}{node}"))
            routes |= readback.of_routes(node, told(f"{names[2]}{node}"))
        return [
            *readback.differences(disciplines, readback.of_disciplines(told(names[0]))),
            *readback.differences(self.devices, devices),
            *readback.differences(self.routes, routes),
        ]

    def verify_end(self, directory: Path) -> None:
        """Compares the disciplines at the end, after all changes of links. Raises RunError."""
        found = readback.of_disciplines((directory / "at_end").read_text(errors="replace"))
        _same(readback.differences(map(_lasting, self.at_end), found))


def _lasting(asked: Asked) -> Asked:
    """Without what the kernel itself changes in a run: an adaptive RED moves its probability."""
    if not asked.shows.get("adaptive"):
        return asked
    return replace(asked, shows={name: value for name, value in asked.shows.items() if name != "probability"})


def _same(*differences: Sequence[str]) -> None:
    """Raises RunError with all differences."""
    if wrong := [line for each in differences for line in each]:
        raise RunError("the kernel's settings differ from the requested ones:\n" + "\n".join(wrong))
