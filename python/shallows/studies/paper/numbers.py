"""Numbers for readers: as many digits as the interval supports, and no exponents."""

import math

__all__ = ["away", "estimate", "number", "published"]

NOISE = 1e-9
"""A smaller number is a rounding error of sums of doubles, and is written as 0."""

FACTOR_FROM = 2.0
"""A larger ratio is said as a factor: "5 times as much" reads better than "+400 %"."""


def number(value: float | int | bool | None, digits: int = 4) -> str:
    """A number without an interval: `digits` significant ones, whole thousands kept; yes, no, or a dash."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    if abs(value) < NOISE:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return _trimmed(value, min(places, 9))


def estimate(
    value: float | int | bool | None, low: float | None = None, high: float | None = None, like: str = ""
) -> str:
    """A value and its 95 % interval, rounded to the digits that the interval's width supports.

    Without an interval it has at least the decimals of the published number that `like` writes.
    """
    if value is None or isinstance(value, bool) or low is None or high is None:
        text, decimals = number(value), len(like.partition(".")[2])
        fewer = isinstance(value, float) and len(text.partition(".")[2]) < decimals >= 2
        return f"{value:.{decimals}f}" if fewer else text
    if high - low <= 2 * NOISE:
        return f"{number(value)} [{number(low)}, {number(high)}]"
    places = _places((high - low) / 2)
    value, low, high = (0.0 if abs(end) < NOISE else end for end in (value, low, high))
    return f"{_rounded(value, places)} [{_rounded(low, places)}, {_rounded(high, places)}]"


def published(value: float | int | bool | None, text: str = "") -> str:
    """A published value with the digits of its source; `text` is how claims.toml writes it."""
    if text:
        return text
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return number(value) if isinstance(value, bool) or value is None else repr(value)


def away(value: float, reference: float, unit: str) -> str:
    """The distance of a value from a reference: a difference with its sign, and its share.

    A share is not said of a value that is a share itself (per cent, points), and neither of nothing.
    """
    text = f"by {value - reference:+.3g}" if abs(value - reference) >= NOISE else "by 0"
    text = _plain(text) + (f" {unit}" if unit else "")
    if not reference or unit in ("%", "points") or abs(value - reference) < NOISE:
        return text
    ratio = value / reference
    if ratio >= FACTOR_FROM:
        return f"{text} ({number(ratio, 2)} times the published value)"
    if 0 < ratio <= 1 / FACTOR_FROM:
        return f"{text} ({number(100 * ratio, 2)} % of the published value)"
    return f"{text} ({100 * (ratio - 1):+.2g} %)" if ratio > 0 else text


def _places(half: float) -> int:
    """Decimals at which the interval's half width has one digit, or two where the first is below 3."""
    exponent = math.floor(math.log10(half))
    first = half / 10**exponent
    return max(0, min(9, -exponent + (1 if first < 3 - NOISE else 0)))


def _rounded(value: float, places: int) -> str:
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _trimmed(value: float, places: int) -> str:
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(text: str) -> str:
    """The number's text without an exponent."""
    words = text.split()
    if "e" in words[-1]:
        value = float(words[-1])
        words[-1] = f"{value:+.0f}" if abs(value) >= 1 else f"{value:+.9f}".rstrip("0")
    return " ".join(words)
