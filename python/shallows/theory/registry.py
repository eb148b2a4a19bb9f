"""The list of closed forms, and their inputs from the command line's text.

A closed form is a plain function of numbers whose parameter names end in their unit: `_bps`, `_ps`,
`_bytes`, `_packets`, or nothing for a bare number. Its docstring's first line is its summary and its
`Source:` line names paper and equation; both are required.
"""

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean

Number = float | int
_UNITS = {"_bps": "rate", "_ps": "span", "_bytes": "bytes", "_packets": "packets"}


class Input(NamedTuple):
    """One input: `key` as the user writes it, `name` with its unit, `kind` of value, `default`."""

    key: str
    name: str
    kind: str
    default: Number


class ClosedForm(NamedTuple):
    """A registered closed form."""

    name: str
    summary: str
    source: str
    inputs: tuple[Input, ...]
    compute: Callable[..., dict[str, Any]]


_FORMS: dict[str, ClosedForm] = {}


def closed_form(compute: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Decorator: registers a function under its name, `_` written as `-`."""
    doc = inspect.getdoc(compute) or ""
    source = next(line for line in doc.split("\n\n") if line.startswith("Source: "))
    name = compute.__name__.replace("_", "-")
    inputs = tuple(_input(p) for p in inspect.signature(compute).parameters.values())
    summary = doc.splitlines()[0]
    _FORMS[name] = ClosedForm(name, summary, " ".join(source[8:].split()), inputs, compute)
    return compute


def _input(parameter: inspect.Parameter) -> Input:
    name = parameter.name
    for suffix, kind in _UNITS.items():
        if name.endswith(suffix):
            return Input(name.removesuffix(suffix), name, kind, parameter.default)
    return Input(name, name, "count" if parameter.annotation is int else "real", parameter.default)


def forms() -> list[ClosedForm]:
    """All closed forms, by name."""
    return [_FORMS[name] for name in sorted(_FORMS)]


def evaluate(name: str, assignments: Iterable[str] = ()) -> dict[str, Any]:
    """`{"name", "inputs", "outputs"}` of a closed form; `assignments` as on the command line, `rate=10Gbps`.

    Outputs are numbers with their unit in the name, null where there is no finite value.
    Errors: SpecError with every unknown name and every value that cannot be read.
    """
    if name not in _FORMS:
        raise SpecError([_unknown("theory", "closed form", name, list(_FORMS))])
    form = _FORMS[name]
    inputs = {i.name: i.default for i in form.inputs}
    by_key = {i.key: i for i in form.inputs} | {i.name: i for i in form.inputs}
    faults = []
    in_bytes: dict[str, Number] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals:
            faults.append(Fault(key, "must be written key=value"))
        elif key not in by_key:
            faults.append(_unknown(key, f"input of {name}", key, [i.key for i in form.inputs]))
        else:
            try:
                inputs[by_key[key].name] = _read(by_key[key].kind, value)
                if by_key[key].kind == "packets" and _in_bytes(value):
                    in_bytes[by_key[key].name] = _read("bytes", value)
            except ValueError as error:
                faults.append(Fault(key, str(error), value))
    if faults:
        raise SpecError(faults)
    for key, size in in_bytes.items():
        inputs[key] = _packets(size, inputs)
    try:
        outputs = form.compute(**inputs)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        rule = "has no value for these inputs" if isinstance(error, ArithmeticError) else str(error)
        raise SpecError([Fault(name, rule)]) from error
    return {"name": name, "inputs": inputs, "outputs": {k: _finite(v) for k, v in outputs.items()}}


def _unknown(path: str, what: str, name: str, known: list[str]) -> Fault:
    rule = f"unknown {what}; known: {', '.join(sorted(known))}"
    return Fault(path, rule, name, did_you_mean(name, known))


def _read(kind: str, text: str) -> Number:
    if kind in ("rate", "span", "bytes"):
        from shallows import _core

        return _core.parse_quantity(kind, text)
    if kind == "packets" and _in_bytes(text):
        return 0  # follows from the packets' size, which may be written after it
    if kind == "packets":
        text, kind = text.removesuffix("pkt"), "count"
    try:
        value = int(text) if kind == "count" else float(text)
    except ValueError:
        raise ValueError("must be a whole number" if kind == "count" else "must be a number") from None
    if not math.isfinite(value) or value < 0:
        raise ValueError("must be finite and >= 0")
    return value


def _in_bytes(text: str) -> bool:
    return text.rstrip().endswith("B")


def _packets(size: Number, inputs: dict[str, Number]) -> Number:
    """Bytes in packets of the closed form's size on the wire."""
    packet = inputs.get("packet_bytes") or sum(inputs.get(key, 0) for key in ("mss_bytes", "header_bytes"))
    packets = size / (packet or 1500)
    return int(packets) if packets == int(packets) else packets


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return [_finite(v) for v in value] if isinstance(value, list) else value


def positive(**values: Number) -> None:
    """Refuses inputs that are not above zero, by name."""
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} must be > 0")
