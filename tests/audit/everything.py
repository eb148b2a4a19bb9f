"""Audits an experiment of each file of the repository, shortened: `python tests/audit/everything.py [FILES]`.

Each run is the first point of its file with 2 ms of time at most and statistics from the start.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from shallows.audit import audit
from shallows.audit.quantities import picoseconds
from shallows.document.points import expand
from shallows.errors import ShallowsError
from shallows.execution.runner import Runner

ROOT = Path(__file__).parents[2]
STUDIES = ("compare", "sweep", "tune", "summary", "seeds")


def documents(paths):
    """Experiments of the files, shortened."""
    for path in paths:
        document = tomllib.loads(path.read_text("utf-8"))
        if "topology" in document and "duration" in document:
            short = {key: value for key, value in document.items() if key not in STUDIES}
            if picoseconds(short["duration"]) > 2 * 10**9:
                short["duration"] = "2ms"
            yield path, short | {"warmup": "0s", "probe": {"audit": True, "trace_rows": 400_000}}


def main(paths):
    """Prints each rejected run; the status is 1 if there is one."""
    tried = rejected = failed = 0
    for path, document in documents(paths):
        try:
            [outcome, *_] = Runner.of().run(expand(document)[:1])
        except ShallowsError as error:
            outcome, reason = None, error
        if outcome is None or outcome.run is None:
            failed += 1
            print(f"not run: {path}: {reason if outcome is None else outcome.error}"[:300], flush=True)
            continue
        tried += 1
        found = audit(outcome.run.tables, outcome.run.experiment).rejected
        rejected += bool(found)
        for one in found:
            print(f"{path}: {one}", flush=True)
    print(f"{tried} runs audited, {rejected} rejected, {failed} not run")
    return 1 if rejected else 0


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:]]
    everywhere = [*ROOT.glob("experiments/**/*.toml"), *ROOT.glob("python/shallows/web/gallery/*.toml")]
    sys.exit(main(files or sorted(everywhere)))
