"""Declarations of Python classes and functions for the checker: names, settings, defaults, ranges."""

from __future__ import annotations

import inspect
import json
import math
import re
import typing
from collections.abc import Callable
from typing import Any

from shallows.authoring.base import Component, CongestionControl, Param, Workload
from shallows.errors import Fault, SpecError

__all__ = ["declaration", "kebab"]

_BASES = (CongestionControl, Workload, Component)
_KINDS = {float: "real", int: "count", bool: "flag", str: "text", list[str]: "names"}
_QUANTITIES = ("span", "rate", "bytes")


def declaration(thing: Any) -> dict[str, Any]:
    """The declaration of a class or a topology function for the checker. Raises SpecError with all faults."""
    at = getattr(thing, "__qualname__", repr(thing))
    if inspect.isfunction(thing) and hasattr(thing, "_shallows_topology"):
        section, name, about = "topology", thing._shallows_topology, {}
        params, faults = _arguments(thing)
    elif isinstance(thing, type) and issubclass(thing, CongestionControl):
        section, about = "transport.cc", {"ecn": thing.ecn == "per-packet"}
        name = thing.name or kebab(thing.__name__)
        params, faults = _attributes(thing)
        faults += _missing(thing)
    elif isinstance(thing, type) and issubclass(thing, Workload):
        section, name, about = "traffic", thing.name or kebab(thing.__name__), {}
        params, faults = _attributes(thing)
        if thing.flows is Workload.flows:
            faults.append(Fault(at, "must have a method flows(self, net)"))
    else:
        rule = "must be a class of CongestionControl or Workload, or a function with @shallows.topology"
        raise SpecError([Fault("algorithms", rule, thing)])
    if faults:
        raise SpecError(faults)
    return {"section": section, "name": name, "class": thing.__qualname__, "params": params} | about


def _missing(cls: type[CongestionControl]) -> list[Fault]:
    faults = []
    if cls.cadence not in ("ack", "round"):
        faults.append(Fault(f"{cls.__qualname__}.cadence", "must be ack or round", cls.cadence))
    if cls.ecn not in ("off", "per-packet"):
        faults.append(Fault(f"{cls.__qualname__}.ecn", "must be off or per-packet", cls.ecn))
    needed = "on_round" if cls.cadence == "round" else "on_ack"
    for method in (needed, "on_congestion"):
        if getattr(cls, method) is getattr(CongestionControl, method):
            faults.append(Fault(cls.__qualname__, f"must have a method {method}"))
    if cls.cadence == "round" and cls.on_ack is not CongestionControl.on_ack:
        faults.append(Fault(f"{cls.__qualname__}.on_ack", 'is never called with cadence = "round"'))
    return faults


def kebab(name: str) -> str:
    """`MyDctcp` as `my-dctcp`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).replace("_", "-").lower()


def _attributes(cls: type[Component]) -> tuple[list[dict[str, Any]], list[Fault]]:
    """The settings of a class: its annotated attributes, those of the bases first."""
    hints = typing.get_type_hints(cls, include_extras=True)
    common = {name for base in _BASES for name in base.__annotations__}
    wanted = [name for name in hints if not name.startswith("_") and name not in common]
    found: list[dict[str, Any]] = []
    faults: list[Fault] = []
    for name in wanted:
        if typing.get_origin(hints[name]) is not typing.ClassVar:
            default = Param(getattr(cls, name, ...), cls._ranges.get(name, ""))
            _setting(f"{cls.__qualname__}.{name}", name, hints[name], default, found, faults)
    return found, faults


def _arguments(function: Callable[..., Any]) -> tuple[list[dict[str, Any]], list[Fault]]:
    hints = typing.get_type_hints(function, include_extras=True)
    found: list[dict[str, Any]] = []
    faults: list[Fault] = []
    for name, argument in inspect.signature(function).parameters.items():
        default = ... if argument.default is argument.empty else argument.default
        given = default if isinstance(default, Param) else Param(default, "")
        _setting(f"{function.__qualname__}.{name}", name, hints.get(name), given, found, faults)
    return found, faults


def _setting(
    at: str, name: str, hint: Any, given: Param, found: list[dict[str, Any]], faults: list[Fault]
) -> None:
    kind, words = _KINDS.get(hint), []
    if typing.get_origin(hint) is typing.Literal:
        kind, words = "choice", list(typing.get_args(hint))
    elif typing.get_origin(hint) is typing.Annotated:
        kind = next((word for word in hint.__metadata__ if word in _QUANTITIES), None)
    if kind is None or not all(isinstance(word, str) for word in words):
        known = "float, int, bool, str, list[str], Literal of words, shallows.Span, Rate, Bytes"
        rule = f"must be annotated as one of {known}; annotate other attributes as ClassVar"
        faults.append(Fault(at, rule, hint))
        return
    default = given.default
    if isinstance(default, float) and not math.isfinite(default):
        faults.append(Fault(at, "must have a finite default", default))
        return
    param: dict[str, Any] = {"name": name, "kind": kind}
    if default is not ...:
        param["default"] = json.dumps(default)
    if given.range:
        param["range"] = given.range
    found.append(param | ({"choices": words} if words else {}))
