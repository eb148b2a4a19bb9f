"""The laboratory of the site: `crates/wasm` compiled for browsers, within one page.

Without Rust's target `wasm32-unknown-unknown` the site has no laboratory, and the build says so.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from shallows.web.pages.lab_module import TARGET, available, module, without_studies

ROOT = Path(__file__).parents[2]
PAGE = "lab/index.html"
FIGURES = ROOT / "docs/site/lab.toml"

_LINK = re.compile(r"<!-- lab: (\S+) (.*?) -->")
"""A page leads to a run there: `<!-- lab: show=incast The incast -->`."""


def lessons() -> list[dict[str, object]]:
    """The gallery, and the experiments of the papers' figures that `docs/site/lab.toml` names."""
    from shallows.web.editor.editing import put
    from shallows.web.pages.lab_file import gallery, lesson

    figures = tomllib.loads(FIGURES.read_text(encoding="utf-8"))["figure"]
    made = []
    for each in figures:
        text = (ROOT / "experiments" / each["experiment"]).read_text(encoding="utf-8")
        for path, value in each.get("set", {}).items():
            text = put(text, path, value)
        second = " ".join(f"'{setting}'" for setting in each.get("second", ()))
        made.append(lesson(each["name"], without_studies(text), each, second=second))
    return [*gallery(), *made]


def pages() -> dict[str, str | bytes]:
    """The page by its path in the site; nothing without the target."""
    if not available():
        sys.stderr.write(f"note: the site has no laboratory: rustup target add {TARGET}\n")
        return {}
    from shallows.web.pages.lab_file import page_of

    return {PAGE: page_of(module(), lessons())}


def linked(markdown: str, laboratory: str | None) -> str:
    """The page with its links to runs; plain words if the site has no laboratory."""
    return _LINK.sub(lambda m: f"[{m[2]}]({laboratory}#{m[1]})" if laboratory else m[2], markdown)
