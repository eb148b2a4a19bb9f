"""Conditions of networks on Linux beside the simulator: the same experiment on both, a row of a table each.

    tools/uv run --frozen python tools/conditions.py [--only PATTERN] [--seeds N]

The goals were set before any run: goodput within 3 %, the mean queue within 10 % or a packet, drops of a
policer within a thousandth or two packets. Connections have three seeds or N, whose means are compared;
datagrams have one. The exit status is 1 if a row misses its goal. A policer needs a kernel of
`linux build --config features`; without one its rows are left out, and a line says so.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shallows
from shallows.backends.linux import kernel, offers
from shallows.document.load import load
from shallows.document.points import one_run

GOODPUT, QUEUE, PACKET, COUNT, TWO = 0.03, 0.1, 1.0, 0.001, 2
STAR = {"kind": "star", "senders": 2, "rate": "100Mbps", "sender_rate": "1Gbps", "delay": "5ms"}
TAIL = {"kind": "drop-tail", "limit": "100pkt"}
BULK = {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "200ms"}
UDP = {
    "kind": "datagrams",
    "from": "s*",
    "to": "r0",
    "bytes": "1000B",
    "every": "400us",
    "gaps": "exponential",
}
MOBILE = {"kind": "opportunities", "at": [1, 1, 2, 4, 4, 7, 9, 10]}
RATES = {
    "kind": "rates", "period": "4s", "points": [
        {"at": "0s", "rate": "48Mbps"}, {"at": "1500ms", "rate": "12.5Mbps"},
        {"at": "2s", "rate": "none"}, {"at": "2200ms", "rate": "30Mbps"},
    ],
}  # fmt: skip
METERS = {
    "one bucket": {"rate": "15Mbps", "burst": "150KB"},
    "RFC 2697": {"rate": "15Mbps", "burst": "50KB", "meter": "srtcm", "excess_burst": "100KB"},
    "RFC 2697, yellow dropped": {
        "rate": "15Mbps", "burst": "150KB", "meter": "srtcm", "excess_burst": "100KB", "yellow": "drop",
    },
    "RFC 2698": {
        "rate": "5Mbps", "burst": "50KB", "meter": "trtcm", "peak_rate": "15Mbps", "peak_burst": "150KB",
    },
    "RFC 2698, yellow dropped": {
        "rate": "10Mbps", "burst": "150KB", "meter": "trtcm", "peak_rate": "30Mbps", "peak_burst": "30KB",
        "yellow": "drop",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """An experiment, the port whose queue is compared, and whether it needs a policer."""

    name: str
    made: Mapping[str, Any]
    port: str = "switch->r0"
    polices: bool = False
    datagrams: bool = False


def document(cc: str, **more: Any) -> dict[str, Any]:
    """Two senders behind 100 packets at 100 Mb/s and 20 ms, unless told otherwise."""
    return {
        "duration": "22s", "warmup": "2s", "probe": {"queue_trace": "5ms"}, "topology": STAR, "queue": TAIL,
        "transport": {"profile": "linux", "cc": cc}, "traffic": {"load": BULK},
    } | more  # fmt: skip


def routed(**more: Any) -> dict[str, Any]:
    """Two ways between two switches, the short one of 100 Mb/s, the long one of 50."""
    short = {"from": "left", "to": "right", "rate": "100Mbps", "delay": "4ms"} | more.pop("short", {})
    graph = {
        "kind": "graph", "hosts": ["a0", "a1", "b0"], "switches": ["left", "middle", "right"], "links": [
            {"from": "a0", "to": "left", "rate": "1Gbps", "delay": "1ms"},
            {"from": "a1", "to": "left", "rate": "1Gbps", "delay": "1ms"},
            {"from": "b0", "to": "right", "rate": "1Gbps", "delay": "1ms"},
            short,
            {"from": "left", "to": "middle", "rate": "50Mbps", "delay": "4ms"},
            {"from": "middle", "to": "right", "rate": "100Mbps", "delay": "4ms"},
        ],
    }  # fmt: skip
    return document("newreno", topology=graph, traffic={"load": BULK | {"from": "a*", "to": "b0"}}, **more)


def rows() -> Iterator[Row]:
    """All rows of the table."""
    for words, trace in (("opportunities of 9.6 Mb/s", MOBILE), ("rates of 33 Mb/s in the mean", RATES)):
        port = {"switch->r0": {"trace": trace}}
        for cc in ("cubic", "newreno"):
            yield Row(f"trace, {words}, {cc}", document(cc, port=port, queue=TAIL | {"limit": "200pkt"}))
    for cc in ("cubic", "newreno"):
        port = {"switch->r0": {"queue": {"kind": "policer"} | METERS["one bucket"]}}
        yield Row(f"policer, one bucket, {cc}", document(cc, port=port), polices=True)
    for words, meter in METERS.items():
        port = {"switch->r0": {"queue": {"kind": "policer"} | meter}}
        made = document("cubic", port=port, traffic={"load": UDP}, duration="20s")
        yield Row(f"policer, {words}, datagrams of 40 Mb/s", made, polices=True, datagrams=True)
    yield Row("the short way", routed(), "left->right")
    yield Row("a cost of 5 on the short way", routed(short={"cost": 5}), "left->middle")
    route = {"at": "left", "to": "b0", "via": "middle"}
    yield Row("a static route by the long way", routed(routing={"routes": [route]}), "left->middle")
    cables = {
        "kind": "graph", "hosts": [*(f"a{n}" for n in range(16)), *(f"b{n}" for n in range(16))],
        "switches": ["left", "right"], "links": [
            *({"from": f"a{n}", "to": "left", "rate": "100Mbps", "delay": "1ms"} for n in range(16)),
            *({"from": f"b{n}", "to": "right", "rate": "100Mbps", "delay": "1ms"} for n in range(16)),
            {"from": "left", "to": "right", "rate": "100Mbps", "delay": "3ms", "cables": 3},
        ],
    }  # fmt: skip
    across = {"load": BULK | {"from": "a*", "to": "b*", "pattern": "pairs"}}
    made = document("newreno", topology=cables, traffic=across, duration="22s")
    yield Row("three cables, sixteen pairs", made, "left->right#*")
    own = {"large": BULK | {"from": "s0..s4"}}
    own["small"] = BULK | {"from": "s5..s9", "transport": {"mss": "536B"}}
    made = document("newreno", topology=STAR | {"senders": 10, "delay": "2500us"}, traffic=own)
    yield Row("five connections of 1448 and five of 536 bytes", made)


def measured(tables: Mapping[str, Any], port: str) -> dict[str, float]:
    """Goodput in Mb/s, packets that wait in the mean over the ports of this name, and drops."""
    queues = [row for row in tables["queues"].iter_rows(named=True) if fnmatch.fnmatchcase(row["port"], port)]
    # The simulator counts the packet in service too.
    waiting = [
        row["mean_packets"] - (row["utilisation"] if row["mean_wait_ps"] is not None else 0) for row in queues
    ]
    goodput = tables["flows"]["goodput_bps"].sum() / 1e6 if len(tables["flows"]) else 0.0
    return {
        "goodput": goodput,
        "queue": sum(waiting) / len(waiting),
        "drops": float(sum(row["drops"] for row in queues)),
    }


def both(row: Row, policing: str | None, store: Path, seeds: int) -> list[dict[str, float]]:
    """The means of the simulator and of Linux over the seeds."""
    found = []
    for backend in ("simulator", "linux"):
        made = dict(row.made)
        if row.polices and backend == "linux":
            made["linux"] = {"kernel": policing}
        runs = []
        for seed in range(1, 1 + (1 if row.datagrams else seeds)):
            experiment = one_run(load(made | {"seed": seed})).experiment
            runs.append(
                measured(shallows.run(experiment, store=store / backend, backend=backend).tables, row.port)
            )
        found.append({key: sum(run[key] for run in runs) / len(runs) for key in runs[0]})
    return found


def misses(row: Row, ours: Mapping[str, float], linux: Mapping[str, float]) -> list[str]:
    """The goals that a row misses."""
    if row.datagrams:
        far = abs(linux["drops"] - ours["drops"]) > max(COUNT * ours["drops"], TWO)
        return ["drops"] * far
    found = ["goodput"] * (abs(linux["goodput"] - ours["goodput"]) > GOODPUT * ours["goodput"])
    return found + ["queue"] * (abs(linux["queue"] - ours["queue"]) > max(QUEUE * ours["queue"], PACKET))


def main() -> int:
    """Prints the table; 1 if a row misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="the rows whose name matches this pattern")
    parser.add_argument("--seeds", type=int, default=3, help="the seeds of a row of connections")
    given = parser.parse_args()
    kernels = [kernel.named(each["hash"]) for each in kernel.status()]
    # Debian's own first: a tree may have been changed.
    kernels.sort(key=lambda each: "Debian" not in each.about["source"])
    policing = next((each.hash for each in kernels if "police" in offers.of(each).actions), None)
    print("| condition | goodput, Mb/s | packets waiting | drops | goals |\n|---|---:|---:|---:|---|")
    missed = False
    for row in rows():
        if not fnmatch.fnmatchcase(row.name, given.only):
            continue
        if row.polices and policing is None:
            print(f"{row.name}: no kernel here has act_police", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as store:
            ours, linux = both(row, policing, Path(store), given.seeds)
        faults = misses(row, ours, linux)
        missed |= bool(faults)
        cells = [
            "-" if row.datagrams and key != "drops" else f"{ours[key]:.4g} / {linux[key]:.4g}"
            for key in ("goodput", "queue", "drops")
        ]
        print(
            f"| {row.name} | {' | '.join(cells)} | {', '.join(faults) + ' missed' if faults else 'met'} |",
            flush=True,
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
