"""Makes the runs of the cells on each backend, those that are not stored yet, and takes their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from shallows.run import identify
from shallows.store import Store
from shallows.sweep import Job, Outcome, Threads, Work
from shallows.validation import judge
from shallows.validation.matrix import Cell, Matrix
from shallows.validation.measure import numbers

COST_S = {"simulator": (2e-6, 0.05), "linux": (16e-6, 1.5)}
"""Seconds a packet and seconds a run, for the estimate of the time left."""

__all__ = ["Result", "Validation", "cost", "validate"]


@dataclass(frozen=True)
class Result:
    """A cell with the numbers of its runs by backend, one a seed, and what failed."""

    cell: Cell
    runs: dict[str, list[dict[str, float | None]]]
    failed: list[str] = field(default_factory=list)

    @property
    def group(self) -> tuple[str, str]:
        """Table and reason."""
        if self.cell.not_run:
            return "not-run", self.cell.not_run
        if self.failed:
            return "failed", self.failed[0]
        return judge.group(self.cell, self.runs)

    def compared(self, backend: str) -> list[judge.Compared]:
        """The simulator held against another backend."""
        ours, theirs = self.runs.get("simulator", []), self.runs.get(backend, [])
        return judge.compare(self.cell, ours, theirs) if ours and theirs else []


@dataclass(frozen=True)
class Validation:
    """All cells, and the backends that ran."""

    matrix: Matrix
    backends: list[str]
    results: list[Result]
    about: dict[str, Any]

    @property
    def others(self) -> list[str]:
        """What the simulator is held against."""
        return [backend for backend in self.backends if backend != "simulator"]

    def counts(self, backend: str) -> dict[str, int]:
        """Cells by outcome against a backend: agree, explained, faults, and those that stand apart."""
        counts = {"agree": 0, "explained": 0, "faults": 0, "apart": 0, "not-run": 0, "failed": 0}
        for result in self.results:
            table = result.group[0]
            if table in ("not-run", "failed"):
                counts[table] += 1
            elif table != "main":
                counts["apart"] += 1
            else:
                bad = [c.what for c in result.compared(backend) if not c.agrees]
                unexplained = [what for what in bad if not self.matrix.why(result.cell.name, what)]
                counts["faults" if unexplained else "explained" if bad else "agree"] += 1
        return counts

    @property
    def exit_status(self) -> int:
        """1 if a run failed, or a difference has no explanation."""
        bad = any(c["failed"] or c["faults"] for c in map(self.counts, self.others))
        return int(bad or any(result.failed for result in self.results))


def cost(cell: Cell, backend: str) -> float:
    """About how many seconds one of its runs takes."""
    per_packet, per_run = COST_S[backend]
    return cell.packets * per_packet + per_run


def validate(
    matrix: Matrix,
    store: Store,
    backends: Sequence[str],
    workers: int | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> Validation:
    """Runs what is missing on each backend and gathers all. Stopped, it goes on where it was.

    `progress(done, failed)` counts seconds of expected work. Raises SpecError where a backend cannot do a cell,
    before anything runs; StoreError.
    """
    store.prepare()
    names = {
        (backend, cell.name, point.seed): identify(point.experiment, backend)["hash"]
        for backend in backends
        for cell in matrix.cells
        for point in cell.points
    }
    jobs = {
        backend: {
            names[backend, cell.name, point.seed]: (cell, point)
            for cell in matrix.cells
            for point in cell.points
        }
        for backend in backends
    }
    outcomes: dict[tuple[str, str], Outcome] = {}
    done, failed = 0.0, 0
    for backend, todo in jobs.items():
        # The dear ones first, so that the last to end are short.
        order = sorted(todo, key=lambda name: -cost(todo[name][0], backend))
        stream: Iterator[Job] = ((name, todo[name][1]) for name in order)
        with closing(Threads(workers).run(stream, Work(store, backend))) as ended:
            for new, _ in ended:
                for outcome in new:
                    outcomes[backend, outcome.hash] = outcome
                    done += cost(todo[outcome.hash][0], backend)
                    failed += outcome.status == "failed"
                if progress:
                    progress(done, failed)
    results = [_result(cell, backends, names, outcomes) for cell in matrix.cells]
    return Validation(matrix, list(backends), results, _about(outcomes))


def _result(
    cell: Cell,
    backends: Sequence[str],
    names: dict[tuple[str, str, int], str],
    outcomes: dict[tuple[str, str], Outcome],
) -> Result:
    result = Result(cell, {})
    for backend in backends:
        for point in cell.points:
            outcome = outcomes[backend, names[backend, cell.name, point.seed]]
            if outcome.run is None:
                result.failed.append(f"{backend}, seed {point.seed}: {outcome.error}")
            else:
                result.runs.setdefault(backend, []).append(numbers(outcome.run.tables, backend))
    return result


def _about(outcomes: dict[tuple[str, str], Outcome]) -> dict[str, Any]:
    about: dict[str, Any] = {}
    for (backend, _), outcome in outcomes.items():
        if outcome.run is not None:
            manifest = outcome.run.manifest
            entry = about.setdefault(backend, {"version": manifest["version"], "cpu_s": 0.0, "runs": 0})
            entry["cpu_s"] += manifest["cpu_s"]
            entry["runs"] += 1
            if "linux" in manifest:
                entry["kernel"] = manifest["linux"]["kernel"].get("version")
    return about
