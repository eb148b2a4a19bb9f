"""`./shallows linux exec`: programs of this machine over an experiment's network, in virtual time."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shallows import terminal
from shallows.cli.options import File, Formats, Json, KernelName, Progress, Settings
from shallows.errors import Fault, Interrupted, SpecError, Written

if TYPE_CHECKING:
    from types import FrameType

    from shallows.backends.linux.lab.outcome import Ended, Outcome
    from shallows.backends.linux.lab.programs import Command

__all__ = ["exec_", "shell"]

QUEUES = (
    *("port", "packets_out", "drops", "marks"),
    *("mean_packets", "max_packets", "utilisation"),
)
"""Columns of the queues' table that are shown; `--out` has all."""

QLOG = "/tmp/qlog"
"""The directory on a host that QLOGDIR names, which quic-go and other programs of QUIC read."""


def exec_(
    file: File,
    commands: Annotated[
        list[str], typer.Argument(metavar="COMMAND...", help="A command for each --on.", show_default=False)
    ] = [],  # noqa: B006 - typer reads it as "none given"
    on: Annotated[
        list[str],
        typer.Option("--on", metavar="HOST COMMAND", help="Runs a shell command on a host; s* is all."),
    ] = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    out: Annotated[
        Path | None,
        typer.Option(help="New directory for outputs, tables and changed files.", show_default=False),
    ] = None,
    pcap: Annotated[
        list[str],
        typer.Option(
            "--pcap", metavar="LINK_OR_HOST=FILE", help="Writes packets for Wireshark: r0=r0.pcapng."
        ),
    ] = [],  # noqa: B006
    keep: Annotated[bool, typer.Option("--keep", help="Keeps changed files, in --out.")] = False,
    call: Annotated[str, typer.Option(metavar="SPAN", help="Virtual time that a system call takes.")] = "1us",
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory of the machine for programs.")] = "1GB",
    env: Annotated[
        list[str], typer.Option("--env", metavar="NAME=VALUE", help="A variable for programs.")
    ] = [],  # noqa: B006
    counters: Annotated[
        str | None,
        typer.Option(
            metavar="SPAN",
            help="Reads the kernel's counters of each host this often, for --out and --json.",
            show_default=False,
        ),
    ] = None,
    qlog: Annotated[
        bool,
        typer.Option(
            "--qlog", help="Sets QLOGDIR for programs that write qlog, and keeps the files in --out/qlog."
        ),
    ] = False,
    formats: Formats = [],  # noqa: B006
    kernel: KernelName = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs with seeds 1 to N, each in --out/N.", show_default=False)
    ] = None,
    expect: Annotated[
        list[str],
        typer.Option(
            "--expect", metavar="TEXT", help="Ends with status 1 unless this holds: 's0.1.ended_ps < 2s'."
        ),
    ] = [],  # noqa: B006
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Writes the expectations' verdicts as JUnit's XML.", show_default=False
        ),
    ] = None,
    progress: Progress = True,
    as_json: Json = False,
) -> None:
    """Runs programs of this machine on simulated hosts. The file has their network; time is virtual.

    The run ends when all programs have ended, or at the file's `duration`. A command that ends with `&` is a
    server: the run does not wait for it. Programs see this machine's files and write to a copy of their own.
    The exit status is 1 if a program failed, and 124 if one was stopped that is no server.
    With --pcap alone the file's own traffic is captured, for its whole `duration`.
    """
    from shallows.backends.linux.lab import expectations, programs
    from shallows.backends.linux.lab.metrics import metrics
    from shallows.backends.linux.lab.outcome import Broken, Stopped
    from shallows.backends.linux.lab.results import document, write
    from shallows.document.load import load
    from shallows.document.points import expand, one_run, with_seeds
    from shallows.results import pcapng

    asked = _commands(on, commands)
    captures = pcapng.parse_requests(pcap)
    faults: list[Fault] = []
    if not asked and not captures:
        faults.append(Fault("--on", "needs a host and a command, or --pcap a link or host to capture"))
    lab = programs.Lab(
        asked,
        Path.cwd(),
        captures,
        keep or qlog,
        _number(faults, "--call", "span", call) // 1000,
        _number(faults, "--memory", "bytes", memory) // 2**20,
        {**_environment(faults, env), **({"QLOGDIR": QLOG} if qlog else {})},
        0 if counters is None else _number(faults, "--counters", "span", counters) // 1000,
        kernel,
    )
    for option, given in (("--qlog", qlog), ("--format", formats)):
        if given and out is None:
            faults.append(Fault(option, "needs --out, the directory of the results"))
    if qlog and any(text.startswith("QLOGDIR=") for text in env):
        faults.append(Fault("--qlog", "sets QLOGDIR itself: leave it out of --env"))
    if keep and out is None:
        faults.append(Fault("--keep", "needs --out, the directory in which files are kept"))
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        rule = "must be a new or an empty directory, since nothing is overwritten"
        faults.append(Fault("--out", rule, out))
    if junit is not None and not expect:
        faults.append(Fault("--junit", "requires --expect"))
    if faults:
        raise SpecError(faults)
    wanted = expectations.read(expect)
    document_ = programs.experiment(load(file, settings))
    points = expand(with_seeds(document_, seeds)) if seeds else [one_run(document_)]
    outcomes: list[Outcome] = []
    for point in points:
        one_lab = lab if seeds is None else dataclasses.replace(lab, captures=_of_seed(captures, point.seed))
        place = out if out is None or seeds is None else out / str(point.seed)
        try:
            with _stoppable(), terminal.progress(file.name, 1, progress) as report:
                outcome = programs.execute(point.experiment, one_lab, place, progress=report)
        except (Broken, Stopped) as broke:
            outcome = broke.outcome
        outcomes.append(outcome)
        if place is not None:
            write(outcome, place)
            _draw(outcome, place, formats)
            if qlog:
                _keep_qlog(place, keep)
        if not as_json:
            if seeds is not None:
                terminal.say(f"seed {point.seed}")
            _show(outcome)
        _tell(outcome, place)
        if outcome.error is not None:
            break
    whole = [each for each in outcomes if each.error is None]
    judged = expectations.judge(wanted, [metrics(each) for each in whole]) if whole else []
    if junit is not None:
        broken = [each.error for each in outcomes if each.error is not None]
        expectations.write_junit(junit, file.name, judged, broken)
    if as_json:
        found = [document(each) for each in outcomes]
        told = {"expectations": [each.record() for each in judged]} if wanted else {}
        terminal.print_json(({"seeds": found} if seeds is not None else found[0]) | told)
    elif judged:
        rows = [(each.expectation.text, each.measured, each.verdict) for each in judged]
        terminal.print_table("", ("expected", "measured", "verdict"), rows)
    status = max(outcome.status for outcome in outcomes)
    if any(outcome.status == 1 for outcome in outcomes) or any(each.verdict != "holds" for each in judged):
        status = 1
    if status:
        raise typer.Exit(status)


def _of_seed(captures: Mapping[str, Path], seed: int) -> dict[str, Path]:
    """The files of captures with the number of the seed in their names."""
    return {name: path.with_name(f"{path.stem}.{seed}{path.suffix}") for name, path in captures.items()}


def _draw(outcome: Outcome, place: Path, formats: Sequence[str]) -> None:
    """`programs.svg`: shares, round-trip times and queues over time, if they were traced."""
    traced = any(len(outcome.tables.get(name, ())) for name in ("program_trace", "queue_trace"))
    if not traced:
        if formats:
            terminal.note("note: --format draws nothing without probe.flow_trace or probe.queue_trace")
        return
    from shallows.figures import programs_time, style

    try:
        figure = programs_time.draw(programs_time.info({"flows": outcome.flows, **outcome.tables}))
    except ValueError:  # nothing waited, and no program sent
        return
    for suffix in dict.fromkeys(("svg", *formats)):
        style.save(figure, place / f"programs.{suffix}")


def _keep_qlog(place: Path, keep: bool) -> None:
    """Moves the qlog files of each host to `qlog/HOST`, and says if no program wrote any."""
    import shutil

    count = 0
    for host in sorted((place / "files").glob("*")):
        found = host / QLOG.lstrip("/")
        if found.is_dir() and any(found.iterdir()):
            (place / "qlog").mkdir(exist_ok=True)
            shutil.copytree(found, place / "qlog" / host.name)
            count += sum(1 for each in found.rglob("*") if each.is_file())
    if not keep:
        shutil.rmtree(place / "files", ignore_errors=True)
    if not count:
        terminal.note("note: no program wrote qlog: it must read QLOGDIR, which quic-go does with its tracer")


def _tell(outcome: Outcome, out: Path | None) -> None:
    """Notes, and why a run broke, on standard error."""
    for line in outcome.notes:
        terminal.note(f"note: {line}")
    if outcome.error is not None:
        terminal.note(f"shallows: {outcome.error}")
        where = f"in {out}" if out is not None else "above"
        terminal.note(f"what the programs wrote until then is {where}")


def shell(
    file: File,
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host of the network.")],
    settings: Settings = [],  # noqa: B006
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory of the machine for programs.")] = "1GB",
) -> None:
    """Opens a shell on a host of the file's network. It runs in real time, for a look around.

    The file's loads do not run. The shell's programs see this machine's files and write to a copy of their
    own, which is thrown away. The session ends with the shell.
    """
    import shutil
    import sys

    from shallows.backends.linux.lab import programs
    from shallows.document.load import load
    from shallows.document.points import one_run

    faults: list[Fault] = []
    memory_mb = _number(faults, "--memory", "bytes", memory) // 2**20
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        faults.append(Fault("linux shell", "needs a terminal; linux exec runs commands without one"))
    if faults:
        raise SpecError(faults)
    resolved = one_run(programs.session(load(file, settings))).experiment
    size = shutil.get_terminal_size()
    with _stoppable():
        programs.shell(resolved, host, Path.cwd(), (size.columns, size.lines), memory_mb)


def _commands(hosts: Sequence[str], texts: Sequence[str]) -> tuple[Command, ...]:
    """Each host with its command: typer gives them as two lists in the order of the command line."""
    from shallows.backends.linux.lab import programs

    if len(hosts) != len(texts):
        rule = 'needs a host and one command in quotes, as in --on r0 "ping -c 3 s0"'
        raise SpecError([Fault("--on", rule, Written(f"{len(hosts)} hosts and {len(texts)} commands"))])
    return tuple(programs.command(host, text) for host, text in zip(hosts, texts, strict=True))


def _number(faults: list[Fault], option: str, kind: str, text: str) -> int:
    from shallows import _core

    try:
        return _core.parse_quantity(kind, text)
    except ValueError as error:
        faults.append(Fault(option, str(error), text))
        return 0


def _environment(faults: list[Fault], texts: Sequence[str]) -> Mapping[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals or "\n" in text:
            faults.append(Fault("--env", "must be NAME=VALUE on one line", text))
        found[name] = value
    return found


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM and SIGHUP end the machine and clear its files, as Ctrl-C does."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(f"stopped by {signal.Signals(number).name}", number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _how_it_ended(program: Ended, error: str | None) -> str:
    if program.stopped and error is not None:
        return "had not ended"
    if program.stopped:
        return (
            "stopped at the end of the run"
            if program.server
            else "not finished: stopped at the end of the run"
        )
    how = f"signal {program.signal}" if program.signal else f"exit status {program.status}"
    return f"{how} after {program.ended_s:.6f} s"


def _show(outcome: Outcome) -> None:
    for program in outcome.programs:
        terminal.say(f"== {program.host}: {program.command} ({_how_it_ended(program, outcome.error)})")
        for name, text in (("", program.stdout), ("on standard error:\n", program.stderr)):
            if text:
                terminal.say(name + text.decode(errors="replace").replace("\r\n", "\n").rstrip("\n"))
    if outcome.queues is not None:
        queues = outcome.queues.select(QUEUES)
        terminal.print_table("", QUEUES, queues.rows())
        terminal.say(f"{outcome.ended_s:.6f} s of virtual time")
