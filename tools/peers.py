"""The work of a scenario here and in another simulator, side by side: counts, completion times, CPU seconds.

    tools/uv run --frozen python tools/peers.py --ns3
    tools/uv run --frozen python tools/peers.py --csg-htsim DIR/htsim_ndp --uet-htsim DIR/htsim_ndp

ns-3 is Debian's libns3-dev; `peers/network.cc` is compiled on first use. An htsim is the path of a program
that you built from Broadcom/csg-htsim or ultraethernet/uet-htsim, as their pages say.

The scenarios are an incast of 8 hosts, and permutations over fat trees of 128 and 1024 hosts at 10 Gb/s.
ns-3 runs them with TCP: DCTCP with marks, and in the incast NewReno with drops. Both programs then have the
same flows, starts, sizes and paths. htsim's main program for TCP reads neither flows nor rates, so htsim
runs NDP, whose model here follows its own. Both then draw a path at random for each packet.

Both sides run in turn, one thread each. Seconds are user CPU time by getrusage: here of building the network
and of simulating, with default probes; of a peer, its whole process. The least of all rounds counts, since
other processes only add to it. Where counts are not alike within `BOUNDS`, the times are not compared, and
the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BOUNDS = {
    "packets": 0.02,  # of what was sent, repeats included
    "events": 0.1,  # drops, repeats and timeouts, of the larger count
    "rare": 1e-4,  # of the packets: events that differ by fewer do not count
    "times": 0.05,  # completion times, at each quantile
}
"""The largest differences of work that is alike, as shares. They were set before the first comparison."""

QUANTILES = {"least": 0.0, "10 %": 0.1, "half": 0.5, "90 %": 0.9, "99 %": 0.99, "most": 1.0}
PAYLOAD, DATA = 1448, 9000
"""Bytes of a full TCP segment, and of a full NDP packet."""


@dataclass(frozen=True)
class Flow:
    """One flow between hosts of these numbers."""

    src: int
    dst: int
    bytes: int
    start_ns: int = 0


@dataclass(frozen=True)
class Scenario:
    """Work for two programs: its flows, our experiment, and a fat tree's k (0 is the incast)."""

    name: str
    k: int
    flows: tuple[Flow, ...]
    experiment: dict[str, Any]


@dataclass(frozen=True)
class Done:
    """One run: counts that both programs have, completion times of flows that ended, and CPU seconds."""

    packets: int
    drops: int | None
    repeats: int
    timeouts: int
    times_us: tuple[float, ...]
    cpu_s: float
    more: dict[str, float] = field(default_factory=dict)

    def quantile(self, share: float) -> float:
        """The completion time that this share of the flows do not exceed."""
        ordered = sorted(self.times_us)
        return ordered[max(-(-round(share * len(ordered) * 1e6) // 10**6) - 1, 0)]


def permutation(hosts: int, seed: int) -> list[int]:
    """The receiver of each host: a random permutation in which no host sends to itself."""
    draw = random.Random(seed)
    while True:
        to = draw.sample(range(hosts), hosts)
        if all(host != other for host, other in enumerate(to)):
            return to


def fixed_paths(k: int, seed: int) -> list[dict[str, Any]]:
    """Static routes of a fat tree: all packets for a host cross one core switch, drawn from the seed."""
    draw, half = random.Random(seed), k // 2
    hosts = k * half * half
    core = [draw.randrange(half * half) for _ in range(hosts)]
    routes = []
    for pod in range(k):
        inside = range(pod * half * half, (pod + 1) * half * half)
        for edge in range(half):
            own = inside[edge * half : (edge + 1) * half]
            for up in range(half):
                to = [f"h{host}" for host in range(hosts) if core[host] // half == up and host not in own]
                routes.append({"at": f"edge{pod}.{edge}", "to": to, "via": [f"agg{pod}.{up}"]})
        for agg in range(half):
            for up in range(agg * half, (agg + 1) * half):
                to = [f"h{host}" for host in range(hosts) if core[host] == up and host not in inside]
                routes.append({"at": f"agg{pod}.{agg}", "to": to, "via": [f"core{up}"]})
    return [route for route in routes if route["to"]]


def tcp(k: int, cc: str, scale: int = 1) -> Scenario:
    """TCP over a star of eight senders (k = 0) or a fat tree."""
    hosts = k**3 // 4
    draw = random.Random(7)
    size = {0: 40_000, 8: 1000, 16: 100}[k] * scale * PAYLOAD
    to = permutation(hosts, 1) if k else [8] * 8
    flows = tuple(Flow(src, dst, size, draw.randrange(100_000)) for src, dst in enumerate(to))
    # Nothing is lost, and marks alone steer DCTCP. With 250 packets, slow starts that meet overflow ports.
    queue = {"kind": "threshold", "limit": "1000pkt", "mark_at": "65pkt"}
    star = {"kind": "star", "senders": 8, "rate": "10Gbps", "delay": "25us"}
    name = (lambda host: f"h{host}") if k else (lambda host: "r0" if host == 8 else f"s{host}")
    document = {
        "title": f"{cc} beside ns-3",
        "duration": "100s",
        "topology": {"kind": "fat-tree", "k": k, "rate": "10Gbps"} if k else star,
        "queue": queue if cc == "dctcp" else {"kind": "drop-tail", "limit": "250pkt"},
        "nic": "drop-tail",  # ns-3's hosts have a FIFO
        # ns-3: timestamps, an acknowledgement for each segment, proportional rate reduction; 2 MB of buffers.
        "transport": {
            "cc": cc,
            "mss": f"{PAYLOAD}B",
            "timestamps": True,
            "prr": True,
            "ack_every": 1,
            "min_rto": "10ms",
            "small_queues": "none",
        },
        "traffic": {"x": {"kind": "table", "flows": _rows(flows, name)}},
    }
    if k:
        document["routing"] = {"routes": fixed_paths(k, 1)}
    return Scenario(_name(k), k, flows, document)


def ndp(k: int, scale: int = 1) -> Scenario:
    """NDP over a fat tree, or for k = 0 from eight of its 16 hosts to one. Queues are those of htsim_ndp."""
    size = {0: 20_000, 8: 1000, 16: 200}[k] * scale * DATA
    to = permutation(k**3 // 4, 1) if k else [8] * 8
    flows = tuple(Flow(src, dst, size) for src, dst in enumerate(to))
    document = {
        "title": "NDP beside htsim",
        "duration": "100s",
        "ecmp": "random",  # htsim: a path drawn for each packet
        "topology": {
            "kind": "fat-tree",
            "k": k or 4,
            "rate": "10Gbps",
            "delay": "1us",
            "uplink_delay": "1us",
        },
        # compositequeue.cpp: "-q 8" is 8 payloads, less than 8 packets; twice as much for headers; the ratio.
        "queue": {
            "kind": "trimming",
            "limit": f"{8 * DATA}B",
            "header_limit": f"{16 * DATA}B",
            "headers_per_packet": 100_000,
        },
        "transport": {"profile": "ndp", "cc": "line-rate", "initial_window": "23pkt", "timeout": "50ms"},
        "traffic": {"x": {"kind": "table", "flows": _rows(flows, lambda host: f"h{host}")}},
    }
    return Scenario(_name(k), k, flows, document)


def _name(k: int) -> str:
    return f"fat-tree-{k**3 // 4}" if k else "incast-8"


def _rows(flows: Sequence[Flow], name: Callable[[int], str]) -> list[dict[str, str]]:
    return [
        {
            "from": name(flow.src),
            "to": name(flow.dst),
            "bytes": f"{flow.bytes}B",
            "start": f"{flow.start_ns}ns",
        }
        for flow in flows
    ]


def here(scenario: Scenario, until: str = "") -> Done:
    """The scenario here, in a fresh process. Times end at the last byte, or at its ACK with "acked"."""
    answer = _json([sys.executable, __file__, "--here"], json.dumps(scenario.experiment))
    times = answer["acked_us" if until == "acked" else "fct_us"]
    more = {name: answer[name] for name in ("hops", "marks", "build_s")}
    return Done(
        answer["packets"],
        answer["drops"],
        answer["repeats"],
        answer["timeouts"],
        tuple(times),
        answer["cpu_s"],
        more,
    )


def simulate(document: Mapping[str, Any]) -> dict[str, Any]:
    """An experiment in this process: counts, completion times, CPU seconds of building and running."""
    import numpy as np
    from shallows import _core

    checked = json.loads(_core.check(json.dumps(document)))
    if checked["faults"]:
        raise SystemExit(f"peers: {checked['faults'][0]}")
    experiment = json.dumps(checked["experiment"])
    began = _user_s()
    simulation = _core.Simulation(experiment)
    simulation.set_threads(1)
    built = _user_s()
    simulation.run()
    ended = _user_s()
    counts, tables = json.loads(simulation.manifest())["counts"], simulation.tables()
    flows = {name: data for name, _, data in tables["flows"]}

    def column(name: str) -> np.ndarray:
        return np.frombuffer(flows[name], dtype=np.uint64)

    def times(name: str) -> list[float]:
        found = column(name)
        return (found[found != np.iinfo(np.uint64).max] / 1e6).tolist()

    return {
        "packets": int(column("packets_sent").sum()),
        "hops": counts["packet_hops"],
        "drops": counts["packets_dropped"],
        "repeats": int(column("retransmissions").sum()),
        "timeouts": int(column("timeouts").sum()),
        "marks": int(column("marks").sum()),
        "fct_us": times("fct_ps"),
        "acked_us": times("acked_ps"),
        "cpu_s": ended - began,
        "build_s": built - began,
    }


def ns3(scenario: Scenario) -> Done:
    """The scenario in ns-3, with our network, routes and flows."""
    from shallows.backends.ns3.program import program

    experiment, plan = _resolved(scenario.experiment)
    transport = experiment["traffic"]["x"]["transport"]
    marks = experiment["queue"]["kind"] == "threshold"
    arguments = {
        "cc": transport["cc"]["kind"],
        "ecn": int(marks),
        "disc": "red" if marks else "fifo",
        # Our limit counts the packet in service. A device's queue does not, nor a disc the device's packet.
        "limit": f"{int(experiment['queue']['limit'].removesuffix('pkt')) - (2 if marks else 1)}p",
        "red-min": 64,
        "red-max": 64,
        "buffer": 2**21,
        "min-rto-ns": 10_000_000,
        "ack-every": transport["ack_every"],
        "window": int(transport["initial_window"].removesuffix("pkt")),
        "duration-ns": plan["numbers"]["duration"] // 1000,
    }
    source = Path(__file__).parent / "peers" / "network.cc"
    command = [str(program(source).path), *(f"--{name}={value}" for name, value in arguments.items())]
    before = _children_s()
    answer = _json(command, "\n".join(ns3_lines(scenario, plan)) + "\n")
    ended = [time / 1e6 for time in answer["completion_ps"] if time >= 0]
    more = {name: answer[name] for name in ("hops", "marks", "build_s")}
    return Done(
        answer["packets"]
        + 2 * len(scenario.flows),  # a sender's SYN and the ACK of the SYN from the other end
        answer["drops"],
        answer["repeats"],
        answer["timeouts"],
        tuple(ended),
        _children_s() - before,
        more,
    )


def ns3_lines(scenario: Scenario, plan: Mapping[str, Any]) -> Iterator[str]:
    """The network as `peers/network.cc` reads it."""
    nodes, ports = plan["nodes"], plan["ports"]
    hosts = [number for number, node in enumerate(nodes) if node["host"]]
    if hosts != list(range(len(hosts))):
        raise SystemExit("peers: hosts must be the first nodes")
    yield f"nodes {len(nodes)} {len(hosts)}"
    for port in ports:
        if port["from"] < port["to"]:
            yield f"link {port['from']} {port['to']} {port['rate_bps']} {port['delay_ps']}"
    for node in range(len(nodes)):
        ways = (plan["routes"][host][node] for host in hosts)
        yield f"table {node} " + " ".join(str(-1 if way is None else ports[way]["to"]) for way in ways)
    for flow in scenario.flows:
        yield f"flow {flow.src} {flow.dst} {flow.bytes} {flow.start_ns}"


def _resolved(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    from shallows import _core

    experiment = json.loads(_core.check(json.dumps(document)))["experiment"]
    return experiment, json.loads(_core.plan(json.dumps(experiment)))


def htsim(scenario: Scenario, program: Path, end_us: int) -> Done:
    """The scenario in an htsim_ndp, until `end_us`."""
    nodes = scenario.k**3 // 4 or 16
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "flows.cm").write_text(
            f"Nodes {nodes}\nConnections {len(scenario.flows)}\n"
            + "".join(
                f"{flow.src}->{flow.dst} start {1000 * flow.start_ns} size {flow.bytes}\n"
                for flow in scenario.flows
            )
        )
        command = [
            str(program.resolve()), "-o", "/dev/null", "-tm", "flows.cm", "-tiers", "3", "-hop_latency", "1",
            "-nodes", str(nodes), "-strat", "rand", "-q", "8", "-cwnd", "23", "-mtu", str(DATA),
            "-linkspeed", "10000", "-seed", "1", "-end", str(end_us),
        ]  # fmt: skip
        before = _children_s()
        _text([*command[:-1], "1"], "", place)  # one microsecond: the time of building
        built = _children_s()
        text = _text(command, "", place)
        return read_htsim(text, _children_s() - built, built - before)


def read_htsim(text: str, cpu_s: float, build_s: float) -> Done:
    """The counts that an htsim_ndp printed. It has no drops; a flow ends with its last acknowledgement."""
    sums = re.search(r"^New: (\d+) Rtx: (\d+) Bounced: (\d+)$", text, re.MULTILINE)
    if sums is None:
        raise SystemExit(f"peers: htsim printed no counts:\n{text[-500:]}")
    new, repeats, returned = map(int, sums.groups())
    timeouts = re.findall(r"^Total RTOs: (\d+)$", text, re.MULTILINE)
    ended = re.findall(r"Flow \S+ flow_id \d+ finished at (\S+) total bytes", text)
    times = tuple(float(time) for time in ended)
    return Done(
        new + repeats,
        None,
        repeats,
        int((timeouts or ["0"])[-1]),
        times,
        cpu_s,
        {"returned": returned, "build_s": build_s},
    )


def differences(ours: Done, theirs: Done, flows: int) -> list[str]:
    """The reasons for which the work is not alike; none if it is."""
    found = [
        f"{side} has {len(done.times_us)} of {flows} flows ended"
        for side, done in (("ours", ours), ("theirs", theirs))
        if len(done.times_us) != flows
    ]
    if found:
        return found

    def apart(name: str, a: float, b: float, bound: float, rare: float = 0.0) -> None:
        if abs(a - b) > max(bound * max(a, b), rare):
            found.append(f"{name} {a:.6g} and {b:.6g} differ by more than {bound:.0%}")

    apart("packets", ours.packets, theirs.packets, BOUNDS["packets"])
    for name in ("drops", "repeats", "timeouts"):
        a, b = getattr(ours, name), getattr(theirs, name)
        if a is not None and b is not None:
            apart(name, a, b, BOUNDS["events"], BOUNDS["rare"] * ours.packets)
    for name, share in QUANTILES.items():
        apart(f"completion {name}", ours.quantile(share), theirs.quantile(share), BOUNDS["times"])
    return found


def rows(ours: Done, theirs: Done) -> list[tuple[str, str, str]]:
    """The counts of both sides as text."""

    def text(value: float | None) -> str:
        return "not counted" if value is None else f"{value:.10g}"

    counts = [
        (name, text(getattr(ours, name)), text(getattr(theirs, name)))
        for name in ("packets", "drops", "repeats", "timeouts")
    ]
    counts += [
        (name, text(ours.more.get(name)), text(theirs.more.get(name)))
        for name in ("hops", "marks")
        if name in theirs.more
    ]
    times = [
        (f"completion {name} (us)", f"{ours.quantile(share):.1f}", f"{theirs.quantile(share):.1f}")
        for name, share in QUANTILES.items()
    ]
    return counts + times if ours.times_us and theirs.times_us else counts


def compare(
    title: str, flows: int, rounds: int, run_ours: Callable[[], Done], run_theirs: Callable[[], Done]
) -> dict[str, Any]:
    """Runs both in turn, prints the table and the verdict, and returns them."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(run_ours())
        theirs.append(run_theirs())
    why = differences(ours[0], theirs[0], flows)
    table = rows(ours[0], theirs[0])
    seconds = [min(done.cpu_s for done in side) for side in (ours, theirs)]
    print(f"\n{title}")
    for name, a, b in [("", "here", "peer"), *table]:
        print(f"  {name:<24}{a:>16}{b:>16}")
    if why:
        print("  NOT COMPARED: " + "; ".join(why))
    else:
        built = [min(done.more["build_s"] for done in side) for side in (ours, theirs)]
        print(f"  {'user CPU s':<24}{seconds[0]:>16.3f}{seconds[1]:>16.3f}")
        print(f"  {'of these, building':<24}{built[0]:>16.3f}{built[1]:>16.3f}")
        print(f"  peer's time / ours: {seconds[1] / seconds[0]:.2f}")
    return {
        "title": title,
        "refused": why,
        "counts": table,
        "cpu_s": None if why else [[done.cpu_s for done in side] for side in (ours, theirs)],
    }


def _json(command: Sequence[str], given: str) -> dict[str, Any]:
    return json.loads(_text(command, given, None))


def _text(command: Sequence[str], given: str, place: str | None) -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, cwd=place)
    if done.returncode:
        raise SystemExit(f"peers: {command[0]} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def _user_s() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def _children_s() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def main() -> int:
    """Compares with the peers that are named."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--ns3", action="store_true", help="ns-3, from Debian's libns3-dev")
    options.add_argument("--csg-htsim", type=Path, metavar="PROGRAM", help="htsim_ndp of Broadcom/csg-htsim")
    options.add_argument(
        "--uet-htsim", type=Path, metavar="PROGRAM", help="htsim_ndp of ultraethernet/uet-htsim"
    )
    options.add_argument("--rounds", type=int, default=3, help="runs of each side, in turn (default 3)")
    options.add_argument("--scale", type=int, default=1, help="times as much data in each flow (default 1)")
    options.add_argument("--only", metavar="SCENARIO", help="incast-8, fat-tree-128 or fat-tree-1024")
    options.add_argument("--json", type=Path, metavar="FILE", help="writes counts and times of all runs")
    options.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.here:
        print(json.dumps(simulate(json.load(sys.stdin))))
        return 0
    sizes = [k for k in (0, 8, 16) if given.only in (None, _name(k))]
    peers = {"csg-htsim": given.csg_htsim, "uet-htsim": given.uet_htsim}
    if not sizes or not (given.ns3 or any(peers.values())):
        options.error("name a peer (--ns3, --csg-htsim, --uet-htsim) and a known scenario")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores: other processes may run beside")
    found = []
    for k in sizes:
        for cc in ("newreno", "dctcp")[k > 0 :] if given.ns3 else ():
            one = tcp(k, cc, given.scale)
            title = f"{one.name}, {cc}, beside ns-3: {len(one.flows)} flows of {one.flows[0].bytes} bytes"
            found.append(
                compare(
                    title, len(one.flows), given.rounds, lambda one=one: here(one), lambda one=one: ns3(one)
                )
            )
        one = ndp(k, given.scale)
        for name, program in peers.items():
            if program is None:
                continue
            # htsim's timers cost time until the end, so it ends soon after the last flow does.
            end_us = int(1.1 * max(here(one, "acked").times_us)) + 100
            packets = one.flows[0].bytes // DATA
            title = f"{one.name}, NDP, beside {name}: {len(one.flows)} flows of {packets} packets"
            found.append(
                compare(
                    title,
                    len(one.flows),
                    given.rounds,
                    lambda one=one: here(one, "acked"),
                    lambda one=one, program=program, end_us=end_us: htsim(one, program, end_us),
                )
            )
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if any(each["refused"] for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
