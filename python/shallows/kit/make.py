"""Makes a kit: runs the subject, and writes files, report, laboratory and record into one zip."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO

from shallows.document.places import experiments_path
from shallows.errors import Fault, RunError, SpecError, StoreError
from shallows.execution.jobs import release
from shallows.execution.runner import Runner
from shallows.files import replacing
from shallows.kit import record
from shallows.kit.subject import FOLDER, Experiment, Paper
from shallows.terminal import Report

Progress = Callable[[str, int], AbstractContextManager[Report]]

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every entry: equal contents give an equal zip."""

SCRIPT = "repeat.sh"

__all__ = ["Kit", "check", "counted", "make", "run", "sources"]


@dataclass(frozen=True)
class Kit:
    """A written kit. `lacking`: sentences about parts that it does not have."""

    path: Path
    size: int
    record: record.Record
    lacking: Sequence[str]


def check(subject: Experiment | Paper, path: Path) -> None:
    """Raises SpecError with all faults of the subject and of the kit's place."""
    faults = []
    if path.suffix != ".zip":
        faults.append(Fault("OUT", "must end in .zip", path))
    elif path.exists():
        faults.append(Fault("OUT", "is there already, and a kit replaces no file", path))
    elif not path.parent.is_dir():
        faults.append(Fault("OUT", "must name a file in a directory that is there", path))
    for asked in (subject.points, subject.files):
        try:
            asked()
        except SpecError as error:
            faults += error.faults
    if faults:
        raise SpecError(list(dict.fromkeys(faults)))


def run(
    subject: Experiment | Paper, runner: Runner, out: Path, command: str, progress: Progress
) -> tuple[record.Record, Path]:
    """Makes the runs, or finds them; returns their record and the directory of the report in `out`."""
    if isinstance(subject, Paper):
        from shallows.studies.paper.reproduce import reproduce

        done = reproduce(subject.given, runner, quick=subject.quick, out=out, progress=progress)
        return record.of_paper(done.sections), done.reports[0].parent
    from shallows.studies.outcomes.report import write_runs

    document, points = subject.document(), subject.points()
    with progress(subject.target, len(points)) as told:
        outcomes = runner.run(points, metrics=True, progress=told)
    title = document.get("title") or subject.name
    page = write_runs(subject.name, title, outcomes, document, out, command)
    return record.of_experiment(outcomes), page.parent


def make(
    subject: Experiment | Paper,
    runner: Runner,
    path: Path,
    command: str,
    *,
    with_sources: bool,
    progress: Progress,
) -> Kit:
    """Writes the kit `path`, which `check` has looked at. Raises RunError if a run fails, StoreError."""
    from shallows.kit import laboratory

    with tempfile.TemporaryDirectory(prefix="shallows-kit-") as place:
        folder = Path(place)
        found, report = run(subject, runner, folder / "reports", command, progress)
        if found.failed:
            raise RunError("no kit was made, since runs failed:\n" + "\n".join(found.failed[:5]))
        content: dict[str, Path | bytes] = {
            f"{FOLDER}/{name}": file for name, file in _copied(subject, folder / FOLDER).items()
        }
        content |= {
            f"report/{file.relative_to(report).as_posix()}": file
            for file in sorted(report.rglob("*"))
            if file.is_file() and not file.name.startswith(".")
        }
        page, lacking = laboratory.page_of(subject, runner.backend.name)
        if page is not None:
            content["laboratory.html"] = page.encode()
        own = list(sources()) if with_sources else []
        if with_sources and not own:
            lacking.append("no sources: this Shallows is not a checkout of git")
        content |= {f"shallows/{file.relative_to(_root()).as_posix()}": file for file in own}
        told = _document(subject, found, runner.backend.name)
        content[record.FILE] = (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode()
        content[SCRIPT] = files("shallows.kit").joinpath(SCRIPT).read_bytes()
        content["README.md"] = _readme(told, subject.name, command, content, lacking).encode()
        try:
            with replacing(path) as file:
                write_zip(file, path.stem, content)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    return Kit(path, path.stat().st_size, found, lacking)


def _copied(subject: Experiment | Paper, folder: Path) -> dict[str, Path]:
    """The subject's files in a folder of their own, where they must describe the same runs."""
    copies = {}
    for name, file in subject.files().items():
        copies[name] = folder / name
        copies[name].parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copies[name])
    here, there = ([point.key for point in each.points()] for each in (subject, subject.at(folder)))
    if here != there:
        rule = "describes other runs in a folder with its own files alone; name each file by a table's `name`"
        raise SpecError([Fault(subject.target, rule)])
    return copies


def _root() -> Path:
    return experiments_path().parent


def sources() -> Iterator[Path]:
    """The files of this checkout: those of git, and new ones below crates/. None without git."""
    root = _root()
    if not (root / ".git").exists():
        return
    asked = ["git", "-C", str(root), "ls-files", "-z"]
    for more in ((), ("--others", "--exclude-standard", "--", "crates")):
        try:
            listed = subprocess.run([*asked, *more], capture_output=True, check=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return
        for name in filter(None, listed.split("\0")):
            if (root / name).is_symlink() or (root / name).is_file():
                yield root / name


def write_zip(file: BinaryIO, top: str, content: Mapping[str, Path | bytes]) -> None:
    """A zip with one folder. Links stay links, scripts can be run, and no date differs."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(content):
            given = content[name]
            about = zipfile.ZipInfo(f"{top}/{name}", EPOCH)
            about.compress_type = zipfile.ZIP_DEFLATED
            if isinstance(given, Path) and given.is_symlink():
                about.external_attr = (stat.S_IFLNK | 0o777) << 16
                packed.writestr(about, str(given.readlink()))
                continue
            can_run = name == SCRIPT or (isinstance(given, Path) and given.stat().st_mode & stat.S_IXUSR)
            about.external_attr = (stat.S_IFREG | (0o755 if can_run else 0o644)) << 16
            packed.writestr(about, given if isinstance(given, bytes) else given.read_bytes())


def _document(subject: Experiment | Paper, found: record.Record, backend: str) -> dict[str, Any]:
    from shallows import _core

    about: dict[str, Any] = {"format": record.FORMAT, "kind": subject.kind, "target": subject.target}
    if isinstance(subject, Paper):
        about |= {"quick": subject.quick}
    else:
        about |= {"settings": list(subject.settings), "seeds": subject.seeds}
    about |= {"backend": backend, "version": release(), "source_hash": _core.source_hash()}
    results = asdict(found)
    del results["failed"]
    return about | {"environment": record.environment()} | results


def _readme(
    told: Mapping[str, Any], name: str, command: str, names: Collection[str], lacking: Sequence[str]
) -> str:
    """The text of README.md. `names` are those of the kit's files."""
    runs, verdicts = counted(told["runs"], "run"), told["verdicts"]
    sources = any(name.startswith("shallows/") for name in names)
    version, about = told["version"], told["environment"]
    lines = [f"# A kit of {name}", ""]
    form = " in its quick form" if told.get("quick") else ""
    lines += [f"This kit repeats {runs} of `{told['target']}`{form}, made with Shallows {version}.", ""]
    lines += ["## Repeat it", "", "```sh", f"sh {SCRIPT}", "```", ""]
    if sources:
        lines += ["The first call builds the simulator from `shallows/`. That takes some minutes."]
        lines += [
            "It needs Rust, Python 3.11 or newer, and the network for their packages (`shallows/README.md`)."
        ]
    else:
        made = told["source_hash"][:12]
        lines += [f"It needs Shallows {version} from the sources `{made}`. This kit has no copy of them."]
    compared = "the hash of all tables of each run" + (
        f", and {counted(verdicts, 'verdict')} on claims" if verdicts else ""
    )
    lines += [f"All runs took {_span(told['cpu_s'])} of CPU time here. The command compares {compared}."]
    lines += ["It ends with status 0 if all are equal.", "", "## What is here", ""]
    lines += ["| file | content |", "|---|---|"]
    lines += [f"| `{file}` | {content} |" for file, content in _CONTENT.items() if _has(names, file)]
    if verdicts:
        lines += ["", "## Expected verdicts", "", "| claim | verdict |", "|---|---|"]
        lines += [f"| {claim} | {verdict} |" for claim, verdict in verdicts.items()]
    if lacking:
        lines += ["", "## What is not here", "", *(f"- {sentence}" for sentence in lacking)]
    packages = ", ".join(f"{name} {about[name]}" for name in ("numpy", "polars", "matplotlib"))
    lines += ["", "## Made by", "", f"`{command}`", ""]
    lines += [f"on {about['system']} with Python {about['python']}, {packages}."]
    return "\n".join([*lines, f"The hash of the simulator's sources is `{told['source_hash']}`.", ""])


_CONTENT = {
    f"{FOLDER}/": "The experiment and the files that it names, or the folder of the paper.",
    "report/": "The report: `index.html`, its figures and its tables.",
    "laboratory.html": "The simulator in one page. A browser makes runs of the kit, with the same bytes.",
    record.FILE: "Hashes, metrics, verdicts and the environment.",
    SCRIPT: "The command.",
    "shallows/": "The sources of Shallows.",
}
"""The meaning of a kit's files."""


def _has(names: Collection[str], file: str) -> bool:
    return any(name == file or (file.endswith("/") and name.startswith(file)) for name in names)


def counted(things: Collection[Any], one: str) -> str:
    """How many: `1 run`, `2 runs`."""
    return f"1 {one}" if len(things) == 1 else f"{len(things)} {one}s"


def _span(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"
