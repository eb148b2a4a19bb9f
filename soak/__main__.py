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
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from shallows import _core

from soak import (
    audits,
    clusters,
    disks,
    documents,
    experiments,
    guests,
    kills,
    pages,
    readers,
    regressions,
    runs,
)


def main() -> int:
    """Runs the parts in turn until the time is over. Status 1 if anything was found."""
    options = _options()
    if options.core:
        print(f"the core of {options.core}, with overflow checks on")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"seed {seed}; again: python -m soak --seed {seed} --hours {options.hours:g}", flush=True)
    asked = {name: part for name, part in PARTS.items() if not options.only or name in options.only}
    parts = {name: part for name, part in asked.items() if part.possible()}
    done, cost = Counter[str](), Counter[str]()
    findings: list[str] = []
    end = time.monotonic() + 3600 * options.hours
    next_at = time.monotonic() + REPORT_S
    stopped = _stopped()
    with readers.in_place() as place:
        while time.monotonic() < end and not stopped.is_set():
            left = [name for name in parts if options.count is None or done[name] < options.count]
            if not left:
                break
            name = min(
                left, key=lambda name: cost[name] / parts[name].share
            )  # each has its share of the time
            began = _cpu_s()
            found = parts[name].look(random.Random(f"{seed} {name} {done[name]}"), Path(place))
            cost[name] += int(1e6 * (_cpu_s() - began)) + 1
            for each in found:
                findings.append(f"{name} {done[name]} of seed {seed}: {each}")
                print(f"FOUND by {findings[-1]}", flush=True)
            done[name] += 1
            if time.monotonic() > next_at:
                next_at = time.monotonic() + REPORT_S
                left_min = max(end - time.monotonic(), 0) / 60
                counts = ", ".join(f"{name} {done[name]}" for name in parts)
                print(
                    f"so far {counts}; {len(findings)} findings; at most {left_min:.0f} min left", flush=True
                )
    report = _report(seed, options.hours, done, cost, asked, findings)
    print(report)
    if options.report:
        options.report.write_text(report + "\n", encoding="utf-8")
    return 1 if findings else 0


def _report(
    seed: int,
    hours: float,
    done: Counter[str],
    cost: Counter[str],
    asked: dict[str, Part],
    findings: list[str],
) -> str:
    """Markdown: seed, tries and CPU time of each part, the parts that cannot run here, and all findings."""
    lines = [f"Shallows {version('shallows')}, seed {seed}, at most {hours:g} h", ""]
    lines += ["| part | tries | CPU s | ms each |", "|---|---|---|---|"]
    for name, part in asked.items():
        each_ms = cost[name] / 1e3 / max(done[name], 1)
        counts = (
            f"{done[name]} | {cost[name] / 1e6:.0f} | {each_ms:.3g}"
            if part.possible()
            else "cannot run here | |"
        )
        lines.append(f"| {name} | {counts} |")
    return "\n".join([*lines, "", *(f"- {each}" for each in findings), f"{len(findings)} findings"])


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
    return _kept("run", experiment, found, runs.faults)


def one_audit(draws: random.Random, place: Path) -> list[str]:
    """A random experiment with all traces, audited. A rejected one is made small and kept."""
    experiment = audits.draw(draws)
    if experiment is None:
        return []
    return _kept("audit", experiment, audits.faults(experiment), audits.faults)


def _kept(
    kind: str, experiment: runs.Document, found: list[str], faults: Callable[[runs.Document], list[str]]
) -> list[str]:
    """The findings. An experiment that has some is made as small as it stays wrong, and is kept."""
    if found:

        def is_wrong(smaller: object) -> bool:
            return _legal(smaller) and bool(faults(smaller))  # type: ignore[arg-type]

        small = regressions.smallest(experiment, is_wrong, 60)
        found.append(f"kept in {regressions.keep(kind, found, small)}")
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


@dataclass(frozen=True)
class Part:
    """A part of the soak: its share of the time, one try, and whether this machine can run it."""

    share: float
    look: Callable[[random.Random, Path], list[str]]
    possible: Callable[[], bool] = lambda: True


PARTS = {
    "runs": Part(0.3, one_run),
    "audits": Part(0.15, one_audit),
    "documents-100": Part(0.2, one_document),
    "flips-100": Part(0.1, one_flip),
    "files-100": Part(0.05, one_file),
    "kills": Part(0.05, kills.kill),
    "disks": Part(0.05, disks.full, disks.possible),
    "pages": Part(0.03, pages.visit),
    "guests": Part(0.04, guests.execute, guests.possible),
    "clusters": Part(0.03, clusters.disturb, clusters.possible),
}


REPORT_S = 600
"""The counts so far are printed that often: a soak that is killed leaves them in its log."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int, help="default: another each time, which is printed")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="this part alone")
    parser.add_argument("--core", type=Path, help="directory of another build of the core (see soak.core)")
    parser.add_argument("--report", type=Path, help="also writes what it prints at the end to this file")
    parser.add_argument("--count", type=int, help="this many tries of each part, instead of a time")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
