"""Files that an experiment names: distributions of flow sizes, tables of flows, and graphs of messages.

The numbers are put into the experiment before it is checked, so that they are part of what is recorded and
hashed: a run keeps its own input, also when the file changes.
"""

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows.document.csv_rows import UNITS, read_rows, size
from shallows.document.graph_files import read_messages
from shallows.document.places import flow_sizes_path
from shallows.errors import Fault, SpecError

MAX_FLOWS = 1_000_000
"""The most rows of a table of flows; more belong into a workload that draws them."""

TIMES = ("start", "deadline")


def fill_in(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """The document with the contents of the files that its loads name, and the faults of those files.

    `traffic.*.sizes = { kind = "empirical", name = "web_search" }` takes the distribution of that name that
    comes with Shallows (`flow_sizes/`), or a path that ends in .csv.
    `traffic.* = { kind = "table", name = "flows.csv" }` takes a CSV with the columns from, to, bytes, start
    and, if wanted, deadline (empty: none). Values have units (10KB, 1.5ms), or the column's name has:
    `bytes` takes plain numbers, and so do start_us, deadline_ms ...
    `traffic.* = { kind = "graph", name = "step.csv" }` takes the messages of a CSV or JSON (`graph_files`).
    A path in an experiment file is relative to that file, any other to the current directory. A load with its
    numbers stays as it is. The record keeps the file's name without its directory, so that a run is the same
    wherever its files are.
    """
    loads = document.get("traffic")
    filled = _from_python(document)
    faults: list[Fault] = []
    if not isinstance(loads, Mapping) or not any(map(_names_file, loads.values())):
        return filled, faults
    filled["traffic"] = copy.deepcopy(dict(loads))
    for name, load in filled["traffic"].items():
        if not _names_file(load):
            continue
        table = _named(load)
        content = _CONTENT[load["kind"]] if table is load else "points"
        try:
            table[content] = _READERS[content](table["name"])
            if table["name"].endswith(_ENDINGS):
                table["name"] = Path(table["name"]).name
        except SpecError as error:
            at = f"traffic.{name}.{'name' if table is load else 'sizes'}"
            faults += [replace(f, path=at) for f in error.faults]
    return filled, faults


def anchor(document: dict[str, Any], directory: Path) -> None:
    """Makes the files that an experiment file and its sweep name relative to the file's directory."""
    traffic = document.get("traffic")
    for load in traffic.values() if isinstance(traffic, Mapping) else ():
        for table in (load, load.get("sizes")) if isinstance(load, Mapping) else ():
            if isinstance(table, dict) and "name" in table:
                table["name"] = _beside(table["name"], directory)
    sweep = document.get("sweep")
    for part in ("grid", "zip", "points"):
        tables = sweep.get(part) if isinstance(sweep, Mapping) else None
        for table in tables if isinstance(tables, list) else [tables]:
            for path, value in table.items() if isinstance(table, dict) else ():
                if _NAME.fullmatch(path):
                    many = isinstance(value, list)
                    table[path] = (
                        [_beside(v, directory) for v in value] if many else _beside(value, directory)
                    )


_NAME = re.compile(r"traffic\..+\.name")
_ENDINGS = (".csv", ".json")
_CONTENT = {"table": "flows", "graph": "messages"}
"""By kind of load: the setting that the file fills in."""


def _beside(name: Any, directory: Path) -> Any:
    return str(directory / name) if isinstance(name, str) and name.endswith(_ENDINGS) else name


def _from_python(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with what its Python modules declare and make."""
    if "python" not in document:
        return dict(document)
    from shallows.authoring import modules as plugins

    return plugins.fill_in(document)


def _named(load: Mapping[str, Any]) -> Any:
    """The part of a load that names a file: the load itself, or its sizes."""
    kind = load.get("kind")
    return load if isinstance(kind, str) and kind in _CONTENT else load.get("sizes")


def _names_file(load: Any) -> bool:
    if not isinstance(load, Mapping):
        return False
    kind = load.get("kind")
    table, content = _named(load), _CONTENT.get(kind, "points") if isinstance(kind, str) else "points"
    if not isinstance(table, Mapping) or content in table or not isinstance(table.get("name"), str):
        return False
    return table is load or table.get("kind") == "empirical"


def _read_sizes(name: str) -> list[list[float]]:
    path = Path(name) if name.endswith(".csv") else flow_sizes_path() / f"{name}.csv"
    if not path.exists() and not name.endswith(".csv"):
        from shallows.words import did_you_mean

        known = sorted(p.stem for p in flow_sizes_path().glob("*.csv"))
        rule = f"unknown distribution; known: {', '.join(known)}; or a path that ends in .csv"
        raise SpecError([Fault("", rule, name, did_you_mean(name, known))])
    rows = read_rows(path, ("size_bytes", "cdf_percent"))
    try:
        return [[float(row["size_bytes"]), float(row["cdf_percent"])] for row in rows]
    except (TypeError, ValueError):
        raise SpecError([Fault("", "must hold numbers only", name)]) from None


def _read_flows(name: str) -> list[dict[str, str]]:
    about = ", start and may have deadline; start_us, deadline_ms ... hold plain numbers"
    rows = read_rows(Path(name), ("from", "to", "bytes"), tuple(_time_columns()), about)
    if len(rows) > MAX_FLOWS:
        rule = f"holds {len(rows)} flows; at most {MAX_FLOWS} are allowed"
        raise SpecError([Fault("", rule, name, code="out-of-range")])
    columns = _time_columns()
    given = {column: columns[column] for column in rows[0] if column in columns} if rows else {}
    for time in TIMES:
        many = [column for column, (meant, _) in given.items() if meant == time]
        if len(many) > 1 or (not many and time == "start" and rows):
            rule = f"must have one column for {time}: {time}, or {time}_ with one of {', '.join(UNITS)}"
            raise SpecError([Fault("", rule, many, code="missing" if not many else "conflict")])
    return [_flow(row, given) for row in rows]


def _time_columns() -> dict[str, tuple[str, str]]:
    """Every name of a column of times, with what it holds and its unit, if it has one."""
    with_units = {f"{time}_{unit}": (time, unit) for time in TIMES for unit in UNITS}
    return {time: (time, "") for time in TIMES} | with_units


def _flow(row: Mapping[str, str], given: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """A flow as the experiment file would have it; a plain number gets the unit of its column."""
    flow = {"from": row["from"] or "", "to": row["to"] or "", "bytes": size(row["bytes"])}
    for column, (time, unit) in given.items():
        value = (row[column] or "").strip()
        if value or time == "start":
            flow[time] = f"{value}{unit}" if _plain(value) else value
    return flow


def _plain(text: str) -> bool:
    """Whether a text is a number, as columns with a unit in their names hold."""
    try:
        float(text)
    except ValueError:
        return False
    return True


_READERS: dict[str, Callable[[str], list[Any]]] = {
    "points": _read_sizes,
    "flows": _read_flows,
    "messages": read_messages,
}
