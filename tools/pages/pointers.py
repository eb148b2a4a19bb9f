"""Pointers: paths of files and anchors of pages that comments, docstrings and pages name."""

from __future__ import annotations

import posixpath
import re
import subprocess
from functools import cache
from pathlib import Path

from pages import prose

ROOT = Path(__file__).parents[2]

ROOMS = (
    "",
    "crates",
    "crates/core",
    "crates/core/src",
    "crates/core/src/queue",
    "crates/core/src/transport",
    "crates/spec",
    "crates/spec/src",
    "crates/spec/tests",
    "crates/py/src",
    "python",
    "python/shallows",
    "python/shallows/backends/linux",
    "docs",
    "experiments",
    "tools",
)
"""Directories from which a path may be written, beside that of the file that names it."""

_PATH = re.compile(
    r"(?<![\w/.<{$*~@-])(?P<path>(?:\.\.?/)*(?:[\w.-]+/)+[\w.-]+"
    r"\.(?:rs|pyi?|md|toml|json|js|css|sh|pkt|j2|svg|png|yml|csv|ipynb|c|h))(?:#(?P<anchor>[\w-]+))?(?![\w/*{(])"
)
_BARE = re.compile(r"`(?P<path>\w+\.rs)`")
_ELSEWHERE = re.compile(r"[A-Z]{4}|(?<!\w)(?:papers|dist|runs|reports|mine|root)/|defaults\.sh$|\.[ch]$")
"""Places to fill in, files that are made, and the sources of Linux and other programs."""


@cache
def tracked() -> frozenset[str]:
    """Files of the repository, and those that the next commit would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return frozenset(path for path in listed.split("\n") if path and (ROOT / path).exists())


@cache
def _made() -> frozenset[str]:
    """Pages that the site makes, as its navigation names them."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:")[1]
    return frozenset(f"docs/{page}" for page in re.findall(r"[\w./-]+\.md\b", navigation))


@cache
def _names() -> frozenset[str]:
    return frozenset(posixpath.basename(path) for path in tracked())


def anchors(page: str) -> set[str]:
    """The anchors of a page: of its headings, as the site makes them, and those that it declares."""
    found = set(re.findall(r"\{ #([\w-]+) \}", page))
    for heading in re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page, flags=re.M | re.S), re.MULTILINE
    ):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"\{.*\}$", "", heading))
        found.add(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower()))
    return found


def missing_in(path: str, lines: list[tuple[int, str]]) -> list[str]:
    """Each pointer of a file's `lines` that leads nowhere, with its line."""
    faults = []
    for number, line in lines:
        for match in (*_PATH.finditer(line), *_BARE.finditer(line)):
            target = match["path"]
            if _ELSEWHERE.search(target):
                continue
            anchor = match.groupdict().get("anchor")
            found = _resolve(posixpath.dirname(path), target)
            if found is None:
                faults.append(f"{path}:{number}: no file {target}")
            elif anchor and found in tracked() and anchor not in anchors((ROOT / found).read_text("utf-8")):
                faults.append(f"{path}:{number}: no anchor {target}#{anchor}")
    return faults


def _resolve(here: str, target: str) -> str | None:
    if "/" not in target:
        return target if target in _names() else None
    places = [here, *ROOMS] if not target.startswith("..") else [here]
    for place in places:
        found = posixpath.normpath(posixpath.join(place, target))
        if found in tracked() or found in _made():
            return found
    return None


def lines_of(path: str) -> list[tuple[int, str]]:
    """The lines in which pointers are checked: all of a page, comments and docstrings of a source."""
    file = ROOT / path
    if file.suffix in (".rs", ".py", ".pyi"):
        return prose.remarks_in(file)
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)
        return list(enumerate(text.splitlines(), 1))
    comments = [(number, re.search(r"#(.*)", line)) for number, line in enumerate(text.splitlines(), 1)]
    return [(number, match[1]) for number, match in comments if match]


def checked() -> list[str]:
    """The files whose pointers are checked."""
    kinds = (".rs", ".py", ".pyi", ".md", ".toml", "Makefile", "Containerfile", ".yml")
    return sorted(path for path in tracked() if path.endswith(kinds) and not path.endswith("_classes.py"))
