"""Jobs that a page starts: the command line in a process of its own, which a closed tab does not end.

The process is the same `./shallows` command that the page shows, with the same store, so hashes are the same
and what is stored is found. Its progress is what it prints.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.document.places import program
from shallows.errors import Fault, SpecError
from shallows.studies.page.place import file_name
from shallows.terminal import PROGRESS_LINES
from shallows.web.limits import Limits

if TYPE_CHECKING:
    from shallows.results.store import Store

KINDS = ("run", "sweep", "compare", "tune", "reproduce")
PROGRESS = re.compile(r"^(.*): ([\d.]+)%, about (\d+) s left(.*)$")
TARGET = re.compile(r"^[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)?$")
MOST_OUTPUT = 20_000_000
MOST_KEPT = 50
LAST_LINES = 40

__all__ = ["KINDS", "Job", "Jobs", "hashes"]


@dataclass
class Job:
    """A command under way or over: `state` is running, done, failed or cancelled."""

    name: str
    kind: str
    command: list[str]
    folder: Path
    state: str = "running"
    share: float = 0.0
    left: str = ""
    stage: str = ""
    """The part that the share describes: a reproduction has one for each round of runs."""
    lines: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.time)
    ended: float | None = None
    result: Any = None
    process: subprocess.Popen[bytes] | None = None

    @property
    def shown(self) -> str:
        """The command as one would type it."""
        names = {str(path): "mine.toml" for path in self.folder.glob("*.toml")}
        names[str(self.folder / "second.toml")] = "second.toml"
        return f"{program()} {shlex.join(names.get(word, word) for word in self.command)}"

    @property
    def report(self) -> str | None:
        """The name of the report that it has written, if it writes one."""
        path = self.result.get("report") if isinstance(self.result, dict) else None
        return Path(path).parent.name if isinstance(path, str) else None


class Jobs:
    """All jobs of a server."""

    def __init__(self, limits: Limits, store: Store, allow_python: bool):
        self._limits, self._store, self._allow = limits, store, allow_python
        self._jobs: dict[str, Job] = {}
        self._made: Path | None = None

    @property
    def _folder(self) -> Path:
        """Made for the first job: a server that ends before leaves nothing."""
        if self._made is None:
            self._made = Path(tempfile.mkdtemp(prefix="shallows-jobs-"))
        return self._made

    def all(self) -> list[Job]:
        """The newest first."""
        return sorted(self._jobs.values(), key=lambda job: -job.began)

    def get(self, name: str) -> Job | None:
        """The job of a name."""
        return self._jobs.get(name)

    def start(self, kind: str, text: str, options: Mapping[str, Any]) -> Job:
        """Begins a job on an experiment's text, or a paper's reproduction. Raises SpecError if it may not."""
        if kind not in KINDS:
            raise SpecError([Fault("kind", f"must be one of {', '.join(KINDS)}", kind[:40])])
        if sum(job.state == "running" for job in self._jobs.values()) >= self._limits.jobs:
            rule = f"is refused: {self._limits.jobs} jobs are under way already"
            raise SpecError([Fault("jobs", rule, hint="wait, or cancel one")])
        folder = self._folder / secrets.token_hex(8)
        folder.mkdir()
        command = [kind, *self._arguments(kind, text, options, folder)]
        job = Job(secrets.token_hex(6), kind, command, folder)
        self._forget_old()
        self._jobs[job.name] = job
        with (folder / "output").open("wb") as output:
            job.process = subprocess.Popen(
                [sys.executable, "-m", "shallows", *command],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, start_new_session=True,
                env={**os.environ, PROGRESS_LINES: "400"},
            )  # fmt: skip
        threading.Thread(target=self._watch, args=(job,), daemon=True).start()
        return job

    def _arguments(self, kind: str, text: str, options: Mapping[str, Any], folder: Path) -> list[str]:
        words: list[str] = []
        if kind == "reproduce":
            target = str(options.get("target", ""))
            if not TARGET.match(target):
                raise SpecError([Fault("target", "must be PAPER or PAPER/FIGURE", target[:80])])
            words += [target, *(["--quick"] if options.get("quick") else [])]
        else:
            words.append(str(self._file(text, options, folder)))
            if options.get("second"):
                words.append(str(self._second(text, list(options["second"]), folder)))
        for setting in options.get("settings", ()):
            words += ["--set", str(setting)]
        if kind == "compare":
            for vary in options.get("vary", ()):
                words += ["--vary", str(vary)]
        if kind in ("run", "compare") and options.get("seeds"):
            words += ["--seeds", str(_count("seeds", options["seeds"]))]
        if kind in ("sweep", "compare", "tune") and options.get("workers"):
            words += ["--workers", str(_count("workers", options["workers"]))]
        return [*words, "--store", str(self._store.path.absolute()), "--json"]

    def _file(self, text: str, options: Mapping[str, Any], folder: Path) -> Path:
        """The experiment as a file; names that a page may not use are refused here too.

        The check reads the documents that the command will make, by the command's own parsers.
        """
        from shallows.document.paths import set_path
        from shallows.studies.compare.section import varied
        from shallows.web.editor.document import parse, refuse

        given = [str(setting) for setting in options.get("settings", ())]
        document = parse(text, (), self._limits, self._allow)
        parse(text, given, self._limits, self._allow)
        faults: list[Fault] = []
        for path, value in itertools.chain(*varied([str(v) for v in options.get("vary", ())], faults)):
            made = parse(text, given, self._limits, self._allow)
            set_path(made, path, value)
            refuse(made, self._allow)
        if faults:
            raise SpecError(faults)
        python = tomllib.loads(text).get("python", {})
        if "python" in document and python.get("modules"):
            from shallows.web.editor.editing import put

            names = python["modules"] if isinstance(python["modules"], list) else [python["modules"]]
            text = put(text, "python.modules", [str(Path.cwd() / str(name)) for name in names])
        path = folder / f"{file_name(str(document.get('title') or ''))[:60] or 'mine'}.toml"
        path.write_text(text)
        return path

    def _second(self, text: str, settings: list[str], folder: Path) -> Path:
        """The other scheme of a comparison, as a file of its own."""
        import tomlkit

        from shallows.web.editor.document import parse

        path = folder / "second.toml"
        path.write_text(tomlkit.dumps(parse(text, settings, self._limits, self._allow)))
        return path

    def cancel(self, job: Job) -> None:
        """Asks it to stop as Ctrl-C does, and ends it if it does not."""
        if job.process is None or job.state != "running":
            return
        job.state = "cancelled"
        with contextlib.suppress(ProcessLookupError):
            job.process.send_signal(signal.SIGINT)
        ending = threading.Timer(5.0, self._kill, (job,))
        ending.daemon = True
        ending.start()

    @staticmethod
    def _kill(job: Job) -> None:
        if job.process is not None and job.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.process.pid, signal.SIGKILL)  # its workers too

    def _watch(self, job: Job) -> None:
        """Reads the lines of the process and its end, in a thread."""
        assert job.process is not None and job.process.stderr is not None
        for raw in job.process.stderr:
            line = raw.decode(errors="replace").rstrip()
            found = PROGRESS.search(line)
            if found:
                job.stage, job.share = found[1], float(found[2]) / 100
                job.left = f"about {found[3]} s left{found[4]}"
            elif line:
                job.lines = [*job.lines, line[:500]][-LAST_LINES:]
        status = job.process.wait()
        job.result = _result(job.folder / "output")
        job.ended = time.time()
        if job.state == "running":
            job.state, job.left = ("done" if status == 0 else "failed"), ""
            job.share = 1.0 if status == 0 else job.share
        if status != 0 and isinstance(job.result, dict) and "error" in job.result:
            job.lines = [*job.lines, *_error_lines(job.result["error"])][-LAST_LINES:]

    def _forget_old(self) -> None:
        over = [job for job in self.all() if job.state != "running"]
        for job in over[MOST_KEPT:]:
            shutil.rmtree(job.folder, ignore_errors=True)
            del self._jobs[job.name]

    def close(self) -> None:
        """The server ends: so do its jobs. Ended runs are stored."""
        for job in self._jobs.values():
            self._kill(job)
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)


def _count(name: str, value: Any) -> int:
    """A number of seeds or workers. Raises SpecError for anything else."""
    text = str(value)
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise SpecError([Fault(name, "must be a whole number from 1 to 999999", text[:40])])
    return int(text)


def _result(path: Path) -> Any:
    """The JSON document that the command printed; None if it printed none."""
    try:
        if path.stat().st_size > MOST_OUTPUT:
            return None
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _error_lines(error: Any) -> list[str]:
    if isinstance(error, dict) and isinstance(error.get("faults"), list):
        return [": ".join(filter(None, [f.get("path"), f.get("rule")])) for f in error["faults"]]
    return [str(error)[:2000]]


def hashes(result: Any) -> list[str]:
    """Names of runs in what a command printed."""
    if isinstance(result, dict):
        own = [result["hash"]] if isinstance(result.get("hash"), str) else []
        return own + [name for value in result.values() for name in hashes(value)]
    if isinstance(result, list):
        return [name for value in result for name in hashes(value)]
    return []
