"""The page's own elements: the player of films, figures, and what completes settings in the editor."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.element import Element

__all__ = ["Completion", "LivePlayer", "ReportFigure"]


class LivePlayer(Element, component="live.js", esm={"shallows-player": "../static"}):
    """Shows the films of a session as they grow."""

    def __init__(self, session: str, on_pace: Any):
        assert ui.echart  # whose library the player draws with
        super().__init__()
        self._props["session"] = session
        self.on("pace", lambda event: on_pace(bool(event.args)))


class ReportFigure(Element, component="figure.js", esm={"shallows-figures": "../../figures/page"}):
    """An image that becomes interactive where it carries its numbers (`shallows.figures.interactive`)."""

    def __init__(self, source: str, alt: str):
        assert ui.echart  # whose library draws it
        super().__init__()
        self._props["source"] = source
        self._props["alt"] = alt


class Completion(Element, component="complete.js"):
    """Completes keys and words in an editor, from the checker's own schema."""

    def __init__(self, editor: Element, known: dict[str, Any]):
        super().__init__()
        self._props["editor"] = editor.id
        self._props["known"] = known
