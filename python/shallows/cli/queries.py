"""`./shallows list`, `theory` and `bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shallows import terminal
from shallows.cli.options import Json
from shallows.errors import Fault, SpecError

__all__ = ["bench", "list_", "theory"]


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[papers|figures|cc|queues|topologies|workloads]", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Lists papers, figures and components, one line each."""
    from shallows.cli.catalogue import KINDS, list_all
    from shallows.words import did_you_mean

    if kind is not None and kind not in KINDS:
        rule = f"must be one of {', '.join(KINDS)}"
        raise SpecError([Fault("list", rule, kind, did_you_mean(kind, KINDS))])
    found = list_all(kind)
    if as_json:
        terminal.print_json(found)
    else:
        terminal.print_table(
            "", ("kind", "name", "summary"), [(e["kind"], e["name"], e["summary"]) for e in found]
        )


def theory(
    name: Annotated[
        str | None, typer.Argument(help="A closed form; default: lists all.", show_default=False)
    ] = None,
    inputs: Annotated[
        list[str], typer.Argument(metavar="[KEY=VALUE]...", help="Inputs: rate=10Gbps k=65.")
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Evaluates closed forms. They give thresholds, bounds, rates and completion times."""
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


def bench(
    only: Annotated[
        list[str] | None, typer.Argument(metavar="[SCENARIO]...", help="Default: all.", show_default=False)
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Processes per scenario; the fastest counts.")] = 3,
    yardstick: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE", help="A yardstick's source, limit.rs or window.rs: ratios are shown too."
        ),
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Measures the speed of this machine. The unit is packet-hops per CPU second, of a process each."""
    from shallows.execution import bench as benchmark

    chosen = benchmark.choose(only or [])
    total = len(chosen) * repeat
    with benchmark.Yardsticks(yardstick) as yardsticks, terminal.progress("bench", total) as report:
        rows = benchmark.measure(chosen, repeat, report, yardsticks if yardstick else None)
    if as_json:
        terminal.print_json(rows)
    else:
        shown = [name for name in rows[0] if name not in ("packets", "in_flight", "completion_us")]
        terminal.print_table("", shown, [[row[name] for name in shown] for row in rows])
        for title, counts in benchmark.beside(rows):
            terminal.say(f"\n{title}")
            exact = [
                [name, f"{theirs:.10g}", "-" if ours is None else f"{ours:.10g}"]
                for name, theirs, ours in counts
            ]
            terminal.print_table("", ["count", "published", "here"], exact)
