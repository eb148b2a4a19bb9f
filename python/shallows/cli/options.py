"""Options that several commands share, each declared once, and the runner that follows from them."""

from __future__ import annotations

import functools
import inspect
import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from shallows import terminal
from shallows.document.places import program
from shallows.errors import Fault, SpecError

if TYPE_CHECKING:
    from shallows.backends.base import Backend as BackendOf
    from shallows.execution.jobs import Executor
    from shallows.execution.runner import Runner
    from shallows.terminal import Report

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


def _apart(values: list[str]) -> list[str]:
    """The names in texts that may hold several, with commas between."""
    return [name.strip() for value in values for name in value.split(",")]


Metric = Annotated[
    list[str],
    typer.Option("--metric", callback=_apart, help="Shows these metrics only: a,b; * matches any text."),
]
By = Annotated[
    Literal["class", "size"] | None,
    typer.Option("--by", help="A row for each class, or each class and size of message.", show_default=False),
]
Sizes = Annotated[
    str | None,
    typer.Option("--sizes", metavar="ENDS", help="Ends of the size bins: 10KB,1MB.", show_default=False),
]
Percentiles = Annotated[
    str | None,
    typer.Option(
        "--percentiles", metavar="LIST", help="More percentiles of times: 90,99.9.", show_default=False
    ),
]
OverSeeds = Annotated[bool, typer.Option("--over-seeds", help="Means over the seeds with 95 % intervals.")]

Expect = Annotated[
    list[str],
    typer.Option(
        "--expect", metavar="TEXT", help="Ends with status 1 unless this holds: 'web.fct_p99_ps < 2ms'."
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="Writes the expectations' verdicts as JUnit's XML.",
        show_default=False,
    ),
]
CsvDir = Annotated[
    Path | None,
    typer.Option("--csv", metavar="DIR", help="Writes all tables as CSV, and fct.txt.", show_default=False),
]


class Format(StrEnum):
    """A format of figures."""

    SVG = "svg"
    PDF = "pdf"
    PNG = "png"


Formats = Annotated[
    list[Format],
    typer.Option("--format", help="Writes figures in this format too; may be repeated.", show_default=False),
]

Page = Annotated[bool, typer.Option("--report", help="Writes a page with results, figures and settings.")]

Backend = Annotated[str, typer.Option(help="Backend: simulator, linux (see ./shallows linux) or ns3.")]
KernelName = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="NAME",
        help="Kernel of the backend linux: version, package, tree or hash.",
        show_default=False,
    ),
]
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
        help="Runs in Slurm jobs: jobs=10,cores=16,memory=32GB, or more (clusters.md).",
        show_default=False,
    ),
]
Timeout = Annotated[
    str | None,
    typer.Option("--timeout", metavar="SPAN", help="Wall-clock limit of one run: 600s.", show_default=False),
]
Progress = Annotated[bool, typer.Option("--progress/--no-progress", help="Shows the progress of the work.")]

__all__ = [
    "By",
    "CsvDir",
    "Expect",
    "File",
    "Formats",
    "How",
    "Json",
    "Junit",
    "KernelName",
    "Metric",
    "Out",
    "OverSeeds",
    "Page",
    "Percentiles",
    "Seeds",
    "Settings",
    "Sizes",
    "StorePath",
    "Workers",
    "command_line",
    "executor",
    "makes_runs",
    "seconds",
]


@dataclass(frozen=True)
class How:
    """The options that every command shares that makes runs. `makes_runs` gives them to a command."""

    store: StorePath = None
    workers: Workers = None
    threads: ThreadCount = None
    allow_memory: AllowMemory = False
    cluster: ClusterAddress = None
    slurm: SlurmJobs = None
    timeout: Timeout = None
    backend: Backend = "simulator"
    kernel: KernelName = None
    progress: Progress = True

    def runner(self) -> Runner:
        """The runner by the options. Raises SpecError with all faults."""
        from shallows.execution.runner import Runner

        place = executor(self.cluster, self.slurm, self.timeout, self.workers)
        return Runner.of(
            store=self.store,
            workers=self.workers,
            threads=self.threads,
            allow_memory=self.allow_memory,
            executor=place,
            backend=self._backend(),
            limit_s=None if self.timeout is None else seconds(self.timeout),
        )

    def _backend(self) -> str | BackendOf:
        if self.kernel is None:
            return self.backend
        from shallows.execution.backends import on_kernel

        return on_kernel(self.backend, self.kernel)

    def report(self, what: str, total: float) -> AbstractContextManager[Report]:
        """The display of progress, unless it is not wanted."""
        return terminal.progress(what, total, self.progress)


def makes_runs(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of `How` in place of its parameter `how`."""
    shared = inspect.signature(How, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True).parameters

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        how = How(**{name: given.pop(name) for name in shared})
        command(**given, how=how)

    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        parameters += shared.values() if name == "how" else [parameter]
    vars(with_options)["__signature__"] = inspect.Signature(parameters)
    with_options.__annotations__ = {p.name: p.annotation for p in parameters}
    return with_options


def executor(
    address: str | None, slurm: str | None, timeout: str | None, workers: int | None = None
) -> Executor | None:
    """The executor of the options, if they ask for one. Raises SpecError with all faults."""
    if address is None and slurm is None:
        return None
    from shallows.execution.dask.connect import to_address, to_slurm
    from shallows.execution.dask.executor import Cluster
    from shallows.execution.dask.workers import Patience

    faults: list[Fault] = []
    if address is not None and slurm is not None:
        faults.append(Fault("--slurm", "cannot be given together with --cluster", slurm))
    if workers is not None:
        faults.append(Fault("--workers", "applies to local runs; a cluster has its own", workers))
    limit_s = _checked(faults, seconds, timeout)
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


def seconds(text: str, option: str = "--timeout") -> float:
    """A time in seconds. Raises SpecError if the text is none, or not above zero."""
    from shallows import _core

    try:
        seconds = _core.parse_quantity("span", text) / 1e12
    except ValueError as error:
        raise SpecError([Fault(option, str(error), text)]) from None
    if not seconds > 0:
        raise SpecError([Fault(option, "must be greater than zero", text)])
    return seconds


def command_line() -> str:
    """The command line as it was typed, for reports."""
    return " ".join([program(), *map(shlex.quote, sys.argv[1:])])
