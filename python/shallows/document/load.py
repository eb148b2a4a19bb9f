"""Experiment files as the user wrote them: reading TOML, and settings given by path (`--set`).

Nothing here knows a component. The checker, `shallows._core.check`, decides which values are legal.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shallows.document.check import foreign_values
from shallows.document.named_files import anchor
from shallows.document.paths import Document, apply_settings
from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean

MAX_FILE_BYTES = 10_000_000
"""A larger file is no experiment but a mistake in the name."""


__all__ = ["load"]


def load(
    source: str | Path | Mapping[str, Any] | Any, settings: Iterable[str] = (), algorithms: Iterable[Any] = ()
) -> Document:
    """The experiment of a file, a table or a `shallows.experiment` object.

    `settings` (`path=value`) override it; `algorithms` are classes and topology functions written in Python
    that it may name. Raises SpecError if the file cannot be read as TOML, a setting or value cannot stand in
    a document, or a Python module cannot be used.
    """
    if isinstance(source, str | Path):
        document = read_toml(Path(source))
        anchor(document, Path(source).parent)
    elif isinstance(source, Mapping):
        document = copy.deepcopy(dict(source))
    elif hasattr(source, "to_document"):
        document = source.to_document()
    else:
        raise TypeError(f"an experiment is a path, a table or an Experiment, not {type(source).__name__}")
    apply_settings(document, settings)
    faults = list(foreign_values("", document))
    if faults:
        raise SpecError(faults)
    algorithms = list(algorithms)
    if algorithms or "python" in document:
        from shallows.authoring import modules as plugins

        plugins.of_modules(document, Path(source).parent if isinstance(source, str | Path) else None)
        plugins.add(document, algorithms)
    return document


def read_toml(path: Path) -> Document:
    """The tables of a TOML file. Raises SpecError for one that is missing, unreadable, huge or malformed."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise SpecError([Fault(str(path), "there is no such file", hint=_similar_file(path))]) from None
    except IsADirectoryError:
        raise SpecError([Fault(str(path), "is a directory; name the experiment file in it")]) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise SpecError([Fault(str(path), f"cannot be read: {getattr(error, 'strerror', error)}")]) from None
    if len(data) > MAX_FILE_BYTES:
        rule = f"is larger than {MAX_FILE_BYTES // 1_000_000} MB, the limit of an experiment file"
        raise SpecError([Fault(str(path), rule)])
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SpecError([Fault(str(path), f"is not UTF-8 text (line {line})")]) from None
    except tomllib.TOMLDecodeError as error:
        raise SpecError([Fault(str(path), f"is not TOML: {error}")]) from None
    except (RecursionError, ValueError) as error:  # ValueError: a number of thousands of digits
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise SpecError([Fault(str(path), f"is not TOML: {why}")]) from None


def _similar_file(path: Path) -> str:
    try:
        return did_you_mean(path.name, (p.name for p in path.parent.iterdir()))
    except OSError:
        return ""
