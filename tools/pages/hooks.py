"""MkDocs hooks: adds the generated pages and pictures, and points links that leave `docs/` at pages."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from pages import commands, generated, lab, papers, pictures  # noqa: E402

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s#]*)(#[^)\s]*)?\)")
_DRAWN = re.compile(r"<!-- draws: (\S+)\.svg -->(\n+```python\n.*?^```[ ]*$)", re.MULTILINE | re.DOTALL)

MOVED = {
    **{name: f"{Path(name).stem.lower()}.md" for name in generated.ROOT_PAGES},
    "README.md": "index.md",
    "docs/notebooks": "notebooks/1-first-experiment.md",
    "docs/reference": "reference/README.md",
}
"""Pages of the site for paths of the repository."""


def on_config(config: Any) -> Any:
    """Lists the papers and the commands in the navigation."""
    entries = ["papers/index.md", *(f"papers/{paper.name}.md" for paper in papers.papers())]
    for section in config.nav:
        if "Papers" in section:
            section["Papers"] = entries
        for part in section.get("Reference", ()):
            if "Command line" in part:
                part["Command line"] = commands.entries()
    return config


_FILM = re.compile(r"<!-- film: (\S+) (\S+) -->")
"""A page shows the film of an experiment there: `<!-- film: NAME.html FILE.toml -->`."""


def _films() -> dict[str, str]:
    """The films that pages show, by their paths in the site."""
    from shallows.document.load import load
    from shallows.document.points import one_run
    from shallows.web.live.export import page_of

    wanted = {
        match[1]: match[2]
        for page in (ROOT / "docs").rglob("*.md")
        for match in _FILM.finditer(page.read_text())
    }
    return {f"films/{name}": page_of(one_run(load(ROOT / file)).experiment) for name, file in wanted.items()}


def on_files(files: Any, config: Any) -> Any:
    """Adds every page that is made from sources, and every picture."""
    from mkdocs.structure.files import File

    texts: dict[str, str | bytes] = {**generated.pages(), **commands.pages(), **papers.pages()}
    texts |= papers.figures()
    texts |= pictures.drawn(ROOT / "docs")
    texts |= _films()
    texts |= lab.pages()
    for path, content in texts.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Shows pictures below their code, and resolves links to files of the repository."""
    here = posixpath.dirname(page.file.src_uri)
    up = posixpath.relpath("images", here or ".")
    markdown = _DRAWN.sub(lambda m: f"{m[2]}\n\n![{m[1].replace('-', ' ')}]({up}/{m[1]}.svg)", markdown)
    films = posixpath.relpath("films", here or ".")
    markdown = _FILM.sub(
        lambda m: (
            f'<iframe class="film" src="{films}/{m[1]}" title="The film of a run" loading="lazy"></iframe>'
        ),
        markdown,
    )
    pages = {file.src_uri for file in files}
    laboratory = posixpath.relpath(lab.PAGE, here or ".") if lab.PAGE in pages else None
    markdown = lab.linked(markdown, laboratory)

    def resolved(match: re.Match[str]) -> str:
        bang, text, target, anchor = match[1], match[2], match[3], match[4] or ""
        path = posixpath.normpath(posixpath.join(here, target))
        if bang or path in pages:
            return match[0]
        root = posixpath.normpath(posixpath.join("docs", path))
        found = MOVED.get(root) or papers.page_of(root)
        if found is None:  # a source file has no page: its name stays as text
            return text if (ROOT / root).is_file() else match[0]
        place, _, inner = found.partition("#")
        return f"[{text}]({posixpath.relpath(place, here or '.')}{f'#{inner}' if inner else anchor})"

    return _LINK.sub(resolved, markdown)
