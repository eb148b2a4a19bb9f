"""The kernel's own packet scripts: where they are, and what the simulator and Linux itself do with each.

They are GPL and not copied: `scripts` takes them from the source that `./shallows linux build` fetches.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from shallows.backends.linux import cache as caches
from shallows.backends.linux import source, tools
from shallows.packetdrill.on_linux import Ran
from shallows.packetdrill.run import Outcome

__all__ = ["Table", "differences", "differences_on_linux", "digest", "found", "scripts", "table"]

INSIDE = "tools/testing/selftests/net/packetdrill"
"""Where the source has them."""


@dataclass(frozen=True)
class Table:
    """The record of the kernel's scripts, by name without `.pkt`."""

    version: str
    digest: str
    """The hash of all scripts' texts."""
    passes: tuple[str, ...]
    fails: dict[str, str]
    """The scripts that fail, with the cause of each."""
    needs: dict[str, tuple[str, ...]]
    """The scripts that need features which the simulator does not have, with these features."""
    linux: dict[str, str]
    """The scripts that do not pass on Linux itself in virtual time, with what packetdrill said."""

    def word(self, name: str) -> str:
        """`pass`, `fail`, `refused` or, for a script that is not recorded, `new`."""
        if name in self.needs:
            return "refused"
        return "pass" if name in self.passes else "fail" if name in self.fails else "new"


@cache
def table() -> Table:
    """The record, from `kernel.toml`."""
    read = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    needs = {name: tuple(features) for name, features in read["needs"].items()}
    return Table(
        read["version"], read["digest"], tuple(read["passes"]), read["fails"], needs, read.get("linux", {})
    )


def differences(outcomes: list[Outcome]) -> list[str]:
    """Where the outcomes of all scripts are not those recorded."""
    told = []
    for one in outcomes:
        expected, needs = table().word(one.path.stem), table().needs.get(one.path.stem, ())
        if one.word != expected or tuple(one.features) != needs:
            now = " ".join([one.word, "; ".join(one.features)]).strip()
            told.append(f"{one.path.name}: recorded as {expected}, and now: {now}")
    names = {one.path.stem for one in outcomes}
    recorded = {*table().passes, *table().fails, *table().needs}
    return told + [f"{name}.pkt: recorded and no longer there" for name in sorted(recorded - names)]


def differences_on_linux(ran: list[Ran], version: str) -> list[str]:
    """Where the ends of all scripts on Linux are not those recorded, if this is the recorded version."""
    if version != table().version:
        return []
    told = []
    for one in ran:
        now = "pass" if one.word == "pass" else one.said
        expected = table().linux.get(one.path.stem, "pass")
        if now != expected:
            told.append(f"{one.path.name} on Linux: recorded as {expected}, and now: {now}")
    return told


def digest(place: Path) -> str:
    """The digest of the scripts in a directory."""
    return caches.digest(*sorted(place.glob("*.pkt")))


def _place() -> Path:
    return caches.cache() / "packetdrill" / source.DEFAULT


def found() -> Path | None:
    """The directory of the scripts if it is there already."""
    return _place() if _place().is_dir() else None


def scripts(tell: Callable[[str], None]) -> Path:
    """The directory of the scripts, fetched and unpacked where it is missing. Raises ShallowsError."""
    place = _place()
    if place.is_dir():
        return place
    archive = source.fetch(source.DEFAULT, tell)
    tell("unpacking the kernel's packet scripts")
    new = place.with_name(f".new-{os.getpid()}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    depth = INSIDE.count("/") + 2
    tools.run("tar", "xf", archive, "-C", new, f"--strip-components={depth}", "--wildcards", f"*/{INSIDE}/*")
    caches.put(new, place)
    return place
