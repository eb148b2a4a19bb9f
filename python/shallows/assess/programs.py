"""Programs of this machine as the candidate: a backend that puts them in the place of its loads.

A load whose control is the stand-in `PLACE` is not sent by the kernel. Each of its connections is a pair of
commands on its two hosts, in virtual time. Numbers come from outside: bytes that arrive, queues, drops, and
the traffic beside it. A program's headers above TCP or UDP count as data, and so does what it sends again.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.base import Made, Running
from shallows.backends.linux.backend import Linux, checked, ready
from shallows.backends.linux.cache import digest
from shallows.backends.linux.controls import with_stand_ins
from shallows.backends.simulator import Simulator
from shallows.document import kernel_settings
from shallows.errors import Fault, RunError, SpecError

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.lab.asked import Command
    from shallows.backends.linux.lab.outcome import Outcome
    from shallows.document.paths import Document

__all__ = ["PLACE", "Programs", "refusal"]

PLACE = {"kind": "kernel", "name": "cubic"}
"""The control of a load that programs replace. Sockets of TCP begin with it."""

FIRST_PORT = 7000
"""The port of the first connection. The guest's loads take ports from 5000, 10000 and 20000 on."""

AMOUNTS = ("bytes", "sizes", "response")
"""Settings of a load that bound what a connection sends."""

RECEIVER = {"ack_pieces": 1, "ack_repeats": 0, "ack_ahead": "none", "hide_marks": False}
"""Settings by which a receiver misbehaves, with the values of one that does not."""

SETTLED_S = 0.05
"""Servers start this long before the other commands."""

NEAR_S = 1.0
"""A program may end this long before the run's end."""


def refusal(experiment: Mapping[str, Any]) -> str:
    """Why programs cannot stand in an experiment, or nothing."""
    loads = [load for load in experiment["traffic"].values() if _replaced(load)]
    if any(load.get(name, "none") != "none" for load in loads for name in AMOUNTS):
        return "a program sends as long as it runs, and not messages of given sizes"
    transports = [load["transport"] for load in loads]
    if any(each.get(name, usual) != usual for each in transports for name, usual in RECEIVER.items()):
        return "the receiver of a program is its own"
    return ""


def _replaced(load: Mapping[str, Any]) -> bool:
    control = load.get("transport", {}).get("cc")
    return isinstance(control, dict) and control.get("kind") == PLACE["kind"]


@dataclass(frozen=True)
class Programs:
    """Runs an experiment with a command on each end of the loads that it replaces.

    `{peer}` in a command is the other host, and `{port}` a port for this connection. A command that ends with
    `&` is the server and starts first.
    """

    sender: str
    receiver: str
    linux: Linux = field(default_factory=Linux)
    directory: Path = field(default_factory=Path.cwd)

    @property
    def name(self) -> str:
        """See `Backend`."""
        return "programs"

    def check(self, experiment: Document) -> None:
        """See `Backend`."""
        if why := refusal(experiment):
            raise SpecError([Fault("traffic", why)])
        named = self.linux.kernel or kernel_settings.kernel_of(experiment)
        checked(experiment, ready(named), programs=True)

    def fingerprint(self) -> str:
        """See `Backend`: kernel, commands, and the files that the commands name."""
        files = [path.read_bytes() for path in self._files()]
        parts = (self.sender.encode(), self.receiver.encode(), Path(__file__).read_bytes(), *files)
        return f"{self.linux.fingerprint()}-{digest(*parts)}"

    def _files(self) -> Iterator[Path]:
        """Files among the words of the commands: programs in PATH, and files by their names."""
        for text in (self.sender, self.receiver):
            for word in shlex.split(text):
                found = shutil.which(word) if "/" not in word else None
                path = Path(found) if found else self.directory / word
                if path.is_file():
                    yield path

    def run(self, experiment: Document, running: Running) -> Made:
        """See `Backend`. Connections start when those of the simulator's load would."""
        from shallows.backends.linux import scenario
        from shallows.backends.linux.lab import programs

        simulated = Simulator().run(with_stand_ins(experiment), running)
        taken = {name for name, load in experiment["traffic"].items() if _replaced(load)}
        connections = simulated.tables["flows"].filter(_among("traffic", taken)).sort("id").to_dicts()
        lab = programs.Lab(tuple(self._commands(connections)), self.directory, kernel=self.linux.kernel)
        rest = _without(experiment, taken, scenario.IDLE)
        outcome = programs.execute(rest, lab, None, lambda: running.cancelled, running.tell)
        running.tell(None)
        _held(outcome, experiment)
        tables = _tables(outcome, simulated.tables, connections)
        switches = tables["queues"].filter(tables["queues"]["is_switch"] == 1)
        counts = {
            "packets_sent": int(tables["flows"]["packets_sent"].sum()),
            "flows": len(tables["flows"]),
            "messages": 0,
            "switch_packets": int(switches["packets_out"].sum()),
        }
        about = {"notes": list(outcome.notes), "counts": counts, "programs": [self.sender, self.receiver]}
        return Made(tables, about | {key: outcome.about[key] for key in ("kernel", "cpu_s", "wall_s")})

    def _commands(self, connections: list[dict[str, Any]]) -> Iterator[Command]:
        from shallows.backends.linux.lab.programs import command

        for number, each in enumerate(connections):
            port = str(FIRST_PORT + number)
            ends = ((each["src"], each["dst"], self.sender), (each["dst"], each["src"], self.receiver))
            for host, peer, text in ends:
                if not text:
                    continue
                made = command(host, text.replace("{peer}", peer).replace("{port}", port))
                if not made.server:
                    delay = each["start_ps"] / 1e12 + SETTLED_S
                    made = command(host, f"sleep {delay:.6f}; {made.text}")
                yield made


def _among(column: str, names: set[str]) -> pl.Expr:
    import polars as pl

    return pl.col(column).is_in(sorted(names))


def _without(experiment: Document, taken: set[str], idle: str) -> Document:
    """The experiment whose loads are those beside the programs, with rates of flows over time."""
    beside = {name: load for name, load in experiment["traffic"].items() if name not in taken}
    if not beside:
        beside = {idle: next(iter(experiment["traffic"].values()))}
    probe = dict(experiment["probe"])
    if probe.get("flow_trace", "off") == "off":
        probe["flow_trace"] = "100ms"
    return {**experiment, "traffic": beside, "probe": probe}


def _held(outcome: Outcome, experiment: Mapping[str, Any]) -> None:
    """Raises RunError for a program that failed or did not send until the end."""
    from shallows import _core

    for each in outcome.programs:
        if each.failed:
            last = (each.stderr or each.stdout).decode(errors="replace").strip().splitlines()[-1:]
            told = f": {last[0]}" if last else ""
            end = f"signal {each.signal}" if each.signal else f"status {each.status}"
            raise RunError(f"{each.host}: {each.command!r} ended with {end}{told}")
    whole = _core.numbers(json.dumps(kernel_settings.without(experiment)))["duration"] / 1e12
    if outcome.ended_s is not None and outcome.ended_s < whole - NEAR_S:
        raise RunError(f"the programs ended after {outcome.ended_s:g} s, and the row needs {whole:g} s")


def _tables(
    outcome: Outcome, simulated: Mapping[str, pl.DataFrame], connections: list[dict[str, Any]]
) -> dict[str, pl.DataFrame]:
    """The tables in the shape of the simulator's, with a flow for each connection of programs."""
    import polars as pl

    assert outcome.queues is not None
    empty = {name: table.clear() for name, table in simulated.items()}
    background = empty["flows"] if outcome.flows is None else outcome.flows
    base = int(background["id"].max() or 0) + 1 if len(background) else 0  # type: ignore[arg-type]
    sums, grown = [], []
    trace = outcome.tables["program_trace"]
    for number, each in enumerate(connections):
        port = FIRST_PORT + number
        one = pl.col("src_port").eq(port) | pl.col("dst_port").eq(port)
        ends = (pl.col("src") == each["src"]) & (pl.col("dst") == each["dst"])
        own = outcome.tables["program_flows"].filter(ends & one)
        data = int(own["data_bytes"].sum())
        sums.append(_flow(each, base + number, own, data))
        ours = trace.filter(pl.col("flow").is_in(own["flow"].implode()))
        grown.append(
            ours.group_by("time_ps")
            .agg(pl.col("data_bytes").sum().alias("arrived_bytes"))
            .with_columns(flow=pl.lit(base + number))
        )
    flows = _like(empty["flows"], [background, pl.DataFrame(sums, infer_schema_length=None)])
    beside = outcome.tables.get("flow_trace")
    rates = _like(empty["flow_trace"], [*([] if beside is None else [beside]), *grown])
    found = {**empty, "queues": outcome.queues, "flows": flows, "flow_trace": rates.sort("time_ps")}
    if "datagrams" in outcome.tables:
        found["datagrams"] = outcome.tables["datagrams"]
    return found


def _flow(each: dict[str, Any], number: int, own: pl.DataFrame, data: int) -> dict[str, Any]:
    """A row of `flows`, with the numbers that show from outside."""
    first, last = own["first_ps"].min(), own["last_ps"].max()
    span = int(last) - int(first) if first is not None and last is not None else 0  # type: ignore[arg-type]
    return {
        **{name: each[name] for name in ("traffic", "class", "src", "dst", "start_ps")},
        "id": number,
        "arrived_bytes": data,
        "packets_sent": int(own["packets"].sum()),
        "goodput_bps": data * 8e12 / span if span else 0.0,
    }


def _like(shape: pl.DataFrame, parts: list[pl.DataFrame]) -> pl.DataFrame:
    """The parts one below the other, with the columns and types of `shape`."""
    import polars as pl

    columns = shape.schema
    made = [
        part.select(
            (pl.col(name) if name in part.columns else pl.lit(None)).cast(kind).alias(name)
            for name, kind in columns.items()
        )
        for part in parts
        if len(part)
    ]
    return pl.concat([shape, *made])
