"""What can be written where, for the editor: from the checker's schema, so that it never lags behind."""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["known"]


@functools.cache
def known() -> dict[str, Any]:
    """Tables, their keys (name, type, meaning), and the words that a key takes."""
    from shallows.document.schema import schema

    keys: dict[str, list[list[str]]] = {}
    words: dict[str, list[list[str]]] = {}
    for section in schema()["sections"]:
        path = section["path"]
        components = section["components"]
        own = keys.setdefault(path, [])
        if len(components) > 1 or path in ("transport.cc", "traffic"):
            own.append(["kind", "name", f"Which {section['what']}."])
            words[path] = [[each["name"], each["doc"]] for each in components]
        for component in components:
            for param in component["params"]:
                _add(own, words, path, param)
    words.setdefault("transport.cc", [])
    tables = ["topology", "queue", "transport", "traffic.", "probe", "nic", "port.", "switch.", "sweep"]
    return {"keys": keys, "words": words, "tables": tables}


def _add(keys: list[list[str]], words: dict[str, Any], path: str, param: dict[str, Any]) -> None:
    if any(param["name"] == known[0] for known in keys):
        return
    default = "" if param["default"] is None else f", default {param['default']}"
    keys.append(
        [param["name"], param["kind"], f"{param['doc']} ({param['range'] or param['kind']}{default})"]
    )
    if param["choices"]:
        at = f"{path}.{param['name']}" if path else param["name"]
        words[at] = [[str(choice), ""] for choice in param["choices"]]
