"""Slurm jobs that serve one sweep: submitted by `sbatch`, watched by `squeue`, ended by `scancel`.

dask-jobqueue writes the job script and starts the scheduler. It submits in the background and reports no
refusal, so this module submits itself. The jobs' output goes to a directory that is removed at the end;
an error quotes it.
"""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import RunError

if TYPE_CHECKING:
    from dask_jobqueue.slurm import SLURMCluster
    from distributed import Client

EVERY_S = 5.0
"""Seconds between two questions to Slurm, which asks its users not to poll fast."""

DUMMY = "--name dummy-name"
"""The worker's name in dask-jobqueue's script; each job needs another one."""

__all__ = ["Slurm"]


@dataclass
class Slurm:
    """Connects a sweep to a scheduler in this process and to the workers of its Slurm jobs.

    `start` makes dask-jobqueue's cluster without jobs; `client` connects to it. Raises RunError if `sbatch`
    is missing or refuses a job, and from `check` if all jobs are gone.
    """

    jobs: int
    start: Callable[[], SLURMCluster]
    client: Callable[[Any], AbstractContextManager[Client]]
    name: str = field(default_factory=lambda: f"shallows-{secrets.token_hex(4)}")
    _asked_at: float = 0.0
    _missing: int = 0

    @contextmanager
    def __call__(self) -> Iterator[Client]:
        """Submits the jobs and yields a client. Cancels the jobs however the sweep ends, also by SIGTERM."""
        if shutil.which("sbatch") is None:
            raise RunError("--slurm needs the command sbatch, which is not installed on this machine")
        self._logs.mkdir()
        try:
            with _sigterm_unwinds(), self.start() as cluster:
                try:
                    for number in range(1, self.jobs + 1):
                        self._submit(cluster.job_script().replace(DUMMY, f"--name {self.name}-{number}"))
                    with self.client(cluster) as client:
                        yield client
                finally:
                    _run("scancel", f"--name={self.name}")
        finally:
            shutil.rmtree(self._logs, ignore_errors=True)

    @property
    def _logs(self) -> Path:
        return Path.cwd() / f".{self.name}"

    def _submit(self, script: str) -> None:
        output = f"--output={self._logs}/%j.out"
        done = _run("sbatch", "--parsable", f"--job-name={self.name}", output, text=script)
        if done.returncode:
            raise RunError(f"Slurm refused the job: {' '.join(done.stderr.split())}")

    def check(self, workers: int) -> str:
        """The states of the jobs in words, or "" if Slurm was asked a moment ago.

        Raises RunError if no job is left and no worker is there: two answers in a row, since a worker that
        has just started may not have reached the scheduler yet.
        """
        if time.monotonic() - self._asked_at < EVERY_S:
            return ""
        self._asked_at = time.monotonic()
        done = _run("squeue", "--noheader", f"--name={self.name}", "--format=%T (%r)")
        if done.returncode:  # the controller restarts now and then
            return "Slurm does not answer"
        states = Counter(done.stdout.splitlines())
        self._missing = 0 if states or workers else self._missing + 1
        if self._missing > 1:
            raise RunError(f"none of the {self.jobs} Slurm jobs is left; {self._last_words()}")
        return ", ".join(f"{count} {state.lower()}" for state, count in states.items())

    def _last_words(self) -> str:
        resumes = "finished runs are stored, and the same command resumes"
        for log in sorted(self._logs.glob("*.out"), reverse=True):
            lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
            said = [line.strip() for line in lines if line.strip()]
            if said:
                return f"{resumes}. The last line of job {log.stem}: {said[-1]}"
        return resumes


def _run(*command: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


@contextmanager
def _sigterm_unwinds() -> Iterator[None]:
    """SIGTERM ends the program through its `finally` clauses, so that no job stays behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
