"""Jobs, their outcomes, and the protocol of executors."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, Protocol

from shallows.backends.base import Backend, Running, chosen
from shallows.document.points import Point
from shallows.errors import Cancelled, OtherFormat, RunError, ShallowsError, SpecError
from shallows.results.store import Store, StoredRun, run_hash

__all__ = ["Ended", "Executor", "Job", "Outcome", "Status", "Work", "identify", "make", "release"]

Status = Literal["done", "stored", "failed"]


@dataclass(frozen=True)
class Job:
    """A run to make: its name in the store, and its point."""

    name: str
    point: Point


def identify(point: Point, backend: Backend) -> Job:
    """The job of a point. Raises SpecError with all that the backend cannot do."""
    backend = chosen(backend, point.experiment)
    backend.check(point.experiment)
    return Job(run_hash(point.key, backend.name, release(), backend.fingerprint()), point)


@cache
def release() -> str:
    """The version of Shallows."""
    from importlib.metadata import version

    return version("shallows")


def make(job: Job, store: Store, backend: Backend, running: Running) -> StoredRun:
    """The job's run, made in this thread and stored. Raises RunError (Cancelled if stopped), StoreError."""
    backend = chosen(backend, job.point.experiment)
    made = backend.run(job.point.experiment, running)
    about = {
        "experiment": job.point.experiment,
        "hash": job.name,
        "seed": job.point.seed,
        "version": release(),
        "source_hash": backend.fingerprint(),
        "backend": backend.name,
        **made.about,
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return store.save(about, made.tables)


Ended = tuple[list["Outcome"], float]
"""The report of an executor, a few times a second: outcomes that are new, and shares of runs under way."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a point: `done` (run now), `stored` (found in the store) or `failed` (see `error`).

    `metrics` is the flat summary of `shallows.tables.metrics.with_sizes`, if it was asked for and the run did
    not fail.
    """

    point: Point
    hash: str
    status: Status
    run: StoredRun | None = None
    error: str | None = None
    metrics: dict[str, Any] | None = None


@dataclass(frozen=True)
class Work:
    """The common part of all runs of a sweep: the store, the backend, whether metrics are wanted.

    `modules` says where the Python modules are that the experiments name (`authoring.modules.paths`).
    """

    store: Store
    backend: Backend
    metrics: bool = False
    modules: Mapping[tuple[str, str], str] | None = None
    limit_s: float | None = None
    """The time limit of one run, for the executors of this machine."""

    def do(self, job: Job, running: Running) -> Outcome:
        """One run in this thread, or the stored one. A run that fails is an outcome.

        Raises Cancelled if stopped through `running`, StoreError, and MemoryError.
        """
        from shallows.tables.metrics import with_sizes

        name, point = job.name, job.point
        if self.modules:
            from shallows.authoring import modules

            modules.learn(self.modules)
        try:
            found = self.store.find(name)
            run = found or make(job, self.store, self.backend, running)
        except Cancelled:
            raise
        except (RunError, SpecError, OtherFormat) as error:
            return Outcome(point, name, "failed", error=str(error))
        except SystemExit as error:
            told = "; ".join(
                [f"an algorithm called sys.exit({error.code})", *getattr(error, "__notes__", [])]
            )
            return Outcome(point, name, "failed", error=told)
        except Exception as error:
            if "python" not in point.experiment or isinstance(error, ShallowsError):
                raise
            return Outcome(point, name, "failed", error="".join(traceback.format_exception(error)).rstrip())
        numbers = with_sizes(run.tables, point.summary) if self.metrics else None
        kept = StoredRun(run.path, run.manifest)  # without its tables, which many runs could not keep
        return Outcome(point, name, "stored" if found else "done", kept, metrics=numbers)


class Executor(Protocol):
    """Where runs are made. The one contract: each run ends in the store, and its outcome is yielded once."""

    def run(self, jobs: Iterator[Job], work: Work) -> Generator[Ended, None, None]:
        """Takes the jobs as it has room for them. Closing the generator stops all. Raises StoreError."""
        ...
