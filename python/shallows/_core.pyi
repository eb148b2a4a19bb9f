"""The compiled part: checker and simulator.

JSON goes in and out as text; times are in picoseconds. Columns cross as bytes, so that Rust needs neither
numpy nor arrow.
"""

from random import Random
from typing import Any, TypeAlias, final

__all__ = [
    "Ack",
    "FlowDone",
    "FlowStart",
    "Network",
    "ScriptedHost",
    "Simulation",
    "check",
    "emissions",
    "numbers",
    "parse_quantity",
    "plan",
    "read_settings",
    "schema",
    "simulable",
    "source_hash",
    "ways",
]

_Column: TypeAlias = tuple[str, str, bytes | tuple[list[str], bytes]]
"""Name, type and data of a column.

The type is "u64", "u32" or "f64" with little-endian bytes, or "str" with the distinct words and a u32 a row
that picks one. A trailing "?" ("u64?") says that 2**64-1 (u64), 2**32-1 (u32) or NaN is null.
"""

def check(document: str) -> str:
    """Checks a document: `{"faults": [{"path", "rule", "value", "hint"}], "experiment": {...} | null,
    "memory": ...}`.

    `memory` is the estimate of a run, `{"bytes", "parts": [{"what", "count", "bytes"}]}`, or null. Checking
    builds nothing that grows with the run. If there are more than 50 faults, the last entry gives the
    number of the others.
    """

def plan(document: str) -> str:
    """The network as data for other backends: nodes, ports, routes, the hosts of each load, and `numbers`."""

def ways(document: str) -> str:
    """Groups of equal next hops: `[{"node", "ports", "hosts"}, ...]`."""

def emissions(document: str) -> str:
    """The datagrams of each load that sends some: `{load: [[[at, gap, count, bytes], ...] of each pair]}`.

    Times are in ps. A load with more than 20 million datagrams has null.
    """

def simulable(document: str) -> None:
    """Raises SpecError with every setting that only another backend runs."""

def numbers(record: str) -> dict[str, int]:
    """Every quantity of a resolved record, or of some of its sections, by its path: `{"duration": ps, ...}`.

    A record of another version is read as well.
    """

def schema() -> str:
    """The declared parameters, `{"sections": [...]}`; the codes of faults, `"codes": [{"code", "doc"}]`; and
    the causes of drops, `"drop_causes": [{"column", "at", "why"}]`, where "at" is port or wire.

    A section is `{"path", "what", "named", "open", "components": [{"name", "doc", "params": [...],
    "facts"}]}`. Its path is "" (the top), "topology", "transport.cc". One that is "named" holds tables under
    names of the user's choice; Python modules add components to one that is "open". A component that one
    backend alone runs has "backend"; "facts" are those of `Facts` in `crates/core/src/params/mod.rs`, and of
    a congestion control the transports that it "runs_over". A parameter has name, doc, kind, default,
    required, range, source and choices. Kinds are span, rate, bytes, size, count, real, flag, text, names,
    choice and table, "list of KIND" and "KIND or none". A default is written as in a file, and is null for
    a parameter that must be written.
    """

def parse_quantity(kind: str, text: str) -> int:
    """A quantity that a user wrote; kind is span (ps), rate (bit/s) or bytes. Raises ValueError."""

def read_settings(declared: str, path: str, table: str) -> dict[str, Any]:
    """The settings of a declared component as Python values."""

def source_hash() -> str:
    """The hash of the core's sources, made at build time."""

@final
class FlowStart:
    """What an algorithm learns of its connection when it starts. Bytes and seconds."""

    @property
    def id(self) -> int: ...
    @property
    def now(self) -> float: ...
    @property
    def mss(self) -> int: ...
    @property
    def initial_window(self) -> float: ...
    @property
    def initial_ssthresh(self) -> float: ...
    @property
    def restart_window(self) -> float: ...
    @property
    def cwnd_floor(self) -> float: ...
    @property
    def cwnd_max(self) -> float: ...
    @property
    def ssthresh_floor(self) -> float: ...
    @property
    def slow_start_limit(self) -> float: ...
    @property
    def growth(self) -> str: ...
    @property
    def bytes(self) -> int | None: ...
    @property
    def traffic_class(self) -> str: ...
    @property
    def random(self) -> Random: ...

@final
class Ack:
    """An acknowledgement, or a round trip of them, as an algorithm sees it. Bytes and seconds."""

    @property
    def now(self) -> float: ...
    @property
    def acked(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def marked(self) -> int: ...
    @property
    def ece(self) -> bool: ...
    @property
    def round_ended(self) -> bool: ...
    @property
    def may_grow(self) -> bool: ...
    @property
    def rtt(self) -> float | None: ...
    @property
    def srtt(self) -> float: ...
    @property
    def flight(self) -> int: ...
    @property
    def sent(self) -> int: ...

@final
class Network:
    """The network that a workload is for."""

    @property
    def hosts(self) -> list[str]: ...
    @property
    def duration(self) -> float: ...
    @property
    def random(self) -> Random: ...

@final
class FlowDone:
    """A flow that has been delivered whole. Bytes and seconds."""

    @property
    def src(self) -> str: ...
    @property
    def dst(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def start(self) -> float: ...
    @property
    def now(self) -> float: ...

@final
class Simulation:
    """A run. Raises SpecError with the list of faults.

    `components` maps "module:class" to the Python class of each component that the document declares.
    `memory` (bytes) refuses a run whose estimate is larger, and ends one that grows beyond it with
    RunError; None sets no bound. The core has no environment, so Python measures what is free.
    """

    def __new__(
        cls, document: str, components: dict[str, Any] | None = None, memory: int | None = None
    ) -> Simulation: ...
    def set_threads(self, threads: int) -> None: ...
    def cells(self) -> int: ...
    def run(self) -> None:
        """Runs to the end. Raises RunError, or the error of the user's code; `cancel` stops it.

        It releases the GIL, unless the run calls Python: then at each pause.
        """
    def advance(self, until_ps: int) -> bool:
        """Runs until a simulated time.

        Returns whether the run has ended. Stops and looks leave the tables as they are.
        """
    def watch(self, every_ps: int, looks: int, flows: int) -> tuple[bool, dict[str, list[_Column]]]:
        """Makes `looks` steps and looks at the ports and the first flows after each.

        Returns whether the run has ended.
        """
    def observe(self, packets: int = 0) -> dict[str, list[_Column]]:
        """Tables of the present: ports in the order of `plan`, open flows, at most `packets` packets."""
    def now(self) -> int: ...
    def cancel(self) -> None:
        """Stops the run; may be called from another thread."""
    def progress(self) -> float:
        """The part of the run that is done, 0 to 1; may be called from another thread."""
    def manifest(self) -> str:
        """After the run: `{"counts": {...}, "memory": {...}, ...}`."""
    def tables(self) -> dict[str, list[_Column]]: ...

@final
class ScriptedHost:
    """One host, a sender and a receiver, whose peer is a packet script. Times are in ps of simulated time."""

    def __new__(cls, transport: str, passive: bool) -> ScriptedHost: ...
    def connect(self) -> None: ...
    def write(self, bytes: int) -> None: ...
    def close(self) -> None: ...
    def set_nagle(self, waits: bool) -> None: ...
    def advance(self, until_ps: int) -> None: ...
    def next(self, until_ps: int) -> tuple[int, str, str, int, int, int, list[tuple[int, int]]] | None:
        """The next segment that leaves by then: when, flags, ECN, number, length, acknowledgement, SACK."""

    def arrive(
        self,
        flags: str,
        codepoint: str,
        seq: int,
        length: int,
        ack: int,
        sack: list[tuple[int, int]],
        window: int | None,
    ) -> str | None:
        """A segment of the peer arrives now; returns why the simulator does not know it, if it does not."""

    def now(self) -> int: ...
    def is_open(self) -> bool: ...
    def delivered(self) -> int: ...
    def refused(self) -> str | None: ...
    def info(self) -> dict[str, int]: ...
