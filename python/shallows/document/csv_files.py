"""What an experiment names by file: distributions of flow sizes, and tables of flows.

The numbers are put into the experiment before it is checked, so that they are part of what is recorded and
hashed: a run says what it ran, whatever becomes of the file.
"""

import copy
import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows.document.places import flow_sizes_path
from shallows.errors import Fault, SpecError

MAX_FLOWS = 1_000_000
"""Of a table of flows; a longer one belongs into a workload that draws them."""

FLOW_COLUMNS = ("from", "to", "bytes", "start")
OPTIONAL_FLOW_COLUMNS = ("deadline",)


def fill_in(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """The document with the contents of the files that its loads name, and the faults of those files.

    `traffic.*.sizes = { kind = "empirical", name = "web_search" }` takes the distribution of that name that
    comes with Shallows (`flow_sizes/`), or a path that ends in .csv;
    `traffic.* = { kind = "table", name = "flows.csv" }` a CSV with the columns from, to, bytes, start and, if
    wanted, deadline (empty: none). Paths are relative to the current directory. What has its numbers is left
    alone.
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
        at, read = ("sizes", _read_sizes) if table is not load else ("name", _read_flows)
        try:
            table["flows" if table is load else "points"] = read(table["name"])
        except SpecError as error:
            faults += [replace(f, path=f"traffic.{name}.{at}") for f in error.faults]
    return filled, faults


def _from_python(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with what its Python modules declare and make."""
    if "python" not in document:
        return dict(document)
    from shallows.authoring import modules as plugins

    return plugins.fill_in(document)


def _named(load: Mapping[str, Any]) -> Any:
    """The part of a load that names a file: the load itself, or its sizes."""
    return load if load.get("kind") == "table" else load.get("sizes")


def _names_file(load: Any) -> bool:
    if not isinstance(load, Mapping):
        return False
    table, content = _named(load), "flows" if load.get("kind") == "table" else "points"
    if not isinstance(table, Mapping) or content in table or not isinstance(table.get("name"), str):
        return False
    return table is load or table.get("kind") == "empirical"


def _read_sizes(name: str) -> list[list[float]]:
    path = Path(name) if name.endswith(".csv") else flow_sizes_path() / f"{name}.csv"
    if not path.exists() and not name.endswith(".csv"):
        from shallows.words import did_you_mean

        known = sorted(p.stem for p in flow_sizes_path().glob("*.csv"))
        rule = f"unknown distribution; known: {', '.join(known)}; or a path that ends in .csv"
        raise SpecError([Fault("", rule, f'"{name}"', did_you_mean(name, known))])
    rows = _rows(path, ("size_bytes", "cdf_percent"))
    try:
        return [[float(row["size_bytes"]), float(row["cdf_percent"])] for row in rows]
    except (TypeError, ValueError):
        raise SpecError([Fault("", "must hold numbers only", f'"{name}"')]) from None


def _read_flows(name: str) -> list[dict[str, str]]:
    rows = _rows(Path(name), FLOW_COLUMNS, OPTIONAL_FLOW_COLUMNS)
    if len(rows) > MAX_FLOWS:
        raise SpecError(
            [Fault("", f"holds {len(rows)} flows, and more than {MAX_FLOWS} are refused", f'"{name}"')]
        )
    given = [{column: row[column] or "" for column in FLOW_COLUMNS} for row in rows]
    extra = [{column: row[column] for column in OPTIONAL_FLOW_COLUMNS if row.get(column)} for row in rows]
    return [must | may for must, may in zip(given, extra, strict=True)]


def _rows(path: Path, columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(line for line in file if not line.startswith("#"))
            rows, header = list(reader), reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SpecError([Fault("", f"cannot be read: {why}", f'"{path}"')]) from None
    if not set(columns) <= set(header) <= {*columns, *optional}:
        rule = f"must have the columns {', '.join(columns)}"
        rule += f" and may have {', '.join(optional)}" if optional else ""
        raise SpecError([Fault("", rule, ", ".join(header))])
    return rows
