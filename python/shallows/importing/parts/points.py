"""Points of a distribution of flow sizes: [bytes, percent of flows not larger]."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from shallows.importing.parts.content import Content
from shallows.importing.parts.source import Source

__all__ = ["looks_like_points", "of_points"]

Point = tuple[int, float, float]
"""Line, bytes, percent."""


def looks_like_points(rows: list[list[float]], size: int, share: int, whole: float) -> bool:
    """Whether both columns rise, and the share ends at most at `whole`."""
    if len(rows) < 2:
        return False
    pairs = list(pairwise(rows))
    rising = all(a[size] <= b[size] and a[share] <= b[share] for a, b in pairs)
    return rising and rows[0][share] >= 0 and 0 < rows[-1][share] <= whole


def of_points(source: Source, points: Iterable[Point], ignored: Iterable[str] = ()) -> Content:
    """The content, or faults: sizes and shares rise, from 0, to 100 percent."""
    kept: list[list[float]] = []
    lines: list[int] = []
    for line, size, percent in points:
        if kept and (size < kept[-1][0] or percent < kept[-1][1]):
            source.refuse(line, "must not be below the point before, in size and in share", [size, percent])
        elif percent > 100:
            source.refuse(line, "must have a share of at most 100 percent", percent)
        kept.append([size, percent])
        lines.append(line)
    if kept and kept[-1][1] != 100:
        source.refuse(lines[-1], "must end at 100 percent (a share of 1)", kept[-1][1])
    content = Content(kept, lines, ignored=list(ignored))
    if not source.faults and len(kept) > 1:
        low = kept[0][0] * kept[0][1]
        steps = pairwise(kept)
        mean = (low + sum((a[0] + b[0]) / 2 * (b[1] - a[1]) for a, b in steps)) / 100
        content.understood = [
            f"{len(kept)} points, sizes to {kept[-1][0]:,.0f} bytes, mean {mean:,.0f} bytes"
        ]
    return content
