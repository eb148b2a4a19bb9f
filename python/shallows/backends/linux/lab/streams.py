"""Copies of programs' outputs, made while the machine runs, so that no way to end loses them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.backends.linux.lab.outcome import Ended
from shallows.errors import RunError

if TYPE_CHECKING:
    from shallows.backends.linux.lab.asked import Started

OUTPUTS = ("stdout", "stderr")

__all__ = ["OUTPUTS", "Streams", "names"]


def names(started: Sequence[Started | Ended]) -> list[str]:
    """The name of each command's outputs: HOST.N, the N-th of its host."""
    count: dict[str, int] = {}
    found = []
    for each in started:
        count[each.host] = count.get(each.host, 0) + 1
        found.append(f"{each.host}.{count[each.host]}")
    return found


class Streams:
    """Copies outputs to `out`; at a bad end also keeps captures, the console, and how programs ended."""

    def __init__(self, started: Sequence[Started], out: Path | None, captures: Mapping[str, Path]):
        self._started, self._out, self._captures = started, out, captures
        self._names = names(started)
        self._copied: dict[str, int] = {}
        self.programs: tuple[Ended, ...] = ()
        self.console = ""

    def copy(self, directory: Path) -> None:
        """Appends to `out` what is new in the machine's directory."""
        if self._out is None:
            return
        for number, name in enumerate(self._names):
            for output in OUTPUTS:
                source = directory / f"program{number}.{output}"
                if source.exists():
                    self._append(source, self._out / f"{name}.{output}")

    def _append(self, source: Path, target: Path) -> None:
        done = self._copied.get(target.name, 0)
        if source.stat().st_size <= done and target.exists():
            return
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with source.open("rb") as of, target.open("ab" if done else "wb") as to:
                of.seek(done)
                shutil.copyfileobj(of, to)
                self._copied[target.name] = of.tell()
        except OSError as error:
            raise RunError(f"{target} was not written: {error.strerror}") from error

    def broke(self, directory: Path) -> None:
        """Keeps all that a machine has left which did not reach its end."""
        self.copy(directory)
        console = directory / "console.log"
        self.console = console.read_text(errors="replace") if console.exists() else ""
        if self._out is not None and console.exists():
            self._out.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(console, self._out / "console.log")
        ends = _ends(directory / "ends.csv")
        self.programs = tuple(
            Ended(
                each.host,
                each.command.text,
                *ends.get(number, (None, None)),
                stopped=number not in ends,
                ended_s=ends_at(directory / "ends.csv", number),
                stdout=_bytes(directory / f"program{number}.stdout"),
                stderr=_bytes(directory / f"program{number}.stderr"),
                server=each.command.server,
            )
            for number, each in enumerate(self._started)
        )
        for number, path in enumerate(self._captures.values()):
            source = directory / f"capture{number}.pcapng"
            if source.exists():
                path.write_bytes(whole_blocks(source.read_bytes()))


def _bytes(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""


def _rows(file: Path) -> list[list[int]]:
    """Whole lines of the guest's record of ends: program, exit status, signal, time in ns."""
    lines = _bytes(file).decode().splitlines(keepends=True)
    return [[int(word) for word in line.split(",")] for line in lines if line.endswith("\n")]


def _ends(file: Path) -> dict[int, tuple[int | None, int | None]]:
    return {
        number: (status if status >= 0 else None, signal or None) for number, status, signal, _ in _rows(file)
    }


def ends_at(file: Path, number: int) -> float | None:
    """When a program ended, in seconds; None if it had not."""
    return next((at / 1e9 for each, _, _, at in _rows(file) if each == number), None)


def whole_blocks(data: bytes) -> bytes:
    """A capture up to its last whole block: a machine that is killed may leave a part of one."""
    at = 0
    while at + 12 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if size < 12 or at + size > len(data):
            break
        at += size
    return data[:at]
