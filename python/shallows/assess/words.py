"""The words of the author of a congestion control, for which RFC 9743 asks (s.5.3, 6.2).

A built-in states them in its own file (`Facts` of the core), a class in Python as its attribute `words`.
"""

from __future__ import annotations

from pathlib import Path

from shallows.authoring import modules
from shallows.document.schema import components
from shallows.errors import Fault, SpecError

__all__ = ["of"]


def of(control: str, module: str) -> dict[str, str]:
    """The words by their names, empty where none are given. Raises SpecError if there is no such control."""
    known = components("transport.cc")
    if not module:
        if control not in known:
            raise SpecError([Fault("CONTROL", "must be a congestion control", control)])
        return dict(known[control]["facts"]["words"])
    document = {"python": {"modules": [module]}}
    modules.of_modules(document)
    named = [one for one in document["python"]["components"] if one["name"] == control]  # type: ignore[index]
    if not named:
        raise SpecError([Fault("CONTROL", f"must be a congestion control of {Path(module).name}", control)])
    [found] = modules.objects({"python": {"components": named}}).values()
    names = list(next(iter(known.values()))["facts"]["words"])
    given = found.words
    if not isinstance(given, dict) or any(
        name not in names or not isinstance(text, str) for name, text in given.items()
    ):
        rule = f"must be a dict of texts named {', '.join(names)}"
        raise SpecError([Fault(f"{found.__qualname__}.words", rule, given)])
    return given
