"""A run to make, what became of it, and the contract of those that make runs."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from shallows.backends.base import Running
from shallows.document.points import Point
from shallows.errors import Cancelled, OtherFormat, RunError, ShallowsError, SpecError
from shallows.execution.single import simulate_point
from shallows.results.store import Store, StoredRun

__all__ = ["Ended", "Executor", "Job", "Outcome", "Status", "Work"]


Status = Literal["done", "stored", "failed"]


Job = tuple[str, Point]
"""A run to make: its hash and its point."""


Ended = tuple[list["Outcome"], float]
"""What an executor tells a few times a second: outcomes that are new, and shares of runs under way."""


@dataclass(frozen=True)
class Outcome:
    """What became of a point: `done` (run now), `stored` (found in the store) or `failed` (see `error`).

    `metrics` is the flat summary of `shallows.tables.metrics.metrics`, if it was asked for and the run did
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
    """What is the same for all runs of a sweep: the store, the backend, whether metrics are wanted.

    `modules` says where the Python modules are that the experiments name (`authoring.modules.paths`).
    """

    store: Store
    backend: str = "simulator"
    metrics: bool = False
    modules: Mapping[tuple[str, str], str] | None = None

    def do(self, job: Job, running: Running) -> Outcome:
        """One run in this thread, or the stored one. A run that fails is an outcome.

        Raises Cancelled if stopped through `running`, StoreError, and MemoryError.
        """
        from shallows.tables.metrics import metrics

        name, point = job
        if self.modules:
            from shallows.authoring import modules as plugins

            plugins.learn(self.modules)
        try:
            found = self.store.find(name)
            run = found or simulate_point(point.experiment, self.store, backend=self.backend, running=running)
        except Cancelled:
            raise
        except (RunError, SpecError, OtherFormat) as error:
            return Outcome(point, name, "failed", error=str(error))
        except Exception as error:
            if "python" not in point.experiment or isinstance(error, ShallowsError):
                raise
            return Outcome(point, name, "failed", error="".join(traceback.format_exception(error)).rstrip())
        numbers = metrics(run.tables) if self.metrics else None
        kept = StoredRun(run.path, run.manifest)  # without the tables that the metrics have read
        return Outcome(point, name, "stored" if found else "done", kept, metrics=numbers)


class Executor(Protocol):
    """Where runs are made. The one contract: each run ends in the store, and its outcome is yielded once."""

    def run(self, jobs: Iterator[Job], work: Work) -> Generator[Ended, None, None]:
        """Takes the jobs as it has room for them. Closing the generator stops all. Raises StoreError."""
        ...
