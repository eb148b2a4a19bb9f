"""The cache of built kernels and programs: in the user's cache directory, never in the repository."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shallows.document.places import cache_path

HERE = Path(__file__).parent

__all__ = ["HERE", "busy", "cache", "digest", "locked", "put"]


def cache() -> Path:
    """`linux` in the user's directory for things that are built."""
    return cache_path() / "linux"


def digest(*parts: bytes | Path) -> str:
    """First 16 hex digits of the SHA-256 of texts and files."""
    sum_ = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.read_bytes()
        sum_.update(len(data).to_bytes(8, "big") + data)
    return sum_.hexdigest()[:16]


def put(new: Path, place: Path) -> None:
    """Renames a finished directory into place; one that was put there meanwhile stays."""
    try:
        new.rename(place)
    except OSError:
        if not place.is_dir():
            raise
        shutil.rmtree(new)


@contextmanager
def locked(name: str, tell: Callable[[str], None] = lambda text: None) -> Iterator[None]:
    """Lets one process at a time pass; `tell` reports a wait. The lock goes with the process."""
    import fcntl

    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"waiting for another {name} to end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def busy(name: str) -> bool:
    """Whether a process holds the lock of this name."""
    import fcntl

    try:
        with (cache() / f"{name}.lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
