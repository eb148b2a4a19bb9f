"""Calls the checker of the core: it returns the resolved experiment, or all faults."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from shallows.document.paths import Document
from shallows.errors import Fault, ShallowsError, SpecError, read_fault

__all__ = ["MAX_DEPTH", "check", "check_with_memory", "resolve"]


_FROM_FILES = ("flows", "messages", "hosts", "switches", "links")
"""Settings that stay empty if the file that `name` names cannot be read: one fault is enough."""

MAX_DEPTH = 64
"""Tables within tables; a real experiment needs five."""


def check(document: Document) -> tuple[Document | None, list[Fault]]:
    """The resolved experiment of one run's document (None if faulty), and all its faults."""
    experiment, faults, _ = check_with_memory(document)
    return experiment, faults


def check_with_memory(document: Document) -> tuple[Document | None, list[Fault], int]:
    """Does what `check` does, and estimates the memory of the run in bytes: 0 if the document is faulty."""
    from shallows import _core
    from shallows.document.kernel_settings import SECTION, read_linux, without
    from shallows.document.named_files import fill_in, with_lines

    faults = list(foreign_values("", document))
    if faults:
        return None, faults, 0
    filled, faults = fill_in(document)
    linux = read_linux(filled[SECTION], faults) if SECTION in filled else {}
    filled = without(filled)
    answer = json.loads(_core.check(json.dumps(filled)))
    loads = [fault.path.removesuffix("name") for fault in faults if fault.path.endswith(".name")]
    unread = (*(fault.path for fault in faults), *(f"{load}{of}" for load in loads for of in _FROM_FILES))
    faults += [f for f in map(read_fault, answer["faults"]) if not f.path.startswith(unread)]
    if faults:
        return None, with_lines(faults, document), 0
    return answer["experiment"] | ({"linux": linux} if linux else {}), faults, answer["memory"]["bytes"]


def resolve(document: Document) -> Document:
    """The resolved experiment of one run's document. Raises SpecError with all faults."""
    experiment, faults = check(document)
    if faults:
        raise SpecError(faults)
    if experiment is None:
        raise ShallowsError("the checker returned neither an experiment nor a fault")
    return experiment


def foreign_values(path: str, value: Any, depth: int = 0) -> Iterable[Fault]:
    """Faults of values that TOML or Python has and a document cannot hold."""
    if depth > MAX_DEPTH:
        yield Fault(path[:80], "is nested too deeply")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(key, str):
                yield from foreign_values(f"{path}.{key}" if path else key, inner, depth + 1)
            else:
                yield Fault(path, "must have text as keys", key)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from foreign_values(f"{path}[{number}]", inner, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        yield Fault(path, "must be a finite number", value)
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        yield Fault(path, "must be a whole number of at most 64 bits", value)
    elif not isinstance(value, str | int | float | bool):
        yield Fault(path, "must be text, a number, true or false, a list or a table", value)
