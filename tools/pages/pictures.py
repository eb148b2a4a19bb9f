"""Pictures of the pages, drawn by the Python blocks that the pages show, and kept until block or core change.

A block under `<!-- draws: NAME.svg -->` ends with a matplotlib figure in `figure`. The key of a kept picture
covers the text of the page's blocks up to it and the hash of the core's sources.
"""

from __future__ import annotations

import hashlib
import io
import sys
import tempfile
import types
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from pages.blocks import Block, blocks_of

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache/site/pictures"


def drawn(docs: Path) -> dict[str, bytes]:
    """Every picture by its path in the site; draws those that are not kept."""
    found = {}
    for page in sorted(docs.rglob("*.md")):
        blocks = list(blocks_of(page))
        if any(block.note == "draws" for block in blocks):
            found |= {f"images/{name}": picture for name, picture in _of_page(blocks).items()}
    return found


def _of_page(blocks: list[Block]) -> dict[str, bytes]:
    from shallows import _core

    code = [
        block
        for block in blocks
        if block.note == "file" or (block.language == "python" and block.note != "not run")
    ]
    text = "\n".join(block.text for block in code) + _core.source_hash()
    kept = CACHE / hashlib.sha256(text.encode()).hexdigest()[:20]
    names = [block.value for block in code if block.note == "draws"]
    if not all((kept / name).exists() for name in names):
        kept.mkdir(parents=True, exist_ok=True)
        for name, picture in draw(code).items():
            (kept / name).write_bytes(picture)
    return {name: (kept / name).read_bytes() for name in names}


def draw(code: list[Block]) -> dict[str, bytes]:
    """Runs one page's Python blocks in order, in a directory with its files, and returns its pictures."""
    import matplotlib as mpl
    from shallows.figures.style import image

    mpl.use("Agg")
    scope = new_scope()
    found = {}
    with tempfile.TemporaryDirectory() as place, chdir(place), redirect_stdout(io.StringIO()):
        Path("experiments").symlink_to(ROOT / "experiments")
        for block in code:
            if block.note == "file":
                Path(block.value).write_text(block.text, encoding="utf-8")
                continue
            run_block(block, scope)
            if block.note == "draws":
                found[block.value] = image(scope["figure"])
    return found


def new_scope() -> dict[str, Any]:
    """The names of a page's code, as those of a module: classes of a page can be hashed like a notebook's."""
    module = types.ModuleType("__page__")
    sys.modules["__page__"] = module
    return vars(module)


def run_block(block: Block, scope: dict[str, Any]) -> None:
    """Executes one Python block; its tracebacks name the page and the line."""
    source = "\n" * block.line + block.text
    exec(compile(source, str(block.page), "exec"), scope)
