"""Audits an experiment of each file of the repository, shortened: `python tests/audit/everything.py [FILES]`.

Each run is the first point of its file with statistics from the start. It lasts for 2 ms, or for less where
its traces would not fit into a million rows, or as long as the file's events need. With `--linux` as the
first word the runs are those of the kernel, which runs what a file says of TCP with the profile `linux`.
Benchmarks are left out there: most have more hosts than the kernel takes.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path

from shallows.audit import audit
from shallows.audit.quantities import picoseconds, rate
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


def shortened(document, backend):
    """The experiment in the forms that are tried: as long as its events need, and past a deadlock."""
    whole = picoseconds(document["duration"])
    last = max((picoseconds(event["at"]) for event in document.get("event", {}).values()), default=-1)
    if any(priority.get("pfc") for priority in document.get("priority", {}).values()):
        document = document | {"pfc": document.get("pfc", {}) | {"deadlock": "go-on"}}
    if last >= 0:
        yield document | {"duration": f"{min(whole, last + 2 * 10**9)}ps"}
        return
    if backend == "linux":
        yield document
    for text in DURATIONS:
        yield document | {"duration": text if picoseconds(text) < whole else document["duration"]}


def as_the_kernel_has_it(document):
    """The document with the kernel's profile in place of others of TCP, which it cannot have."""
    parts = [document, *document["traffic"].values()]
    own = [part["transport"] for part in parts if "transport" in part]
    for transport in own:
        if transport.get("profile", "datacentre") in ("datacentre", "rfc", "ns2"):
            transport["profile"] = "linux"
    if not own:
        document = document | {"transport": {"profile": "linux"}}
    # Some 17 000 packets of full size through a link.
    busy = 2 * 10**20 // rate(document["topology"].get("rate", "10Gbps"))
    return document | {"duration": f"{min(picoseconds(document['duration']), busy, 2 * 10**12)}ps"}


def first_run(document, backend="simulator"):
    """The outcome of the first point whose traces fit, or the reason why there is none."""
    reason = ""
    for short in shortened(document, backend):
        try:
            [outcome, *_] = Runner.of(backend=backend).run(expand(short)[:1])
        except ShallowsError as error:
            reason = str(error)
            continue
        if outcome.run is not None:
            return outcome.run, ""
        reason = str(outcome.error)
    return None, reason


def main(paths, backend="simulator"):
    """Prints each rejected run, and from what the kernel parts; the status is 1 if one is rejected."""
    tried = rejected = failed = packets = 0
    parted = Counter()
    for path, document in documents(paths):
        document = as_the_kernel_has_it(document) if backend == "linux" else document
        run, reason = first_run(document, backend)
        if run is None:
            failed += 1
            print(f"not run: {path}: {reason}"[:300], flush=True)
            continue
        tried += 1
        outcome = audit(run.tables, run.experiment, on_linux=backend == "linux")
        parted.update(one.rule for one in outcome.parted)
        broken = laws.broken(run.tables, run.experiment, run.manifest["counts"], backend)
        packets += outcome.packets
        rejected += bool(outcome.rejected or broken)
        for one in [*outcome.rejected, *broken]:
            print(f"{path}: {one}", flush=True)
    print(f"{tried} runs audited with {packets} departures, {rejected} rejected, {failed} not run")
    for name, runs in parted.most_common():
        print(f"the kernel parts from {name} in {runs} runs")
    return 1 if rejected else 0


if __name__ == "__main__":
    linux = sys.argv[1:2] == ["--linux"]
    files = [Path(name) for name in sys.argv[1 + linux :]]
    everywhere = [*ROOT.glob("experiments/**/*.toml"), *ROOT.glob("python/shallows/web/gallery/*.toml")]
    everywhere = [path for path in everywhere if not linux or path.parent.name != "bench"]
    sys.exit(main(files or sorted(everywhere), "linux" if linux else "simulator"))
