"""`./shallows new KIND NAME`: files to start an algorithm, a network or a study from, each with its test."""

from __future__ import annotations

import keyword
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from string import Template

from shallows.cli.catalogue import SECTIONS
from shallows.cli.rust_files import RUST_WORDS
from shallows.document.places import program
from shallows.document.schema import schema
from shallows.errors import Fault, SpecError, StoreError
from shallows.words import did_you_mean

__all__ = ["KINDS", "Made", "create"]

TEMPLATES = Path(__file__).with_name("templates")

PYTHON_WORDS = {*keyword.kwlist, *keyword.softkwlist}
"""No module can have such a name and be imported by it."""

KINDS = (*SECTIONS, "study")
"""The kinds of scaffold."""


@dataclass(frozen=True)
class Made:
    """The written files, and the next commands."""

    files: list[Path]
    next: list[str]


def create(kind: str, name: str, directory: Path) -> Made:
    """Writes the files of a scaffold. Raises SpecError, with nothing written, if one exists already.

    A congestion control, a workload and a topology are Python files in `directory`. A queue discipline is
    a Rust file of the checkout, with its line in the list. A study is a directory PAPER/FIGURE.
    """
    if kind not in KINDS:
        rule = f"must be one of {', '.join(KINDS)}"
        raise SpecError([Fault("new", rule, kind, did_you_mean(kind, KINDS), "unknown-word")])
    if kind == "study":
        return _study(name, directory)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise SpecError([Fault(f"new {kind}", "needs a name of letters, digits, - and _", name)])
    module = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    label = module.replace("_", "-")
    _check_free(kind, name, module, label)
    cls = "".join(part.capitalize() for part in module.split("_"))
    about = {"module": module, "cls": cls, "kind": label, "title": cls}
    if kind == "queue":
        return _queue(about, directory)
    files = {
        directory / f"{module}.py": "module.py",
        directory / f"test_{module}.py": "test.py",
        directory / f"{module}.toml": "experiment.toml",
    }
    _write({path: _text(kind, template, about) for path, template in files.items()})
    return Made(list(files), [f"{program()} run {module}.toml", f"{_python()} test_{module}.py"])


def _python() -> str:
    """The interpreter that has Shallows, which need not be the shell's `python`."""
    here = os.path.relpath(sys.executable)
    return shlex.quote(here if len(here) < len(sys.executable) else sys.executable)


def _check_free(kind: str, name: str, module: str, label: str) -> None:
    section = next(part for part in schema()["sections"] if part["path"] == SECTIONS[kind])
    if label in {component["name"] for component in section["components"]}:
        rule = f"must not have the name of an existing {kind}"
    elif module in (RUST_WORDS.split() if kind == "queue" else {word.lower() for word in PYTHON_WORDS}):
        rule = f"must not be a word of {'Rust' if kind == 'queue' else 'Python'}"
    elif kind != "queue" and (module in sys.stdlib_module_names or module == "shallows"):
        rule = "must not have the name of a Python module"
    else:
        return
    raise SpecError([Fault(f"new {kind}", rule, name)])


def _queue(about: dict[str, str], directory: Path) -> Made:
    root = Path(__file__).resolve().parents[3]
    queues = root / "crates/core/src/queue"
    if not (queues / "mod.rs").is_file():
        rule = "needs a checkout of the sources: queue disciplines are compiled into the simulator"
        raise SpecError(
            [Fault("new queue", rule, hint="clone the repository and run ./shallows new queue there")]
        )
    module, title = about["module"], about["title"]
    listed = (queues / "mod.rs").read_text(encoding="utf-8")
    head, rest = listed.split("    arrival {\n", 1)
    entries, tail = rest.split("    }\n", 1)
    line = f'        "{about["kind"]}" => {title}({module}),\n'
    experiment = directory / f"{module}.toml"
    files = {
        queues / f"{module}.rs": _text("queue", "queue.rs", about),
        experiment: _text("queue", "experiment.toml", about),
    }
    _write(files)
    (queues / "mod.rs").write_text(f"{head}    arrival {{\n{entries}{line}    }}\n{tail}", encoding="utf-8")
    following = [
        f"cargo test -p shallows-core queue::{module}",
        "make generate",
        f"./shallows run {experiment}",
    ]
    return Made([*files, queues / "mod.rs"], following)


def _study(name: str, directory: Path) -> Made:
    paper, slash, figure = name.partition("/")
    if not slash or not all(re.fullmatch(r"[a-z][a-z0-9-]*", part) for part in (paper, figure)):
        rule = "needs PAPER/FIGURE, each of lower-case letters, digits and -"
        raise SpecError([Fault("new study", rule, name)])
    about = {"paper": paper, "name": figure, "title": figure.replace("-", " ").capitalize()}
    place = directory / paper / figure
    names = ("README.md", "spec.toml", "quick.toml", "claims.toml", "figure.py")
    files = {place / each: _text("study", each, about) for each in names}
    if not (directory / paper / "README.md").exists():
        files[directory / paper / "README.md"] = (
            f"# {paper}\n\nName the document, and list its figures: `{figure}`.\n"
        )
    _write(files)
    command = f"{program()} reproduce ./{paper}"
    return Made(list(files), [f"{command} --quick", command])


def _text(kind: str, template: str, about: dict[str, str]) -> str:
    text = (TEMPLATES / kind / f"{template}.in").read_text(encoding="utf-8")
    return Template(text).substitute(about)


def _write(files: dict[Path, str]) -> None:
    there = [Fault(str(path), "exists already and is not overwritten") for path in files if path.exists()]
    if there:
        raise SpecError(there)
    path = Path()
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
