"""`python -m soak --hours 1`: soaks for a time, prints seeds and findings, and counts runs."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from shallows import _core

from soak import disks, documents, experiments, kills, readers, regressions, runs


def main() -> int:
    """Runs the parts in turn until the time is over. Status 1 if anything was found."""
    options = _options()
    if options.core:
        print(f"the core of {options.core}, with overflow checks on")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"seed {seed}; again: python -m soak --seed {seed} --hours {options.hours:g}", flush=True)
    parts = {name: part for name, part in PARTS.items() if not options.only or name in options.only}
    done, cost, wrong = Counter[str](), Counter[str](), 0
    end = time.monotonic() + 3600 * options.hours
    report = time.monotonic() + REPORT_S
    stopped = _stopped()
    with readers.in_place() as place:
        while time.monotonic() < end and not stopped.is_set():
            left = [name for name in parts if options.count is None or done[name] < options.count]
            if not left:
                break
            name = min(left, key=lambda name: cost[name] / parts[name][0])  # each has its share of the time
            began = _cpu_s()
            found = parts[name][1](random.Random(f"{seed} {name} {done[name]}"), Path(place))
            cost[name] += int(1e6 * (_cpu_s() - began)) + 1
            for each in found:
                wrong += 1
                print(f"FOUND by {name} {done[name]} of seed {seed}: {each}", flush=True)
            done[name] += 1
            if time.monotonic() > report:
                report = time.monotonic() + REPORT_S
                left_min = max(end - time.monotonic(), 0) / 60
                counts = ", ".join(f"{name} {done[name]}" for name in parts)
                print(f"so far {counts}; {wrong} findings; at most {left_min:.0f} min left", flush=True)
    for name in parts:
        each_ms = cost[name] / 1e3 / max(done[name], 1)
        print(f"{name}: {done[name]} in {cost[name] / 1e6:.0f} s of CPU time, {each_ms:.3g} ms each")
    print(f"{wrong} findings")
    return 1 if wrong else 0


def _stopped() -> threading.Event:
    """Is set by Ctrl-C or SIGTERM. The part under way ends and the counts are printed. A second one kills."""
    stopped = threading.Event()

    def stop(number: int, frame: object) -> None:
        stopped.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return stopped


def _cpu_s() -> float:
    """CPU time of this process and of those that it has waited for: the clock tells more of others' work."""
    return sum(os.times()[:4])


def one_run(draws: random.Random, place: Path) -> list[str]:
    """A random experiment, run twice, at times in four threads at once. A finding is made small and kept."""
    experiment = experiments.draw(draws)
    if experiment is None:
        return []
    found = runs.faults(experiment, threads=4 if draws.random() < 0.125 else 1)
    if found:

        def is_wrong(smaller: object) -> bool:
            return _legal(smaller) and bool(runs.faults(smaller))  # type: ignore[arg-type]

        small = regressions.smallest(experiment, is_wrong, 60)
        found.append(f"kept in {regressions.keep('run', found, small)}")
    return found


def _legal(document: object) -> bool:
    return json.loads(_core.check(json.dumps(document)))["experiment"] == document


def one_document(draws: random.Random, place: Path) -> list[str]:
    """A hundred mutated documents through the checker."""
    found = []
    for _ in range(100):
        text = documents.draw(draws)
        wrong = documents.faults(text) + documents.settings(draws)
        if wrong:
            found += [*wrong, f"kept in {regressions.keep('check', wrong, text)}"]
    return found


_stored: dict[str, object] = {}


def one_flip(draws: random.Random, place: Path) -> list[str]:
    """A hundred flipped bits of a stored run, and its capture read back."""
    if str(place) not in _stored:
        _stored[str(place)] = readers.make_store(place)
    run = _stored[str(place)]
    found = [each for _ in range(100) for each in readers.flip(draws, run)]  # type: ignore[arg-type]
    return found + readers.capture(run, place)  # type: ignore[arg-type]


def one_file(draws: random.Random, place: Path) -> list[str]:
    """A hundred damaged experiment files."""
    return [each for _ in range(100) for each in readers.toml(draws, place)]


def one_disk(draws: random.Random, place: Path) -> list[str]:
    """A sweep on a disk that is full."""
    return disks.full(draws, place) if disks.possible() else []


PARTS: dict[str, tuple[float, Callable[[random.Random, Path], list[str]]]] = {
    "runs": (0.4, one_run),
    "documents-100": (0.25, one_document),
    "flips-100": (0.1, one_flip),
    "files-100": (0.05, one_file),
    "kills": (0.15, kills.kill),
    "disks": (0.05, one_disk),
}
"""By name: its share of the time, and the part."""


REPORT_S = 600
"""The counts so far are printed that often: a soak that is killed leaves them in its log."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int, help="default: another each time, which is printed")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="this part alone")
    parser.add_argument("--core", type=Path, help="directory of another build of the core (see soak.core)")
    parser.add_argument("--count", type=int, help="this many tries of each part, instead of a time")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
