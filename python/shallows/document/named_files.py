"""Files that an experiment names: distributions of flow sizes, networks, tables of flows, graphs of messages.

The contents are put into the experiment before it is checked, so that they are part of what is recorded and
hashed: a run keeps its own input, also when the file changes. `shallows.importing` reads the files.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallows.document.places import flow_sizes_path
from shallows.errors import Fault, SpecError
from shallows.importing.formats import read
from shallows.importing.parts.content import Content, Gives
from shallows.words import did_you_mean

__all__ = ["ROWS", "anchor", "files_of", "fill_in", "remarks", "with_lines"]


@dataclass(frozen=True)
class _Named:
    """A table of the document that names a file, and what the file fills in."""

    path: str
    table: dict[str, Any]
    gives: Gives
    content: str
    """The setting that must be absent: with it the name is a record."""

    at: str
    """The path of the faults of the file."""

    @property
    def name(self) -> str:
        """The name as written."""
        return str(self.table["name"])


_LOADS: Mapping[str, tuple[Gives, str]] = {
    "table": ("flows", "flows"),
    "graph": ("messages", "messages"),
    "datagrams": ("datagrams", "trace"),
}
"""By kind of load: the kind of its file, and the setting that the file fills in."""

ROWS = {
    "sizes": "points",
    "topology": "links",
    "flows": "flows",
    "messages": "messages",
    "datagrams": "trace",
    "rates": "points",
    "opportunities": "at",
}
"""By kind of file the setting that it fills in."""


def fill_in(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """The document with the contents of the files that it names, and the faults of those files.

    `traffic.*.sizes = { kind = "empirical", name = "web_search" }` takes the distribution of that name, which
    comes with Shallows (`flow_sizes/`), or a file. `topology = { kind = "graph", name = "x.graphml" }` takes
    a file, and so do loads of the kinds `table` and `graph`. A transport's `sizes` take what a load's take.
    `shallows.importing` has the formats.
    A path in an experiment file is relative to that file, any other to the current directory. A table with
    its numbers stays as it is. The record keeps the file's name without its directory, so that a run is the
    same wherever its files are.
    """
    filled = _from_python(document)
    faults: list[Fault] = []
    if not any(True for _ in _names(filled)):
        return filled, faults
    for section in ("traffic", "transport", "topology", "port"):
        if section in filled:
            filled[section] = copy.deepcopy(filled[section])
    for named in _names(filled):
        try:
            _fill(named)
        except SpecError as error:
            faults += [replace(fault, path=named.at) for fault in error.faults]
    return filled, faults


def _fill(named: _Named) -> None:
    """Puts the content of a file into its table. Raises SpecError."""
    if named.gives == "sizes" and (own := _own_sizes(named.name)) is not None:
        named.table["points"] = _content(own, "sizes").rows
        return
    content = _content(Path(named.name), named.gives)
    named.table[ROWS[named.gives]] = content.rows
    if named.gives == "topology":
        named.table.setdefault("hosts", content.hosts)
        named.table.setdefault("switches", content.switches)
    named.table["name"] = Path(named.name).name


def remarks(document: Mapping[str, Any]) -> list[str]:
    """Sentences about what files have and the experiment has not. Files with faults have none."""
    told = []
    for named in _names(document):
        try:
            if named.gives != "sizes" or _own_sizes(named.name) is None:
                lines = _content(Path(named.name), named.gives).ignored
                told += [f"{named.at}: {Path(named.name).name}: {line}" for line in lines]
        except SpecError:
            continue
    return told


_KEPT: dict[tuple[Any, ...], Content] = {}
"""The last files that were read: the points of a sweep share them."""


def _content(path: Path, gives: Gives) -> Content:
    """The content of a file, which callers leave as it is. Raises SpecError."""
    try:
        state = path.stat()
    except (OSError, ValueError):
        return read(path, gives)
    key = (str(path.resolve()), gives, state.st_mtime_ns, state.st_size, state.st_ino)
    if key not in _KEPT:
        content = read(path, gives)
        while len(_KEPT) > 3:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = content
    return _KEPT[key]


def _own_sizes(name: str) -> Path | None:
    """The distribution of this name that comes along; None for a file. Raises SpecError for neither."""
    if "/" in name or Path(name).is_file():
        return None
    if (own := flow_sizes_path() / f"{name}.csv").is_file():
        return own
    if Path(name).suffix:
        return None
    known = sorted(path.stem for path in flow_sizes_path().glob("*.csv"))
    rule = f"unknown distribution; known: {', '.join(known)}; or the path of a file"
    raise SpecError([Fault("", rule, name, did_you_mean(name, known))])


def anchor(document: dict[str, Any], directory: Path) -> None:
    """Makes the files that an experiment file and its sweep name relative to the file's directory."""
    for named in _names(document, written=True):
        named.table["name"] = _beside(named.name, directory, named.gives)
    for table, path, gives in _in_sweep(document):
        value = table[path]
        many = isinstance(value, list)
        table[path] = (
            [_beside(v, directory, gives) for v in value] if many else _beside(value, directory, gives)
        )


def files_of(document: Mapping[str, Any]) -> list[Path]:
    """The files that a loaded document and its sweep name, without those that come with Shallows.

    Raises SpecError for an unknown distribution.
    """
    named = [(each.name, each.gives) for each in _names(document, written=True)]
    for table, path, gives in _in_sweep(document):
        given = table[path] if isinstance(table[path], list) else [table[path]]
        named += [(name, gives) for name in given if isinstance(name, str)]
    found = (name for name, gives in named if gives != "sizes" or _own_sizes(name) is None)
    return [Path(name) for name in dict.fromkeys(found)]


def _in_sweep(document: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str, Gives]]:
    """The places of a sweep that name files: a table, the path that is its key, and the kind of file."""
    sweep = document.get("sweep")
    for part in ("grid", "zip", "points"):
        tables = sweep.get(part) if isinstance(sweep, Mapping) else None
        for table in tables if isinstance(tables, list) else [tables]:
            for path in table if isinstance(table, dict) else ():
                if _NAME.fullmatch(path):
                    yield table, path, "sizes" if path.endswith(".sizes.name") else "flows"


_NAME = re.compile(r"((traffic|transport|port)\..+|topology)\.name")


def _beside(name: Any, directory: Path, gives: Gives) -> Any:
    """The path relative to the directory; the name of a distribution that comes with Shallows stays."""
    if not isinstance(name, str) or not name or "\0" in name:
        return name
    path = directory / name
    own = gives == "sizes" and "/" not in name and not Path(name).suffix
    if own and not path.is_file():
        return name
    return str(path) if str(path) != name and directory != Path() else name if not own else f"./{name}"


def _from_python(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with what its Python modules declare and make."""
    if "python" not in document:
        return dict(document)
    from shallows.authoring import modules as plugins

    return plugins.fill_in(document)


def _names(document: Mapping[str, Any], written: bool = False) -> Iterator[_Named]:
    """The tables that name a file whose content is not there; with `written` those of any kind."""
    topology = document.get("topology")
    if isinstance(topology, dict) and topology.get("kind") == "graph":
        yield from _named("topology", topology, "topology", "links", "topology.name")
    ports = document.get("port")
    for port, table in ports.items() if isinstance(ports, Mapping) else ():
        trace = table.get("trace") if isinstance(table, dict) else None
        if isinstance(trace, dict) and trace.get("kind") in ("rates", "opportunities"):
            path = f"port.{port}.trace"
            gives: Gives = trace["kind"]
            yield from _named(path, trace, gives, ROWS[gives], f"{path}.name")
    yield from _sizes("transport", document.get("transport"))
    loads = document.get("traffic")
    for name, load in loads.items() if isinstance(loads, Mapping) else ():
        if not isinstance(load, dict):
            continue
        path, kind = f"traffic.{name}", load.get("kind")
        if isinstance(kind, str) and kind in _LOADS:
            yield from _named(path, load, *_LOADS[kind], f"{path}.name")
        yield from _sizes(path, load)
        yield from _sizes(f"{path}.transport", load.get("transport"))


def _sizes(path: str, table: Any) -> Iterator[_Named]:
    """The distribution of sizes of a load, or of a transport whose priorities follow from one."""
    sizes = table.get("sizes") if isinstance(table, dict) else None
    if isinstance(sizes, dict) and sizes.get("kind") == "empirical":
        yield from _named(f"{path}.sizes", sizes, "sizes", "points", f"{path}.sizes")


def _named(path: str, table: dict[str, Any], gives: Gives, content: str, at: str) -> Iterator[_Named]:
    if isinstance(table.get("name"), str) and content not in table:
        yield _Named(path, table, gives, content, at)


_PLACE = re.compile(r"(.+?)\.(points|links|flows|messages|trace|at)\.(\d+)(\..+)?")


def with_lines(faults: Iterable[Fault], document: Mapping[str, Any]) -> list[Fault]:
    """The faults, those of rows of a file with their line in it."""
    named = {each.path: each for each in _names(document)}
    lines: dict[str, Any] = {}
    return [_with_line(fault, named, lines) for fault in faults]


def _with_line(fault: Fault, named: Mapping[str, _Named], known: dict[str, Any]) -> Fault:
    found = _PLACE.fullmatch(fault.path)
    if not found or found[1] not in named:
        return fault
    each = named[found[1]]
    if found[1] not in known:
        try:
            known[found[1]] = _content(Path(each.name), each.gives).lines
        except SpecError:  # a distribution that comes with Shallows
            known[found[1]] = ()
    lines, number = known[found[1]], int(found[3])
    file = Path(each.name).name
    place = f"line {lines[number]}" if number < len(lines) and lines[number] else f"entry {number + 1}"
    return replace(fault, rule=f"{fault.rule} ({place} of {file})")
