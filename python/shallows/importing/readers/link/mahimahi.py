"""A link as Mahimahi records it: a line for each packet that may leave, with its time in ms.

Netravali et al. 2015 (USENIX ATC) section 4.2; mm-link(1). The trace begins again after its last time.
"""

from __future__ import annotations

from collections.abc import Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.source import MOST_ROWS, Head, Source

LATEST = 100_000_000


def _recognises(head: Head) -> bool:
    rows = head.numbers(100)
    return len(rows) > 1 and all(len(row) == 1 and row[0] >= 0 and row[0].is_integer() for row in rows)


def _read(source: Source, options: Mapping[str, str]) -> Content:
    times: list[int] = []
    lines: list[int] = []
    for line, words in source.words():
        if len(words) != 1:
            source.refuse(line, "must hold one time in ms", " ".join(words))
            continue
        at = source.count(line, words[0], "a time in ms", most=LATEST)
        if times and at < times[-1]:
            source.refuse(line, "must not be before the time above", at)
        if len(times) >= MOST_ROWS:
            source.stop(line, f"holds more than {MOST_ROWS} times, the most that are allowed")
        times.append(at)
        lines.append(line)
    content = Content(times, lines)
    if times and times[-1]:
        mbps = len(times) * 1504 * 8 / times[-1] / 1000
        content.understood = [
            f"{len(times)} packets may leave in {times[-1] / 1000:g} s, {mbps:.3g} Mb/s in the mean"
        ]
    return content


READER = Reader(
    "link-mahimahi",
    "opportunities",
    "a link of Mahimahi: times in ms at which a packet may leave",
    "ravinet/mahimahi, traces/*.up and *.down",
    "1\n1\n3\n4\n6\n6\n9\n",
    _recognises,
    _read,
)
