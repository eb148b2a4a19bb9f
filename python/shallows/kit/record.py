"""The file `kit.json`: results of the runs, the programs behind them, and all that repeats them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows.errors import Fault, SpecError
from shallows.execution.jobs import Outcome
from shallows.results.store import StoredRun
from shallows.studies.paper.reproduce import Section

FORMAT = 1
FILE = "kit.json"

__all__ = ["FILE", "FORMAT", "Record", "environment", "of_experiment", "of_paper", "read"]


@dataclass(frozen=True)
class Record:
    """The results of a subject. `runs`: by name the hash of all tables; `verdicts`: by claim."""

    runs: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    cpu_s: float = 0.0
    failed: Sequence[str] = ()
    """Reasons of runs that failed."""


def of_experiment(outcomes: Sequence[Outcome]) -> Record:
    """The record of an experiment's runs, named by label and seed."""
    named = {_name(each.point.label, each.point.seed): each for each in outcomes}
    good = {name: each for name, each in named.items() if each.run is not None}
    runs = {name: each.run for name, each in good.items() if each.run is not None}
    return Record(
        _hashes(runs.items()),
        metrics={name: dict(each.metrics or {}) for name, each in good.items()},
        cpu_s=_cpu(runs.values()),
        failed=[f"{name}: {each.error}" for name, each in named.items() if each.run is None],
    )


def of_paper(sections: Sequence[Section]) -> Record:
    """The record of a paper: the runs of the base reading, and the verdict on each claim."""
    runs = {
        f"{section.figure.name}/{_name(f'{run.spec} {run.label}'.strip(), run.seed)}": run.stored
        for section in sections
        for run in section.runs
    }
    claims = {each["id"]: each["verdict"] for section in sections for each in section.claims}
    failed = [reason for section in sections for reason in section.failed]
    return Record(_hashes(runs.items()), claims, cpu_s=_cpu(runs.values()), failed=failed)


def _name(label: str, seed: int) -> str:
    return f"{label}, seed {seed}" if label else f"seed {seed}"


def _hashes(runs: Iterable[tuple[str, StoredRun]]) -> dict[str, str]:
    """The hash of each run's tables. Each is read for this alone, so that memory holds one run at a time."""
    from shallows.tables.digest import hash_of

    return {name: hash_of(StoredRun(run.path, run.manifest).tables) for name, run in runs}


def _cpu(runs: Iterable[StoredRun]) -> float:
    distinct = {run.hash: float(run.manifest["cpu_s"]) for run in runs}
    return sum(distinct.values())


def environment() -> dict[str, str]:
    """The machine and the programs that made the runs."""
    from importlib.metadata import version

    packages = ("numpy", "polars", "matplotlib")
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count()),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def read(folder: Path) -> dict[str, Any]:
    """The kit.json of an unpacked kit. Raises SpecError."""
    place = folder / FILE
    if folder.suffix == ".zip" and folder.is_file():
        raise SpecError([Fault(str(folder), "must be unpacked first", hint=f"unzip {folder}")])
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        rule = f"is no unpacked kit: it has no {FILE}"
        raise SpecError([Fault(str(folder), rule)]) from None
    except (OSError, ValueError) as error:
        raise SpecError([Fault(str(place), f"cannot be read: {error}")]) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        shown = found.get("format") if isinstance(found, dict) else found
        raise SpecError([Fault(f"{place}: format", f"must be {FORMAT}", shown)])
    return found
