"""`./shallows packetdrill`: packet scripts against the simulator's own TCP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows import terminal
from shallows.cli.options import Json
from shallows.errors import Fault, SpecError

if TYPE_CHECKING:
    from shallows.packetdrill.run import Outcome

__all__ = ["packetdrill"]

Scripts = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE|DIRECTORY]...", help="Scripts (*.pkt).", show_default=False),
]
Kernel = Annotated[
    bool,
    typer.Option(
        "--kernel", help="The kernel's own scripts, from its source package, which is fetched once."
    ),
]


def packetdrill(places: Scripts = None, kernel: Kernel = False, as_json: Json = False) -> None:
    """Runs packet scripts in packetdrill's language against the simulator's sender and receiver.

    Status 1 if a script fails, 2 if all are refused: they need what the simulator does not have.
    With --kernel, status 1 if an outcome is not the recorded one.
    """
    from shallows.packetdrill import kernel as kernels
    from shallows.packetdrill.run import files, run

    if kernel == bool(places):
        raise SpecError([Fault("packetdrill", "needs scripts or directories of scripts, or --kernel alone")])
    chosen = [kernels.scripts(terminal.note)] if kernel else places or []
    outcomes = [run(path) for path in files(chosen)]
    told = kernels.differences(outcomes) if kernel else []
    if as_json:
        terminal.print_json({"scripts": [_document(one) for one in outcomes], "differences": told})
    else:
        _print(outcomes, kernel, told)
    words = {one.word for one in outcomes}
    if told or (not kernel and "fail" in words):
        raise typer.Exit(1)
    if words == {"refused"}:
        raise typer.Exit(2)


def _document(one: Outcome) -> dict[str, Any]:
    return {"path": str(one.path), "outcome": one.word, "needs": one.features, "faults": one.lines()}


def _print(outcomes: list[Outcome], kernel: bool, told: list[str]) -> None:
    for one in outcomes:
        if one.word == "pass":
            terminal.say(f"pass     {one.path.name if kernel else one.path}")
        elif kernel:
            terminal.say(f"{one.word:8} {one.path.name}: {'; '.join(one.features) or one.fault}")
        else:
            for line in one.lines():
                terminal.say(f"{one.word:8} {line}")
    counts = [f"{sum(one.word == word for one in outcomes)} {said}" for word, said in _WORDS.items()]
    terminal.say(f"{len(outcomes)} scripts: {', '.join(counts)}")
    for line in told:
        terminal.say(line)


_WORDS = {"pass": "pass", "fail": "fail", "refused": "need what the simulator does not have"}
