"""Forms and text in step: settings put into a TOML text without disturbing the rest of it, and sliders."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

QUANTITY = re.compile(r"^([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ%/]+)$")

OFTEN = (
    "queue.mark_at", "queue.limit", "queue.target", "queue.min_th", "queue.max_th", "transport.cc.g",
    "topology.senders", "topology.left", "topology.delay", "topology.rate", "topology.bottleneck",
)  # fmt: skip
"""Settings worth a slider where an experiment names them."""

UNITS = (
    {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0},
    {"bps": 1.0, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12},
    {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2},
)

MOST_SLIDERS = 6
STEPS = 100

__all__ = ["Slider", "lookup", "put", "sliders"]


def lookup(document: Mapping[str, Any], path: str) -> Any:
    """The value at a path, or None; a bare word stands for the component of that kind."""
    from shallows.document.paths import split_path

    value: Any = document
    for key in split_path(path):
        if isinstance(value, str) and key == "kind":
            continue
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def put(text: str, path: str, value: Any) -> str:
    """The TOML text with a value at a path; comments, order and layout of the rest stay. None takes it away.

    Raises SpecError where a value that is no table stands on the way, ValueError where the text is not TOML.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from shallows.document.paths import set_path, split_path

    try:
        document = tomlkit.parse(text)
        keys = split_path(path)
        if value is None:
            table: Any = document
            for key in keys[:-1]:
                table = table.get(key, {})
            table.pop(keys[-1], None)
        else:
            _inline(document, keys)
            set_path(document, path, value)
        return tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error


def _inline(document: Any, keys: list[str]) -> None:
    """A bare word on the way becomes a table in one line, as one would write it: cc = {kind = "dctcp"}."""
    import tomlkit

    table = document
    for key in keys[:-1]:
        inner = table.get(key)
        if isinstance(inner, str):
            made = tomlkit.inline_table()
            made.append("kind", str(inner))
            table[key] = made
            inner = table[key]
        if not isinstance(inner, Mapping):
            return
        table = inner


@dataclass(frozen=True)
class Slider:
    """A setting that is dragged: on a scale of 0 to 100, in even steps or in even ratios."""

    path: str
    low: float
    high: float
    value: float
    unit: str
    whole: bool
    ratio: bool
    label: str = ""

    @property
    def at(self) -> float:
        """Where the present value is on the scale."""
        if self.ratio:
            share = math.log(max(self.value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (self.value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0) * STEPS

    def value_at(self, at: float) -> Any:
        """The setting for a place on the scale, as one would write it."""
        share = min(max(at / STEPS, 0.0), 1.0)
        if self.ratio:
            number = self.low * (self.high / self.low) ** share
        else:
            number = self.low + (self.high - self.low) * share
        if self.whole:
            rounded: float = max(round(number), math.ceil(self.low))
        else:
            rounded = float(f"{number:.3g}")
        if not self.unit:
            return int(rounded) if self.whole else rounded
        return f"{rounded:g}{self.unit}" if rounded < 1e6 else f"{int(rounded)}{self.unit}"


def sliders(
    document: Mapping[str, Any],
    experiment: Mapping[str, Any] | None,
    wanted: Iterable[Mapping[str, Any]] = (),
) -> list[Slider]:
    """Sliders of a document: those that are wanted (`path`, `from`, `to`), else of settings often varied."""
    made = []
    asked = list(wanted)
    if not asked:
        loads = [f"traffic.{name}.load" for name in document.get("traffic", {})]
        asked = [{"path": path} for path in (*OFTEN, *loads) if lookup(document, path) is not None]
    for each in asked:
        path = str(each["path"])
        value = lookup(document, path)
        if value is None and experiment is not None:
            value = lookup(experiment, path)
        if value is None:
            value = _default(document, path)
        slider = _slider(path, value, each)
        if slider is not None:
            made.append(slider)
    return made[:MOST_SLIDERS]


def _default(document: Mapping[str, Any], path: str) -> Any:
    """The default of a setting that a component of the document has and the document does not name."""
    from shallows.document.schema import schema

    section, _, name = path.rpartition(".")
    kind = lookup(document, section)
    kind = kind.get("kind") if isinstance(kind, Mapping) else kind
    components = [c for s in schema()["sections"] if s["path"] == section for c in s["components"]]
    params = [p for c in components if c["name"] == kind or len(components) == 1 for p in c["params"]]
    return next((param["default"] for param in params if param["name"] == name), None)


def _slider(path: str, value: Any, asked: Mapping[str, Any]) -> Slider | None:
    number, unit = _split(value)
    if number is None:
        return None
    low, high = (_in_unit(asked.get(key), unit) for key in ("from", "to"))
    whole = unit in ("pkt", "cell") or isinstance(value, int)
    low = low if low is not None else (max(1.0, number // 8) if whole else number / 8)
    high = high if high is not None else max(number * 8, low + 1 if whole else low * 2)
    if not low < high:
        return None
    ratio = low > 0 and high / low > 4
    return Slider(path, low, high, number, unit, whole, ratio, str(asked.get("label", "")))


def _in_unit(value: Any, unit: str) -> float | None:
    """A value as a number of `unit`; None where there is none, or none of that kind."""
    number, own = _split(value)
    if number is None or own == unit:
        return number
    sizes = next((sizes for sizes in UNITS if own in sizes and unit in sizes), None)
    return number * sizes[own] / sizes[unit] if sizes else None


def _split(value: Any) -> tuple[float | None, str]:
    """Number and unit of a value as written."""
    if isinstance(value, bool) or value is None:
        return None, ""
    if isinstance(value, int | float):
        return float(value), ""
    found = QUANTITY.match(str(value))
    return (float(found[1]), found[2]) if found else (None, "")
