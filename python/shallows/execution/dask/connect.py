"""Ways to a dask cluster, checked before use: a scheduler that runs already, or jobs asked of Slurm."""

from __future__ import annotations

import logging
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from shallows.document.paths import parse_value
from shallows.errors import Fault, RunError, SpecError
from shallows.execution.dask.slurm import Slurm
from shallows.words import did_you_mean

if TYPE_CHECKING:
    from dask_jobqueue.slurm import SLURMCluster
    from distributed import Client

Connect = Callable[[], "AbstractContextManager[Client]"]
T = TypeVar("T")

SLURM_KEYS: dict[str, tuple[type, str]] = {
    "jobs": (int, "Slurm jobs to ask for"),
    "cores": (int, "cores of a job"),
    "memory": (str, "memory of a job: 64GB"),
    "walltime": (str, "time limit of a job: 08:00:00"),
    "queue": (str, "partition"),
    "account": (str, "account that pays"),
    "processes": (int, "worker processes of a job; default 1, with a thread a core"),
    "interface": (str, "network that the nodes see each other on: ib0"),
}
"""What `--slurm` takes; `jobs`, `cores`, `memory` and `walltime` are required."""

CONNECT_S = 10
"""A scheduler that is there answers sooner."""

REQUIRED = ("jobs", "cores", "memory", "walltime")

__all__ = ["REQUIRED", "SLURM_KEYS", "Connect", "job_script", "to_address", "to_slurm"]


def to_address(address: str) -> Connect:
    """Connects to a scheduler: `host:8786`, `tcp://host:8786`, `tls://...`, or the .json file it wrote.

    Raises SpecError for what is no address, and if the packages are missing; the connection itself RunError.
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
        options["jobs"],
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

    # What its loggers say of lost connections, the sweep says in its own words.
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


def _slurm_cluster(options: dict[str, Any]) -> SLURMCluster:
    interrupt = signal.getsignal(signal.SIGINT)
    from dask_jobqueue.slurm import SLURMCluster

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)  # importing it makes Ctrl-C leave without a word

    return SLURMCluster(
        cores=options["cores"],
        processes=options.get("processes", 1),
        memory=options["memory"],
        walltime=options["walltime"],
        queue=options.get("queue"),
        account=options.get("account"),
        interface=options.get("interface"),
        job_name="shallows",
        scheduler_options={"dashboard_address": None},
    )


def _slurm_options(text: str) -> dict[str, Any]:
    faults, options = _missing("--slurm"), {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, written = (word.strip() for word in part.partition("="))
        if not equals or not written:
            faults.append(Fault("--slurm", "must be key=value, key=value ...", part))
        elif key not in SLURM_KEYS:
            rule = f"unknown key; known: {', '.join(SLURM_KEYS)}"
            faults.append(Fault("--slurm", rule, key, did_you_mean(key, SLURM_KEYS)))
        elif key in options:
            faults.append(Fault(f"--slurm {key}", "is given twice", written))
        else:
            options[key] = _option(key, written, faults)
    for key in REQUIRED:
        if key not in options:
            faults.append(Fault(f"--slurm {key}", f"is required: {SLURM_KEYS[key][1]}"))
    if faults:
        raise SpecError(faults)
    return options


_FORMS = {"memory": r"\d+(\.\d+)?\s?[KMGT]i?B", "walltime": r"(\d+-)?\d{1,3}(:\d{2}){1,2}"}


def _option(key: str, written: str, faults: list[Fault]) -> Any:
    kind, what = SLURM_KEYS[key]
    if kind is int:
        value = parse_value(written)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 100_000:
            faults.append(Fault(f"--slurm {key}", f"must be a whole number from 1: {what}", written))
        return value
    if key in _FORMS and not re.fullmatch(_FORMS[key], written):
        faults.append(Fault(f"--slurm {key}", f"is not {what}", written))
    return written


def _missing(option: str) -> list[Fault]:
    from importlib.util import find_spec

    if find_spec("distributed") and find_spec("dask_jobqueue"):
        return []
    hint = "tools/uv sync --inexact --extra cluster"
    return [Fault(option, "needs the packages of the extra cluster", hint=hint)]
