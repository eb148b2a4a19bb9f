"""`./shallows import`: an experiment from the files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shallows import terminal
from shallows.document.places import program

__all__ = ["import_files"]


def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Networks, flows, sizes or training steps in formats of others.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="OUT.toml", help="The experiment to write.", show_default=False),
    ],
    hosts: Annotated[
        str | None,
        typer.Option(
            "--hosts", metavar="NAME", help="Names of hosts: h{} makes h7 of 7.", show_default=False
        ),
    ] = None,
    option: Annotated[
        list[str], typer.Option("--option", metavar="NAME=VALUE", help="A choice that a file leaves open.")
    ] = [],  # noqa: B006 - typer reads it as "none given"
    force: Annotated[bool, typer.Option("--force", help="Overwrites files that are there.")] = False,
) -> None:
    """Makes an experiment of other programs' files. Prints what it understood and what it ignored."""
    from shallows.imported import import_files as whole

    terminal.say(f"{whole(files, out, hosts, option, force)}\nnext: {program()} run {out}")
