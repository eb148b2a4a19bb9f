"""`./shallows linux bisect`: the commit of a kernel's tree at which an expectation ceased to hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows import terminal
from shallows.cli.options import File, Seeds, Settings
from shallows.errors import Fault, Interrupted, ShallowsError, SpecError

if TYPE_CHECKING:
    from shallows.backends.linux.kernel import Kernel
    from shallows.studies.outcomes.bisect import Step

__all__ = ["bisect"]


def bisect(
    good: Annotated[str, typer.Argument(metavar="GOOD", help="A commit at which the expectation holds.")],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="A later one at which it does not.")],
    file: File,
    tree: Annotated[Path, typer.Option(metavar="DIR", help="A kernel source tree with git's history.")],
    expect: Annotated[
        str, typer.Option("--expect", metavar="TEXT", help="The expectation: 'bottleneck_utilisation > 90%'.")
    ],
    settings: Settings = [],  # noqa: B006 - typer reads it as "none given"
    seeds: Seeds = None,
    on: Annotated[
        list[str],
        typer.Option("--on", metavar="HOST COMMAND", help="Runs programs, as linux exec does."),
    ] = [],  # noqa: B006
    commands: Annotated[
        list[str], typer.Argument(metavar="COMMAND...", help="A command for each --on.", show_default=False)
    ] = [],  # noqa: B006
    config: Annotated[
        list[Path],
        typer.Option("--config", metavar="FRAGMENT", help="Options of the kernels.", show_default=False),
    ] = [],  # noqa: B006
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Parallel compilers; default: all cores.", show_default=False)
    ] = None,
) -> None:
    """Finds the commit that broke an expectation. It searches a kernel's tree by git bisect.

    Each step builds the kernel of a commit, runs the file on it, and judges the expectation. A commit that
    does not build is skipped. The same command resumes an interrupted search. The tree's own files stay.
    """
    from shallows.backends.linux import cache
    from shallows.backends.linux import kernel as kernels
    from shallows.document.load import load
    from shallows.execution.threads import default_workers
    from shallows.studies.outcomes.bisect import Bisection, NotBuilt, commit_of

    if len(on) != len(commands):
        raise SpecError([Fault("--on", "needs a host and one command in quotes")])
    fragments = [kernels.check_config(each) for each in config]
    document = load(file, settings)
    judge = _of_programs(document, on, commands, expect, seeds) if on else _of_runs(document, expect, seeds)
    ends = [commit_of(tree, name, at) for name, at in ((good, "GOOD"), (bad, "BAD"))]
    if ends[0] == ends[1]:
        raise SpecError([Fault("BAD", "must differ from GOOD, which is the same commit", bad)])
    asked = repr((str(tree.resolve()), ends, sorted(document.items(), key=str), expect, seeds, on, commands))
    made = b"".join(each.read_bytes() for each in fragments)
    search = Bisection(tree, *ends, cache.cache() / "bisect" / cache.digest(asked.encode(), made))

    def step(place: Path) -> tuple[str, str]:
        current = kernels.find()
        try:
            with terminal.progress("kernel", 1) as report:
                built = kernels.build(None, place, _mute, report, jobs or default_workers(), fragments)
        except Interrupted:
            raise  # the commit is judged when the search goes on
        except ShallowsError as error:
            raise NotBuilt(str(error).splitlines()[0]) from error
        finally:
            if current is not None:
                kernels.choose(current.hash)  # a search changes nothing for other jobs
        return judge(built)

    if before := list(search.steps()):
        terminal.note(f"{len(before)} commits were judged before")
    found = search.run(step, _tell)
    terminal.say(f"{found.commit} is the first commit at which {expect!r} does not hold: {found.subject}")
    search.end()


def _mute(text: str) -> None:
    pass


def _tell(step: Step, left: str) -> None:
    ahead = f" ({left} left)" if left else ""
    terminal.say(f"{step.commit[:12]}  {step.verdict:8} {step.measured}  {step.subject}{ahead}")


def _decided(found: Any) -> tuple[str, str]:
    """A verdict that decides. Raises ShallowsError for one that does not."""
    if found.verdict == "not-determined":
        raise ShallowsError(
            f"{found.expectation.text} is not determined: {found.measured}; give more --seeds"
        )
    return found.verdict, found.measured


def _of_runs(document: Any, expect: str, seeds: int | None) -> Callable[[Kernel], tuple[str, str]]:
    """The judge of the file's own traffic, as `run --backend linux --expect` judges it."""
    from shallows.document.points import expand, with_seeds
    from shallows.execution.backends import on_kernel
    from shallows.execution.runner import Runner
    from shallows.studies.outcomes import expectations

    points = expand(with_seeds(document, seeds))
    wanted = expectations.read([expect], [point.experiment for point in points])

    def judge(kernel: Kernel) -> tuple[str, str]:
        runner = Runner.of(backend=on_kernel("linux", kernel.hash))
        outcomes = runner.run(points, metrics=True)
        if broken := next((each.error for each in outcomes if each.error), None):
            return "differs", f"the run broke: {str(broken).splitlines()[0]}"
        return _decided(expectations.judge(wanted, outcomes)[0])

    return judge


def _of_programs(
    document: Any, on: list[str], commands: list[str], expect: str, seeds: int | None
) -> Callable[[Kernel], tuple[str, str]]:
    """The judge of programs' runs, as `linux exec --expect` judges them."""
    from shallows.backends.linux.lab import expectations, programs
    from shallows.backends.linux.lab.metrics import metrics
    from shallows.backends.linux.lab.outcome import Broken
    from shallows.document.points import expand, with_seeds

    started = tuple(programs.command(host, text) for host, text in zip(on, commands, strict=True))
    wanted = expectations.read([expect])
    points = expand(with_seeds(programs.experiment(document), seeds))

    def judge(kernel: Kernel) -> tuple[str, str]:
        lab = programs.Lab(started, Path.cwd(), kernel=kernel.hash)
        try:
            runs = [metrics(programs.execute(point.experiment, lab, None)) for point in points]
        except Broken as error:
            return "differs", f"the run broke: {str(error).splitlines()[0]}"
        return _decided(expectations.judge(wanted, runs)[0])

    return judge
