"""The way from the guest's files to the outcome of a run of programs."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import machine, rebinding, scenario, tables
from shallows.backends.linux.lab import environment, exchanges
from shallows.backends.linux.lab.asked import Lab, Started, hosts_of
from shallows.backends.linux.lab.outcome import Ended, Outcome
from shallows.backends.linux.lab.streams import OUTPUTS, Streams
from shallows.backends.linux.process import confine, oops
from shallows.errors import RunError

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.kernel import Kernel
    from shallows.backends.linux.network import Scenario
    from shallows.backends.linux.paths import Ways
    from shallows.document.paths import Document

__all__ = ["Whole", "facts"]


def facts(used: Kernel, resolved: Document, lab: Lab) -> dict[str, Any]:
    """The kernel, its settings and the environment, for the record of a run."""
    return {
        "kernel": used.about,
        "call_ns": lab.call_ns,
        "seed": resolved["seed"],
        "sysctls": scenario.sysctls(resolved),
        "parameters": resolved.get("linux", {}).get("parameter", {}),
        "environment": environment.variables(lab.environment),
        "confined": confine.available(),
    }


@dataclass(frozen=True)
class Whole:
    """A run that reached its end, and the way from the guest's files to its outcome."""

    used: Kernel
    resolved: Document
    lab: Lab
    made: Scenario
    network: Mapping[str, Any]
    ways: Ways
    started: list[Started]
    simulated: Mapping[str, pl.DataFrame]
    idle: bool

    def outcome(self, answer: machine.Answer, streams: Streams, out: Path | None) -> Outcome:
        """Programs, tables and notes; captures, outputs and changed files go to their places."""
        directory = answer.directory
        programs = self._programs(directory)
        for number, path in enumerate(self.lab.captures.values()):
            _take(directory / f"capture{number}.pcapng", path)
        if self.lab.keep and out is not None:
            _keep_changes(directory, out, dict(hosts_of(self.network)))
        if out is not None:
            streams.copy(directory)
            _take(directory / "dmesg", out / "dmesg.txt") if self.started else None
        whole = self.made.numbers["duration"]
        ended_ps = int((directory / "ended").read_text()) * 1000 if self.started else whole
        found = tables.until(directory, self.made, self.resolved, self.simulated, ended_ps)
        queues, flows = found.pop("queues"), found.pop("flows")
        if found["datagrams"].is_empty():  # of the background, if it has some
            del found["datagrams"]
        found |= self._flows_of_programs(directory)
        orphans = self._orphans(directory)
        notes = [
            *self._unfinished(programs, ended_ps / 1e12),
            *(f"{host}: {text!r} was left behind, and stopped as the run ended" for host, text in orphans),
            *self._changes(directory, queues),
            *self._lost_mappings(directory),
            *self._reports(directory),
            *exchanges.unqueued(found["program_flows"], queues, self.network, self.ways),
        ]
        about = facts(self.used, self.resolved, self.lab)
        about |= {"rebindings": [each.about for each in self._rebindings()]}
        about |= {"cpu_s": answer.cpu_s, "wall_s": answer.wall_s}
        background = None if self.idle else flows
        return Outcome(
            programs, queues, background, ended_ps / 1e12, about, found, tuple(notes), tuple(orphans)
        )

    def _programs(self, directory: Path) -> tuple[Ended, ...]:
        import polars as pl

        rows = pl.read_csv(directory / "programs.csv").to_dicts() if self.started else []
        found = []
        for number, (each, row) in enumerate(zip(self.started, rows, strict=True)):
            texts = [(directory / f"program{number}.{name}").read_bytes() for name in OUTPUTS]
            found.append(
                Ended(
                    each.host,
                    each.command.text,
                    row["status"] if row["status"] >= 0 else None,
                    row["signal"] or None,
                    bool(row["stopped"]),
                    row["ended_ns"] / 1e9 if row["ended_ns"] >= 0 else None,
                    _whole(texts[0], row["stdout_bytes"]),
                    _whole(texts[1], row["stderr_bytes"]),
                    each.command.server,
                )
            )
        return tuple(found)

    def _flows_of_programs(self, directory: Path) -> dict[str, pl.DataFrame]:
        names = {scenario.address(place): name for place, (_, name) in enumerate(hosts_of(self.network))}
        names |= {each.outer: each.host for each in self._rebindings()}
        found = {"program_flows": exchanges.program_flows(directory, names)}
        if self.resolved["probe"]["flow_trace"] != "off":
            found["program_trace"] = exchanges.program_trace(directory, found["program_flows"], names)
        if self.lab.counters_ns:
            found["counters"] = exchanges.counters(directory, self.network["nodes"])
        return found

    def _rebindings(self) -> list[rebinding.Rebinding]:
        hosts = enumerate(hosts_of(self.network))
        return rebinding.of(self.resolved, {name: scenario.address(place) for place, (_, name) in hosts})

    def _reports(self, directory: Path) -> Iterator[str]:
        """Lines about faults of the kernel after which it went on."""
        text = (directory / "dmesg").read_text(errors="replace") if self.started else ""
        for line in oops.reports(text):
            yield f"the kernel reported a fault, with more in dmesg.txt: {line}"

    def _lost_mappings(self, directory: Path) -> Iterator[str]:
        """Lines about packets that a NAT has not let in."""
        rows = [line.split() for line in (directory / "rebindings").read_text().splitlines()]
        for each, (_, _, lost) in zip(self._rebindings(), rows, strict=False):
            if int(lost):
                what = f"the NAT lost {lost} packets to earlier ports or addresses after {each.name!r}"
                yield f"{each.host}: {what}"

    def _orphans(self, directory: Path) -> list[tuple[str, str]]:
        """Host and command of each process that programs left behind."""
        if not self.started:
            return []
        rows = [
            line.split(" ", 1) for line in (directory / "orphans").read_text(errors="replace").splitlines()
        ]
        return [(self._node(int(node)), text.strip()) for node, text in rows]

    def _node(self, number: int) -> str:
        return self.network["nodes"][number]["name"] if number >= 0 else "a host"

    def _unfinished(self, programs: Sequence[Ended], at_s: float) -> Iterator[str]:
        for each in programs:
            if each.unfinished:
                yield (
                    f"{each.host}: {each.command!r} had not finished when the run ended after {at_s:.6f} s"
                    " (a server's command ends with &)"
                )
            elif reason := environment.not_found(each, self.lab.environment) or environment.no_version_6(
                each
            ):
                yield reason

    def _changes(self, directory: Path, queues: pl.DataFrame) -> Iterator[str]:
        """Lines about what programs have changed, as it is read back at the end."""
        for name in queues.filter(queues["packets_out"].is_null())["port"]:
            yield f"{name}: a program removed its discipline or device, so that its counts are null"
        for line in self.made.changed(directory):
            yield f"a program changed the network: {line}"
        sysctls = (directory / "sysctls").read_text().splitlines() if self.started else []
        for node, name, value in (line.split(" ", 2) for line in sysctls):
            whole = name if "." in name else f"net.ipv4.{name}"
            yield f"a program changed a sysctl of {self._node(int(node))}: {whole} is {value}"
        if missed := int((directory / "missed").read_text()):
            yield f"program_flows lacks {missed} packets: a shorter probe.queue_trace counts all"


def _whole(text: bytes, size: int) -> bytes:
    """An output, with a line at its end where it was cut."""
    if size <= len(text):
        return text
    return text + f"\n[cut by Shallows after {len(text)} of {size} bytes]\n".encode()


def _take(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise RunError(f"{target} was not written: {error.strerror}") from error


def _keep_changes(directory: Path, out: Path, hosts: Mapping[int, str]) -> None:
    """Unpacks the layers that programs wrote: files and links by host, and the names of removed ones."""
    for node, name in hosts.items():
        archive = directory / f"changes{node}.tar"
        if not archive.exists():
            continue
        place = out / "files" / name
        removed: list[str] = []
        links: dict[str, str] = {}
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.ischr():  # how an overlay notes that a file is gone
                    removed.append(member.name.removeprefix("."))
                elif member.issym():
                    links[member.name.removeprefix(".")] = member.linkname
                elif member.isfile() or member.isdir():
                    _unpack(tar, member, place)
        elsewhere = [f"{path} -> {links[path]}" for path in _link(place, links)]
        for kind, lines in (("removed", removed), ("links", elsewhere)):
            if lines:
                place.mkdir(parents=True, exist_ok=True)
                (out / "files" / f"{name}.{kind}").write_text("".join(f"{line}\n" for line in lines))


def _unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    """Unpacks a file or directory within `place`."""
    member.mode |= 0o700 if member.isdir() else 0o600
    tar.extract(member, place, filter="data")


def _link(place: Path, links: Mapping[str, str]) -> list[str]:
    """Makes symbolic links to kept files, and returns those to others, which could name any file here.

    `links` has the text of each by its path in the guest. A link is made with the shortest relative path, so
    that no `..` of it follows another link.
    """
    made = {}
    for path, text in links.items():
        within = PurePosixPath(path).parent
        made[path] = place / path.lstrip("/")
        made[path].symlink_to(os.path.relpath(os.path.normpath(within / text), within))
    elsewhere: list[str] = []
    while broken := [path for path, link in made.items() if not link.exists()]:
        for path in broken:  # others may have pointed to it
            made.pop(path).unlink()
        elsewhere += broken
    return sorted(elsewhere)
