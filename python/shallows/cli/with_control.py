"""`./shallows with`: any command, with a congestion control of a Rust file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["with_"]


def with_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.rs", help="The control, as crates/core/src/cc/aimd.rs.", show_default=False
        ),
    ],
    words: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND...", help="As in: assess mine --quick.", show_default=False),
    ],
) -> None:
    """Runs a command with a control in a Rust file. The first time takes minutes."""
    from shallows.cli.rust_files import run

    run(file, words)
