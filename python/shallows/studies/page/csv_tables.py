"""Writes runs as CSV: a table of all runs, and a directory for each with its tables and fct.txt."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.execution.jobs import Outcome
from shallows.results.store import StoredRun
from shallows.studies.page import place

if TYPE_CHECKING:
    import polars as pl

__all__ = ["cell", "directory", "fct_lines", "write_metrics", "write_tables"]

PORT = 100
"""The destination port by which HPCC's scripts know flows that are to be counted (fct_analysis.py, -t 0)."""


def directory(given: Path) -> Path:
    """The directory of `--csv`. Raises StoreError if it holds other files, before anything runs."""
    whole = given.resolve()
    return place.check(whole.parent, whole.name)


def write_tables(outcomes: Sequence[Outcome], given: Path) -> Path:
    """Writes `runs.csv`, and HASH/TABLE.csv and HASH/fct.txt of each run. Raises StoreError."""
    whole = given.resolve()

    def fill(new: Path) -> None:
        write_metrics(new / "runs.csv", outcomes)
        for run in {each.run.hash: each.run for each in outcomes if each.run is not None}.values():
            (new / run.hash).mkdir()
            for name in run.tables:
                _flat(run.tables[name]).write_csv(new / run.hash / f"{name}.csv")
            text = "".join(f"{line}\n" for line in fct_lines(run))
            (new / run.hash / "fct.txt").write_text(text, encoding="utf-8")

    place.write(whole.parent, whole.name, fill)
    return given


def write_metrics(path: Path, outcomes: Sequence[Outcome]) -> None:
    """A row a run: its label, varied settings, seed, hash, and every metric."""
    varied = list(dict.fromkeys(p for each in outcomes for p in each.point.params))
    metrics = list(dict.fromkeys(name for each in outcomes for name in each.metrics or {}))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", *varied, "seed", "hash", *metrics])
        for each in outcomes:
            settings = [cell(each.point.params.get(p)) for p in varied]
            values = [(each.metrics or {}).get(name) for name in metrics]
            writer.writerow([each.point.label, *settings, each.point.seed, each.hash, *values])


def cell(value: Any) -> Any:
    """A setting in a cell; a table as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """The table with each list as a text with blanks in it, since a cell of a CSV holds no list."""
    import polars as pl

    lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    texts = (pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists)
    return table.with_columns(texts)


def fct_lines(run: StoredRun) -> list[str]:
    """The lines of fct.txt as HPCC's analysis reads them, in the order in which messages ended.

    They have the addresses of source and destination, the ports, bytes, start, completion time and the
    completion time alone on the empty network, the times in ns (third.cc, qp_finish). HPCC counts until the
    last acknowledgement is back, so `acked_ps` counts, and `fct_ps` for a READ. A host's number is its name,
    or its place among the names if one is no number. The destination port is 100.
    Messages that did not end have no line, nor have those of connections that ended before the warm-up.
    """
    import polars as pl

    flows = run.tables["flows"].select(pl.col("id").alias("flow"), "src", "dst")
    names = sorted({*flows["src"], *flows["dst"]}, key=lambda name: (len(name), name))
    plain = all(name.isdigit() for name in names)
    hosts = {name: int(name) if plain else place for place, name in enumerate(names)}
    ended = (
        run.tables["messages"].drop_nulls("fct_ps").join(flows, on="flow", how="inner", maintain_order="left")
    )
    lines = []
    for row in ended.sort("end_ps", maintain_order=True).iter_rows(named=True):
        ends = " ".join(f"{_address(hosts[row[end]]):08x}" for end in ("src", "dst"))
        acked = row["acked_ps"] is not None and row["ideal_acked_ps"] is not None
        keys = ("acked_ps", "ideal_acked_ps") if acked else ("fct_ps", "ideal_ps")
        times = " ".join(str(row[key] // 1000) for key in ("start_ps", *keys))
        lines.append(f"{ends} {10_000 + row['flow'] % 50_000} {PORT} {row['bytes']} {times}")
    return lines


def _address(number: int) -> int:
    """The address of a node (third.cc, node_id_to_ip)."""
    return 0x0B000001 + (number // 256) * 0x10000 + (number % 256) * 0x100
