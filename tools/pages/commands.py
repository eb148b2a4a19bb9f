"""A page a command: its help as a terminal of 80 columns shows it, and the pages that use the command."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NAME = "./shallows"
COLUMNS = 80
FOLDER = "reference/commands"

_FENCE = re.compile(r"^```(?:sh|console|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@functools.cache
def _app() -> Any:
    from shallows.cli.app import app
    from typer.main import get_command

    return get_command(app)


def names() -> list[str]:
    """Every command, in the order of `--help`."""
    return [name for name, command in _app().commands.items() if not command.hidden]


def entries() -> list[str]:
    """The pages in the order of the navigation."""
    return [f"{FOLDER}/index.md", *(f"{FOLDER}/{name}.md" for name in names())]


def pages() -> dict[str, str]:
    """The pages by their paths in the site."""
    rows = ["| command | what it does |", "|---|---|"]
    rows += [
        f"| [`{name}`]({name}.md) | {_app().commands[name].get_short_help_str(200)} |" for name in names()
    ]
    text = f"# Command line\n\n`{NAME} COMMAND --help` prints the text of these pages.\n\n"
    return {
        f"{FOLDER}/index.md": text + "\n".join(rows) + "\n",
        **{f"{FOLDER}/{name}.md": page(name) for name in names()},
    }


def page(name: str) -> str:
    """The page of a command: its help, that of its own commands, and where the documentation uses it."""
    parts = [f"# `{NAME} {name}`", _help(_app().commands[name], name)]
    for path, command in _below(_app().commands[name], name):
        parts += [f"## `{NAME} {path}`", _help(command, path)]
    if used := _used(name):
        parts += ["## Pages with this command", "\n".join(used)]
    return "\n\n".join(parts) + "\n"


def _below(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield f"{path} {name}", inner
            yield from _below(inner, f"{path} {name}")


def _help(command: Any, path: str) -> str:
    asked = {"terminal_width": COLUMNS, "max_content_width": COLUMNS, "resilient_parsing": True}
    context = command.make_context(f"{NAME} {path}", [], **asked)
    return f"```text\n{command.get_help(context)}\n```"


@functools.cache
def _shown() -> dict[str, tuple[str, str]]:
    """Title and commands of each page that somebody wrote."""
    found = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        place = path.relative_to(ROOT / "docs").as_posix()
        if text.startswith("# ") and not place.startswith("reference/"):
            title = text.partition("\n")[0].removeprefix("# ")
            found[place] = title, "\n".join(_FENCE.findall(text))
    return found


def _used(name: str) -> list[str]:
    line = re.compile(rf"^\$? ?{re.escape(NAME)} {re.escape(name)}(?!\S)", re.MULTILINE)
    return [f"- [{title}](../../{place})" for place, (title, text) in _shown().items() if line.search(text)]
