"""The measures of plain English: words per sentence, and the phrases that the style page bans."""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
STYLE = ROOT / "docs/style.md"

MOST_WORDS = 20
"""Words per sentence, as the mean over a page."""

_BLOCK = re.compile(r"^(```+).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]*`")
_END = re.compile(r"(?<=[.!?])[\s*)\"']+(?=[A-Z\"'(*\d])")
_ABBREVIATED = re.compile(r"\b(s|e\.g|i\.e|al|vs|eq|eqs|sec|fig|no|p)\.\s", re.IGNORECASE)


def paragraphs(markdown: str) -> list[str]:
    """The prose of a page: paragraphs and list items, without code, tables, headings and link targets."""
    text = _COMMENT.sub("", _BLOCK.sub("\n\n", markdown))
    text = _CODE.sub("Code", _LINK.sub(r"\1", text))
    found: list[str] = []
    fresh = True
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "|", ":::", "===", "???", "!!!")):
            fresh = True
            continue
        item = re.match(r"([-*]|\d+\.)\s+", stripped)
        if item or fresh or not found:
            found.append(stripped[item.end() :] if item else stripped)
        else:
            found[-1] += " " + stripped
        fresh = False
    return found


def sentences(markdown: str) -> list[str]:
    """The sentences of a page's prose."""
    found = []
    for paragraph in paragraphs(markdown):
        whole = _ABBREVIATED.sub(lambda match: match[1] + " ", paragraph)
        found += [part.strip() for part in _END.split(whole) if len(part.split()) > 1]
    return found


def mean_words(markdown: str) -> float:
    """Words per sentence, as the mean over a page; 0 for a page without prose."""
    lengths = [len(sentence.split()) for sentence in sentences(markdown)]
    return sum(lengths) / len(lengths) if lengths else 0.0


def banned() -> dict[str, str]:
    """The phrases that the style page bans, with its better words. That table is the one list of them."""
    table = STYLE.read_text(encoding="utf-8").split("<!-- banned -->")[1].split("<!-- end -->")[0]
    rows = [line.strip("| \n").split("|") for line in table.splitlines() if line.startswith("| ")]
    return {row[0].strip(): row[1].strip() for row in rows[1:]}


def stems() -> list[str]:
    """The stems that the style page bans, as regular expressions."""
    table = STYLE.read_text(encoding="utf-8").split("<!-- stems -->")[1].split("<!-- end -->")[0]
    return [stem.replace(r"\|", "|") for stem in re.findall(r"^\| `(.+)` \|", table, re.MULTILINE)]


_CLAUSE = re.compile(r"(?:^|[.:;][ ])((?:What|Who|Whoever|Whatever)[ ][^?\n]*)$")
_FRAGMENT = re.compile(r"^(?:The same\b|Of ).*")


@functools.cache  # several tests read each source
def remarks_in_rust(text: str) -> list[tuple[int, str]]:
    """Each line of a comment of Rust without its marks, and the line's number."""
    lines = enumerate(text.splitlines(), 1)
    found = [(number, re.search(r"(?:^|\s)//[/!]?(?: (.*)|$)", line)) for number, line in lines]
    return [(number, match[1] or "") for number, match in found if match]


@functools.cache  # several tests read each source
def remarks_in_python(text: str) -> list[tuple[int, str]]:
    """Each line of a comment or a docstring of Python, and the line's number."""
    parts = [
        (token.start[0], token.string.strip("# "))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    for node in ast.walk(ast.parse(text)):  # a docstring of a module, a function or an attribute
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            parts.append((node.lineno, node.value.value))
    return sorted(
        (first + number, line) for first, part in parts for number, line in enumerate(part.splitlines())
    )


def remarks_in(path: Path) -> list[tuple[int, str]]:
    """Comments and docstrings of a source file by line; none for other files."""
    read = {".rs": remarks_in_rust, ".py": remarks_in_python, ".pyi": remarks_in_python}.get(path.suffix)
    return read(path.read_text(encoding="utf-8")) if read else []


def clauses_in(rust: str) -> list[tuple[int, str]]:
    """Each comment of Rust that begins a sentence with such a clause, and its line; no question."""
    return [(number, match[1]) for number, line in remarks_in_rust(rust) for match in _CLAUSE.finditer(line)]


_PYTHON = re.compile(r"(?:^\s*|[.:;,(]\s+)((?:what|who|whoever|whatever)\b[^?]*)$", re.IGNORECASE)


def clauses_in_python(text: str) -> list[tuple[int, str]]:
    """Each such clause in comments and docstrings of Python, even after a comma; line by line."""
    return [
        (number, match[1]) for number, line in remarks_in_python(text) for match in _PYTHON.finditer(line)
    ]


def fragments_in(remarks: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Comments that begin with "The same" or "Of", and so say nothing when an editor shows them alone."""
    numbers = dict(remarks)
    return [
        (number, line)
        for number, line in remarks
        if _FRAGMENT.match(line.strip()) and not _continues(numbers.get(number - 1))
    ]


def _continues(before: str | None) -> bool:
    """Whether the line before a remark leaves a sentence open."""
    return bool(before and before.strip()) and not before.rstrip().endswith((".", ":", "?", "!", "|", "```"))


def stems_in(text: str) -> list[tuple[int, str]]:
    """Each banned stem in a text, with the number of its line."""
    pattern = re.compile("|".join(stems()), re.IGNORECASE)
    return [(text.count("\n", 0, match.start()) + 1, match[0]) for match in pattern.finditer(text)]


def banned_in(text: str) -> list[tuple[int, str]]:
    """Each banned phrase in a text, with the number of its line."""
    between = r"\s+(?:(?://[/!]?|#)\s*)?"
    words = (between.join(map(re.escape, phrase.split())) for phrase in banned())
    pattern = re.compile(r"\b(?:" + "|".join(words) + r")\b", re.IGNORECASE)
    return [(text.count("\n", 0, match.start()) + 1, match[0]) for match in pattern.finditer(text)]
