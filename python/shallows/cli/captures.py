"""Files that a run writes of its packets: captures for Wireshark, and connections as qlog."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows import terminal
from shallows.errors import Fault, SpecError
from shallows.results import pcapng, qlog

if TYPE_CHECKING:
    from shallows.results.store import StoredRun

__all__ = ["Captures", "asked"]


class Captures(NamedTuple):
    """Files by link or host, and by flow."""

    packets: Mapping[str, Path]
    flows: Mapping[int, Path]

    def of_one_run(self, runs: int) -> None:
        """Raises SpecError if there is a file to write and more than one run."""
        for option, files in (("--pcap", self.packets), ("--qlog", self.flows)):
            if files and runs > 1:
                raise SpecError([Fault(option, f"needs exactly one run, not {runs}", hint="--seeds 1")])

    def write(self, run: StoredRun) -> None:
        """Writes the files, and says what they hold. Raises SpecError or RunError."""
        from shallows.cli.explain import story_of

        for name, path in self.packets.items():
            terminal.note(f"{path}: {pcapng.write(run, name, path)} packets of {name}")
        for flow, path in self.flows.items():
            count = qlog.write(
                run.tables,
                story_of(run.tables, run.experiment, flow, run.manifest["backend"]),
                run.hash,
                path,
            )
            terminal.note(f"{path}: {count} events of flow {flow}")


def asked(pcap: list[str], logs: list[str], document: dict[str, Any]) -> Captures:
    """The files of `--pcap` and `--qlog`. The document gets the probes that they need. Raises SpecError."""
    found = Captures(pcapng.parse_requests(pcap), qlog.parse_requests(logs))
    if found.packets:
        pcapng.probe_for(document, found.packets)
    probe = document.setdefault("probe", {}) if found.flows else None
    if isinstance(probe, dict):
        probe["audit"] = True
    return found
