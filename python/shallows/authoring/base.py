"""Base classes for users: congestion controls, workloads and topologies in Python.

    class Aimd(shallows.CongestionControl):
        beta: float = 0.5
        def start(self, flow): self.mss, self.cwnd = flow.mss, flow.initial_window
        def on_ack(self, ack): self.cwnd += self.mss * ack.acked / self.cwnd
        def on_congestion(self, why, ack): self.cwnd *= self.beta

Annotated attributes are settings: an experiment file can set them, the checker holds them against their type
and range, and the manifest records them. Data are in bytes, times in seconds, rates in bits a second.
`docs/python.md` is the recipe.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, overload

if TYPE_CHECKING:
    from shallows._core import Ack, FlowDone, FlowStart, Network

__all__ = [
    "Bytes",
    "CongestionControl",
    "Flow",
    "Graph",
    "Rate",
    "Span",
    "Window",
    "Workload",
    "param",
    "topology",
]

Span = Annotated[float, "span"]
"""The type of a setting that is a time: `"25us"` in the file, seconds in Python."""

Rate = Annotated[float, "rate"]
"""The type of a setting that is a rate: `"10Gbps"` in the file, bits a second in Python."""

Bytes = Annotated[int, "bytes"]
"""The type of a setting that is an amount of data: `"150KB"` in the file, bytes in Python."""


class Param(NamedTuple):
    """A setting's default with its legal interval; see `param`."""

    default: Any
    range: str


def param(default: Any = ..., *, range: str = "") -> Any:
    """A setting with an interval of legal values: `beta: float = param(0.5, range="(0, 1)")`.

    Without a default the experiment must set it. Either end of the interval may be left out: `"[1, ]"`.
    """
    return Param(default, range)


class Component:
    """The common part of congestion controls and workloads: settings declared as annotated attributes."""

    name: ClassVar[str | None] = None
    """Its `kind` in an experiment file; by default the class's name, `MyDctcp` as `my-dctcp`."""

    _ranges: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        given = {key: value for key, value in vars(cls).items() if isinstance(value, Param)}
        cls._ranges = cls._ranges | {key: value.range for key, value in given.items()}
        for key, value in given.items():  # so that the class is useful outside a run too
            if value.default is ...:
                delattr(cls, key)
            else:
                setattr(cls, key, value.default)


class CongestionControl(Component):
    """A congestion control: how much one flow may have in flight, and how fast it is sent.

    The transport decides when: it finds losses, reports congestion once a round trip, and counts rounds.
    After each call it reads `cwnd`, `ssthresh` and `pacing_rate` back. Each must be a finite number above 0
    (the last two may be None), else the run ends with a PluginError that names flow, time and value. A
    window below one segment or above the file's `cwnd_max` is held there, and `cwnd` set to what is held.
    """

    cadence: ClassVar[Literal["ack", "round"]] = "ack"
    """`ack` calls `on_ack` at every acknowledgement; `round` calls only `on_round`, once a round trip."""

    ecn: ClassVar[Literal["off", "per-packet"]] = "off"
    """`per-packet`: packets are ECN-capable and each mark is reported (RFC 8257 s.3.2)."""

    words: ClassVar[dict[str, str]] = {}
    """For its report card (RFC 9743 s.5.3, 6.2): `deviations` from principles, `scope`, `tunnels`."""

    cwnd: float
    """Bytes that may be in flight. To be set by `start`."""

    ssthresh: float | None = None
    """Slow-start threshold in bytes, if the algorithm has one; infinity for none yet."""

    pacing_rate: float | None = None
    """Greatest sending rate in bits a second; None lets acknowledgements clock the packets."""

    alpha: float | None = None
    """The value that the table `flows` and the flow trace record as `alpha`, if anything."""

    def start(self, flow: FlowStart) -> None:
        """The flow begins. By default the window is the initial one."""
        self.cwnd = flow.initial_window

    def on_ack(self, ack: Ack) -> None:
        """Every acknowledgement of new data, before any congestion that it causes; not by round."""
        raise NotImplementedError

    def on_round(self, ack: Ack) -> None:
        """Once a round trip, after `on_ack`: `acked` and `marked` are the sums of the round."""
        raise NotImplementedError

    def on_congestion(self, why: str, ack: Ack) -> None:
        """`why` is `loss`, `loss-after-ecn`, `ecn` or `timeout`; the first three at most once a window each.

        `ack` is the last one that came, with the present time and the bytes in flight before the loss.
        """
        raise NotImplementedError

    def on_timeout(self, ack: Ack) -> None:
        """The retransmission timer expired; by default reported as `on_congestion("timeout", ack)`."""
        raise NotImplementedError

    def on_idle(self, ack: Ack) -> None:
        """The sender was idle for longer than a retransmission timeout and is about to send."""
        raise NotImplementedError

    def on_lost_syn(self, ack: Ack) -> None:
        """The handshake lost as many SYNs as the setting `lost_syns` says; before any data leave."""
        raise NotImplementedError


class Window:
    """Reno's window, for algorithms that borrow its growth (RFC 5681 s.3.1, RFC 3465), in bytes."""

    def __init__(self, flow: FlowStart):
        self.rules = flow
        self.cwnd = float(flow.initial_window)
        self.ssthresh = flow.initial_ssthresh
        self._credit = 0.0

    def grow(self, ack: Ack) -> None:
        """Slow start below `ssthresh`, else one segment a window; nothing where the window may not grow."""
        if not ack.may_grow:
            return
        rules = self.rules
        counted = {"bytes": ack.acked, "delivered": ack.delivered, "acks": rules.mss}[rules.growth]
        room = self.ssthresh - self.cwnd
        if room > 0 and (rules.growth != "delivered" or counted <= room):
            # RFC 5681 eq. (2), with the limit of RFC 3465 s.2.2.
            self.cwnd += min(counted, rules.slow_start_limit * rules.mss)
        else:
            if room > 0:  # Linux tcp_slow_start stops at ssthresh, and the rest counts beyond it
                self.cwnd, counted = self.ssthresh, counted - room
            # RFC 3465 s.2.1: one segment once a window has been counted.
            self._credit += counted
            if self._credit >= self.cwnd:
                self._credit -= self.cwnd
                self.cwnd += rules.mss
        self.cwnd = min(self.cwnd, rules.cwnd_max)

    def shrink(self, to: float) -> None:
        """Down to `to`, from where congestion avoidance goes on; never up."""
        self.cwnd = max(min(to, self.cwnd), self.rules.cwnd_floor)
        self.ssthresh = max(self.cwnd, self.rules.ssthresh_floor)
        self._credit = 0.0

    def on_loss(self, flight: float) -> None:
        """RFC 5681 eq. (4): half of the flight."""
        self.ssthresh = max(flight / 2.0, self.rules.ssthresh_floor)
        self.cwnd = self.ssthresh
        self._credit = 0.0

    def on_timeout(self, flight: float) -> None:
        """RFC 5681 s.3.1, end: one segment, and slow start to half of the flight."""
        self.on_loss(flight)
        self.cwnd = float(self.rules.mss)

    def on_idle(self) -> None:
        """RFC 5681 s.4.1: at most the restart window after an idle time."""
        self.cwnd = min(self.cwnd, self.rules.restart_window)
        self._credit = 0.0

    def on_lost_syn(self) -> None:
        """RFC 5681 s.3.1: one segment where the SYN or the SYN+ACK was lost."""
        self.cwnd = float(self.rules.mss)


class Flow(NamedTuple):
    """A transfer of a workload: from, to, bytes, and its start in seconds (None: at once)."""

    src: str
    dst: str
    bytes: int
    start: float | None = None


class Workload(Component):
    """A workload: flows, each on a connection of its own, in the order of their starts.

    Transport, class and name in the file are those of the load that has it as its kind.
    """

    def flows(self, net: Network) -> Iterable[Flow | tuple[str, str, int, float | None]]:
        """The flows, soonest first; asked for one by one, so that it may be a generator without end.

        `net.hosts` are the names, `net.duration` the run's length, `net.random` a seeded `random.Random`.
        """
        raise NotImplementedError

    def on_flow_done(self, done: FlowDone) -> Iterable[Flow] | None:
        """A flow was delivered whole (closed loops): the flows that follow, if any."""
        return None


_NODE = re.compile(r"[A-Za-z0-9._-]+")


class Graph:
    """A network, node by node and link by link, as a topology function returns it."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.switches: list[str] = []
        self.links: list[dict[str, Any]] = []

    def host(self, name: str) -> str:
        """Adds a host, which sends and receives, and returns its name."""
        self._add(self.hosts, name)
        return name

    def switch(self, name: str) -> str:
        """Adds a switch, which forwards, and returns its name."""
        self._add(self.switches, name)
        return name

    def link(
        self,
        a: str,
        b: str,
        rate: float | str = "10Gbps",
        delay: float | str = "25us",
        *,
        duplex: bool = True,
        cost: int = 1,
    ) -> None:
        """Joins two nodes, both ways unless not `duplex`. A number is bits a second, or seconds.

        Packets take the path with the least sum of `cost`, by default the one with the fewest links.
        """
        for end in (a, b):
            if end not in self.hosts and end not in self.switches:
                raise ValueError(f"no node is called {end!r}; add it with host() or switch() first")
        rate = rate if isinstance(rate, str) else f"{round(rate)}bps"
        delay = delay if isinstance(delay, str) else f"{round(delay * 1e12)}ps"
        link = {"from": a, "to": b, "rate": rate, "delay": delay, "duplex": duplex}
        self.links.append(link if cost == 1 else link | {"cost": cost})

    def _add(self, nodes: list[str], name: str) -> None:
        if not isinstance(name, str) or not _NODE.fullmatch(name):
            raise ValueError(f'a node\'s name is letters, digits, "-", "_" and ".", not {name!r}')
        if name in self.hosts or name in self.switches:
            raise ValueError(f"two nodes are called {name!r}")
        nodes.append(name)

    def to_document(self) -> dict[str, Any]:
        """The network as a file's `topology = { kind = "graph", ... }` writes it."""
        return {"hosts": self.hosts, "switches": self.switches, "links": self.links}


_Build = TypeVar("_Build", bound=Callable[..., Graph])


@overload
def topology(build: _Build) -> _Build: ...
@overload
def topology(*, name: str) -> Callable[[_Build], _Build]: ...
def topology(build: Any = None, *, name: str | None = None) -> Any:
    """Makes a function that returns a Graph a topology; its annotated arguments are settings."""

    def mark(function: Any) -> Any:
        function._shallows_topology = name or function.__name__.replace("_", "-")
        return function

    return mark if build is None else mark(build)
