"""`./shallows assess`: the report card of a congestion control."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shallows import terminal
from shallows.assess.criteria import CARDS, QUEUE
from shallows.cli.options import How, Json, Junit, makes_runs
from shallows.document.places import program
from shallows.errors import Fault, SpecError

if TYPE_CHECKING:
    from shallows.assess.programs import Programs

__all__ = ["assess"]

PROGRAM = "program"
"""The name of a candidate that is a pair of commands."""

HANGS = "600s"
"""The time limit of a run of a class in Python, which may never return. The card then goes on."""


@makes_runs
def assess(
    control: Annotated[
        str,
        typer.Argument(
            metavar="CONTROL",
            help="A built-in, as in bbr3,beta=0.8; a Python class, mine.py:gentle; a Rust file, mine.rs.",
            show_default=False,
        ),
    ] = "",
    kind: Annotated[
        str, typer.Option("--card", metavar="CARD", help=f"Which card: {', '.join(CARDS)}.")
    ] = CARDS[0],
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A queue discipline in place of a control, with settings as in codel,target=1ms.",
            show_default=False,
        ),
    ] = None,
    sender: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="A program in place of a control: its command at the sender, with {peer} and {port}.",
            show_default=False,
        ),
    ] = "",
    receiver: Annotated[
        str,
        typer.Option(
            metavar="COMMAND", help="The program's command on the receiving host.", show_default=False
        ),
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Five seeds in place of thirty, and on Linux fewer cells.")
    ] = False,
    row: Annotated[list[str], typer.Option(metavar="C2", help="This row only; may be repeated.")] = [],  # noqa: B006
    criteria: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your own bounds of rows, in TOML.", show_default=False),
    ] = None,
    expect: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Ends with status 1 unless the rows have the verdicts of this TOML file.",
            show_default=False,
        ),
    ] = None,
    junit: Junit = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--page", metavar="FILE", help="Writes the card as HTML.", show_default=False),
    ] = None,
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """A report card of a control (RFC 9743) or a queue (RFC 7928). The same command resumes."""
    from shallows.assess import card, show
    from shallows.assess import expect as expected
    from shallows.cli import rust_files

    if (parts := rust_files.parted(control)) is not None:
        file, name = parts
        rust_files.run(file, [name if word == control else word for word in sys.argv[1:]])
    if junit is not None and expect is None:
        raise SpecError([Fault("--junit", "requires --expect")])
    chosen = [each for each in (control, queue, sender or receiver) if each]
    if len(chosen) != 1:
        rule = "needs one of CONTROL, --queue NAME, or --sender and --receiver COMMAND"
        raise SpecError([Fault("assess", rule, ", ".join(chosen) or None)])
    if queue is not None:
        if kind != CARDS[0]:
            raise SpecError([Fault("--card", "applies to a CONTROL; --queue has a card of its own", kind)])
        kind = QUEUE
    programs = _programs(sender, receiver, how) if sender or receiver else None
    subject = queue or control or PROGRAM
    work = card.plan(subject, quick, row, criteria, kind, programs, how.backend)
    wanted = expected.read(expect, work.card, work.criteria) if expect else {}
    if work.python and how.timeout is None and how.backend == "simulator":
        how = replace(how, timeout=HANGS)
    runner = how.runner()
    with how.report("assess", work.runs) as told:
        rows = card.assess(work, runner, told)
    judged = expected.judge(wanted, rows)
    commands = (sender, receiver) if programs else None
    repeat = show.command(program(), subject, quick, how.backend, how.kernel, criteria, kind, commands)
    if junit is not None:
        expected.junit(junit, work.control, judged, rows)
    if out is not None:
        from shallows.assess import page

        page.write(out, work, rows, repeat)
    if as_json:
        found = {"expectations": [each.record() for each in judged]} if expect else {}
        terminal.print_json(show.document(work, rows, repeat) | found)
    else:
        show.show(work, rows, repeat)
        if judged:
            lines = [(each.expectation.text, each.measured, each.verdict) for each in judged]
            terminal.print_table("", ("expected", "measured", "verdict"), lines)
    failed = any(each.verdict == "failed" and each.id not in wanted for each in rows)
    if failed or any(each.verdict != "holds" for each in judged):
        raise typer.Exit(1)


def _programs(sender: str, receiver: str, how: How) -> Programs:
    """The candidate of two commands. Raises SpecError."""
    from shallows.assess.programs import Programs
    from shallows.backends.linux.backend import Linux

    backend, faults = Linux(), []
    if not (sender and receiver):
        faults.append(Fault("--sender", "needs --receiver too, since each end has a command"))
    if how.backend != backend.name:
        faults.append(Fault("--sender", "needs --backend linux, which runs programs", how.backend))
    if all(text.rstrip().endswith("&") for text in (sender, receiver)):
        faults.append(
            Fault("--sender", "must not end with & if --receiver does: one end starts the transfer")
        )
    if faults:
        raise SpecError(faults)
    return Programs(sender, receiver, backend.on_kernel(how.kernel) if how.kernel else backend)
