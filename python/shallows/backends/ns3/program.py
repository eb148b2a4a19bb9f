"""The program that runs a cell on ns-3: compiled on first use, then cached."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path

from shallows.backends.linux import cache
from shallows.errors import ShallowsError

SOURCES = Path(__file__).parent / "gpl"
INSTALL = "apt install libns3-dev g++ pkg-config"
LIBRARIES = ("internet", "point-to-point", "traffic-control", "network", "core")
FLAGS = ("-std=c++17", "-O2")

__all__ = ["INSTALL", "Program", "installed", "program"]


@dataclass(frozen=True)
class Program:
    """The compiled program; its name is a hash of its source, the compiler and the version of ns-3."""

    path: Path
    hash: str
    version: str


@once
def installed() -> str | None:
    """The version of ns-3 that programs can be compiled with, or None."""
    if not shutil.which("g++") or not shutil.which("pkg-config"):
        return None
    packages = [f"ns3-{library}" for library in LIBRARIES]
    asked = subprocess.run(["pkg-config", "--modversion", *packages], capture_output=True, text=True)
    return asked.stdout.split()[0] if asked.returncode == 0 else None


@once
def program(source: Path = SOURCES / "star.cc") -> Program:
    """The program of this source, compiled if it is not in the cache. Raises ShallowsError.

    It may include the headers beside `star.cc`.
    """
    version = installed()
    if version is None:
        raise ShallowsError(f"ns-3: not installed ({INSTALL})")
    compiler = subprocess.run(["g++", "--version"], capture_output=True, check=True).stdout
    name = cache.digest(
        *sorted({*SOURCES.glob("*.[ch]*"), source}), compiler, " ".join(FLAGS).encode(), version.encode()
    )
    places = cache.cache().parent / "ns3"
    place = places / name
    if not (place / source.stem).exists():
        places.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=places))
        try:
            # Named one by one: Debian's .pc files want libraries that its package does not depend on.
            command = [
                "g++",
                *FLAGS,
                f"-I{SOURCES}",
                str(source),
                "-o",
                str(new / source.stem),
                *(f"-lns3-{x}" for x in LIBRARIES),
            ]
            ran = subprocess.run(command, capture_output=True, text=True)
            if ran.returncode:
                raise ShallowsError(
                    f"ns-3: its program was not compiled with {version}:\n{ran.stderr[-1500:]}"
                )
            (new / "about.json").write_text(json.dumps({"ns3": version, "compiler": compiler.decode()}))
            new.chmod(0o755)
            cache.put(new, place)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return Program(place / source.stem, name, version)
