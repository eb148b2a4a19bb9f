"""Quantities of an experiment as numbers: a reading of its own, which shares nothing with the core's."""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["level", "picoseconds", "rate"]

_TIMES = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
_RATES = {"bps": 1, "kbps": 10**3, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def _read(text: str, units: dict[str, int]) -> int:
    matched = re.fullmatch(r"([\d.]+)\s*([A-Za-z]+)", text)
    if not matched or matched.group(2) not in units:
        raise ValueError(f"{text!r} is no quantity in {', '.join(units)}")
    return int(Fraction(matched.group(1)) * units[matched.group(2)])


def picoseconds(text: str) -> int:
    """A time such as `"25us"`."""
    return _read(text, _TIMES)


def rate(text: str) -> int:
    """A rate such as `"10Gbps"`, in bit/s."""
    return _read(text, _RATES)


def level(text: str) -> tuple[int, bool] | None:
    """A length of a queue, `"65pkt"` or `"150KB"`, and whether it is in packets; none for `"none"`."""
    if text == "none":
        return None
    if text.endswith("pkt"):
        return int(text.removesuffix("pkt")), True
    return _read(text, _BYTES), False
