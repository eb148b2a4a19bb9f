"""Repeats an unpacked kit: makes its runs again, and compares them with its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.execution.runner import Runner
from shallows.kit.make import Progress, run
from shallows.kit.record import Record
from shallows.kit.subject import FOLDER, Experiment, Paper

PLACE = "repeated"
"""The folder of a kit for what is made when it is repeated."""

__all__ = ["PLACE", "Difference", "compared", "repeat", "subject_in"]


@dataclass(frozen=True)
class Difference:
    """A run or a claim of which the kit and its repetition disagree."""

    name: str
    recorded: str
    found: str


def subject_in(folder: Path, told: Mapping[str, Any]) -> Experiment | Paper:
    """The subject of an unpacked kit."""
    place = folder / FOLDER
    if told["kind"] == "paper":
        return Paper(str((place / told["target"]).resolve()), bool(told["quick"]))
    return Experiment(place / told["target"], told["settings"], told["seeds"])


def repeat(
    folder: Path, told: Mapping[str, Any], runner: Runner, command: str, progress: Progress
) -> tuple[Record, list[Difference]]:
    """Makes the runs and the report again, in `repeated/`, and compares. Raises SpecError, StoreError."""
    found, _ = run(subject_in(folder, told), runner, folder / PLACE, command, progress)
    return found, compared(told, found)


def compared(told: Mapping[str, Any], found: Record) -> list[Difference]:
    """The differences in hashes and verdicts, and runs that one side lacks."""
    differences = []
    for recorded, made in ((told["runs"], found.runs), (told["verdicts"], found.verdicts)):
        for name in dict.fromkeys([*recorded, *made]):
            if recorded.get(name) != made.get(name):
                differences.append(Difference(name, recorded.get(name, "-"), made.get(name, "-")))
    return differences
