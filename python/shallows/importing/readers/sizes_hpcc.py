"""Flow sizes as HPCC's traffic generator and SimAI have them: `bytes percent`, blanks between, no header."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.points import looks_like_points, of_points
from shallows.importing.parts.source import Head, Source


def _recognises(head: Head) -> bool:
    rows = head.numbers(100_000)
    if not rows or {len(row) for row in rows} != {2} or not looks_like_points(rows, 0, 1, 100):
        return False
    return rows[-1][1] > 1 or not head.whole


def _read(source: Source, options: Mapping[str, str]) -> Content:
    def points() -> Iterator[tuple[int, float, float]]:
        for line, words in source.words():
            if len(words) != 2:
                source.refuse(line, "must hold two numbers: bytes and percent", " ".join(words))
                continue
            yield (
                line,
                source.number(line, words[0], "a size in bytes"),
                source.number(line, words[1], "a share"),
            )

    return of_points(source, points())


READER = Reader(
    "sizes-hpcc",
    "sizes",
    "flow sizes of HPCC's traffic generator: bytes and percent",
    "alibaba-edu/High-Precision-Congestion-Control, traffic_gen/",
    "0 0\n10000 15\n20000 40.5\n30000000 100\n",
    _recognises,
    _read,
)
