"""The workers of a dask cluster as a sweep sees them: fit, gone or silent."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.base import Backend
from shallows.errors import RunError, StoreError
from shallows.execution.jobs import release
from shallows.results.store import Store

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["Crew", "Patience", "examine", "other_version"]


@dataclass(frozen=True)
class Patience:
    """Waits in seconds: for one run (None: for ever), for a worker's sign of life, for one that can serve."""

    run_s: float | None = None
    silent_s: float = 60.0
    unfit_s: float = 10.0
    poll_s: float = 1.0

    @property
    def answer_s(self) -> float | None:
        """After so long a run that was handed out is given to another worker as well.

        It may have waited for one run before its own; the third is for slow files and slow networks.
        """
        return None if self.run_s is None else 3 * self.run_s + self.silent_s


def examine(store: str, token: str, backend: Backend, version: str, source_hash: str) -> str | None:
    """On a worker: why it cannot serve this sweep, or None. It must see the file `token` in the store."""
    mine = release(), backend.fingerprint()
    if mine != (version, source_hash):
        return other_version(*mine)
    for _ in range(20):  # a network file system may show a new file late
        if (Path(store) / token).exists():
            break
        time.sleep(0.25)
    else:
        return f"does not see the store {store} that the sweep writes to"
    try:
        Store(store).prepare()
    except StoreError as error:
        return f"cannot use the store: {error}"
    return None


def other_version(version: str, source_hash: str) -> str:
    """Words for a worker whose program differs; its results would have other names."""
    return f"runs another version (Shallows {version}, sources {source_hash[:12]})"


@dataclass
class _Worker:
    """The facts about a worker. `fit` is None while it is being examined."""

    name: str
    threads: int
    examined: Future
    fit: bool | None = None
    why: str = ""
    last_seen: float = 0.0
    alive_at: float = field(default_factory=time.monotonic)
    silent: bool = False


class Crew:
    """The workers of a sweep."""

    def __init__(
        self,
        client: Client,
        store: Path,
        backend: Backend,
        patience: Patience,
        tell: Callable[[str], None],
        check: Callable[[int], str] | None = None,
    ):
        self._client, self._patience, self._tell = client, patience, tell
        self._check = check or (lambda _workers: "")
        self._token = store.resolve() / f".new-seen-{secrets.token_hex(8)}"
        self._token.touch()
        self._what = (str(self._token.parent), self._token.name, backend, release(), backend.fingerprint())
        self._workers: dict[str, _Worker] = {}
        self._idle_since, self._told = time.monotonic(), False

    def close(self) -> None:
        """Removes the files for the workers."""
        self._token.unlink(missing_ok=True)

    @property
    def present(self) -> set[str]:
        """Addresses of all that the scheduler knew when it was last asked."""
        return set(self._workers)

    @property
    def fit(self) -> list[str]:
        """Addresses of those that can serve."""
        return [address for address, w in self._workers.items() if w.fit and not w.silent]

    @property
    def threads(self) -> int:
        """Runs that they make at a time."""
        return sum(self._workers[address].threads for address in self.fit)

    def name(self, address: str) -> str:
        """A worker for people: its name where it has one, and where it is."""
        worker = self._workers.get(address)
        return f"{worker.name} ({address})" if worker and worker.name != address else address

    def look(self) -> set[str]:
        """Asks the scheduler who is there. Returns the addresses of workers that have just fallen silent.

        Raises RunError if the scheduler is gone, or nobody can serve for longer than `Patience.unfit_s`.
        """
        present = self._present()
        for address in [a for a in self._workers if a not in present]:
            self._tell(f"worker {self.name(address)} is gone; other workers get its runs")
            del self._workers[address]
        for address, about in present.items():
            if address not in self._workers:
                self._workers[address] = self._welcome(address, about)
            self._judge(address)
        self._wait_or_give_up()
        return {a for a, about in present.items() if self._fell_silent(a, about.get("last_seen"))}

    def _present(self) -> dict[str, Any]:
        if self._client.status == "running":
            with suppress(OSError, TimeoutError):
                return dict(self._client.scheduler_info()["workers"])
        raise RunError("the scheduler is gone; finished runs are stored, and the same command resumes")

    def _welcome(self, address: str, about: Mapping[str, Any]) -> _Worker:
        key = f"examine-{secrets.token_hex(8)}"
        examined = self._client.submit(examine, *self._what, key=key, workers=[address], priority=10)
        return _Worker(str(about.get("name") or address), int(about.get("nthreads") or 1), examined)

    def _judge(self, address: str) -> None:
        worker = self._workers[address]
        if worker.fit is not None or worker.silent or not worker.examined.done():
            return
        try:
            if worker.examined.status == "finished":
                worker.why = worker.examined.result(timeout=self._patience.silent_s) or ""
            else:
                error = worker.examined.exception(timeout=self._patience.silent_s)
                worker.why = f"cannot run Shallows: {error!r}"
        except TimeoutError:  # it hangs since its examination: it is asked again until it falls silent
            return
        worker.fit = not worker.why
        if worker.why:
            self._tell(f"worker {self.name(address)} {worker.why}; it gets no runs")

    def _fell_silent(self, address: str, last_seen: Any) -> bool:
        """By this machine's clock: the scheduler's may differ."""
        worker, now = self._workers[address], time.monotonic()
        if last_seen != worker.last_seen:
            worker.last_seen, worker.alive_at, worker.silent = last_seen, now, False
        if worker.silent or now - worker.alive_at < self._patience.silent_s:
            return False
        worker.silent = True
        self._tell(f"worker {self.name(address)} does not answer; other workers get its runs too")
        return True

    def _wait_or_give_up(self) -> None:
        jobs = self._check(len(self._workers))
        if self.fit or any(worker.fit is None and not worker.silent for worker in self._workers.values()):
            self._idle_since, self._told = time.monotonic(), False
            return
        waited = time.monotonic() - self._idle_since
        unfit = {self.name(address): worker.why for address, worker in self._workers.items() if worker.why}
        if unfit and waited > self._patience.unfit_s:
            reasons = "; ".join(f"{name} {why}" for name, why in unfit.items())
            raise RunError(f"no worker of the cluster can serve: {reasons}")
        if not self._workers and waited > 5 and not self._told:
            self._told = True
            self._tell("the cluster has no workers yet; waiting" + (f": jobs {jobs}" if jobs else ""))
