"""A run on Linux: check, plan, boot, tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import kernel, machine, readback, scenario
from shallows.backends.linux.cache import HERE, digest
from shallows.backends.linux.controls import with_stand_ins
from shallows.backends.linux.root import root
from shallows.backends.linux.tables import tables
from shallows.errors import RunError, ShallowsError, SpecError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NoKernel", "check", "ready", "run", "source_hash", "with_stand_ins"]


class NoKernel(ShallowsError):
    """There is no kernel yet."""


def ready() -> kernel.Kernel:
    """The kernel. Raises NoKernel."""
    found = kernel.find()
    if found is None:
        raise NoKernel("there is no Linux kernel yet; make one with ./shallows linux build")
    return found


def check(experiment: dict[str, Any]) -> None:
    """Raises SpecError with all that a resolved experiment asks and this kernel cannot do."""
    used = kernel.find()
    faults = scenario.check(experiment, used.without if used else ())
    if faults:
        raise SpecError(faults)


def source_hash() -> str:
    """Hash of all that decides a run's tables: kernel, guest, tc, and what writes plans and reads answers."""
    return digest(ready().hash.encode(), root().about["hash"].encode(), *_own_sources())


@once
def _own_sources() -> tuple[Path, ...]:
    return tuple(sorted(HERE.glob("*.py")))


def run(
    experiment: dict[str, Any],
    simulated: dict[str, pl.DataFrame],
    cancelled: Callable[[], bool],
    progress: Callable[[float], None] = lambda share: None,
) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """Tables of a resolved experiment on Linux, and what the manifest says of the machine.

    `simulated` are the simulator's tables of the same experiment: its arrivals are Linux's too.
    Raises SpecError (all that Linux cannot do), RunError, Cancelled.
    """
    from shallows import _core

    check(experiment)
    network = json.loads(_core.plan(json.dumps(experiment)))
    made = scenario.scenario(experiment, network, simulated["flows"], simulated["messages"])
    used = ready()
    seed, memory = experiment["seed"], made.memory_mb
    with machine.boot(used, root(), made.plan, seed, cancelled, progress, memory) as answer:
        log = (answer.directory / "commands.log").read_text(errors="replace")
        qdiscs = readback.disciplines(log)
        if wrong := readback.differences(made.asked, qdiscs):
            raise RunError("the kernel has other settings than asked:\n" + "\n".join(wrong))
        found = tables(answer.directory, made, experiment, simulated)
    effective = [
        line for line in log.splitlines() if line.lstrip().startswith(("qdisc", "Sent", "marked", "backlog"))
    ]
    about = {
        "kernel": used.about,
        "tc": root().about["tc"],
        "sample_ps": made.sample_ps,
        "effective": effective,
        "qdiscs": qdiscs,
        "sysctls": scenario.sysctls(experiment),
        "plan": made.plan,
    }
    queues = found["queues"]
    counts = {
        "packets_sent": int(found["flows"]["packets_sent"].sum()),
        "flows": len(found["flows"]),
        "messages": len(found["messages"]),
        "switch_packets": int(queues["packets_out"].sum()),
    }
    return found, {"linux": about, "counts": counts, "cpu_s": answer.cpu_s, "wall_s": answer.wall_s}
