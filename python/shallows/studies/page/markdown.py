"""Markdown of READMEs as HTML for reports, by markdown-it.

Raw HTML is shown and not interpreted. A link leads only to the web, since a report is one file; of any other
link its text is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token


def to_html(text: str, top: int = 2) -> str:
    """HTML of a Markdown text, its highest heading at level `top`."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = parser.parse(text)
    levels = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) - min(levels) + top)}"
        if token.children:
            token.children = _web_links(token.children)
    return parser.renderer.render(tokens, parser.options, {})


def _web_links(tokens: Sequence[Token]) -> list[Token]:
    kept, local = [], 0
    for token in tokens:
        if token.type == "link_open" and not str(token.attrs["href"]).startswith(("https://", "http://")):
            local += 1
        elif token.type == "link_close" and local:
            local -= 1
        else:
            kept.append(token)
    return kept
