"""`./shallows linux`: the backend's kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shallows import terminal
from shallows.cli.linux_bisect import bisect
from shallows.cli.linux_exec import exec_, shell
from shallows.cli.options import Json
from shallows.document.places import program
from shallows.errors import Fault, SpecError

app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="The Linux backend: its kernel, and programs in its machine.",
)
app.command("exec")(exec_)
app.command("shell")(shell)
app.command("bisect")(bisect)


@app.command()
def build(
    package: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="PACKAGE",
            help="Debian source package; default: linux-source-7.2.",
            show_default=False,
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(help="A kernel source tree of your own; it is only read.", show_default=False),
    ] = None,
    kernel: Annotated[
        Path | None, typer.Option(help="A ready binary, made with the same edits.", show_default=False)
    ] = None,
    config: Annotated[
        list[Path],
        typer.Option(
            "--config",
            metavar="FRAGMENT",
            help="Options laid over the kernel's configuration: lines such as CONFIG_IPV6=y.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 - typer reads it as "none given"
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Parallel compilers; default: all cores.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Builds the kernel, or finds it. The same command resumes an interrupted build."""
    from shallows.backends.linux import kernel as kernels
    from shallows.backends.linux import offers
    from shallows.backends.linux.root import root
    from shallows.execution.threads import default_workers

    if sum(choice is not None for choice in (package, tree, kernel)) > 1:
        raise SpecError([Fault("--source", "cannot be combined with --tree or --kernel")])
    if config and kernel is not None:
        raise SpecError([Fault("--config", "cannot be combined with --kernel, which is built already")])
    fragments = [kernels.check_config(each) for each in config]
    if kernel is not None:
        made = kernels.adopt(kernel)
        if fault := offers.runs_programs(made):
            _tell(f"note: {fault}")
    else:
        with terminal.progress("kernel", 1) as report:
            made = kernels.build(package, tree, _tell, report, jobs or default_workers(), fragments)
    root()
    if as_json:
        terminal.print_json(made.about)
        return
    typer.echo(f"Linux {made.about['version']} is ready: {made.path}")
    typer.echo(f"Try it: {program()} run experiments/quickstart-linux.toml --backend linux")
    if made.weakness:
        typer.echo(f"Note: {made.weakness}.")


@app.command()
def status(as_json: Json = False) -> None:
    """Lists the kernels, and the one that runs use."""
    from shallows.backends.linux import kernel as kernels

    rows, now = kernels.status(), kernels.running()
    if as_json:
        terminal.print_json(rows)
        return
    if now is not None:
        what = now["source"] or "a kernel"
        typer.echo(f"a build of {what} runs: {now['share']:.0%} after {now['elapsed_s'] / 60:.0f} minutes")
    if rows:
        columns = ("hash", "version", "source", "current")
        terminal.print_table("", columns, [[row[column] for column in columns] for row in rows])
    elif now is None:
        typer.echo(f"there is no Linux kernel yet; make one with {program()} linux build")


@app.command()
def clean() -> None:
    """Removes kernels, sources and all other files. They are those of the backend in the user's cache."""
    from shallows.backends.linux import kernel as kernels

    typer.echo(f"{kernels.clean() / 1e6:.0f} MB removed")


def _tell(text: str) -> None:
    terminal.error_console().print(text, highlight=False)
