"""Figures that carry their numbers, so that a page can show them with a cursor, a zoom and series to hide.

`picture` gives a figure's SVG with what it draws as JSON in its `<metadata>`. `page/index.js` reads that and
draws it with ECharts in place of the image; on paper, and without a script, the image stays. A figure that
holds something which the page cannot draw alike has no numbers, and stays an image everywhere.
"""

from __future__ import annotations

import base64
import functools
import gzip
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np

from shallows.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

HERE = Path(__file__).parent / "page"

MOST_POINTS = 2000
"""The most points of one series; a longer one keeps the least and the greatest value of each bucket."""

DASHES = {"-": "solid", "--": "dashed", ":": "dotted", "-.": "dashed"}
STEPS = {"steps": "start", "steps-pre": "start", "steps-mid": "middle", "steps-post": "end"}

Row = list[float | None]

__all__ = ["described", "packed", "picture"]


def picture(figure: Figure) -> bytes:
    """The figure as SVG with its numbers. Equal figures give equal bytes."""
    svg = style.image(figure)
    found = described(figure)
    if found is None:
        return svg
    text = escape(json.dumps(found, separators=(",", ":"), ensure_ascii=False, allow_nan=False))
    head, end, _ = svg.rpartition(b"</svg>")
    return head + b'<metadata id="shallows">' + text.encode() + b"</metadata>\n" + end + b"\n"


def in_formats(figures: Mapping[str, Figure], formats: Iterable[str]) -> dict[tuple[str, str], bytes]:
    """Each figure in each format beside SVG, by its caption and the suffix of a file: ".pdf", ".png"."""
    wanted = [f".{name}" for name in dict.fromkeys(formats) if name != "svg"]
    return {
        (caption, suffix): style.image(each, suffix) for caption, each in figures.items() for suffix in wanted
    }


@functools.cache
def packed() -> dict[str, str]:
    """The modules with which a page shows such figures: by name, as gzip in base64."""
    files = {"echarts": "echarts.min.js", "shallows-figures": "index.js"}
    return {
        name: base64.b64encode(gzip.compress((HERE / file).read_bytes(), 9, mtime=0)).decode()
        for name, file in files.items()
    }


def described(figure: Figure) -> dict[str, Any] | None:
    """The content of a laid-out figure: its size in points, and panels with axes, series and notes.

    None if it holds what a page cannot draw alike.
    """
    shown = [ax for ax in figure.axes if ax.get_visible() and ax.get_label() != "<colorbar>"]
    panels = [_panel(ax) for ax in shown]
    if not panels or None in panels:
        return None
    width, height = figure.get_size_inches()
    return {"size": [_short(72 * width), _short(72 * height)], "panels": panels}


def _panel(ax: Axes) -> dict[str, Any] | None:
    from matplotlib.collections import LineCollection

    lines = all(isinstance(each, LineCollection) for each in ax.collections)
    if not ax.axison or ax.artists or ax.tables or not lines:
        return None
    box = ax.get_position()
    colours = _named(ax)
    series: dict[str, dict[str, Any]] = {}
    for each in (*_cells(ax), *_lines(ax), *_segments(ax), *_areas(ax)):
        each["name"] = each["name"] or colours.get(each["colour"], "")
        kept = series.setdefault(json.dumps({k: v for k, v in each.items() if k != "rows"}), each)
        if kept is not each:  # whiskers come one by one, and are one series with gaps
            kept["rows"] += [[None, None], *each["rows"]] if "area" not in each else each["rows"]
    return {
        "box": [_short(v) for v in (box.x0, 1 - box.y1, box.width, box.height)],
        "title": ax.get_title(loc="left") or ax.get_title(),
        "x": _axis(ax.xaxis),
        "y": _axis(ax.yaxis),
        "series": list(series.values()),
        "notes": list(_notes(ax)),
    }


def _named(ax: Axes) -> dict[str, str]:
    """Names of series by colour: whiskers and areas have the colour of what they belong to."""
    handles, labels = ax.get_legend_handles_labels()
    found: dict[str, str] = {}
    for handle, label in zip(handles, labels, strict=True):
        colour = _colour_of(handle)
        if colour:
            found.setdefault(colour, label)
    return found


def _colour_of(artist: Any) -> str:
    from matplotlib.colors import to_hex

    one = artist if hasattr(artist, "get_color") else artist.get_children()[0]
    given = one.get_color() if hasattr(one, "get_color") else one.get_facecolor()[:3]  # a bar's
    if isinstance(given, np.ndarray):
        given = given[0] if given.ndim > 1 else given
    return str(to_hex(given))


def _axis(axis: Axis) -> dict[str, Any]:
    from matplotlib.ticker import FixedLocator

    found: dict[str, Any] = {
        "label": axis.get_label_text(),
        "log": axis.get_scale() == "log",
        "limits": [_short(v) for v in axis.get_view_interval()],
    }
    if isinstance(axis.get_major_locator(), FixedLocator):  # names, or chosen places
        words = [label.get_text() for label in axis.get_ticklabels()]
        found["ticks"] = [[_short(at), word] for at, word in zip(axis.get_ticklocs(), words, strict=False)]
    if axis.get_inverted():
        found["limits"].sort(reverse=True)
    return found


def _lines(ax: Axes) -> Iterator[dict[str, Any]]:
    for line in ax.lines:
        rows = _rows(*_in_data(ax, line.get_transform(), np.asarray(line.get_xydata(), dtype=float)))
        if not rows:
            continue
        label = str(line.get_label())
        marker = str(line.get_marker())
        yield {
            "name": "" if label.startswith("_") else label,
            "colour": _colour_of(line),
            "dash": DASHES.get(str(line.get_linestyle()), ""),
            "step": STEPS.get(str(line.get_drawstyle()), ""),
            "width": _short(line.get_linewidth()),
            "alpha": _short(line.get_alpha() or 1.0),
            "marker": "" if marker.lower() == "none" else marker,
            "size": _short(line.get_markersize()),
            "rows": rows,
        }


def _segments(ax: Axes) -> Iterator[dict[str, Any]]:
    from matplotlib.colors import to_hex

    for collection in ax.collections:
        colours = [str(to_hex(each)) for each in collection.get_colors()]  # type: ignore[attr-defined]
        label = str(collection.get_label())
        for number, segment in enumerate(collection.get_segments()):  # type: ignore[attr-defined]
            yield {
                "name": "" if label.startswith("_") else label,
                "colour": colours[number % len(colours)] if colours else style.INK,
                "dash": "solid",
                "step": "",
                "width": _short(np.ravel(collection.get_linewidth())[0]),
                "alpha": _short(collection.get_alpha() or 1.0),
                "marker": "",
                "size": 0,
                "rows": _rows(segment[:, 0], segment[:, 1]),
            }


def _areas(ax: Axes) -> Iterator[dict[str, Any]]:
    """Bars and bands, as their corners."""
    from matplotlib.colors import to_hex

    for patch in ax.patches:
        corners = patch.get_patch_transform().transform(patch.get_path().vertices)
        x, y = _in_data(ax, patch.get_data_transform(), corners)
        yield {
            "name": "",
            "colour": str(to_hex(patch.get_facecolor())),
            "alpha": _short(patch.get_alpha() or 1.0),
            "area": True,
            "rows": [[_short(v) for v in (x.min(), y.min(), x.max(), y.max())]],
        }


def _cells(ax: Axes) -> Iterator[dict[str, Any]]:
    """A heat map: the corners of its cells with their values and colours."""
    from matplotlib.colors import to_hex

    for image in ax.images:
        values: Any = np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan)
        left, right, low, high = image.get_extent()
        if image.origin == "upper":
            low, high = high, low
        wide, tall = (right - left) / values.shape[1], (high - low) / values.shape[0]
        rows = []
        for (row, column), value in np.ndenumerate(values):
            if math.isfinite(value):
                x, y = left + wide * column, low + tall * row
                corners = (x, min(y, y + tall), x + wide, max(y, y + tall))
                rows.append([*map(_short, corners), _short(value), str(to_hex(tuple(image.to_rgba(value))))])
        name = image.colorbar.ax.get_ylabel() if image.colorbar is not None else ""
        yield {"name": "", "value": name, "colour": style.QUIET, "alpha": 1, "area": True, "rows": rows}


def _in_data(ax: Axes, transform: Any, points: Any) -> tuple[Any, Any]:
    """The points in the units of the axes; those of a line across the whole axes are shares of it."""
    if transform != ax.transData:
        points = ax.transData.inverted().transform(transform.transform(points))
    return points[:, 0], points[:, 1]


def _notes(ax: Axes) -> Iterator[dict[str, Any]]:
    """Texts within the axes, at their middles."""
    for text in ax.texts:
        if not text.get_text() or not text.get_visible():
            continue
        box = text.get_window_extent()
        x, y = ax.transData.inverted().transform(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2))
        yield {"at": [_short(x), _short(y)], "text": text.get_text(), "colour": _colour_of(text),
               "size": _short(float(text.get_fontsize()))}  # fmt: skip


def _rows(x: Any, y: Any) -> list[Row]:
    kept = _thinned(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    return [[_number(a), _number(b)] for a, b in kept]


def _thinned(x: Any, y: Any) -> Iterable[tuple[float, float]]:
    """All points, or of each bucket the lowest and the highest."""
    if len(x) <= MOST_POINTS:
        return zip(x, y, strict=True)
    edges = np.linspace(0, len(x), MOST_POINTS // 2 + 1).astype(int)
    chosen: list[int] = []
    for low, high in itertools.pairwise(edges):
        part = np.nan_to_num(y[low:high])
        chosen += sorted({low + int(part.argmin()), low + int(part.argmax())})
    return zip(x[chosen], y[chosen], strict=True)


def _number(value: float) -> float | None:
    return _short(value) if math.isfinite(value) else None


def _short(value: float) -> float:
    """Six significant digits; a whole number without a point."""
    short = float(f"{float(value):.6g}")
    return int(short) if short == int(short) and abs(short) < 1e15 else short
