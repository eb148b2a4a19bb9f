"""Writes `reports/compare-<name>/`: index.html, the figures as SVG, the comparison as JSON and CSV."""

from __future__ import annotations

import base64
import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shallows.results.store import StoredRun
from shallows.studies.compare.comparison import LEVEL, Comparison
from shallows.studies.compare.show import cells, differences, document
from shallows.studies.page import csv_tables, place
from shallows.tables.metrics import Tables, bottleneck_port

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def page_of_comparison(name: str, out: Path, csv_place: Path | None = None) -> Path:
    """The directory of the report, checked like that of the CSV files.

    Raises StoreError if something else is there, before anything runs.
    """
    if csv_place:
        csv_tables.directory(csv_place)
    return place.check(out, f"compare-{place.file_name(name)}")


def write_comparison(
    found: Comparison,
    name: str,
    out: Path,
    command: str,
    formats: Sequence[str] = (),
    csv_place: Path | None = None,
) -> Path:
    """The page and its files; returns its index.html. Error: StoreError.

    `formats` are those of the figures beside SVG: pdf, png. With `csv_place` all tables are written there.
    """
    from shallows.figures import interactive

    drawn = draw(found)
    others = interactive.in_formats(drawn, formats)
    images = {title: interactive.picture(each) for title, each in drawn.items()}

    def fill(new: Path) -> None:
        (new / "index.html").write_text(render(found, images, command), encoding="utf-8")
        text = json.dumps(document(found), indent=1, ensure_ascii=False, allow_nan=False)
        (new / "compare.json").write_text(text + "\n", encoding="utf-8")
        for title, svg in images.items():
            (new / f"{place.file_name(title)}.svg").write_bytes(svg)
        for (title, suffix), data in others.items():
            (new / f"{place.file_name(title)}{suffix}").write_bytes(data)
        _write_csv(new / "compare.csv", document(found)["comparisons"])

    if csv_place:
        csv_tables.write_tables(found.outcomes, csv_place)
    return place.write(out, f"compare-{place.file_name(name)}", fill)


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0] if rows else [])
        writer.writerows(row.values() for row in rows)


def draw(found: Comparison) -> dict[str, Figure]:
    """The figures by title: ratios, the bottleneck's queue, completion times by size."""
    from shallows.figures import fct_bins, forest, queue_cdf

    base = found.what.schemes[0].name
    series: dict[str, dict] = {}
    for row in found.rows:
        if row.ratio is not None and row.verdict != "identical":
            series.setdefault(row.scheme, {})[row.metric] = row.ratio
    figures = {}
    if series:
        label = f"ratio to {base}, {LEVEL:.0%} interval"
        drawn = forest.draw(forest.info(series, label, reference=1.0), log=True)
        figures[f"ratios to {base}"] = drawn
    pooled = {scheme: pool(runs) for scheme, runs in found.runs.items()}
    port = bottleneck_port(pooled[base]["queues"])
    with suppress(ValueError):  # its queue was not recorded
        figures[f"queue at {port}, all seeds"] = queue_cdf.draw(queue_cdf.info(pooled, port))
    if all(len(tables["messages"]) for tables in pooled.values()):
        edges = found.what.schemes[0].points[0].summary.edges
        drawn = fct_bins.draw(fct_bins.info(pooled, edges))
        figures["completion times by size of message, all seeds"] = drawn
    return figures


def pool(runs: Sequence[StoredRun]) -> Tables:
    """The tables that the figures need, all seeds together."""
    queues = runs[0].tables["queues"]
    parts = {name: pl.concat([r.tables[name] for r in runs]) for name in ("queue_histogram", "messages")}
    histogram = (
        parts["queue_histogram"].group_by("port", "packets").agg(pl.col("time_ps", "at_dequeue").sum())
    )
    return {"queues": queues, "queue_histogram": histogram, "messages": parts["messages"]}


def render(found: Comparison, images: Mapping[str, bytes], command: str) -> str:
    """The HTML text. Equal comparisons give equal text."""
    what = found.what
    counts = Counter(row.verdict for row in found.rows)
    by_scheme = [
        {"name": scheme.name, "rows": [cells(row) for row in found.rows if row.scheme == scheme.name]}
        for scheme in what.schemes[1:]
    ]
    schemes = [
        {
            "name": scheme.name,
            "settings": [(k, v if isinstance(v, str) else json.dumps(v)) for k, v in scheme.settings.items()],
            "experiment": json.dumps(scheme.points[0].experiment, indent=1, ensure_ascii=False),
        }
        for scheme in what.schemes
    ]
    return place.template("compare").render(
        title=f"Comparison: {what.title}",
        counts=[(name, counts[name]) for name in ("real", "not-determined", "identical", "no-value")],
        schemes=schemes,
        compared=by_scheme,
        differences=differences(found),
        seeds=what.seeds,
        seeds_text=_seeds(what.seeds),
        warnings=found.warnings,
        images={title: base64.b64encode(svg).decode() for title, svg in images.items()},
        family=found.family,
        arrivals=[(load, list(by.values())) for load, by in found.arrivals.items()],
        command=command,
        about=_about(found),
    )


def _seeds(seeds: Sequence[int]) -> str:
    run = list(range(seeds[0], seeds[0] + len(seeds)))
    return f"{seeds[0]} to {seeds[-1]}" if list(seeds) == run else ", ".join(map(str, seeds))


def _about(found: Comparison) -> list[tuple[str, str]]:
    manifests = [run.manifest for runs in found.runs.values() for run in runs]
    rows = [("runs", str(len({m["hash"] for m in manifests})))]
    for key, name in (("version", "Shallows"), ("source_hash", "core's sources"), ("backend", "backend")):
        rows.append((name, ", ".join(sorted({str(m.get(key, "")) for m in manifests}))))
    return rows


__all__ = ["draw", "page_of_comparison", "pool", "render", "write_comparison"]
