"""The laboratory of a kit: the subject's runs as entries of the page that runs the simulator in a browser."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shallows.document.paths import apply_settings, set_path
from shallows.document.points import Point, expand
from shallows.document.settings import text_of
from shallows.errors import SpecError
from shallows.kit.subject import Experiment, Paper

MOST_ENTRIES = 16
"""A page with more entries is no choice but a list."""

MOST_TEXT = 100_000
"""The longest experiment of an entry in bytes: the page keeps it in its address."""

MOST_MEMORY = 900_000_000
"""The most that a run in the page may take, in bytes."""

__all__ = ["entries", "page_of"]


def page_of(subject: Experiment | Paper, backend: str) -> tuple[str | None, list[str]]:
    """The page and what it lacks, in sentences. None without Rust's target, or without an entry.

    `backend` made the runs of the kit.
    """
    from shallows.web.pages import lab_file, lab_module

    if backend != "simulator":
        return None, [f"no laboratory: it runs the simulator, and these runs come from {backend}"]
    if not lab_module.available():
        return None, [f"no laboratory: it needs the sources and `rustup target add {lab_module.TARGET}`"]
    made, lacking = entries(subject)
    if not made:
        return None, ["no laboratory: none of the runs fits a browser", *lacking]
    return lab_file.page_of(lab_module.module(), made, site="README.md"), lacking


def entries(subject: Experiment | Paper) -> tuple[list[dict[str, Any]], list[str]]:
    """The entries, one for each point of an experiment or experiment of a figure, and what is left out."""
    from shallows.web.pages.lab_file import lesson

    made, lacking, over = [], [], 0
    for name, title, about, point, text in _candidates(subject):
        if reason := _reason(point):
            lacking.append(f"{title}: {reason}")
            continue
        written = _shortest(text, point)
        if len(written.encode()) > MOST_TEXT:
            lacking.append(f"{title}: its experiment is longer than {MOST_TEXT // 1000} KB")
        elif len(made) == MOST_ENTRIES:
            over += 1
        else:
            made.append(lesson(name, written, {"title": title, "about": about}))
    if over:
        lacking.append(f"{over} more experiments: the laboratory has {MOST_ENTRIES} entries")
    return made, lacking


def _reason(point: Point) -> str:
    """Why a page cannot run it; empty if it can."""
    if "python" in point.experiment:
        return "its components are in Python, which the page does not run"
    if point.memory > MOST_MEMORY:
        return f"it takes {point.memory // 1_000_000} MB by the estimate, and the page has 900 MB"
    return ""


def _candidates(subject: Experiment | Paper) -> list[tuple[str, str, str, Point, str]]:
    """By entry: its name, title, words, run, and the text of the file that it comes from.

    Each figure of a paper comes with its first experiment before any comes with its second.
    """
    if isinstance(subject, Experiment):
        text = subject.file.read_text(encoding="utf-8")
        whole = subject.document().get("title") or subject.name
        return [
            (_address(f"{subject.name}-{number}"), f"{whole}: {point.label}" if point.label else whole,
             f"The run with seed {point.seed}. kit.json has its hash.", point, text)
            for number, point in enumerate(_first_seeds(subject.points()), 1)
        ]  # fmt: skip
    found = []
    for figure in subject.figures():
        heading = figure.readme.partition("\n")[0].lstrip("# ")
        for place, (spec, points) in enumerate(figure.points(subject.quick).items()):
            text = Path(figure.specs()[spec][0]).read_text(encoding="utf-8")
            words = f"The first run of {figure.paper}/{figure.name}, {spec}, with seed {points[0].seed}."
            name, title = _address(f"{figure.name}-{spec}"), f"{heading}: {spec}"
            found.append((place, (name, title, words, points[0], text)))
    return [entry for _, entry in sorted(found, key=lambda each: each[0])]


def _address(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name)


def _first_seeds(points: Sequence[Point]) -> list[Point]:
    """The first run of each point of a sweep."""
    found: dict[str, Point] = {}
    for point in points:
        found.setdefault(repr((point.label, point.params)), point)
    return list(found.values())


def _shortest(text: str, point: Point) -> str:
    """The user's own file with the point's settings if that is the same run, else every setting."""
    import tomlkit

    from shallows.web.pages.lab_module import without_studies

    try:
        document = tomlkit.parse(without_studies(text))
        for path, value in point.params.items():
            set_path(document, path, value)
        if point.seed != 1:
            apply_settings(document, [f"seed={point.seed}"])
        written = tomlkit.dumps(document)
        if _is(tomllib.loads(written), point):
            return written
    except (SpecError, ValueError):
        pass
    return text_of(point.experiment)


def _is(document: Mapping[str, Any], point: Point) -> bool:
    """Whether a text alone, without the files beside it, is the run of the point."""
    try:
        return [each.key for each in expand(dict(document))] == [point.key]
    except SpecError:
        return False
