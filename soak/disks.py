"""Full disks and disks without inodes: an error in words, and nothing half-written. Needs root."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

from shallows.errors import ShallowsError
from shallows.results.store import Store

from soak.kills import EXPERIMENT, names


def possible() -> bool:
    """Whether a file system can be mounted here."""
    return sys.platform == "linux" and os.geteuid() == 0


def full(draws: random.Random, place: Path) -> list[str]:
    """A sweep on a file system of a random small size, or of few inodes."""
    disk, file = place / "disk", place / "full.toml"
    disk.mkdir(exist_ok=True)
    file.write_text(EXPERIMENT.replace("seeds = 200", "seeds = 6"))
    option = draws.choice([f"size={draws.randrange(4, 400)}k", f"nr_inodes={draws.randrange(3, 80)}"])
    if subprocess.run(["mount", "-t", "tmpfs", "-o", option, "none", disk], check=False).returncode:
        return []
    try:
        command = [sys.executable, "-m", "shallows", "sweep", file, "--store", disk / "runs"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        store = Store(disk / "runs")
        found = [] if done.returncode in (0, 1) else [f"{option}: status {done.returncode}"]
        if "Traceback" in done.stderr:
            found.append(f"{option}: {done.stderr[-500:]}")
        if done.returncode and not done.stderr.strip():
            found.append(f"{option}: status {done.returncode} without a word")
        for name in names(disk / "runs"):
            try:
                store.check(name)
            except ShallowsError as error:
                found.append(f"{option}: {error}")
        return found
    finally:
        subprocess.run(["umount", disk], check=True)
