"""The import as a whole: from files to an experiment on disk, with the lines that say what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shallows.document.named_files import ROWS
from shallows.errors import Fault, SpecError

__all__ = ["Imported", "import_files"]

MOST_CHECKED = 20_000
"""The most rows of a load that an import checks a second time: a million would take gigabytes."""


@dataclass(frozen=True)
class Imported:
    """An experiment that was made of files. Its text is what `./shallows import` prints."""

    path: Path
    """The experiment."""

    written: list[Path]
    """All files that were written, the experiment first."""

    lines: list[str] = field(repr=False)
    """By file the contents that were understood and ignored, and then the choices."""

    ignored: list[str]
    """Contents of the files that the experiment does not have, each with its file."""

    chosen: list[str]
    """Choices that the files do not make."""

    def __str__(self) -> str:
        return "\n".join([*self.lines, *(f"wrote {path}" for path in self.written)])


def import_files(
    files: Sequence[Path], out: Path, hosts: str | None, options: Sequence[str], force: bool
) -> Imported:
    """Makes `out` and its tables. Raises SpecError, with nothing written, and StoreError."""
    from shallows.document.load import load
    from shallows.document.points import expand
    from shallows.importing.compose import compose
    from shallows.importing.files import read_parts
    from shallows.importing.write import planned, write_checked

    if out.suffix != ".toml":
        raise SpecError([Fault("--out", "must end in .toml", out)])
    if not out.parent.is_dir():
        raise SpecError([Fault("--out", "must name a file in a directory that is there", out)])
    parts = read_parts(files, options)
    composed = compose(parts, hosts, f"Imported from {', '.join(dict.fromkeys(part.name for part in parts))}")
    taken = [path for path in planned(composed, out) if path.exists()]
    if taken and not force:
        hint = "--force overwrites it"
        raise SpecError(
            [Fault("--out", "exists already and is not overwritten", path, hint) for path in taken]
        )
    lines, ignored = [], []
    for part in parts:
        lines.append(f"{part.name}: {part.reader.title}")
        lines += [f"  {line}" for line in part.content.understood]
        lines += [f"  not taken over: {line}" for line in part.content.ignored]
        ignored += [f"{part.name}: {line}" for line in part.content.ignored]
    lines += [f"chosen: {line}" for line in composed.chosen]

    def check(path: Path) -> None:
        document = load(path)
        for name, (gives, rows) in composed.rows.items():
            if (
                gives in ("flows", "messages", "datagrams") and len(rows) > MOST_CHECKED
            ):  # its reader has checked them all, with its hosts
                told = f"the first {MOST_CHECKED} of {len(rows)} rows are checked; a run checks all"
                lines.append(f"traffic.{name}: {told}")
                document["traffic"][name][ROWS[gives]] = rows[:MOST_CHECKED]
        expand(document)

    made = write_checked(composed, out, lines, check)
    return Imported(made[0], made, lines, ignored, list(composed.chosen))
