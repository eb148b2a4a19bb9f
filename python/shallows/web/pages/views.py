"""The pages and their addresses."""

from __future__ import annotations

from nicegui import ui

from shallows.web.pages import address
from shallows.web.pages.frame import frame, heading, page
from shallows.web.pages.state import State

__all__ = ["register"]

FAULTY_ADDRESS = (
    "This address cannot be read: it was cut off or names no entry. Here is the first look in its place."
)


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
        client = ui.context.client
        client.on_connect(lambda: None if state.sessions.connect(session) else ui.navigate.reload())
        client.on_disconnect(lambda: None if client.has_socket_connection else state.sessions.leave(session))
        client.on_delete(lambda: state.sessions.end(session))
        given = address.unpack(x) if x else None
        if given and isinstance(given.get("text"), str):
            lesson, faulty = entry(str(given.get("show") or "")), False
            text, second = given["text"], str(given.get("second") or "")
        else:
            lesson, faulty = entry(show) or first(), bool(x) or bool(show and entry(show) is None)
            text, second = lesson.text, second or lesson.second
        with frame(lesson.about["title"] if lesson else "Laboratory", "Laboratory"):
            if faulty:
                ui.label(FAULTY_ADDRESS).classes("sh-failed").props('role="alert"')
            Laboratory(session, state.jobs, text, second, lesson)

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
