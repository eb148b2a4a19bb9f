"""Files that appear whole: written beside their place, synced, and renamed into it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from shallows.interrupts import listening

__all__ = ["replacing", "write_whole"]


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file, or leaves the one that is there as it was. Raises OSError."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` at the end. An exception leaves `path` as it was.

    A pipe that another program reads is written in place. Raises OSError.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()  # through a link: its target is replaced, and the link stays
    new = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.new")
    try:
        with listening():
            with new.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            new.replace(target)
    finally:
        with suppress(OSError):
            new.unlink()
