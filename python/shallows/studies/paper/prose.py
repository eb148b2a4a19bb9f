"""Texts whose numbers have a source: the report fills `{{ name }}` in a README with a result.

A name is a claim's id (`figure/id` for another figure's), or one that `numbers(runs)` of figure.py returns.
Before a colon stands a word: `{{ verdict: sdc-no-loss }}` is the verdict in words, `{{ value: afct-sdc }}`
the number alone, `{{ published: afct-sdc }}` the document's, `{{ note: afct-falls }}` what was noted beside
it, and `{{ cause: afct-falls }}` why it differs. `docs/claims.md` says what else may stand in digits.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shallows.studies.paper import numbers

if TYPE_CHECKING:
    from shallows.studies.paper.study import Study

ABSENT = "(not run in this mode)"

_SLOT = re.compile(r"\{\{\s*(?:(value|verdict|note|published|cause):\s*)?([\w./ +-]+?)\s*\}\}")
_CODE = re.compile(r"`([^`]*)`")
_QUOTE = re.compile(r'"([^"]*)"')
_HIDDEN = re.compile(
    r"```.*?```|ECT\(\d\)|95 % interval|\{\{.*?\}\}|\[[^\]]*\]\([^)]*\)|https?://\S+", re.DOTALL
)
_NAME = re.compile(r"\.?/?[a-zA-Z][\w.*-]*(?:/[\w.*-]+)*|\./shallows .*|\d->\d", re.DOTALL)
"""Names in backquotes: a file, a figure, a claim, a command, a flow by its ends."""
_BEFORE = r"(?<![\w.])(?<![A-Za-z][-/])"
_NUMBER = re.compile(rf"{_BEFORE}[-+]?(?:\d[\d ]*\d|\d)(?:\.\d+)?|(?<!\w)\.\d+")
_UNIT = re.compile(r"\s*(%|[a-zA-Zµ/]+)?")
_WORDS = """[Ff]igures? [Tt]ables? [Ss]ections? [Ee]qs?\\. [Ee]quations? ss?\\. [Cc]hapters? [Pp]ages? RFCs?
[Ll]ines? [Rr]esults? [Ss]tep [Aa]ppendix [Vv]ersion [Nn]ote [Ii]nformation [Ss]nippet [Hh]osts?
[Ss]witch(?:es)? [Ff]lows? [Rr]acks? pp?\\. vol\\. no\\. IWQoS INFOCOM SIGCOMM NSDI ICDCS HotNets IMC"""
_PLACE = f"(?:{'|'.join(_WORDS.split())})"
_NO_UNIT = r"(?!\d|\s*(?:[KMG]?B|[numk]?s(?!\.)|[MGk]b|%|packets?)\b)"
_LIST = rf"(?:\(?[\d.:]*\d[a-z]?\)?{_NO_UNIT}(?:\s*(?:,|and|to|or|-|–)\s*)*)+"
_REFERENCE = re.compile(rf"{_PLACE}\s+{_LIST}|\(\d+\.\d+(?:(?:, | to | and )\d+\.\d+)*\)")
_DOCUMENT = r"\b(?:document|thesis|slides?|paper|text|memo)\b|(?:19|20)\d\d"
_SOURCE = re.compile(rf"{_PLACE}\s+\(?\d|{_DOCUMENT}", re.IGNORECASE)
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

__all__ = ["ABSENT", "fill", "settings_of", "slots", "typed_numbers", "verdict_words"]


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
            return verdict_words(one)
        if what == "cause":
            return (one.get("cause") or {}).get("words") or ABSENT
        if what == "published":
            unit = f" {one['unit']}" if one.get("unit") else ""
            return (one.get("published_text") or numbers.published(one["published"])) + unit
        if what == "note":
            return one.get("note") or _undecided(one)
        value, interval = one["measured"], one["ci95"] or one.get("range") or (None, None)
        if value is None:
            return _undecided(one)
        if isinstance(value, bool):
            return one.get("note") or numbers.number(value)
        unit = f" {one['unit']}" if one.get("unit") else ""
        return (numbers.number(value) if what == "value" else numbers.estimate(value, *interval)) + unit

    return _SLOT.sub(put, text)


def verdict_words(one: Mapping[str, Any]) -> str:
    """A claim's verdict in words; that of a `holds-if` with its reading."""
    verdict = one.get("verdict", ABSENT)
    if verdict == "holds-if":
        words = (one.get("cause") or {}).get("words")
        return f"holds with {words}" if words else "holds under another reading"
    return str(verdict).replace("not-determined", "not determined")


def _undecided(one: Mapping[str, Any]) -> str:
    """The words for a claim without a truth value: its numbers, and that they decide nothing."""
    why = one["measured"] is None and (one.get("note") or one.get("because"))
    return f"{why} (not determined)" if why else ABSENT


def typed_numbers(text: str, settings: Iterable[str]) -> list[str]:
    """The numbers of a text that have no source, as `number` or `number unit`.

    A source has a number in quotation marks, if its paragraph, the title or the first paragraph names the
    document or a place in it; one in backquotes, if it is one of `settings`; and one that is generated.
    Places, years and headings do not count as numbers.
    """
    known = set(settings)
    paragraphs = re.split(r"\n\s*\n|\n(?=- )", text)
    named = any(_SOURCE.search(paragraph) for paragraph in paragraphs[:2])
    found: list[str] = []
    for paragraph in paragraphs:
        prose = "\n".join(line for line in paragraph.splitlines() if not line.startswith("#"))
        found += _typed(prose, known, named or bool(_SOURCE.search(paragraph)))
    return found


def _typed(paragraph: str, settings: set[str], sourced: bool) -> list[str]:
    """The digits that a paragraph types; `sourced`: it says where its quotations come from."""
    text = _HIDDEN.sub(" ", paragraph)
    code = [span for span in _CODE.findall(text) if not _NAME.fullmatch(span)]
    text = _CODE.sub(" ", text)
    quoted = [] if sourced else _QUOTE.findall(text)
    for pattern in (_QUOTE, _REFERENCE, _YEAR):
        text = pattern.sub(" ", text)
    strange = [token for span in code for token in _tokens(span) if token not in settings]
    return strange + [token for span in quoted for token in _tokens(span)] + _tokens(text)


def settings_of(figure: "Study") -> set[str]:
    """The numbers of a figure's experiments, full and quick, and of the readings that concern it.

    Each with its unit and without, as `number` or `number unit`; among them how many points a sweep has, and
    `settings` of its `FIGURE`, which a figure without experiments computes from.
    """
    found: set[str] = set()
    for quick in (False, True):
        for document in figure.documents(quick).values():
            found |= set(_numbers_in(document))
            found.add(str(_points(document.get("sweep", {}))))
    found |= set(_numbers_in(figure.declared.settings))
    plan = figure.readings.plan(figure.name)
    for axis in itertools.chain(plan.dimensions, *plan.grids):
        dimension = figure.readings.dimensions[axis.partition("=")[0]]
        found |= {token for v in dimension.values for token in _numbers_in([v.id, v.words, v.set, v.given])}
    return found | {token.split(" ")[0] for token in found}


def _points(sweep: Mapping[str, Any]) -> int:
    """How many points a sweep has."""
    steps = [len(values) for values in sweep.get("grid", {}).values()]
    steps += [len(values) for values in itertools.islice(sweep.get("zip", {}).values(), 1)]
    return math.prod([*steps, len(sweep.get("points", ())) or 1])


def _numbers_in(value: Any) -> Iterator[str]:
    """Every number of nested tables and lists, and of their keys."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers_in(key)
            yield from _numbers_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers_in(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value:g}" if abs(value) < 1e15 else str(value)
    elif isinstance(value, str):
        yield from _tokens(value)


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
