"""Experiments as a page sends them: TOML text and overrides, checked for what a page may name and ask for."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shallows.document.places import program
from shallows.errors import Fault, SpecError
from shallows.web.limits import Limits

__all__ = ["forbidden", "line_of", "parse", "refuse"]

MOST_NODES = 30_000
"""A topology's counts multiplied; a network that is refused for its ports is not even built."""


def parse(text: str, settings: Iterable[str], limits: Limits, allow_python: bool) -> dict[str, Any]:
    """The document of a page's text with its overrides. Raises SpecError with all faults."""
    from shallows.document.paths import apply_settings

    if len(text.encode(errors="replace")) > limits.document_bytes:
        rule = f"is longer than the {limits.document_bytes} bytes that this page accepts"
        raise SpecError([Fault("file", rule, hint="use the command line, or --max-document")])
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError([Fault("file", f"is not TOML: {error}")]) from None
    except (RecursionError, ValueError) as error:
        raise SpecError([Fault("file", f"is not TOML: {type(error).__name__}")]) from None
    apply_settings(document, settings)
    refuse(document, allow_python)
    if "python" in document:
        from shallows.document.load import load

        return load(document)
    return document


def refuse(document: Mapping[str, Any], allow_python: bool) -> None:
    """Raises SpecError with all faults of a document that a page may not run."""
    from shallows.document.check import foreign_values

    faults = list(foreign_values("", document)) or [*forbidden(document, allow_python), *_too_large(document)]
    if faults:
        raise SpecError(faults)


def forbidden(document: Any, allow_python: bool) -> list[Fault]:
    """Faults of what a page must never name: Python modules, and files outside the working directory.

    Also in the sections of studies, where settings stand under their dotted paths.
    """
    from shallows.document.paths import split_path

    faults = []
    for path, value in _leaves(document, ()):
        # As the command reads a path: a key may be quoted in two ways, and written with escapes.
        parts = [[key.strip("\"' ") for key in split_path(part)] for part in path]
        keys = [key for part in parts for key in part]
        if any(part[0] == "python" for part in parts) and not allow_python:
            hint = f"start the server with {program()} web --allow-python"
            faults.append(Fault("python", "is off: a page may not name Python code to run", hint=hint))
        elif keys[-1] in ("name", "file", "path") and isinstance(value, str) and not _inside(value):
            rule = "must name a CSV or JSON file below the server's working directory"
            faults.append(Fault(".".join(path), rule, value))
    return list(dict.fromkeys(faults))


def _leaves(value: Any, path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], Any]]:
    """Every value that is not a table, with the keys that lead to it; an empty table counts."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _leaves(inner, path)
    elif path:
        yield path, value


def _inside(name: str) -> bool:
    """Whether a name is no path, or that of a CSV or JSON file here or below that no link leads away from."""
    path = Path(name)
    bare = not any(mark in name for mark in "/\\\0") and not name.endswith((".csv", ".json"))
    if bare and (not name or name.startswith("~") or len(name) > 255 or not os.path.lexists(path)):
        return True
    if "\0" in name or "\\" in name or path.is_absolute() or path.suffix not in (".csv", ".json"):
        return False
    if any(part.startswith(".") for part in path.parts):
        return False
    try:
        return path.resolve().is_relative_to(Path.cwd().resolve())
    except (OSError, RuntimeError):
        return False


def _too_large(document: Mapping[str, Any]) -> Iterable[Fault]:
    """Faults of a topology that would be refused for its size, before anything of it is built."""
    topology = document.get("topology")
    if not isinstance(topology, Mapping):
        return
    values = [v for v in topology.values() if not isinstance(v, list)]
    values += [v for several in topology.values() if isinstance(several, list) for v in several]
    counts = [v for v in values if isinstance(v, int) and not isinstance(v, bool) and v > 1]
    nodes = 1
    for count in counts:
        nodes *= count
    kind = str(topology.get("kind"))
    if kind == "fat-tree":
        nodes = max(counts, default=1) ** 3 // 4
    elif kind == "dragonfly":
        usual = {"routers": 4, "hosts_per_router": 2, "global_links": 2}
        routers, hosts, links = (
            value if isinstance(value := topology.get(key, default), int) else default
            for key, default in usual.items()
        )
        groups = topology.get("groups")
        nodes = routers * hosts * (groups if isinstance(groups, int) else routers * links + 1)
    elif kind == "tree" and len(counts) > 1:
        nodes = max(count ** min(other, 64) for count in counts for other in counts if count is not other)
    if nodes > MOST_NODES:
        rule = f"describes more than the {MOST_NODES} hosts that this page runs"
        yield Fault("topology", rule, hint="use the command line for a larger network")


def line_of(text: str, path: str) -> int:
    """The line (from 1) of a text of TOML on which a fault's path stands, or where its table does."""
    wanted = [part.strip('"') for part in path.replace("[", ".").replace("]", "").split(".") if part]
    best, depth, table = 1, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("["):
            table = [part.strip().strip('"') for part in bare.strip("[] ").split(".")]
            here = table
        elif "=" in bare and not bare.startswith("#"):
            here = table + [part.strip().strip('"') for part in bare.split("=", 1)[0].strip().split(".")]
        else:
            continue
        common = 0
        while common < min(len(here), len(wanted)) and here[common] == wanted[common]:
            common += 1
        if common > depth and common == len(here):
            best, depth = number, common
        # A table written in one line holds what is deeper.
    return best
