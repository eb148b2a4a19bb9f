"""Programs of this machine over a network in virtual time, from Python, as `./shallows linux exec` runs them.

    from shallows import linux

    found = linux.programs("net.toml", ("s0", "iperf3 -s &"), ("r0", "sleep 0.1; iperf3 -R -c s0 -t 2"))
    found.programs[1].stdout, found.queues, found.tables["program_flows"], found.status

It needs a kernel (`./shallows linux build`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.linux.lab.outcome import Ended, Outcome

if TYPE_CHECKING:
    from shallows.backends.linux.lab.expectations import Judged

__all__ = ["Ended", "Outcome", "available", "expect", "programs"]


def available() -> bool:
    """Whether there is a kernel that runs programs."""
    from shallows.backends.linux import kernel

    found = kernel.find()
    return found is not None and "CONFIG_OVERLAY_FS" not in found.without


def programs(
    experiment: str | Path | Mapping[str, Any] | Any,
    *commands: tuple[str, str],
    settings: Sequence[str] = (),
    directory: str | Path | None = None,
    out: str | Path | None = None,
    captures: Mapping[str, str | Path] | None = None,
    keep: bool = False,
    call: str = "1us",
    memory: str = "1GB",
    environment: Mapping[str, str] | None = None,
    counters: str | None = None,
    kernel: str | None = None,
) -> Outcome:
    """Runs commands, each a host (or a pattern) and a text; one that ends with `&` is a server.

    `experiment` is a file, a table or an `Experiment`, and the options are those of the command. Programs run
    in `directory`, by default this process's. `Outcome.status` is the exit status of the command: 1 if a
    program failed, 124 if one had not finished. Raises SpecError before anything starts, and RunError for a
    machine that did not reach its end, with the outputs until then in its `outcome`.
    """
    from shallows import _core
    from shallows.backends.linux.lab import programs as lab
    from shallows.backends.linux.lab.outcome import Broken, Stopped
    from shallows.backends.linux.lab.results import write
    from shallows.document.load import load
    from shallows.document.points import one_run

    made = lab.Lab(
        tuple(lab.command(host, text) for host, text in commands),
        Path.cwd() if directory is None else Path(directory).resolve(),
        {name: Path(file) for name, file in (captures or {}).items()},
        keep,
        _core.parse_quantity("span", call) // 1000,
        _core.parse_quantity("bytes", memory) // 2**20,
        dict(environment or {}),
        0 if counters is None else _core.parse_quantity("span", counters) // 1000,
        kernel,
    )
    place = None if out is None else Path(out)
    resolved = one_run(lab.experiment(load(experiment, settings))).experiment
    try:
        outcome = lab.execute(resolved, made, place)
    except (Broken, Stopped) as error:
        if place is not None:
            write(error.outcome, place)
        raise
    if place is not None:
        write(outcome, place)
    return outcome


def expect(runs: Outcome | Sequence[Outcome], *expectations: str) -> list[Judged]:
    """Holds one run, or the runs of several seeds, to expectations such as `"s0.1.ended_ps < 2s"`.

    Returns the verdicts if all hold; raises AssertionError with each that does not, and SpecError for one
    that is wrong in form. `shallows.backends.linux.lab.metrics` says which metrics there are.
    """
    from shallows.backends.linux.lab import expectations as asked
    from shallows.backends.linux.lab.metrics import metrics

    several = [runs] if isinstance(runs, Outcome) else list(runs)
    judged = asked.judge(asked.read(expectations, "expect"), [metrics(run) for run in several], "expect")
    wrong = [
        f"{each.expectation.text}: {each.verdict}, {each.measured}"
        for each in judged
        if each.verdict != "holds"
    ]
    if wrong:
        raise AssertionError("\n".join(wrong))
    return judged
