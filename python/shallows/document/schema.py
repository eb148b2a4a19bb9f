"""The sections of an experiment file, their components and settings, as the core declares them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

__all__ = ["component", "components", "elsewhere", "facts", "named", "schema", "shown_name"]


@cache
def schema() -> dict[str, Any]:
    """Every section of an experiment file with its components and their settings."""
    from shallows import _core

    return json.loads(_core.schema())


@cache
def components(section: str) -> dict[str, dict[str, Any]]:
    """The components of a section by name, in the core's order."""
    [found] = [each for each in schema()["sections"] if each["path"] == section]
    return {each["name"]: each for each in found["components"]}


def named() -> tuple[str, ...]:
    """The sections that hold tables under names of the user's choice, such as `traffic`."""
    return tuple(section["path"] for section in schema()["sections"] if section["named"])


def component(section: str, kind: str) -> dict[str, Any] | None:
    """The declaration of a component; None if the document declares it itself (components in Python)."""
    return components(section).get(kind)


def shown_name(component: dict[str, Any]) -> str:
    """A component's name in text, with which its documentation begins: `DCTCP` of `dctcp`."""
    return component["doc"].partition(".")[0]


def facts(section: str, kind: str) -> dict[str, Any]:
    """The facts that the core states about a component (`Facts` in `crates/core/src/params/mod.rs`).

    A component in Python has those of one that states nothing.
    """
    found = component(section, kind)
    return found["facts"] if found else _NOTHING_STATED


def elsewhere(section: str, backend: str) -> dict[str, str]:
    """The components of a section that another backend has too, each with its name there."""
    return {
        name: each["facts"]["elsewhere"][backend]
        for name, each in components(section).items()
        if backend in each["facts"]["elsewhere"]
    }


_NOTHING_STATED: dict[str, Any] = {
    "example": {},
    "closed_loop": False,
    "fills": [],
    "elsewhere": {},
    "not_tcp": "",
}
