"""The laws of a run's tables, from `laws.toml`: legal values of each column, and laws between columns.

`broken` checks the tables of one run. Tests do so after every run that they make, `./shallows check-run` on
request, and `docs/reference/tables.md` is made from the same file.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from shallows.tables.drops import causes

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Broken", "Column", "Table", "broken", "relations", "tables"]

FREE = "free: "
"""Before the reason for which a column has no bound from above."""

UNITS = {"_ps": "ps", "_bps": "b/s", "_bytes": "bytes", "_packets": "packets"}


@dataclass(frozen=True)
class Column:
    """A column: its name, type (`u64?` may be null), legal range beyond that of its type, meaning, and bound.

    `most` bounds the column from above, as an expression of the row. `free: reason` says why nothing
    does. It is empty if the range has an end.
    """

    name: str
    type: str
    range: str
    meaning: str
    most: str = ""

    @property
    def bound(self) -> str:
        """The law that bounds the column from above; empty without one beside its range."""
        return f"{self.name} <= {self.most}" if self.most and not self.most.startswith(FREE) else ""

    @property
    def unit(self) -> str:
        """By the last part of the name; empty for counts, words and ratios."""
        return next((unit for suffix, unit in UNITS.items() if self.name.endswith(suffix)), "")


@dataclass(frozen=True)
class Table:
    """A table: the meaning of a row, its columns in order, and the laws of a row with their reasons."""

    name: str
    row: str
    columns: tuple[Column, ...]
    laws: Mapping[str, str]


@dataclass(frozen=True)
class Broken:
    """A law that does not hold: where, which, in how many rows, and the first of them."""

    table: str
    law: str
    rows: int
    first: Mapping[str, Any]

    def __str__(self) -> str:
        """One line."""
        values = ", ".join(f"{key} = {value}" for key, value in self.first.items())
        return f"{self.table}: {self.law}: broken in {self.rows} rows" + (
            f", first {values}" if values else ""
        )


@cache
def _declared() -> dict[str, Any]:
    return tomllib.loads(files("shallows.tables").joinpath("laws.toml").read_text("utf-8"))


@cache
def tables() -> dict[str, Table]:
    """All tables by name."""
    return {
        name: Table(name, one["row"], tuple(_columns_of(one["columns"])), _laws_of(one["laws"]))
        for name, one in _declared().items()
        if name != "relations"
    }


_DROPS = {"{drops}": "", "{drops at the port}": "port", "{drops on the wire}": "wire"}
"""Stand for the columns of the causes of a loss in `laws.toml`: all, or those at one place."""


def _columns_of(declared: Mapping[str, Any]) -> Iterator[Column]:
    for key, (dtype, legal, meaning, *most) in declared.items():
        if key in _DROPS:
            for cause in causes(_DROPS[key]):
                yield Column(cause.column, dtype, legal, cause.meaning, *most)
        else:
            yield Column(key, dtype, legal, meaning, *most)


def _laws_of(declared: Mapping[str, str]) -> dict[str, str]:
    sums = {word: " + ".join(cause.column for cause in causes(at)) for word, at in _DROPS.items()}
    found = {}
    for law, reason in declared.items():
        for word, columns in sums.items():
            law = law.replace(word, columns)
        found[law] = reason
    return found


def relations() -> dict[str, str]:
    """Laws between tables: each a query that finds nothing."""
    return _declared()["relations"]


def broken(
    frames: Mapping[str, pl.DataFrame],
    experiment: Mapping[str, Any],
    counts: Mapping[str, int],
    backend: str = "simulator",
) -> list[Broken]:
    """Every law that the tables of a run break. `experiment` is resolved, `counts` are the manifest's.

    A backend other than the simulator may lack numbers and counts. The first are null then, and laws between
    tables are left out.
    """
    import polars as pl

    from shallows import _core

    known, whole_run = tables(), backend == "simulator"
    found = [Broken(name, "the table is missing", 0, {}) for name in known if name not in frames]
    found += [Broken(name, "the table is not declared", 0, {}) for name in frames if name not in known]
    numbers = _core.numbers(json.dumps(experiment))
    given = {key: numbers[key] for key in ("duration", "warmup")}
    whole = {}
    for name, frame in frames.items():
        if name in known:
            faults = list(_columns(known[name], frame, whole_run))
            found += faults
            if not faults:
                with_times = frame.with_columns(
                    pl.lit(v, pl.UInt64).alias(f"{k}_ps") for k, v in given.items()
                )
                found += _rows(known[name], with_times)
                whole[name] = with_times
    if whole_run and whole.keys() == known.keys():
        extra = {"counts": pl.DataFrame([dict(counts)]), "links": _links(whole["queues"], experiment)}
        found += _between(whole | extra)
    return found


def _links(queues: pl.DataFrame, experiment: Mapping[str, Any]) -> pl.DataFrame:
    """The links with their ends and rates, as a relation of `laws.toml` names them.

    None if an event changes a rate: no table then has the capacity of a link.
    """
    import polars as pl

    # A port of several cables ends in its number, as in a->b#2. The node's name does not.
    ends = (
        pl.col("port").str.replace(r"#\d+$", "").str.split_exact("->", 1).struct.rename_fields(["from", "to"])
    )
    changes = any("rate" in event for event in experiment.get("event", {}).values())
    known = queues.clear() if changes else queues
    return known.select(ends.alias("ends"), "rate_bps").unnest("ends")


def _columns(table: Table, frame: pl.DataFrame, whole: bool) -> Iterator[Broken]:
    import polars as pl

    types = {"u64": pl.UInt64, "u32": pl.UInt32, "f64": pl.Float64, "str": pl.String}
    wanted = {column.name: types[column.type.removesuffix("?")] for column in table.columns}
    if dict(frame.schema) != wanted:
        odd = set(frame.schema.items()) ^ set(wanted.items())
        yield Broken(
            table.name, "columns and types are the declared ones", 0, {str(k): str(v) for k, v in odd}
        )
        return
    for column in table.columns:
        missing = frame[column.name].null_count()
        if missing and whole and not column.type.endswith("?"):
            yield Broken(table.name, f"{column.name} is never null", missing, {})
    yield from _outside(table.name, frame, _laws_of_columns(table.name))


@cache
def _laws_of_columns(name: str) -> dict[str, pl.Expr]:
    """The range of each column of the table `name`."""
    import polars as pl

    found = {}
    for column in tables()[name].columns:
        if column.type.startswith("f64"):
            found[f"{column.name} is finite"] = pl.col(column.name).is_finite()
            found[f"{column.name} >= 0"] = pl.col(column.name) >= 0
        if column.range:
            found[f"{column.name} in {column.range}"] = _within(column)
    return found


def _within(column: Column) -> pl.Expr:
    import polars as pl

    it = pl.col(column.name)
    if column.range.startswith("{"):
        words = [word.strip() for word in column.range.strip("{}").split(",")]
        return it.is_in(words if column.type.startswith("str") else [int(word) for word in words])
    matched = re.fullmatch(r"\[([\d.]+), ([\d.]*)[)\]]", column.range)
    assert matched, f"{column.range!r} of {column.name} is neither an interval nor a set"
    low, high = matched.groups()
    return (it >= float(low)) & (it <= float(high)) if high else it >= float(low)


def _rows(table: Table, frame: pl.DataFrame) -> Iterator[Broken]:
    import polars as pl

    # Differences of unsigned numbers wrap, and sums may: all laws are judged on signed ones of 128 bits.
    signed = frame.with_columns(pl.col(pl.UInt64, pl.UInt32).cast(pl.Int128))
    yield from _outside(table.name, signed, _laws_of_rows(table.name))


@cache
def _laws_of_rows(name: str) -> dict[str, pl.Expr]:
    """The laws of a row of the table `name`, and the bounds of its columns."""
    import polars as pl

    table = tables()[name]
    laws = [*table.laws, *(column.bound for column in table.columns if column.bound)]
    return {law: pl.sql_expr(law) for law in laws}


def _outside(name: str, frame: pl.DataFrame, laws: Mapping[str, pl.Expr]) -> Iterator[Broken]:
    """The laws that rows of `frame` break. All are judged in one query, since a table has up to forty."""
    if not laws or frame.is_empty():
        return
    counts = frame.select((~law).sum().alias(text) for text, law in laws.items()).row(0, named=True)
    for text in (text for text, rows in counts.items() if rows):
        wrong = frame.filter(~laws[text])
        words = re.findall(r"[a-z_0-9]+", text)
        keys = [c for c in frame.columns if c in words or c in ("port", "flow", "id", "class", "what")]
        yield Broken(name, text, len(wrong), wrong.select(keys).row(0, named=True))


def _between(frames: Mapping[str, pl.DataFrame]) -> Iterator[Broken]:
    import polars as pl

    with pl.SQLContext(dict(frames), eager=True) as context:
        for law, query in relations().items():
            wrong = context.execute(query)
            if len(wrong):
                yield Broken("several tables", law, len(wrong), wrong.row(0, named=True))
