"""One virtual machine: booted with a plan, watched, and always removed when the block ends."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shallows.backends.linux import cache
from shallows.backends.linux.kernel import Kernel
from shallows.backends.linux.process import confine
from shallows.backends.linux.process.oops import cause
from shallows.backends.linux.root import Root
from shallows.errors import Cancelled, RunError

SILENCE_S = 300.0
"""Wall time after which a silent machine counts as hanging: it reports each thousandth of its run."""

COPY_S = 0.25
"""Wall time between two copies of what programs have written."""

LOGS = 20
"""Console logs of failed machines that are kept."""

__all__ = ["Answer", "attach", "boot"]


class Streams(Protocol):
    """Takes out of a machine's directory what programs write."""

    def copy(self, directory: Path) -> None:
        """Copies what is new; called while the machine runs."""
        ...

    def broke(self, directory: Path) -> None:
        """Keeps all of a machine that did not reach its end."""
        ...


@dataclass(frozen=True)
class Answer:
    """The remains of a machine: its directory of results, and its clocks."""

    directory: Path
    console: str
    wall_s: float
    cpu_s: float


@contextmanager
def boot(
    kernel: Kernel,
    root: Root,
    plan: str,
    seed: int,
    cancelled: Callable[[], bool] = lambda: False,
    progress: Callable[[float], None] = lambda share: None,
    memory_mb: int = 512,
    silence_s: float = SILENCE_S,
    options: Sequence[str] = (),
    confined: bool = False,
    ready: Callable[[Path], None] = lambda directory: None,
    streams: Streams | None = None,
) -> Iterator[Answer]:
    """Runs a plan to its end; the results are there within the block.

    `ready` looks at the machine's directory once its network stands, and ends the run if it raises RunError.
    `streams` copies what programs write while it runs, and keeps it if the machine does not reach its end.

    `options` are further words of the kernel's command line. A machine that is `confined` may write to its
    own directory and nowhere else, as far as the host's kernel can see to that (`confine`).

    Raises RunError with what the guest or its console said, Cancelled if `cancelled()` became true.
    """
    with _directory() as directory:
        (directory / "plan").write_text(plan)
        (directory / "root").symlink_to(root.path)
        began = time.monotonic()
        console = directory / "console.log"
        try:
            watch = _Watch(ready, streams)
            command = [*_command(kernel, seed, memory_mb), *options]
            with confine.to(directory) if confined else nullcontext(_as_before) as limit:
                cpu = _run(command, directory, cancelled, progress, silence_s, limit, watch)
            said = console.read_text(errors="replace")
            if (directory / "failed").exists():
                raise RunError(_refusal(directory))
            if "guest: end" not in said:
                raise RunError(cause(said))
        except BaseException as error:
            if streams is not None:
                streams.broke(directory)
            if not isinstance(error, RunError) or isinstance(error, Cancelled):
                raise
            raise RunError(f"{error}\nits console is kept in {_keep(console)}") from None
        yield Answer(directory, said, time.monotonic() - began, cpu)


def attach(kernel: Kernel, root: Root, plan: str, seed: int, memory_mb: int) -> None:
    """Runs a plan in real time, with this process's input and output as the machine's second console.

    The machine writes to its own directory alone (`confine`). Raises RunError with what the guest said.
    """
    with _directory() as directory, _terminal_as_it_was():
        (directory / "plan").write_text(plan)
        (directory / "root").symlink_to(root.path)
        log = directory / "console.log"
        with log.open("wb") as console, confine.to(directory) as limit, _core() as core:
            words = [word for word in _command(kernel, seed, memory_mb) if not word.startswith(VIRTUAL)]
            process = subprocess.Popen(
                [*words, f"con0=null,fd:{console.fileno()}", "con1=fd:0,fd:1"],
                cwd=directory,
                env=_environment(directory),
                stderr=console,
                pass_fds=[console.fileno()],
                start_new_session=True,
                preexec_fn=lambda: _prepare(core, limit),  # the child does nothing else
            )
            try:
                process.wait()
            finally:
                _kill(process)
        said = log.read_text(errors="replace")
        why = _refusal(directory) if (directory / "failed").exists() else cause(said)
        if "guest: end" not in said:
            raise RunError(f"{why}\nits console is kept in {_keep(log)}")


@dataclass(frozen=True)
class _Watch:
    """The watch over a machine while it runs."""

    ready: Callable[[Path], None]
    streams: Streams | None

    def copy(self, directory: Path) -> None:
        """Copies what programs have written."""
        if self.streams is not None:
            self.streams.copy(directory)


READY = b"guest: network ready"
"""The guest's line once the plan's network stands and its settings are printed."""

VIRTUAL = ("time-travel", "con0=", "con=")
"""Words of the command line of a machine in virtual time without a terminal."""


@contextmanager
def _terminal_as_it_was() -> Iterator[None]:
    """The machine sets the terminal of standard input to raw mode; a killed one leaves it so."""
    import termios

    try:
        before = termios.tcgetattr(0)
    except termios.error:  # no terminal
        yield
        return
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def _environment(directory: Path) -> dict[str, str]:
    return {
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",  # User-Mode Linux unmaps memory that glibc registers
        "TMPDIR": str(directory / "memory"),
        "HOME": str(directory / "memory"),
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    }


def _command(kernel: Kernel, seed: int, memory_mb: int) -> list[str]:
    """The kernel mixes its command line into its entropy: nothing may be on it that differs between runs or
    machines, and so no path.
    """
    words = [
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/proc/self/cwd/root",
        "ro",
        "init=/sbin/init",
        f"mem={memory_mb}M",
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
        words.append("seccomp=auto")
    return [str(kernel.path), *words]


def _run(
    command: list[str],
    directory: Path,
    cancelled: Callable[[], bool],
    progress: Callable[[float], None],
    silence_s: float,
    limit: Callable[[], None],
    watch: _Watch,
) -> float:
    with (directory / "console.log").open("wb") as console, _core() as core:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=_environment(directory),
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: _prepare(core, limit),  # the child does nothing else
        )
        try:
            return _watch(process, directory, cancelled, progress, silence_s, watch)
        finally:
            _kill(process)


_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_LOCK = threading.Lock()
_MACHINES: Counter[int] = Counter()
"""By core, the machines of this process that run on it."""


@contextmanager
def _core() -> Iterator[int]:
    """A core for one machine: none that has more of this process's machines than another.

    Taken in turn, a machine that runs for long would get company while the core of a short one stays free.
    Other processes begin with another core.
    """
    cores = sorted(os.sched_getaffinity(0))
    first = os.getpid() % len(cores)
    with _LOCK:
        core = min(cores[first:] + cores[:first], key=lambda each: _MACHINES[each])
        _MACHINES[core] += 1
    try:
        yield core
    finally:
        with _LOCK:
            _MACHINES[core] -= 1


def own_number() -> int:
    """A number that no other process or thread has, for names of files that are being written."""
    return os.getpid() * 10**9 + time.monotonic_ns() % 10**9


def _as_before() -> None:
    """No limit."""


def _prepare(core: int, limit: Callable[[], None]) -> None:
    """Sets up the child process before the kernel starts in it."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a killed process takes the machine along
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a panic aborts
    # Kernel and guest are two processes that hand over at each call: on one core three times faster.
    os.sched_setaffinity(0, {core})
    limit()


def _watch(
    process: subprocess.Popen[bytes],
    directory: Path,
    cancelled: Callable[[], bool],
    progress: Callable[[float], None],
    silence_s: float,
    watch: _Watch,
) -> float:
    console = directory / "console.log"
    size, heard, stands, copied = 0, time.monotonic(), False, time.monotonic()
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
        if not stands and READY in console.read_bytes():
            stands = True
            watch.ready(directory)
        if stands and time.monotonic() - copied > COPY_S:
            watch.copy(directory)
            copied = time.monotonic()
        if pid:
            return usage.ru_utime + usage.ru_stime
        if cancelled():
            raise Cancelled("stopped on request")
        if console.stat().st_size != size:
            size, heard = console.stat().st_size, time.monotonic()
            progress(_share(console))
        if time.monotonic() - heard > silence_s:
            raise RunError(f"the Linux machine hangs: it said nothing for {silence_s:.0f} s and was stopped")
        time.sleep(0.02)


def _share(console: Path) -> float:
    """The share of the run that is done, by the guest's last line about it."""
    with console.open("rb") as file:
        file.seek(max(console.stat().st_size - 200, 0))
        told = re.findall(rb"guest: at (\d+) of 1000\r?\n", file.read())
    return int(told[-1]) / 1000 if told else 0.0


def _keep(console: Path) -> Path:
    """Puts a console log where it stays, and removes the oldest."""
    logs = cache.cache() / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    kept = logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{time.monotonic_ns() % 10**9}.log"
    shutil.copyfile(console, kept)
    for old in sorted(logs.glob("*.log"))[:-LOGS]:
        old.unlink(missing_ok=True)
    return kept


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


PREFIX = "shallows-linux-"


@contextmanager
def _directory() -> Iterator[Path]:
    """A directory for the machine's files, its memory among them, from which programs may run."""
    place = next((place for place in _places() if _fits(place)), None)
    if place is None:
        raise RunError("there is no directory for temporary files from which programs may run")
    _clear(place)
    directory = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place))
    try:
        (directory / "memory").mkdir()
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _places() -> list[Path]:
    return [
        Path("/dev/shm"),
        Path(tempfile.gettempdir()),
        Path("/var/tmp"),
    ]  # in memory where that is possible


def _fits(place: Path) -> bool:
    return (
        place.is_dir() and os.access(place, os.W_OK | os.X_OK) and not os.statvfs(place).f_flag & os.ST_NOEXEC
    )


def _clear(place: Path) -> None:
    """Removes the remains of killed processes."""
    for left in place.glob(f"{PREFIX}*"):
        owner = left.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists() and left.stat().st_uid == os.getuid():
            shutil.rmtree(left, ignore_errors=True)
