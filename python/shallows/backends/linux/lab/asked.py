"""The request for a run of programs: commands on hosts, captures, and the options beside the experiment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Command", "Lab", "Started", "hosts_of"]


@dataclass(frozen=True)
class Command:
    """A command of the shell on the hosts whose names match. The run does not wait for a server."""

    host: str
    text: str
    server: bool = False


@dataclass(frozen=True)
class Lab:
    """All that is asked for beside the experiment."""

    commands: tuple[Command, ...]
    directory: Path
    captures: Mapping[str, Path] = dataclasses.field(default_factory=dict)  # by link or host
    keep: bool = False
    call_ns: int = 1000
    memory_mb: int = 1024
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    counters_ns: int = 0  # between two readings of the kernel's counters; 0 for none
    kernel: str | None = None  # by name, before the experiment's


@dataclass(frozen=True)
class Started:
    """A command on one host."""

    node: int
    host: str
    command: Command


def hosts_of(network: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Node and name of each host."""
    return [(number, node["name"]) for number, node in enumerate(network["nodes"]) if node["host"]]
