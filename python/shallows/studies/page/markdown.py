"""The part of Markdown that the READMEs of `experiments/` use, as HTML.

Headings, paragraphs, `-` lists, tables, fenced code, and inline code, bold and links. Everything is
escaped; what is not understood stands as it was written.
"""

import re
from html import escape

_INLINE = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"\[([^\]]+)\]\((https?://[^)\s]+)\)"), r'<a href="\2">\1</a>'),
    (re.compile(r"\[([^\]]+)\]\([^)]*\)"), r"\1"),
)


def to_html(text: str, top: int = 2) -> str:
    """HTML of a Markdown text, its highest heading at level `top`."""
    blocks, fence = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fence = not fence
            blocks.append(["```"]) if fence else blocks.append([])
        elif fence:
            blocks[-1].append(line)
        elif not line.strip():
            blocks.append([])
        elif line.startswith("#"):
            blocks += [[line], []]
        elif line.startswith("- ") and blocks and blocks[-1] and not blocks[-1][0].startswith("- "):
            blocks.append([line])
        else:
            if not blocks:
                blocks.append([])
            blocks[-1].append(line)
    return "\n".join(_block(block, top) for block in blocks if block)


def _block(lines: list[str], top: int) -> str:
    first = lines[0]
    if first == "```":
        return f"<pre><code>{escape(chr(10).join(lines[1:]))}</code></pre>"
    if first.startswith("#"):
        level = min(top + len(first) - len(first.lstrip("#")) - 1, 6)
        return f"<h{level}>{_inline(first.lstrip('# '))}</h{level}>"
    if first.startswith("- "):
        items = re.split(r"^- ", "\n".join(lines), flags=re.MULTILINE)[1:]
        return "<ul>" + "".join(f"<li>{_inline(' '.join(i.split()))}</li>" for i in items) + "</ul>"
    if first.startswith("|") and len(lines) > 1 and set(lines[1]) <= set("|-: "):
        return _table(lines)
    return f"<p>{_inline(' '.join(lines))}</p>"


def _table(lines: list[str]) -> str:
    rows = [[_inline(cell.strip()) for cell in line.strip().strip("|").split("|")] for line in lines]
    head = "".join(f"<th>{cell}</th>" for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[2:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _inline(text: str) -> str:
    text = escape(text, quote=False)
    for pattern, html in _INLINE:
        text = pattern.sub(html, text)
    return text
