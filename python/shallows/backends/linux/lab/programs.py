"""Programs of this machine on the hosts of an experiment's network, in virtual time.

Each host sees this machine's files, read-only, under a layer of its own that programs can write. The guest's
part is in `guest/programs.c`, `guest/hosts.c` and `guest/capture.c`.
"""

from __future__ import annotations

import dataclasses
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import confine, controls, machine, scenario, tables
from shallows.backends.linux.backend import checked, ready
from shallows.backends.linux.lab import environment, exchanges
from shallows.backends.linux.lab.outcome import Broken, Ended, Outcome, Stopped
from shallows.backends.linux.lab.streams import OUTPUTS, Streams
from shallows.backends.linux.root import root
from shallows.document import kernel_settings
from shallows.errors import Cancelled, Fault, Interrupted, RunError, SpecError
from shallows.results.pcapng import ports_of
from shallows.words import did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.kernel import Kernel
    from shallows.backends.linux.network import Scenario
    from shallows.backends.linux.paths import Ways
    from shallows.document.paths import Document

__all__ = ["Command", "Lab", "Started", "command", "execute", "experiment", "session", "shell"]

SHELL = "if command -v bash >/dev/null; then exec bash --norc -i; else exec sh -i; fi"
"""The shell of `linux shell`, without settings of the user's that may start other programs."""

SESSION = "100000s"
"""Length of a session at most, since the sections of the guest's plan need one."""

IDLE = "no-traffic"
"""Name of the load that stands for the transport's settings where a file has no traffic; it sends nothing."""

CUT_BYTES = 64 << 20
"""The bytes of one output of a program that are kept (MOST_OUTPUT of the guest)."""


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
    counters_ns: int = 0  # between two readings of the kernel's counters; 0 for none
    kernel: str | None = None  # by name, before the experiment's


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

    used = ready(kernel_settings.kernel_of(resolved))
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

    used = ready(lab.kernel or kernel_settings.kernel_of(resolved))
    network, ways = checked(resolved, used)
    started = _started(lab, network)
    simulated = Simulator().run(controls.with_stand_ins(resolved), Running()).tables
    flows, messages = simulated["flows"], simulated["messages"]
    idle = list(resolved["traffic"]) == [IDLE]
    if idle:
        flows, messages = flows.clear(), messages.clear()
    taps, ring_bytes = _taps_of_hosts(network)
    further = [*_lines(resolved, lab, network, started), *taps]
    if lab.counters_ns:
        further.append(f"counters {lab.counters_ns}")
    made = scenario.scenario(resolved, network, ways, flows, messages, further, programs=True)
    memory = made.memory_mb + lab.memory_mb + (ring_bytes // 2**20 if ring_bytes > LARGE_RINGS else 0)
    options = [f"uml_call_ns={lab.call_ns}", *scenario.boot_parameters(resolved, used)]
    streams = Streams(started, out, lab.captures)
    try:
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
            streams=streams,
        ) as answer:
            of_ways = scenario.ways_of(resolved, network, ways)
            whole = _Whole(used, resolved, lab, made, network, of_ways, started, simulated, idle)
            return whole.outcome(answer, streams, out)
    except Cancelled:
        raise
    except RunError as error:
        raise Broken(str(error), _broken(used, resolved, lab, streams, str(error))) from None
    except (KeyboardInterrupt, Interrupted) as error:
        why = str(error) or "interrupted"
        raise Stopped(why, _broken(used, resolved, lab, streams, why)) from None


def _broken(used: Kernel, resolved: Document, lab: Lab, streams: Streams, why: str) -> Outcome:
    """What is left of a run that did not reach its end."""
    about = _about(used, resolved, lab)
    return Outcome(streams.programs, None, None, None, about, error=why)


def _about(used: Kernel, resolved: Document, lab: Lab) -> dict[str, Any]:
    return {
        "kernel": used.about,
        "call_ns": lab.call_ns,
        "seed": resolved["seed"],
        "sysctls": scenario.sysctls(resolved),
        "parameters": resolved.get("linux", {}).get("parameter", {}),
        "environment": environment.variables(lab.environment),
        "confined": confine.available(),
    }


@dataclass(frozen=True)
class Started:
    """A command on one host."""

    node: int
    host: str
    command: Command


def _hosts(network: Mapping[str, Any]) -> list[tuple[int, str]]:
    return [(number, node["name"]) for number, node in enumerate(network["nodes"]) if node["host"]]


def _started(lab: Lab, network: Mapping[str, Any]) -> list[Started]:
    """Each command on each of its hosts. Raises SpecError for those that match no host or say nothing."""
    hosts = _hosts(network)
    found, faults = [], []
    for each in lab.commands:
        if not each.text:
            faults.append(Fault(f"--on {each.host}", "needs a command to run"))
        chosen = [Started(node, name, each) for node, name in hosts if fnmatchcase(name, each.host)]
        if not chosen:
            names = ", ".join(name for _, name in hosts[:10]) + (", ..." if len(hosts) > 10 else "")
            faults.append(Fault("--on", f"must name a host of the network: {names}", each.host))
        found += chosen
    for name in lab.captures:
        if not _taps(name, network):
            rule = "must name a link or a host of the network"
            faults.append(Fault("--pcap", rule, name, f"as in {_port_name(network, 0)}"))
    if faults:
        raise SpecError(faults)
    return found


LEAST_PACKET_BYTES = 84
"""Of the smallest frame on the wire, with preamble and gap."""

MOST_FRAMES, LEAST_FRAMES = 262_144, 1024
FRAME_BYTES = 128

LARGE_RINGS = 64 << 20
"""Rings of more bytes than this get memory of their own."""


def _taps_of_hosts(network: Mapping[str, Any]) -> tuple[list[str], int]:
    """A line of the plan for each wire that ends at a host, whose packets are counted; and the rings' bytes.

    The guest empties the rings whenever it samples the queues.
    """
    nodes, between_ps = network["nodes"], scenario.sample_ps(network["numbers"])
    lines, total = [], 0
    arriving = [(port["to"], number, port) for number, port in enumerate(network["ports"])]
    for node, number, port in sorted(arriving, key=lambda each: each[:2]):
        if nodes[node]["host"]:
            packets = port["rate_bps"] * between_ps // (8 * LEAST_PACKET_BYTES * 10**12)
            frames = min(max(packets * 5 // 4, LEAST_FRAMES), MOST_FRAMES)
            lines.append(f"tap {node} i{number} {frames}")
            total += frames * FRAME_BYTES
    return lines, total


def _port_name(network: Mapping[str, Any], number: int) -> str:
    port, nodes = network["ports"][number], network["nodes"]
    return f"{nodes[port['from']]['name']}->{nodes[port['to']]['name']}"


def _taps(link_or_host: str, network: Mapping[str, Any]) -> list[str]:
    """Places of a capture of a link or host: node, device, port, and whether packets arrive there."""
    patterns = ports_of(link_or_host)
    found = []
    for number, port in enumerate(network["ports"]):
        name = _port_name(network, number)
        if fnmatchcase(name, patterns[0]):
            found.append(f"{port['from']} p{number} {name} 0")
        elif any(fnmatchcase(name, pattern) for pattern in patterns[1:]):
            found.append(f"{port['to']} i{number} {name} 1")
    return found


def _lines(resolved: Document, lab: Lab, network: Mapping[str, Any], started: list[Started]) -> list[str]:
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
    transport = next(iter(resolved["traffic"].values()))["transport"]
    for node, _ in _hosts(network):
        lines.append(f"sysctl {node} tcp_congestion_control {controls.kernel_name(transport)}")
    variables = environment.variables(lab.environment)
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


@dataclass(frozen=True)
class _Whole:
    """A run that reached its end, and the way from the guest's files to its outcome."""

    used: Kernel
    resolved: Document
    lab: Lab
    made: Scenario
    network: Mapping[str, Any]
    ways: Ways
    started: list[Started]
    simulated: Mapping[str, pl.DataFrame]
    idle: bool

    def outcome(self, answer: machine.Answer, streams: Streams, out: Path | None) -> Outcome:
        """Programs, tables and notes; captures, outputs and changed files go to their places."""
        directory = answer.directory
        programs = self._programs(directory)
        for number, path in enumerate(self.lab.captures.values()):
            _take(directory / f"capture{number}.pcapng", path)
        if self.lab.keep and out is not None:
            _keep_changes(directory, out, dict(_hosts(self.network)))
        if out is not None:
            streams.copy(directory)
            _take(directory / "dmesg", out / "dmesg.txt") if self.started else None
        whole = self.made.numbers["duration"]
        ended_ps = int((directory / "ended").read_text()) * 1000 if self.started else whole
        found = tables.until(directory, self.made, self.resolved, self.simulated, ended_ps)
        queues, flows = found.pop("queues"), found.pop("flows")
        found |= self._flows_of_programs(directory)
        orphans = self._orphans(directory)
        notes = [
            *self._unfinished(programs, ended_ps / 1e12),
            *(f"{host}: {text!r} was left behind, and stopped as the run ended" for host, text in orphans),
            *self._changes(directory, queues),
            *exchanges.unqueued(found["program_flows"], queues, self.network, self.ways),
        ]
        about = _about(self.used, self.resolved, self.lab) | {"cpu_s": answer.cpu_s, "wall_s": answer.wall_s}
        background = None if self.idle else flows
        return Outcome(
            programs, queues, background, ended_ps / 1e12, about, found, tuple(notes), tuple(orphans)
        )

    def _programs(self, directory: Path) -> tuple[Ended, ...]:
        import polars as pl

        rows = pl.read_csv(directory / "programs.csv").to_dicts() if self.started else []
        found = []
        for number, (each, row) in enumerate(zip(self.started, rows, strict=True)):
            texts = [(directory / f"program{number}.{name}").read_bytes() for name in OUTPUTS]
            found.append(
                Ended(
                    each.host,
                    each.command.text,
                    row["status"] if row["status"] >= 0 else None,
                    row["signal"] or None,
                    bool(row["stopped"]),
                    row["ended_ns"] / 1e9 if row["ended_ns"] >= 0 else None,
                    _whole(texts[0], row["stdout_bytes"]),
                    _whole(texts[1], row["stderr_bytes"]),
                    each.command.server,
                )
            )
        return tuple(found)

    def _flows_of_programs(self, directory: Path) -> dict[str, pl.DataFrame]:
        names = {scenario.address(place): name for place, (_, name) in enumerate(_hosts(self.network))}
        found = {"program_flows": exchanges.program_flows(directory, names)}
        if self.resolved["probe"]["flow_trace"] != "off":
            found["program_trace"] = exchanges.program_trace(directory, found["program_flows"], names)
        if self.lab.counters_ns:
            found["counters"] = exchanges.counters(directory, self.network["nodes"])
        return found

    def _orphans(self, directory: Path) -> list[tuple[str, str]]:
        """Host and command of each process that programs left behind."""
        if not self.started:
            return []
        rows = [
            line.split(" ", 1) for line in (directory / "orphans").read_text(errors="replace").splitlines()
        ]
        return [(self._node(int(node)), text.strip()) for node, text in rows]

    def _node(self, number: int) -> str:
        return self.network["nodes"][number]["name"] if number >= 0 else "a host"

    def _unfinished(self, programs: Sequence[Ended], at_s: float) -> Iterator[str]:
        for each in programs:
            if each.unfinished:
                yield (
                    f"{each.host}: {each.command!r} had not finished when the run ended after {at_s:.6f} s"
                    " (a server's command ends with &)"
                )
            elif reason := environment.not_found(each, self.lab.environment):
                yield reason

    def _changes(self, directory: Path, queues: pl.DataFrame) -> Iterator[str]:
        """Lines about what programs have changed, as it is read back at the end."""
        for name in queues.filter(queues["packets_out"].is_null())["port"]:
            yield f"{name}: a program removed its discipline or device, so that its counts are null"
        for line in self.made.changed(directory):
            yield f"a program changed the network: {line}"
        sysctls = (directory / "sysctls").read_text().splitlines() if self.started else []
        for node, name, value in (line.split(" ", 2) for line in sysctls):
            whole = name if "." in name else f"net.ipv4.{name}"
            yield f"a program changed a sysctl of {self._node(int(node))}: {whole} is {value}"
        if missed := int((directory / "missed").read_text()):
            yield f"program_flows lacks {missed} packets: a shorter probe.queue_trace counts all"


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
