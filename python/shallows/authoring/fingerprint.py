"""Hashes of the Python sources that a run calls."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["code_digest", "file_digest", "sources"]


def sources(path: Path) -> list[Path]:
    """The module's file and, of the files beside it, those that it imports, directly or not."""
    found, waiting = [], [path.resolve()]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        tree = ast.parse(file.read_bytes(), filename=str(file))
        found.append(file)
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                within = f"{node.module}." if node.module else ""
                names = [node.module or "", *(within + alias.name for alias in node.names)]
            for name in filter(None, names):
                stem = file.parent.joinpath(*name.split("."))
                waiting += [p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()]
    return [found[0], *sorted(found[1:])]


def file_digest(files: Iterable[Path]) -> str:
    """A hash of files: names and contents."""
    digest = hashlib.sha256()
    for file in files:
        text = file.read_bytes()
        digest.update(f"{file.name}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:32]


def code_digest(thing: Any) -> str:
    """A hash of a class's or function's code with what it uses of its own module: for a notebook's cells."""
    digest = hashlib.sha256()
    for text in _code(thing, thing.__module__, set()):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:32]


def _code(thing: Any, module: str, seen: set[int]) -> Iterator[str]:
    thing = getattr(thing, "__func__", thing)  # a static or class method
    thing = thing.fget if isinstance(thing, property) else thing
    if inspect.isfunction(thing) or isinstance(thing, type):
        if thing.__module__ != module or id(thing) in seen:
            yield f"{thing.__module__}.{thing.__qualname__}"
            return
        seen.add(id(thing))
        yield thing.__qualname__
    if isinstance(thing, type):
        for part in thing.__bases__:
            yield from _code(part, module, seen)
        for key, value in sorted(vars(thing).items()):
            if key not in ("__dict__", "__weakref__", "__doc__", "__firstlineno__", "__static_attributes__"):
                yield key
                yield from _code(value, module, seen)
    elif inspect.isfunction(thing):
        yield repr((thing.__defaults__, thing.__kwdefaults__))
        codes = [thing.__code__]
        for code in codes:
            codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
            yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames}"
            yield repr([const for const in code.co_consts if not isinstance(const, types.CodeType)])
        used = {name for code in codes for name in code.co_names}
        closed = dict(zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True))
        for name in sorted(used & set(thing.__globals__)):
            yield name
            yield from _code(thing.__globals__[name], module, seen)
        for name, cell in sorted(closed.items()):
            yield name
            yield from _code(cell.cell_contents, module, seen)
    elif isinstance(thing, types.ModuleType):
        yield thing.__name__
    else:
        yield re.sub(r" at 0x[0-9a-f]+", "", repr(thing))
