"""Files that appear whole, written beside their place and renamed into it; and regular files to read."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from shallows.interrupts import listening

__all__ = ["irreplaceable", "open_regular", "read_bounded", "replacing", "write_whole"]


def open_regular(path: Path) -> BinaryIO:
    """A regular file to read, also through a link. A device or a pipe is refused, and never waited for.

    Raises OSError; ValueError for a null byte in the name.
    """
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "must be a regular file, not a pipe or a device", str(path))
    return os.fdopen(number, "rb")


def read_bounded(path: Path, most: int) -> bytes:
    """A regular file of at most so many bytes. Raises OSError; ValueError for a null byte in the name."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"is longer than {most // 1_000_000} MB, the most that is read", str(path))
    return data


def irreplaceable(path: Path, begins: bytes, kind: str) -> str | None:
    """Why a file that the user names may not be written: only one of its kind, or an empty one, is replaced.

    Such a file has `begins` as its first bytes. A pipe, as of `wireshark -k -i PIPE`, is written to.
    """
    if not path.parent.is_dir():
        return "must name a file in an existing directory"
    if path.is_dir():
        return "is a directory; name a file in it"
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            first = file.read(len(begins))
    except OSError as error:
        return f"exists and cannot be read: {error.strerror}"
    if first in (b"", begins):
        return None
    return f"exists and is not {kind}, so it is not overwritten; choose another name"


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
