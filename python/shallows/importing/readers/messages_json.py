"""The messages of a graph as JSON: a list of objects with the keys of an experiment file."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shallows.errors import Fault, SpecError
from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.json_files import parse_json
from shallows.importing.parts.source import MOST_ROWS, Head, Source


def _recognises(head: Head) -> bool:
    return bool(re.match(r"\s*\[\s*[{\]]", head.text or ""))


def _read(source: Source, options: Mapping[str, str]) -> Content:
    rows = parse_json(source)
    if not isinstance(rows, list):
        raise SpecError([Fault("", "must hold a list of messages", source.path, code="wrong-type")])
    if len(rows) > MOST_ROWS:
        rule = f"holds {len(rows)} messages; at most {MOST_ROWS} are allowed"
        raise SpecError([Fault("", rule, source.path, code="out-of-range")])
    ends = (row.get(key) for row in rows if isinstance(row, dict) for key in ("from", "to"))
    hosts = dict.fromkeys(end for end in ends if isinstance(end, str))
    understood = [f"{len(rows)} messages between {len(hosts)} hosts"]
    return Content(rows, hosts=[*hosts], understood=understood)


READER = Reader(
    "messages-json",
    "messages",
    "messages of a graph as JSON",
    "the form of Shallows",
    '[{"id": "there", "from": "s0", "to": "r0", "bytes": "5KB"},\n'
    ' {"id": "back", "from": "r0", "to": "s0", "bytes": "5KB", "after": ["there"], "delay": "12.5us"}]\n',
    _recognises,
    _read,
    suffix=".json",
)
