"""Flows as HPCC's simulator and those that follow it have them: the number of flows, then `src dst priority
port bytes start`, the start in seconds. The simulator runs as many rows as the first line says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.source import MOST_ROWS, Head, Source


def _recognises(head: Head) -> bool:
    lines = head.lines
    if len(lines) < 2 or not lines[0].isdigit():
        return False
    row = lines[1].split()
    return len(row) in (5, 6) and all(word.isdigit() for word in row[:4])


def _read(source: Source, options: Mapping[str, str]) -> Content:
    content = Content()
    lines: list[int] = []
    hosts: dict[str, None] = {}
    priorities: dict[str, None] = {}
    words_of = source.words()
    first, words = next(words_of, (1, [""]))
    count = source.count(first, words[0], "the number of flows", most=MOST_ROWS)
    after = 0
    for line, words in words_of:
        if len(lines) == count:
            after += 1
            continue
        if len(words) not in (5, 6):
            source.refuse(line, "must be src dst priority port bytes start", " ".join(words)[:80])
            lines.append(line)
            continue
        ends = [str(source.count(line, word, "a host", most=10_000_000)) for word in words[:2]]
        start = source.time(line, words[-1], "s", "start")
        flow: dict[str, Any] = {
            "from": ends[0],
            "to": ends[1],
            "bytes": f"{source.count(line, words[-2], 'bytes', 1)}B",
        }
        if ends[0] == ends[1]:
            source.refuse(line, "must go from one host to another", ends[0])
        content.rows.append(flow | {"start": start})
        lines.append(line)
        hosts |= dict.fromkeys(ends)
        priorities[words[2]] = None
    if len(lines) < count:
        source.refuse(first, f"promises {count} flows, and the file has {len(lines)}", count)
    content.lines, content.hosts = lines, [*hosts]
    content.understood = [f"{len(lines)} flows between {len(hosts)} hosts"]
    if after:
        told = (
            f"the first line says {count} flows: {after} further lines are not read, as in HPCC's simulator"
        )
        content.ignored.append(told)
    content.ignored.append(f"priorities ({', '.join([*priorities][:8])}) and ports")
    return content


READER = Reader(
    "flows-hpcc",
    "flows",
    "flow.txt of HPCC and simulators that follow it",
    "alibaba-edu/High-Precision-Congestion-Control, simulation/mix/",
    "2\n1 0 3 100 200000 2\n2 0 3 100 200000 2.000001\n",
    _recognises,
    _read,
    rdma=True,
)
