"""Runs packet scripts against Linux itself: packetdrill, unmodified, on hosts of a machine in virtual time.

packetdrill sends and receives by a TUN device and reads times from the clock, which here is the guest's. Each
script has a host, a network namespace and files of its own, so that sysctls of one do not reach another.

Source: `ksft_runner.sh` beside the packetdrill selftests of Linux 7.2 has the addresses and definitions.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shallows.backends.linux import kernel as kernels
from shallows.backends.linux import offers
from shallows.backends.linux.backend import ready
from shallows.backends.linux.kernel import Kernel
from shallows.backends.linux.lab import programs
from shallows.document.load import load
from shallows.document.places import program as own_program
from shallows.document.points import one_run
from shallows.errors import Fault, SpecError
from shallows.packetdrill import settings

A_MACHINE = 25
"""Scripts that run on one machine, each on a host."""

LENGTH = "900s"
"""Virtual time after which a script counts as one that does not end."""

FOUR = (
    *("--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0"),
    *("--remote_ip=192.0.2.1", "-D", "TFO_COOKIE=3021b9d889017eeb", "-D", "TFO_COOKIE_ZERO=b7c12350a90dc8f5"),
    *("-D", "CMSG_LEVEL_IP=SOL_IP", "-D", "CMSG_TYPE_RECVERR=IP_RECVERR"),
)
SIX = (
    *("--mtu=1520", "--local_ip=fd3d:0a0b:17d6::1", "--gateway_ip=fd3d:0a0b:17d6:8888::1"),
    *("--remote_ip=fd3d:fa7b:d17d::1", "-D", "TFO_COOKIE=c1d1e9742a47a9bc"),
    *("-D", "TFO_COOKIE_ZERO=82af1a8f9a205c34"),
    *("-D", "CMSG_LEVEL_IP=SOL_IPV6", "-D", "CMSG_TYPE_RECVERR=IPV6_RECVERR"),
)

OWN = {
    "tcp_no_metrics_save": "0",
    "tcp_wmem": "4096 16384 4194304",
    "tcp_rmem": "4096 131072 33554432",
    "tcp_notsent_lowat": "4294967295",
    "ip_forward": "0",
}
"""The kernel's own values (Documentation/networking/ip-sysctl.rst) of the sysctls that the machine sets."""

DEFAULTS = settings.DEFAULTS | {
    "tcp_rmem": "4096 540000 15728640",
    "tcp_wmem": "4096 262144 4194304",
    "tcp_syn_retries": "5",
    "tcp_synack_retries": "5",
    "tcp_dsack": "1",
    "tcp_frto": "2",
}
"""`defaults.sh` for scripts that have none beside them."""

__all__ = ["Ran", "program", "run", "usable"]


@dataclass(frozen=True)
class Ran:
    """The end of a script on the kernel: `pass`, `fail` or `unfinished`, and what packetdrill said."""

    path: Path
    word: str
    said: str = ""


def program(given: Path | None) -> Path:
    """packetdrill's binary: the one given, else that of PATH. Raises SpecError."""
    found = given if given is not None else shutil.which("packetdrill")
    if found is None or not Path(found).is_file():
        rule = "needs packetdrill, which runs scripts on Linux"
        got = "none in PATH" if given is None else f"{given}"
        hint = "build it from https://github.com/google/packetdrill and give --program FILE"
        raise SpecError([Fault("--program", rule, got, hint)])
    return Path(found).resolve()


def usable(name: str | None) -> Kernel:
    """The kernel of this name, else the one built last, which must have TUN. Raises SpecError."""
    used = ready(name)
    if not offers.has_tun(used):
        rule = f"needs TUN, which Linux {used.about['version']} ({used.hash}) was built without"
        hint = f"{own_program()} linux build --config features"
        raise SpecError([Fault(kernels.SETTING, rule, hint=hint)])
    return used


def run(
    paths: Sequence[Path], binary: Path, used: Kernel, progress: Callable[[float], None] = lambda share: None
) -> list[Ran]:
    """Runs the scripts, several on a machine. Raises RunError if a machine breaks."""
    found: list[Ran] = []
    for first in range(0, len(paths), A_MACHINE):
        found += _machine(paths[first : first + A_MACHINE], binary, used)
        progress(len(found) / len(paths))
    return found


def _machine(paths: Sequence[Path], binary: Path, used: Kernel) -> list[Ran]:
    star = {"kind": "star", "senders": len(paths), "rate": "1Gbps", "delay": "10us"}
    queue = {"kind": "drop-tail", "limit": "100pkt"}
    transport = {"profile": "linux", "cc": "cubic"}
    document = {"duration": LENGTH, "topology": star, "queue": queue, "transport": transport}
    resolved = one_run(programs.experiment(load(document, []))).experiment
    commands = tuple(
        programs.command(f"s{number}", command(path, binary)) for number, path in enumerate(paths)
    )
    outcome = programs.execute(resolved, programs.Lab(commands, Path.cwd(), kernel=used.hash), None)
    return [
        Ran(path, "unfinished" if end.stopped else "fail" if end.failed else "pass", _said(end.stderr, path))
        for path, end in zip(paths, outcome.programs, strict=True)
    ]


def command(path: Path, binary: Path) -> str:
    """The shell's command for a script, in the script's directory, as the kernel's own runner does it."""
    text = path.read_text(errors="replace")
    version = re.search(r"^--ip_version=(\S+)", text, re.MULTILINE)
    six = version is not None and version[1] == "ipv6"
    words = [
        str(binary),
        f"--ip_version={version[1] if version else 'ipv4'}",
        *(SIX if six else FOUR),
        path.name,
    ]
    lines = ["#!/bin/sh", *(f"sysctl -q net.ipv4.{shlex.quote(f'{k}={v}')}" for k, v in DEFAULTS.items())]
    defaults = shlex.join(["printf", r"%s\n", *lines, "tc qdisc add dev tun0 root pfifo"])
    own = shlex.join(f"net.ipv4.{name}={value}" for name, value in OWN.items())
    return "; ".join(
        [
            f"cd {shlex.quote(str(path.resolve().parent))}",
            f"test -e defaults.sh || {{ {defaults} >defaults.sh && chmod +x defaults.sh; }}",
            f"sysctl -q {own} && exec {shlex.join(words)}",
        ]
    )


def _said(stderr: bytes, path: Path) -> str:
    """The first line that names the script, which is packetdrill's own, without the script's name."""
    lines = [line.strip() for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    own = [line for line in lines if line.startswith(f"{path.name}:")]
    missing = [found[1] for line in lines if (found := re.search(r"(\S+): (?:command )?not found$", line))]
    also = f" ({missing[0]} is not installed)" if missing else ""
    return (own or lines or [""])[0].removeprefix(f"{path.name}:").strip() + also
