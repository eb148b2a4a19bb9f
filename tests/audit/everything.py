"""Audits an experiment of each file of the repository, shortened: `python tests/audit/everything.py [FILES]`.

Each run is the first point of its file with statistics from the start. It lasts for 2 ms, or for less where
its traces would not fit into a million rows, or as long as the file's events need.
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
from shallows.tables import laws

ROOT = Path(__file__).parents[2]
STUDIES = ("attack", "compare", "sweep", "tune", "summary", "seeds")


DURATIONS = ("2ms", "200us", "20us", "5us")
"""Tried in turn until the traces fit into memory."""


def documents(paths):
    """Experiments of the files, without their studies."""
    for path in paths:
        document = tomllib.loads(path.read_text("utf-8"))
        if "topology" in document and "duration" in document:
            short = {key: value for key, value in document.items() if key not in STUDIES}
            yield path, short | {"warmup": "0s", "probe": {"audit": True, "trace_rows": 1_000_000}}


def shortened(document):
    """The experiment in the forms that are tried: as long as its events need, and past a deadlock."""
    whole = picoseconds(document["duration"])
    last = max((picoseconds(event["at"]) for event in document.get("event", {}).values()), default=-1)
    if any(priority.get("pfc") for priority in document.get("priority", {}).values()):
        document = document | {"pfc": document.get("pfc", {}) | {"deadlock": "go-on"}}
    if last >= 0:
        yield document | {"duration": f"{min(whole, last + 2 * 10**9)}ps"}
        return
    for text in DURATIONS:
        yield document | {"duration": text if picoseconds(text) < whole else document["duration"]}


def first_run(document):
    """The outcome of the first point whose traces fit, or the reason why there is none."""
    reason = ""
    for short in shortened(document):
        try:
            [outcome, *_] = Runner.of().run(expand(short)[:1])
        except ShallowsError as error:
            reason = str(error)
            continue
        if outcome.run is not None:
            return outcome.run, ""
        reason = str(outcome.error)
    return None, reason


def main(paths):
    """Prints each rejected run; the status is 1 if there is one."""
    tried = rejected = failed = packets = 0
    for path, document in documents(paths):
        run, reason = first_run(document)
        if run is None:
            failed += 1
            print(f"not run: {path}: {reason}"[:300], flush=True)
            continue
        tried += 1
        outcome = audit(run.tables, run.experiment)
        broken = laws.broken(run.tables, run.experiment, run.manifest["counts"])
        packets += outcome.packets
        rejected += bool(outcome.rejected or broken)
        for one in [*outcome.rejected, *broken]:
            print(f"{path}: {one}", flush=True)
    print(f"{tried} runs audited with {packets} departures, {rejected} rejected, {failed} not run")
    return 1 if rejected else 0


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:]]
    everywhere = [*ROOT.glob("experiments/**/*.toml"), *ROOT.glob("python/shallows/web/gallery/*.toml")]
    sys.exit(main(files or sorted(everywhere)))
