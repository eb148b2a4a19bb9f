"""The laboratory: an experiment on the left, as forms and as a file; its run on the right."""

from __future__ import annotations

import asyncio
import shlex
import tomllib
from dataclasses import replace
from typing import Any

from nicegui import background_tasks, ui

from shallows.document.places import program
from shallows.document.schema import components
from shallows.errors import Fault
from shallows.terminal import readable
from shallows.web.editor.completion import kinds, known
from shallows.web.editor.document import line_of
from shallows.web.editor.editing import Slider, lookup, put, sliders
from shallows.web.jobs.queue import Jobs
from shallows.web.live.session import Session
from shallows.web.pages import address
from shallows.web.pages.elements import Completion, LivePlayer
from shallows.web.pages.frame import Commands, on_dark
from shallows.web.pages.gallery import Entry
from shallows.web.pages.starting import Starting

AUTOMATIC_S = 3.0
"""A run that took longer waits for the Run button after the next change."""

TYPING_S = 0.35

__all__ = ["Laboratory"]


class Laboratory:
    """One reader's laboratory."""

    def __init__(
        self, session: Session, jobs: Jobs, text: str, second: str = "", lesson: Entry | None = None
    ):
        self.session, self.jobs, self.text, self.second = session, jobs, text, second
        self.lesson, self.about = lesson, lesson.about if lesson else {}
        self._quiet = False
        self._changes = 0
        self._first_fault: int | None = None
        self._sliders: dict[str, tuple[Slider, ui.slider, ui.label]] = {}
        with ui.element("div").classes("sh-lab"):
            with ui.column().classes("sh-left"):
                self._left()
            with ui.column().classes("sh-right"):
                self.player = LivePlayer(session.key, session.pace)
        on_dark(lambda dark: self.editor.set_theme("githubDark" if dark else "vscodeLight"))
        background_tasks.create(self._begin())

    # ---- its parts ----

    def _left(self) -> None:
        if self.about:
            with ui.column().classes("sh-about"):
                ui.label(self.about["title"]).props('role="heading" aria-level="1"').style(
                    "font-weight: 650; font-size: 1.2rem"
                )
                for key in ("about", "watch"):
                    if self.about.get(key):
                        ui.label(self.about[key])
        self.knobs = ui.column().classes("sh-left")
        self.forms = ui.element("div").classes("sh-field-row")
        self.editor = ui.codemirror(
            self.text,
            language="TOML",
            on_change=self._typed,
            line_wrapping=True,
            indent="  ",
            theme="vscodeLight",
        )
        self.editor.classes("sh-editor")
        Completion(self.editor, known())
        self.faults = ui.column().classes("sh-faults").props('role="alert"')
        with ui.row().classes("items-center").style("gap: 8px"):
            ui.button("Run", on_click=self.run).props("no-caps unelevated dense padding='4px 14px'").mark(
                "run"
            )
            self.state = ui.label("").classes("sh-state").props('aria-live="polite"')
        self.other = ui.input(
            "Second scheme: settings that differ", value=self.second, on_change=self._second_typed
        )
        self.other.props(
            'dense clearable debounce=400 hint="transport.cc=newreno queue.mark_at=20pkt"'
        ).style("width: 100%")
        # Made once: a browser would keep the names of elements made anew for each run.
        self.shown = ui.column().classes("sh-left").style("gap: 4px; margin-top: 14px")
        self.shown.set_visibility(False)
        with self.shown:
            self.commands = Commands("", "")
            with ui.row().style("gap: 6px"):
                button = ui.button("Save mine.toml").props("no-caps flat dense")
                button.on("click", lambda: ui.download.content(self.text, "mine.toml"))
                copy = ui.button("Copy address").props("no-caps flat dense")
                copy.on("click", js_handler="() => shallowsCopy(location.href)")
            self.starting = Starting(self.jobs, lambda: self.text, lambda: self.overrides)

    def _forms(self, document: dict[str, Any]) -> None:
        """Common settings beside the file; their values follow it."""
        control = lookup(document, "transport.cc")
        queue = lookup(document, "queue.kind") or document.get("queue")
        values = {
            "transport.cc": control.get("kind") if isinstance(control, dict) else control,
            "queue.kind": queue if isinstance(queue, str) else None,
            "duration": document.get("duration"),
            "seed": document.get("seed", 1),
        }
        key = (values["transport.cc"], values["queue.kind"], values["duration"], values["seed"])
        if getattr(self, "_form_values", None) == key:
            return
        self._form_values = key
        self.forms.clear()
        with self.forms:
            controls = [name for name, each in components("transport.cc").items() if "backend" not in each]
            queues = kinds("queue")
            for path, label, names in (
                ("transport.cc", "Congestion control", controls),
                ("queue.kind", "Queue", queues),
            ):
                chosen = values[path] if values[path] in names else None
                ui.select(
                    names, value=chosen, label=label, on_change=lambda e, p=path: self._set(p, e.value)
                ).props("dense options-dense")
            duration = ui.input("Duration", value=str(values["duration"] or "")).props("dense")
            duration.on("change", lambda: self._set("duration", duration.value))
            seed = ui.number(
                "Seed", value=values["seed"] if isinstance(values["seed"], int) else 1, min=0, precision=0
            )
            seed.props("dense").on("change", lambda: self._set("seed", int(seed.value or 0)))

    def _knobs(self, document: dict[str, Any]) -> None:
        """Sliders; those that are there already move, so that one that is dragged stays in the hand."""
        film = self.session.films.get(0)
        made = sliders(document, film.experiment if film else None, self.about.get("drag", ()))
        if [slider.path for slider in made] != list(self._sliders):
            self.knobs.clear()
            self._sliders = {}
            with self.knobs:
                for slider in made:
                    self._knob(slider)
            return
        for slider in made:
            kept, knob, label = self._sliders[slider.path]
            bounds = {"low": min(kept.low, slider.value), "high": max(kept.high, slider.value)}
            moved = replace(kept, **bounds, value=slider.value, unit=slider.unit, whole=slider.whole)
            self._sliders[slider.path] = (moved, knob, label)
            label.set_text(str(lookup(document, slider.path) or moved.value_at(moved.at)))
            if abs(float(knob.value) - moved.at) > 1.01:
                self._quiet = True
                knob.set_value(moved.at)
                self._quiet = False

    def _knob(self, slider: Slider) -> None:
        with ui.element("div").classes("sh-slider"):
            ui.label(slider.label or slider.path)
            label = ui.label(str(slider.value_at(slider.at))).classes("sh-value")
            knob = (
                ui.slider(min=0, max=100, step=0.5, value=slider.at)
                .props(f'aria-label="{slider.path}"')
                .mark(slider.path)
            )
            knob.on(
                "update:model-value",
                lambda e, p=slider.path: self._dragged(p, e.args),
                throttle=0.06,
                leading_events=True,
            )
        self._sliders[slider.path] = (slider, knob, label)

    # ---- changes ----

    def _dragged(self, path: str, at: Any) -> None:
        if self._quiet or not isinstance(at, int | float):
            return
        slider, _, label = self._sliders[path]
        value = slider.value_at(float(at))
        label.set_text(str(value))
        self._set(path, value, dragged=True)

    def _set(self, path: str, value: Any, dragged: bool = False) -> None:
        """A form's or slider's value goes into the text."""
        if value in (None, ""):
            return
        try:
            text = (
                put(self.text, "queue", _other_queue(tomllib.loads(self.text), value))
                if path == "queue.kind"
                else put(self.text, path, value)
            )
        except Exception as error:  # the text is no TOML now, and its faults are shown
            self.state.set_text(f"{path} was not set: {error}")
            return
        if text == self.text:
            return
        self.text = text
        self._quiet = True
        self.editor.set_value(text)
        self._quiet = False
        background_tasks.create(self._changed(0.0 if dragged else 0.02, run=True))

    def _typed(self, event: Any) -> None:
        if self._quiet or event.value == self.text:
            return
        self.text = event.value or ""
        background_tasks.create(self._changed(TYPING_S))

    def _second_typed(self, event: Any) -> None:
        self.second = event.value or ""
        background_tasks.create(self._changed(0.0))

    async def _begin(self) -> None:
        try:
            await self.player.client.connected(timeout=30)
        except TimeoutError:  # the page was asked for, and never opened
            return
        await self._changed(0.0, run=True)
        if self._first_fault:
            self.editor.reveal_line(self._first_fault)

    async def _changed(self, after: float, run: bool = False) -> None:
        """Checks what is written, and runs it unless that takes long."""
        self._changes += 1
        mine = self._changes
        await asyncio.sleep(after)
        if mine != self._changes:
            return
        film = self.session.films.get(0)
        quick = film is None or film.seconds < AUTOMATIC_S
        if run and quick:
            await self.run()
            return
        faults = await self.session.check(self.text, [])
        if self.second and not faults:
            faults = await self.session.check(self.text, self.overrides)
        if mine != self._changes:
            return
        with self.player:
            self._show_faults(faults)
            if not faults and quick:
                await self.run()
            elif not faults:
                self._say("checked; press Run")

    @property
    def overrides(self) -> list[str]:
        """Settings of the second scheme."""
        try:
            return shlex.split(self.second)
        except ValueError:
            return self.second.split()

    async def run(self) -> None:
        """Runs the experiment, and the second scheme beside it; says how it ended."""
        with self.player:
            names = self.about.get("names") if self.lesson and self.second == self.lesson.second else None
            names = names or ("As written", " ".join(self.overrides).replace('"', ""))
            film = self.session.run(0, self.text, [], names[0] if self.second else "")
            films = [film]
            if self.second:
                films.append(self.session.run(1, self.text, self.overrides, names[1]))
            else:
                self.session.clear(1)
            self._say("running")
            while any(each.state == "waiting" for each in films) and self.session.films.get(0) is film:
                await self.session.changed(1.0)
            if self.session.films.get(0) is not film:
                return
            self._show_faults([fault for each in films for fault in each.faults])
            if film.state != "faulty" and (document := _read(self.text)) is not None:
                self._forms(document)
                self._knobs(document)
                self._commands()
            while any(each.state == "running" for each in films) and self.session.films.get(0) is film:
                await self.session.changed(1.0)
            if self.session.films.get(0) is film:
                self._ended(films)

    def _ended(self, films: list[Any]) -> None:
        bad = next((each for each in films if each.state == "failed"), None)
        if bad is not None:
            self._say(bad.message, failed=True)
        elif all(each.state == "done" for each in films):
            spent = sum(each.seconds for each in films)
            said = readable("duration_ps", films[0].header["duration_ps"])
            self._say(f"{said} simulated in {readable('spent_ps', spent * 1e12)}")

    def _say(self, text: str, failed: bool = False) -> None:
        self.state.set_text(text)
        self.state.classes(add="sh-failed" if failed else "", remove="" if failed else "sh-failed")

    def _show_faults(self, faults: list[Fault]) -> None:
        """Shows faults in the editor at their lines, and below it as text."""
        lines: dict[int, str] = {}
        for fault in faults:
            line = line_of(self.text, fault.path)
            lines[line] = "\n".join(filter(None, [lines.get(line), str(fault)]))
        count = self.text.count("\n") + 1
        self._first_fault = min(lines, default=None)
        # Setting the properties would send the editor's text back, and undo the keys pressed meanwhile.
        marked = [{"kind": "line", "line": min(n, count), "class": "sh-fault"} for n in lines]
        self.editor.run_method("setDecorations", marked)
        self.editor.run_method("setLineTooltips", {min(n, count): text for n, text in lines.items()})
        self.faults.clear()
        with self.faults:
            for fault in faults[:20]:
                ui.label(str(fault)[:400])
        if faults:
            self.shown.set_visibility(False)  # commands and address of what is no longer written
            self._say(f"{len(faults)} fault{'s' if len(faults) > 1 else ''}", failed=True)

    def _commands(self) -> None:
        """The command line and the Python that give what is shown, and the address that holds it."""
        content = {"text": self.text, "second": self.second}
        if self.lesson:
            content["show"] = self.lesson.name
        ui.run_javascript(f'history.replaceState(null, "", "/?x={address.pack(content)}")')
        shell, python = [f"{program()} run mine.toml"], ['shallows.run("mine.toml")']
        if self.second:
            sets = [f"--set {shlex.quote(each)}" for each in self.overrides]
            shell.append(" ".join([shell[0], *sets]))
            python.append(f'shallows.run("mine.toml", settings={self.overrides!r})')
        self.commands.show("\n".join(shell), "\n".join(python))
        self.starting.show()
        self.shown.set_visibility(True)


def _read(text: str) -> dict[str, Any] | None:
    """The document of a text; None while what is typed is no TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _other_queue(document: dict[str, Any], kind: str) -> Any:
    """A queue of another kind: common settings are kept, and required ones of the new kind get a value."""
    component = components("queue")[kind]
    old = document.get("queue")
    old = old if isinstance(old, dict) else {}
    usual = component["facts"]["example"]
    new: dict[str, Any] = {"kind": kind}
    for param in component["params"]:
        name = param["name"]
        if name in old:
            new[name] = old[name]
        elif param["required"] and name in usual:
            new[name] = usual[name]
    return new
