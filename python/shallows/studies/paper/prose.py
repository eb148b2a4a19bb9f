"""Texts whose numbers come from results: `{{ name }}` in a README is filled when the report is made.

A name is a claim's id (`figure/id` for another figure's), or one that `numbers(runs)` of figure.py returns.
Before a colon stands a word: `{{ verdict: sdc-no-loss }}` is the verdict, `{{ value: afct-sdc }}` the number
alone, `{{ note: afct-falls }}` what was noted beside it.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shallows.studies.paper import numbers

ABSENT = "(not run in this mode)"

_SLOT = re.compile(r"\{\{\s*(?:(value|verdict|note):\s*)?([\w./ +-]+?)\s*\}\}")
_HIDDEN = re.compile(r"```.*?```|`[^`]*`|\{\{.*?\}\}|\"[^\"]*\"|\[[^\]]*\]\([^)]*\)|https?://\S+", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w./])[-+]?\d[\d ]*\d(?:\.\d+)?|(?<![\w./])[-+]?\d+(?:\.\d+)?|(?<![\w])\.\d+")
_UNIT = re.compile(r"\s*(%|[a-zA-Zµ/]+)?")
_WORDS = """[Ff]igures? [Tt]ables? [Ss]ections? [Ee]qs?\\. [Ee]quations? ss?\\. [Cc]hapters? [Pp]ages? RFCs?
[Ll]ines? [Rr]esults? [Ss]tep [Aa]ppendix [Vv]ersion [Nn]ote [Ii]nformation [Ss]nippet [Hh]osts?
[Ss]witch(?:es)? [Ff]lows? [Rr]acks? pp?\\. vol\\. no\\. IWQoS INFOCOM SIGCOMM NSDI ICDCS HotNets IMC"""
_PLACE = f"(?:{'|'.join(_WORDS.split())})"
_REFERENCE = re.compile(_PLACE + r"\s+(?:\(?[\d.:]+[a-z]?\)?(?:\s*(?:,|and|to|or|-|–)\s*)*)+")
_YEAR = re.compile(r"(?<![\d.])(?:19|20)\d\d(?![\d.])")
_UNITS = (
    "us",
    "ms",
    "s",
    "ns",
    "KB",
    "MB",
    "GB",
    "B",
    "Mb/s",
    "Gb/s",
    "kb/s",
    "Mbps",
    "Gbps",
    "%",
    "packets",
    "pkt",
)
_SPELLED = {"Mbps": "Mb/s", "Gbps": "Gb/s", "pkt": "packets", "packet": "packets"}

__all__ = ["ABSENT", "fill", "in_sources", "slots", "typed_numbers"]


def slots(text: str) -> list[str]:
    """The names that a text asks for, in order."""
    return [match[2] for match in _SLOT.finditer(text)]


def fill(text: str, known: Mapping[str, Mapping[str, Any]], figure: str = "") -> str:
    """The text with each slot's value. `known`: by `figure/name`, a record of a claim or of a number."""

    def put(match: re.Match[str]) -> str:
        what, name = match[1], match[2]
        one = known.get(f"{figure}/{name}") or known.get(name)
        if one is None:
            return ABSENT
        if what == "verdict":
            return str(one.get("verdict", ABSENT)).replace("not-determined", "not determined")
        if what == "note":
            return one.get("note") or ABSENT
        value, interval = one["measured"], one["ci95"] or (None, None)
        if value is None:
            why = one.get("note") or one.get("because")
            return f"undecided ({why})" if why else ABSENT
        if isinstance(value, bool):
            return one.get("note") or numbers.number(value)
        unit = f" {one['unit']}" if one.get("unit") else ""
        return (numbers.number(value) if what == "value" else numbers.estimate(value, *interval)) + unit

    return _SLOT.sub(put, text)


def typed_numbers(text: str, allowed: Iterable[str]) -> list[str]:
    """Numbers of a text that are neither quoted, nor code, nor generated, nor places, years or `allowed`.

    Headings are not looked at. With a unit after it, a number and its unit are one token, as in `10 ms`.
    """
    known = set(allowed)
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for pattern in (_HIDDEN, _REFERENCE, _YEAR):
        prose = pattern.sub(" ", prose)
    return [
        token
        for token in _tokens(prose)
        if token not in known and token.split(" ")[0] not in _free(known, token)
    ]


def in_sources(paths: Iterable[Path]) -> set[str]:
    """The numbers that settings and claims give: every token of these files, with and without its unit."""
    found: set[str] = set()
    for path in paths:
        for token in _tokens(path.read_text(encoding="utf-8").replace("_000", "000").replace('"', " ")):
            found |= {token, token.split(" ")[0]} if " " not in token else {token}
    return found


def _free(known: set[str], token: str) -> set[str]:
    """Bare numbers that will do: only for a token without a unit."""
    return known if " " not in token else set()


def _tokens(text: str) -> list[str]:
    """Numbers as `number` or `number unit`, thousands written together."""
    found = []
    for match in _NUMBER.finditer(text):
        digits = match[0].replace(" ", "").lstrip("+-")
        after = _UNIT.match(text, match.end())
        unit = (after[1] or "") if after else ""
        unit = _SPELLED.get(unit, unit)
        number = f"{float(digits):g}" if float(digits) < 1e15 else digits
        found.append(f"{number} {unit}" if unit in _UNITS else number)
    return found
