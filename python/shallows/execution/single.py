"""One run: found in the store, or simulated and stored."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.base import BACKENDS, Running
from shallows.document.load import load
from shallows.document.paths import Document
from shallows.document.points import one_run
from shallows.errors import Cancelled, Fault, SpecError
from shallows.results.store import Store, StoredRun, run_hash
from shallows.tables.frames import to_frame

if TYPE_CHECKING:
    from shallows._core import Simulation


__all__ = ["identify", "simulate", "simulate_point"]


def simulate(
    experiment: str | Path | Mapping[str, Any] | Any,
    *,
    settings: Iterable[str] = (),
    algorithms: Iterable[Any] = (),
    store: Store | str | Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> StoredRun:
    """Runs one experiment, or finds it in the store, and returns the stored run.

    `algorithms` are classes and topology functions written in Python that the experiment may name.
    `progress` is called a few times a second with the share done, 0 to 1. Ctrl-C stops the run and stores
    nothing. Raises SpecError (all faults), RunError, StoreError, and what an algorithm raises.
    """
    point = one_run(load(experiment, settings, algorithms))
    store = store if isinstance(store, Store) else Store(store)
    store.prepare()
    running = Running()
    with ThreadPoolExecutor(1) as pool:
        try:
            # In here, since a Ctrl-C may come before `submit` returns, when the run has begun.
            future = pool.submit(simulate_point, point.experiment, store, running=running)
            while True:
                try:
                    return future.result(timeout=0.1)
                except NotYet:
                    if future.done():
                        raise
                    if progress:
                        progress(running.progress())
        except BaseException:
            running.cancel()
            raise


def identify(experiment: Document, backend: str = "simulator") -> dict[str, Any]:
    """What a manifest says of a run before it has run: experiment, hash, seed, version, sources, backend.

    Raises SpecError with all that the backend cannot do.
    """
    if backend not in BACKENDS:
        raise SpecError([Fault("--backend", f"must be one of {', '.join(BACKENDS)}", backend)])
    from shallows import _core

    version, source_hash = _versions()
    if backend == "linux":
        from shallows.backends.linux import backend as linux

        linux.check(experiment)
        source_hash = f"{source_hash}-{linux.source_hash()}"
    elif _kinds(experiment) & _others():
        _core.simulable(json.dumps(experiment))  # it tells them all, by path
    name = run_hash(experiment, backend, version, source_hash)
    about = {"experiment": experiment, "hash": name, "seed": experiment["seed"]}
    return about | {"version": version, "source_hash": source_hash, "backend": backend}


def _kinds(experiment: Document) -> set[str]:
    """Kinds of the loads' congestion controls."""
    return {load["transport"]["cc"]["kind"] for load in experiment.get("traffic", {}).values()}


@cache
def _others() -> frozenset[str]:
    """Congestion controls that another backend alone runs, by their declarations."""
    from shallows.document.schema import schema

    [section] = [each for each in schema()["sections"] if each["path"] == "transport.cc"]
    return frozenset(each["name"] for each in section["components"] if "backend" in each)


@cache
def _versions() -> tuple[str, str]:
    from importlib.metadata import version

    from shallows import _core

    return version("shallows"), _core.source_hash()


def simulate_point(
    experiment: Document, store: Store, *, backend: str = "simulator", running: Running | None = None
) -> StoredRun:
    """The stored run of a resolved experiment, simulated in this thread if it is not there yet.

    Raises RunError (Cancelled if stopped through `running`), StoreError.
    """
    about = identify(experiment, backend)
    return store.find(about["hash"]) or _run(about, store, running or Running())


def _run(about: dict[str, Any], store: Store, running: Running) -> StoredRun:
    if about["backend"] == "linux":
        return _run_on_linux(about, store, running)
    simulation, clocks = _simulated(about["experiment"], running)
    manifest = about | json.loads(simulation.manifest()) | clocks | _finished()
    return store.save(manifest, {name: to_frame(columns) for name, columns in simulation.tables().items()})


def _run_on_linux(about: dict[str, Any], store: Store, running: Running) -> StoredRun:
    from shallows.backends.linux import backend as linux

    # Its arrivals are the simulator's, and so is the shape of its tables.
    simulation, _ = _simulated(linux.with_stand_ins(about["experiment"]), running)
    like = {name: to_frame(columns) for name, columns in simulation.tables().items()}
    try:
        tables, more = linux.run(about["experiment"], like, lambda: running.cancelled, running.tell)
    finally:
        running.tell(None)
    return store.save(about | more | _finished(), tables)


def _finished() -> dict[str, str]:
    return {"finished_at": datetime.now(UTC).isoformat(timespec="seconds")}


def _simulated(experiment: Document, running: Running) -> tuple[Simulation, dict[str, float]]:
    from shallows import _core

    text, components = json.dumps(experiment), _components(experiment)
    simulation = _core.Simulation(text, components) if components else _core.Simulation(text)
    running.add(simulation, calls_python=bool(components))
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        simulation.run()
    except Exception as error:
        if running.cancelled:
            raise Cancelled("stopped on request") from error
        raise
    finally:
        running.remove(simulation)
    return simulation, {"cpu_s": time.thread_time() - cpu, "wall_s": time.perf_counter() - wall}


def _components(experiment: Document) -> dict[str, Any] | None:
    """The Python objects that the experiment declares."""
    if "python" not in experiment:
        return None
    from shallows.authoring import modules as plugins

    return plugins.objects(experiment)
