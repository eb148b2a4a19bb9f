"""Runs of the program, each stored as a run of the backend `ns3`."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.base import Running
from shallows.backends.linux.cache import digest
from shallows.backends.ns3 import command, tables
from shallows.backends.ns3.program import Program, program
from shallows.errors import Cancelled, RunError
from shallows.execution.jobs import Job, Outcome, Work
from shallows.results.store import Store, StoredRun, run_hash

if TYPE_CHECKING:
    from shallows.document.points import Point

__all__ = ["Runs"]


@dataclass(frozen=True)
class _Wanted:
    point: Point
    arguments: dict[str, str | int | float]
    like: StoredRun  # the simulator's run of the same experiment


class Runs:
    """The runs that are wanted, by hash. Made as a sweep makes its own: `do` is for `Threads`."""

    def __init__(self) -> None:
        self._program = program()
        self._wanted: dict[str, _Wanted] = {}

    def want(self, point: Point, simulated: StoredRun) -> str:
        """Adds a run whose flows start when the simulator's did; its hash is over all that decides it."""
        load = next(iter(point.experiment["traffic"].values()))
        flows = simulated.tables["flows"].filter(dst="r0").sort("id")
        incast = load["kind"] == "incast"
        starts = [0] * load["workers"] if incast else [ps // 1000 for ps in flows["start_ps"]]
        arguments = command.arguments(point.experiment, starts)
        sources = f"{self._program.hash}-{digest(Path(tables.__file__))}"
        name = run_hash(arguments, "ns3", self._program.version, sources)
        self._wanted[name] = _Wanted(point, arguments, simulated)
        return name

    def do(self, work: Work, job: Job, running: Running) -> Outcome:
        """See `Work.do`."""
        name, point = job
        if found := work.store.find(name):
            return Outcome(point, name, "stored", found)
        wanted = self._wanted[name]
        try:
            answer = _answer(self._program, wanted.arguments, running)
        except RunError as error:
            return Outcome(point, name, "failed", error=str(error))
        return Outcome(point, name, "done", self._save(name, wanted, answer, work.store))

    def _save(self, name: str, wanted: _Wanted, answer: dict[str, Any], store: Store) -> StoredRun:
        found = tables.tables(answer, wanted.arguments, wanted.point.experiment, wanted.like.tables)
        about = {
            "experiment": wanted.point.experiment,
            "hash": name,
            "seed": wanted.point.experiment["seed"],
            "version": self._program.version,
            "source_hash": self._program.hash,
            "backend": "ns3",
            "cpu_s": answer["cpu_s"],
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "counts": {"events": answer["events"]},
            "ns3": wanted.arguments,
        }
        return store.save(about, found)


def _answer(program: Program, arguments: dict[str, Any], running: Running) -> dict[str, Any]:
    command = [str(program.path), *(f"--{name}={value}" for name, value in arguments.items())]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, text=True)
        try:
            while process.poll() is None:
                if running.cancelled:
                    raise Cancelled("stopped on request")
                try:
                    process.wait(0.1)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()
            process.wait()
        out.seek(0), err.seek(0)
        if process.returncode:
            raise RunError(f"ns-3 ended with {process.returncode}: {err.read()[-1500:]}\n{' '.join(command)}")
        answer = json.load(out)
    if answer["port"]["drops_device"]:
        raise RunError(
            "packets were dropped by the device and not by the disc, whose limits are then not the port's"
        )
    return answer
