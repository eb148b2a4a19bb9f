"""Runs the cells on each backend, unless they are stored, and computes their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from shallows.document.points import Point
from shallows.errors import Fault, ShallowsError, SpecError
from shallows.execution.jobs import Job, Outcome
from shallows.execution.runner import Runner
from shallows.results.store import Store
from shallows.studies.validation import judge
from shallows.studies.validation import ns3_cells as ns3
from shallows.studies.validation.matrix import PEERS, Cell, Matrix
from shallows.studies.validation.measure import numbers
from shallows.words import did_you_mean

COST_S = {"simulator": (2e-6, 0.05), "linux": (16e-6, 1.5), "ns3": ns3.COST_S}
"""Seconds a packet and seconds a run, for the estimate of the time left."""

BACKENDS = ("simulator", *PEERS)

__all__ = ["BACKENDS", "Result", "Validation", "choose", "cost", "points", "total_cost", "validate"]


@dataclass(frozen=True)
class Result:
    """A cell with numbers of its runs by backend, one a seed, failures, and why a backend has none."""

    cell: Cell
    runs: dict[str, list[dict[str, float | None]]]
    failed: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def group(self) -> tuple[str, str]:
        """Table and reason. ns-3 has no part in it: its differences are reported, not judged."""
        if self.cell.not_run:
            return "not-run", self.cell.not_run
        if self.failed:
            return "failed", self.failed[0]
        return judge.group(self.cell, {b: of for b, of in self.runs.items() if b != "ns3"})

    def compared(self, backend: str) -> list[judge.Compared]:
        """The simulator held against another backend."""
        ours, theirs = self.runs.get("simulator", []), self.runs.get(backend, [])
        return judge.compare(self.cell, ours, theirs) if ours and theirs else []


@dataclass(frozen=True)
class Validation:
    """All cells, and the backends that ran; `notes` say which did not."""

    matrix: Matrix
    backends: list[str]
    results: list[Result]
    about: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def others(self) -> list[str]:
        """The peers of the simulator."""
        return [backend for backend in self.backends if backend != "simulator"]

    def counts(self, backend: str) -> dict[str, int]:
        """Cells by outcome against a backend: agree, explained, faults, and those that stand apart."""
        counts = {"agree": 0, "explained": 0, "faults": 0, "apart": 0, "not-run": 0, "failed": 0}
        for result in self.results:
            table = result.group[0]
            if table in ("not-run", "failed"):
                counts[table] += 1
            elif backend in result.absent:
                counts["not-run"] += 1
            elif table != "main":
                counts["apart"] += 1
            else:
                bad = [c.what for c in result.compared(backend) if not c.agrees]
                unexplained = [what for what in bad if not self.matrix.why(result.cell.name, what, backend)]
                counts["faults" if unexplained else "explained" if bad else "agree"] += 1
        return counts

    @property
    def exit_status(self) -> int:
        """1 if a run failed, or a difference has no explanation."""
        bad = any(c["failed"] or c["faults"] for c in map(self.counts, self.others))
        return int(bad or any(result.failed for result in self.results))


def choose(wanted: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The simulator and the backends that are wanted, else all there are; and what is said of the others.

    They stand in this order, not in that of the file: ns-3's flows start when the simulator's did. Raises
    SpecError; ShallowsError if ns-3 is wanted and not installed.
    """
    from shallows.backends.ns3.program import program

    faults = [
        Fault("--backend", f"must be one of {', '.join(BACKENDS)}", name, did_you_mean(name, BACKENDS))
        for name in wanted
        if name not in BACKENDS
    ]
    if faults:
        raise SpecError(faults)
    try:
        if not wanted or "ns3" in wanted:
            program()
    except ShallowsError as error:
        if wanted:
            raise
        return [backend for backend in BACKENDS if backend != "ns3"], (str(error),)
    return [b for b in BACKENDS if b == "simulator" or b in wanted or not wanted], ()


def points(cell: Cell, backend: str) -> tuple[Point, ...]:
    """The points of a cell that a backend runs, one a seed."""
    if backend != "ns3":
        return cell.points
    return () if ns3.not_run(cell) else cell.points[: ns3.seeds(cell)]


def cost(cell: Cell, backend: str) -> float:
    """About how many seconds one of its runs takes."""
    per_packet, per_run = COST_S[backend]
    return cell.packets * per_packet + per_run


def total_cost(matrix: Matrix, backends: Sequence[str]) -> float:
    """About how many seconds all runs take."""
    return sum(
        cost(cell, backend) * len(points(cell, backend)) for cell in matrix.cells for backend in backends
    )


Key = tuple[str, str, int]
"""Backend, cell and seed of a run."""


def validate(
    matrix: Matrix,
    store: Store,
    backends: Sequence[str],
    workers: int | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> Validation:
    """Runs the missing cells on each backend and gathers all. The same call resumes.

    `progress(done, failed)` counts seconds of expected work. Raises SpecError where a backend cannot do a
    cell, before anything runs; StoreError.
    """
    runners = {name: Runner.of(store=store, workers=workers, backend=name) for name in backends}
    jobs = _jobs(matrix, runners)
    outcomes: dict[tuple[str, str], Outcome] = {}
    done, failed = 0.0, 0
    for name, runner in runners.items():
        dear = {job.name: cost(cell, name) for cell, job in jobs[name].values()}
        # The dear ones first, so that the last to end are short.
        order = sorted((job for _, job in jobs[name].values()), key=lambda job: -dear[job.name])
        with closing(runner.stream(order)) as ended:
            for new, _ in ended:
                for outcome in new:
                    outcomes[name, outcome.hash] = outcome
                    done += dear[outcome.hash]
                    failed += outcome.status == "failed"
                if progress:
                    progress(done, failed)
    names = {key: job.name for each in jobs.values() for key, (_, job) in each.items()}
    results = [_result(cell, backends, names, outcomes) for cell in matrix.cells]
    return Validation(matrix, list(backends), results, _about(outcomes))


def _jobs(matrix: Matrix, runners: dict[str, Runner]) -> dict[str, dict[Key, tuple[Cell, Job]]]:
    """The jobs of each backend with their cells. Raises SpecError with all that backends cannot do."""
    found = {}
    for name, runner in runners.items():
        wanted = [(cell, point) for cell in matrix.cells for point in points(cell, name)]
        each = runner.identify([point for _, point in wanted])
        keys = [(name, cell.name, point.seed) for cell, point in wanted]
        found[name] = {k: (cell, job) for k, (cell, _), job in zip(keys, wanted, each, strict=True)}
    return found


def _result(
    cell: Cell, backends: Sequence[str], names: dict[Key, str], outcomes: dict[tuple[str, str], Outcome]
) -> Result:
    result = Result(cell, {})
    if "ns3" in backends and (why := ns3.not_run(cell)):
        result.absent["ns3"] = why
    for backend in backends:
        for point in points(cell, backend):
            outcome = outcomes[backend, names[backend, cell.name, point.seed]]
            if outcome.run is None:
                result.failed.append(f"{backend}, seed {point.seed}: {outcome.error}")
            else:
                result.runs.setdefault(backend, []).append(numbers(outcome.run.tables, backend, cell.ports))
    return result


def _about(outcomes: dict[tuple[str, str], Outcome]) -> dict[str, Any]:
    about: dict[str, Any] = {}
    for (backend, _), outcome in outcomes.items():
        if outcome.run is not None:
            manifest = outcome.run.manifest
            own = manifest.get(backend, {})  # the backend's own report
            version = own.get("version", manifest["version"])
            entry = about.setdefault(backend, {"version": version, "cpu_s": 0.0, "runs": 0})
            entry["cpu_s"] += manifest["cpu_s"]
            entry["runs"] += 1
            if "kernel" in own:
                entry["kernel"] = own["kernel"].get("version")
    return about
