"""Fenced code blocks of a Markdown page, with the notes that stand above them.

A note is an HTML comment on the line before the fence, so that readers do not see it:

- `<!-- not run: REASON -->`: the tests skip the block.
- `<!-- file: NAME -->`: the block is the file NAME for the commands further down the page.
- `<!-- draws: NAME.svg -->`: the Python block leaves a figure in `figure`; the site shows it below the block.
- `<!-- fails -->`: each command of the block ends with status 2, as the page says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"^(?:<!-- (?P<note>[^>]*?) -->\n+)?(?P<fence>```+)(?P<language>[\w-]*)[^\n]*\n"
    r"(?P<text>.*?)^(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A code block: its page, line, language, text, and the note above it as a word and its value."""

    page: Path
    line: int
    language: str
    text: str
    note: str
    value: str


def blocks_of(page: Path, text: str | None = None) -> Iterator[Block]:
    """Yields the fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8") if text is None else text
    for match in _FENCE.finditer(text):
        word, _, value = (match["note"] or "").partition(":")
        line = text.count("\n", 0, match.start("fence")) + 1
        yield Block(page, line, match["language"], match["text"], word.strip(), value.strip())


def commands_of(block: Block) -> list[str]:
    """The commands of a shell block: comments removed, continued lines joined."""
    joined = block.text.replace("\\\n", " ")
    lines = (re.sub(r"(^|\s)#.*$", "", line).strip() for line in joined.splitlines())
    return [line for line in lines if line]
