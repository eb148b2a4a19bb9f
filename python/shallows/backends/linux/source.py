"""Kernel sources from the machine's own Debian mirror, without touching the machine's package lists.

No address is written here: the mirror is the one that the machine's apt is set up for.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from shallows.backends.linux import cache, tools
from shallows.errors import ShallowsError

NEWER_SUITES = ("trixie-backports", "forky", "sid")
"""The suites of Debian in which sources are searched that the machine's own suite does not have."""

DEFAULT = "linux-source-7.2"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

__all__ = ["DEFAULT", "fetch"]


def fetch(package: str, tell: Callable[[str], None]) -> Path:
    """The package's source archive (linux-source-*.tar.xz), downloaded once. Raises ShallowsError."""
    tools.require(tools.FETCH)
    place = cache.cache() / "sources" / package
    found = sorted(place.glob("linux-source-*.tar.xz"))
    if found:
        return found[0]
    installed = sorted(Path("/usr/src").glob(f"{package}.tar.xz"))
    if installed:
        return installed[0]
    shutil.rmtree(place, ignore_errors=True)  # remains of an interrupted download
    place.mkdir(parents=True)
    suites = [None, *NEWER_SUITES]  # the machine's own first
    said = []
    for suite in suites:
        try:
            options = [] if suite is None else _private_lists(suite, tell)
            tell(f"downloading {package} ({suite or 'the suite of this machine'})")
            _apt(["download", *options, package], place)
            break
        except _NoNetwork:
            raise
        except ShallowsError as error:
            said.append(f"{suite or 'own suite'}: {error}")
    else:
        why = "; ".join(said)
        raise ShallowsError(
            f"{package} was not found ({why}); give a kernel tree with --tree, or a binary with --kernel"
        )
    [archive] = place.glob("*.deb")
    unpacked = place / "unpacked"
    tools.run("dpkg-deb", "-x", archive, unpacked)
    source = next(unpacked.glob("usr/src/linux-source-*.tar.xz"), None)
    if source is None:
        raise ShallowsError(f"{package} is not a kernel source package: it holds no linux-source-*.tar.xz")
    kept = place / source.name
    source.rename(kept)
    shutil.rmtree(unpacked)
    archive.unlink()
    return kept


NO_NETWORK = re.compile(
    r"Temporary failure resolving|Could not resolve|Could not connect|Unable to connect|Connection refused"
    r"|Network is unreachable|[Cc]onnection timed out|Cannot initiate the connection"
)
"""The words of apt where there is no way to its mirror."""

PATIENCE = ["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=15", "-o", "Acquire::https::Timeout=15"]


def _apt(arguments: list[str], directory: Path) -> None:
    command = ["apt-get", *PATIENCE, *arguments]
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if NO_NETWORK.search(ran.stderr):
        raise _NoNetwork(
            "the network is missing: apt cannot reach its mirror, from which the kernel's sources come; "
            "give a kernel tree with --tree, or a binary with --kernel"
        )
    if ran.returncode:
        raise ShallowsError(_last_error(ran.stderr) or f"apt-get ended with {ran.returncode}")


class _NoNetwork(ShallowsError):
    """No other suite of the mirror helps."""


def _last_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("E:")]
    return re.sub(r"\S+://\S+", "(the mirror)", lines[-1]) if lines else ""


def _private_lists(suite: str, tell: Callable[[str], None]) -> list[str]:
    """Options that make apt use lists of its own for another suite of the machine's mirror."""
    directory = cache.cache() / "apt" / suite
    for part in ("lists/partial", "archives/partial"):
        (directory / part).mkdir(parents=True, exist_ok=True)
    signed = f" [signed-by={KEYRING}]" if KEYRING.exists() else ""
    (directory / "sources.list").write_text(f"deb{signed} {_mirror()} {suite} main\n")
    options = [
        f"Dir::Etc::SourceList={directory}/sources.list",
        "Dir::Etc::SourceParts=/dev/null",
        f"Dir::State::Lists={directory}/lists",
        f"Dir::Cache::Archives={directory}/archives",
        f"Dir::Cache::pkgcache={directory}/pkgcache.bin",
        f"Dir::Cache::srcpkgcache={directory}/srcpkgcache.bin",
        "APT::Get::List-Cleanup=0",
        "Acquire::Languages=none",
    ]
    flags = [word for option in options for word in ("-o", option)]
    tell(f"reading the package list of {suite}")
    _apt(["update", *flags], directory)
    return flags


def _mirror() -> str:
    for file in sorted(Path("/etc/apt/sources.list.d").glob("*.sources")):
        for address in re.findall(r"^URIs:\s*(\S+)", file.read_text(), re.MULTILINE):
            if "security" not in address:
                return address
    lists = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*.list"))]
    for file in filter(Path.exists, lists):
        for address in re.findall(r"^deb\s+(?:\[[^]]*\]\s+)?(\S+)", file.read_text(), re.MULTILINE):
            if "security" not in address:
                return address
    raise ShallowsError("this machine's apt has no Debian mirror")
