"""Ctrl-C in a command: from the first moment to the last it ends the process within a second.

While nothing would be lost, the system ends the process itself (`signal.SIG_DFL`). Work that has something to
tidy up listens (`listening`): there Ctrl-C is KeyboardInterrupt.

A library may put a handler of its own in place when it is imported. `import polars` (2.1) does so behind
Python's back: `signal.getsignal` still reports the default, and the signal is swallowed. So imports are
watched (`watch_imports`), and the handler of before is put back.

While polars is loaded the signal waits in the main thread. It would go to any other thread that does not
block it, and be swallowed there: so the threads that numpy starts while it is loaded block it too, as they
inherit that from the main thread. Polars is loaded there, before threads of runs begin.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["listening", "load_for_threads", "put_back", "watch_imports"]


_WAITS = ("numpy", "polars")
"""Packages during whose import the signal waits: one starts threads, the other swallows it. A module of the
user's is none of them, since it may never return."""


def put_back() -> None:
    """Puts the handler that Python reports in place again, after a library has changed the system's."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def load_for_threads() -> None:
    """Loads polars, which a thread of a run would load otherwise: Ctrl-C would be swallowed meanwhile."""
    import polars  # noqa: F401


@contextmanager
def listening() -> Iterator[None]:
    """Makes Ctrl-C KeyboardInterrupt within, in the main thread of a command that leaves it to the system."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:  # afterwards nothing is lost, and libraries that are loaded may swallow an exception
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def watch_imports() -> None:
    """Puts the handler back after the import of every package that is not Python's own, from now on."""
    if not any(isinstance(finder, _Watch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())


class _Watch:
    """A finder that finds what the others find, and watches how it is loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """See `importlib.abc.MetaPathFinder`."""
        if _waiting:
            _take_waiting()
        if "." in name or name == "shallows" or name in sys.stdlib_module_names:
            return None
        waits = name in _WAITS and hasattr(signal, "pthread_sigmask")
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        run = getattr(spec.loader, "exec_module", None)
        if run is not None:

            def exec_module(module: Any) -> None:
                with _kept(waits):
                    run(module)

            spec.loader.exec_module = exec_module
        return spec


_waiting = False
"""Whether Ctrl-C waits in the main thread until a part of a package is loaded."""


@contextmanager
def _kept(waits: bool) -> Iterator[None]:
    """Puts the handler back at the end. With `waits` Ctrl-C waits meanwhile."""
    global _waiting
    if threading.current_thread() is not threading.main_thread():
        yield  # a thread cannot put it back: `terminal.progress` does
        return
    before, outer = signal.getsignal(signal.SIGINT), _waiting
    if waits:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        _waiting = outer or signal.SIGINT not in mask
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
        if waits:
            _waiting = outer
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _take_waiting() -> None:
    """Between two parts of a package: one that waits is taken now, by the handler that belongs there."""
    if threading.current_thread() is threading.main_thread():
        put_back()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
