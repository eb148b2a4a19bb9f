"""The server: its addresses, its life, and what it prints when it starts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import Fault, SpecError
from shallows.web.pages.state import Options, State

if TYPE_CHECKING:
    from fastapi import Request
    from fastapi.responses import HTMLResponse

END_S = 0.5
"""Requests that are under way after Ctrl-C get so much time."""

__all__ = ["serve"]


def build(options: Options, token: str | None) -> tuple[Any, State]:
    """The application, ready for an ASGI server, and the state of its pages."""
    os.environ.setdefault(
        "NICEGUI_STORAGE_PATH", str(Path(os.environ.get("TMPDIR", "/tmp")) / f"shallows-web-{os.getpid()}")
    )
    from fastapi import FastAPI
    from nicegui import app as pages
    from nicegui import ui

    from shallows.web.live.stream import films_router
    from shallows.web.pages import views
    from shallows.web.server.downloads import downloads_router
    from shallows.web.server.gate import Gate, is_loopback

    state = State(options)
    app = FastAPI(title="Shallows", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(films_router(state.sessions))
    app.include_router(downloads_router(state))
    views.register(state)
    ui.run_with(app, title="Shallows", dark=None, show_welcome_message=False, reconnect_timeout=20.0,
                favicon="🌊", tailwind=False, message_history_length=200)  # fmt: skip
    pages.exception_handler(404)(_missing)
    pages.on_startup(_own_threads)
    pages.on_shutdown(state.close)
    pages.timer(60.0, state.sessions.rest)
    hosts = ["127.0.0.1", "localhost", "[::1]"] if is_loopback(options.host) else []
    return Gate(app, hosts, token, options.limits.pages), state


def _missing(request: Request, error: Exception) -> HTMLResponse:
    """The answer at an address that leads nowhere. It costs no page of the server."""
    from fastapi.responses import HTMLResponse

    from shallows.web.pages.frame import missing

    return HTMLResponse(missing(request.url.path, str(getattr(error, "detail", ""))), 404)


class _Threads(ThreadPoolExecutor):
    """Threads that the end of the server does not wait for: one may read a large store."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)


def _own_threads() -> None:
    asyncio.get_running_loop().set_default_executor(_Threads(8, "page"))


def serve(options: Options) -> None:
    """Serves until Ctrl-C. Raises SpecError if the address cannot be listened on."""
    from shallows.web.server.gate import is_loopback

    listening = _listen(options)
    token = None if is_loopback(options.host) else secrets.token_urlsafe(24)
    port = listening.getsockname()[1]
    name = "localhost" if is_loopback(options.host) else _shown(options.host)
    url = f"http://{name}:{port}/" + (f"?token={token}" if token else "")
    app, state = build(options, token)
    import uvicorn  # noqa: F401 - before the next line, since libraries that are loading may swallow an exception

    # The command line leaves Ctrl-C to the system, which would end this process before its own end is over.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        _run(app, options, listening, url)
    _leave(state)


def _leave(state: State) -> None:
    """Ends jobs, runs and this process at once: Python would wait for every thread that still reads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    state.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _run(app: Any, options: Options, listening: socket.socket, url: str) -> None:
    import uvicorn

    print(f"Shallows is at {url}", flush=True)
    print(
        "Ctrl-C ends it. Jobs that are under way end with it; what is finished is stored.",
        file=sys.stderr,
        flush=True,
    )
    if options.open_browser and sys.stdout.isatty():
        _open(url)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=END_S, ws_max_size=2_000_000
    )
    server = uvicorn.Server(config)
    # The end of requests that an open page leaves waiting is no error of anybody's.
    logging.getLogger("uvicorn.error").addFilter(lambda record: "graceful shutdown" not in str(record.msg))
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        server.run(sockets=[listening])


def _listen(options: Options) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for port in (options.port, 0) if options.port == Options.port else (options.port,):
        try:
            listening.bind((options.host, port))
            listening.listen(64)
        except OSError as error:
            why = error
        else:
            return listening
    listening.close()
    raise SpecError(
        [Fault("--port", f"cannot be listened on: {why.strerror}", f"{options.host}:{options.port}")]
    )


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _open(url: str) -> None:
    import webbrowser

    with contextlib.suppress(Exception):
        webbrowser.open(url)
