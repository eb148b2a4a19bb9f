"""The command line. Its commands, options, JSON and exit statuses are a contract that scripts rely on.

Exit status: 0 done; 1 a run failed, was interrupted, or a claim's verdict is not the one recorded for it;
2 the input is wrong, and then all faults are printed, nothing is run and nothing is written.
"""

from __future__ import annotations

import math
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from shallows import terminal
from shallows.cli.linux import app as linux_app
from shallows.cli.starting import app as starting_app
from shallows.errors import Fault, ShallowsError, SpecError

app = typer.Typer(
    name="shallows",
    help="A laboratory for data-centre congestion control.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[Path, typer.Argument(help="Experiment file (TOML).", show_default=False)]
Settings = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="Overrides one setting by its path.")
]
Backend = Annotated[str, typer.Option(help="What runs it: simulator, or linux (see ./shallows linux).")]
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
    try:
        sys.exit(_run())
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _run() -> int:
    as_json = "--json" in sys.argv[1:]
    try:
        app(prog_name="shallows")
    except SpecError as error:
        terminal.print_error(error, as_json)
        return 2
    except ShallowsError as error:
        terminal.print_error(error, as_json)
        return 1
    return 0


app.add_typer(linux_app, name="linux")
app.add_typer(starting_app)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Prints version and source hash.")] = False,
) -> None:
    if version:
        import shallows
        from shallows import _core

        typer.echo(f"shallows {shallows.__version__} (sources {_core.source_hash()[:12]})")
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
    pcap: Annotated[
        list[str],
        typer.Option(
            "--pcap", metavar="LINK_OR_HOST=FILE", help="Writes its packets for Wireshark: s0=s0.pcapng."
        ),
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """One experiment: a summary, the stored run, a figure."""
    from shallows.cli import show_run
    from shallows.document.load import load
    from shallows.document.points import expand
    from shallows.execution.many import run_points
    from shallows.results import pcapng
    from shallows.results.store import Store

    document = load(file, settings)
    if "sweep" in document:
        hint = f"./shallows sweep {file}"
        raise SpecError([Fault("sweep", "describes several experiments, and run does one", hint=hint)])
    captures = pcapng.parse_requests(pcap)
    if captures:
        pcapng.probe_for(document, captures)
    points = expand(document if seeds is None else _with_seeds(document, seeds))
    if captures and len(points) > 1:
        raise SpecError([Fault("--pcap", f"needs one run, and this is {len(points)}", hint="--seeds 1")])
    _check_backend(backend)
    with terminal.progress(file.name, len(points)) as report:
        outcomes = run_points(
            points, Store(store), workers=workers, backend=backend, metrics=True, progress=report
        )
    failed = [outcome for outcome in outcomes if outcome.error]
    if as_json and not failed:
        terminal.print_json(show_run.document(outcomes))
    elif not failed:
        show_run.show(document.get("title") or file.name, outcomes)
    else:
        raise show_run.failure(failed)
    for name, path in captures.items():
        count = pcapng.write(outcomes[0].run, name, path)
        terminal.note(f"{path}: {count} packets of {name}")


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
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Runs on this dask cluster instead.", show_default=False),
    ] = None,
    slurm: Annotated[
        str | None,
        typer.Option(
            metavar="JOBS",
            help="Runs in Slurm jobs: jobs=10,cores=16,memory=32GB,walltime=08:00:00,queue=NAME ...",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(metavar="SPAN", help="Of one run on a cluster: 600s.", show_default=False),
    ] = None,
    job_script: Annotated[
        bool, typer.Option("--job-script", help="Prints the script of one --slurm job, and runs nothing.")
    ] = False,
    backend: Backend = "simulator",
    store: StorePath = None,
    as_json: Json = False,
) -> None:
    """All points of a sweep, on all cores. Stopped, it goes on where it was: what has ended is stored."""
    from shallows.cli import show_run
    from shallows.cli.executors import choose
    from shallows.document.load import load
    from shallows.document.points import expand
    from shallows.execution.many import parse_shard, run_points
    from shallows.results.store import Store

    number, count = parse_shard(shard) if shard else (1, 1)
    points = expand(load(file, settings))[number - 1 :: count]
    _check_backend(backend)
    executor = choose(cluster, slurm, timeout, workers, job_script)
    if isinstance(executor, str):
        typer.echo(executor, nl=False)
        return
    with terminal.progress(file.name, len(points)) as report:
        outcomes = run_points(
            points, Store(store), executor=executor, backend=backend, metrics=True, progress=report
        )
    if as_json:
        terminal.print_json(show_run.sweep_document(outcomes))
    else:
        show_run.show_sweep(file.name, outcomes)
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(1)


@app.command()
def compare(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Experiment files (TOML).")],
    vary: Annotated[
        list[str], typer.Option(metavar="KEY=A,B", help="A scheme for each value; several multiply.")
    ] = [],  # noqa: B006
    scheme: Annotated[
        list[str], typer.Option(metavar="NAME=KEY=VALUE,...", help="A scheme by its settings over FILE.")
    ] = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    seeds: Annotated[
        int | None, typer.Option(min=2, help="Runs with seeds 1 to N.", show_default=False)
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="What the others are held against; default: the first.")
    ] = None,
    metric: Annotated[
        list[str], typer.Option(help="Compares these metrics, * matches any text; default: the main ones.")
    ] = [],  # noqa: B006
    allow: Annotated[
        list[str], typer.Option(metavar="KEY", help="What may differ besides transports and queues.")
    ] = [],  # noqa: B006
    backend: Backend = "simulator",
    out: Annotated[Path, typer.Option(help="Where the report is written.")] = Path("reports"),
    store: StorePath = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Schemes on the same experiment, seed by seed: which differences are real, and one page."""
    from shallows.studies.compare import section as schemes
    from shallows.studies.compare import show as show_compare
    from shallows.studies.compare.comparison import compare as run_compare
    from shallows.studies.compare.report import page_of_comparison, write_comparison

    what = schemes.read(
        files,
        settings=settings,
        vary=vary,
        schemes=scheme,
        baseline=baseline,
        metrics=metric,
        allow=allow,
        seeds=seeds,
    )
    name = "-".join(file.stem for file in files)
    page_of_comparison(name, out)
    _check_backend(backend)
    with terminal.progress("compare", len(what.schemes) * len(what.seeds)) as report:
        found = run_compare(what, store, workers=workers, backend=backend, progress=report)
    command = shlex.join(["./shallows", *sys.argv[1:]])
    page = write_comparison(found, name, out, command)
    if as_json:
        terminal.print_json(show_compare.document(found, str(page)))
    else:
        show_compare.show(found, page)


@app.command()
def tune(
    file: File,
    settings: Settings = [],  # noqa: B006
    out: Annotated[Path, typer.Option(help="Where the report is written.")] = Path("reports"),
    store: StorePath = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """The file's [tune] study: trials, their front, and its winners on fresh seeds. Stopped, it goes on."""
    from shallows.studies.tune import section as tuning
    from shallows.studies.tune import show as show_tune
    from shallows.studies.tune.report import page_of_tuning, write_tuning
    from shallows.studies.tune.search import tune as run_study

    what = tuning.read(file, settings)
    page_of_tuning(file.stem, out)
    known = len(what.baselines)
    most = (what.trials + known) * len(what.seeds) + (what.winners + known) * len(what.confirm)
    with terminal.progress("tune", most) as report:
        found = run_study(what, store, workers=workers, progress=report)
    page = write_tuning(found, file.stem, out, shlex.join(["./shallows", *sys.argv[1:]]))
    if as_json:
        terminal.print_json(show_tune.document(found, str(page)))
    else:
        show_tune.show(found, page)


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
    from shallows.studies.paper.reproduce import reproduce as whole
    from shallows.studies.paper.show import show

    _check_backend(backend)
    result = whole(target, quick=quick, backend=backend, workers=workers, store=store, out=out)
    if as_json:
        terminal.print_json({"claims": result.claims})
    else:
        show(result)
    if result.exit_status:
        raise typer.Exit(result.exit_status)


@app.command()
def validate(
    cells: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Only cells whose name matches: 'dctcp-10G-*'.")
    ] = None,
    backend: Annotated[
        list[str],
        typer.Option(help="Only this beside the simulator: linux, ns3; default: both, ns3 if installed."),
    ] = [],  # noqa: B006
    matrix: Annotated[
        Path | None, typer.Option(help="A matrix of your own instead of the one that comes with Shallows.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the report is written.")] = Path("reports"),
    store: StorePath = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """The simulator against Linux and ns-3 (Debian's libns3-dev), cell by cell of a listed matrix: one page.

    Stopped, it goes on.
    """
    from dataclasses import replace

    from shallows.results.store import Store
    from shallows.studies.validation import matrix as cells_of
    from shallows.studies.validation import runs, show
    from shallows.studies.validation.report import page_of_validation, write_validation

    backends, notes = runs.choose(backend)
    chosen = cells_of.read(matrix).chosen(cells)
    page_of_validation(out)
    total = runs.total_cost(chosen, backends)
    with terminal.progress("validate", math.ceil(total) or 1) as report:
        found = replace(runs.validate(chosen, Store(store), backends, workers, report), notes=notes)
    page = write_validation(found, out, shlex.join(["./shallows", *sys.argv[1:]]))
    if as_json:
        terminal.print_json(show.document(found, str(page)))
    else:
        show.show(found, str(page))
    if found.exit_status:
        raise typer.Exit(found.exit_status)


@app.command("list")
def list_(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[papers|figures|cc|queues|topologies|workloads]", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """What there is, one line each."""
    from shallows.cli.catalogue import KINDS, list_all
    from shallows.words import did_you_mean

    if kind is not None and kind not in KINDS:
        raise SpecError([Fault("list", f"knows {', '.join(KINDS)}", kind, did_you_mean(kind, KINDS))])
    found = list_all(kind)
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_table(
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
            terminal.print_json(answer)
        else:
            both = answer["inputs"] | answer["outputs"]
            terminal.print_metrics(name, both)
        return
    if as_json:
        terminal.print_json(
            [{"name": f.name, "summary": f.summary, "inputs": [i.key for i in f.inputs]} for f in forms()]
        )
        return
    rows = [(f.name, f.summary, " ".join(i.key for i in f.inputs), f.source) for f in forms()]
    terminal.print_table("", ("name", "what", "inputs", "source"), rows)


@app.command()
def bench(
    only: Annotated[
        list[str] | None, typer.Argument(metavar="[SCENARIO]...", help="Default: all.", show_default=False)
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Processes a scenario; the fastest counts.")] = 3,
    as_json: Json = False,
) -> None:
    """Packet-hops per CPU second on the standard scenarios, each run in a process of its own."""
    from shallows.execution import bench as benchmark

    chosen = benchmark.choose(only or [])
    with terminal.progress("bench", len(chosen) * repeat) as report:
        rows = benchmark.measure(chosen, repeat, report)
    if as_json:
        terminal.print_json(rows)
    else:
        terminal.print_table("", list(rows[0]), [list(row.values()) for row in rows])


def _with_seeds(document: dict[str, Any], seeds: int) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "seed"} | {"seeds": seeds}


def _check_backend(backend: str) -> None:
    from shallows.backends.base import BACKENDS

    if backend not in BACKENDS:
        hint = "the Linux backend is not part of this version" if backend == "linux" else ""
        raise SpecError([Fault("--backend", f"must be one of {', '.join(BACKENDS)}", backend, hint)])
