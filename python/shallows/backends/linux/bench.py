"""Where kernels are made: copies of sources, and objects that stay, so that a changed line compiles one file.

A bench belongs to a version, a configuration, the edits and a compiler. Its objects name the path of its
sources, so that each tree of this version comes to the same place: Debian's, and any of the user's. `make`
compares times. So a file whose content differs is copied with the present time, and others stay as they are.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.backends.linux import cache, tools
from shallows.backends.linux.gpl import edits
from shallows.errors import ShallowsError

PRODUCTS = re.compile(r".*\.(o|a|ko)|\..*\.cmd|\.config(\.old)?|\.git")
"""Files of a built tree beside its sources, and directories that would be long to walk."""

PRODUCED = re.compile(r"include/(config|generated)|arch/[^/]+/include/generated")
"""Directories of such."""

CONFIGURES = re.compile(r"(.*/)?Kconfig[^/]*|scripts/kconfig/.*|arch/[^/]+/configs/.*|(arch/um/)?Makefile.*")
"""Files after whose change the configuration is made again."""

Stamp = tuple[int, int]
Tell = Callable[[str], None]

__all__ = ["Bench", "release_of"]


@dataclass(frozen=True)
class Bench:
    """Sources, objects and what they were made of."""

    place: Path

    @classmethod
    def of(cls, release: str, recipe: tuple[bytes, ...]) -> Bench:
        """The bench of a version such as 7.2."""
        return cls(cache.cache() / "build" / f"{release}-{cache.digest(*recipe)}")

    @property
    def sources(self) -> Path:
        """The sources, edited."""
        return self.place / "source"

    @property
    def objects(self) -> Path:
        """The directory in which make works."""
        return self.place / "objects"

    @property
    def configured(self) -> Path:
        """Exists while the configuration is that of these sources; says which options are missing."""
        return self.place / "configured.json"

    def hold_archive(self, archive: Path, tell: Tell) -> None:
        """Makes the sources those of a Debian archive. Raises ShallowsError."""
        name = f"archive {cache.digest(archive)}"
        held = self._held()
        if self.sources.exists() and held["of"] == name:
            return
        if self.sources.exists():  # those of a tree: equal files keep their objects
            self._reset_unless_known()
            with tempfile.TemporaryDirectory(dir=self.place) as fresh:
                _unpack(archive, Path(fresh), tell)
                self._take(Path(fresh), name, held | {"archive": str(archive)}, tell)
            return
        if held["of"] != name:
            self._drop_objects()
        self._unpack_here(archive, tell)
        self._hold(name, {}, str(archive))

    def hold_tree(self, tree: Path, tell: Tell) -> int:
        """Makes the sources those of a tree; returns how many files that changed. Raises ShallowsError."""
        tree = tree.resolve()
        if not (tree / "arch/um/Kconfig").is_file():
            raise ShallowsError(
                f"{tree} is not a kernel source with User-Mode Linux: arch/um/Kconfig is missing"
            )
        self._reset_unless_known()
        held = self._held()
        archive = Path(held["archive"]) if held["archive"] else None
        if not self.sources.exists() and archive is not None and archive.exists():
            same = held["of"] == f"archive {cache.digest(archive)}"
            if same and self.objects.exists():
                tell("unpacking the sources of the objects that are kept")
                self._unpack_here(archive, tell)
        if not self.sources.exists():
            self._drop_objects()
        return self._take(tree, f"tree {tree}", held, tell)

    def forget_sources(self) -> None:
        """Removes sources that an archive has, so that little stays on the disk."""
        shutil.rmtree(self.sources, ignore_errors=True)

    def _take(self, tree: Path, name: str, held: Mapping[str, Any], tell: Tell) -> int:
        """Copies the files that differ from those that were `held`, removes what is gone, and edits."""
        archive = held["archive"]
        known: dict[str, Stamp] = {}
        if held["of"] == name:
            known = {path: (size, time) for path, (size, time) in held["files"].items()}
        self._hold("", {}, archive)  # an interruption leaves a bench that is compared whole
        now = dict(_files(tree))
        with tempfile.TemporaryDirectory(dir=self.place) as place:
            edited = _edited(tree, Path(place), tell if not self.sources.exists() else lambda text: None)
            changed = [
                path
                for path, stamp in now.items()
                if known.get(path) != stamp
                and not _same(edited / path if path in edits.FILES else tree / path, self.sources / path)
            ]
            if any(CONFIGURES.fullmatch(path) for path in changed):
                self.configured.unlink(missing_ok=True)
            for path in changed:
                _copy(edited / path if path in edits.FILES else tree / path, self.sources / path)
        gone = (known.keys() if known else dict(_files(self.sources)).keys()) - now.keys()
        for path in gone:
            (self.sources / path).unlink(missing_ok=True)
            if CONFIGURES.fullmatch(path):
                self.configured.unlink(missing_ok=True)
        self._hold(name, now, archive)
        return len(changed) + len(gone)

    def _unpack_here(self, archive: Path, tell: Tell) -> None:
        self.place.mkdir(parents=True, exist_ok=True)
        new = self.place / "source.new"
        shutil.rmtree(new, ignore_errors=True)
        _unpack(archive, new, tell)
        try:
            for change in edits.edit_tree(new):
                tell(change)
        except edits.UnknownTree as error:
            raise ShallowsError(f"the kernel sources cannot be edited: {error}") from error
        new.rename(self.sources)

    def _reset_unless_known(self) -> None:
        """Drops objects without a record of their sources, as older versions left them."""
        if not (self.place / "holds.json").exists():
            shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True, exist_ok=True)

    def _drop_objects(self) -> None:
        shutil.rmtree(self.objects, ignore_errors=True)
        self.configured.unlink(missing_ok=True)

    def _held(self) -> dict:
        try:
            return json.loads((self.place / "holds.json").read_text())
        except (OSError, ValueError):
            return {"of": "", "files": {}, "archive": ""}

    def _hold(self, name: str, files: dict[str, Stamp], archive: str) -> None:
        self.place.mkdir(parents=True, exist_ok=True)
        new = self.place / "holds.new"
        new.write_text(json.dumps({"of": name, "files": files, "archive": archive}))
        new.replace(self.place / "holds.json")


def release_of(tree: Path) -> str:
    """The first two numbers of a tree's version, as in 7.2. Raises ShallowsError."""
    try:
        text = (tree / "Makefile").read_text(errors="replace")
    except OSError as error:
        raise ShallowsError(f"{tree} is not a kernel source: its Makefile cannot be read: {error}") from error
    numbers = [re.search(rf"^{name}\s*=\s*(\d+)", text, re.MULTILINE) for name in ("VERSION", "PATCHLEVEL")]
    return ".".join(number[1] for number in numbers) if all(numbers) else "unknown"


def _unpack(archive: Path, place: Path, tell: Tell) -> None:
    tell("unpacking the sources")
    place.mkdir(parents=True, exist_ok=True)
    tools.run("tar", "xf", archive, "-C", place, "--strip-components=1")


def _files(tree: Path) -> Iterator[tuple[str, Stamp]]:
    """The sources of a tree with size and time; links to directories are files."""
    top = str(tree)
    pending = [""]
    while pending:
        own = pending.pop()
        with os.scandir(f"{top}/{own}" if own else top) as entries:
            for entry in entries:
                path = f"{own}/{entry.name}" if own else entry.name
                if PRODUCTS.fullmatch(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if not PRODUCED.fullmatch(path):
                        pending.append(path)
                    continue
                found = entry.stat(follow_symlinks=False)
                yield path, (found.st_size, found.st_mtime_ns)


def _edited(tree: Path, place: Path, tell: Tell) -> Path:
    """The files of a tree that are edited, edited."""
    for path in edits.FILES | {"arch/x86/um/user-offsets.c"}:
        if (tree / path).exists():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / path, place / path)
    try:
        for change in edits.edit_tree(place):
            tell(change)
    except edits.UnknownTree as error:
        words = str(error).replace(str(place), str(tree))
        raise ShallowsError(f"the kernel sources cannot be edited: {words}") from error
    return place


def _same(one: Path, other: Path) -> bool:
    """Whether two files, or two links, are equal."""
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    try:
        if one.stat().st_size != other.stat().st_size:
            return False
        return one.read_bytes() == other.read_bytes() and os.access(one, os.X_OK) == os.access(other, os.X_OK)
    except OSError:
        return False


def _copy(of: Path, to: Path) -> None:
    """A copy with the present time, which make takes for a change."""
    if to.is_dir() and not to.is_symlink():
        shutil.rmtree(to)
    to.unlink(missing_ok=True)
    to.parent.mkdir(parents=True, exist_ok=True)
    if of.is_symlink():
        to.symlink_to(of.readlink())
    else:
        shutil.copyfile(of, to)
        shutil.copymode(of, to)
