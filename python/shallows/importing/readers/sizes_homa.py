"""Flow sizes as Homa's simulator has them: the mean in the first line, then size and cumulative share.

A draw gives the first size whose share reaches it (MsgSizeDistributions.cc), so sizes between points do not
occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.points import looks_like_points, of_points
from shallows.importing.parts.source import Head, Source


def _recognises(head: Head) -> bool:
    rows = head.numbers(100_000)
    widths = [len(row) for row in rows]
    return widths[:1] == [1] and {*widths[1:]} == {2} and looks_like_points(rows[1:], 0, 1, 1.000001)


def _read(source: Source, options: Mapping[str, str]) -> Content:
    unit = source.count(1, options.get("unit", "1"), "--option unit", 1, 65_536)
    stated = [0.0]

    def points() -> Iterator[tuple[int, float, float]]:
        before = 0.0
        lines = source.words()
        for line, words in lines:
            if len(words) != 1:
                source.stop(line, "must hold the mean alone in the first line", " ".join(words))
            stated[0] = source.number(line, words[0], "the mean")
            break
        for line, words in lines:
            if len(words) != 2:
                source.refuse(line, "must hold two numbers: size and share", " ".join(words))
                continue
            size = source.count(line, words[0], "a size", 1, 10**12) * unit
            share = min(source.number(line, words[1], "a share", most=1.000001) * 100, 100)
            if share > before:
                yield line, size - 1, before  # a step: nothing lies between two sizes
            yield line, size, share
            before = share

    content = of_points(source, points())
    content.ignored = [
        "sizes are steps, as the simulator draws them: none lies between two points",
        f"the mean in the first line, {stated[0]:g}, is not used: the points have their own",
    ]
    if "unit" not in options:
        content.ignored.append(
            "sizes are bytes; files named DCTCP count packets: --option unit=BYTES has the bytes of one"
        )
    return content


READER = Reader(
    "sizes-homa",
    "sizes",
    "flow sizes of Homa's simulator: the mean, then size and share to 1",
    "PlatformLab/HomaSimulation, sizeDistributions/",
    "27168.2\n100 0.5\n1448 0.65\n10000 0.75\n1000000 1.0\n",
    _recognises,
    _read,
    options={"unit": "bytes of the unit in which sizes are counted, 1 by default"},
)
