"""The parts that all pages share: the head with its links, text size, dark mode, commands to copy, tables."""

from __future__ import annotations

import functools
import html
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nicegui import ui

PAGES = (
    ("Laboratory", "/"),
    ("Gallery", "/gallery"),
    ("Results", "/results"),
    ("Papers", "/papers"),
    ("Jobs", "/jobs"),
)

STATIC = Path(__file__).parents[1] / "static"

ANSWER_S = 60.0
"""The time in which a page must be made; a large store on a slow disk takes long."""

page = functools.partial(ui.page, response_timeout=ANSWER_S)
"""Decorator: a function makes the page of an address."""

__all__ = ["Commands", "frame", "heading", "missing", "on_dark", "page", "rows_table"]


MISSING = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not found - Shallows</title>
<style>:root {{ color-scheme: light dark; }} body {{ margin: 3rem auto; max-width: 40rem; padding: 0 1rem;
font-family: system-ui, sans-serif; line-height: 1.5; }} code {{ overflow-wrap: anywhere; }}</style>
</head>
<body>
<main>
<h1>{told}</h1>
<p><code>{path}</code> leads nowhere. The pages are:</p>
<ul>{pages}</ul>
</main>
</body>
</html>
"""


@contextmanager
def frame(title: str, here: str) -> Iterator[ui.column]:
    """A page: its head, then what the caller puts into the column."""
    ui.page_title(f"{title} - Shallows")
    ui.colors(
        primary="#0062b8", secondary="#49535e", accent="#b87900", positive="#00795a", negative="#c0261c"
    )
    ui.add_css((STATIC / "player.css").read_text())
    ui.add_css((STATIC / "page.css").read_text())
    for name in ("look.js", "page.js"):
        ui.add_body_html(f"<script>{(STATIC / name).read_text()}</script>")
    with ui.header(elevated=False).classes("sh-head"):
        ui.link("Shallows", "/").classes("sh-brand")
        with ui.element("nav").props('aria-label="Pages"').classes("sh-pages"):
            for name, to in PAGES:
                link = ui.link(name, to)
                if name == here:
                    link.props('aria-current="page"')
        ui.space()
        for label, text, sign in (("Smaller text", "A-", -1), ("Larger text", "A+", 1)):
            button = ui.button(text, color=None).props(f'flat dense no-caps aria-label="{label}"')
            button.on("click", js_handler=f"() => shallowsZoom({sign})")
        button = ui.button(icon="contrast", color=None).props('flat dense round aria-label="Dark or light"')
        button.on("click", js_handler="() => shallowsDark()")
    with ui.column().classes("sh-page") as column:
        yield column
    ui.skip_link("Skip to the content", target=column)


def missing(path: str, why: str) -> str:
    """A page (HTML) for an address that leads nowhere."""
    pages = "".join(f'<li><a href="{to}">{name}</a></li>' for name, to in PAGES)
    told = "There is no page here" if why in ("", "Not Found") else why[:1].upper() + why[1:]
    return MISSING.format(told=html.escape(told), path=html.escape(path[:200]), pages=pages)


def on_dark(listener: Callable[[bool], None]) -> None:
    """Calls `listener` when the page has become dark or light, and once at first."""
    ui.on("sh-dark", lambda event: listener(bool(event.args)))


class Commands:
    """The command line and the Python that give what the page shows, each with a copy button."""

    def __init__(self, shell: str, python: str):
        self._texts = [self._line("Command line", shell), self._line("Python", python)]

    @staticmethod
    def _line(label: str, text: str) -> ui.label:
        with ui.element("div").classes("row sh-command"):
            ui.label(label).classes("sh-soft")
            told = ui.label(text).classes("sh-code")
            button = ui.button(icon="content_copy").props(
                f'flat dense round size=sm aria-label="Copy: {label}"'
            )
            button.on("click", js_handler="(event) => shallowsCopyBeside(event.currentTarget)")
        return told

    def show(self, shell: str, python: str) -> None:
        """Other commands in the same place."""
        for label, text in zip(self._texts, (shell, python), strict=True):
            label.set_text(text)


def heading(text: str, level: int) -> None:
    """A heading that readers by ear find too."""
    with ui.element(f"h{level}"):
        ui.label(text)


def rows_table(names: Sequence[str], rows: Sequence[Sequence[Any]], page: int = 20) -> ui.table:
    """A table of values, as text."""
    columns = [
        {"name": f"c{i}", "label": n, "field": f"c{i}", "sortable": True, "align": "left"}
        for i, n in enumerate(names)
    ]
    filled = [
        {"key": number} | {f"c{i}": shown(value) for i, value in enumerate(row)}
        for number, row in enumerate(rows)
    ]
    table = ui.table(rows=filled, columns=columns, row_key="key", pagination=page)
    return table.classes("sh-table").props("dense flat wrap-cells tabindex=0")


def shown(value: Any) -> Any:
    """A value of a cell."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, bool | int | str):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 200 else text[:200] + " ..."
