"""Parts of a resolved experiment that Linux cannot do, each refused by its path before anything starts."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import (
    controls,
    datagrams,
    following,
    lateness,
    loads,
    packets,
    rebinding,
    transports,
)
from shallows.backends.linux.links import HOLDS
from shallows.backends.linux.qdiscs import Refusal, packets_as_bytes, polices, qdisc
from shallows.backends.linux.scenario import traced_classes
from shallows.document.schema import components, facts
from shallows.errors import Fault

if TYPE_CHECKING:
    from shallows.backends.linux.kernel import Kernel

PORT = (
    *("queue", "rate", "delay", "loss", "duplicate", "reorder", "reorder_delay", "weight", "bit_errors"),
    *("jitter", "jitter_law", "jitter_correlation", "jitter_order"),
    *("burst_begins", "burst_ends", "burst_loss", "trace"),
)
"""Settings of ports that are done."""

NETEM = {
    "drop_packets": "netem loses packets by chance alone",
    "drop_class": "netem numbers no packets",
    "mark": "where netem marks, it drops packets that are not ECN-capable",
    "mark_every": "netem marks by chance alone",
}
"""Faults of wires that netem cannot say, and the reasons."""

PROBES = {"packets": "only the simulator has it, and linux exec --pcap captures any port of the guest"}
"""Reasons why probes are refused."""

PROBE = (
    *("queues", "nic_queues", "waits", "queue_trace", "port_trace", "flow_trace", "audit"),
    *("ports", "classes", "trace_rows"),
)
"""Probes that are done, or that only leave out what is there."""

MOST_HOSTS = 500
MOST_CLASSES = 8
ECMP = ("flow", "weighted")
ROUTING = ("flowlet_gap", "routes")
"""Settings of `[routing]` that are done, or that say nothing by themselves."""
TABLES = {"reconvergence": "only the simulator has tables that change"}
"""Reasons why the others are refused."""
MOST_WEIGHT = 256
"""The most weight of a next hop, which the kernel keeps in a byte (rtnh_hops)."""

Version = tuple[int, int]
SEEDED_HASH: Version = (6, 11)
"""Kernels from which on each switch has a seed of its own for the choice among paths."""
SEEDED_NETEM: Version = (6, 6)
"""Kernels from which on each netem has random numbers of its own."""
OLD_NETEM = "needs Linux 6.6: in older ones all wires draw from one stream"
COUNTED_ECN: Version = (7, 2)
"""The kernel in which AccECN was tried; tcp_ecn = 3 is newer than 6.12."""

__all__ = ["check", "of_network", "of_programs"]


def check(
    experiment: Mapping[str, Any], without: Collection[str] = (), version: Version | None = None
) -> list[Fault]:
    """All that the backend cannot do, but for the network's shape (`of_network`).

    The kernel was built `without` some options, and has this version; None is the newest.
    """
    found = []
    frame = transports.frame(experiment)
    for place in ("queue", "nic"):
        found += _queue_faults(place, experiment[place], without, frame)
    for name, port in experiment["port"].items():
        if "queue" in port:
            found += _queue_faults(f"port.{name}.queue", port["queue"], without, frame)
        found += _not_done("port", f"port.{name}", port, PORT, NETEM)
        found += _wire_faults(f"port.{name}", port, version)
    found += following.faults(experiment)
    for name, event in experiment.get("event", {}).items():
        if event["loss"] not in ("none", 0) and version and version < SEEDED_NETEM:
            found.append(Fault(f"event.{name}.loss", OLD_NETEM, _text(version)))
    found += _probe_faults(experiment)
    if any(set(switch) - {"latency"} for switch in experiment.get("switch", {}).values()):
        found.append(Fault("switch", "is not supported on Linux: only the simulator has shared buffers"))
    if experiment.get("linux", {}).get("pacing") and experiment["nic"]["kind"] != "fq":
        found.append(Fault("linux.pacing", "needs the discipline fq at hosts", experiment["nic"]["kind"]))
    sections = {
        "priority": "priorities",
        "pfc": "flow control",
    }
    for section, what in (sections | {"python": "components in Python"}).items():
        if experiment.get(section):
            found.append(Fault(section, f"is not supported on Linux: only the simulator has {what}"))
    # The record has this section wherever links change or flowlets are chosen, written or not.
    found += _not_done("routing", "routing", experiment.get("routing", {}), ROUTING, TABLES)
    if experiment["ecmp"] not in ECMP:
        rule = (
            'must be "flow" or "weighted" on Linux, whose switches choose a path by a hash of each connection'
        )
        found.append(Fault("ecmp", rule, experiment["ecmp"]))
    if experiment.get("port_control", {}).get("kind", "none") != "none":
        found.append(Fault("port_control", "is not supported on Linux: its switches have no such protocol"))
    for name, load in experiment["traffic"].items():
        found += _load_faults(f"traffic.{name}", load)
        if transports.datagrams(load):
            found += datagrams.transport_faults(f"traffic.{name}", load)
            continue
        found += controls.faults(name, load["transport"])
        if load["transport"].get("echo") == "accecn" and version and version < COUNTED_ECN:
            rule = f"needs Linux {_text(COUNTED_ECN)} for accecn"
            found.append(Fault(f"traffic.{name}.transport.echo", rule, _text(version)))
    tcp = [load["transport"] for load in transports.tcp_loads(experiment).values()]
    if any(facts("transport", transport["profile"])["not_tcp"] for transport in tcp):
        return found
    found += _size_faults(experiment)
    for key in sorted(controls.HONOURED - {"cc", "profile", "mss"}):
        values = {json.dumps(transport[key]) for transport in tcp}
        if len(values) > 1:
            rule = "must be one for all loads on Linux"
            found.append(Fault(f"traffic.*.transport.{key}", rule, sorted(values)))
    return found


def of_programs(
    experiment: Mapping[str, Any], network: Mapping[str, Any], kernel: Kernel | None, programs: bool
) -> list[Fault]:
    """Faults of what is for programs alone, or not for them. `programs`: whether they run."""
    found = list(rebinding.faults(experiment, network, kernel, programs))
    if programs and experiment["probe"]["audit"]:
        rule = "does not apply to linux exec, whose --pcap captures packets"
        found.append(Fault("probe.audit", rule, True))
    return found


def of_network(
    experiment: Mapping[str, Any],
    network: Mapping[str, Any],
    ways: Collection[Mapping[str, Any]],
    version: Version | None = None,
) -> list[Fault]:
    """All that the backend cannot do of the network, which `_core.plan` and `_core.ways` describe."""
    found = []
    nodes = network["nodes"]
    hosts = sum(node["host"] for node in nodes)
    if hosts > MOST_HOSTS:
        rule = f"has more than {MOST_HOSTS} hosts, the most that one virtual machine holds"
        found.append(Fault("topology", rule, hosts))
    alone = next((port["name"] for port in network["ports"] if port["back"] is None), None)
    if alone is not None:
        found.append(Fault("topology", "needs links in both directions on Linux", alone))
    weights = {network["ports"][port]["weight"] for group in ways for port in group["ports"]}
    if experiment["ecmp"] == "weighted" and not all(1 <= weight <= MOST_WEIGHT for weight in weights):
        rule = f"must be from 1 to {MOST_WEIGHT} on Linux"
        found.append(Fault("port.*.weight", rule, sorted(weights)))
    if ways and version and version < SEEDED_HASH:
        rule = f"needs Linux {_text(SEEDED_HASH)} for several shortest paths: older switches all choose alike"
        found.append(Fault("topology", rule, _text(version)))
    states = [name for name, event in experiment.get("event", {}).items() if event["state"] != "none"]
    if ways:
        rule = "is not supported on Linux where there are several paths: its tables do not follow a failure"
        found += [Fault(f"event.{name}.state", rule, experiment["event"][name]["state"]) for name in states]
    elif experiment.get("routing", {}).get("routes"):
        rule = "is not supported on Linux beside static routes: its tables do not follow a failure"
        found += [Fault(f"event.{name}.state", rule, experiment["event"][name]["state"]) for name in states]
    found += _fine_delays(network)
    found += following.of_network(experiment, network) + _policed_bursts(experiment, network)
    numbers = network["numbers"]
    for name, load in experiment["traffic"].items():
        path = f"traffic.{name}.transport.initial_window"
        mss = numbers.get(f"traffic.{name}.transport.mss", 1)
        if numbers.get(path, 0) % mss:
            rule = f"must be a whole number of segments of {mss} bytes on Linux"
            found.append(Fault(path, rule, load["transport"]["initial_window"]))
        path = f"traffic.{name}.transport.min_rto"
        if numbers.get(path, 0) % 1_000_000_000:  # queue pairs have none
            rule = "must be a whole number of milliseconds on Linux"
            found.append(Fault(path, rule, load["transport"]["min_rto"]))
    found += datagrams.of_network(experiment)
    for trace in ("queue_trace", "port_trace", "flow_trace"):
        if numbers.get(f"probe.{trace}", 0) % 1000:
            rule = "must be a whole number of nanoseconds on Linux"
            found.append(Fault(f"probe.{trace}", rule, experiment["probe"][trace]))
    return found


def _fine_delays(network: Mapping[str, Any]) -> list[Fault]:
    """Delays of wires and times of their changes that no clock of nanoseconds has."""
    found = {}
    for port in network["ports"]:
        changes = port.get("changes", ())
        spans = [port["delay_ps"], *(change["delay_ps"] or 0 for change in changes)]
        fine = next((span for span in spans if span % 1000), None)
        if fine is not None:
            rule = "must be a whole number of nanoseconds on Linux"
            found.setdefault(fine, Fault(f"port.{port['name']}.delay", rule, f"{fine}ps"))
    return list(found.values())[:1]


def _policed_bursts(experiment: Mapping[str, Any], network: Mapping[str, Any]) -> list[Fault]:
    """Loads that hand down bursts to a host's port with a policer, which sees them before they are split."""
    hosts = {number for number, node in enumerate(network["nodes"]) if node["host"]}
    if not any(polices(port["queue"]) and port["from"] in hosts for port in network["ports"]):
        return []
    rule = "must be 1 on Linux where a host's own port has a policer"
    return [
        Fault(f"traffic.{name}.transport.burst", rule, burst)
        for name, load in experiment["traffic"].items()
        if (burst := load["transport"].get("burst", 1)) > 1
    ]


def _set(path: str, value: Any) -> str:
    """The option that sets what the kernel needs; empty for what no file can say."""
    if value is None or ".*" in path or "->" in path:
        return ""
    return f"--set {path}={value if isinstance(value, str) else json.dumps(value)}"


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def _probe_faults(experiment: Mapping[str, Any]) -> list[Fault]:
    probe = experiment["probe"]
    found = _not_done("probe", "probe", probe, PROBE, PROBES) + list(packets.faults(experiment))
    for key, what in (("queue_trace", "queues"), ("flow_trace", "flows")):
        if probe[key] == "change":
            rule = f"must be an interval on Linux, whose {what} are sampled"
            found.append(Fault(f"probe.{key}", rule, "change"))
    if len(classes := traced_classes(experiment)) > MOST_CLASSES:
        rule = f"needs at most {MOST_CLASSES} classes on Linux, where packets have theirs in three bits"
        found.append(Fault("probe.port_trace", rule, classes))
    return found


def _load_faults(path: str, load: Mapping[str, Any]) -> list[Fault]:
    found = []
    deadline = load.get("deadline", "none")
    if loads.in_rounds(load) and deadline != "none" and deadline["kind"] != "fixed":
        rule = 'must be of kind "fixed" for an incast on Linux, whose answers are not those of the simulator'
        found.append(Fault(f"{path}.deadline", rule, deadline))
    if load.get("bytes") == "none" and load.get("primer", "0B") != "0B":
        rule = "must be 0B on Linux for connections without end"
        found.append(Fault(f"{path}.primer", rule, load["primer"]))
    if not loads.can_run(load["kind"]):
        known = [kind for kind in components("traffic") if loads.can_run(kind)]
        found.append(Fault(f"{path}.kind", f"must be one of {', '.join(known)} on Linux", load["kind"]))
    return found


def _not_done(
    section: str,
    path: str,
    table: Mapping[str, Any],
    done: Collection[str],
    reasons: Mapping[str, str] = {},
) -> list[Fault]:
    """All of a table that is other than its default and that Linux does not do."""
    [declared] = components(section).values()
    usual = {param["name"]: param["default"] for param in declared["params"]}
    return [
        Fault(
            f"{path}.{key}",
            f"is not supported on Linux: {reasons.get(key, 'only the simulator has it')}",
            value,
        )
        for key, value in table.items()
        if key not in done and value != usual.get(key)
    ]


def _size_faults(experiment: Mapping[str, Any]) -> list[Fault]:
    """Settings that loads with packets of several sizes cannot have together."""
    if len(sizes := sorted(transports.sizes(experiment))) < 2:
        return []
    found = []
    places = {"queue": experiment["queue"], "nic": experiment["nic"]}
    places |= {
        f"port.{name}.queue": port["queue"] for name, port in experiment["port"].items() if "queue" in port
    }
    for path, queue in places.items():
        for key in packets_as_bytes(queue):
            among = ", ".join(map(str, sizes[:4])) + ", ..." * (len(sizes) > 4)
            rule = f"must be in bytes on Linux, whose RED counts bytes: packets have {among} bytes"
            found.append(Fault(f"{path}.{key}", rule, queue[key]))
    loads = transports.tcp_loads(experiment)
    for name, load in loads.items():
        if load["transport"]["burst"] > 1:
            rule = "must be 1 on Linux beside packets of other sizes, whose headers its port counts"
            found.append(Fault(f"traffic.{name}.transport.burst", rule, load["transport"]["burst"]))
    of = {name: transports.of_load(load) for name, load in loads.items()}
    starts = {name: each.packets("initial_window") for name, each in of.items()}
    offers = {name: each.receive_window for name, each in of.items()}
    for key, values, what in (("initial_window", starts, "segments"), ("receive_window", offers, "bytes")):
        for name, value in values.items():
            if value != next(iter(values.values())):
                rule = f"must be as many {what} for all loads on Linux, where routes have it"
                found.append(Fault(f"traffic.{name}.transport.{key}", rule, loads[name]["transport"][key]))
    return found


def _wire_faults(path: str, port: Mapping[str, Any], version: Version | None) -> list[Fault]:
    """Faults of a wire that netem cannot make."""
    from shallows import _core

    found = []
    jitter = _core.numbers(json.dumps({"port": {"*": port}})).get("port.*.jitter", 0)
    for key in ("loss", "duplicate", "reorder", "burst_begins", "bit_errors", "jitter"):
        drawn = jitter if key == "jitter" else port.get(key)
        if drawn and version and version < SEEDED_NETEM:
            found.append(Fault(f"{path}.{key}", OLD_NETEM, _text(version)))
    if port.get("duplicate") and any(port.get(key) for key in ("loss", "burst_begins", "bit_errors")):
        rule = "cannot stand beside loss on Linux: a lost packet's copy would arrive there"
        found.append(Fault(f"{path}.duplicate", rule, port["duplicate"]))
    if port.get("duplicate") and jitter:
        rule = "cannot stand beside jitter on Linux: a copy would have a delay of its own"
        found.append(Fault(f"{path}.duplicate", rule, port["duplicate"]))
    found += lateness.faults(path, port, jitter)
    share = port.get("reorder", 0) * HOLDS
    if abs(share - round(share)) > 0.01 * share:
        rule = f"must be a multiple of 1/{HOLDS} within 1 % on Linux, as netem draws from a table"
        found.append(Fault(f"{path}.reorder", rule, port["reorder"]))
    return found


def _queue_faults(path: str, settings: dict[str, Any], without: Collection[str], frame: int) -> list[Fault]:
    option = "CONFIG_NET_SCH_" + settings["kind"].upper().replace("-", "_")
    if option in without:
        rule = "is newer than this kernel, which was built without it"
        return [Fault(f"{path}.kind", rule, settings["kind"])]
    try:
        qdisc(settings, frame)
    except Refusal as refusal:
        needed = refusal.needed
        return [
            Fault(f"{path}.{key}", rule, settings.get(key), _set(f"{path}.{key}", needed.get(key)))
            for key, rule in refusal.faults
        ]
    return []
