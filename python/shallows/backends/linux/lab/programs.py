"""Programs of this machine on the hosts of an experiment's network, in virtual time.

Each host sees this machine's files, read-only, under a layer of its own that programs can write. The guest's
part is in `guest/programs.c`, `guest/hosts.c` and `guest/capture.c`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import controls, machine, offers, scenario
from shallows.backends.linux.backend import checked, ready
from shallows.backends.linux.lab.asked import Command, Lab, Started, hosts_of
from shallows.backends.linux.lab.outcome import Broken, Outcome, Stopped
from shallows.backends.linux.lab.plan import lines_of, taps, taps_of_hosts
from shallows.backends.linux.lab.reading import Whole, facts
from shallows.backends.linux.lab.streams import Streams
from shallows.backends.linux.root import root
from shallows.document import kernel_settings
from shallows.errors import Cancelled, Fault, Interrupted, RunError, SpecError
from shallows.words import did_you_mean

if TYPE_CHECKING:
    from shallows.backends.linux.kernel import Kernel
    from shallows.document.paths import Document

__all__ = ["Command", "Lab", "Started", "command", "execute", "experiment", "session", "shell"]

SHELL = "if command -v bash >/dev/null; then exec bash --norc -i; else exec sh -i; fi"
"""The shell of `linux shell`, without settings of the user's that may start other programs."""

SESSION = "100000s"
"""Length of a session at most, since the sections of the guest's plan need one."""


LARGE_RINGS = 64 << 20
"""Rings of more bytes than this get memory of their own."""


def command(host: str, text: str) -> Command:
    """A command as it is written: one that ends with `&` is a server."""
    text = text.strip()
    server = text.endswith("&") and not text.endswith("&&")
    return Command(host, text[:-1].rstrip() if server else text, server)


def experiment(document: Document) -> Document:
    """The document as one that has some traffic, and counts from the beginning. Its `warmup` is left out."""
    made = {**document, "warmup": "0s"}
    if not made.get("traffic"):
        made["traffic"] = {scenario.IDLE: {"kind": "bulk", "from": "*", "to": "*", "bytes": "1B"}}
    return made


def session(document: Document) -> Document:
    """The document of a shell: as of programs, as long as a session, and without traces.

    The tables are thrown away, and traces would take memory for as long as the session lasts.
    """
    return {**experiment(document), "duration": SESSION, "probe": {}}


def shell(resolved: Document, host: str, directory: Path, size: tuple[int, int], memory_mb: int) -> None:
    """A shell on a host, at the terminal of this process, in real time. The file's loads do not run.

    `resolved` is the experiment of a `session`. `size` is the terminal's, in columns and lines. Raises
    SpecError before anything starts, RunError.
    """
    import polars as pl

    used = ready(kernel_settings.kernel_of(resolved))
    network, ways = checked(resolved, used, programs=True)
    names = [name for _, name in hosts_of(network)]
    if host not in names:
        rule = f"must be a host of the network: {', '.join(names[:10])}{', ...' * (len(names) > 10)}"
        raise SpecError([Fault("HOST", rule, host, did_you_mean(host, names))])
    columns, lines = size
    text = f"stty columns {columns} rows {lines} 2>/dev/null; {SHELL}"
    lab = Lab((Command(host, text),), directory, memory_mb=memory_mb, environment={"PS1": r"\h:\w\$ "})
    [started] = _started(lab, network)
    further = [*lines_of(resolved, lab, network, [started]), "terminal"]
    # Loads whose times the simulator would tell send nothing without its tables.
    traffic = {name: {**load, "kind": "bulk"} for name, load in resolved["traffic"].items()}
    quiet = {**resolved, "traffic": traffic}
    made = scenario.scenario(quiet, network, ways, pl.DataFrame(), pl.DataFrame(), further)
    machine.attach(used, root(), made.plan, resolved["seed"], made.memory_mb + memory_mb)


def execute(
    resolved: Document,
    lab: Lab,
    out: Path | None,
    cancelled: Callable[[], bool] = lambda: False,
    progress: Callable[[float], None] = lambda share: None,
) -> Outcome:
    """Runs the programs until all that are waited for have ended, or for the experiment's duration.

    Captures, and changed files if they are kept, go to where `lab` says and to `out`. Raises SpecError with
    all that is wrong before anything starts, RunError with what the guest said, and Cancelled.
    """
    from shallows.backends.base import Running
    from shallows.backends.simulator import Simulator

    used = ready(lab.kernel or kernel_settings.kernel_of(resolved))
    network, ways = checked(resolved, used, programs=True)
    if lab.commands and (fault := offers.runs_programs(used)):
        raise SpecError([fault])
    started = _started(lab, network)
    simulated = Simulator().run(controls.with_stand_ins(resolved), Running()).tables
    flows, messages = simulated["flows"], simulated["messages"]
    idle = list(resolved["traffic"]) == [scenario.IDLE]
    if idle:
        flows, messages = flows.clear(), messages.clear()
    taps, ring_bytes = taps_of_hosts(network)
    further = [*lines_of(resolved, lab, network, started), *taps]
    if lab.counters_ns:
        further.append(f"counters {lab.counters_ns}")
    made = scenario.scenario(resolved, network, ways, flows, messages, further, programs=True)
    memory = made.memory_mb + lab.memory_mb + (ring_bytes // 2**20 if ring_bytes > LARGE_RINGS else 0)
    options = [f"uml_call_ns={lab.call_ns}", *scenario.boot_parameters(resolved, used)]
    streams = Streams(started, out, lab.captures)
    try:
        with machine.boot(
            used,
            root(),
            made.plan,
            resolved["seed"],
            cancelled,
            progress,
            memory,
            options=options,
            confined=True,
            ready=made.verify,
            streams=streams,
        ) as answer:
            of_ways = scenario.ways_of(resolved, network, ways)
            whole = Whole(used, resolved, lab, made, network, of_ways, started, simulated, idle)
            return whole.outcome(answer, streams, out)
    except Cancelled:
        raise
    except RunError as error:
        raise Broken(str(error), _broken(used, resolved, lab, streams, str(error))) from None
    except (KeyboardInterrupt, Interrupted) as error:
        why = str(error) or "interrupted"
        raise Stopped(why, _broken(used, resolved, lab, streams, why)) from None


def _broken(used: Kernel, resolved: Document, lab: Lab, streams: Streams, why: str) -> Outcome:
    """The remains of a run that did not reach its end."""
    about = facts(used, resolved, lab)
    return Outcome(streams.programs, None, None, None, about, error=why)


def _started(lab: Lab, network: Mapping[str, Any]) -> list[Started]:
    """Each command on each of its hosts. Raises SpecError for those that match no host or say nothing."""
    hosts = hosts_of(network)
    found, faults = [], []
    for each in lab.commands:
        if not each.text:
            faults.append(Fault(f"--on {each.host}", "needs a command to run"))
        chosen = [Started(node, name, each) for node, name in hosts if fnmatchcase(name, each.host)]
        if not chosen:
            names = ", ".join(name for _, name in hosts[:10]) + (", ..." if len(hosts) > 10 else "")
            faults.append(Fault("--on", f"must name a host of the network: {names}", each.host))
        found += chosen
    for name in lab.captures:
        if not taps(name, network):
            rule = "must name a link or a host of the network"
            faults.append(Fault("--pcap", rule, name, f"as in {network['ports'][0]['name']}"))
    if faults:
        raise SpecError(faults)
    return found
