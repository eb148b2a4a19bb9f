"""A file to read: its beginning, its lines and its faults. Reading is bounded, and gzip is opened."""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from shallows.errors import Fault, SpecError
from shallows.files import open_regular

__all__ = ["MOST_BYTES", "MOST_ROWS", "Head", "Source", "span"]

MOST_BYTES = 1_000_000_000
"""The most bytes that are read of a file, after gzip."""

MOST_ROWS = 1_000_000
"""The most rows of a file: flows, messages, links or points."""

_HEAD = 65_536
_MOST_FAULTS = 20
_GZIP = b"\x1f\x8b"
_BROKEN = (OSError, EOFError, zlib.error)


class Head:
    """The beginning of a file, as far as it tells the format."""

    def __init__(self, name: str, data: bytes, whole: bool = True) -> None:
        self.name = name
        self.data = data
        self.whole = whole

    @cached_property
    def text(self) -> str | None:
        """Its text, or None for one that is not text."""
        try:
            text = self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            if self.whole or error.start < len(self.data) - 4:
                return None
            text = self.data[: error.start].decode("utf-8-sig")
        return None if "\0" in text else text

    @cached_property
    def lines(self) -> list[str]:
        """Lines without blanks around them, without empty ones and comments."""
        lines = (self.text or "").splitlines()
        lines = lines if self.whole else lines[:-1] or lines
        stripped = (line.strip() for line in lines)
        return [line for line in stripped if line and not line.startswith("#")]

    def numbers(self, most: int = 50) -> list[list[float]]:
        """The first lines as rows of numbers; empty if one has anything else."""
        rows = []
        for line in self.lines[:most]:
            try:
                rows.append([float(word) for word in line.split()])
            except ValueError:
                return []
        return rows


class Source:
    """A file that a reader reads, and the faults that it finds there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.faults: list[Fault] = []

    def head(self) -> Head:
        """Its beginning. Raises SpecError if it cannot be read."""
        try:
            with self._open() as file:
                data = file.read(_HEAD + 1)
        except _BROKEN as error:
            raise self._unreadable(error) from None
        except ValueError as error:  # a null byte in the name
            raise self._unreadable(error) from None
        return Head(self.path.name, data[:_HEAD], len(data) <= _HEAD)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Each line with its number from 1, without its end. Raises SpecError for one that is not text."""
        read = 0
        try:
            with self._open() as file:
                for number, line in enumerate(iter(lambda: file.readline(10_000_000), b""), 1):
                    read += len(line)
                    if read > MOST_BYTES:
                        self.stop(
                            number, f"is longer than {MOST_BYTES // 1_000_000} MB, the most that is read"
                        )
                    if b"\0" in line:
                        self.stop(number, "is not text: it has a zero byte")
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                    yield number, text.rstrip("\r\n")
        except UnicodeDecodeError:
            raise self._at(number, "is not UTF-8 text") from None
        except _BROKEN as error:
            raise self._unreadable(error) from None

    def words(self, comment: str = "#") -> Iterator[tuple[int, list[str]]]:
        """The words of each line that has any, without comments."""
        for number, line in self.lines():
            words = line.split(comment, 1)[0].split()
            if words:
                yield number, words

    def data(self) -> bytes:
        """The whole file. Raises SpecError for one that is too large."""
        most = 200_000_000
        data = bytearray()
        try:
            with self._open() as file:
                # One read of `most` bytes would take that much memory for the smallest file.
                while len(data) <= most and (part := file.read(1 << 20)):
                    data += part
        except _BROKEN as error:
            raise self._unreadable(error) from None
        if len(data) > most:
            raise self._at(None, f"is longer than {most // 1_000_000} MB, the most that is read")
        return bytes(data)

    def text(self) -> str:
        """The whole file as text. Raises SpecError for one that is not."""
        data = self.data()
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self._at(data.count(b"\n", 0, error.start) + 1, "is not UTF-8 text") from None

    def refuse(self, line: int | None, rule: str, value: Any = None, hint: str = "") -> None:
        """Records a fault; raises SpecError with all of them when there are many."""
        self.faults.append(self._fault(line, rule, value, hint))
        if len(self.faults) >= _MOST_FAULTS:
            raise SpecError(self.faults)

    def stop(self, line: int | None, rule: str, value: Any = None, hint: str = "") -> None:
        """Raises SpecError with all faults and this one."""
        self.faults.append(self._fault(line, rule, value, hint))
        raise SpecError(self.faults)

    def count(self, line: int, text: str, what: str, least: int = 0, most: int = 2**62) -> int:
        """A whole number from a word; `least` and a fault if it is none."""
        if re.fullmatch(r"\d{1,19}", text) and least <= int(text) <= most:
            return int(text)
        self.refuse(line, f"{what} must be a whole number from {least} to {most}", text)
        return least

    def number(self, line: int, text: str, what: str, least: float = 0, most: float = 1e18) -> float:
        """A number from a word; `least` and a fault if it is none, is not finite or is out of range."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and least <= value <= most:
            return value
        self.refuse(line, f"{what} must be a number from {least:g} to {most:g}", text)
        return least

    def time(self, line: int, text: str, unit: str, what: str) -> str:
        """A time with its unit, from a plain number of `unit`."""
        try:
            return span(Decimal(text), unit)
        except (InvalidOperation, ValueError, OverflowError):
            self.refuse(line, f"{what} must be a number of {unit} from 0 to 100000 s", text)
            return "0s"

    def _open(self) -> IO[bytes]:
        file = open_regular(self.path)
        if file.read(2) != _GZIP:
            file.seek(0)
            return file
        file.seek(0)
        return io.BufferedReader(gzip.GzipFile(fileobj=file))

    def _fault(self, line: int | None, rule: str, value: Any = None, hint: str = "") -> Fault:
        place = f" (line {line} of {self.path.name})" if line else f" ({self.path.name})"
        given = {} if value is None else {"value": value}
        return Fault("", rule + place, hint=hint, **given)

    def _at(self, line: int | None, rule: str) -> SpecError:
        return SpecError([*self.faults, self._fault(line, rule)])

    def _unreadable(self, error: Exception) -> SpecError:
        why = getattr(error, "strerror", None) or str(error)
        return SpecError([Fault("", f"cannot be read: {why}", self.path)])


_PS = {"ps": 0, "ns": 3, "us": 6, "ms": 9, "s": 12}


def span(value: Decimal | int, unit: str = "ps") -> str:
    """A time as an experiment file has it: whole picoseconds, in the largest unit that has no fraction.

    Raises ValueError for one that is negative, not finite or above 100 000 s.
    """
    exact = Decimal(value).scaleb(_PS[unit])
    if not exact.is_finite() or not 0 <= exact <= 10**17:
        raise ValueError(value)
    ps = int(exact.to_integral_value())
    for name, power in reversed(_PS.items()):
        if ps % 10**power == 0:
            return f"{ps // 10**power}{name}"
    return f"{ps}ps"
