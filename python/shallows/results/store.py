"""The store of runs: one directory a run, named by a hash of what was run, never written twice.

A run is written to a temporary sibling, synced, and renamed into place, so that what bears a run's name is
complete. The place is `--store`, else the environment's SHALLOWS_STORE, else `runs` in the current directory.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import StoreError

if TYPE_CHECKING:
    import polars as pl

FORMAT = 1
"""Of the directory of a run. A store of another format is refused, not guessed at."""

FIGURES = ("queue_time", "queue_cdf", "fct", "flow_time", "goodput_time")
"""Modules of `shallows.figures` that draw one run."""

LEFTOVER_AGE_S = 3600.0
"""A temporary directory lives for seconds; an older one was left by a killed process."""

__all__ = ["Store", "StoredRun", "run_hash", "store_path"]


def store_path(given: str | Path | None = None) -> Path:
    """Where runs are kept: `given`, else SHALLOWS_STORE, else `runs` in the current directory."""
    return Path(given or os.environ.get("SHALLOWS_STORE") or "runs")


def run_hash(experiment: Mapping[str, Any], backend: str, version: str, source_hash: str) -> str:
    """First 20 hex digits of the SHA-256 of all that decides a run's tables."""
    what = {"experiment": experiment, "version": version, "source_hash": source_hash, "backend": backend}
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Tables(Mapping[str, "pl.DataFrame"]):
    """The tables of a stored run, each read from disk when first asked for."""

    def __init__(self, path: Path, names: list[str]):
        self._path, self._names, self._read = path, names, {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._names:
            raise KeyError(f"no table {name!r}; there are {', '.join(self._names)}")
        if name not in self._read:
            import polars as pl

            file = self._path / f"{name}.parquet"
            try:
                self._read[name] = pl.read_parquet(file)
            except (OSError, pl.exceptions.PolarsError) as error:
                raise StoreError(
                    f"{file} cannot be read: {error}; remove {self._path} to run it again"
                ) from error
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class StoredRun:
    """A finished run: its directory and its manifest."""

    path: Path
    manifest: dict[str, Any] = field(repr=False)

    @property
    def hash(self) -> str:
        """Name of the run."""
        return self.manifest["hash"]

    @property
    def seed(self) -> int:
        """Seed of the run's random streams."""
        return self.manifest["seed"]

    @property
    def experiment(self) -> dict[str, Any]:
        """The resolved experiment, every default filled in."""
        return self.manifest["experiment"]

    @cached_property
    def tables(self) -> Tables:
        """The tables by name, read when asked for; `docs/architecture.md` lists their columns."""
        return Tables(self.path, list(self.manifest["tables"]))

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """The flat summary of `shallows.tables.metrics.metrics`, units in the names."""
        from shallows.tables.metrics import metrics

        return metrics(self.tables)

    def figure(self, kind: str = "queue_time", **options: Any) -> Any:
        """A matplotlib figure of this run: `queue_time`, `queue_cdf`, `fct`, `flow_time` or `goodput_time`.

        `options` are those of the `info` of that module of `shallows.figures`. Raises ValueError if nothing
        of it was recorded.
        """
        from importlib import import_module

        if kind not in FIGURES:
            raise ValueError(f"no such figure: {kind!r}; there are {', '.join(FIGURES)}")
        module = import_module(f"shallows.figures.{kind}")
        given = self.tables if kind in ("flow_time", "goodput_time") else {"": self.tables}
        return module.draw(module.info(given, **options))

    def to_pandas(self, table: str) -> Any:
        """A table for pandas, which must be installed."""
        return self.tables[table].to_pandas()

    def to_arrow(self, table: str) -> Any:
        """A table for pyarrow, which must be installed."""
        return self.tables[table].to_arrow()

    def _repr_html_(self) -> str:
        from shallows.results.notebook import of_run

        return of_run(self)


class Store:
    """A directory of runs. Safe for several processes at once."""

    def __init__(self, path: str | Path | None = None):
        self.path = store_path(path)

    def prepare(self) -> None:
        """Makes the directory and clears what killed processes left. Raises StoreError if it cannot."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            old = time.time() - LEFTOVER_AGE_S
            for left in self.path.glob(".new-*"):
                with suppress(FileNotFoundError):  # another process has just renamed its run into place
                    if left.stat().st_mtime < old:
                        shutil.rmtree(left, ignore_errors=True)
        except OSError as error:
            raise StoreError(f"the store {self.path} cannot be used: {error.strerror}") from error
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise StoreError(f"the store {self.path} cannot be written; choose another with --store")

    def find(self, name: str) -> StoredRun | None:
        """The stored run `name`, or None. Raises StoreError if it was written in another format.

        A damaged one (a manifest that is no manifest, a table missing or cut) counts as absent.
        """
        path = self.path / name
        try:
            manifest = json.loads((path / "manifest.json").read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(manifest, dict) or manifest.get("hash") != name:
            return None
        if manifest.get("format") != FORMAT:
            raise StoreError(
                f"{path} was written by Shallows {manifest.get('version', '(unknown)')} in store format "
                f"{manifest.get('format', '(none)')}, and this one reads format {FORMAT}; "
                "choose another store with --store, or remove that directory"
            )
        try:
            whole = all(
                (path / f"{t}.parquet").stat().st_size == size for t, size in manifest["tables"].items()
            )
        except (OSError, KeyError, AttributeError):
            return None
        return StoredRun(path, manifest) if whole else None

    def runs(self) -> list[StoredRun]:
        """Every readable run of this format, by name."""
        found = []
        for path in sorted(self.path.glob("[0-9a-f]*")):
            try:
                run = self.find(path.name)
            except StoreError:
                continue
            if run is not None:
                found.append(run)
        return found

    def save(self, manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> StoredRun:
        """Stores a run, all or nothing. A run that is there already is left as it is.

        Raises StoreError, after removing what was written, if the disk is full or cannot be written.
        """
        name = manifest["hash"]
        new = self.path / f".new-{name}-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            new.mkdir(parents=True)
            sizes = {
                table: _write(new / f"{table}.parquet", _parquet(data)) for table, data in tables.items()
            }
            whole = {"format": FORMAT, **manifest, "tables": sizes}
            text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)
            _write(new / "manifest.json", text.encode())
            _sync_directory(new)
            self._put(new, name)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "no space left on the disk" if full else error.strerror or str(error)
            raise StoreError(f"the run {name} was not stored in {self.path}: {why}") from error
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return StoredRun(self.path / name, whole)

    def _put(self, new: Path, name: str) -> None:
        place = self.path / name
        for _ in range(3):
            try:
                new.rename(place)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
                if self.find(name) is not None:
                    return  # another process was first, and equal experiments give equal tables
                self._set_aside(place)
            else:
                _sync_directory(self.path)
                return
        raise OSError(errno.EBUSY, f"{place} keeps changing")

    def _set_aside(self, place: Path) -> None:
        """Moves a damaged run out of the way; it is cleared with the leftovers."""
        aside = self.path / f".new-damaged-{place.name}-{secrets.token_hex(4)}"
        place.rename(aside)
        if not aside.is_dir():
            aside.unlink()


def _parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _write(path: Path, data: bytes) -> int:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return len(data)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
