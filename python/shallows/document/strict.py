"""Tables of a file as pydantic models: every key known, every value of its type, all faults at once.

A field's description says what it means, in the faults as in the reference pages that are made from it.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from shallows.errors import NOTHING, Fault, SpecError, Written
from shallows.words import did_you_mean, show

CODES = {
    "empty": "A list, table or text has no entries.",
    "unequal": "Things that must agree differ.",
    "invalid": "Any other rule; `fault.rule` has the words.",
}
"""Codes that only tables read in Python have, with their meanings; `_core.schema` has the others."""

__all__ = ["CODES", "Strict", "faults_of", "join", "read", "refuse"]

Loc = tuple[int | str, ...]


class Strict(BaseModel):
    """A table in which every key is known; a number does not pass as a text, nor a text as a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Model = TypeVar("Model", bound=Strict)


def read(model: type[Model], table: Any, at: str = "", faults: list[Fault] | None = None) -> Model | None:
    """The table as the model has it. Its faults join `faults`, and then there is None; else SpecError.

    `at` is the table's path in the file, with which the faults' paths begin.
    """
    try:
        return model.model_validate(table)
    except ValidationError as error:
        found = faults_of(error, model, at)
        if faults is None:
            raise SpecError(found) from None
        faults += found
        return None


def refuse(code: str, rule: str, hint: str = "", value: Any = ..., at: Loc = ()) -> PydanticCustomError:
    """The error for a validator to raise: a fault with this code and rule.

    `value` (None: not shown) and `at`, a path below, are given where they are not the validated value's.
    """
    about = {"rule": rule, "hint": hint, "at": at} | (
        {} if value is ... else {"value": "" if value is None else show(value)}
    )
    return PydanticCustomError(typing.cast("Any", code), "{rule}", about)


def faults_of(error: ValidationError, model: type[BaseModel], at: str = "") -> list[Fault]:
    """Each of pydantic's errors as a fault with path, rule, value, hint and code."""
    found = []
    for one in error.errors():
        loc, context = one["loc"], one.get("ctx", {})
        number = one["type"] in _TYPES and loc[-1:] in (("float",), ("int",))
        if number:  # pydantic names both branches of `float | int`
            loc = loc[:-1]
        path = join(join(at, loc), context.get("at", ()))
        value = Written(context["value"]) if "value" in context else one["input"]
        if "rule" in context:  # raised by `refuse`
            code = one["type"].replace("_", "-")
            found.append(Fault(path, context["rule"], value, context["hint"], code))
        elif one["type"] == "extra_forbidden":
            known = _keys(model, loc[:-1])
            rule, hint = f"unknown key; known: {', '.join(known)}", did_you_mean(str(loc[-1]), known)
            if at == "sweep" and len(loc) == 1 and not hint:
                hint = f'a setting to vary goes into [sweep.grid]: "{loc[0]}" = [...]'
            found.append(Fault(path, rule, value, hint, "unknown-key"))
        elif one["type"] == "missing":
            about = _description(model, loc)
            rule = "is required" + (f": {about}" if about else "")
            found.append(Fault(path, rule, NOTHING, "", "missing"))
        elif one["type"] == "literal_error":
            known = re.findall(r"'([^']*)'", context["expected"])
            hint = did_you_mean(str(one["input"]), known)
            found.append(Fault(path, f"must be one of {', '.join(known)}", value, hint, "unknown-word"))
        elif one["type"] == "too_short":
            few = context["min_length"] == 1
            rule = "is empty" if few else f"must have at least {context['min_length']} entries"
            found.append(Fault(path, rule, NOTHING if few else value, "", "empty" if few else "too-few"))
        elif one["type"] == "string_too_short":
            found.append(Fault(path, "must not be empty", value, "", "empty"))
        elif one["type"] in _BOUNDS:
            word, name = _BOUNDS[one["type"]]
            found.append(Fault(path, f"must be {word} {context[name]:g}", value, "", "out-of-range"))
        elif one["type"] in _TYPES:
            kind = "a finite number" if one["type"] == "finite_number" else "a number"
            rule = f"must be {kind if number else _TYPES[one['type']]}"
            found.append(Fault(path, rule, value, "", "wrong-type"))
        else:
            found.append(Fault(path, one["msg"], value, "", one["type"].replace("_", "-")))
    return list(dict.fromkeys(found))


_BOUNDS = {
    "greater_than_equal": (">=", "ge"),
    "greater_than": (">", "gt"),
    "less_than_equal": ("<=", "le"),
    "less_than": ("<", "lt"),
}

_TYPES = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "callable_type": "a function",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def join(at: str, loc: Iterable[int | str]) -> str:
    """A path in a file: `tune.parameters."queue.mark_at"`, `cell[3].name`."""
    path = at
    for key in loc:
        if isinstance(key, int):
            path += f"[{key}]"
        else:
            bare = re.fullmatch(r"[A-Za-z0-9_-]+", key)
            path += ("." if path else "") + (key if bare else f'"{key}"')
    return path


def _keys(model: type[BaseModel], loc: Loc) -> list[str]:
    """The keys of the table at a place in the model."""
    for found in _at(model, loc):
        if isinstance(found, type) and issubclass(found, BaseModel):
            return [field.alias or name for name, field in found.model_fields.items()]
    return []


def _description(model: type[BaseModel], loc: Loc) -> str:
    for found in _at(model, loc[:-1]):
        if isinstance(found, type) and issubclass(found, BaseModel):
            for name, field in found.model_fields.items():
                if loc[-1] in (name, field.alias):
                    return field.description or ""
    return ""


def _at(annotation: Any, loc: Loc) -> list[Any]:
    """The types that may stand at a place below a type; of a union every one that has such a place."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _at(inner[0], loc)
    if origin in (typing.Union, types.UnionType):
        return [found for one in inner for found in _at(one, loc)]
    if not loc:
        return [annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if loc[0] in (name, field.alias):
                return _at(field.annotation, loc[1:])
        return []
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _at(inner[1], loc[1:])
    return _at(inner[0], loc[1:]) if origin is list else []
