"""Programs of this machine on the hosts of an experiment's network, in virtual time.

Each host sees this machine's files, read-only, under a layer of its own that programs can write. The guest's
part is in `guest/programs.c`, `guest/hosts.c` and `guest/capture.c`.
"""

from __future__ import annotations

import dataclasses
import shutil
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import confine, controls, machine, scenario, tables, transports
from shallows.backends.linux.backend import checked, ready
from shallows.backends.linux.network import matches
from shallows.backends.linux.root import root
from shallows.errors import Fault, RunError, SpecError
from shallows.results.pcapng import ports_of
from shallows.words import did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.kernel import Kernel
    from shallows.backends.linux.network import Scenario
    from shallows.document.paths import Document

__all__ = ["Command", "Ended", "Lab", "Outcome", "command", "execute", "experiment", "session", "shell"]

ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "USER": "root",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Without the processor's clock (bit 4) and random numbers (bits 62, 64 + 18): OPENSSL_ia32cap(3).
    "OPENSSL_ia32cap": "~0x4000000000000010:~0x40000",
}
"""The environment of every program: nothing of the caller's shell changes a run; `--env` adds to it."""

SHELL = "if command -v bash >/dev/null; then exec bash --norc -i; else exec sh -i; fi"
"""The shell of `linux shell`, without settings of the user's that may start other programs."""

SESSION = "100000s"
"""Length of a session at most, since the sections of the guest's plan need one."""

IDLE = "no-traffic"
"""Name of the load that stands for the transport's settings where a file has no traffic; it sends nothing."""


@dataclass(frozen=True)
class Command:
    """A command of the shell on the hosts whose names match. The run does not wait for a server."""

    host: str
    text: str
    server: bool = False


@dataclass(frozen=True)
class Lab:
    """All that is asked for beside the experiment."""

    commands: tuple[Command, ...]
    directory: Path
    captures: Mapping[str, Path] = dataclasses.field(default_factory=dict)  # by link or host
    keep: bool = False
    call_ns: int = 1000
    memory_mb: int = 1024
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """A program after the run: its exit status or the signal that ended it, and what it wrote."""

    host: str
    command: str
    status: int | None
    signal: int | None
    stopped: bool  # at the end of the run, which it had not reached by itself
    ended_s: float | None
    stdout: bytes
    stderr: bytes

    @property
    def failed(self) -> bool:
        """Whether it ended by itself and not with 0."""
        return not self.stopped and self.status != 0


@dataclass(frozen=True)
class Outcome:
    """The remains of a run of programs."""

    programs: tuple[Ended, ...]
    queues: pl.DataFrame
    flows: pl.DataFrame | None
    ended_s: float
    about: dict[str, Any]
    datagrams: pl.DataFrame | None = None  # of the background, if it has some


def command(host: str, text: str) -> Command:
    """A command as it is written: one that ends with `&` is a server."""
    text = text.strip()
    server = text.endswith("&") and not text.endswith("&&")
    return Command(host, text[:-1].rstrip() if server else text, server)


def experiment(document: Document) -> Document:
    """The document as one that has some traffic, and counts from the beginning. Its `warmup` is left out."""
    made = {**document, "warmup": "0s"}
    if not made.get("traffic"):
        made["traffic"] = {IDLE: {"kind": "bulk", "from": "*", "to": "*", "bytes": "1B"}}
    return made


def session(document: Document) -> Document:
    """The document of a shell: as of programs, as long as a session, and without traces.

    The tables are thrown away, and traces would take memory for as long as the session lasts.
    """
    return {**experiment(document), "duration": SESSION, "probe": {}}


def shell(resolved: Document, host: str, directory: Path, size: tuple[int, int], memory_mb: int) -> None:
    """A shell on a host, at the terminal of this process, in real time. The file's loads do not run.

    `resolved` is the experiment of a `session`. `size` is the terminal's, in columns and lines. Raises
    SpecError before anything starts, RunError.
    """
    import polars as pl

    used = ready()
    network, ways = checked(resolved, used)
    names = [name for _, name in _hosts(network)]
    if host not in names:
        rule = f"must be a host of the network: {', '.join(names[:10])}{', ...' * (len(names) > 10)}"
        raise SpecError([Fault("HOST", rule, host, did_you_mean(host, names))])
    columns, lines = size
    text = f"stty columns {columns} rows {lines} 2>/dev/null; {SHELL}"
    lab = Lab((Command(host, text),), directory, memory_mb=memory_mb, environment={"PS1": r"\h:\w\$ "})
    [started] = _started(lab, network)
    further = [*_lines(resolved, lab, network, [started]), "terminal"]
    # Loads whose times the simulator would tell send nothing without its tables.
    traffic = {name: {**load, "kind": "bulk"} for name, load in resolved["traffic"].items()}
    quiet = {**resolved, "traffic": traffic}
    made = scenario.scenario(quiet, network, ways, pl.DataFrame(), pl.DataFrame(), further)
    machine.attach(used, root(), made.plan, resolved["seed"], made.memory_mb + memory_mb)


def execute(
    resolved: Document,
    lab: Lab,
    out: Path | None,
    cancelled: Callable[[], bool] = lambda: False,
    progress: Callable[[float], None] = lambda share: None,
) -> Outcome:
    """Runs the programs until all that are waited for have ended, or for the experiment's duration.

    Captures, and changed files if they are kept, go to where `lab` says and to `out`. Raises SpecError with
    all that is wrong before anything starts, RunError with what the guest said, and Cancelled.
    """
    from shallows.backends.base import Running
    from shallows.backends.simulator import Simulator

    used = ready()
    network, ways = checked(resolved, used)
    started = _started(lab, network)
    simulated = Simulator().run(controls.with_stand_ins(resolved), Running()).tables
    flows, messages = simulated["flows"], simulated["messages"]
    idle = list(resolved["traffic"]) == [IDLE]
    if idle:
        flows, messages = flows.clear(), messages.clear()
    further = _lines(resolved, lab, network, started)
    made = scenario.scenario(resolved, network, ways, flows, messages, further)
    memory = made.memory_mb + lab.memory_mb
    options = [f"uml_call_ns={lab.call_ns}"]
    with machine.boot(
        used,
        root(),
        made.plan,
        resolved["seed"],
        cancelled,
        progress,
        memory,
        options=options,
        confined=True,
        ready=made.verify,
    ) as answer:
        return _outcome(used, resolved, lab, made, network, started, simulated, answer, out, idle)


@dataclass(frozen=True)
class _Started:
    """A command on one host."""

    node: int
    host: str
    command: Command


def _hosts(network: Mapping[str, Any]) -> list[tuple[int, str]]:
    return [(number, node["name"]) for number, node in enumerate(network["nodes"]) if node["host"]]


def _started(lab: Lab, network: Mapping[str, Any]) -> list[_Started]:
    """Each command on each of its hosts. Raises SpecError for those that match no host or say nothing."""
    hosts = _hosts(network)
    found, faults = [], []
    for each in lab.commands:
        if not each.text:
            faults.append(Fault(f"--on {each.host}", "needs a command to run"))
        chosen = [_Started(node, name, each) for node, name in hosts if fnmatchcase(name, each.host)]
        if not chosen:
            names = ", ".join(name for _, name in hosts[:10]) + (", ..." if len(hosts) > 10 else "")
            faults.append(Fault("--on", f"must name a host of the network: {names}", each.host))
        found += chosen
    for name in lab.captures:
        if not _taps(name, network):
            rule = "must name a link or a host of the network"
            faults.append(Fault("--pcap", rule, name, f"as in {network['ports'][0]['name']}"))
    if faults:
        raise SpecError(faults)
    return found


def _taps(link_or_host: str, network: Mapping[str, Any]) -> list[str]:
    """Places of a capture of a link or host: node, device, port, and whether packets arrive there."""
    patterns = ports_of(link_or_host)
    found = []
    for number, port in enumerate(network["ports"]):
        name = port["name"]
        if matches(name, patterns[0]):
            found.append(f"{port['from']} p{number} {name} 0")
        elif any(matches(name, pattern) for pattern in patterns[1:]):
            found.append(f"{port['to']} i{number} {name} 1")
    return found


def _lines(resolved: Document, lab: Lab, network: Mapping[str, Any], started: list[_Started]) -> list[str]:
    """Lines of the guest's plan: files of all hosts, variables, captures, programs."""
    hosts = [f"{scenario.address(number)} {name}" for number, (_, name) in enumerate(_hosts(network))]
    files = {
        "hosts": ["127.0.0.1 localhost", *hosts],
        "resolv.conf": ["# No name server: hosts are in /etc/hosts."],
        "nsswitch.conf": [f"{kind}: files" for kind in ("passwd", "group", "shadow", "hosts", "services")],
    }
    lines = []
    for name, text in files.items():
        lines += [f"file {name} {len(text)}", *text]
    transport = transports.tcp(resolved).transport
    for node, _ in _hosts(network):
        lines.append(f"sysctl {node} tcp_congestion_control {controls.kernel_name(transport)}")
    variables = ENVIRONMENT | dict(lab.environment)
    lines += [f"variable {name}={value}" for name, value in variables.items()]
    lines.append(f"directory {lab.directory}")
    if lab.keep:
        lines.append("keep")
    for number, name in enumerate(lab.captures):
        lines += [f"capture {number} {tap}" for tap in _taps(name, network)]
    for each in started:
        text = each.command.text.split("\n")
        lines.append(f"program {each.node} {each.host} {int(each.command.server)} {len(text)}")
        lines += text
    return lines


def _outcome(
    used: Kernel,
    resolved: Document,
    lab: Lab,
    made: Scenario,
    network: Mapping[str, Any],
    started: list[_Started],
    simulated: Mapping[str, pl.DataFrame],
    answer: machine.Answer,
    out: Path | None,
    idle: bool,
) -> Outcome:
    import polars as pl

    directory = answer.directory
    raw = pl.read_csv(directory / "programs.csv").to_dicts() if started else []
    programs = []
    for number, (each, row) in enumerate(zip(started, raw, strict=True)):
        texts = [(directory / f"program{number}.{name}").read_bytes() for name in ("stdout", "stderr")]
        programs.append(
            Ended(
                each.host,
                each.command.text,
                row["status"] if row["status"] >= 0 else None,
                row["signal"] or None,
                bool(row["stopped"]),
                row["ended_ns"] / 1e9 if row["ended_ns"] >= 0 else None,
                _whole(texts[0], row["stdout_bytes"]),
                _whole(texts[1], row["stderr_bytes"]),
            )
        )
    for number, path in enumerate(lab.captures.values()):
        _take(directory / f"capture{number}.pcapng", path)
    if lab.keep and out is not None:
        _keep_changes(directory, out, dict(_hosts(network)))
    ended_ps = int((directory / "ended").read_text()) * 1000 if started else made.numbers["duration"]
    found = tables.until(directory, made, resolved, simulated, ended_ps)
    about = {
        "kernel": used.about,
        "call_ns": lab.call_ns,
        "seed": resolved["seed"],
        "confined": confine.available(),
        "cpu_s": answer.cpu_s,
        "wall_s": answer.wall_s,
    }
    flows = None if idle else found["flows"]
    sent = found["datagrams"] if len(found["datagrams"]) else None
    return Outcome(tuple(programs), found["queues"], flows, ended_ps / 1e12, about, sent)


def _whole(text: bytes, size: int) -> bytes:
    """An output, with a line at its end where it was cut."""
    if size <= len(text):
        return text
    return text + f"\n[cut by Shallows after {len(text)} of {size} bytes]\n".encode()


def _take(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise RunError(f"{target} was not written: {error.strerror}") from error


def _keep_changes(directory: Path, out: Path, hosts: Mapping[int, str]) -> None:
    """Unpacks the layers that programs wrote: files by host, and the names of those that were removed."""
    for node, name in hosts.items():
        archive = directory / f"changes{node}.tar"
        if not archive.exists():
            continue
        place = out / "files" / name
        removed = []
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.ischr():  # how an overlay notes that a file is gone
                    removed.append(member.name.removeprefix("."))
                elif member.isfile() or member.isdir() or member.issym():
                    _unpack(tar, member, place)
        if removed:
            place.mkdir(parents=True, exist_ok=True)
            (out / "files" / f"{name}.removed").write_text("".join(f"{path}\n" for path in removed))


def _unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    """Unpacks what stays within `place`: a program of the guest must not place files elsewhere by a link."""
    if member.issym():
        return  # the text of a link can name any file of this machine
    member.mode |= 0o700 if member.isdir() else 0o600
    tar.extract(member, place, filter="data")
