"""Output of `attack --fabric`: tables and lines of each search, JSON, and the worst cases as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shallows import terminal
from shallows.attack.fabric.scene import Table
from shallows.attack.fabric.search import Fabric
from shallows.attack.objective import Objective
from shallows.document.settings import text_of
from shallows.studies.page import place

__all__ = ["document", "folder", "show", "write"]


def folder(name: str, out: Path) -> Path:
    """The directory of the outcome. Raises StoreError if something else is there, before anything runs."""
    return place.check(out, f"fabric-{place.file_name(name)}")


def document(found: Fabric) -> dict[str, Any]:
    """The JSON of `attack --fabric`."""
    about: dict[str, Any] = {"title": found.title, "base": found.base}
    for part in found.parts.values():
        about |= part.record()
    return about | {"not_searched": found.unsearched}


def write(found: Fabric, name: str, out: Path) -> Path:
    """The directory with `fabric.json`, and the worst cases of each search as experiments. Raises
    StoreError."""

    def fill(new: Path) -> None:
        text = json.dumps(document(found), indent=1, ensure_ascii=False, allow_nan=False)
        (new / "fabric.json").write_text(text + "\n", encoding="utf-8")
        for part in found.parts.values():
            for case in part.cases():
                head = [
                    *case.head,
                    f"Found by ./shallows attack --fabric. Repeat: ./shallows run {case.file}",
                ]
                text = text_of({"seed": 1} | case.document)
                lines = "".join(f"# {line}\n" for line in head)
                (new / case.file).write_text(lines + text, encoding="utf-8")

    return place.write(out, f"fabric-{place.file_name(name)}", fill).parent


def show(found: Fabric, objective: Objective | None, where: Path) -> None:
    """Each search's tables and lines, the searches without a subject, and the directory."""
    for part in found.parts.values():
        for one in part.shown(objective):
            if isinstance(one, Table):
                terminal.print_table(one.title, list(one.columns), [list(row) for row in one.rows])
            else:
                terminal.say(one)
    for name, reason in found.unsearched.items():
        terminal.say(f"not searched: {name}, which {reason}")
    terminal.say(f"written: {where}")
