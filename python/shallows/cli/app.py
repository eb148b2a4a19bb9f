"""The command line. Its commands, options, JSON and exit statuses are a contract that scripts rely on.

Exit status: 0 done; 1 a run failed, or a claim's verdict is not the one recorded for it; 2 the input is
wrong, and then all faults are printed, nothing is run and nothing is written; 130 the user pressed Ctrl-C.
"""

from __future__ import annotations

from typing import Annotated

import typer

from shallows.cli import queries, runs, studies, web
from shallows.cli.assess import assess
from shallows.cli.attack import attack
from shallows.cli.audit import audit
from shallows.cli.check_run import check_run
from shallows.cli.explain import explain
from shallows.cli.import_files import import_files
from shallows.cli.kit import check_kit, kit
from shallows.cli.linux import app as linux_app
from shallows.cli.packetdrill import packetdrill
from shallows.cli.report import report
from shallows.cli.starting import app as starting_app
from shallows.cli.with_control import with_

app = typer.Typer(
    name="shallows",
    help="A laboratory for data-centre congestion control.",
    rich_markup_mode=None,  # plain help: a box of five columns leaves the text a quarter of 80 characters
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Prints version and source hash.")] = False,
) -> None:
    if version:
        import shallows
        from shallows import _core

        typer.echo(f"shallows {shallows.__version__} (sources {_core.source_hash()[:12]})")
        raise typer.Exit


app.command()(runs.run)
app.command()(runs.sweep)
for command in (studies.compare, studies.tune, studies.reproduce, studies.validate):
    app.command()(command)
app.command()(assess)
app.command()(attack)
app.command()(report)
app.command("check-run")(check_run)
app.command()(audit)
app.command()(explain)
app.command()(kit)
app.command("check-kit")(check_kit)
app.command("with", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(
    with_
)
app.command("import")(import_files)
app.command("list")(queries.list_)
app.command()(queries.theory)
app.command()(queries.bench)
app.command()(packetdrill)
app.command()(web.web)
app.command()(web.export)
app.add_typer(linux_app, name="linux")
app.add_typer(starting_app)
