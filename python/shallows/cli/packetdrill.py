"""`./shallows packetdrill`: packet scripts against the simulator's own TCP, Linux's, or both."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows import terminal
from shallows.cli.options import Json
from shallows.errors import Fault, SpecError

if TYPE_CHECKING:
    from shallows.packetdrill.on_linux import Ran
    from shallows.packetdrill.run import Outcome

__all__ = ["packetdrill"]


class Against(StrEnum):
    """Whose TCP the scripts meet."""

    simulator = "simulator"
    linux = "linux"
    both = "both"


Scripts = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE|DIRECTORY]...", help="Scripts (*.pkt).", show_default=False),
]
Selftests = Annotated[
    bool,
    typer.Option(
        "--selftests", help="The kernel's own scripts, from its source package, which is fetched once."
    ),
]
Backend = Annotated[
    Against,
    typer.Option(help="Whose TCP: the simulator's, that of Linux by packetdrill itself, or both in a table."),
]
Program = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="packetdrill's binary; default: the one in PATH.", show_default=False),
]
OnKernel = Annotated[
    str | None,
    typer.Option(
        "--on-kernel",
        metavar="NAME",
        help="Kernel of --backend linux: version, package, tree or hash.",
        show_default=False,
    ),
]


def packetdrill(
    places: Scripts = None,
    selftests: Selftests = False,
    backend: Backend = Against.simulator,
    program: Program = None,
    on_kernel: OnKernel = None,
    old: Annotated[bool, typer.Option("--kernel", hidden=True)] = False,
    as_json: Json = False,
) -> None:
    """Runs packet scripts in packetdrill's language. They test the simulator's TCP, or Linux's.

    Status 1 if a script fails, 2 if all are refused: they need what the simulator does not have.
    With --selftests, status 1 if an outcome is not the recorded one.
    """
    from shallows.packetdrill import kernel as kernels
    from shallows.packetdrill import on_linux
    from shallows.packetdrill.run import files, run

    faults = []
    if old:
        rule = "is now --selftests, which runs the kernel's own scripts against the simulator"
        faults.append(Fault("--kernel", rule, hint="--on-kernel NAME chooses a kernel"))
    elif selftests == bool(places):
        faults.append(Fault("packetdrill", "needs scripts or directories of scripts, or --selftests alone"))
    if backend is Against.simulator:
        given = {"--program": program, "--on-kernel": on_kernel}
        faults += [
            Fault(name, "requires --backend linux or both", value)
            for name, value in given.items()
            if value is not None
        ]
    if faults:
        raise SpecError(faults)
    # All that a run on Linux needs is asked before anything is fetched or run.
    linux = None
    if backend is not Against.simulator:
        linux = (on_linux.program(program), on_linux.usable(on_kernel))
    paths = files([kernels.scripts(terminal.note)] if selftests else places or [])
    ran: list[Ran] = []
    if linux is not None:
        with terminal.progress("packetdrill", 1) as report:
            ran = on_linux.run(paths, *linux, report)
    outcomes = [run(path) for path in paths] if backend is not Against.linux else []
    told = kernels.differences(outcomes) if selftests and outcomes else []
    if selftests and linux is not None:
        told += kernels.differences_on_linux(ran, linux[1].about["version"])
    if as_json:
        terminal.print_json(
            {
                "scripts": [_document(one) for one in outcomes],
                "linux": [{"path": f"{one.path}", "outcome": one.word, "said": one.said} for one in ran],
                "differences": told,
            }
        )
    elif ran and outcomes:
        _print_table(ran, outcomes, told)
    elif ran:
        _print_linux(ran, told)
    else:
        _print(outcomes, selftests, told)
    words = {one.word for one in outcomes}
    failed = "fail" in words or any(one.word != "pass" for one in ran)
    if told or (not selftests and failed):
        raise typer.Exit(1)
    if words == {"refused"} and not ran:
        raise typer.Exit(2)


def _document(one: Outcome) -> dict[str, Any]:
    return {"path": str(one.path), "outcome": one.word, "needs": one.features, "faults": one.lines()}


def _print_table(ran: list[Ran], outcomes: list[Outcome], told: list[str]) -> None:
    """A row for each script, with the outcome on Linux and in the simulator."""
    rows = []
    for linux, simulator in zip(ran, outcomes, strict=True):
        needs = f"needs {'; '.join(simulator.features)}" if simulator.word == "refused" else simulator.word
        rows.append((linux.path.stem, linux.word, needs))
    terminal.print_table("", ("script", "linux", "simulator"), rows)
    terminal.say(_counts_on_linux(ran))
    terminal.say(_counts(outcomes))
    for line in [f"linux: {one.path.name}:{one.said}" for one in ran if one.word != "pass"]:
        terminal.say(line)
    for line in [line for one in outcomes if one.word == "fail" for line in one.lines()]:
        terminal.say(f"simulator: {line}")
    for line in told:
        terminal.say(line)


def _print_linux(ran: list[Ran], told: list[str]) -> None:
    for one in ran:
        terminal.say(
            f"{one.word:10} {one.path.name}{f':{one.said}' if one.said and one.word != 'pass' else ''}"
        )
    terminal.say(_counts_on_linux(ran))
    for line in told:
        terminal.say(line)


def _counts_on_linux(ran: list[Ran]) -> str:
    counts = [f"{sum(one.word == word for one in ran)} {word}" for word in ("pass", "fail", "unfinished")]
    return f"{len(ran)} scripts on linux: {', '.join(counts)}"


def _print(outcomes: list[Outcome], by_name: bool, told: list[str]) -> None:
    for one in outcomes:
        if one.word == "pass":
            terminal.say(f"pass     {one.path.name if by_name else one.path}")
        elif by_name:
            terminal.say(f"{one.word:8} {one.path.name}: {'; '.join(one.features) or one.fault}")
        else:
            for line in one.lines():
                terminal.say(f"{one.word:8} {line}")
    terminal.say(_counts(outcomes))
    for line in told:
        terminal.say(line)


def _counts(outcomes: list[Outcome]) -> str:
    counts = [f"{sum(one.word == word for one in outcomes)} {said}" for word, said in _WORDS.items()]
    return f"{len(outcomes)} scripts: {', '.join(counts)}"


_WORDS = {"pass": "pass", "fail": "fail", "refused": "need what the simulator does not have"}
