"""Every effective setting of a resolved experiment: by its path, with its source, and as a file again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

__all__ = ["flat", "sources", "text_of"]


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Every setting of an experiment by its path. Lists are values."""
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for key, inner in value.items():
            name = key if re.fullmatch(r"[\w-]+", str(key)) else json.dumps(str(key))
            found |= flat(inner, f"{path}.{name}" if path else str(name))
        return found
    return {path: value}


def text_of(experiment: Mapping[str, Any]) -> str:
    """An experiment as a TOML file."""
    import tomlkit

    return tomlkit.dumps(_without_none(experiment))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value


_INNER = re.compile(r"^\w+\.(queue|port_control|nic|transport(?:\.cc)?)$")
"""A section within another: the queue of some ports, the transport of a load."""

_KINDS = {"nic": "queue"}
"""Sections that take the components of another."""


def sources(experiment: Mapping[str, Any]) -> Iterable[tuple[str, Any, str, str]]:
    """Each setting with its value, its default, and the source of the default."""
    declared = _declared()
    for table_path, table in _tables(experiment):
        section = _named().sub(r"\1", f"{table_path}.")[:-1]
        section = _INNER.sub(r"\1", section)
        components = declared.get(_KINDS.get(section, section), {})
        kind = table.get("kind", table.get("profile", ""))
        params = components.get(kind) or next(iter(components.values()), {})
        for key, value in table.items():
            if not isinstance(value, Mapping):
                param = params.get(key, {})
                default = param.get("default")
                name = key if re.fullmatch(r"[\w-]+", key) else json.dumps(key)
                path = f"{table_path}.{name}" if table_path else name
                yield path, value, "" if default is None else str(default), str(param.get("source") or "")


def _tables(table: Mapping[str, Any], path: str = "") -> Iterable[tuple[str, Mapping[str, Any]]]:
    """A table and those within it, each with its path, in the order of the file."""
    yield path, table
    for key, inner in table.items():
        if isinstance(inner, Mapping):
            name = key if re.fullmatch(r"[\w-]+", key) else json.dumps(key)
            yield from _tables(inner, f"{path}.{name}" if path else name)


@cache
def _named() -> re.Pattern[str]:
    """A load, an event, a pattern of ports: the user chose the name, the settings are the section's."""
    from shallows.document.schema import named

    return re.compile(rf'(?:^|(?<=\.))({"|".join(named())})\.(?:"(?:[^"\\]|\\.)*"|[\w-]+)(?=\.)')


@cache
def _declared() -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """The declared settings by section, component and name."""
    from shallows.document.schema import schema

    return {
        section["path"]: {
            component["name"]: {param["name"]: param for param in component["params"]}
            for component in section["components"]
        }
        for section in schema()["sections"]
    }
