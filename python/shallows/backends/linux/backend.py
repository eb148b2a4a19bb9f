"""Linux in virtual time as a backend: check, plan, boot, tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends import silence
from shallows.backends.base import Made, Running
from shallows.backends.linux import kernel as kernels
from shallows.backends.linux import machine, offers, readback, refusals, scenario
from shallows.backends.linux.cache import HERE, digest
from shallows.backends.linux.controls import with_stand_ins
from shallows.backends.linux.root import root
from shallows.backends.linux.tables import notes as mark_notes
from shallows.backends.linux.tables import tables
from shallows.backends.simulator import Simulator
from shallows.document import kernel_settings
from shallows.document.places import program
from shallows.errors import ShallowsError, SpecError

if TYPE_CHECKING:
    from shallows.document.paths import Document

MOST_PARTS = 10_000
"""Nodes and links of a network that is built although its experiment is refused."""

__all__ = ["Linux", "NoKernel", "checked", "ready"]


class NoKernel(ShallowsError):
    """There is no kernel yet."""


def ready(name: str | None = None) -> kernels.Kernel:
    """The kernel of this name, or the current one. Raises NoKernel, SpecError."""
    found = kernels.find()
    if name is not None:
        return kernels.named(name)
    if found is None:
        raise NoKernel(f"there is no Linux kernel yet; make one with {program()} linux build")
    return found


@dataclass(frozen=True)
class Linux:
    """Runs experiments on a kernel built as a user program, in virtual time."""

    kernel: str | None = None
    """Its version, hash or source (`kernel.named`); None is the one that was built or chosen last."""

    @property
    def name(self) -> str:
        """See `Backend`."""
        return "linux"

    def check(self, experiment: Document) -> None:
        """See `Backend`."""
        kernel = self.chosen(experiment).kernel
        checked(experiment, kernels.find() if kernel is None else kernels.named(kernel))

    def chosen(self, experiment: Document) -> Linux:
        """See `backends.base.chosen`: the kernel that was given goes before the experiment's."""
        named = kernel_settings.kernel_of(experiment)
        return self if self.kernel is not None or named is None else Linux(named)

    def on_kernel(self, name: str) -> Linux:
        """The backend on the kernel of this name. Raises SpecError."""
        return Linux(kernels.named(name).hash)

    def fingerprint(self) -> str:
        """See `Backend`: the core, kernel, guest, tc, and what writes plans and reads answers."""
        own = digest(ready(self.kernel).hash.encode(), root().about["hash"].encode(), *_own_sources())
        return f"{Simulator().fingerprint()}-{own}"

    def run(self, experiment: Document, running: Running) -> Made:
        """See `Backend`. Its arrivals are the simulator's, and so is the shape of its tables."""
        used = ready(self.chosen(experiment).kernel)
        built = checked(experiment, used)
        simulated = Simulator().run(with_stand_ins(experiment), running)
        try:
            return _booted(used, experiment, built, simulated, running)
        finally:
            running.tell(None)


def checked(
    experiment: Document, used: kernels.Kernel | None, programs: bool = False
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The network of a resolved experiment and its groups of next hops (`_core.plan`, `_core.ways`).

    Raises SpecError with all that Linux cannot do, with this kernel or the newest. The faults of a large
    network are left out where there are others: its routes would take gigabytes.
    """
    from shallows import _core

    without, version = (used.without, used.release) if used else ([], None)
    faults = refusals.check(experiment, without, version)
    if used is not None and not faults:
        faults += offers.faults(experiment, used)
    text = json.dumps(kernel_settings.without(experiment))
    if faults and _parts(text) > MOST_PARTS:
        raise SpecError(faults)
    network, ways = json.loads(_core.plan(text)), json.loads(_core.ways(text))
    faults += refusals.of_network(experiment, network, ways, version)
    faults += refusals.of_programs(experiment, network, used, programs)
    if faults:
        raise SpecError(faults)
    return network, ways


def _parts(text: str) -> int:
    """The number of nodes and links of a resolved experiment's network."""
    from shallows import _core

    parts = json.loads(_core.check(text))["memory"]["parts"]
    return sum(part["count"] for part in parts if part["what"] == "nodes and links")


@once
def _own_sources() -> tuple[Path, ...]:
    return tuple(sorted(HERE.glob("*.py")))


def _booted(
    used: kernels.Kernel,
    experiment: Document,
    built: tuple[dict[str, Any], list[dict[str, Any]]],
    simulation: Made,
    running: Running,
) -> Made:
    simulated = simulation.tables
    made = scenario.scenario(experiment, *built, simulated["flows"], simulated["messages"])
    seed, memory = experiment["seed"], made.memory_mb
    with machine.boot(
        used,
        root(),
        made.plan,
        seed,
        lambda: running.cancelled,
        running.tell,
        memory,
        options=scenario.boot_parameters(experiment, used),
        ready=made.verify,
    ) as answer:
        made.verify_end(answer.directory)
        log = (answer.directory / "commands.log").read_text(errors="replace")
        qdiscs = readback.objects((answer.directory / "disciplines").read_text(errors="replace"))
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
        "parameters": experiment.get("linux", {}).get("parameter", {}),
        "plan": scenario.shown(made.plan),
    }
    queues = found["queues"]
    counts = {
        "packets_sent": int(found["flows"]["packets_sent"].sum()),
        "flows": len(found["flows"]),
        "messages": len(found["messages"]),
        "switch_packets": int(queues["packets_out"].sum()),
    }
    slowest = simulation.about["slowest"]
    notes = silence.notes(experiment, found, slowest, made.numbers) + mark_notes(found, made)
    return Made(
        found,
        {
            "notes": notes,
            "slowest": slowest,
            "linux": about,
            "counts": counts,
            "cpu_s": answer.cpu_s,
            "wall_s": answer.wall_s,
        },
    )
