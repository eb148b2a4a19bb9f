"""How the command line begins and ends: Ctrl-C, standard output, mistakes of usage, the exit status."""

from __future__ import annotations

import errno
import os
import sys
import threading
from contextlib import suppress
from typing import Any, NoReturn

from shallows import terminal
from shallows.errors import Interrupted, RunError, ShallowsError, SpecError, UsageError

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the command line and exits with its status."""
    as_json = "--json" in sys.argv[1:]
    for number, name, mode in ((1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller: a file that we open must not get its number
            setattr(sys, name, _opened(number, mode))
    if as_json:
        terminal.keep_output_for_json()
    status = _run(as_json)
    try:
        sys.stdout.flush()
        terminal.flush_json()
    except OSError as error:
        if error.errno != errno.EPIPE:  # with EPIPE the reader went away, which is no fault
            _tell(f"shallows: standard output cannot be written: {error.strerror}")
        _discard(sys.stdout)
        status = status or 1
    try:
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)
    if any(each.name.startswith("ThreadPool") for each in threading.enumerate()):
        os._exit(status)  # an algorithm that does not return keeps its thread; all files are closed
    sys.exit(status)


def _run(as_json: bool) -> int:
    from shallows.cli.app import app

    try:
        # Errors come here instead of to typer, whose words never reach standard output.
        return app(prog_name="shallows", standalone_mode=False) or 0
    except ShallowsError as error:
        terminal.print_error(error, as_json)
        if isinstance(error, Interrupted):
            return 128 + error.signal
        return 2 if isinstance(error, SpecError) else 1
    except KeyboardInterrupt:
        interrupted = Interrupted("interrupted; finished runs are stored")
        terminal.print_error(interrupted, as_json)
        return 128 + interrupted.signal
    except MemoryError:
        terminal.print_error(RunError("out of memory; finished runs are stored"), as_json)
        return 1
    except BrokenPipeError:
        _discard(sys.stdout)
        return 1
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _tell(f"shallows: a file cannot be written: {error.strerror}")
        _discard(sys.stdout)
        return 1
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        return _usage(error, as_json)


def _usage(error: Any, as_json: bool) -> int:
    """A mistake that typer found: shown as it shows it, and with --json as a document too."""
    error.show()
    if as_json:
        terminal.print_error_json(UsageError(error.format_message()))
    return error.exit_code


def _tell(text: str) -> None:
    with suppress(OSError):
        terminal.note(text)


def _opened(number: int, mode: str) -> Any:
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)
    return os.fdopen(number, mode)


def _discard(stream: Any) -> None:
    """The rest of its buffer goes nowhere, so that the interpreter's end does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
