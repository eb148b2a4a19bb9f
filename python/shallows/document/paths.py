"""Settings by dotted path, and values as `--set` takes them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shallows.errors import Fault, SpecError

__all__ = ["Document", "apply_settings", "flatten", "parse_value", "set_path", "split_path"]


Document = dict[str, Any]


def apply_settings(document: Document, settings: Iterable[str]) -> None:
    """Applies `path=value` texts in order. A value is TOML, or else the bare text: `queue.mark_at=65pkt`."""
    faults = []
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or not path.strip():
            faults.append(Fault("--set", "must be key=value", setting))
            continue
        try:
            set_path(document, path.strip(), parse_value(text, path.strip()))
        except SpecError as error:
            faults += error.faults
    if faults:
        raise SpecError(faults)


KERNEL = "linux.kernel"
"""A setting whose value is a text: the version 6.10 is not the number 6.1."""


def parse_value(text: str, path: str = "") -> Any:
    """A TOML value, or the text itself where it is none (or a date, which no experiment holds)."""
    text = text.strip()
    if path == KERNEL and text[:1] not in ("'", '"', "["):
        return text
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
            raise SpecError([Fault(path, f"cannot be set: {at} is not a table", inner)])
        table[key] = inner
        table = inner
    table[last] = value


def flatten(
    table: Mapping[str, Any], whole: Callable[[Any], bool] = lambda value: False
) -> list[tuple[str, Any]]:
    """Entries of nested tables by dotted path.

    A table for which `whole` holds, or an empty one, is a value.
    """
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, Mapping) and value and not whole(value):
            found += [(f"{key}.{path}", inner) for path, inner in flatten(value, whole)]
        else:
            found.append((key, value))
    return found
