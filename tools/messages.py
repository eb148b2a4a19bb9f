"""Every message of the program as one text, to be read in one sitting: the page "Messages" of the site.

Python: texts with a space that are neither docstrings, types, lines for other programs nor styles of pages;
and the help of commands. Rust: texts with a space outside tests. `make messages` writes the snapshot
`tests/messages.txt`; read its difference against docs/style.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SNAPSHOT = ROOT / "tests/messages.txt"

LEFT_OUT = ("_classes.py", "gpl", "templates", "_data", "theory", "figures", "examples", "prose.py")
"""Generated classes, separate programs, scaffolds, labels of plots, and patterns of texts."""

TESTS = ("tests.rs", "test_bench.rs")

_FOR_THE_GUEST = re.compile(
    r"(qdisc|filter|link|addr|route|add|via|nexthop|neigh|netns|run|file|sysctl|step|attributes|wire|queue|open|send|host|tbf|deb"
    r"|stab|action|rounds|control|worker|src|initcwnd|limit|flows|quantum|trace|traced|pfifo|bfifo)[ {]"
)
"""Lines of the Linux backend for tc, ip and its guest program."""

_FOR_BROWSERS = re.compile(
    r"aria-label|alt=|(no-caps|flat|dense|gap:|width:|font-weight|role=|<|;|abstract as)|[a-z-]+-src "
    r"|[a-z]+/html|(frame-ancestors|form-action|base-uri|object-src)"
)
"""Styles, markup and headers of pages; the keywords of Rust."""

_RUST_TEXT = re.compile(r'(?<!b)"((?:[^"\\]|\\.|\\\n)*)"')
_WORDS = re.compile(r"[A-Za-z]{2,}.* .*[a-z]{2,}|[a-z]{2,} .*[A-Za-z]{2,}", re.DOTALL)


def messages() -> str:
    """The text of the file: for each source its messages, in the order of the source."""
    parts = ["Every message of the program, by source. Braces hold the values that the program fills in."]
    for path in sorted((ROOT / "python/shallows").rglob("*.py")):
        parts_of_path = path.relative_to(ROOT).parts  # the checkout may have any name
        if not set(LEFT_OUT) & {*parts_of_path}:
            source = path.read_text(encoding="utf-8")
            found = [*of_python(source)]
            if "linux" in parts_of_path:
                found = [text for text in found if not _FOR_THE_GUEST.match(text)]
            parts += _part(path, [*found, *(helps(source) if path.parent.name == "cli" else ())])
    for path in sorted(path for path in ROOT.glob("crates/*/src/**/*.rs") if path.name not in TESTS):
        parts += _part(path, of_rust(path.read_text(encoding="utf-8")))
    return "\n".join(parts) + "\n"


def page() -> str:
    """The page of the site: the text as it is, without Markdown."""
    head, *parts = messages().split("\n\n## ")
    sections = [part.split("\n", 1) for part in parts]
    blocks = [f"## {name}\n\n````text\n{text.strip()}\n````" for name, text in sections]
    return "\n\n".join(["# Messages", head, *blocks]) + "\n"


def helps(source: str) -> Iterator[str]:
    """The help texts of commands: the docstrings of their functions."""
    from shallows.cli.app import app

    groups = [app, *(group.typer_instance for group in app.registered_groups)]
    commands = {one.callback.__name__ for group in groups for one in group.registered_commands}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name in commands:
            yield ast.get_docstring(node) or ""


def _part(path: Path, found: Iterable[str]) -> list[str]:
    lines = [" ".join(text.split()) for text in dict.fromkeys(found)]
    return [f"\n## {path.relative_to(ROOT)}\n", *lines] if lines else []


def of_python(source: str) -> Iterator[str]:
    """The texts of a Python file; fields of an f-string stand in braces."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
    left_out |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    left_out |= {id(part) for kind in _types(nodes) for part in ast.walk(kind)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
                for part in node.values
                if isinstance(part, ast.Constant | ast.FormattedValue)
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            text = node.value
        else:
            continue
        if _WORDS.search(re.sub(r"\{[^{}]*\}", " ", text)) and not _FOR_BROWSERS.match(text.strip()):
            yield text


def _types(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Annotations, and types given to `cast`: texts, but no messages."""
    for node in nodes:
        if isinstance(node, ast.AnnAssign) and not isinstance(node.annotation, ast.Subscript):
            yield node.annotation
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("cast"):
            yield node.args[0]


def of_rust(source: str) -> Iterator[str]:
    """The texts of a Rust file outside comments, declarations of settings and tests."""
    source = re.split(r"^#\[cfg\(test\)\]\n(?:pub\(crate\) )?mod ", source, maxsplit=1, flags=re.MULTILINE)[0]
    source = re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)
    source = re.sub(r"params! \{.*?^\}", "", source, flags=re.MULTILINE | re.DOTALL)
    for match in _RUST_TEXT.finditer(source):
        text = re.sub(r"\\\n\s*", "", match[1]).replace('\\"', '"')
        if _WORDS.search(text):
            yield text


if __name__ == "__main__":
    SNAPSHOT.write_text(messages(), encoding="utf-8")
    print(f"{SNAPSHOT.relative_to(ROOT)}: {len(messages().split())} words; read its difference")
