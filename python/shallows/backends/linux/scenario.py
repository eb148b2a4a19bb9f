"""Turns a resolved experiment, of which nothing is refused (`refusals`), into the guest's plan.

Each node is a network namespace, each cable a veth pair. A port is a token bucket of one frame at the link's
rate with the discipline under it, on the sending end. The wire's delay is a netem on the far end, behind a
redirect of what arrives: a delay on the sending host would take its packets from TCP's account of its own
queue (TCP small queues). netem is given the rate too, so that a packet arrives when its last bit does, as in
the simulator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import loads
from shallows.backends.linux.paths import Ways, drawn, gateway
from shallows.backends.linux.qdiscs import qdisc

if TYPE_CHECKING:
    import polars as pl

MOST_MEMORY_MB = 8192
ETHERNET_BYTES = 14
"""Header that a qdisc counts and the simulator does not; a size table takes it off."""

GSO_HEADERS = 512
"""Bytes that the kernel takes off the largest super-packet for headers (MAX_TCP_HEADER), and some."""

LATENESS_NS = 10
"""Of a port's timer at most: User-Mode Linux adds 1 ns, and so does each reading of the clock. A port's
bucket holds so much more than a frame, and so keeps its rate; at 100 Gb/s that is a tenth of a frame."""

SINK = "count"
"""A node's device for copies of packets that were counted; it drops them."""

SYSCTLS = {
    "tcp_no_metrics_save": "1",
    "tcp_slow_start_after_idle": "1",
    "tcp_wmem": "4096 4194304 33554432",
    "tcp_rmem": "4096 4194304 33554432",
    "tcp_notsent_lowat": "262144",
    "ip_forward": "1",
}
"""Of every node. Buffers are large, so that no window of the host limits a flow; but data that has not been
sent yet would only take memory."""

__all__ = ["Port", "Scenario", "address", "scenario", "sysctls", "traced_classes"]


@dataclass(frozen=True)
class Port:
    """A port whose counts the guest reads, and the tables that have its samples."""

    name: str
    rate_bps: int
    switch: bool
    measured: bool  # lengths in `queues` and their histogram
    traced: bool  # queue_trace and port_trace

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
    asked: list[tuple[str, str]] = field(default_factory=list)  # of tc: device and words of its discipline


def scenario(
    experiment: Mapping[str, Any],
    network: Mapping[str, Any],
    ways: Sequence[Mapping[str, Any]],
    flows: pl.DataFrame,
    messages: pl.DataFrame,
    further: Iterable[str] = (),
) -> Scenario:
    """The guest's plan for an experiment, with `further` lines of it.

    `network` and `ways` are the answers of `_core.plan` and `_core.ways`.

    `flows` and `messages` are the simulator's tables of the same experiment: bytes and times of every
    load but incast, whose rounds depend on their own outcome. So both backends have the same arrivals.
    """
    return _Writer(experiment, network, ways).write(flows, messages, further)


def address(host: int) -> str:
    """IPv4 address of the host of this number among the hosts."""
    return f"10.1.{host // 250}.{host % 250 + 1}"


def sysctls(experiment: Mapping[str, Any]) -> dict[str, str]:
    """net.ipv4 of every node: written by the guest, which reads each back."""
    transport = next(iter(experiment["traffic"].values()))["transport"]
    own = {
        # 2: only what a congestion control asks for, which is what "auto" means.
        "tcp_ecn": {"auto": "2", "on": "1", "off": "0"}[transport["ecn"]],
        "tcp_sack": str(int(transport["sack"])),
        "tcp_timestamps": str(int(transport["timestamps"])),
    }
    if traced_classes(experiment):
        own["tcp_reflect_tos"] = "1"  # acknowledgements bear their connection's class
    return SYSCTLS | own


def traced_classes(experiment: Mapping[str, Any]) -> list[str]:
    """The classes whose arrivals at ports are counted apart: none if there is but one, or no such trace."""
    names = list(dict.fromkeys(load["class"] for load in experiment["traffic"].values()))
    return names if experiment["probe"]["port_trace"] != "off" and len(names) > 1 else []


class _Writer:
    def __init__(
        self, experiment: Mapping[str, Any], network: Mapping[str, Any], ways: Sequence[Mapping[str, Any]]
    ):
        self.experiment, self.network = experiment, network
        self.numbers: Mapping[str, int] = network["numbers"]
        self.nodes, self.ports = network["nodes"], network["ports"]
        weights = [port["weight"] for port in self.ports] if experiment["ecmp"] == "weighted" else None
        self.ways = Ways(network["routes"], ways, weights)
        self.hosts = [i for i, node in enumerate(self.nodes) if node["host"]]
        self.host_number = {self.nodes[n]["name"]: i for i, n in enumerate(self.hosts)}
        self.first = next(iter(experiment["traffic"]))  # all loads agree on what is read here
        self.transport = experiment["traffic"][self.first]["transport"]
        self.frame = self._number("mss") + self._number("header") + 12 * self.transport["timestamps"]
        by_ends = {(port["from"], port["to"]): i for i, port in enumerate(self.ports)}
        self.reverse = [by_ends[port["to"], port["from"]] for port in self.ports]
        self.classes = traced_classes(experiment)
        self.files: dict[str, list[str]] = {}
        self.asked: list[tuple[str, str]] = []
        self.lines: list[str] = []

    def _number(self, key: str) -> int:
        return self.numbers[f"traffic.{self.first}.transport.{key}"]

    def _name(self, port: int) -> str:
        return "->".join(self.nodes[self.ports[port][end]]["name"] for end in ("from", "to"))

    def write(self, flows: pl.DataFrame, messages: pl.DataFrame, further: Iterable[str]) -> Scenario:
        """The whole plan."""
        names = list(self.experiment["traffic"])
        made = Scenario("", loads=names, ends=self.network["loads"], numbers=self.numbers)
        made.hosts = [self.nodes[n]["name"] for n in self.hosts]
        self._namespaces()
        for node in range(len(self.nodes)):
            self._node(node)
        steps = [line for number in range(len(self.ports)) for line in self._port(number)]
        self._flush()
        self.lines += steps
        self._queues(made)
        self._times(made)
        self.lines += [f"host {node} {address(number)}" for number, node in enumerate(self.hosts)]
        ends = self.network["loads"]
        self.lines += loads.lines(self.experiment, self.host_number, ends, flows, messages, self.numbers)
        self.lines += [*further, "go"]
        for node in range(len(self.nodes)):
            self.lines.append(f"run /bin/tc -s -d -n n{node} qdisc show")
        for node in range(len(self.nodes)):
            self.lines.append(f"run /bin/tc -j -d -n n{node} qdisc show")
        made.plan = "\n".join(self.lines) + "\n"
        made.asked = self.asked
        made.memory_mb = min(512 + 8 * len(self.hosts) + 2 * len(flows), MOST_MEMORY_MB)
        return made

    def _batch(self, program: str, node: int | None, line: str) -> None:
        self.files.setdefault(f"{program} {'-' if node is None else node}", []).append(line)

    def _flush(self) -> None:
        """Turns the batches gathered so far into commands, in the order in which they were begun."""
        for key, lines in self.files.items():
            program, node = key.split()
            name = f"batch{len(self.lines)}"
            self.lines += [f"file {name} {len(lines)}", *lines]
            where = "" if node == "-" else f" -n n{node}"
            self.lines.append(f"run /bin/{program}{where} -batch /run/{name}")
        self.files = {}

    def _namespaces(self) -> None:
        for node in range(len(self.nodes)):
            self._batch("ip", None, f"netns add n{node}")
        for number, back in enumerate(self.reverse):
            if number < back:
                a, b = self.ports[number]["from"], self.ports[number]["to"]
                near = f"p{number} address {_mac(number)} netns n{a}"
                ends = f"{near} type veth peer name p{back} address {_mac(back)} netns n{b}"
                self._batch("ip", None, f"link add {ends}")
        self._flush()

    def _node(self, node: int) -> None:
        self._batch("ip", node, "link set lo up")
        if self.nodes[node]["host"]:
            self._batch("ip", node, f"addr add {address(self.hosts.index(node))}/32 dev lo")
        for number, port in enumerate(self.ports):
            if port["from"] == node:
                # No super-packets: a qdisc sees the packets of the wire.
                gso = self._offload()
                self._batch("ip", node, f"link set p{number} up mtu {self.frame} txqueuelen 1000 {gso}")
                # Known once and for all, so that no ARP crosses the queue under test.
                peer = self.reverse[number]
                self._batch(
                    "ip",
                    node,
                    f"neigh add {gateway(number)} lladdr {_mac(peer)} dev p{number} nud permanent",
                )
                self._batch("ip", node, f"link add i{peer} numtxqueues 1 numrxqueues 1 type ifb")
                self._batch("ip", node, f"link set i{peer} up txqueuelen 1000")
        if any(port["from"] == node and self._counted(number) for number, port in enumerate(self.ports)):
            self._batch("ip", node, f"link add {SINK} numtxqueues 1 numrxqueues 1 type ifb")
            self._batch("ip", node, f"link set {SINK} up txqueuelen 1000")
        own = f" src {address(self.hosts.index(node))}" if self.nodes[node]["host"] else ""
        rules = own and f"{own} initcwnd {self._packets('initial_window')} rto_min {self._ms('min_rto')}"
        for number, host in enumerate(self.hosts):
            route = self.ways.route(node, number, address(number), rules)
            if host != node and route is not None:
                self._batch("ip", node, f"route {route}")
        chosen = self.ways.sysctls(node, self.nodes[node]["name"], self.experiment["seed"])
        for name, value in [*sysctls(self.experiment).items(), *chosen]:
            self.lines.append(f"sysctl {node} {name} {value}")

    def _offload(self) -> str:
        """How much TCP may hand down at once: one packet, so that what a qdisc sees is what the wire carries;
        or a burst, which the sender's own token bucket takes apart (tbf_segment): switches see packets.
        """
        segments = self.transport["burst"]
        size = self.frame + ETHERNET_BYTES if segments == 1 else segments * self._number("mss") + GSO_HEADERS
        return f"gso_max_segs {segments} gso_max_size {size}"

    def _packets(self, key: str) -> int:
        text = self.transport[key]
        return (
            int(text.removesuffix("pkt"))
            if text.endswith("pkt")
            else max(self._number(key) // self._number("mss"), 1)
        )

    def _ms(self, key: str) -> str:
        return f"{self._number(key) // 1_000_000_000}ms"

    def _port(self, number: int) -> Iterable[str]:
        port, node = self.ports[number], self.ports[number]["from"]
        table = f"stab overhead -{ETHERNET_BYTES} mtu 2048"
        burst = self.frame + max(port["rate_bps"] * LATENESS_NS // 8_000_000_000, 10)
        shaper = f"tbf rate {_shaped_bps(port['rate_bps'])}bit burst {burst} limit 2000000000"
        self._batch("tc", node, f"qdisc add dev p{number} root handle 1: {table} {shaper}")
        self.asked.append((f"p{number}", shaper))
        under = qdisc(port["queue"], self.frame)
        place = f"{node} p{number} {0x10001:x} {0x10 << 16:x}"
        if under.words:
            self._batch("tc", node, f"qdisc add dev p{number} parent 1:1 handle 10: {under.words}")
            self.asked.append((f"p{number}", under.words))
        elif under.step:
            yield f"step {place} {' '.join(str(number) for number in under.step)}"
        else:
            words = [":".join(str(number) for number in each) for each in under.attributes]
            yield f"attributes {place} {under.kind} {' '.join(words)}"
        # The wire, at its far end.
        far, device = port["to"], f"p{self.reverse[number]}"
        counted = self._counted(self.reverse[number])
        self._batch("tc", far, f"qdisc add dev {device} {'clsact' if counted else 'handle ffff: ingress'}")
        redirect = f"action mirred egress redirect dev i{number}"
        hook = "ingress" if counted else "parent ffff:"
        self._batch("tc", far, f"filter add dev {device} {hook} protocol all matchall {redirect}")
        if counted:
            self._count(far, device)
        speed = f"{port['delay_ps'] // 1000} {port['rate_bps'] // 8} -{ETHERNET_BYTES}"
        yield f"wire {far} i{number} {speed} {self._loss(number)}"

    def _count(self, node: int, device: str) -> None:
        """Counts what comes to a port by class, before its discipline: a copy goes to a device that drops it,
        since this kernel has no action that only counts."""
        for number in range(len(self.classes)):
            match = f"u32 match u8 {number << 5:#x} 0xe0 at 1"
            action = f"action mirred egress mirror dev {SINK}"
            self._batch(
                "tc", node, f"filter add dev {device} egress protocol ip pref {number + 1} {match} {action}"
            )

    def _loss(self, number: int) -> str:
        """Of 2^32 - 1 packets those that the wire loses, and the seed of its random numbers."""
        share = self.ports[number]["loss"]
        if not share:
            return "0 0"
        return f"{round(share * (2**32 - 1))} {drawn(self.experiment['seed'], 'loss', self._name(number))}"

    def _queues(self, made: Scenario) -> None:
        """Ports that are read, and how."""
        probe = self.experiment["probe"]
        traces = probe["queue_trace"] != "off" or probe["port_trace"] != "off"
        for number, port in enumerate(self.ports):
            name, switch = self._name(number), not self.nodes[port["from"]]["host"]
            measured = switch or probe["nic_queues"]
            read = Port(name, port["rate_bps"], switch, measured, traces and self._covered(number))
            made.ports.append(read)
            wire = f"{port['to']} i{number}" if port["loss"] else "-1 -"
            flags = f"{int(read.sampled)} {int(read.traced)}"
            self.lines.append(f"queue {port['from']} p{number} {0x10 << 16:x} {flags} {wire}")
            if self._counted(number):
                self.lines.append(f"arrivals {number} {port['from']} p{number}")
        loads = self.experiment["traffic"].values() if self.classes else ()
        self.lines += [f"class {self.classes.index(load['class'])}" for load in loads]

    def _covered(self, number: int) -> bool:
        """Whether the probe covers a port: a pattern those of switches only, a full name any."""
        chosen = self.experiment["probe"]["ports"]
        name, switch = self._name(number), not self.nodes[self.ports[number]["from"]]["host"]
        patterns = [chosen] if isinstance(chosen, str) else chosen
        return any(name == text or (switch and fnmatchcase(name, text)) for text in patterns)

    def _counted(self, number: int) -> bool:
        """Whether arrivals are counted by class."""
        return bool(self.classes) and self._covered(number)

    def _times(self, made: Scenario) -> None:
        numbers, probe = self.numbers, self.experiment["probe"]
        duration = numbers["duration"]
        # Enough samples for percentiles where none are asked for; in whole nanoseconds, as the guest counts.
        made.sample_ps = numbers.get("probe.queue_trace", max(duration // 20_000_000 * 1000, 10_000_000))
        # Means of flows are means of samples too.
        traced = numbers.get("probe.flow_trace", max(duration // 1000, 100_000_000))
        self.lines += [
            f"seed {self.experiment['seed']}",
            f"duration {duration // 1000}",
            f"warmup {numbers['warmup'] // 1000}",
            f"sample {made.sample_ps // 1000}",
            f"trace {traced // 1000}",
            f"traced {int(probe['flow_trace'] != 'off')}",
            f"ports {numbers.get('probe.port_trace', 0) // 1000}",
            f"nodelay {int(not self.transport['nagle'])}",
        ]


def _shaped_bps(rate_bps: int) -> int:
    """A millionth less: the shaper's fixed point takes up to 1 ns from a frame's time, and what it sends too
    fast would wait, unseen, in the netem behind it."""
    return (rate_bps - -(-rate_bps // 1_000_000)) // 8 * 8


def _mac(port: int) -> str:
    return f"02:00:00:00:{port // 256:02x}:{port % 256:02x}"
