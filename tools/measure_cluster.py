"""How long a sweep takes on a dask cluster of two one-thread workers here, and in two threads of one process.

    .venv/bin/python tools/measure_cluster.py [RUNS [PAIRS]]

Pairs run in turn, the order reversed each time, since the machine's speed wanders; each run simulates one
second of four senders on a 10 Gb/s port. Starting the cluster is not counted. CPU time covers all of
the cluster's processes. The tables of both must be the same bytes.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import shallows
from shallows.execution.dask.connect import to_address
from shallows.execution.dask.executor import Cluster
from shallows.execution.threads import Threads

EXPERIMENT = {
    "duration": "1s",
    "topology": {"kind": "star", "senders": 4, "rate": "10Gbps", "delay": "10us"},
    "queue": {"kind": "threshold", "limit": "100pkt", "mark_at": "20pkt"},
    "transport": {"cc": "dctcp"},
    "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "1ms"}},
}


def cpu_s(processes):
    """CPU seconds of this process, of those given, and of their children."""
    every = [psutil.Process(process.pid) for process in processes]
    every += [child for process in every for child in process.children(recursive=True)]
    return time.process_time() + sum(sum(process.cpu_times()[:2]) for process in every)


def tables(store):
    """The bytes of every table, by run and name."""
    return {path.relative_to(store): path.read_bytes() for path in store.glob("*/*.parquet")}


def main(runs=1000, pairs=1):
    """Prints a line a pair."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        file = place / "scheduler.json"
        rest = ["--scheduler-file", str(file), "--no-dashboard"]
        commands = [["scheduler", "--port", "0"], *[["worker", "--nthreads", "1", "--name", w] for w in "ab"]]
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{command[0]}", *command[1:], *rest],
                stderr=subprocess.DEVNULL,
            )
            for command in commands
        ]
        try:
            while not file.exists():
                time.sleep(0.1)
            ways = {"threads": Threads(2), "cluster": Cluster(to_address(str(file)))}
            for way, executor in ways.items():  # modules loaded on first use are not counted
                shallows.sweep(
                    EXPERIMENT | {"seeds": [10**6, 10**6 + 1]}, store=place / f"warm {way}", executor=executor
                )
            for pair in range(pairs):
                took = {}
                for way in sorted(ways, reverse=pair % 2 == 0):
                    wall, cpu = time.perf_counter(), cpu_s(processes)
                    shallows.sweep(
                        EXPERIMENT | {"seeds": runs}, store=place / f"{way} {pair}", executor=ways[way]
                    )
                    took[way] = time.perf_counter() - wall, cpu_s(processes) - cpu
                same = tables(place / f"threads {pair}") == tables(place / f"cluster {pair}")
                text = "; ".join(f"{way} {wall:.1f} s, {cpu:.1f} CPU s" for way, (wall, cpu) in took.items())
                ratios = [c / t for c, t in zip(took["cluster"], took["threads"], strict=True)]
                print(
                    f"{runs} runs: {text}; cluster / threads {ratios[0]:.3f}, "
                    f"CPU {ratios[1]:.3f}; same bytes: {same}"
                )
        finally:
            for process in processes:
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
