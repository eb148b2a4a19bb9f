"""The guest's root directory: its program, ip and tc with their libraries, and empty places to mount on."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from typing import Any

from shallows.backends.linux import cache, tools
from shallows.backends.linux.cache import HERE
from shallows.errors import ShallowsError

PLACES = ("dev", "proc", "sys", "run", "tmp", "bin", "sbin", "etc", "lib", "lib64")

COMPILE = ("gcc", "-O2", "-static")
"""Makes the guest from its sources, as guest/Makefile does by hand."""

__all__ = ["Root", "root"]


@dataclass(frozen=True)
class Root:
    """A root directory and its content."""

    path: Path
    about: dict[str, Any]


@once
def root() -> Root:
    """The root directory, made once for this guest program, ip and tc. Raises ShallowsError."""
    tools.require(tools.GUEST)
    sources = sorted((HERE / "guest").glob("*.[ch]"))
    programs = {name: Path(tools.find(name)).resolve() for name in ("ip", "tc")}
    name = cache.digest(*sources, *programs.values())
    place = cache.cache() / "roots" / name
    if not (place / "about.json").exists():
        with cache.locked("root"):
            if not (place / "about.json").exists():
                _make(place, name, programs)
    return Root(place / "root", json.loads((place / "about.json").read_text()))


def _make(place: Path, name: str, programs: dict[str, Path]) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        top = new / "root"
        for directory in PLACES:
            (top / directory).mkdir(parents=True)
        sources = [str(file) for file in sorted((HERE / "guest").glob("*.c"))]
        ran = subprocess.run(
            [*COMPILE, "-o", str(top / "sbin/init"), *sources], capture_output=True, text=True
        )
        if ran.returncode:
            raise ShallowsError(f"the guest program was not compiled:\n{ran.stderr[-1500:]}")
        for program, path in programs.items():
            shutil.copyfile(path, top / "bin" / program)
            (top / "bin" / program).chmod(0o755)
            for library in _libraries(path):
                target = top / library.relative_to("/")
                if not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(library, target)
                    target.chmod(0o755)
        about = {"hash": name, "tc": tools.run(programs["tc"], "-V").strip()}
        (new / "about.json").write_text(json.dumps(about))
        new.chmod(0o755)  # a run may be another user's
        cache.put(new, place)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _libraries(program: Path) -> list[Path]:
    said = tools.run("ldd", program)
    return [Path(os.path.abspath(path)) for path in re.findall(r"(/\S+) \(0x", said)]  # noqa: PTH100 - links stay
