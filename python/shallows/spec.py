"""Experiment files as the user wrote them: reading TOML, and settings given by path (`--set`).

Nothing here knows a component. What a value may be is decided by the checker, `shallows._core.check`.
"""

from __future__ import annotations

import copy
import difflib
import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shallows.errors import Fault, ShallowsError, SpecError

Document = dict[str, Any]

MAX_FILE_BYTES = 10_000_000
"""A larger file is no experiment but a mistake in the name."""

MAX_DEPTH = 64
"""Tables within tables; a real experiment needs five."""

__all__ = [
    "Document",
    "apply_settings",
    "check",
    "did_you_mean",
    "load",
    "resolve",
    "set_path",
    "show",
    "split_path",
]


def load(
    source: str | Path | Mapping[str, Any] | Any, settings: Iterable[str] = (), algorithms: Iterable[Any] = ()
) -> Document:
    """The experiment of a file, a table or a `shallows.experiment` object.

    `settings` (`path=value`) stand over it; `algorithms` are classes and topology functions written in Python
    that it may name. Raises SpecError if the file cannot be read as TOML, a setting or value cannot stand in
    a document, or a Python module cannot be used.
    """
    if isinstance(source, str | Path):
        document = read_toml(Path(source))
    elif isinstance(source, Mapping):
        document = copy.deepcopy(dict(source))
    elif hasattr(source, "to_document"):
        document = source.to_document()
    else:
        raise TypeError(f"an experiment is a path, a table or an Experiment, not {type(source).__name__}")
    apply_settings(document, settings)
    faults = list(_foreign_values("", document))
    if faults:
        raise SpecError(faults)
    algorithms = list(algorithms)
    if algorithms or "python" in document:
        from shallows import plugins

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
        rule = f"is larger than {MAX_FILE_BYTES // 1_000_000} MB, so it is no experiment file"
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


def apply_settings(document: Document, settings: Iterable[str]) -> None:
    """Applies `path=value` texts in order. A value is TOML, or else the bare text: `queue.mark_at=65pkt`."""
    faults = []
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or not path.strip():
            faults.append(Fault("--set", "must be key=value", json.dumps(setting, ensure_ascii=False)))
            continue
        try:
            set_path(document, path.strip(), parse_value(text))
        except SpecError as error:
            faults += error.faults
    if faults:
        raise SpecError(faults)


def parse_value(text: str) -> Any:
    """A TOML value, or the text itself where it is none (or a date, which no experiment holds)."""
    text = text.strip()
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text
    value = parsed["value"]
    return (
        value
        if set(parsed) == {"value"} and isinstance(value, str | int | float | bool | list | dict)
        else text
    )


def split_path(path: str) -> list[str]:
    """The keys of a dotted path; a key with a dot in it is quoted as in TOML: `port."a.b->c".rate`."""
    try:
        keys, table = [], tomllib.loads(f"{path} = 0")
        while isinstance(table, dict) and len(table) == 1:
            key, table = next(iter(table.items()))
            keys.append(key)
        if table == 0:
            return keys
    except (tomllib.TOMLDecodeError, RecursionError):
        pass
    return path.split(".")


def set_path(document: Document, path: str, value: Any) -> None:
    """Puts `value` at a dotted path.

    On the way a missing table is made, and a bare word, which stands for a component with its defaults,
    becomes that component's table. Raises SpecError if something else is there.
    """
    *parents, last = split_path(path)
    if not all([*parents, last]):
        raise SpecError([Fault(path, "is not a path of keys separated by dots")])
    table = document
    for depth, key in enumerate(parents):
        inner = table.get(key, {})
        if isinstance(inner, str):
            inner = {"kind": inner}
        if not isinstance(inner, dict):
            at = ".".join(parents[: depth + 1])
            raise SpecError([Fault(path, f"cannot be set: {at} is no table", show(inner))])
        table[key] = inner
        table = inner
    table[last] = value


def check(document: Document) -> tuple[Document | None, list[Fault]]:
    """The resolved experiment of one run's document (None if faulty), and all its faults."""
    from shallows import _core
    from shallows.inputs import fill_in

    faults = list(_foreign_values("", document))
    if faults:
        return None, faults
    filled, faults = fill_in(document)
    answer = json.loads(_core.check(json.dumps(filled)))
    unread = tuple(fault.path for fault in faults)
    faults += [f for f in (Fault(**fault) for fault in answer["faults"]) if not f.path.startswith(unread)]
    return None if faults else answer["experiment"], faults


def resolve(document: Document) -> Document:
    """The resolved experiment of one run's document. Raises SpecError with all faults."""
    experiment, faults = check(document)
    if faults:
        raise SpecError(faults)
    if experiment is None:
        raise ShallowsError("the checker returned neither an experiment nor a fault")
    return experiment


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean "...?"` for the nearest known word, or the empty text."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f'did you mean "{near[0]}"?' if near else ""


def _similar_file(path: Path) -> str:
    try:
        return did_you_mean(path.name, (p.name for p in path.parent.iterdir()))
    except OSError:
        return ""


def _foreign_values(path: str, value: Any, depth: int = 0) -> Iterable[Fault]:
    """Faults of values that TOML or Python has and a document cannot hold."""
    if depth > MAX_DEPTH:
        yield Fault(path[:80], "is nested too deeply")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(key, str):
                yield from _foreign_values(f"{path}.{key}" if path else key, inner, depth + 1)
            else:
                yield Fault(path, "must have text as keys", repr(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _foreign_values(f"{path}[{number}]", inner, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        yield Fault(path, "must be a finite number", str(value))
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        yield Fault(path, "must be a whole number of at most 64 bits", show(value))
    elif not isinstance(value, str | int | float | bool):
        yield Fault(path, "must be text, a number, true or false, a list or a table", show(value))


def show(value: Any) -> str:
    """A value for a fault's text: as JSON, at most 60 characters."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = type(value).__name__ if isinstance(value, int) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
