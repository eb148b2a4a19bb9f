"""Connections to a dask cluster, checked before use: a running scheduler, or Slurm jobs."""

from __future__ import annotations

import logging
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AfterValidator, Field

from shallows.document import strict
from shallows.document.strict import Strict, refuse
from shallows.errors import Fault, RunError, SpecError
from shallows.execution.dask.slurm import Slurm
from shallows.extras import install_command

if TYPE_CHECKING:
    from dask_jobqueue.slurm import SLURMCluster
    from distributed import Client

Connect = Callable[[], "AbstractContextManager[Client]"]
T = TypeVar("T")

CONNECT_S = 10
"""A scheduler that is there answers sooner."""

__all__ = ["Connect", "SlurmOptions", "job_script", "to_address", "to_slurm"]


def _form(pattern: str, words: str) -> AfterValidator:
    """A text of this form, which a fault says in words."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise refuse("wrong-form", f"must be {words}")
        return text

    return AfterValidator(check)


class SlurmOptions(Strict):
    """The value of `--slurm`: KEY=VALUE,KEY=VALUE ..."""

    jobs: int = Field(ge=1, le=100_000, description="number of Slurm jobs")
    cores: int = Field(ge=1, le=100_000, description="cores of a job")
    memory: Annotated[str, _form(r"\d+(\.\d+)?\s?[KMGT]i?B", 'an amount such as "64GB"')] = Field(
        description="memory of a job: 64GB"
    )
    walltime: Annotated[
        str, _form(r"(\d+-)?\d{1,3}(:\d{2}){1,2}", 'a time such as "08:00:00" or "2-00:00:00"')
    ] = Field(description="time limit of a job: 08:00:00")
    queue: str | None = Field(None, description="partition")
    account: str | None = Field(None, description="account to charge")
    processes: int = Field(1, ge=1, le=100_000, description="worker processes of a job, with a thread a core")
    interface: str | None = Field(None, description="network interface between the nodes: ib0")


def to_address(address: str) -> Connect:
    """Connects to a scheduler: `host:8786`, `tcp://host:8786`, `tls://...`, or the .json file it wrote.

    Raises SpecError for a wrong address, and if the packages are missing; the connection itself RunError.
    """
    faults = _missing("--cluster")
    if address.endswith(".json"):
        if not Path(address).is_file():
            faults.append(Fault("--cluster", "there is no such scheduler file", address))
    elif not re.fullmatch(r"((tcp|tls|ws|wss)://)?(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}", address):
        hint = "tcp://head-node:8786, or the file of dask scheduler --scheduler-file"
        faults.append(
            Fault("--cluster", "must be the address of a dask scheduler, or its .json file", address, hint)
        )
    if faults:
        raise SpecError(faults)

    @contextmanager
    def connect() -> Iterator[Client]:
        where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
        with _client(address, **where) as client:
            yield client

    return connect


def to_slurm(text: str) -> Slurm:
    """Asks Slurm for jobs whose workers connect back here. Raises SpecError with all faults of the text."""
    options = _slurm_options(text)
    return Slurm(
        options.jobs,
        start=lambda: _slurm_cluster(options),
        client=lambda cluster: _client("the Slurm cluster", address=cluster),
    )


def job_script(text: str) -> str:
    """The script of one job of `--slurm`, as it would be submitted."""
    with _slurm_cluster(_slurm_options(text)) as cluster:
        return cluster.job_script()


@contextmanager
def _client(name: str, **where: Any) -> Iterator[Client]:
    import dask
    from distributed import Client

    # The sweep reports lost connections itself, so its loggers are silent.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT_S}s"}):
        try:
            client = Client(**where, set_as_default=False, timeout=CONNECT_S)
        except (OSError, TimeoutError, ValueError) as error:
            raise RunError(f"no dask scheduler answers at {name}: {error}") from error
        try:
            yield client
        finally:
            client.close(timeout=2)


def _slurm_cluster(options: SlurmOptions) -> SLURMCluster:
    interrupt = signal.getsignal(signal.SIGINT)
    from dask_jobqueue.slurm import SLURMCluster

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)  # importing it makes Ctrl-C leave without a word

    return SLURMCluster(
        cores=options.cores,
        processes=options.processes,
        memory=options.memory,
        walltime=options.walltime,
        queue=options.queue,
        account=options.account,
        interface=options.interface,
        job_name="shallows",
        scheduler_options={"dashboard_address": None},
    )


def _slurm_options(text: str) -> SlurmOptions:
    faults, options = _missing("--slurm"), dict[str, Any]()
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, written = (word.strip() for word in part.partition("="))
        if not equals or not written:
            faults.append(Fault("--slurm", "must be key=value, key=value ...", part, code="wrong-form"))
        elif key in options:
            faults.append(Fault(f"--slurm {key}", "is given twice", written, code="written-twice"))
        else:
            options[key] = int(written) if re.fullmatch(r"-?\d{1,9}", written) else written
    found: list[Fault] = []
    read = strict.read(SlurmOptions, options, "", found)
    faults += [replace(fault, path=f"--slurm {fault.path}") for fault in found]
    if faults or read is None:
        raise SpecError(faults)
    return read


def _missing(option: str) -> list[Fault]:
    from importlib.util import find_spec

    if find_spec("distributed") and find_spec("dask_jobqueue"):
        return []
    return [Fault(option, "needs the packages of the extra cluster", hint=install_command("cluster"))]
