"""The pages and their addresses."""

from __future__ import annotations

from nicegui import ui

from shallows.web.pages import address
from shallows.web.pages.frame import frame, heading, page
from shallows.web.pages.state import State

__all__ = ["register"]


def register(state: State) -> None:
    """Makes every page known to the server."""
    from shallows.web.pages import jobs, papers, reports, results, sweeps

    for each in (results, reports, sweeps, papers, jobs):
        each.register(state)

    @page("/")
    async def laboratory(x: str = "", show: str = "", second: str = "") -> None:
        from shallows.web.pages.gallery import entry, first
        from shallows.web.pages.lab import Laboratory

        if state.sessions.full:
            with frame("Laboratory", "Laboratory"):
                heading("All places are taken", 1)
                most = state.options.limits.sessions
                ui.label(
                    f"This server shows {most} laboratories at once. Close one of them, or start the server "
                    f"with --max-sessions {2 * most}."
                )
            return
        session = state.sessions.new()
        ui.context.client.on_connect(
            lambda: None if state.sessions.connect(session) else ui.navigate.reload()
        )
        ui.context.client.on_delete(lambda: state.sessions.end(session))
        given = address.unpack(x) if x else None
        if given and isinstance(given.get("text"), str):
            text, second, about = given["text"], str(given.get("second") or ""), None
        else:
            shown = entry(show) or first()
            text, second, about = shown.text, second or shown.second, shown.about
        with frame(about["title"] if about else "Laboratory", "Laboratory"):
            Laboratory(session, state.jobs, text, second, about)

    @page("/gallery")
    def gallery() -> None:
        from shallows.web.pages.gallery import entries

        with frame("Gallery", "Gallery"):
            heading("Gallery", 1)
            ui.label("Experiments worth seeing, and what to drag. Each is an experiment file like any other.")
            with ui.element("div").classes("sh-cards"):
                for each in entries():
                    with ui.element("article").classes("sh-card"):
                        heading(each.about["title"], 2)
                        ui.html(each.picture, sanitize=False).classes("sh-sketch")  # our own file
                        ui.label(each.about["about"])
                        ui.label(each.about["watch"]).classes("sh-soft")
                        ui.link("Open in the laboratory", f"/?show={each.name}")
