"""The environment of programs: one for all callers, but for an activated Python or Conda environment."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from shallows.backends.linux.lab.outcome import Ended
from shallows.document.places import program as own_program

PLAIN = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "USER": "root",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Without the processor's clock (bit 4) and random numbers (bits 62, 64 + 18): OPENSSL_ia32cap(3).
    "OPENSSL_ia32cap": "~0x4000000000000010:~0x40000",
}
"""Nothing else of the caller's shell changes a run; `--env` adds to it."""

ACTIVATED = ("VIRTUAL_ENV", "CONDA_PREFIX")
"""Variables that name an activated environment, whose programs come first."""

NOT_FOUND = 127
"""The shell's exit status for a command that it does not find."""

__all__ = ["no_version_6", "not_found", "variables"]


def variables(given: Mapping[str, str]) -> dict[str, str]:
    """The variables of every program; `given` are those of `--env`."""
    found = dict(PLAIN)
    for name in ACTIVATED:
        place = os.environ.get(name)
        if place and (Path(place) / "bin").is_dir():
            found["PATH"] = f"{Path(place) / 'bin'}:{found['PATH']}"
            found[name] = place
    return found | dict(given)


def no_version_6(program: Ended) -> str | None:
    """A line about a program that failed for want of version 6 of IP, as nginx of Debian's site does."""
    if not program.failed or b"Address family not supported by protocol" not in program.stderr:
        return None
    return (
        f"{program.host}: {program.command!r} asks for IPv6, which this kernel was built without;"
        f" {own_program()} linux build --config features has it"
    )


def not_found(program: Ended, given: Mapping[str, str]) -> str | None:
    """A line about a command that the shell did not find, although the caller's shell would."""
    if program.status != NOT_FOUND:
        return None
    named = re.search(r"(?:^|: )([^\s:/]+): (?:command )?not found", program.stderr.decode(errors="replace"))
    place = shutil.which(named[1]) if named else None
    if not named or place is None or shutil.which(named[1], path=variables(given)["PATH"]):
        return None
    return (
        f"{program.host}: {named[1]} is {place} in your PATH, which is not the programs';"
        f' write the whole name, or give --env "PATH=$PATH"'
    )
