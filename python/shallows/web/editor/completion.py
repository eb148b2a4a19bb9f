"""Keys and words for each place of the file, for the editor: from the JSON Schema of experiments.

A table has kinds; each kind has keys, and a key words. The schema is made from the checker's own
declarations, so that the editor offers what the checker accepts.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from shallows.document.schema import named

__all__ = ["kinds", "known"]

Schema = Mapping[str, Any]


@functools.cache
def _whole() -> dict[str, Any]:
    from shallows.document.places import experiments_path

    found: dict[str, Any] = json.loads(
        (experiments_path() / "experiment.schema.json").read_text(encoding="utf-8")
    )
    return found


@functools.cache
def known() -> dict[str, Any]:
    """`tables`: paths with their meaning; `keys`: path, kind ("" where there is one only), keys.

    `same`: paths whose keys are those of another.

    Names of loads, ports and switches are left out of the paths. A key has `label`, `detail` (its values),
    `info` (meaning, range and default) and `words`, each with its meaning.
    """
    found: dict[str, Any] = {"keys": {}, "tables": {}, "same": {}, "named": list(named())}
    _walk("", _whole(), found, {})
    return found


def kinds(path: str) -> list[str]:
    """The kinds of a component: congestion controls of `traffic.transport.cc`, queues of `queue`."""
    return [kind for kind in known()["keys"][path] if kind]


def _resolved(schema: Schema) -> Schema:
    if "$ref" in schema:
        return {**_whole()["$defs"][schema["$ref"].rpartition("/")[2]], **schema}
    return schema


def _objects(schema: Schema) -> Iterator[Schema]:
    """The tables that a value may be."""
    schema = _resolved(schema)
    if "properties" in schema:
        yield schema
    for each in schema.get("anyOf", []):
        yield from _objects(each)


def _walk(path: str, schema: Schema, found: dict[str, Any], walked: dict[str, str]) -> None:
    """Takes over the keys of a table, and of those below it; one that is used twice is written once."""
    once = str(schema.get("$ref", ""))
    if once and walked.setdefault(once, path) != path:
        found["same"][path] = walked[once]
        return
    for variant in _objects(schema):
        kind = str(variant["properties"].get("kind", {}).get("const", ""))
        own = found["keys"].setdefault(path, {}).setdefault(kind, [])
        for name, value in variant["properties"].items():
            key = _key(name, value)
            before = next((each for each in own if each["label"] == name), None)
            if before:  # TCP and queue pairs share a table, and some keys
                before["words"] = list(dict([*before["words"], *key["words"]]).items())
                if key["info"] not in before["info"]:
                    profile = variant["properties"]["profile"]["const"]
                    before["info"] += f' With profile = "{profile}": {key["info"]}'
                continue
            own.append(key)
            inner = f"{path}.{name}" if path else name
            more = _resolved(value).get("additionalProperties")
            below = more if inner in named() and isinstance(more, Mapping) else value
            if any(True for _ in _objects(below)):
                found["tables"].setdefault(inner, str(_resolved(value).get("description", "")))
                _walk(inner, below, found, walked)


def _key(name: str, schema: Schema) -> dict[str, Any]:
    schema = _resolved(schema)
    words = dict(_words(schema))
    default = schema.get("default")
    about = str(schema.get("description", ""))
    if default is not None and default != []:
        about += f" Default: {json.dumps(default)}."
    return {"label": name, "detail": _takes(schema), "info": about.strip(), "words": list(words.items())}


def _takes(schema: Schema) -> str:
    """The values of a key, in a word."""
    options = [schema, *map(_resolved, schema.get("anyOf", []))]
    if any("enum" in each or "const" in each for each in options) and not schema.get("examples"):
        return "name" if any("properties" in each for each in options) else "word"
    examples = [str(each) for option in options for each in option.get("examples", [])]
    if examples:
        return f"such as {examples[0]}"
    types = [str(each["type"]) for each in options if isinstance(each.get("type"), str)]
    names = {"object": "table", "array": "list", "boolean": "true or false"}
    return names.get(types[0], types[0]) if types else ""


def _words(schema: Schema) -> Iterator[tuple[str, str]]:
    """Values that can be listed, as TOML, with their meaning."""
    schema = _resolved(schema)
    if schema.get("type") == "boolean":
        yield from (("true", ""), ("false", ""))
    if "const" in schema:
        yield json.dumps(schema["const"]), ""
    for word in schema.get("enum", []):
        yield json.dumps(word), ""
    for example in schema.get("examples", []):
        yield json.dumps(example), "for example"
    for each in schema.get("anyOf", []):
        inner = _resolved(each)
        kind = inner.get("properties", {}).get("kind", {}).get("const")
        if kind is not None:
            yield json.dumps(kind), str(inner.get("description", ""))
        elif "properties" not in inner:
            yield from _words(inner)
    if schema.get("default") is not None and not isinstance(schema["default"], list | dict):
        yield json.dumps(schema["default"]), "the default"
