"""Claims that differ in a few words or values, written once: the table `each` of a `[[claim]]`.

Each key of `each` has a list, and the lists are equally long: one claim for each position. A key that a claim
has, such as `published` or `expected.quick`, gets its value there. Any other key stands in the claim's texts
as `{key}`. `docs/claims.md` has an example.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shallows.errors import NOTHING, Fault
from shallows.words import did_you_mean

__all__ = ["expanded"]

KEYS = (
    "published",
    "deterministic",
    "relation",
    "unit",
    "kind",
    "expected",
    "tolerance",
    "holds_if",
    "cause",
    "about",
    "experiments",
    "note",
    "sentence",
    "where",
    "joint",
    "full_only",
)
"""Keys of a claim that `each` may set; an id and a statement differ by their words."""

_WORD = re.compile(r"\{([A-Za-z_]\w*)\}")


def expanded(table: Mapping[str, Any], at: str, faults: list[Fault]) -> list[dict[str, Any]]:
    """The claims of one `[[claim]]`: itself without `each`. Faults join `faults`; then there are none."""
    if "each" not in table:
        return [dict(table)]
    shared = {key: value for key, value in table.items() if key != "each"}
    each = table["each"]
    columns = dict(_columns(each)) if isinstance(each, Mapping) else {}
    known = len(faults)
    faults += _faults(shared, each, columns, f"{at}.each")
    if len(faults) > known:
        return []
    made = []
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        one = _filled(copy.deepcopy(shared), {name: str(value) for name, value in row.items()})
        for name, value in row.items():
            if _is_key(name):
                _put(one, name.split("."), value)
        made.append(one)
    return made


def _columns(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The lists by dotted key."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _columns(value, f"{before}{key}.")
        else:
            yield before + key, value


def _is_key(name: str) -> bool:
    return name.partition(".")[0] in KEYS


def _faults(shared: Mapping[str, Any], each: Any, columns: Mapping[str, Any], at: str) -> Iterator[Fault]:
    if not isinstance(each, Mapping):
        yield Fault(at, "must be a table of lists", each, "", "wrong-type")
        return
    if not columns:
        yield Fault(at, "is empty", NOTHING, "", "empty")
    lists = {name: values for name, values in columns.items() if isinstance(values, list)}
    for name in columns.keys() - lists.keys():
        yield Fault(f"{at}.{name}", "must be a list", columns[name], "", "wrong-type")
    most = max(map(len, lists.values()), default=0)
    used = set(_words(shared))
    for name, values in lists.items():
        if not values:
            yield Fault(f"{at}.{name}", "is empty", NOTHING, "", "empty")
        elif len(values) != most:
            rule = f"must have as many entries as the longest list, {most}"
            yield Fault(f"{at}.{name}", rule, values, "", "unequal")
        if _is_key(name):
            if _stands(shared, name):
                yield Fault(f"{at}.{name}", "is written in the claim too", NOTHING, "", "written-twice")
            continue
        wrong = [value for value in values if isinstance(value, bool) or not isinstance(value, str | int)]
        if name not in used:
            rule = f"is neither a key of a claim that may differ nor {{{name}}} in one of its texts"
            yield Fault(f"{at}.{name}", rule, NOTHING, did_you_mean(name, [*used, *KEYS]), "unknown-key")
        elif wrong:
            rule = "must have texts or whole numbers, which stand in texts"
            yield Fault(f"{at}.{name}", rule, wrong[0], "", "wrong-type")
    for word in sorted(used - columns.keys()):
        rule = f"lacks {word}, which stands in a text as {{{word}}}"
        yield Fault(at, rule, NOTHING, did_you_mean(word, columns), "missing")


def _put(table: dict[str, Any], path: list[str], value: Any) -> None:
    """Sets a value at a path, in tables that are made on the way."""
    for key in path[:-1]:
        table = table.setdefault(key, {})
    table[path[-1]] = copy.deepcopy(value)


def _stands(table: Any, name: str) -> bool:
    """Whether a table has a dotted key, or something else than a table on the way to it."""
    for part in name.split("."):
        if not isinstance(table, Mapping):
            return True
        if part not in table:
            return False
        table = table[part]
    return True


def _words(value: Any) -> Iterator[str]:
    """The words in braces of all texts."""
    if isinstance(value, str):
        yield from _WORD.findall(value)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)


def _filled(value: Any, row: Mapping[str, str]) -> Any:
    """The value with each word in braces replaced, in texts at any depth."""
    if isinstance(value, str):
        return _WORD.sub(lambda match: row[match[1]], value)
    if isinstance(value, Mapping):
        return {key: _filled(inner, row) for key, inner in value.items()}
    return [_filled(inner, row) for inner in value] if isinstance(value, list) else value
