"""The offers of a kernel, asked of itself: congestion controls, devices, sysctls, module parameters."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from shallows.backends.linux import controls, machine, root
from shallows.backends.linux.kernel import Kernel
from shallows.backends.linux.qdiscs import polices
from shallows.errors import Fault
from shallows.words import did_you_mean

OWN = {
    "tcp_ecn": "transport.ecn and transport.echo",
    "tcp_ecn_option": "transport.echo",
    "tcp_sack": "transport.sack",
    "tcp_timestamps": "transport.timestamps",
    "tcp_congestion_control": "transport.cc",
    "tcp_reflect_tos": "the traffic classes of probe.port_trace",
    "ip_forward": "the network",
    "fib_multipath_hash_policy": "the choice among paths",
    "fib_multipath_hash_fields": "the choice among paths",
    "fib_multipath_hash_seed": "the choice among paths",
}
"""Sysctls that follow from other settings, and from which."""

MOST_SHOWN = 24

__all__ = ["Offers", "faults", "has_tun", "of", "runs_programs"]


@dataclass(frozen=True)
class Offers:
    """The names that a kernel has. A module parameter is known with whether it can be written."""

    controls: tuple[str, ...]
    filesystems: tuple[str, ...]
    devices: tuple[str, ...]
    actions: tuple[str, ...]
    sysctls: tuple[str, ...]
    parameters: Mapping[str, bool]


def of(kernel: Kernel) -> Offers:
    """The offers of a kernel, which boots once for them; the answer stays beside it. Raises RunError."""
    made = root.root()
    file = kernel.path.parent / f"offers-{made.about['hash']}.json"
    if not file.exists():
        with machine.boot(kernel, made, "duration 1000000\noffers\ngo\n", 1) as answer:
            found = _read((answer.directory / "offers").read_text())
        new = file.with_suffix(f".{machine.own_number()}")
        new.write_text(json.dumps(found, indent=1))
        new.replace(file)
    told = json.loads(file.read_text())
    lists = ("controls", "filesystems", "devices", "actions", "sysctls")
    return Offers(*(tuple(told[key]) for key in lists), told["parameters"])


def _read(text: str) -> dict[str, Any]:
    rows = [line.split(" ") for line in text.splitlines()]
    return {
        "controls": sorted(words[1] for words in rows if words[0] == "control"),
        "filesystems": sorted(words[1] for words in rows if words[0] == "filesystem"),
        "devices": sorted(words[1] for words in rows if words[0] == "device"),
        "actions": sorted(words[1] for words in rows if words[0] == "action"),
        "sysctls": sorted(words[1] for words in rows if words[0] == "sysctl"),
        "parameters": {words[1]: words[2] == "1" for words in sorted(rows) if words[0] == "parameter"},
    }


LAYERS = "overlay"
"""The file system by which programs of each host have files of their own."""


def runs_programs(kernel: Kernel) -> Fault | None:
    """The fault of a kernel on which no programs of this machine can run."""
    if LAYERS in of(kernel).filesystems:
        return None
    rule = f"needs overlayfs, which Linux {kernel.about['version']} ({kernel.hash}) was built without"
    return Fault("linux exec", rule, hint="CONFIG_OVERLAY_FS=y", code="unsupported")


def has_tun(kernel: Kernel) -> bool:
    """Whether programs can send and receive packets by /dev/net/tun."""
    return "tun" in of(kernel).devices


def faults(experiment: Mapping[str, Any], kernel: Kernel) -> list[Fault]:
    """All that an experiment asks of this kernel by name and that it has not."""
    asked = experiment.get("linux", {})
    names = {
        f"traffic.{name}.transport.cc.name": load["transport"]["cc"]["name"]
        for name, load in experiment["traffic"].items()
        if load["transport"].get("cc", {}).get("kind") == controls.KERNEL
    }
    sysctls, parameters = asked.get("sysctl", {}), asked.get("parameter", {})
    found = [
        Fault(f"linux.sysctl.{name}", f"follows from {OWN[name]} here, and is set there", value)
        for name, value in sysctls.items()
        if name in OWN
    ]
    policed = _policers(experiment)
    if not (names or sysctls or parameters or policed):
        return found
    has = of(kernel)
    if "police" not in has.actions:
        rule = "needs a kernel with CONFIG_NET_ACT_POLICE, as of linux build --config features"
        found += [Fault(path, rule, "policer", code="unsupported") for path in policed]
    about = f"Linux {kernel.about['version']}"
    for path, name in names.items():
        if name not in has.controls:
            rule = f"must be a congestion control of {about}, which has {', '.join(has.controls)}"
            found.append(Fault(path, rule, name, did_you_mean(name, has.controls), "unknown-word"))
    found += _unknown("sysctl", sysctls, has.sysctls, f"{about} has no such sysctl of net")
    found += _unknown("parameter", parameters, has.parameters, f"{about} has no such module parameter")
    return found


def _policers(experiment: Mapping[str, Any]) -> list[str]:
    """The paths of disciplines that police."""
    queues = {place: experiment[place] for place in ("queue", "nic")}
    queues |= {
        f"port.{name}.queue": port["queue"] for name, port in experiment["port"].items() if "queue" in port
    }
    return [f"{path}.kind" for path, queue in queues.items() if polices(queue)]


def _unknown(key: str, given: Mapping[str, str], known: Collection[str], rule: str) -> list[Fault]:
    return [
        Fault(f"linux.{key}.{name}", rule, value, did_you_mean(name, known), "unknown-key")
        for name, value in given.items()
        if name not in known and not (key == "sysctl" and name in OWN)
    ]
