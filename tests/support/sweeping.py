"""Sweeps under test: their stored tables, a wait for their first runs, and a simulation that fails."""

import json
import subprocess
import time
from pathlib import Path

from shallows.errors import RunError


def table_bytes(store: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(store)): path.read_bytes() for path in sorted(store.glob("[0-9a-f]*/*.parquet"))
    }


def wait_for_runs(process: subprocess.Popen, store: Path, count: int) -> None:
    until = time.monotonic() + 60
    while len(list(store.glob("[0-9a-f]*"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)


class Failing:
    """A simulation that fails for one seed."""

    def __init__(self, document, *_):
        self.seed = json.loads(document)["seed"]

    def run(self):
        if self.seed == 2:
            raise RunError("seed 2 is unlucky")

    def cancel(self):
        pass

    def progress(self):
        return 1.0

    def manifest(self):
        return '{"counts": {}, "memory": {}, "notes": [], "slowest": {}}'

    def tables(self):
        return {"flows": [("id", "u32", b"\0\0\0\0")]}
