"""Speed: packet-hops per CPU second on the standard scenarios, each run in a fresh process.

A packet-hop is one data or ACK packet leaving one port, host NICs included. The clock is the CPU time of the
threads that simulate, set-up and writing of results left out. `wall_s` says what several threads gain. Of
several processes the fastest counts, since others only disturb. `python -m shallows.execution.bench SCENARIO`
is one such process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shallows.document.load import load
from shallows.document.places import experiments_path
from shallows.document.points import one_run
from shallows.errors import Fault, RunError, SpecError
from shallows.execution.threads import default_workers
from shallows.terminal import Report
from shallows.words import did_you_mean

PROBES = {
    "default": (),
    "off": ("probe.queues=false", "probe.nic_queues=false", "probe.at_dequeue=false", "probe.waits=false"),
}

NETWORKS = (
    "dumbbell-8",
    "permutation-128",
    "fat-tree-128",
    "permutation-1024",
    "fat-tree-1024",
    "fat-tree-8192",
    "e5-8192",
)
LONG = ("e5-8192-q256", "e5-8192-cubic", "e1-8192")
"""Measured only when they are named: half a minute and more each."""

THREADED = ("fat-tree-1024", "fat-tree-8192", "e5-8192", *LONG)
"""Large enough to gain by threads: with one, and with all cores."""


def _threads(network: str) -> tuple[str, ...]:
    return ("", "/threads=all") if network in THREADED else ("",)


SCENARIOS = tuple(
    f"{network}/probes={probes}{threads}"
    for network in (*NETWORKS, *LONG)
    for probes in PROBES
    for threads in _threads(network)
)

__all__ = ["SCENARIOS", "beside", "choose", "measure", "measure_here"]


def choose(words: Sequence[str]) -> list[str]:
    """The scenarios that are named by any of `words`, in full or by network; all without words."""
    known = [*NETWORKS, *LONG, *SCENARIOS]
    unknown = [word for word in words if word not in known]
    if unknown:
        raise SpecError(
            Fault("bench", f"must be one of {', '.join(SCENARIOS)}", word, did_you_mean(word, known))
            for word in unknown
        )
    usual = [name for name in SCENARIOS if name.split("/")[0] not in LONG]
    if not words:
        return usual
    return [name for name in SCENARIOS if name in words or name.split("/")[0] in words]


def measure(scenarios: Sequence[str], repeat: int, report: Report | None = None) -> list[dict[str, Any]]:
    """The fastest of `repeat` processes of each scenario; `cpu_s_slowest` tells how much they differ."""
    rows = []
    for number, scenario in enumerate(scenarios):
        tries = []
        for turn in range(repeat):
            tries.append(_in_process(scenario))
            if report:
                report(number * repeat + turn + 1)
        best = min(tries, key=lambda row: row["cpu_s"])
        rows.append(best | {"cpu_s_slowest": max(row["cpu_s"] for row in tries)})
    return rows


def _in_process(scenario: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "shallows.execution.bench", scenario]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunError(f"the scenario {scenario} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure_here(scenario: str) -> dict[str, Any]:
    """One run of a scenario in this process, which should be a fresh one, for its memory to mean anything."""
    from shallows import _core

    network, _, rest = scenario.partition("/probes=")
    probes, _, all_cores = rest.partition("/threads=")
    threads = default_workers() if all_cores else 1
    experiment = one_run(load(experiments_path() / "bench" / f"{network}.toml", PROBES[probes])).experiment
    before = _resident_bytes()
    simulation = _core.Simulation(json.dumps(experiment))
    simulation.set_threads(threads)
    began, wall = time.process_time(), time.perf_counter()
    simulation.run()
    cpu_s, wall_s = time.process_time() - began, time.perf_counter() - wall
    peak = _peak_bytes()
    counts = json.loads(simulation.manifest())["counts"]
    hops = counts["packet_hops"]
    tables = simulation.tables()
    flows = {name: data for name, _, data in tables["flows"]}
    hosts = len({*flows["src"][0], *flows["dst"][0]})
    return {
        "scenario": scenario,
        "threads": threads,
        "packet_hops": hops,
        "packets": int(_column(flows["packets_sent"]).sum()),
        "drops": counts["packets_dropped"],
        "retransmissions": int(_column(flows["retransmissions"]).sum()),
        "timeouts": int(_column(flows["timeouts"]).sum()),
        "in_flight": counts["packets_in_flight"],
        "completion_us": _completion(_column(flows["acked_ps"])),
        "cpu_s": cpu_s,
        "wall_s": wall_s,
        "hops_per_cpu_s": hops / cpu_s,
        "peak_rss_bytes": peak,
        "bytes_per_host": (peak - before) / hosts,
        "bytes_per_flow": (peak - before) / (len(flows["id"]) // 4),
    }


def _column(data: Any) -> np.ndarray:
    return np.frombuffer(data, dtype=np.uint64)


def _completion(acked_ps: np.ndarray) -> dict[str, float]:
    """Times until the last acknowledgement of a connection in us, of those that ended."""
    ended = acked_ps[acked_ps != np.iinfo(np.uint64).max] / 1e6
    if not len(ended):
        return {}
    shares = {"least": 0, "p10": 0.1, "p50": 0.5, "p90": 0.9, "p99": 0.99, "most": 1}
    return {name: float(np.quantile(ended, share, method="inverted_cdf")) for name, share in shares.items()}


def beside(row: Mapping[str, Any]) -> tuple[str, list[list[Any]]] | None:
    """Published counts of the same work, and ours: a title, and rows of count, theirs and ours."""
    files = tomllib.loads((Path(__file__).parent / "published.toml").read_text())
    other = files.get(str(row["scenario"]).partition("/")[0])
    if other is None:
        return None
    rows = [
        [name, value, row[name]]
        for name, value in other.items()
        if name not in ("program", "source", "ends", "completion_us")
    ]
    times = other.get("completion_us", {})
    rows += [
        [f"completion {name} (us)", value, row["completion_us"].get(name)] for name, value in times.items()
    ]
    return f"{row['scenario']} beside {other['program']} ({other['source']}); {other['ends']}", rows


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _resident_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:  # no Linux: the peak so far
        return _peak_bytes()


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1]), allow_nan=False))
