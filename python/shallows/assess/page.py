"""The card as one HTML file: for each row its verdict, a figure, the cells and the command to repeat it."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import Any

from shallows import terminal
from shallows.assess import show
from shallows.assess.card import Row, Work
from shallows.assess.judge import Cell
from shallows.document.settings import text_of
from shallows.errors import StoreError
from shallows.figures import forest, style
from shallows.files import write_whole
from shallows.statistics.estimates import Estimate
from shallows.studies.page import place

TRACES = ("flows", "queues", "flow_trace", "port_trace")
"""Tables of a row's first run that the page holds, so that others can compare their own with them."""

__all__ = ["write"]

LEAST, MOST = 0.01, 100.0
"""The ends of the axis of figures. A value beyond an end is drawn at the end."""


def write(path: Path, work: Work, rows: list[Row], repeat: str) -> None:
    """Writes the page, or leaves the file that is there as it was. Raises StoreError."""
    template = place.template("", "card.html.j2", "shallows.assess")
    found = show.document(work, rows, repeat)
    for row, record in zip(rows, found["rows"], strict=True):
        record["image"] = _image(row)
        record["reading"] = show.reading(work.control, row)
        record["files"] = _files(row)
        for cell, each in zip(row.cells, record["cells"], strict=True):
            each["estimate"] = str(cell.estimate) if cell.estimate else ""
            each["bound"] = show.bound(cell.about)
            each["yardsticks"] = {name: _mean(cell, value) for name, value in cell.beside.items()}
    text = template.render(
        title=f"{work.control}: {work.card.title}",
        yardsticks=work.card.yardsticks,
        card=found,
        counts=_counts(rows),
        command=repeat,
    )
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise StoreError(f"the page {path} cannot be written: {error.strerror or error}") from error


def _files(row: Row) -> dict[str, str]:
    """The worst cell's experiment and traces by their file names, each as a link that needs no server."""
    run = row.cells[0].run if row.cells else None
    if run is None:
        return {}
    files = {f"{row.id}.toml": ("application/toml", text_of(run.experiment).encode())}
    for name in TRACES:
        if name in run.tables and len(run.tables[name]):
            # Without the time that gzip writes, equal traces give equal pages.
            data = gzip.compress(run.tables[name].write_csv().encode(), mtime=0)
            files[f"{row.id}.{name}.csv.gz"] = ("application/gzip", data)
    return {
        name: f"data:{kind};base64,{base64.b64encode(data).decode()}" for name, (kind, data) in files.items()
    }


def _counts(rows: list[Row]) -> list[tuple[str, int]]:
    verdicts = [row.verdict for row in rows]
    return [(verdict, verdicts.count(verdict)) for verdict in dict.fromkeys(verdicts)]


def _mean(cell: Cell, value: float) -> str:
    """A yardstick's mean, with its unit if it is a metric as it stands."""
    about = cell.about
    if "measure" in about or "over" in about or "divide" in about:
        return f"{value:.4g}"
    return terminal.readable(about["metric"], value)


def _image(row: Row) -> str:
    """The cells' estimates as multiples of their bounds, as SVG in base64; empty without any."""
    values = {cell.name: _beyond(cell) for cell in row.cells}
    if not any(values.values()):
        return ""
    label = "multiple of what the bound allows; right of 1 is worse"
    figure = forest.draw(forest.info({row.id: values}, label, 1.0), log=True)
    return base64.b64encode(style.image(figure)).decode()


def _beyond(cell: Cell) -> Estimate | None:
    """The estimate over the bound, or the bound over the estimate, so that more is always worse."""
    about, found = cell.about, cell.estimate
    if found is None:
        return None
    ends: list[Any] = [found.value, found.low, found.high]
    if "at_most" in about:
        value, low, high = (None if end is None else end / about["at_most"] for end in ends)
    else:
        value, high, low = (None if end is None else about["at_least"] / max(end, 1e-9) for end in ends)
    value, low, high = (None if end is None else min(max(end, LEAST), MOST) for end in (value, low, high))
    assert value is not None
    return Estimate(value, low, high, found.n)
