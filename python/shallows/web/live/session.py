"""A laboratory as the server keeps it: a simulation process, and the films of its runs so far.

Bounded: a side keeps the film of its last run only, and a film's size is bounded (`film.MOST_CELLS`).
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from shallows.errors import Fault
from shallows.web.limits import Limits

IDLE_S = 900.0
"""A process whose page has asked for nothing for so long ends; the page's next wish starts another."""

MOST_MADE = 64
"""Laboratories whose pages have not connected yet; the oldest is forgotten. None of them has a process."""

CHECK_S = 20.0
"""A check that takes longer ends the process: its text asks for too much."""

__all__ = ["Film", "Session", "Sessions"]


@dataclass
class Film:
    """A run as far as it has come: `state` is waiting, running, faulty, failed, stopped or done."""

    number: int
    name: str = ""
    state: str = "waiting"
    header: dict[str, Any] | None = None
    experiment: dict[str, Any] | None = None
    chunks: list[bytes] = field(default_factory=list)
    message: str = ""
    faults: list[Fault] = field(default_factory=list)
    seconds: float = 0.0


class Session:
    """One laboratory: its sides (schemes), each with a film; checks and packets on request."""

    def __init__(self, limits: Limits, allow_python: bool):
        self.key = secrets.token_urlsafe(16)
        self._limits, self._allow = limits, allow_python
        self.films: dict[int, Film] = {}
        self.used_at = time.monotonic()
        self._numbers = 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._process: Any = None
        self._pipe: Any = None
        self._lock = threading.Lock()
        self._changed = asyncio.Event()

    # ---- requests of a page ----

    def run(self, side: int, text: str, settings: list[str], name: str = "") -> Film:
        """Begins a run; the one that this side had ends."""
        film = self.films[side] = Film(self._next(), name)
        self._send("run", side, film.number, text, settings)
        self._tell()
        return film

    def clear(self, side: int) -> None:
        """The page shows this side no longer."""
        if self.films.pop(side, None) is not None:
            self._send("stop", side)
        self._tell()

    def pace(self, computing: bool) -> None:
        """Lets the runs go on, or wait."""
        for side in self.films:
            self._send("pace", side, computing)

    async def check(self, text: str, settings: list[str]) -> list[Fault]:
        """All faults of a text with overrides."""
        try:
            return await self._ask("check", text, settings)
        except TimeoutError:
            self._kill()
            return [
                Fault("", f"took longer than {CHECK_S:g} s to check: it describes too much for this page")
            ]
        except ConnectionError:
            return [Fault("", "ended the process that checks it: it describes too much for this page")]

    async def packets(self, side: int, at_ps: int) -> dict[str, Any] | None:
        """Packets under way at a time of a side's run."""
        with contextlib.suppress(TimeoutError, ConnectionError):
            return await self._ask("packets", side, at_ps)
        return None

    async def changed(self, seconds: float) -> None:
        """Waits until a film has changed, at most so long."""
        event = self._changed
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)

    # ---- the process ----

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers

    async def _ask(self, kind: str, *rest: Any) -> Any:
        number = self._next()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            self._send(kind, number, *rest)
            return await asyncio.wait_for(answer, CHECK_S)
        finally:
            self._answers.pop(number, None)

    def _send(self, *message: Any) -> None:
        self.used_at = time.monotonic()
        for _ in range(2):
            self._start()
            try:
                with self._lock:
                    self._pipe.send(message)
                return
            except OSError:  # it has just ended; another takes its place
                self._kill()

    def _start(self) -> None:
        if self._process is not None and self._process.is_alive():
            return
        from shallows.web.live.simulation_process import main

        context = multiprocessing.get_context("spawn")
        self._pipe, end = context.Pipe()
        self._process = context.Process(target=main, args=(end, self._limits, self._allow), daemon=True)
        self._process.start()
        end.close()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(self._pipe, loop), daemon=True).start()

    def _listen(self, pipe: Any, loop: asyncio.AbstractEventLoop) -> None:
        """Reads the answers of the process as long as it lives, in a thread."""
        with contextlib.suppress(RuntimeError):  # the server is closing
            while True:
                try:
                    message = pipe.recv()
                except (EOFError, OSError):
                    loop.call_soon_threadsafe(self._ended, pipe)
                    return
                loop.call_soon_threadsafe(self._heard, *message)

    def _ended(self, pipe: Any) -> None:
        if pipe is not self._pipe:
            return
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the process ended"))
        for film in self.films.values():
            if film.state in ("waiting", "running"):
                film.state = "failed"
                film.message = (
                    "the run ended its process: it needs more memory than this page may use, or crashed"
                )
        self._tell()

    def _heard(self, kind: str, *rest: Any) -> None:
        if kind in ("checked", "packets"):
            number, found = rest
            answer = self._answers.get(number)
            if answer is not None and not answer.done():
                answer.set_result(found)
            return
        side, number, *more = rest
        film = self.films.get(side)
        if film is None or film.number != number:
            return
        if kind == "begin":
            film.state, (film.header, film.experiment) = "running", more
        elif kind == "chunk":
            film.chunks.append(more[0])
        elif kind == "faulty":
            film.state, film.faults = "faulty", more[0]
        elif kind == "failed":
            film.state, film.message = "failed", more[0]
        elif kind == "end":
            film.state, film.seconds = "done", more[0]
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def close(self, films: bool = True) -> None:
        """Ends the process, and forgets the films unless they are to stay."""
        self._kill()
        if films:
            self.films.clear()


class Sessions:
    """All laboratories of a server. A page that has gone away keeps its own until another needs the place."""

    def __init__(self, limits: Limits, allow_python: bool):
        self.limits, self._allow = limits, allow_python
        self._open: dict[str, Session] = {}
        self._away: dict[str, Session] = {}
        self._made: dict[str, Session] = {}

    @property
    def full(self) -> bool:
        """Whether as many pages are connected as there may be: a further one takes nobody's place."""
        return len(self._open) >= self.limits.sessions

    def new(self) -> Session:
        """A laboratory for a page that is being made. It takes a place when its page connects."""
        while len(self._made) >= MOST_MADE:
            self.end(next(iter(self._made.values())))
        session = Session(self.limits, self._allow)
        self._made[session.key] = session
        return session

    def connect(self, session: Session) -> bool:
        """Its page has connected, perhaps again. Whether there was a place for it; if not, it has ended."""
        if session.key in self._open:
            return True
        given_away = session.key not in self._away and session.key not in self._made
        if self.full or given_away:
            self.end(session)
            return False
        self._made.pop(session.key, None)
        self._away.pop(session.key, None)
        if len(self._open) + len(self._away) >= self.limits.sessions:
            self.end(next(iter(self._away.values())))
        self._open[session.key] = session
        return True

    def leave(self, session: Session) -> None:
        """Its page has lost its connection, and may come back while nobody else needs the place."""
        if self._open.pop(session.key, None) is not None:
            self._away[session.key] = session

    def get(self, key: str) -> Session | None:
        """The laboratory of a key. A page may ask for its films just before it is counted as connected."""
        return self._open.get(key) or self._away.get(key) or self._made.get(key)

    def end(self, session: Session) -> None:
        """Closes a laboratory."""
        for each in (self._open, self._away, self._made):
            each.pop(session.key, None)
        session.close()

    def rest(self) -> None:
        """Ends the processes of laboratories that nobody uses; their films stay."""
        for session in [*self._open.values(), *self._away.values()]:
            if time.monotonic() - session.used_at > IDLE_S:
                session.close(films=False)

    def close(self) -> None:
        """Ends all."""
        for session in [*self._open.values(), *self._away.values(), *self._made.values()]:
            self.end(session)
