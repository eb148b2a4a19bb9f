"""A paper's readings.toml, read strictly: the tables as models, and the readings that they declare."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from shallows.document import strict
from shallows.document.load import read_toml
from shallows.document.strict import Strict, join, refuse
from shallows.errors import Fault, SpecError
from shallows.execution.backends import NAMES
from shallows.studies.paper.readings import Dimension, Plan, Rank, Readings, Shown, Value, axis_parts
from shallows.words import did_you_mean

__all__ = ["read_readings"]

_CAUSE_OF_RANK = {"text": "open", "tool": "simulator", "year": "open", "today": "open"}


class ValueTable(Strict):
    """A table `[DIMENSION.value.NAME]`."""

    words: str = Field(min_length=1, description="the value as a part of a sentence")
    rank: Rank = Field(description="text, tool, year or today")
    source: str = Field(description="the origin of the value")
    cause: Shown | None = None
    set: dict[str, Any] = Field({}, description="settings by path over each experiment")
    long: bool = Field(False, description="its runs are too long for --quick")
    given: Any = Field(None, description="the value as figure.py gets it; default: its name")

    @field_validator("source")
    @classmethod
    def _says_something(cls, given: str) -> str:
        if not given.strip():
            raise refuse("empty", "must say where the value comes from", value=None)
        return given


class DimensionTable(Strict):
    """A table `[DIMENSION]`: something that the document leaves open."""

    question: str = Field(min_length=1, description="the question that the document leaves open")
    only: list[str] = Field(["*"], min_length=1)
    value: dict[str, ValueTable] = Field(min_length=2, description="two or more values")


class PlanTable(Strict):
    """A table `[figure.NAME]`: the readings that a figure tries."""

    dimensions: list[str] = Field([])
    grids: list[list[str]] = Field([])
    specs: list[str] = Field(["*"])
    set: dict[str, Any] = Field({})
    on: dict[str, str] = Field({}, description="by backend, the dimension=value that is judged there")


def read_readings(path: Path) -> Readings:
    """The readings of a paper; none without a file. Errors: SpecError with every fault of the file."""
    if not path.exists():
        return Readings()
    document = read_toml(path)
    faults: list[Fault] = []
    plans = document.pop("figure", {})
    if not isinstance(plans, dict):
        faults.append(Fault("figure", "must be a table", plans, "", "wrong-type"))
        plans = {}
    dimensions = {name: _dimension(name, table, faults) for name, table in document.items()}
    read = {name: _plan(join("figure", (name,)), table, dimensions, faults) for name, table in plans.items()}
    if faults:
        raise SpecError([Fault(f"{path.name}: {f.path}", f.rule, f.value, f.hint, f.code) for f in faults])
    return Readings(
        {name: one for name, one in dimensions.items() if one},
        {name: one for name, one in read.items() if one},
    )


def _dimension(name: str, table: Any, faults: list[Fault]) -> Dimension | None:
    read = strict.read(DimensionTable, table, join("", (name,)), faults)
    if read is None:
        return None
    return Dimension(
        name, read.question, tuple(read.only), tuple(_value(key, one) for key, one in read.value.items())
    )


def _value(name: str, table: ValueTable) -> Value:
    cause = table.cause or _CAUSE_OF_RANK[table.rank]
    given = table.given if "given" in table.model_fields_set else name
    return Value(name, table.words, table.rank, table.source, cause, table.set, given, table.long)


def _plan(
    path: str, table: Any, dimensions: Mapping[str, Dimension | None], faults: list[Fault]
) -> Plan | None:
    read = strict.read(PlanTable, table, path, faults)
    if read is None:
        return None
    for axis in [*read.dimensions, *itertools.chain.from_iterable(read.grids)]:
        name, value = axis_parts(axis)
        if name not in dimensions:
            hint = did_you_mean(name, dimensions)
            faults.append(Fault(path, "names an unknown dimension", name, hint, "unknown-word"))
            continue
        dimension = dimensions[name]
        values = [each.id for each in dimension.values] if dimension else [value]
        if value and value not in values:
            hint = did_you_mean(value, values)
            faults.append(Fault(path, f"names an unknown value of {name}", value, hint, "unknown-word"))
    for backend, choice in read.on.items():
        faults += _faults_of_on(join(path, ("on", backend)), backend, choice, dimensions)
    return Plan(tuple(read.dimensions), tuple(map(tuple, read.grids)), tuple(read.specs), read.set, read.on)


def _faults_of_on(
    path: str, backend: str, choice: str, dimensions: Mapping[str, Dimension | None]
) -> list[Fault]:
    """The faults of the reading that a plan names for a backend, which judges the base reading's runs."""
    if backend not in NAMES:
        hint = did_you_mean(backend, NAMES)
        return [Fault(path, f"must be one of {', '.join(NAMES)}", backend, hint, "unknown-word")]
    name, _ = axis_parts(choice)
    known = {f"{d.id}={v.id}": v for d in dimensions.values() if d for v in d.values}
    if choice not in known:
        if name in dimensions and dimensions[name] is None:
            return []  # its own faults are reported
        hint = did_you_mean(choice, known)
        return [Fault(path, "must be a dimension=value of this file", choice, hint, "unknown-word")]
    if known[choice].set:
        return [Fault(path, "must be a value without settings, since the runs stay the base's", choice)]
    return []
