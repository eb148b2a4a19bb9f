"""A reader of files, and the content that it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from shallows.importing.parts.source import Head, Source

__all__ = ["GIVES", "Content", "Gives", "Reader"]

Gives = Literal["sizes", "topology", "flows", "messages", "datagrams", "rates", "opportunities"]

GIVES: Mapping[Gives, str] = {
    "sizes": "`sizes.name` of a load",
    "topology": '`topology.name` of the kind `"graph"`',
    "flows": '`traffic.NAME.name` of the kind `"table"`',
    "messages": '`traffic.NAME.name` of the kind `"graph"`',
    "datagrams": '`traffic.NAME.name` of the kind `"datagrams"`',
    "rates": '`trace.name` of a port, of the kind `"rates"`',
    "opportunities": '`trace.name` of a port, of the kind `"opportunities"`',
}
"""Where an experiment names a file of each kind."""


@dataclass
class Content:
    """The part of an experiment that a file describes.

    `rows` are the points of sizes, the links of a topology, the flows of a table, the messages of a graph,
    datagrams or rates, as an experiment file would have them. `lines` has the line of each, where the format
    has lines.
    """

    rows: list[Any] = field(default_factory=list)
    lines: Sequence[int] = ()
    hosts: list[str] = field(default_factory=list)
    """Hosts that a topology has or a load needs, in the order of their names in the file."""

    switches: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    """Other settings that follow from the file, by path."""

    understood: list[str] = field(default_factory=list)
    """Sentences about the content, for the user."""

    ignored: list[str] = field(default_factory=list)
    """Sentences about parts that the experiment has not, and about choices of the reader."""

    uplinks: dict[str, list[int]] = field(default_factory=dict)
    """The places in `rows` of the links that lead up from a switch, by its name in files of failures."""

    failures: list[tuple[str, int, int]] = field(default_factory=list)
    """Links that the file declares as failed: switch, number of its uplink, line."""


@dataclass(frozen=True)
class Reader:
    """A format: how to recognise a file of it, and how to read one.

    `read` adds faults to the source, or raises SpecError. A reader with `needs` uses packages of the extra
    `import`. `sample` is a small file of the format: pages show it, and tests read, damage and import it.
    A reader with `ranks` reads all files of one import together, a file for each rank.
    """

    name: str
    gives: Gives
    title: str
    source: str
    sample: str | bytes | Mapping[str, bytes]
    recognises: Callable[[Head], bool]
    read: Callable[[Source, Mapping[str, str]], Content] | None = None
    read_ranks: Callable[[Sequence[Source], Mapping[str, str]], Content] | None = None
    needs: tuple[str, ...] = ()
    rdma: bool = False
    """Whether such files come from simulators of RDMA: an import then writes a lossless fabric."""

    options: Mapping[str, str] = field(default_factory=dict)
    """Choices that the file does not settle, with their meaning and default."""

    suffix: str = ""
    """Files whose names end so are read by it if no reader recognises them, for the sake of its faults."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of a CSV, with their meaning."""
