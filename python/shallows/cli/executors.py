"""The executor that the options of `sweep` ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from shallows.errors import Fault, SpecError
from shallows.execution.dask.connect import job_script, to_address, to_slurm
from shallows.execution.dask.executor import Cluster
from shallows.execution.dask.workers import Patience
from shallows.execution.jobs import Executor
from shallows.execution.threads import Threads

if TYPE_CHECKING:
    pass

__all__ = ["choose"]

T = TypeVar("T")


def choose(
    address: str | None, slurm: str | None, timeout: str | None, workers: int | None, script_only: bool
) -> Executor | str:
    """What makes the runs, by the options of `sweep`; or the text of a job script, if that was asked for.

    Raises SpecError with all faults.
    """
    remote = address is not None or slurm is not None
    faults: list[Fault] = []
    if address is not None and slurm is not None:
        faults.append(Fault("--slurm", "stands beside --cluster; give one of them", slurm))
    if remote and workers is not None:
        faults.append(Fault("--workers", "is of this machine; a cluster has its own", str(workers)))
    if timeout is not None and not remote:
        faults.append(Fault("--timeout", "is of --cluster and --slurm", timeout))
    if script_only and slurm is None:
        faults.append(Fault("--job-script", "is of --slurm"))
    limit_s = _checked(faults, _seconds, timeout)
    ways = _checked(faults, to_address, address), _checked(faults, to_slurm, slurm)
    if faults:
        raise SpecError(faults)
    if script_only and slurm is not None:
        return job_script(slurm)
    connect = ways[0] or ways[1]
    return Cluster(connect, Patience(run_s=limit_s)) if connect else Threads(workers)


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
        raise SpecError([Fault("--timeout", "must be longer than nothing", text)])
    return seconds
