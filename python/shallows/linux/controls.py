"""What the transport settings of an experiment become on Linux, and which of them Linux decides itself."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from shallows.errors import Fault

CONTROLS = {"newreno": "reno", "cubic": "cubic", "dctcp": "dctcp"}
"""By the simulator's name: the kernel's. Others of the kernel (bbr, vegas ...) have no counterpart there."""

HONOURED = {
    "profile",
    "cc",
    "mss",
    "header",
    "timestamps",
    "initial_window",
    "min_rto",
    "sack",
    "nagle",
    "ecn",
}
"""Settings that a sysctl, a route or a socket passes on to the kernel. The others are the kernel's own."""

__all__ = ["CONTROLS", "HONOURED", "faults", "kernel_name"]


def kernel_name(transport: dict[str, Any]) -> str:
    """The kernel's name of a load's congestion control."""
    return CONTROLS[transport["cc"]["kind"]]


@cache
def _linux_profile() -> dict[str, Any]:
    """What the profile `linux` sets, which is what the kernel does as far as settings can say it."""
    from shallows.spec import resolve

    document = {
        "duration": "1s",
        "topology": "star",
        "queue": "drop-tail",
        "transport": {"profile": "linux", "cc": "newreno"},
        "traffic": {"a": {"kind": "bulk", "from": "s0", "to": "r0"}},
    }
    return resolve(document)["traffic"]["a"]["transport"]


def faults(load: str, transport: dict[str, Any]) -> list[Fault]:
    """What of a load's resolved transport Linux cannot do, each by its path."""
    path = f"traffic.{load}.transport"
    found = []
    name = transport["cc"]["kind"]
    if name not in CONTROLS:
        found.append(Fault(f"{path}.cc", f"must be one that both have: {', '.join(CONTROLS)}", name))
    own = _linux_profile()
    for key, value in transport.items():
        if key not in HONOURED and value != own.get(key, value):
            rule = f'is the kernel\'s own, which is {json.dumps(own[key])}; profile = "linux" says so'
            found.append(Fault(f"{path}.{key}", rule, json.dumps(value)))
    if name == "dctcp" and transport["cc"] != {"kind": "dctcp", **_dctcp_defaults(transport["cc"])}:
        rule = "must have the kernel's values (g 1/16, alpha at first 1), which are its module's parameters"
        found.append(Fault(f"{path}.cc", rule, json.dumps(transport["cc"])))
    return found


def _dctcp_defaults(settings: dict[str, Any]) -> dict[str, Any]:
    known = {"g": 0.0625, "initial_alpha": 1.0, "reduction": 0.5}
    return {key: known.get(key, value) for key, value in settings.items() if key != "kind"}
