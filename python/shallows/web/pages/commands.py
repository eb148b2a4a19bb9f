"""The Python that gives the same as a command line of Shallows."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path
from typing import Any

LISTS = {
    "--set": "settings",
    "--vary": "vary",
    "--scheme": "schemes",
    "--metric": "metrics",
    "--allow": "allow",
}
TEXTS = {"--baseline": "baseline", "--store": "store"}
NUMBERS = {"--seeds": "seeds", "--workers": "workers"}
FLAGS = {"--quick": "quick"}

MADE_BY = re.compile(r"Made by <code>(.*?)</code>")
OWN_FOLDER = re.compile(r"/[^\s']*/shallows-jobs-[^/\s]+/[0-9a-f]+/")
"""Where the page's jobs keep their files while the server lives: a reader has them elsewhere."""

MOST_READ = 4_000_000
"""Characters of a report in which its command stands: it comes with the first words."""

__all__ = ["made_by", "python_of"]


def python_of(command: str) -> str:
    """`shallows.compare("a.toml", seeds=5)` for `./shallows compare a.toml --seeds 5 --json`."""
    _, kind, *words = shlex.split(command)
    names: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if word in LISTS:
            given.setdefault(LISTS[word], []).append(next(rest, ""))
        elif word in TEXTS:
            given[TEXTS[word]] = next(rest, "")
        elif word in NUMBERS:
            given[NUMBERS[word]] = int(next(rest, "0"))
        elif word in FLAGS:
            given[FLAGS[word]] = True
        elif not word.startswith("--"):
            names.append(word)
    told = [*map(json.dumps, names), *(f"{name}={_value(value)}" for name, value in given.items())]
    return f"shallows.{kind}({', '.join(told)})"


def _value(value: Any) -> str:
    return repr(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


def made_by(report: Path) -> str | None:
    """The command line that made a report, as its first page says."""
    try:
        with (report / "index.html").open(encoding="utf-8") as file:
            found = MADE_BY.search(file.read(MOST_READ))
    except (OSError, UnicodeDecodeError):
        return None
    return OWN_FOLDER.sub("", html.unescape(found[1])) if found else None
