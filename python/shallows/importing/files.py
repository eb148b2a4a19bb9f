"""The files of one import, each read by its reader; files of ranks are read together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shallows.errors import Fault, SpecError
from shallows.importing.compose import Part
from shallows.importing.formats import check_options, read_with, reader_of

__all__ = ["read_parts"]


def read_parts(paths: Sequence[Path], option: Sequence[str]) -> list[Part]:
    """The content of each file. Raises SpecError with the faults of all."""
    faults: list[Fault] = []
    groups: list[tuple[str, object, list[Path]]] = []
    readers = []
    for path in paths:
        try:
            reader = reader_of(path)
        except SpecError as error:
            faults += [replace(fault, path=str(path)) for fault in error.faults]
            continue
        known = next((group for group in groups if group[1] is reader and reader.read_ranks), None)
        if known:
            known[2].append(path)
        else:
            groups.append((path.name, reader, [path]))
            readers.append(reader)
    if faults:
        raise SpecError(faults)
    options = check_options(option, readers)
    parts = []
    for reader, (name, _, members) in zip(readers, groups, strict=True):
        try:
            own = {key: value for key, value in options.items() if key in reader.options}
            parts.append(Part(name, reader, read_with(reader, members, own)))
        except SpecError as error:
            faults += [replace(fault, path=str(members[0])) for fault in error.faults]
    if faults:
        raise SpecError(faults)
    return parts
