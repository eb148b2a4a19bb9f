"""Flow sizes as ns-2 scripts of pFabric and PIAS have them: packets, a constant, cumulative share.

ns-2's EmpiricalRandomVariable reads value, an unused number and the share; it interpolates, and draws below
the first share give the first value. Packets hold 1460 bytes (Alizadeh 2013; Bai 2015: the scripts'
`packetSize`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.points import looks_like_points, of_points
from shallows.importing.parts.source import Head, Source

PACKET = 1460


def _recognises(head: Head) -> bool:
    rows = head.numbers(100_000)
    return bool(rows) and {len(row) for row in rows} == {3} and looks_like_points(rows, 0, 2, 1)


def _read(source: Source, options: Mapping[str, str]) -> Content:
    packet = source.count(1, options.get("packet", str(PACKET)), "--option packet", 1, 65_536)

    def points() -> Iterator[tuple[int, float, float]]:
        for line, words in source.words():
            if len(words) != 3:
                source.refuse(line, "must hold three numbers: packets, 1, share", " ".join(words))
                continue
            size = source.number(line, words[0], "a number of packets", most=1e12)
            yield line, size * packet, source.number(line, words[2], "a share", most=1) * 100

    told = f"sizes are in packets of {packet} bytes"
    return of_points(
        source, points(), [] if "packet" in options else [f"{told} (--option packet=BYTES changes that)"]
    )


READER = Reader(
    "sizes-packets",
    "sizes",
    "flow sizes of pFabric, PIAS and ns-2: packets, a constant, share to 1",
    "HKUST-SING/PIAS-NS2, scripts/CDF_*.tcl",
    "6 1 0\n6 1 0.15\n13 1 0.2\n20000 1 1\n",
    _recognises,
    _read,
    options={"packet": f"bytes of a packet, {PACKET} by default"},
)
