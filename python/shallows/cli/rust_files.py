"""A congestion control in a Rust file of the user's: a laboratory that has it as a built-in.

The checkout stays as it is. The laboratory is a copy of its files in the user's cache directory, with the
file among the controls and its line in their list. It has a build and an environment of its own. Its core
has another source hash, so that no stored run is served for another file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from shallows.document.places import WITH, cache_path, experiments_path
from shallows.document.schema import schema
from shallows.errors import Fault, SpecError, StoreError
from shallows.files import read_bounded, write_whole

__all__ = ["RUST_WORDS", "laboratory", "parted", "run"]

RUST_WORDS = """
abstract as async await become box break const continue crate do dyn else enum extern false final fn
for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct
super trait true try type typeof unsafe unsized use virtual where while yield"""
"""The Rust reference, Keywords: strict and reserved."""

PARTS = (
    *("shallows", "Cargo.toml", "Cargo.lock", "pyproject.toml", "uv.lock", "README.md", "LICENSE"),
    *("crates", "python", "experiments", "tools"),
)
"""The parts of a checkout that a build needs."""

LIST = "crates/core/src/cc/mod.rs"
LONGEST = 4_000_000
"""Bytes of a source file at most."""


def parted(control: str) -> tuple[Path, str] | None:
    """The file of `mine.rs,gain=2`, and the same with the control's name in place of it; else None."""
    file, comma, settings = control.partition(",")
    return (Path(file), _name(Path(file)) + comma + settings) if file.endswith(".rs") else None


def run(file: Path, words: Sequence[str]) -> NoReturn:
    """Becomes the command `words` of a laboratory that has the file's control.

    Raises SpecError and StoreError.
    """
    tree = laboratory(file)
    os.environ[WITH] = f"{os.environ.get(WITH, '')} with {shlex.quote(str(file))}".lstrip()
    os.environ.setdefault("SHALLOWS_BUILD", "develop")
    command = tree / "shallows"
    try:
        os.execv(command, [str(command), *words])
    except OSError as error:
        raise StoreError(f"cannot run {command}: {error.strerror or error}") from error


def laboratory(file: Path) -> Path:
    """The directory of a laboratory that has the file's control. Changes are copied into it.

    Raises SpecError for a file that cannot be one, StoreError where the copy cannot be written.
    """
    root = experiments_path().parent
    text = _checked(file, root)
    tree = cache_path() / "with" / f"{file.stem}-{hashlib.sha256(str(root).encode()).hexdigest()[:16]}"
    try:
        tree.mkdir(parents=True, exist_ok=True)
        with _locked(tree):
            _follow(
                root, tree, {**_files(root), f"crates/core/src/cc/{file.name}": text, LIST: _list(root, file)}
            )
    except OSError as error:
        raise StoreError(f"cannot write {error.filename or tree}: {error.strerror or error}") from error
    return tree


def _name(file: Path) -> str:
    return file.stem.replace("_", "-")


def _checked(file: Path, root: Path) -> bytes:
    """The file's text. Raises SpecError with all faults."""
    known = {
        each["name"]
        for part in schema()["sections"]
        if part["path"] == "transport.cc"
        for each in part["components"]
    }
    faults, text = [], b""
    if not (root / LIST).is_file():
        rule = "needs a checkout of the sources: a control in Rust is compiled into the simulator"
        faults.append(Fault(str(file), rule, hint="clone the repository and run ./shallows there"))
    elif file.suffix != ".rs":
        faults.append(Fault(str(file), "must be a Rust file, FILE.rs"))
    elif not re.fullmatch(r"[a-z][a-z0-9_]*", file.stem):
        faults.append(Fault(str(file), "must be named with lower-case letters, digits and _", file.stem))
    elif file.stem in RUST_WORDS.split():
        faults.append(Fault(str(file), "must not be named by a keyword of Rust", file.stem))
    elif _name(file) in known or (root / LIST).with_name(file.name).exists():
        faults.append(Fault(str(file), "must not have the name of a control that is built in", _name(file)))
    try:
        text = read_bounded(file, LONGEST)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        faults.append(Fault(str(file), f"cannot be read: {said}"))
    else:
        parts = [f"pub struct {each}" for each in ("Settings", "Control")]
        if wanted := [each for each in parts if each.encode() not in text]:
            rule = f"must have {' and '.join(wanted)}, as crates/core/src/cc/aimd.rs has"
            faults.append(Fault(str(file), rule))
    if faults:
        raise SpecError(faults)
    return text


def _list(root: Path, file: Path) -> bytes:
    """The list of controls with one more line."""
    listed = (root / LIST).read_text(encoding="utf-8")
    variant = "".join(part.capitalize() for part in file.stem.split("_"))
    head, begin, tail = listed.partition("\nalgorithms! {\n")
    return f'{head}{begin}    "{_name(file)}" => {variant}Control({file.stem}),\n{tail}'.encode()


def _files(root: Path) -> dict[str, bytes | Path]:
    """The checkout's files that a build needs, by their place."""
    found: dict[str, bytes | Path] = {}
    for part in PARTS:
        for place, directories, names in os.walk(root / part):
            links = [each for each in directories if Path(place, each).is_symlink()]
            directories[:] = [
                each for each in directories if each != "__pycache__" and not each.startswith(".")
            ]
            for name in names + links:
                if not name.endswith((".so", ".pyc")) and not name.startswith("."):
                    file = Path(place, name)
                    found[str(file.relative_to(root))] = file
        if (root / part).is_file():
            found[part] = root / part
    return found


def _follow(root: Path, tree: Path, wanted: dict[str, bytes | Path]) -> None:
    """Writes the files that are not there as `wanted`, and takes the others of the same directories away."""
    for place, source in wanted.items():
        to = tree / place
        if isinstance(source, Path) and source.is_symlink():
            if not to.is_symlink():
                to.parent.mkdir(parents=True, exist_ok=True)
                to.symlink_to(source.readlink())
            continue
        new = source if isinstance(source, bytes) else source.read_bytes()
        if not to.is_file() or to.read_bytes() != new:
            to.parent.mkdir(parents=True, exist_ok=True)
            write_whole(to, new)
            if isinstance(source, Path):
                shutil.copymode(source, to)
    for place in _files(tree):
        if place not in wanted:
            (tree / place).unlink()
    tools = tree / ".tools"
    if (root / ".tools").is_dir() and not tools.is_symlink() and not tools.exists():
        tools.symlink_to(root / ".tools")


@contextmanager
def _locked(tree: Path) -> Iterator[None]:
    """One process at a time; the lock goes with the process."""
    import fcntl

    with (tree / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
