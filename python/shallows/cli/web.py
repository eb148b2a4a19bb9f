"""`./shallows web` and `export`: the live page, and the film of a run in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shallows.cli.options import StorePath
from shallows.document.places import program
from shallows.errors import Fault, SpecError
from shallows.extras import install_command

__all__ = ["export", "web"]


def web(
    host: Annotated[
        str, typer.Option(help="Address to listen on. Any address but loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8475,
    allow_python: Annotated[
        bool, typer.Option("--allow-python", help="Lets the page name Python modules, which then run here.")
    ] = False,
    store: StorePath = None,
    max_seconds: Annotated[
        float, typer.Option(min=0.1, help="Wall time of one run of the laboratory.")
    ] = 120.0,
    max_ports: Annotated[int, typer.Option(min=1, help="Largest network, in directions of links.")] = 20_000,
    max_document: Annotated[int, typer.Option(min=100, help="Longest experiment text in bytes.")] = 200_000,
    max_memory: Annotated[
        float, typer.Option(min=0.1, help="Memory of a laboratory's process in GB, beyond its start.")
    ] = 4.0,
    max_file_seconds: Annotated[
        float, typer.Option(min=0.1, help="Wall time in which a file of a stored run is made.")
    ] = 120.0,
    max_sessions: Annotated[int, typer.Option(min=1, help="Laboratories open at once.")] = 8,
    max_jobs: Annotated[int, typer.Option(min=1, help="Jobs that run at once.")] = 4,
    max_pages: Annotated[int, typer.Option(min=1, help="Pages that are being made at once.")] = 16,
    browser: Annotated[bool, typer.Option(help="Opens the page in the browser.")] = True,
) -> None:
    """Serves the live page. It has laboratory, gallery, results, papers and jobs; Ctrl-C ends it."""
    _needs_web()
    from shallows.web.limits import Limits
    from shallows.web.pages.state import Options
    from shallows.web.server.serve import serve

    limits = Limits(
        run_seconds=max_seconds,
        ports=max_ports,
        memory_bytes=int(max_memory * 1e9),
        document_bytes=max_document,
        file_seconds=max_file_seconds,
        sessions=max_sessions,
        jobs=max_jobs,
        pages=max_pages,
    )
    serve(Options(host, port, allow_python, store, limits, browser))


def export(
    run: Annotated[
        str,
        typer.Argument(metavar="RUN", help="A stored run's hash, or an experiment file.", show_default=False),
    ],
    page: Annotated[Path, typer.Argument(metavar="PAGE", help="The HTML file to write.", show_default=False)],
    settings: Annotated[
        list[str],
        typer.Option("--set", metavar="KEY=VALUE", help="Overrides one setting of a file by its path."),
    ] = [],  # noqa: B006 - typer reads it as "none given"
    store: StorePath = None,
) -> None:
    """Writes the film of a run as one file. The HTML needs neither server nor network."""
    from shallows.document.load import load
    from shallows.document.points import one_run
    from shallows.files import write_whole
    from shallows.results.store import Store
    from shallows.web.live.export import page_of
    from shallows.web.pages.runs import NAME

    if NAME.match(run):
        found = Store(store).find(run)
        if found is None:
            hint = f"{program()} run FILE prints its hash"
            raise SpecError([Fault("RUN", "is not in the store", run, hint)])
        experiment = found.experiment
    else:
        experiment = one_run(load(run, settings)).experiment
    if page.suffix.lower() not in (".html", ".htm"):
        raise SpecError([Fault("PAGE", "must end in .html", page)])
    if not page.parent.is_dir():
        raise SpecError([Fault("PAGE", "must name a file in a directory that is there", page)])
    write_whole(page, page_of(experiment).encode())
    print(page)


def _needs_web() -> None:
    """Raises SpecError where the packages of the extra are not installed."""
    from importlib.util import find_spec

    if find_spec("nicegui") is None or find_spec("tomlkit") is None:
        raise SpecError([Fault("web", "needs the packages of the extra web", hint=install_command("web"))])
