"""Options that several commands share, and the runner that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from shallows.errors import Fault, SpecError

if TYPE_CHECKING:
    from shallows.execution.jobs import Executor
    from shallows.execution.runner import Runner

T = TypeVar("T")

File = Annotated[Path, typer.Argument(help="Experiment file (TOML).", show_default=False)]
Settings = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Overrides one setting by its path.")
]
Seeds = Annotated[int | None, typer.Option(min=1, help="Runs with seeds 1 to N.", show_default=False)]
Json = Annotated[
    bool, typer.Option("--json", help="Prints one JSON document on standard output and nothing else.")
]
Out = Annotated[Path, typer.Option(help="Directory for the report.")]

Metric = Annotated[list[str], typer.Option("--metric", help="Shows these metrics only; * matches any text.")]
By = Annotated[
    Literal["class", "size"] | None,
    typer.Option("--by", help="A row for each class, or each class and size of message.", show_default=False),
]
OverSeeds = Annotated[bool, typer.Option("--over-seeds", help="Means over the seeds with 95 % intervals.")]

Backend = Annotated[str, typer.Option(help="Backend: simulator, linux (see ./shallows linux) or ns3.")]
StorePath = Annotated[
    Path | None, typer.Option("--store", help="Store of runs; default: $SHALLOWS_STORE, else ./runs.")
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, max=4096, help="Parallel runs; default: all cores.", show_default=False),
]
ThreadCount = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        max=1024,
        help="Threads of one simulation; default: one in a sweep, all cores for a single large run.",
        show_default=False,
    ),
]
AllowMemory = Annotated[
    bool,
    typer.Option("--allow-memory", help="Lets a run take more memory than is free by its estimate."),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Runs on this dask cluster.", show_default=False),
]
SlurmJobs = Annotated[
    str | None,
    typer.Option(
        "--slurm",
        metavar="JOBS",
        help="Runs in Slurm jobs: jobs=10,cores=16,memory=32GB,walltime=08:00:00,queue=NAME ...",
        show_default=False,
    ),
]
Timeout = Annotated[
    str | None,
    typer.Option("--timeout", metavar="SPAN", help="Wall-clock limit of one run: 600s.", show_default=False),
]
Progress = Annotated[bool, typer.Option("--progress/--no-progress", help="Shows the progress of the work.")]

__all__ = [
    "AllowMemory",
    "Backend",
    "By",
    "ClusterAddress",
    "File",
    "Json",
    "Metric",
    "Out",
    "OverSeeds",
    "Progress",
    "Seeds",
    "Settings",
    "SlurmJobs",
    "StorePath",
    "ThreadCount",
    "Timeout",
    "Workers",
    "executor",
    "runner",
]


def runner(
    *,
    store: Path | None,
    workers: int | None,
    threads: int | None,
    allow_memory: bool,
    backend: str,
    cluster: str | None,
    slurm: str | None,
    timeout: str | None,
) -> Runner:
    """How runs are made. Raises SpecError with all faults."""
    from shallows.execution.runner import Runner

    place = executor(cluster, slurm, timeout, workers)
    limit_s = _seconds(timeout) if timeout is not None else None
    return Runner.of(
        store=store,
        workers=workers,
        threads=threads,
        allow_memory=allow_memory,
        executor=place,
        backend=backend,
        limit_s=limit_s,
    )


def executor(
    address: str | None, slurm: str | None, timeout: str | None, workers: int | None = None
) -> Executor | None:
    """What makes the runs elsewhere, if the options ask for it. Raises SpecError with all faults."""
    if address is None and slurm is None:
        return None
    from shallows.execution.dask.connect import to_address, to_slurm
    from shallows.execution.dask.executor import Cluster
    from shallows.execution.dask.workers import Patience

    faults: list[Fault] = []
    if address is not None and slurm is not None:
        faults.append(Fault("--slurm", "cannot be given together with --cluster", slurm))
    if workers is not None:
        faults.append(Fault("--workers", "applies to local runs; a cluster has its own", str(workers)))
    limit_s = _checked(faults, _seconds, timeout)
    ways = _checked(faults, to_address, address), _checked(faults, to_slurm, slurm)
    connect = ways[0] or ways[1]
    if faults or connect is None:
        raise SpecError(faults)
    return Cluster(connect, Patience(run_s=limit_s))


def _checked(faults: list[Fault], read: Callable[[str], T], text: str | None) -> T | None:
    try:
        return None if text is None else read(text)
    except SpecError as error:
        faults += error.faults
        return None


def _seconds(text: str) -> float:
    from shallows import _core

    try:
        seconds = _core.parse_quantity("span", text) / 1e12
    except ValueError as error:
        raise SpecError([Fault("--timeout", f"must be a time: {error}", text)]) from None
    if not seconds > 0:
        raise SpecError([Fault("--timeout", "must be greater than zero", text)])
    return seconds
