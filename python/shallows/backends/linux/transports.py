"""The transports of an experiment's loads, on which all loads with TCP agree but for a few settings; and the
sizes of their packets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shallows.backends.linux import controls
from shallows.document.schema import facts

TIMESTAMPS_BYTES = 12
"""The option of timestamps in each segment."""

LEAST_BYTES = 4
"""Payload of a datagram at least, which has its number."""

__all__ = ["LEAST_BYTES", "Tcp", "datagrams", "frame", "of_load", "sizes", "tcp", "tcp_loads"]


@dataclass(frozen=True)
class Tcp:
    """A transport of TCP, with its quantities by their key: times in ps, amounts in bytes."""

    transport: Mapping[str, Any]
    numbers: Mapping[str, int]

    @property
    def mss(self) -> int:
        """Payload of a full segment."""
        return self.numbers.get("mss", 0)  # queue pairs, which are refused, have none

    @property
    def frame(self) -> int:
        """Bytes of a full packet on the wire."""
        return (
            self.mss
            + self.numbers.get("header", 0)
            + TIMESTAMPS_BYTES * bool(self.transport.get("timestamps"))
        )

    def packets(self, key: str) -> int:
        """An amount of data in packets, at least one."""
        text = self.transport[key]
        if text.endswith("pkt"):
            return int(text.removesuffix("pkt"))
        return max(self.numbers[key] // self.mss, 1)

    @property
    def receive_window(self) -> int:
        """The most that a receiver offers, in bytes; 0 for the kernel's choice."""
        if self.transport["receive_window"] == "none":
            return 0
        written = self.numbers.get("receive_window")
        return written if written is not None else self.packets("receive_window") * self.mss


def datagrams(load: Mapping[str, Any]) -> bool:
    """Whether a load sends datagrams, which have no connection."""
    return bool(facts("transport", load["transport"]["profile"])["not_tcp"] == "datagrams")


def of_load(load: Mapping[str, Any]) -> Tcp:
    """The transport of a resolved load."""
    start = "transport."
    found = _numbers(load).items()
    return Tcp(load["transport"], {key.removeprefix(start): n for key, n in found if key.startswith(start)})


def _numbers(load: Mapping[str, Any]) -> dict[str, int]:
    """The quantities of a load, by their path in it."""
    from shallows import _core

    found = _core.numbers(json.dumps({"traffic": {"_": load}}))
    return {key.removeprefix("traffic._."): number for key, number in found.items()}


def tcp_loads(experiment: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The loads with connections, by name."""
    return {name: load for name, load in experiment["traffic"].items() if not datagrams(load)}


def tcp(experiment: Mapping[str, Any]) -> Tcp:
    """The transport on which all loads with connections agree: the first one's, else the kernel's own."""
    load = next(iter(tcp_loads(experiment).values()), None)
    return of_load(load if load is not None else controls.own_load())


def frame(experiment: Mapping[str, Any]) -> int:
    """Bytes of the largest packet, which every device takes."""
    found = [of_load(load).frame for load in tcp_loads(experiment).values()] or [tcp(experiment).frame]
    return max(found + [max(_packets(load)) for load in experiment["traffic"].values() if datagrams(load)])


def sizes(experiment: Mapping[str, Any]) -> set[int]:
    """Bytes of the full packets of all loads."""
    found: set[int] = set()
    for load in experiment["traffic"].values():
        found |= set(_packets(load)) if datagrams(load) else {of_load(load).frame}
    return found


def _packets(load: Mapping[str, Any]) -> Iterator[int]:
    """Bytes of the packets of a load of datagrams: of one size, or the largest and the least."""
    numbers = _numbers(load)
    header = numbers["transport.header"]
    if "bytes" in numbers:
        yield numbers["bytes"] + header
    else:
        yield from (numbers["transport.mtu"] + header, LEAST_BYTES + header)
