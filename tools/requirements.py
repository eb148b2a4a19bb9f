"""Requirements of RFCs and the tests that hold them: lists in TOML, marks in tests, and the page of both.

`tests/requirements/README.md` describes the files and the marks. `make generate` makes the page.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
LISTS = "tests/requirements"
PAGE = Path("docs/validation/requirements.md")
NOTE = f"Made by `make generate` from {LISTS}/ and the marks in tests; do not edit."

LEVELS = ("MUST", "SHOULD")
LEFT = {
    "not implemented": "The simulator does not have it.",
    "deviates": "The simulator does something else, by choice or setting.",
    "out of scope": "It concerns what no experiment has, or operators.",
    "not testable": "It holds by construction, or nothing of it can be observed.",
}
"""Reasons for which a requirement has no full test."""

_MARK = re.compile(r"^\s*(?://|#) req:(.*)$")
_FORM = re.compile(r" (RFC\d+) s([\w.]+) (\w+) ([\w-]+)")
_TEST = re.compile(r"^\s*(?:pub )?(?:fn|def) (\w+)")
_BETWEEN = re.compile(r"^\s*(?://|#|@|\)|\]|$)")


@dataclass(frozen=True)
class Requirement:
    """One MUST or SHOULD of an RFC."""

    rfc: str
    id: str
    section: str
    level: str
    says: str
    left: str = ""
    because: str = ""

    @property
    def mark(self) -> str:
        """The text of a mark for it."""
        return f"{self.rfc} s{self.section} {self.level} {self.id}"


@dataclass(frozen=True)
class Rfc:
    """One RFC with its requirements."""

    name: str
    title: str
    note: str
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True)
class Mark:
    """One mark: the place where it stands, the requirement that it names, and its test."""

    path: str
    line: int
    text: str
    test: str

    @property
    def place(self) -> str:
        """The test's file and name as a reader looks for them."""
        return f"`{self.path}`" if self.path.endswith(".pkt") else f"`{self.path}::{self.test}`"


@cache
def rfcs() -> tuple[Rfc, ...]:
    """The RFCs in the order of their numbers. Raises ValueError for a file that breaks the rules."""
    return tuple(_read(path) for path in sorted((ROOT / LISTS).glob("rfc*.toml")))


def _read(path: Path) -> Rfc:
    return parse(path.name, path.read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Rfc:
    """One file of requirements. Raises ValueError with every fault."""
    table = tomllib.loads(text)
    faults = [f"unknown key {key}" for key in table.keys() - {"rfc", "title", "note", "requirement"}]
    found = []
    for entry in table.get("requirement", []):
        where = entry.get("id", "?")
        wanted = {"id", "section", "level", "says"}
        faults += [f"{where}: needs {key}" for key in wanted - entry.keys()]
        faults += [f"{where}: unknown key {key}" for key in entry.keys() - wanted - {"left", "because"}]
        if entry.get("level") not in LEVELS:
            faults.append(f"{where}: level must be one of {', '.join(LEVELS)}")
        if entry.get("left", "deviates") not in LEFT or ("left" in entry) != ("because" in entry):
            faults.append(f"{where}: left must be one of {', '.join(LEFT)}, and needs because")
        if not faults:
            found.append(Requirement(table["rfc"], **entry))
    ids = [each.id for each in found]
    faults += [f"{each}: stands twice" for each in sorted({i for i in ids if ids.count(i) > 1})]
    if faults:
        raise ValueError(f"{name}: " + "; ".join(faults))
    return Rfc(table["rfc"], table["title"], table.get("note", ""), tuple(found))


def marks_in(path: str, text: str) -> list[Mark]:
    """The marks of one file, each with the test that follows it; the empty name if none follows at once."""
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines):
        if not (match := _MARK.match(line)):
            continue
        test = Path(path).stem if path.endswith(".pkt") else ""
        for after in lines[number + 1 :]:
            if test or not _BETWEEN.match(after):
                named = _TEST.match(after)
                test = test or (named[1] if named else "")
                break
        found.append(Mark(path, number + 1, match[1].strip(), test))
    return found


def files() -> list[Path]:
    """Every file that may have marks: Rust, Python tests and packet scripts."""
    return sorted(
        path
        for pattern in ("crates/**/*.rs", "tests/**/*.py", "tests/**/*.pkt")
        for path in ROOT.glob(pattern)
        if "target" not in path.parts
    )


@cache
def marks() -> tuple[Mark, ...]:
    """All marks of the project, by file and line."""
    return tuple(
        mark
        for path in files()
        for mark in marks_in(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    )


def faults(known: tuple[Rfc, ...], made: tuple[Mark, ...]) -> list[str]:
    """Marks that name no requirement or stand before no test."""
    names = {each.mark for rfc in known for each in rfc.requirements}
    found = []
    for mark in made:
        where = f"{mark.path}:{mark.line}"
        if not _FORM.fullmatch(f" {mark.text}"):
            found.append(f"{where}: a mark is `req: RFC5681 s3.1 MUST loss-window`, got {mark.text!r}")
        elif mark.text not in names:
            found.append(f"{where}: no requirement is {mark.text!r}")
        if not mark.test:
            found.append(f"{where}: no test follows the mark")
    return found


def page() -> str:
    """The page of coverage."""
    by_text: dict[str, list[Mark]] = {}
    for mark in marks():
        by_text.setdefault(mark.text, []).append(mark)
    text = [
        "# Requirements of RFCs",
        "",
        f"<!-- {NOTE} -->",
        "",
        "The tables list the MUST (with MUST NOT) and SHOULD (with SHOULD NOT) of eleven RFCs in "
        "our own words.",
        "Each names the tests that fail when it is broken. The others have a reason, or count as untested.",
        "",
        "| RFC | | listed | tested | " + " | ".join(LEFT) + " | untested |",
        "|---|---|---:|---:|" + "---:|" * (len(LEFT) + 1),
    ]
    for rfc in rfcs():
        tested = [each for each in rfc.requirements if each.mark in by_text]
        rest = [each for each in rfc.requirements if each.mark not in by_text]
        counts = [sum(each.left == reason for each in rest) for reason in (*LEFT, "")]
        number = rfc.name.removeprefix("RFC")
        row = [f"[{number}](#rfc-{number})", rfc.title, len(rfc.requirements), len(tested), *counts]
        text.append("| " + " | ".join(map(str, row)) + " |")
    text += ["", *(f"- *{reason}*: {what}" for reason, what in LEFT.items()), ""]
    for rfc in rfcs():
        number = rfc.name.removeprefix("RFC")
        text += [f"## RFC {number}", "", f"{rfc.title}.{' ' if rfc.note else ''}{rfc.note}", ""]
        text += ["| section | level | requirement | tested by, or the reason |", "|---|---|---|---|"]
        for each in rfc.requirements:
            places = [mark.place for mark in by_text.get(each.mark, [])]
            reason = f"*{each.left}*: {each.because}" if each.left else ""
            held = "; ".join([*places, *([reason] if reason else [])]) or "**untested**"
            text.append(f"| {each.section} | {each.level} | {each.says} | {held} |")
        text.append("")
    return "\n".join(text)
