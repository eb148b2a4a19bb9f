"""Turns a resolved experiment, of which nothing is refused (`refusals`), into the guest's plan.

Each node is a network namespace, each cable a veth pair. A port is a token bucket of one frame at the link's
rate with the discipline under it, on the sending end. The wire's delay is a netem on the far end, behind a
redirect of what arrives: a delay on the sending host would take its packets from TCP's account of its own
queue (TCP small queues). netem is given the rate too, so that a packet arrives when its last bit does, as in
the simulator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import (
    datagrams,
    following,
    lateness,
    links,
    loads,
    packets,
    rebinding,
    spoiling,
    transports,
)
from shallows.backends.linux.network import Port, Scenario, matches
from shallows.backends.linux.paths import Ways, gateway
from shallows.backends.linux.qdiscs import Meter, Qdisc, paced, qdisc
from shallows.backends.linux.readback import Asked, Shown
from shallows.backends.linux.readback import number as as_number

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.kernel import Kernel

MOST_MEMORY_MB = 8192
IDLE = loads.IDLE
GSO_HEADERS = 512
"""Bytes that the kernel takes off the largest super-packet for headers (MAX_TCP_HEADER), and some."""

SINK = "count"
"""A node's device for copies of packets that were counted; it drops them."""

SYSCTLS = {
    "tcp_no_metrics_save": "1",
    "tcp_slow_start_after_idle": "1",
    "tcp_wmem": "4096 4194304 33554432",
    "tcp_rmem": "4096 4194304 33554432",
    "tcp_notsent_lowat": "262144",
    "ip_forward": "1",
    "net.core.txrehash": "0",
}
"""The sysctls of every node. Buffers are large, so that no window of the host limits a flow; but data that
has not been sent yet would only take memory. A packet carries the hash of its sender's socket to the switches
of the same machine, and `fq` chooses its queue there by this hash (fq_classify). With txrehash a timeout
changes it, so that a connection would take another queue and overtake its own packets."""

__all__ = [
    *("IDLE", "address", "boot_parameters", "parameters", "sample_ps"),
    *("scenario", "shown", "sysctls", "traced_classes", "ways_of"),
]


def scenario(
    experiment: Mapping[str, Any],
    network: Mapping[str, Any],
    ways: Sequence[Mapping[str, Any]],
    flows: pl.DataFrame,
    messages: pl.DataFrame,
    further: Iterable[str] = (),
    programs: bool = False,
) -> Scenario:
    """The guest's plan for an experiment, with `further` lines of it.

    With `programs`, which may change the network, the plan has devices and routes printed again at the end.

    `network` and `ways` are the answers of `_core.plan` and `_core.ways`.

    `flows` and `messages` are the simulator's tables of the same experiment: bytes and times of every
    load but incast, whose rounds depend on their own outcome. So both backends have the same arrivals.
    """
    return _Writer(experiment, network, ways).write(flows, messages, further, programs)


def ways_of(
    experiment: Mapping[str, Any], network: Mapping[str, Any], ways: Sequence[Mapping[str, Any]]
) -> Ways:
    """The next hops of each node."""
    weights = [port["weight"] for port in network["ports"]] if experiment["ecmp"] == "weighted" else None
    return Ways(network["routes"], ways, weights)


def sample_ps(numbers: Mapping[str, int]) -> int:
    """The time between two samples of the queues.

    Enough for percentiles where none are asked for; in whole nanoseconds, as the guest counts.
    """
    return numbers.get("probe.queue_trace", max(numbers["duration"] // 20_000_000 * 1000, 10_000_000))


def shown(plan: str) -> str:
    """A plan for a reader, without long lists that follow from the experiment."""
    long = ("emit ", "law ", "piece ")
    return "".join(line for line in plan.splitlines(keepends=True) if not line.startswith(long))


def address(host: int) -> str:
    """IPv4 address of the host of this number among the hosts."""
    return f"10.1.{host // 250}.{host % 250 + 1}"


def sysctls(experiment: Mapping[str, Any]) -> dict[str, str]:
    """net.ipv4 of every node: written by the guest, which reads each back."""
    transport = transports.tcp(experiment).transport
    counted = transport["echo"] == "accecn"
    own = {
        # 2: only what a congestion control asks for, which is what "auto" means. 3: with AccECN where both
        # ends can.
        "tcp_ecn": "3" if counted else {"auto": "2", "on": "1", "off": "0"}[transport["ecn"]],
        "tcp_sack": str(int(transport["sack"])),
        "tcp_timestamps": str(int(transport["timestamps"])),
    }
    if transport["receive_window"] != "none":
        own["tcp_moderate_rcvbuf"] = "0"  # it moves the clamp that the route has set (tcp_rcv_space_adjust)
    if counted:
        own["tcp_ecn_option"] = "0"  # the counter of the ACE field alone, as in the simulator
    if traced_classes(experiment):
        own["tcp_reflect_tos"] = "1"  # acknowledgements carry their connection's class
    return SYSCTLS | own | experiment.get("linux", {}).get("sysctl", {})


def parameters(experiment: Mapping[str, Any]) -> list[str]:
    """Lines of the plan that set module parameters, or verify those that can only be given at the boot."""
    asked = experiment.get("linux", {}).get("parameter", {})
    return [f"parameter {name.replace('.', ' ')} {value}" for name, value in asked.items()]


def boot_parameters(experiment: Mapping[str, Any], kernel: Kernel) -> list[str]:
    """Words of the kernel's command line: the module parameters that cannot be written later.

    The command line is a part of the kernel's entropy, so that the others are written.
    """
    asked = experiment.get("linux", {}).get("parameter", {})
    if not asked:
        return []
    from shallows.backends.linux import offers

    known = offers.of(kernel).parameters
    return [f"{name}={value}" for name, value in asked.items() if not known.get(name, False)]


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
        self.ways = ways_of(experiment, network, ways)
        self.hosts = [i for i, node in enumerate(self.nodes) if node["host"]]
        self.host_number = {self.nodes[n]["name"]: i for i, n in enumerate(self.hosts)}
        self.tcp = transports.tcp(experiment)  # all loads agree on what is read here, but for mss
        self.transport = self.tcp.transport
        self.frame = transports.frame(experiment)
        addresses = {name: address(number) for name, number in self.host_number.items()}
        self.rebindings = rebinding.of(experiment, addresses)
        self.reverse = [port["back"] for port in self.ports]
        self.classes = traced_classes(experiment)
        self.laws = lateness.used(self.ports)
        self.files: dict[str, list[str]] = {}
        self.asked: dict[str, list[Asked]] = {key: [] for key in ("disciplines", "devices", "routes")}
        self.changed: dict[tuple[Any, ...], Asked] = {}
        self.changes: list[tuple[int, str]] = []
        self.lines: list[str] = []

    def _name(self, port: int) -> str:
        return str(self.ports[port]["name"])

    def write(
        self, flows: pl.DataFrame, messages: pl.DataFrame, further: Iterable[str], programs: bool
    ) -> Scenario:
        """The whole plan."""
        names = list(self.experiment["traffic"])
        made = Scenario("", loads=names, ends=self.network["loads"], numbers=self.numbers)
        made.hosts = [self.nodes[n]["name"] for n in self.hosts]
        self._namespaces()
        for node in range(len(self.nodes)):
            self._node(node)
        self.lines += [f"law {lateness.law(name)}" for name in self.laws]
        steps = [line for number in range(len(self.ports)) for line in self._port(number)]
        self._flush()
        self.lines += steps
        self._queues(made)
        self._times(made)
        self.lines += parameters(self.experiment)
        self.lines += [f"host {node} {address(number)}" for number, node in enumerate(self.hosts)]
        ends = self.network["loads"]
        self.lines += loads.lines(self.experiment, self.host_number, ends, flows, messages, self.numbers)
        self.lines += datagrams.lines(self.experiment, self.network, self.host_number, flows)
        self.lines += [*self._expected(), f"window {self.tcp.receive_window}"]
        if self.experiment["probe"]["audit"]:
            self.lines += packets.lines(self.ports)
        for each in self.rebindings:
            node = self.hosts[self.host_number[each.host]]
            self.changes.append((each.at_ps // 1000, rebinding.line(each, node, self.ports)))
        self.lines += [f"change {at} {line}" for at, line in sorted(self.changes, key=lambda each: each[0])]
        self.lines += further
        every = range(len(self.nodes))
        self.lines += [f"told disciplines /bin/tc -j -d -n n{node} qdisc show" for node in every]
        for node in every:
            self.lines.append(f"told devices{node} /bin/ip -j -d -n n{node} link show")
            self.lines.append(f"told routes{node} /bin/ip -j -d -n n{node} route show")
        self.lines.append("go")
        self.lines += [f"run /bin/tc -s -d -n n{node} qdisc show" for node in every]
        self.lines += [f"told at_end /bin/tc -j -d -n n{node} qdisc show" for node in every]
        for node in every if programs else ():
            self.lines.append(f"told devices_end{node} /bin/ip -j -d -n n{node} link show")
            self.lines.append(f"told routes_end{node} /bin/ip -j -d -n n{node} route show")
        made.plan = "\n".join(self.lines) + "\n"
        made.disciplines = self.asked["disciplines"]
        made.at_end = [self.changed.get(each.key, each) for each in made.disciplines]
        made.nodes = len(self.nodes)
        made.devices, made.routes = self.asked["devices"], self.asked["routes"]
        memory = 512 + 8 * len(self.hosts) + 2 * len(flows) + datagrams.memory_mb(self.lines)
        made.memory_mb = min(memory, MOST_MEMORY_MB)
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
        self._flush()
        self.lines += [f"quiet {node}" for node in range(len(self.nodes))]
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
                gso = self._offload()
                words = " ".join(f"{name} {value}" for name, value in gso.items())
                self._batch("ip", node, f"link set p{number} up mtu {self.frame} txqueuelen 1000 {words}")
                shows: dict[str, Shown] = {name: as_number(value) for name, value in gso.items()}
                shows |= {"mtu": as_number(self.frame), "txqlen": as_number(1000)}
                self._ask("devices", f"device p{number}", (node, f"p{number}"), shows)
                # Known once and for all, so that no ARP crosses the queue under test.
                peer = self.reverse[number]
                self._batch(
                    "ip",
                    node,
                    f"neigh add {gateway(number)} lladdr {_mac(peer)} dev p{number} nud permanent",
                )
                self._batch("ip", node, f"link add i{peer} numtxqueues 1 numrxqueues 1 type ifb")
                self._batch("ip", node, f"link set i{peer} up txqueuelen 1000")
                link = self._link(peer)
                for name in (links.copies(link), links.mirror(link)) if self.ports[peer]["duplicate"] else ():
                    self._batch("ip", node, f"link add {name} numtxqueues 1 numrxqueues 1 type ifb")
                    self._batch("ip", node, f"link set {name} up txqueuelen 1000")
        if any(port["from"] == node and self._counted(number) for number, port in enumerate(self.ports)):
            self._batch("ip", node, f"link add {SINK} numtxqueues 1 numrxqueues 1 type ifb")
            self._batch("ip", node, f"link set {SINK} up txqueuelen 1000")
        own = f" src {address(self.hosts.index(node))}" if self.nodes[node]["host"] else ""
        words = " ".join(f"{name} {value}" for name, value in self._metrics().items())
        rules = own and f"{own} {words}"
        for number, host in enumerate(self.hosts):
            route = self.ways.route(node, number, address(number), rules)
            if host != node and route is not None:
                self._batch("ip", node, f"route {route}")
                self._route(node, number, bool(rules))
                for outer in self._outer(number):
                    self._batch("ip", node, f"route {self.ways.route(node, number, outer, rules)}")
        chosen = self.ways.sysctls(node, self.nodes[node]["name"], self.experiment["seed"])
        for name, value in [*sysctls(self.experiment).items(), *chosen]:
            self.lines.append(f"sysctl {node} {name} {value}")

    def _outer(self, number: int) -> list[str]:
        """Other addresses by which a NAT shows a host during the run."""
        found = [each.outer for each in self.rebindings if each.inner == address(number) != each.outer]
        return list(dict.fromkeys(found))

    def _offload(self) -> dict[str, int]:
        """How much TCP may hand down at once: one packet, so that what a qdisc sees is what the wire carries;
        or a burst, which the sender's own token bucket takes apart (tbf_segment): switches see packets.
        """
        segments = self.transport["burst"]
        size = self.frame + links.ETHERNET_BYTES
        size = size if segments == 1 else segments * self.tcp.mss + GSO_HEADERS
        return {"gso_max_segs": segments, "gso_max_size": size}

    def _ask(self, what: str, name: str, key: tuple[Any, ...], shows: Mapping[str, Shown]) -> None:
        self.asked[what].append(Asked(name, key, shows))

    def _metrics(self) -> dict[str, str]:
        """Words of `ip route` by which a connection starts, and its ends answer."""
        found = {"initcwnd": str(self.tcp.packets("initial_window")), "rto_min": self._ms("min_rto")}
        if self.transport["receive_window"] != "none":
            # The first window that a receiver offers (RTAX_WINDOW, tcp_select_initial_window).
            found["window"] = str(self.tcp.receive_window)
        if self.transport["ack_every"] == 1:
            found["quickack"] = "1"  # tcp_in_quickack_mode
        return found

    def _route(self, node: int, host: int, rules: bool) -> None:
        """Notes the report of ip about a node's route to a host."""
        ports = self.ways.ports(node, host)
        shows: dict[str, Shown] = {}
        if len(ports) == 1:
            shows["dev"] = f"p{ports[0]}"
        elif self.ways.weights is not None:
            shows |= {f"weight of p{port}": as_number(self.ways.weights[port]) for port in ports}
        else:
            shows |= {f"weight of p{port}": as_number(1) for port in ports}
        for name, value in self._metrics().items() if rules else ():
            shows[name] = as_number(float(value.removesuffix("ms")))
        self._ask(
            "routes", f"route of {self.nodes[node]['name']} to {address(host)}", (node, address(host)), shows
        )

    def _expected(self) -> Iterable[str]:
        """The report that each connection is to make about itself, and loads whose segments do not fill the
        network's packets.
        """
        transport = self.transport
        window = self.tcp.packets("initial_window")
        flags = f"{int(transport['timestamps'])} {int(transport['sack'])} {int(transport['ecn'] != 'off')}"
        full = self.frame - (self.tcp.frame - self.tcp.mss)
        yield f"expect {full} {window} {flags}"
        for number, load in enumerate(self.experiment["traffic"].values()):
            if not transports.datagrams(load) and (mss := transports.of_load(load).mss) != full:
                yield f"mss {number} {mss}"

    def _ms(self, key: str) -> str:
        return f"{self.tcp.numbers[key] // 1_000_000_000}ms"

    def _link(self, number: int) -> links.Link:
        port = self.ports[number]
        return links.Link(
            self._name(number),
            f"p{number}",
            port["from"],
            f"i{number}",
            port["to"],
            port["rate_bps"],
            port["delay_ps"],
            port["loss"],
            (port["burst_begins"], port["burst_ends"], port["burst_loss"]) if port["burst_begins"] else None,
        )

    def _port(self, number: int) -> Iterable[str]:
        port, node, link, seed = (
            self.ports[number],
            self.ports[number]["from"],
            self._link(number),
            self.experiment["seed"],
        )
        shaper = links.shaper(link, self.frame, self._segments(number))
        under = qdisc(port["queue"], self.frame)
        if under.meters:
            yield from self._meters(node, number, under.meters, shaper.table)
        # A size table stands at the root alone, and holds for what is below it.
        where = "parent 3:1 handle 1: " if under.meters else f"root handle 1: {shaper.table}"
        self._batch("tc", node, f"qdisc add dev p{number} {where}{shaper.words}")
        shows = self._shaped(shaper, under)
        self._ask("disciplines", f"shaper of {link.name}", (f"p{number}", "tbf", "1:"), shows)
        if self.nodes[node]["host"] and self.experiment.get("linux", {}).get("pacing"):
            under = paced(under)
        place = f"{node} p{number} {0x10001:x} {0x10 << 16:x}"
        if under.words:
            self._batch("tc", node, f"qdisc add dev p{number} parent 1:1 handle 10: {under.words}")
        elif under.step:
            yield f"step {place} {' '.join(str(value) for value in under.step)}"
        else:
            words = [":".join(str(value) for value in each) for each in under.attributes]
            yield f"attributes {place} {under.kind} {' '.join(words)}"
        if under.adaptive:
            yield f"adapt {node} p{number} {0x10 << 16:x}"
        self._ask(
            "disciplines", f"{under.kind} of {link.name}", (f"p{number}", under.kind, "10:"), under.shows
        )
        # The wire, at its far end.
        far, device = port["to"], f"p{self.reverse[number]}"
        counted = self._counted(self.reverse[number])
        self._batch("tc", far, f"qdisc add dev {device} {'clsact' if counted else 'handle ffff: ingress'}")
        copy = f"action mirred ingress mirror dev {links.mirror(link)} " if port["duplicate"] else ""
        redirect = f"{copy}action mirred egress redirect dev i{number}"
        hook = "ingress" if counted else "parent ffff:"
        self._batch("tc", far, f"filter add dev {device} {hook} protocol all matchall {redirect}")
        if counted:
            self._count(far, device)
        if port["duplicate"]:
            self._batch("tc", far, f"qdisc add dev {links.mirror(link)} handle ffff: ingress")
            onward = f"matchall action mirred egress redirect dev {links.copies(link)}"
            self._batch("tc", far, f"filter add dev {links.mirror(link)} parent ffff: protocol all {onward}")
        words, shows = links.wire(link, seed)
        yield f"wire {words}"
        self._ask("disciplines", f"wire of {link.name}", (f"i{number}", "netem", "1:"), shows)
        if port["duplicate"]:
            words, shows = links.copied(link, port["duplicate"], seed)
            yield f"wire {words}"
            self._ask("disciplines", f"copies of {link.name}", (links.copies(link), "netem", "1:"), shows)
        yield from self._behind(link, port)
        if following.traced(port):
            yield from following.lines(link, port, self.frame, under, seed)
            self.changed |= following.at_end(link, seed)
        bands = self._bands(port)
        for what, key, shows in spoiling.shows(link, bands) if bands else ():
            self._ask("disciplines", what, key, shows)
        for at, line, new in links.changes(link, port, self.frame, self._segments(number), under, seed):
            self.changes.append((at, line))
            if line.startswith(f"cut {link.far} {link.wire} "):  # with the netems below it
                self.changes += [(at, behind) for behind in self._behind(new, port)]
            after = links.shaper(new, self.frame, self._segments(number))
            final = {
                (f"p{number}", "tbf", "1:"): self._shaped(after, under),
                (f"i{number}", "netem", "1:"): links.wire(new, seed)[1],
                (links.copies(link), "netem", "1:"): links.copied(new, port["duplicate"], seed)[1],
            }
            for key, values in final.items():
                self.changed[key] = Asked(f"{key[1]} of {link.name} after its last change", key, values)

    @staticmethod
    def _shaped(shaper: links.Shaper, under: Qdisc) -> dict[str, Shown]:
        return shaper.shows | ({"stab.overhead": None} if under.meters else {})

    def _meters(self, node: int, number: int, meters: Sequence[Meter], table: str) -> Iterable[str]:
        """A prio above a port's shaper, whose filters police: it counts packets without Ethernet's header."""
        device, last = f"p{number}", len(meters) + 1
        bands = f"prio bands 2 priomap{' 0' * 16}"
        self._batch("tc", node, f"qdisc add dev {device} root handle 3: {table}{bands}")
        at = f"dev {device} parent 3: protocol all"
        for place, meter in enumerate(meters, 1):
            words = f"matchall classid 3:1 action {meter.words}"
            self._batch("tc", node, f"filter add {at} pref {place} {words}")
            yield f"meter {node} {device} {place} {meter.rate_bps // 8} {meter.burst_ns}"
        self._batch("tc", node, f"filter add {at} pref {last} matchall classid 3:1")
        shows: dict[str, Shown] = {"bands": as_number(2), "stab.overhead": as_number(-links.ETHERNET_BYTES)}
        self._ask("disciplines", f"meters of {self._name(number)}", (device, "prio", "3:"), shows)

    def _behind(self, link: links.Link, port: Mapping[str, Any]) -> Iterable[str]:
        """Lines of the disciplines behind the netem of a wire."""
        seed = self.experiment["seed"]
        yield from lateness.lines(link, port, self.laws, seed)
        if bands := self._bands(port):
            yield spoiling.line(link, bands, lateness.last(port), seed)

    def _bands(self, port: Mapping[str, Any]) -> list[spoiling.Band]:
        """The sizes by which packets with wrong bits are lost."""
        acknowledgement = self.tcp.frame - self.tcp.mss
        sizes = {*transports.sizes(self.experiment), acknowledgement, self.frame}
        return spoiling.bands(port["bit_errors"], sizes) if port["bit_errors"] else []

    def _segments(self, number: int) -> bool:
        """Whether a port takes apart the super-packets of its host."""
        return bool(self.transport["burst"] > 1 and self.nodes[self.ports[number]["from"]]["host"])

    def _count(self, node: int, device: str) -> None:
        """Counts what comes to a port by class, before its discipline: a copy goes to a device that drops it,
        since this kernel has no action that only counts."""
        for number in range(len(self.classes)):
            match = f"u32 match u8 {number << 5:#x} 0xe0 at 1"
            action = f"action mirred egress mirror dev {SINK}"
            self._batch(
                "tc", node, f"filter add dev {device} egress protocol ip pref {number + 1} {match} {action}"
            )

    def _queues(self, made: Scenario) -> None:
        """Ports that are read, and how."""
        probe = self.experiment["probe"]
        traces = probe["queue_trace"] != "off" or probe["port_trace"] != "off"
        for number, port in enumerate(self.ports):
            name, switch = self._name(number), not self.nodes[port["from"]]["host"]
            measured = switch or probe["nic_queues"]
            header = links.shaper(self._link(number), self.frame, self._segments(number)).header
            last, mean = links.rates(
                self._link(number), port, self.numbers["warmup"], self.numbers["duration"]
            )
            if following.traced(port):
                mean = following.mean_bps(port["trace"], self.numbers["warmup"], self.numbers["duration"])
            # red_enqueue marks a packet, counts it, and then hands it to a FIFO that may be full.
            step = port["queue"]["kind"] == "threshold"
            traced = traces and self._covered(number)
            read = Port(name, last, mean, switch, measured, traced, header, step, step and self._all_ecn())
            made.ports.append(read)
            wire = f"{port['to']} i{number}" if self._loses(port) else "-1 -"
            flags = f"{int(read.sampled)} {int(read.traced)}"
            meter = " 30000" if qdisc(port["queue"], self.frame).meters else ""
            self.lines.append(f"queue {port['from']} p{number} {0x10 << 16:x} {flags} {wire}{meter}")
            if self._counted(number):
                self.lines.append(f"arrivals {number} {port['from']} p{number}")
        loads = self.experiment["traffic"].values() if self.classes else ()
        self.lines += [f"class {self.classes.index(load['class'])}" for load in loads]

    @staticmethod
    def _loses(port: Mapping[str, Any]) -> bool:
        """Whether the wire behind a port may lose packets."""
        return bool(port["loss"] or port["burst_begins"] or port["bit_errors"] or port.get("changes"))

    def _all_ecn(self) -> bool:
        """Whether every load's data are ECN-capable."""
        transports = [load["transport"] for load in self.experiment["traffic"].values()]
        return all(
            each["ecn"] == "on"
            or (each["ecn"] == "auto" and "dctcp" in (each["cc"]["kind"], each["cc"].get("name")))
            for each in transports
        )

    def _covered(self, number: int) -> bool:
        """Whether the probe covers a port: a pattern those of switches only, a full name any."""
        chosen = self.experiment["probe"]["ports"]
        name, switch = self._name(number), not self.nodes[self.ports[number]["from"]]["host"]
        patterns = [chosen] if isinstance(chosen, str) else chosen
        return any(
            text in (name, name.partition("#")[0]) or (switch and matches(name, text)) for text in patterns
        )

    def _counted(self, number: int) -> bool:
        """Whether arrivals are counted by class."""
        return bool(self.classes) and self._covered(number)

    def _times(self, made: Scenario) -> None:
        numbers, probe = self.numbers, self.experiment["probe"]
        duration = numbers["duration"]
        made.sample_ps = sample_ps(numbers)
        # Means of flows are means of samples too.
        traced = numbers.get("probe.flow_trace", max(duration // 1000, 100_000_000))
        if probe["audit"] and probe["flow_trace"] == "off":
            traced = packets.least_trace_ps(duration)
        self.lines += [
            f"seed {self.experiment['seed']}",
            f"duration {duration // 1000}",
            f"warmup {numbers['warmup'] // 1000}",
            f"sample {made.sample_ps // 1000}",
            f"trace {traced // 1000}",
            f"traced {int(probe['flow_trace'] != 'off' or probe['audit'])}",
            f"ports {numbers.get('probe.port_trace', 0) // 1000}",
            f"nodelay {int(not self.transport['nagle'])}",
        ]


def _mac(port: int) -> str:
    return f"02:00:00:00:{port // 256:02x}:{port % 256:02x}"
