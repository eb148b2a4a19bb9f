"""The command line. Its commands, options, JSON and exit statuses are a contract that scripts rely on.

Exit status: 0 done; 1 a run failed, was interrupted, or a claim's verdict is not the one recorded for it;
2 the input is wrong, and then all faults are printed, nothing is run and nothing is written.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from shallows import console
from shallows.errors import Fault, ShallowsError, SpecError

app = typer.Typer(
    name="shallows",
    help="A laboratory for data-centre congestion control.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[Path, typer.Argument(help="Experiment file (TOML).", show_default=False)]
Settings = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Overrides one setting by its path.")
]
Backend = Annotated[str, typer.Option(help="What runs it: simulator.")]
StorePath = Annotated[
    Path | None, typer.Option("--store", help="Where runs are kept; else $SHALLOWS_STORE, else ./runs.")
]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, and nothing else there.")
]
Workers = Annotated[
    int | None, typer.Option(min=1, max=4096, help="Runs at a time; default: the cores.", show_default=False)
]


def main() -> None:
    """Runs the command line and exits with its status."""
    as_json = "--json" in sys.argv[1:]
    try:
        app(prog_name="shallows")
    except SpecError as error:
        console.print_error(error, as_json)
        sys.exit(2)
    except ShallowsError as error:
        console.print_error(error, as_json)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Prints the version.")] = False) -> None:
    if version:
        import shallows

        typer.echo(f"shallows {shallows.__version__}")
        raise typer.Exit


@app.command()
def run(
    file: File,
    settings: Settings = [],  # noqa: B006 - typer reads it as "none given"
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs with seeds 1 to N.", show_default=False)
    ] = None,
    backend: Backend = "simulator",
    store: StorePath = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """One experiment: a summary, the stored run, a figure."""
    from shallows import show_run
    from shallows.points import expand
    from shallows.spec import load
    from shallows.store import Store
    from shallows.sweep import run_points

    document = load(file, settings)
    if "sweep" in document:
        hint = f"./shallows sweep {file}"
        raise SpecError([Fault("sweep", "describes several experiments, and run does one", hint=hint)])
    points = expand(document if seeds is None else _with_seeds(document, seeds))
    _check_backend(backend)
    with console.progress(file.name, len(points)) as report:
        outcomes = run_points(
            points, Store(store), workers=workers, backend=backend, metrics=True, progress=report
        )
    failed = [outcome for outcome in outcomes if outcome.error]
    if as_json and not failed:
        console.print_json(show_run.document(outcomes))
    elif not failed:
        show_run.show(document.get("title") or file.name, outcomes)
    else:
        raise show_run.failure(failed)


@app.command()
def sweep(
    file: File,
    settings: Settings = [],  # noqa: B006
    workers: Workers = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="The I-th of N equal parts, for job arrays.", show_default=False),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Goes on where it was; always so, the word is optional.")
    ] = False,
    backend: Backend = "simulator",
    store: StorePath = None,
    as_json: Json = False,
) -> None:
    """All points of a sweep, on all cores. Stopped, it goes on where it was: what has ended is stored."""
    from shallows import show_run
    from shallows.points import expand
    from shallows.spec import load
    from shallows.store import Store
    from shallows.sweep import parse_shard, run_points

    number, count = parse_shard(shard) if shard else (1, 1)
    points = expand(load(file, settings))[number - 1 :: count]
    _check_backend(backend)
    with console.progress(file.name, len(points)) as report:
        outcomes = run_points(
            points, Store(store), workers=workers, backend=backend, metrics=True, progress=report
        )
    if as_json:
        console.print_json(show_run.sweep_document(outcomes))
    else:
        show_run.show_sweep(file.name, outcomes)
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(1)


@app.command()
def reproduce(
    target: Annotated[
        str | None, typer.Argument(metavar="[PAPER[/FIGURE]]", help="Default: all.", show_default=False)
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds and points, in under a minute.")
    ] = False,
    backend: Backend = "simulator",
    out: Annotated[Path, typer.Option(help="Where reports are written.")] = Path("reports"),
    store: StorePath = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """The experiments of a paper, its figures, its claims with verdicts, an HTML report."""
    from shallows import reproduce as study

    _check_backend(backend)
    result = study.reproduce(target, quick=quick, backend=backend, workers=workers, store=store, out=out)
    if as_json:
        console.print_json({"claims": result.claims})
    else:
        study.show(result)
    if result.exit_status:
        raise typer.Exit(result.exit_status)


@app.command("list")
def list_(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[papers|figures|cc|queues|topologies|workloads]", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """What there is, one line each."""
    from shallows.catalogue import KINDS, list_all
    from shallows.spec import did_you_mean

    if kind is not None and kind not in KINDS:
        raise SpecError([Fault("list", f"knows {', '.join(KINDS)}", kind, did_you_mean(kind, KINDS))])
    found = list_all(kind)
    if as_json:
        console.print_json(found)
    else:
        console.print_table(
            "", ("kind", "name", "summary"), [(e["kind"], e["name"], e["summary"]) for e in found]
        )


@app.command()
def theory(
    name: Annotated[
        str | None, typer.Argument(help="A closed form; without it, all are listed.", show_default=False)
    ] = None,
    inputs: Annotated[
        list[str], typer.Argument(metavar="[KEY=VALUE]...", help="Inputs: rate=10Gbps k=65.")
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Closed forms: thresholds, bounds, rates, completion times."""
    from shallows.theory import evaluate, forms

    if name is not None:
        answer = evaluate(name, inputs)
        if as_json:
            console.print_json(answer)
        else:
            both = answer["inputs"] | answer["outputs"]
            console.print_metrics(name, both)
        return
    if as_json:
        console.print_json(
            [{"name": f.name, "summary": f.summary, "inputs": [i.key for i in f.inputs]} for f in forms()]
        )
        return
    rows = [(f.name, f.summary, " ".join(i.key for i in f.inputs), f.source) for f in forms()]
    console.print_table("", ("name", "what", "inputs", "source"), rows)


@app.command()
def bench(
    only: Annotated[
        list[str] | None, typer.Argument(metavar="[SCENARIO]...", help="Default: all.", show_default=False)
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Processes a scenario; the fastest counts.")] = 3,
    as_json: Json = False,
) -> None:
    """Packet-hops per CPU second on the standard scenarios, each run in a process of its own."""
    from shallows import bench as benchmark

    chosen = benchmark.choose(only or [])
    with console.progress("bench", len(chosen) * repeat) as report:
        rows = benchmark.measure(chosen, repeat, report)
    if as_json:
        console.print_json(rows)
    else:
        console.print_table("", list(rows[0]), [list(row.values()) for row in rows])


def _with_seeds(document: dict[str, Any], seeds: int) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "seed"} | {"seeds": seeds}


def _check_backend(backend: str) -> None:
    from shallows.run import BACKENDS

    if backend not in BACKENDS:
        raise SpecError([Fault("--backend", f"must be one of {', '.join(BACKENDS)}", backend)])
