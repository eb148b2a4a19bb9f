"""ns-3 as a backend: the experiments of one star that the program can run."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.base import Made, Running
from shallows.backends.linux.cache import digest
from shallows.backends.ns3 import command, tables
from shallows.backends.ns3.program import Program, program
from shallows.backends.simulator import Simulator
from shallows.document.kernel_settings import refuse
from shallows.errors import Cancelled, Fault, RunError, SpecError

if TYPE_CHECKING:
    from shallows.document.paths import Document

__all__ = ["Ns3"]


@dataclass(frozen=True)
class Ns3:
    """Runs experiments with the program in `gpl/`, whose flows start when the simulator's do."""

    @property
    def name(self) -> str:
        """See `Backend`."""
        return "ns3"

    def check(self, experiment: Document) -> None:
        """See `Backend`."""
        refuse(experiment, "ns-3")
        try:
            command.arguments(experiment, [0])
        except command.Refusal as why:
            raise SpecError([Fault("--backend", str(why), self.name)]) from None

    def chosen(self, experiment: Document) -> Ns3:
        """See `Backend`."""
        return self

    def fingerprint(self) -> str:
        """See `Backend`: the core, the program, and what writes its arguments and reads its answers."""
        own = sorted(Path(__file__).parent.glob("*.py"))
        return f"{Simulator().fingerprint()}-{program().hash}-{digest(*own)}"

    def run(self, experiment: Document, running: Running) -> Made:
        """See `Backend`."""
        like = Simulator().run(experiment, running).tables
        (load,) = experiment["traffic"].values()
        in_rounds = command.in_rounds(load)
        flows = like["flows"].filter(dst="r0").sort("id")
        starts = [0] * load["workers"] if in_rounds else [ps // 1000 for ps in flows["start_ps"]]
        arguments = command.arguments(experiment, starts)
        used = program()
        answer = _answer(used, arguments, running)
        about = {
            "cpu_s": answer["cpu_s"],
            "counts": {"events": answer["events"]},
            "ns3": {"version": used.version, "arguments": arguments},
        }
        return Made(tables.tables(answer, arguments, experiment, like), about)


def _answer(program: Program, arguments: dict[str, Any], running: Running) -> dict[str, Any]:
    command = [str(program.path), *(f"--{name}={value}" for name, value in arguments.items())]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, text=True)
        try:
            while process.poll() is None:
                if running.cancelled:
                    raise Cancelled("stopped on request")
                try:
                    process.wait(0.1)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()
            process.wait()
        out.seek(0), err.seek(0)
        if process.returncode:
            raise RunError(f"ns-3 ended with {process.returncode}: {err.read()[-1500:]}\n{' '.join(command)}")
        answer = json.load(out)
    if answer["port"]["drops_device"]:
        raise RunError("the device dropped packets, so the limits of the disc are not those of the port")
    return answer
