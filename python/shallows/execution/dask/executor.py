"""Sweeps on several machines, through dask.distributed: `docs/clusters.md`.

The one contract is the store, which all machines must see: a task makes its run there, or finds it, and
returns a record of about a kilobyte. So nothing is lost with a worker, and a run that is made twice is stored
once. A failure of a worker (it dies, hangs, is full, or has another version) moves the run to another
one, up to `TRIES` times; then the run counts as failed, with the names of the workers, and the sweep goes on.
A fault of the run itself would occur anywhere, so it is not tried again.
"""

from __future__ import annotations

import itertools
import secrets
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from shallows.backends.base import Running
from shallows.document.points import Point
from shallows.errors import Cancelled, StoreError
from shallows.execution.dask.slurm import Slurm
from shallows.execution.dask.workers import Crew, Patience, other_version
from shallows.execution.jobs import Ended, Job, Outcome, Work, release
from shallows.execution.threads import take
from shallows.results.store import Store, run_hash

if TYPE_CHECKING:
    from distributed import Client, Future

TRIES = 3
"""Workers that a run is given to before it counts as failed."""

AHEAD = 2
"""Runs handed out for each thread of the cluster: one to make, one to go on with."""

__all__ = ["TRIES", "Cluster", "make"]


def _tell(text: str) -> None:
    print(f"shallows: {text}", file=sys.stderr)


@dataclass(frozen=True)
class Cluster:
    """An executor of `shallows.sweep` on a dask cluster.

    `connect` returns a context manager whose value is the `distributed.Client` to use. `tell` takes
    a line about each worker that fails. Raises RunError if the scheduler goes away or no worker can serve.
    """

    connect: Callable[[], AbstractContextManager[Client]]
    patience: Patience = field(default_factory=Patience)
    tell: Callable[[str], None] = _tell

    def run(self, jobs: Iterator[Job], work: Work) -> Generator[Ended, None, None]:
        """See `shallows.execution.jobs.Executor`."""
        first = next(jobs, None)
        if first is None:
            return
        with self.connect() as client:
            check = self.connect.check if isinstance(self.connect, Slurm) else None
            crew = Crew(client, work.store.path, work.backend, self.patience, self.tell, check)
            yield from _Sweep(client, work, crew, self.patience).run(itertools.chain([first], jobs))


def make(request: dict[str, Any]) -> dict[str, Any]:
    """One run, on a worker.

    The record has `status`, `error` and `metrics` of the outcome; or `trouble` if this worker cannot do it,
    with `store` if it was the store that failed; and the `worker`.
    """
    from distributed import get_worker

    return _make(request) | {"worker": get_worker().address}


def _make(request: dict[str, Any]) -> dict[str, Any]:
    backend, experiment = request["backend"], request["experiment"]
    mine = release(), backend.fingerprint()
    if run_hash(request["key"], backend.name, *mine) != request["hash"]:
        return {"trouble": other_version(*mine)}
    work = Work(Store(request["store"]), backend, request["metrics"], request.get("modules"))
    point = Point("", {}, experiment["seed"], experiment, request["key"])
    running, limit = Running(), request["limit_s"]
    alarm = threading.Timer(limit or threading.TIMEOUT_MAX, running.cancel)
    if limit:
        alarm.start()
    try:
        outcome = work.do(Job(request["hash"], point), running)
    except Cancelled:
        return {"trouble": f"took longer than {limit:g} s"}
    except StoreError as error:
        return {"trouble": str(error), "store": True}
    except MemoryError:
        return {"trouble": "is out of memory"}
    finally:
        alarm.cancel()
    return {"status": outcome.status, "error": outcome.error, "metrics": outcome.metrics}


@dataclass(eq=False)
class _Try:
    """A run that is to be made, and what it has met with."""

    job: Job
    troubles: list[str] = field(default_factory=list)
    avoid: set[str] = field(default_factory=set)
    futures: dict[str, Future] = field(default_factory=dict)
    given_to: set[str] = field(default_factory=set)
    handed_at: float = 0.0
    store_only: bool = True
    ended_before: int = 0

    def failed(self) -> Outcome:
        """Given up."""
        error = f"given up after {TRIES} tries: " + "; ".join(self.troubles)
        return Outcome(self.job.point, self.job.name, "failed", error=error)


class _Sweep:
    """Hands out runs, a few ahead, and collects their records."""

    def __init__(self, client: Client, work: Work, crew: Crew, patience: Patience):
        self._client, self._work, self._crew, self._patience = client, work, crew, patience
        self._store = str(work.store.path.resolve())
        self._answers: SimpleQueue[Future] = SimpleQueue()
        self._open: dict[str, _Try] = {}  # by a future's key; a run may have several
        self._again: deque[_Try] = deque()
        self._ended = 0

    def run(self, jobs: Iterator[Job]) -> Generator[Ended, None, None]:
        looked = -self._patience.poll_s
        more = True
        try:
            while more or self._open or self._again:
                given_up = []
                if time.monotonic() - looked >= self._patience.poll_s:
                    given_up = self._rescue(self._crew.look())
                    looked = time.monotonic()
                more = self._hand_out(jobs) and more
                yield given_up + self._collect(), 0.0
        finally:
            self._crew.close()
            with suppress(Exception):  # the scheduler may be gone
                self._client.cancel([f for attempt in self._tries() for f in attempt.futures.values()])

    def _tries(self) -> set[_Try]:
        return set(self._open.values())

    def _hand_out(self, jobs: Iterator[Job]) -> bool:
        """Fills the room there is. Returns whether there may be more jobs."""
        room = AHEAD * self._crew.threads - len(self._tries())
        while room > 0 and self._again:
            self._submit(self._again.popleft())
            room -= 1
        new = [_Try(job, ended_before=self._ended) for job in take(jobs, room)]
        for attempt in new:
            self._submit(attempt)
        return room <= 0 or bool(new)

    def _submit(self, attempt: _Try) -> None:
        name, point = attempt.job.name, attempt.job.point
        fit = self._crew.fit
        attempt.given_to = {address for address in fit if address not in attempt.avoid} or set(fit)
        future = self._client.submit(
            make,
            {
                "hash": name,
                "key": point.key,
                "experiment": point.experiment,
                "backend": self._work.backend,
                "store": self._store,
                "metrics": self._work.metrics,
                "modules": self._work.modules,
                "limit_s": self._patience.run_s,
            },
            key=f"run-{name}-{secrets.token_hex(4)}",
            workers=sorted(attempt.given_to),  # and no others: idle ones that cannot serve would steal it
        )
        attempt.handed_at = time.monotonic()
        attempt.futures[future.key] = future
        self._open[future.key] = attempt
        future.add_done_callback(self._answers.put)

    def _rescue(self, silent: set[str]) -> list[Outcome]:
        """Gives the runs of gone and silent workers to others, and overdue runs."""
        for attempt in self._tries():
            if attempt.given_to.isdisjoint(self._crew.present):  # dask would wait for their return
                self._forget(attempt)
                self._again.append(attempt)
        stuck: dict[_Try, str] = {}
        for address in silent:
            for key in dict(self._client.processing([address])).get(address, ()):
                if key in self._open:
                    self._open[key].avoid.add(address)
                    stuck[self._open[key]] = f"worker {self._crew.name(address)} does not answer"
        limit = self._patience.answer_s
        for attempt in self._tries():
            if limit is not None and time.monotonic() - attempt.handed_at > limit:
                stuck[attempt] = f"no answer in {limit:g} s"
        given_up = []
        for attempt, why in stuck.items():
            attempt.troubles.append(why)
            attempt.store_only = False
            if len(attempt.troubles) == TRIES:
                self._forget(attempt)
                given_up.append(attempt.failed())
            elif self._crew.fit:
                self._submit(attempt)
        return given_up

    def _collect(self) -> list[Outcome]:
        """The finished runs; waits a moment for the first."""
        outcomes = []
        with suppress(Empty):
            future = self._answers.get(timeout=0.2)
            while True:
                outcome = self._outcome(future)
                if outcome is not None:
                    outcomes.append(outcome)
                future = self._answers.get_nowait()
        return outcomes

    def _outcome(self, future: Future) -> Outcome | None:
        """The outcome of the future's run; None if it has one already, or is tried again."""
        attempt = self._open.get(future.key)
        if attempt is None:
            return None
        record = self._record(future)
        name, point = attempt.job.name, attempt.job.point
        if "trouble" not in record:
            run = None if record["status"] == "failed" else self._work.store.find(name)
            if run is not None or record["status"] == "failed":
                self._forget(attempt)
                self._ended += 1
                return Outcome(point, name, record["status"], run, record["error"], record["metrics"])
            record["trouble"] = f"stored it in a place that this machine cannot see: {self._store}"
        who = f"worker {self._crew.name(record['worker'])} " if "worker" in record else ""
        attempt.troubles.append(who + record["trouble"])
        attempt.store_only &= bool(record.get("store"))
        attempt.avoid |= {record["worker"]} if "worker" in record else set()
        del attempt.futures[future.key], self._open[future.key]
        if len(attempt.troubles) < TRIES:
            if not attempt.futures:
                self._again.append(attempt)
            return None
        self._forget(attempt)
        if attempt.store_only and self._ended == attempt.ended_before:
            raise StoreError(
                record["trouble"]
            )  # the store of all is full or gone, and nothing else ends either
        return attempt.failed()

    def _record(self, future: Future) -> dict[str, Any]:
        try:
            return future.result(timeout=self._patience.silent_s)
        except Exception as error:  # a worker that died again and again, or whatever else dask may say
            last = getattr(error, "last_worker", None)
            if last is not None:
                return {"trouble": "died during the run", "worker": last.address}
            return {"trouble": f"was lost: {error!r}"}

    def _forget(self, attempt: _Try) -> None:
        for key, future in attempt.futures.items():
            self._open.pop(key, None)
            future.release()
        attempt.futures = {}
