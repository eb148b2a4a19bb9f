"""`./shallows audit`: a second reading of the rules over the packets of a run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows import terminal
from shallows.backends.memory import free_memory
from shallows.cli.options import AllowMemory, Backend, Json, StorePath
from shallows.errors import Fault, RunError, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shallows.audit import Outcome, Rejected
    from shallows.results.store import StoredRun

__all__ = ["audit", "runs_of"]

Name = Annotated[
    str, typer.Argument(metavar="RUN|FILE", help="A run's name, or an experiment.", show_default=False)
]

BYTES = 950
"""The memory of a departure during its audit: 770 000 of RCP took 720 MB, 3.4 million of CUBIC 2.1 GB."""


JUDGED = ("simulator", "linux")
"""Backends whose packets an audit reads."""


def audit(
    name: Name,
    store: StorePath = None,
    as_json: Json = False,
    allow_memory: AllowMemory = False,
    backend: Backend = "simulator",
) -> None:
    """Audits the packets of a run. It was made with `probe.audit`, or a file is run so.

    It tells from which standards the kernel of a run on Linux parts.
    """
    if backend not in JUDGED:
        raise SpecError([Fault("--backend", f"must be {' or '.join(JUDGED)} for an audit", backend)])
    found = []
    for run in runs_of("audit", name, store, allow_memory, backend):
        title, tables, experiment = run.hash, run.tables, run.experiment
        if run.manifest["backend"] not in JUDGED:
            rule = "must be a run of the simulator or of Linux, whose packets an audit reads"
            raise SpecError([Fault("audit", rule, title)])
        if not experiment["probe"].get("audit") or "packets" not in tables:
            rule = "must be true in a run to be audited; audit the experiment's file, or run it with that"
            raise SpecError([Fault("probe.audit", rule, title)])
        if not allow_memory:
            _fits(title, len(tables["packets"]), free_memory())
        found.append((title, _judged(run, tables)))
    if as_json:
        terminal.print_json({"runs": [_document(title, outcome) for title, outcome in found]})
    else:
        for title, outcome in found:
            _say(title, outcome)
    if any(outcome.rejected for _, outcome in found):
        raise typer.Exit(1)


def _fits(title: str, departures: int, free: int | None) -> None:
    """Raises RunError for a run whose audit does not fit into the `free` bytes, if that number is known."""
    if free is not None and departures * BYTES > free:
        needs = f"its {departures} departures need some {departures * BYTES / 1e9:.1f} GB"
        ways = "audit a shorter run, or give --allow-memory"
        raise RunError(f"{title}: {needs} to be audited, and {free / 1e9:.1f} GB are free; {ways}")


def runs_of(
    command: str, name: str, store: Path | None, allow_memory: bool, backend: str = "simulator"
) -> list[StoredRun]:
    """A stored run, or the runs of a file with `probe.audit`."""
    from shallows.results.store import Store

    if re.fullmatch("[0-9a-f]{20}", name):
        place = Store(store)
        if not (place.path / name).is_dir():
            raise SpecError([Fault(command, f"there is no such run in {place.path}", name)])
        return [place.check(name)]
    from shallows.document.load import load
    from shallows.document.points import expand
    from shallows.execution.runner import Runner

    document = load(Path(name))
    document["probe"] = {**document.get("probe", {}), "audit": True}
    done = Runner.of(store=store, allow_memory=allow_memory, backend=backend).run(expand(document))
    if failed := [one.error for one in done if one.error]:
        raise RunError(f"{len(failed)} of {len(done)} runs of {name} failed; the first: {failed[0]}")
    return [one.run for one in done if one.run is not None]


def _judged(run: StoredRun, tables: Any) -> Outcome:
    """The outcome, with the laws of the tables that do not hold as a rule of their own."""
    from shallows.audit import Rejected
    from shallows.audit import audit as judge
    from shallows.audit.rule import Breach
    from shallows.tables import laws

    source, backend = "docs/reference/tables.md: the laws of each table", run.manifest["backend"]
    # They come first: the memory that the audit's frames leave behind is not given back at once.
    broken = [
        Rejected("laws", source, Breach(str(one), 0, one.table, one.rows))
        for one in laws.broken(tables, run.experiment, run.manifest["counts"], backend)
    ]
    outcome = judge(tables, run.experiment, backend != "simulator")
    return replace(outcome, rejected=(*outcome.rejected, *broken), rules=outcome.rules + 1)


def _say(title: str, outcome: Outcome) -> None:
    for one in outcome.rejected:
        terminal.say(str(one))
    for one in outcome.parted:
        terminal.say(f"the kernel parts from {one}")
    for what, why in outcome.unaudited.items():
        terminal.say(f"not audited: {what}: {why}")
    verdict = "rejected" if outcome.rejected else "accepted"
    said = f"{title}: {verdict}; {outcome.rules} rules, {outcome.packets} departures"
    if outcome.standards:
        parted = len({one.rule for one in outcome.parted})
        said += f"; the kernel parts from {parted} of {outcome.standards} standards"
    terminal.say(said)


def _document(title: str, outcome: Outcome) -> dict[str, Any]:
    def rows(found: Iterable[Rejected]) -> list[dict[str, Any]]:
        return [{"rule": one.rule, "source": one.source, **one.breach._asdict()} for one in found]

    document = {"run": title, "rejected": rows(outcome.rejected), "rules": outcome.rules,
                "departures": outcome.packets, "not_audited": dict(outcome.unaudited)}  # fmt: skip
    if outcome.standards:
        document |= {"standards": outcome.standards, "parts": rows(outcome.parted)}
    return document
