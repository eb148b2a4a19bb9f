"""One virtual machine: booted with a plan, watched, and gone when the block ends, whatever happened."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shallows.errors import Cancelled, RunError
from shallows.linux.kernel import Kernel
from shallows.linux.root import Root

MEMORY_MB = 512
SILENCE_S = 600.0
"""Wall time after which a machine that has told nothing is held to hang."""

__all__ = ["Answer", "boot"]


@dataclass(frozen=True)
class Answer:
    """What a machine left: its directory of results, and its clocks."""

    directory: Path
    console: str
    wall_s: float
    cpu_s: float


@contextmanager
def boot(
    kernel: Kernel, root: Root, plan: str, seed: int, cancelled: Callable[[], bool] = lambda: False
) -> Iterator[Answer]:
    """Runs a plan to its end; the results are there within the block.

    Raises RunError with what the guest or its console said, Cancelled if `cancelled()` became true.
    """
    with _directory() as directory:
        (directory / "plan").write_text(plan)
        began = time.monotonic()
        cpu = _run(_command(kernel, root, seed), directory, cancelled)
        console = (directory / "console.log").read_text(errors="replace")
        if (directory / "failed").exists():
            raise RunError(_refusal(directory))
        if "guest: end" not in console:
            raise RunError(f"the Linux machine stopped before its end; its console:\n{console[-2000:]}")
        yield Answer(directory, console, time.monotonic() - began, cpu)


def _command(kernel: Kernel, root: Root, seed: int) -> list[str]:
    """The kernel mixes its command line into its entropy: nothing that differs between runs may be on it."""
    words = [
        "root=/dev/root",
        "rootfstype=hostfs",
        f"rootflags={root.path}",
        "ro",
        "init=/sbin/init",
        f"mem={MEMORY_MB}M",
        "con=null",
        "con0=null,fd:1",
        "quiet",
        "norandmaps",
        "time-travel=inf-cpu",
        "time-travel-start=1700000000000000000",
        f"uml_seed={seed}",
        "umid=shallows",
    ]
    if not kernel.weakness:  # seccomp is faster than ptrace, and newer
        words.append("seccomp=on")
    return [str(kernel.path), *words]


def _run(command: list[str], directory: Path, cancelled: Callable[[], bool]) -> float:
    environment = {
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",  # User-Mode Linux unmaps what glibc registers
        "TMPDIR": str(directory / "memory"),
        "HOME": str(directory / "memory"),
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    }
    with (directory / "console.log").open("wb") as console:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_stay_on_one_core,  # the child does nothing else
        )
        try:
            return _watch(process, directory / "console.log", cancelled)
        finally:
            _kill(process)


def _stay_on_one_core() -> None:
    """Kernel and guest are two processes that hand over at each call: on one core three times faster."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


def _watch(process: subprocess.Popen[bytes], console: Path, cancelled: Callable[[], bool]) -> float:
    size, heard = 0, time.monotonic()
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        if cancelled():
            raise Cancelled("stopped on request")
        if console.stat().st_size != size:
            size, heard = console.stat().st_size, time.monotonic()
        if time.monotonic() - heard > SILENCE_S:
            text = console.read_text(errors="replace")[-2000:]
            raise RunError(
                f"the Linux machine said nothing for {SILENCE_S:.0f} s and was stopped; its console:\n{text}"
            )
        time.sleep(0.02)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        if process.returncode is None:
            process.wait()


def _refusal(directory: Path) -> str:
    why = (directory / "failed").read_text().strip()
    log = directory / "commands.log"
    said = log.read_text(errors="replace").strip().splitlines()[-6:] if log.exists() else []
    return "\n".join([f"the Linux machine stopped: {why}", *said])


@contextmanager
def _directory() -> Iterator[Path]:
    """A directory for the machine's files, its memory among them, hence in memory where that is possible."""
    shared = Path("/dev/shm")
    place = shared if shared.is_dir() and os.access(shared, os.W_OK) else None
    directory = Path(tempfile.mkdtemp(prefix="shallows-linux-", dir=place))
    try:
        (directory / "memory").mkdir()
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
