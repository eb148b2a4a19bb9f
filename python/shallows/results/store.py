"""The store of runs: one directory a run, named by a hash of the experiment, never written twice.

A run is written to a temporary sibling and renamed into place, so that a stored run is complete. The
manifest holds the SHA-256 of each table and of itself; a run is checked against them when it is found, and a
table again when it is read, so that a damaged disk never gives another result. The manifest alone is synced:
a run whose tables a power cut kept from the disk is found damaged, and runs again. A table without rows
has no file: the manifest has its columns. The place is `--store`, else the environment's SHALLOWS_STORE, else
`runs` in the current directory.
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
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import DamagedRun, OtherFormat, StoreError
from shallows.tables.drops import with_total

if TYPE_CHECKING:
    import polars as pl

FORMAT = 3
"""The format of a run's directory, as it is written."""

READABLE = (2, FORMAT)
"""Formats that are read. In format 2 each table has a file. Others are refused, not guessed at."""

FIGURES = ("queue_time", "queue_cdf", "fct", "flow_time", "goodput_time", "time_sequence")
"""Modules of `shallows.figures` that draw one run."""

OF_ONE_RUN = ("flow_time", "goodput_time", "time_sequence")
"""Those that draw no second run beside it."""

LEFTOVER_AGE_S = 3600.0
"""A temporary directory lives for seconds; an older one was left by a killed process."""

Mark = dict[str, Any]
"""The manifest's entry for a table: `bytes` and `sha256` of its file, or `columns` of one without rows."""

__all__ = ["Store", "StoredRun", "run_hash", "store_path"]


def store_path(given: str | Path | None = None) -> Path:
    """Where runs are kept: `given`, else SHALLOWS_STORE, else `runs` in the current directory."""
    return Path(given or os.environ.get("SHALLOWS_STORE") or "runs")


def run_hash(key: str, backend: str, version: str, source_hash: str) -> str:
    """First 20 hex digits of the SHA-256 of all that decides a run's tables; `key` is `Point.key`."""
    text = json.dumps([key, backend, version, source_hash])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Tables(Mapping[str, "pl.DataFrame"]):
    """The tables of a stored run, each read from disk when first asked for."""

    def __init__(self, path: Path, marks: Mapping[str, Mark], read: Mapping[str, pl.DataFrame]):
        self._path, self._marks, self._read = path, marks, dict(read)

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._marks:
            raise KeyError(f"no table {name!r}; there are {', '.join(self._marks)}")
        if name not in self._read:
            import polars as pl

            from shallows.results.parquet import without_rows

            columns = self._marks[name].get("columns")
            if columns is not None:
                frame = without_rows(columns)
            else:
                # From memory, since a reader that is given a path takes `*`, `?` and `[` in it for a pattern.
                frame = pl.read_parquet(io.BytesIO(self.parquet(name)))
            self._read[name] = with_total(frame) if name in ("queues", "inner_queues") else frame
        return self._read[name]

    def parquet(self, name: str) -> bytes:
        """A table as a Parquet file. Raises StoreError, or DamagedRun if it is not as it was written."""
        columns = self._marks[name].get("columns")
        if columns is not None:
            from shallows.results.parquet import empty

            return empty(columns)
        file = self._path / f"{name}.parquet"
        try:
            data = file.read_bytes()
        except OSError as error:
            raise StoreError(f"{file} cannot be read: {error.strerror}") from error
        if not _is(data, self._marks[name]):
            raise DamagedRun(f"{file} is damaged; a command that needs it will run it again")
        return data

    def __contains__(self, name: object) -> bool:
        return name in self._marks  # Mapping's own way would read the table

    def __iter__(self) -> Iterator[str]:
        return iter(self._marks)

    def __len__(self) -> int:
        return len(self._marks)


@dataclass(frozen=True)
class StoredRun:
    """A finished run: its directory and its manifest."""

    path: Path
    manifest: dict[str, Any] = field(repr=False)
    in_memory: Mapping[str, pl.DataFrame] = field(default_factory=dict, repr=False, compare=False)
    """Tables that were just written, and need not be read again."""

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
    def numbers(self) -> dict[str, int]:
        """Quantities of the experiment by path: times in ps, rates in bit/s, amounts of data in bytes."""
        from shallows import _core

        return _core.numbers(json.dumps(self.experiment))

    @cached_property
    def tables(self) -> Tables:
        """The tables by name, read when asked for; `docs/reference/tables.md` lists their columns."""
        return Tables(self.path, self.manifest["tables"], self.in_memory)

    @cached_property
    def _computed(self) -> dict[Any, Mapping[str, Any]]:
        return {}

    def computed(self, compute: Callable[[Tables], Mapping[str, Any]]) -> Mapping[str, Any]:
        """The answer of a function of the tables, which is called once for this object."""
        if compute not in self._computed:
            self._computed[compute] = compute(self.tables)
        return self._computed[compute]

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """The flat summary of `shallows.tables.metrics.metrics`, units in the names."""
        from shallows.tables.metrics import metrics

        return metrics(self.tables)

    @cached_property
    def happened(self) -> list[str]:
        """The events in sentences: losses by cause, pauses, timeouts, messages that did not end."""
        from shallows.tables import happened

        return happened.lines(self.tables, self.experiment, self.numbers)

    def figure(self, kind: str = "queue_time", **options: Any) -> Any:
        """A matplotlib figure of this run, of a kind in `FIGURES`.

        `options` are those of the `info` of that module of `shallows.figures`. Raises ValueError if nothing
        of it was recorded.
        """
        from importlib import import_module

        if kind not in FIGURES:
            raise ValueError(f"no such figure: {kind!r}; there are {', '.join(FIGURES)}")
        module = import_module(f"shallows.figures.{kind}")
        given = self.tables if kind in OF_ONE_RUN else {"": self.tables}
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
        """Makes the directory and clears what killed processes left. Raises StoreError if it cannot be read.

        One that exists and cannot be written is useful: its runs are found (see `require_writable`).
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            old = time.time() - LEFTOVER_AGE_S
            for left in self.path.glob(".new-*"):
                with suppress(FileNotFoundError):  # another process has just renamed its run into place
                    if left.stat().st_mtime < old:
                        shutil.rmtree(left, ignore_errors=True)
        except OSError as error:
            raise StoreError(f"the store {self.path} cannot be used: {error.strerror}") from error
        if not os.access(self.path, os.R_OK | os.X_OK):
            raise StoreError(f"the store {self.path} cannot be read; choose another with --store")
        self._refuse_another_format()

    def _refuse_another_format(self) -> None:
        """Raises OtherFormat if the first run has another format: no run here would be found.

        One store holds one format, so one manifest tells, however many there are.
        """
        for path in self.path.glob("[0-9a-f]*/manifest.json"):
            try:
                manifest = json.loads(path.read_bytes())
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(manifest, dict) and manifest.get("format", FORMAT) not in READABLE:
                raise _other_format(path.parent, manifest)
            return

    def require_writable(self, names: Collection[str]) -> None:
        """Raises StoreError if one of the runs `names` is not here and none can be stored."""
        missing = [name for name in names if not (self.path / name).is_dir()]
        if missing and not os.access(self.path, os.W_OK | os.X_OK):
            raise StoreError(
                f"the store {self.path} lacks {len(missing)} of {len(names)} runs and cannot be written; "
                "choose another with --store"
            )

    def find(self, name: str) -> StoredRun | None:
        """The stored run `name`, or None. Raises StoreError if it was written in another format.

        A damaged one (a manifest or a table that is missing, cut, or not as it was written) counts as absent.
        """
        run = self.listed(name)
        return run if run is not None and _whole(run) else None

    def check(self, name: str) -> StoredRun:
        """The stored run `name`. Raises StoreError if it is absent, and DamagedRun with what is wrong."""
        if not (self.path / name).is_dir():
            raise StoreError(f"there is no run {name} in the store {self.path}")
        run = self.listed(name)
        if run is None:
            raise DamagedRun(f"{self.path / name / 'manifest.json'} is damaged or missing")
        dict(run.tables)
        return run

    def runs(self) -> list[StoredRun]:
        """Every run of this format by name. Manifests are checked here, tables when they are read."""
        found = []
        for path in sorted(self.path.glob("[0-9a-f]*")):
            try:
                run = self.listed(path.name)
            except StoreError:
                continue
            if run is not None:
                found.append(run)
        return found

    def listed(self, name: str) -> StoredRun | None:
        """The run by its manifest alone, or None. Raises StoreError if it was written in another format."""
        path = self.path / name
        try:
            manifest = json.loads((path / "manifest.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(manifest, dict) or manifest.get("hash") != name:
            return None
        if manifest.get("format", FORMAT) not in READABLE:  # never taken for a damaged one, which is replaced
            raise _other_format(path, manifest)
        return StoredRun(path, manifest) if manifest.get("sha256") == manifest_digest(manifest) else None

    def save(self, manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> StoredRun:
        """Stores a run, all or nothing. A run that is there already is left as it is.

        Raises StoreError, after removing what was written, if the disk is full or cannot be written.
        """
        from shallows.results.parquet import columns, files

        name = manifest["hash"]
        new = self.path / f".new-{name}-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            new.mkdir(parents=True)
            marks: dict[str, Mark] = {
                table: {} if len(frame) else {"columns": columns(frame)} for table, frame in tables.items()
            }
            for table, data in files(tables):
                (new / f"{table}.parquet").write_bytes(data)
                marks[table] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            whole = {"format": FORMAT, **manifest, "tables": marks}
            whole["sha256"] = manifest_digest(whole)
            with (new / "manifest.json").open("xb") as file:
                file.write(_manifest_text(whole).encode())
                file.flush()
                os.fsync(file.fileno())
            self._put(new, name)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "no space left on the disk" if full else error.strerror or str(error)
            raise StoreError(f"the run {name} was not stored in {self.path}: {why}") from error
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return StoredRun(self.path / name, whole, tables)

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
                return
        raise OSError(errno.EBUSY, f"{place} keeps changing")

    def _set_aside(self, place: Path) -> None:
        """Moves a damaged run out of the way; it is cleared with the leftovers."""
        aside = self.path / f".new-damaged-{place.name}-{secrets.token_hex(4)}"
        place.rename(aside)
        if not aside.is_dir():
            aside.unlink()


def manifest_digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of a manifest's values but for `sha256` itself, in any order and with any blanks."""
    values = {key: value for key, value in manifest.items() if key != "sha256"}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _manifest_text(manifest: Mapping[str, Any]) -> str:
    """The manifest as JSON, a line for each value. With indents the encoder takes ten times as long."""
    text = {key: json.dumps(value, ensure_ascii=False, allow_nan=False) for key, value in manifest.items()}
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {value}" for key, value in text.items()) + "\n}\n"


def _is(data: bytes, mark: Mark) -> bool:
    return len(data) == mark["bytes"] and hashlib.sha256(data).hexdigest() == mark["sha256"]


def _whole(run: StoredRun) -> bool:
    """Whether each table's file is the one that was written."""
    try:
        tables = run.manifest["tables"].items()
        return all("columns" in mark or _is(_file(run, name).read_bytes(), mark) for name, mark in tables)
    except OSError:
        return False


def _file(run: StoredRun, table: str) -> Path:
    return run.path / f"{table}.parquet"


def _other_format(path: Path, manifest: Mapping[str, Any]) -> OtherFormat:
    return OtherFormat(
        f"{path} was written by Shallows {manifest.get('version', '(unknown)')} in store format "
        f"{manifest['format']}, and this one reads format {FORMAT}; "
        "choose another store with --store, or remove that directory"
    )
