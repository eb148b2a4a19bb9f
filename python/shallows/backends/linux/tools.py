"""Programs of the machine that the backend needs, and the command that installs missing ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from shallows.errors import ShallowsError

BUILD = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "strip": "binutils",
    "xz": "xz-utils",
    "tar": "tar",
}
"""To build a kernel: program and Debian package."""

FETCH = {"apt-get": "apt", "dpkg-deb": "dpkg"}
"""To get its source where none is given."""

GUEST = {"gcc": "gcc", "ip": "iproute2", "tc": "iproute2", "ldd": "libc-bin"}
"""To make the guest's root directory."""

STATIC_LIBRARY = "libc6-dev"

__all__ = ["BUILD", "FETCH", "GUEST", "find", "require", "run"]


def run(*command: str | Path) -> str:
    """The output of a program. Raises ShallowsError with what it says if it fails."""
    words = [str(word) for word in command]
    ran = subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    if ran.returncode:
        raise ShallowsError(
            f"{words[0]} failed: {(ran.stderr or ran.stdout).strip()[-600:] or ran.returncode}"
        )
    return ran.stdout


def find(program: str) -> str | None:
    """Path of a program; administrators' directories are looked in too."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")


def require(programs: dict[str, str]) -> None:
    """Raises ShallowsError with all that is missing, and how to install it."""
    missing = [program for program in programs if find(program) is None]
    packages = {programs[program] for program in missing}
    if "gcc" in programs and not any(Path("/usr").glob("lib*/**/libc.a")):
        missing.append("the static C library")
        packages.add(STATIC_LIBRARY)
    if missing:
        install = f"sudo apt install {' '.join(sorted(packages))}"
        raise ShallowsError(f"the Linux backend needs {', '.join(missing)}; on Debian: {install}")
