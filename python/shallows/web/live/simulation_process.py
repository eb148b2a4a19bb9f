"""The process in which a session's experiments are checked and run, apart from the server.

It answers the messages of `session`: a page's request can exhaust or crash this process, and the server
starts another. Each side of the page (one scheme, or two) has one run at a time; a new one ends it.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from shallows.errors import Fault, SpecError
from shallows.web.limits import Limits

if TYPE_CHECKING:
    from shallows.web.live.film import Filming

MOST_PACKETS = 4000
"""Packets shown at once."""

__all__ = ["main"]


def main(pipe: Connection, limits: Limits, allow_python: bool) -> None:
    """Answers messages until the pipe closes."""
    from shallows.web.limits import confine

    confine(limits.memory_bytes)
    bench = _Bench(pipe, limits, allow_python)
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        bench.answer(message)


class _Bench:
    """The runs of this process, and its answers."""

    def __init__(self, pipe: Connection, limits: Limits, allow_python: bool):
        self._pipe, self._limits, self._allow = pipe, limits, allow_python
        self._send_lock = threading.Lock()
        self._sides: dict[int, _Side] = {}

    def send(self, *message: Any) -> None:
        """To the server, whole."""
        with self._send_lock:
            self._pipe.send(message)

    def answer(self, message: tuple[Any, ...]) -> None:
        """Serves one message; a fault is an answer too."""
        kind, *rest = message
        if kind == "check":
            self._check(*rest)
        elif kind == "run":
            self._run(*rest)
        elif kind == "pace":
            side, computing = rest
            if side in self._sides:
                self._sides[side].pace(computing)
        elif kind == "stop":
            self._stop(*rest)
        elif kind == "packets":
            number, side, at_ps = rest
            self.send("packets", number, self._sides[side].packets(at_ps) if side in self._sides else None)

    def _resolve(self, text: str, settings: list[str]) -> dict[str, Any]:
        return resolved(text, settings, self._limits, self._allow)

    def _check(self, number: int, text: str, settings: list[str]) -> None:
        try:
            self._resolve(text, settings)
        except SpecError as error:
            self.send("checked", number, error.faults)
        else:
            self.send("checked", number, [])

    def _stop(self, side: int) -> None:
        old = self._sides.pop(side, None)
        if old is not None:
            old.end()

    def _run(self, side: int, number: int, text: str, settings: list[str]) -> None:
        self._stop(side)
        try:
            experiment = self._resolve(text, settings)
            run = _Side(self, side, number, experiment, self._limits)
        except SpecError as error:
            self.send("faulty", side, number, error.faults)
        except MemoryError:
            self.send("faulty", side, number, [Fault("", "needs more memory than this page may use")])
        else:
            self._sides[side] = run
            run.start()


def resolved(text: str, settings: list[str], limits: Limits, allow: bool) -> dict[str, Any]:
    """The one experiment that the laboratory runs of a file. Raises SpecError."""
    from shallows.document.points import expand
    from shallows.web.editor.document import parse

    document = parse(text, settings, limits, allow)
    for section in ("sweep", "compare", "tune"):
        document.pop(section, None)  # the laboratory runs one point; the studies have their own pages
    document.pop("seeds", None)
    try:
        return expand(document)[0].experiment
    except MemoryError:
        raise SpecError([Fault("topology", "needs more memory than this page may use")]) from None


class _Side:
    """One run: its film in a thread, and a second simulation to look at single packets with."""

    def __init__(self, bench: _Bench, side: int, number: int, experiment: dict[str, Any], limits: Limits):
        from shallows import _core
        from shallows.web.live.drawing import layout

        self._bench, self._side, self._number, self._limits = bench, side, number, limits
        self._text = json.dumps(experiment)
        self._components = _components(experiment)
        plan = json.loads(_core.plan(self._text))
        if len(plan["ports"]) > limits.ports:
            rule = f"has {len(plan['ports'])} ports, and this page runs networks of at most {limits.ports}"
            raise SpecError([Fault("topology", rule, hint="use the command line, or --max-ports")])
        self._experiment, self._layout = experiment, layout(plan, experiment)
        self._duration = plan["numbers"]["duration"]
        self._ready, self._over, self._spent = threading.Event(), False, 0.0
        self._ready.set()
        self._simulation = self._new()
        self._close: tuple[Any, int] | None = None
        self._thread = threading.Thread(target=self._film, daemon=True)

    def _new(self) -> Any:
        from shallows import _core

        return (
            _core.Simulation(self._text, self._components)
            if self._components
            else _core.Simulation(self._text)
        )

    def start(self) -> None:
        """Begins to run."""
        self._thread.start()

    def pace(self, computing: bool) -> None:
        """Goes on, or waits."""
        (self._ready.set if computing else self._ready.clear)()

    def end(self) -> None:
        """Stops the run, within a chunk."""
        self._over = True
        self._ready.set()
        self._simulation.cancel()
        self._thread.join()

    def _film(self) -> None:
        from shallows.web.live.film import Filming

        send, where = self._bench.send, (self._side, self._number)
        filming = Filming(self._simulation, self._duration, self._layout["ports"])
        loads = list(self._experiment["traffic"])
        header = {
            "layout": self._layout,
            "duration_ps": self._duration,
            "every_ps": filming.every_ps,
            "looks": filming.looks,
            "loads": loads,
            "title": str(self._experiment.get("title") or ""),
        }
        send("begin", *where, header, self._experiment)
        seen: queue.Queue[Any] = queue.Queue(4)
        sending = threading.Thread(target=self._send, args=(filming, seen), daemon=True)
        sending.start()
        message = self._look(filming, seen)
        seen.put(None)
        sending.join()
        if not self._over:
            send("failed", *where, message) if message else send("end", *where, self._spent)

    def _look(self, filming: Filming, seen: queue.Queue[Any]) -> str:
        """Runs to the end; returns why it stopped before, or nothing."""
        from shallows.errors import ShallowsError

        try:
            while not filming.ended and not self._over:
                self._ready.wait()
                began = time.monotonic()
                seen.put(filming.look())
                self._spent += time.monotonic() - began
                if self._spent > self._limits.run_seconds and not filming.ended:
                    rule = f"was stopped after {self._limits.run_seconds:g} s, the most that this page runs"
                    return f"the run {rule} (--max-seconds changes it)"
        except MemoryError:
            return "the run needs more memory than this page may use"
        except (ShallowsError, Exception) as error:
            return str(error) or type(error).__name__
        return ""

    def _send(self, filming: Filming, seen: queue.Queue[Any]) -> None:
        """Sends the film's chunks, in a thread of its own: the run does not wait for the making of chunks."""
        while (looks := seen.get()) is not None:
            if not self._over:
                self._bench.send("chunk", self._side, self._number, filming.encode(looks))

    def packets(self, at_ps: int) -> dict[str, Any] | None:
        """Packets under way at a time: from a run of its own, begun again where the time is in the past."""
        try:
            if self._close is None or self._close[0].now() > at_ps:
                self._close = (self._new(), 0)
            simulation = self._close[0]
            simulation.advance(min(at_ps, self._duration))
            seen = simulation.observe(MOST_PACKETS)["packets"]
        except Exception:
            self._close = None
            return None
        return packets_of(seen, at_ps)


def packets_of(columns: list[tuple[str, str, Any]], at_ps: int) -> dict[str, Any]:
    """The packets of a look as lists, their landing told from `at_ps` on."""
    from shallows.web.live.film import columns_of

    table = columns_of(columns)
    lands = (table["lands_ps"].astype("i8") - at_ps).tolist()
    flags = table["reverse"] + 2 * table["ce"] + 4 * table["ece"] + 8 * table["retransmitted"]
    rows = zip(
        table["port"].tolist(),
        table["flow"].tolist(),
        table["size"].tolist(),
        lands,
        flags.tolist(),
        strict=True,
    )
    return {"at_ps": at_ps, "packets": list(rows)}


def _components(experiment: dict[str, Any]) -> dict[str, Any] | None:
    if "python" not in experiment:
        return None
    from shallows.authoring import modules

    return modules.objects(experiment)
