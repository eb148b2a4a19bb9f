"""Files that a page asks for, made in a process of its own: tables, figures, packets, films.

A file may need more memory than the machine has, or longer than a reader waits. Its process then ends. The
server answers with the reason, and starts another process for the next file.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import multiprocessing
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError, SpecError
from shallows.web.limits import Limits

__all__ = ["RenderError", "Renderer"]


class RenderError(ShallowsError):
    """A file was not made; the message says why. `gone`: its run or table is missing."""

    def __init__(self, message: str, gone: bool = False):
        super().__init__(message)
        self.gone = gone


class Renderer:
    """One process that makes files, one after the other."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._process: Any = None
        self._pipe: Any = None
        self._turn = asyncio.Lock()
        self._closed = False

    async def make(self, what: str, *given: Any) -> bytes:
        """The bytes of a file. Raises RenderError."""
        try:
            async with self._turn:
                return await asyncio.to_thread(self._ask, what, *given)
        except asyncio.CancelledError:  # the server ends
            raise RenderError("the server ends") from None

    def _ask(self, what: str, *given: Any) -> bytes:
        if self._closed:
            raise RenderError("the server ends")
        try:
            self._start()
            self._pipe.send((what, given))
            if not self._pipe.poll(self._limits.file_seconds):
                self._end()
                raise RenderError(
                    f"took longer than the {self._limits.file_seconds:g} s that a file may take"
                )
            kind, found = self._pipe.recv()
        except (EOFError, OSError):
            self._end()
            raise RenderError("ended its process: it needs more memory than a file may, or crashed") from None
        if kind == "made":
            return bytes(found)
        raise RenderError(found, gone=kind == "gone")

    def _start(self) -> None:
        if self._process is not None and self._process.is_alive():
            return
        context = multiprocessing.get_context("spawn")
        self._pipe, end = context.Pipe()
        self._process = context.Process(target=main, args=(end, self._limits), daemon=True)
        self._process.start()
        end.close()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Ends the process; a file that is being made is lost."""
        self._closed = True
        self._end()


def main(pipe: Connection, limits: Limits) -> None:
    """Makes files until the pipe closes."""
    from shallows.web.limits import confine

    confine(limits.memory_bytes)
    while True:
        try:
            what, given = pipe.recv()
        except EOFError:
            return
        try:
            answer: tuple[str, Any] = ("made", MAKERS[what](*given))
        except (ValueError, SpecError) as error:  # nothing of it was recorded
            answer = ("gone", str(error))
        except MemoryError:
            answer = ("failed", "needs more memory than a file may")
        except Exception as error:
            answer = ("failed", str(error) or type(error).__name__)
        with contextlib.suppress(BrokenPipeError):
            pipe.send(answer)


def _run(store: Path, name: str) -> Any:
    from shallows.results.store import Store

    found = Store(store).find(name)
    if found is None:
        raise ValueError("there is no such run")
    return found


def _table(store: Path, name: str, table: str, form: str) -> bytes:
    run = _run(store, name)
    if table not in run.tables:
        raise ValueError("there is no such table")
    if form == "parquet":
        return run.tables.parquet(table)
    return str(run.tables[table].write_csv()).encode()


def _figure(store: Path, name: str, kind: str, form: str) -> bytes:
    from shallows.figures import interactive, style

    drawn = _run(store, name).figure(kind)
    return interactive.picture(drawn) if form == "svg" else style.image(drawn, f".{form}")


def _packets(store: Path, name: str, place: str) -> bytes:
    from shallows.results import pcapng

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "packets.pcapng"
        pcapng.write(_run(store, name), place, path)
        return path.read_bytes()


def _film(store: Path, name: str) -> bytes:
    from shallows.web.live.export import page_of

    return page_of(_run(store, name).experiment).encode()


def _archive(folder: Path) -> bytes:
    """A report as one file."""
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(folder.iterdir()):
            if path.is_file() and not path.name.startswith("."):
                packed.write(path, f"{folder.name}/{path.name}")
    return buffer.getvalue()


MAKERS: dict[str, Any] = {
    "table": _table,
    "figure": _figure,
    "packets": _packets,
    "film": _film,
    "archive": _archive,
}
