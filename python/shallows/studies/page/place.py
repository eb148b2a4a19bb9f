"""Writes reports: a directory that appears whole, pages from templates with one style."""

import os
import shutil
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import StoreError
from shallows.figures import interactive

if TYPE_CHECKING:
    import jinja2


MARKER = ".shallows-report"
"""A file in every report. A directory without it is somebody's work, and is never replaced."""


def check(out: Path, name: str) -> Path:
    """The directory `out/name`, in which a report may be written. To be asked before anything runs.

    Raises StoreError if a file or directory is there that is not a report of Shallows.
    """
    if name in ("", ".", "..") or "/" in name:
        raise ValueError(f"the name of a report is that of a directory, got {name!r}")
    place = out / name
    try:
        ours = not place.is_symlink() and (not place.exists() or (place / MARKER).is_file() or _empty(place))
    except OSError as error:
        raise StoreError(f"the report {place} cannot be written: {error.strerror}") from error
    if not ours:
        raise StoreError(
            f"{place} was not made by Shallows (it holds no {MARKER}) and is not replaced; "
            "choose another directory with --out, or remove it"
        )
    return place


def write(out: Path, name: str, fill: Callable[[Path], None]) -> Path:
    """The directory `out/name`, filled by `fill`; returns its index.html.

    Written beside its place and moved there whole, so that a reader never finds half of one. Error:
    StoreError if the directory cannot be written, or is none that Shallows made.
    """
    place = check(out, name)
    try:
        out.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=out))
        try:
            fill(new)
            (new / MARKER).write_text("Shallows made this directory, and replaces it as a whole.\n")
            new.chmod(0o755)
            _swap(new, place)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"the report {place} cannot be written: {error.strerror or error}") from error
    return place / "index.html"


def _empty(place: Path) -> bool:
    return place.is_dir() and not any(place.iterdir())


def _swap(new: Path, place: Path) -> None:
    old = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        if place.exists():
            os.replace(place, old / "old")  # noqa: PTH105 (a rename over an existing name)
        new.rename(place)
    finally:
        shutil.rmtree(old, ignore_errors=True)


def file_name(title: str) -> str:
    """A title as a name of a file."""
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())


def template(study: str, name: str = "report.html.j2", home: str = "") -> "jinja2.Template":
    """The template of a study's report, or one of the package `home`, with the style and filters of pages."""
    import jinja2

    homes = {name: home or f"shallows.studies.{study}", "base.html.j2": "shallows.studies.page"}
    loader = jinja2.FunctionLoader(lambda name: files(homes[name]).joinpath(name).read_text("utf-8"))
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=loader)
    environment.filters |= {"number": number, "cell": cell}
    environment.globals["packed"] = interactive.packed
    return environment.get_template(name)


def number(value: Any) -> str:
    """A claim's value: five digits, yes or no, or a dash."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    return f"{value:.5g}"


def cell(value: Any) -> str:
    """A table's cell: four digits, or the text; a dash where there is no number."""
    if value is None or isinstance(value, bool) or value != value:
        return number(None if value != value else value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)
