"""Speed: packet-hops per CPU second on the standard scenarios, each run in a fresh process.

A packet-hop is one data or ACK packet leaving one port, host NICs included. The clock is the CPU time of the
threads that simulate, set-up and writing of results left out. `wall_s` says what several threads gain. Of
several processes the fastest counts, since others only disturb. `python -m shallows.execution.bench SCENARIO`
is one such process.
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

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

YARDSTICKS = {
    "limit": {"dumbbell-8": "dumb 8 1000"},
    "window": {"fat-tree-128": "8 10 1", "fat-tree-1024": "16 2 1", "fat-tree-8192": "32 0.5 1"},
}
"""By the name of a source in Rust: its arguments for the network of a scenario."""

RATE = re.compile(r"Mhop/cpu-s=([0-9.]+)")
"""How a yardstick prints its million packet-hops per CPU second."""

__all__ = ["SCENARIOS", "Yardsticks", "beside", "choose", "measure", "measure_here"]


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


class Yardsticks:
    """Programs that do the least that a packet simulator can do, measured in turn with the scenarios.

    `sources` are single files in Rust, named as in `YARDSTICKS`; rustc compiles them for this processor.
    Raises `SpecError` for other names, and `RunError` where rustc is missing or refuses.
    """

    def __init__(self, sources: Iterable[Path] = ()) -> None:
        sources = list(sources)
        rule = f"must be an existing file named {' or '.join(f'{name}.rs' for name in YARDSTICKS)}"
        named = {f"{name}.rs" for name in YARDSTICKS}
        wrong = [str(path) for path in sources if path.name not in named or not path.is_file()]
        if wrong:
            raise SpecError(Fault("--yardstick", rule, path) for path in wrong)
        self._sources = sources
        self._programs: dict[str, list[str]] = {}

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="shallows-yardstick-")
        try:
            for source in self._sources:
                self._compile(source)
        except BaseException:
            self._folder.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def _compile(self, source: Path) -> None:
        rustc = shutil.which("rustc") or shutil.which("rustc", path=str(Path.home() / ".cargo/bin"))
        if rustc is None:
            raise RunError("rustc is not installed, and a yardstick is a source in Rust")
        program = Path(self._folder.name) / source.stem
        flags = ["--edition", "2021", "-C", "opt-level=3", "-C", "target-cpu=native", "-o", str(program)]
        done = subprocess.run([rustc, *flags, str(source)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RunError(f"rustc refused {source}: {done.stderr.strip()[-2000:]}")
        for network, arguments in YARDSTICKS[source.stem].items():
            self._programs[network] = [str(program), *arguments.split()]

    def measure(self, scenario: str) -> float | None:
        """Packet-hops per CPU second of the scenario's yardstick; None where it has none."""
        program = self._programs.get(scenario.partition("/")[0])
        if program is None:
            return None
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        found = RATE.search(done.stdout)
        if done.returncode or found is None:
            rule = "must end with status 0 and print Mhop/cpu-s=NUMBER"
            raise RunError(
                f"the yardstick {' '.join(program)} {rule}: {(done.stderr or done.stdout).strip()}"
            )
        return 1e6 * float(found[1])


def measure(
    scenarios: Sequence[str], repeat: int, report: Report | None = None, yardsticks: Yardsticks | None = None
) -> list[dict[str, Any]]:
    """The fastest of `repeat` processes of each scenario; `cpu_s_slowest` tells how much they differ.

    With yardsticks each try has a try of the yardstick before it, and `ratio` is best beside best.
    """
    rows = []
    for number, scenario in enumerate(scenarios):
        tries, rates = [], []
        for turn in range(repeat):
            rates.append(yardsticks.measure(scenario) if yardsticks else None)
            tries.append(_in_process(scenario))
            if report:
                report(number * repeat + turn + 1)
        best = min(tries, key=lambda row: row["cpu_s"])
        row = best | {"cpu_s_slowest": max(row["cpu_s"] for row in tries)}
        if yardsticks:
            rate = max((rate for rate in rates if rate is not None), default=None)
            ratio = None if rate is None else best["hops_per_cpu_s"] / rate
            row |= {"yardstick_hops_per_cpu_s": rate, "ratio": ratio}
        rows.append(row)
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


def beside(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[list[Any]]]]:
    """Published counts of the same work, and ours: titles, and rows of count, theirs and ours.

    Probes and threads change no count, so that a network has one table. Rows that differ have one each.
    """
    published = tomllib.loads((Path(__file__).parent / "published.toml").read_text())
    found: dict[str, tuple[list[str], list[list[Any]]]] = {}
    for row in rows:
        other = published.get(str(row["scenario"]).partition("/")[0])
        if other is None:
            continue
        words = ("program", "source", "ends", "completion_us")
        counts = [[name, value, row[name]] for name, value in other.items() if name not in words]
        counts += [
            [f"completion {name} (us)", value, row["completion_us"].get(name)]
            for name, value in other.get("completion_us", {}).items()
        ]
        title = f"beside {other['program']} ({other['source']}); {other['ends']}"
        found.setdefault(f"{title} {counts}", ([], [title, *counts]))[0].append(row["scenario"])
    return [(f"{', '.join(names)} {table[0]}", table[1:]) for names, table in found.values()]


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
