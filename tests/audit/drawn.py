"""Audits random runs of the Linux kernel: `python tests/audit/drawn.py COUNT SEED`, which needs a kernel.

Networks of one or two switches, disciplines, controls, settings of TCP, loads and losses are random.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import defaultdict

import shallows
from shallows.audit import audit
from shallows.errors import SpecError

PACKETS = 8_000
"""So many packets of full size pass the slowest link of a run, or fewer."""
FULL = 1500
CONTROLS = (
    "cubic",
    "newreno",
    "dctcp",
    *({"kind": "kernel", "name": name} for name in ("bbr", "vegas", "htcp")),
)


def network(draw: random.Random, mbps: int) -> dict:
    """A star or a dumbbell whose hosts have links that are as fast, or faster."""
    fast = f"{mbps * draw.choice([1, 4, 10])}Mbps"
    if draw.random() < 0.25:
        return {"kind": "dumbbell", "left": 3, "right": 3, "rate": f"{mbps}Mbps", "access_rate": fast}
    delay = draw.choice(["20us", "200us", "2ms", "10ms"])
    return {
        "kind": "star", "senders": draw.randint(1, 5), "rate": f"{mbps}Mbps", "sender_rate": fast,
        "delay": delay,
    }  # fmt: skip


def discipline(draw: random.Random) -> dict:
    """A queue of some packets."""
    limit = draw.randint(4, 120)
    found = draw.choice(
        [
            {"kind": "drop-tail", "limit": f"{limit}pkt"},
            {"kind": "drop-tail", "limit": f"{limit * FULL}B", "measure": "after"},
            {"kind": "threshold", "limit": f"{limit + 10}pkt", "mark_at": f"{max(2, limit // 3)}pkt"},
            {"kind": "codel", "limit": f"{limit + 50}pkt"},
            {"kind": "fq-codel"},
            {"kind": "fq"},
            {"kind": "pie", "derandomise": True},
        ]
    )
    if found["kind"] in ("drop-tail", "threshold") and draw.random() < 0.3:
        found["count_in_service"] = False
    return found


def transport(draw: random.Random) -> dict:
    """TCP as the kernel has it, with some of its settings changed."""
    found = {"profile": "linux", "cc": draw.choice(CONTROLS)}
    changes = (
        (0.4, "ecn", ["on"]), (0.2, "ack_every", [1]), (0.15, "sack", [False]), (0.15, "timestamps", [False]),
        (0.2, "burst", [4, 16]), (0.2, "initial_window", ["2pkt", "4pkt", "20pkt"]),
        (0.2, "mss", ["536B", "1000B"]),
    )  # fmt: skip
    for chance, key, values in changes:
        if draw.random() < chance:
            found[key] = draw.choice(values)
    if found["cc"] == "dctcp":
        found.pop("ecn", None)
    return found


def load(draw: random.Random, star: bool) -> dict:
    """A load from all senders to the receivers."""
    ends = {"from": "s*", "to": "r0"} if star else {"from": "l*", "to": "r*"}
    pairs = {} if star else {"pattern": "pairs"}
    size, sizes = draw.choice(["3KB", "60KB"]), {"kind": "fixed", "bytes": "20KB"}
    interval = draw.choice(["20ms", "300ms"])
    connection = draw.choice(["fresh", "persistent"])
    return draw.choice(
        [
            {"kind": "bulk", "stagger": draw.choice(["0s", "1ms"]), **ends, **pairs},
            {"kind": "messages", "bytes": size, "interval": interval, "count": 6, **ends, **pairs},
            {"kind": "incast", "response": "30KB", "rounds": 3, "connection": connection, **ends, "to": "r0"},
            {"kind": "poisson", "sizes": sizes, "load": draw.choice([0.3, 0.6]) / (1 if star else 3), **ends},
        ]
    )


def document(draw: random.Random) -> dict:
    """A random experiment."""
    mbps = draw.choice([2, 10, 50, 200, 1000])
    topology = network(draw, mbps)
    star = topology["kind"] == "star"
    duration = min(3000, max(40, PACKETS * FULL * 8 // (mbps * 1000)))
    found = {
        "duration": f"{duration}ms", "seed": draw.randint(1, 99), "topology": topology,
        "queue": discipline(draw), "transport": transport(draw), "traffic": {"load": load(draw, star)},
        "probe": {"audit": True},
    }  # fmt: skip
    if draw.random() < 0.3:
        port = "switch->r0" if star else "left->right"
        found["port"] = {port: {"loss": draw.choice([0.005, 0.05])}}
    return found


def main(count: int, seed: int) -> int:
    """Prints each rejected run, and from what the kernel parts; the status is 1 if one is rejected."""
    parted: dict[str, list[str]] = defaultdict(list)
    done = rejected = refused = packets = 0
    with tempfile.TemporaryDirectory() as store:
        for number in range(count):
            drawn = document(random.Random(f"{seed} {number}"))
            try:
                run = shallows.run(drawn, backend="linux", store=store, progress=False)
            except SpecError as error:
                refused += 1
                print(f"{number} is refused: {error}"[:200], flush=True)
                continue
            outcome = audit(run.tables, run.experiment, on_linux=True)
            done, packets, rejected = done + 1, packets + outcome.packets, rejected + bool(outcome.rejected)
            for one in outcome.parted:
                parted[one.rule].append(f"{number} of seed {seed}: {one}")
            for one in outcome.rejected:
                print(f"{number} of seed {seed}: {one}: {drawn}", flush=True)
    print(f"{done} runs audited with {packets} departures, {rejected} rejected, {refused} refused")
    for name, places in sorted(parted.items()):
        print(f"the kernel parts from {name} in {len(places)} runs, such as in {places[0]}")
    return 1 if rejected else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
