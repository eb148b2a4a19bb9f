"""The simulator of the core as a backend."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from shallows.backends import calls, silence
from shallows.backends.base import Made, Running
from shallows.backends.memory import free_memory
from shallows.document.kernel_settings import refuse
from shallows.document.schema import components
from shallows.tables.frames import to_frame

if TYPE_CHECKING:
    from shallows.document.paths import Document

__all__ = ["Simulator"]


@dataclass(frozen=True)
class Simulator:
    """Runs experiments in this process, each on `threads` threads; their number changes no result.

    A run whose estimate exceeds the memory that is free is refused, unless `allow_memory` says otherwise.
    """

    threads: int | None = None
    allow_memory: bool = False

    @property
    def name(self) -> str:
        """See `Backend`."""
        return "simulator"

    def check(self, experiment: Document) -> None:
        """See `Backend`."""
        from shallows import _core

        refuse(experiment, "the simulator")
        if _controls(experiment) & _of_other_backends():
            _core.simulable(json.dumps(experiment))  # it names them all, by path

    def fingerprint(self) -> str:
        """See `Backend`: hash of the core's sources."""
        from shallows import _core

        return _core.source_hash()

    def run(self, experiment: Document, running: Running) -> Made:
        """See `Backend`."""
        from shallows import _core

        text, components = json.dumps(experiment), _components(experiment)
        memory = None if self.allow_memory else free_memory()
        simulation = _core.Simulation(text, components, memory)
        if self.threads is not None:
            simulation.set_threads(self.threads)
        running.add(simulation, calls_python=bool(components))
        # The clock of this thread alone knows nothing of the others that work for it.
        clock = time.process_time if (self.threads or 1) > 1 and simulation.cells() > 1 else time.thread_time
        wall, cpu = time.perf_counter(), clock()
        try:
            with calls.watched(running.alone) if components else nullcontext():
                simulation.run()
        except Exception as error:
            why = running.stopped(simulation)
            if why is not None:
                raise why from error
            raise
        finally:
            running.remove(simulation)
        clocks = {"cpu_s": clock() - cpu, "wall_s": time.perf_counter() - wall}
        tables = {name: to_frame(columns) for name, columns in simulation.tables().items()}
        about = json.loads(simulation.manifest())
        about["notes"] += silence.notes(experiment, tables, about["slowest"], _core.numbers(text))
        return Made(tables, about | clocks)


def _controls(experiment: Document) -> set[str]:
    """Kinds of the loads' congestion controls."""
    return {load["transport"]["cc"]["kind"] for load in experiment.get("traffic", {}).values()}


@cache
def _of_other_backends() -> frozenset[str]:
    """Congestion controls that another backend alone runs, by their declarations."""
    return frozenset(name for name, each in components("transport.cc").items() if "backend" in each)


def _components(experiment: Document) -> dict[str, Any] | None:
    """The Python objects that the experiment declares."""
    if "python" not in experiment:
        return None
    from shallows.authoring import modules

    return modules.objects(experiment)
