"""Writes `reports/run-<name>/` and `reports/sweep-<name>/`: page, figures, experiment, metrics."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shallows import terminal
from shallows.document.settings import sources, text_of
from shallows.execution.jobs import Outcome
from shallows.studies.outcomes import figures
from shallows.studies.outcomes.rows import busiest, groups, has_labels, notes, table, warnings
from shallows.studies.page import place
from shallows.studies.page.csv_tables import cell, write_metrics
from shallows.tables import metric_names
from shallows.tables import seeds as seeds_of

MOST_QUEUES = 12

__all__ = ["page_of_runs", "render", "write_runs"]


def page_of_runs(name: str, out: Path) -> Path:
    """The directory of the report. Raises StoreError if something else is there, before anything runs."""
    return place.check(out, place.file_name(name))


def write_runs(
    name: str,
    title: str,
    outcomes: Sequence[Outcome],
    document: Mapping[str, Any],
    out: Path,
    command: str,
    metric: Sequence[str] = (),
    by: str | None = None,
    formats: Sequence[str] = (),
) -> Path:
    """The page and its files; returns its index.html. `document` is the experiment as it was run.

    `metric` and `by` are those of the command: the first table and the figures show what they ask for.
    `formats` are those of the figures beside SVG: pdf, png.

    Error: StoreError.
    """
    from shallows.figures import interactive

    drawn = figures.draw(outcomes, metric)
    others = interactive.in_formats(drawn, formats)
    images = {caption: interactive.picture(each) for caption, each in drawn.items()}
    in_toml = "python" not in document  # classes of a script have no text

    def fill(new: Path) -> None:
        html = render(title, outcomes, images, command, in_toml, metric, by)
        (new / "index.html").write_text(html, encoding="utf-8")
        if in_toml:
            (new / "experiment.toml").write_text(text_of(document), encoding="utf-8")
        for caption, svg in images.items():
            (new / f"{place.file_name(caption)}.svg").write_bytes(svg)
        write_metrics(new / "metrics.csv", outcomes)
        for (caption, suffix), data in others.items():
            (new / f"{place.file_name(caption)}{suffix}").write_bytes(data)

    return place.write(out, place.file_name(name), fill)


def render(
    title: str,
    outcomes: Sequence[Outcome],
    images: Mapping[str, bytes],
    command: str,
    in_toml: bool = True,
    metric: Sequence[str] = (),
    by: str | None = None,
) -> str:
    """The HTML text. Equal runs give equal text."""
    good = groups(outcomes)
    seeds = sorted({each.point.seed for each in outcomes})
    first = good[0][0] if good else None
    return place.template("outcomes").render(
        title=title,
        command=command,
        in_toml=in_toml,
        count=len(outcomes),
        points=len({each.point.label for each in outcomes}),
        seeds=len(seeds),
        seeds_text=str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}",
        failures=list(dict.fromkeys(each.error for each in outcomes if each.error)),
        notes=notes(each.run for each in outcomes if each.run is not None),
        warnings=warnings(outcomes, over=any(len(group) > 1 for group in good)),
        happened=first.run.happened if first and first.run and len(good) == 1 else [],
        summary=_headed(*_summary(outcomes, good, metric, by)),
        points_of=_points(good),
        metrics=_metrics(good[0]) if len(good) == 1 else [],
        by_class=_headed(*table(outcomes, by="class", over=True)),
        by_size=_headed(*_by_size(outcomes)),
        queues=busiest(first.run, MOST_QUEUES)[0] if first and first.run else [],
        images={caption: base64.b64encode(svg).decode() for caption, svg in images.items()},
        settings=_settings(first),
        varied=list(dict.fromkeys(p for each in outcomes for p in each.point.params)),
        about=_about(outcomes),
    )


def _headed(heads: list[str], rows: list[list[Any]]) -> tuple[list[tuple[str, str]], list[list[Any]]]:
    """A table with the meaning of each head. Left out: the number of seeds, if all rows have the same."""
    if "seeds" in heads and len({row[heads.index("seeds")] for row in rows}) == 1:
        at = heads.index("seeds")
        heads, rows = heads[:at] + heads[at + 1 :], [row[:at] + row[at + 1 :] for row in rows]
    meanings = {head: metric_names.meaning(head) for head in heads}
    named = [(terminal.heading(h), f"{h}: {meaning}") if (meaning := meanings[h]) else (h, "") for h in heads]
    return named, rows


def _summary(
    outcomes: Sequence[Outcome], good: Sequence[Sequence[Outcome]], metric: Sequence[str], by: str | None
) -> tuple[list[str], list[list[Any]]]:
    """The rows that the command asked for; by default a row a point, for several points."""
    if metric or by:
        return table(outcomes, metric, by, over=True)
    return table(outcomes, metric=COLUMNS, over=True) if len(good) > 1 else ([], [])


def _points(good: Sequence[Sequence[Outcome]]) -> list[tuple[str, list[tuple[str, str]]]]:
    """By label what each point sets, where the tables name points by their labels."""
    points = [group[0].point for group in good]
    if not has_labels([each for group in good for each in group]):
        return []
    return [(one.label, [(path, str(cell(value))) for path, value in one.params.items()]) for one in points]


COLUMNS = (
    "goodput_bps_total",
    "jain",
    "bottleneck_utilisation",
    "bottleneck_mean_wait_ps",
    "bottleneck_p99_wait_ps",
    "drops",
    "marks",
    "timeouts",
)
"""Metrics of a sweep's points on its page."""


def _metrics(group: Sequence[Outcome]) -> list[tuple[str, str, str]]:
    """Every metric of one point with its mean, its interval over seeds, and its meaning."""
    found = []
    for name, estimate in seeds_of.over_seeds([each.metrics or {} for each in group]).items():
        shown = terminal.readable_mean(name, estimate.value, estimate.ci)
        found.append((name, shown, metric_names.meaning(name)))
    return found


def _by_size(outcomes: Sequence[Outcome]) -> tuple[list[str], list[list[Any]]]:
    """A row for each class and size with messages, if some class has messages of several sizes."""
    heads, rows = table(outcomes, by="size", over=True)
    at = heads.index("size") if "size" in heads else 0
    rows = [row for row in rows if any(cell not in ("-", "0") for cell in row[at + 1 :])]
    several = any(row[at] != "all" for row in rows)
    return (heads, rows) if several else ([], [])


def _settings(first: Outcome | None) -> list[tuple[str, str, str, str, bool]]:
    """Each effective setting: path, value, default, source of the default, and whether it departs from it."""
    if first is None:
        return []
    found = []
    for path, value, default, source in sources(first.point.experiment):
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        usual = default.lower() if isinstance(value, bool) else default
        found.append((path, shown, usual, source, bool(usual) and shown != usual))
    return found


def _about(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    manifests = [each.run.manifest for each in outcomes if each.run is not None]
    rows = [("runs", ", ".join(sorted({m["hash"] for m in manifests})[:40]))]
    for key, name in (
        ("version", "Shallows"),
        ("source_hash", "core's sources"),
        ("backend", "backend"),
    ):
        rows.append((name, ", ".join(sorted({str(m.get(key, "")) for m in manifests}))))
    return rows
