"""Transport settings on Linux: their translation, and the settings that the kernel fixes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from shallows.document.kernel_settings import without
from shallows.document.schema import elsewhere, facts
from shallows.errors import Fault

KERNEL = "kernel"
"""The kind whose `name` is the kernel's, which the simulator has not."""

STAND_IN = "newreno"
"""Stands in for the kernel's control when the simulator computes arrivals, which depend on no control."""

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
    "echo",
    "burst",
    "receive_window",
    "ack_every",
}
"""Settings that a sysctl, a route or a socket passes on to the kernel. The others are the kernel's own."""

ALSO = {("dctcp", "whole_segments"): True, ("cubic", "slow_start"): "hystart"}
"""Settings of a control by which a file may spell out what their defaults are in Linux's arithmetic."""

LIKE = "as in experiments/quickstart-linux.toml"

MOST_BURST = 44
"""Segments of the largest super-packet of IPv4, 64 KB."""

HEADER = "40B"
"""IPv4 and TCP without options: the kernel's."""

ACK_EVERY = (1, 2)
"""The kernel's own rule, and that of routes with `quickack`."""

ECHOES = ("auto", "accecn")

MISBEHAVIOUR: dict[str, Any] = {"ack_pieces": 1, "ack_repeats": 0, "ack_ahead": "none", "hide_marks": False}
"""Settings of misbehaving receivers, and their values for an honest one."""

__all__ = [
    "HONOURED",
    "controls",
    "faults",
    "kernel_name",
    "own_load",
    "shown_name",
    "with_stand_ins",
]


def controls() -> dict[str, str]:
    """The congestion controls that the kernel has too: by the simulator's name the kernel's."""
    return elsewhere("transport.cc", "linux")


def kernel_name(transport: Mapping[str, Any]) -> str:
    """The kernel's name of a load's congestion control."""
    cc = transport["cc"]
    return cc["name"] if cc["kind"] == KERNEL else controls()[cc["kind"]]


def shown_name(transport: Mapping[str, Any]) -> str:
    """Its name in tables: the kernel's where the experiment gives that, else the simulator's."""
    cc = transport["cc"]
    return cc["name"] if cc["kind"] == KERNEL else cc["kind"]


def with_stand_ins(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """The resolved experiment whose simulation tells all arrivals.

    It has controls of the simulator in place of the kernel's own, and no warm-up: tables leave out messages
    and flows that are over before it ends. Nobody needs its packets.
    """
    loads = {
        name: load | {"transport": load["transport"] | {"cc": {"kind": STAND_IN}}}
        if load["transport"]["cc"]["kind"] == KERNEL
        else load
        for name, load in experiment["traffic"].items()
    }
    probe = {**experiment["probe"], "audit": False}
    return {**without(experiment), "traffic": loads, "warmup": "0s", "probe": probe}


def _own(kind: str) -> dict[str, Any]:
    """The kernel's values: the settings of the profile `linux` and of a control's defaults."""
    return own_load(kind)["transport"]


@cache
def own_load(kind: str = STAND_IN) -> dict[str, Any]:
    """A resolved load with the kernel's own transport."""
    from shallows.document.check import resolve

    document = {
        "duration": "1s",
        "topology": "star",
        "queue": "drop-tail",
        "transport": {"profile": "linux", "cc": kind},
        "traffic": {"a": {"kind": "bulk", "from": "s0", "to": "r0"}},
    }
    return resolve(document)["traffic"]["a"]


def faults(load: str, transport: dict[str, Any]) -> list[Fault]:
    """The settings of a load's resolved transport that Linux cannot do, by path."""
    path = f"traffic.{load}.transport"
    found = []
    cc = transport["cc"]
    if other := facts("transport", transport["profile"])["not_tcp"]:
        rule = f"must be one of TCP's on Linux: the simulator alone has {other}"
        return [Fault(f"{path}.profile", rule, transport["profile"])]
    if cc["kind"] in controls():
        found += _cc_faults(f"{path}.cc", cc)
    elif cc["kind"] != KERNEL:
        rule = f"must be one of {', '.join(controls())} on Linux, or any control of the kernel by its name"
        found.append(Fault(f"{path}.cc", rule, cc["kind"], 'cc = { kind = "kernel", name = "bbr" }'))
    found += _fixed_faults(path, {key: transport[key] for key in transport if key not in MISBEHAVIOUR})
    for key, honest in MISBEHAVIOUR.items():
        if transport.get(key, honest) != honest:
            rule = f"must be {json.dumps(honest)} on Linux: only the simulator has misbehaving receivers"
            found.append(Fault(f"{path}.{key}", rule, transport[key]))
    if transport["burst"] > MOST_BURST:
        found.append(
            Fault(f"{path}.burst", f"must be at most {MOST_BURST} on Linux: 64 KB", transport["burst"])
        )
    if transport["header"] != HEADER:
        rule = f"must be {HEADER} on Linux, whose packets have these headers"
        found.append(Fault(f"{path}.header", rule, transport["header"]))
    if transport["ack_every"] not in ACK_EVERY:
        rule = "must be 2 on Linux, or 1 (quickack of a route): it has no setting for more"
        found.append(Fault(f"{path}.ack_every", rule, transport["ack_every"]))
    if transport["echo"] not in ECHOES:
        rule = f"must be one of {', '.join(ECHOES)} on Linux, whose receivers follow the negotiation"
        found.append(Fault(f"{path}.echo", rule, transport["echo"]))
    elif transport["echo"] == "accecn" and not (transport["ecn"] == "on" or cc.get("kind") == "dctcp"):
        rule = 'needs ecn = "on" on Linux, where one setting (tcp_ecn) chooses both'
        found.append(Fault(f"{path}.echo", rule, transport["echo"]))
    if "dctcp" in (cc["kind"], cc.get("name")) and transport["ecn"] == "off":
        found.append(Fault(f"{path}.ecn", "must not be off: Linux's DCTCP always negotiates ECN", "off"))
    return found


def _fixed_faults(path: str, transport: Mapping[str, Any]) -> list[Fault]:
    """The settings that the kernel fixes: each by itself, or as one fault where the profile is another's."""
    own = _own(STAND_IN)
    wrong = [
        key for key in transport if key not in HONOURED and transport[key] != own.get(key, transport[key])
    ]
    if wrong and transport["profile"] != "linux":
        values = ", ".join(f"{key} = {json.dumps(own[key])}" for key in wrong)
        rule = f'must be "linux" for Linux, or all as the kernel has it: {values}'
        return [Fault(f"{path}.profile", rule, transport["profile"], LIKE)]
    rule = 'is the kernel\'s own, which is {}; profile = "linux" sets it'
    return [Fault(f"{path}.{key}", rule.format(json.dumps(own[key])), transport[key]) for key in wrong]


def _cc_faults(path: str, cc: Mapping[str, Any]) -> list[Fault]:
    """A control's settings that are not the kernel's, whose module keeps its own."""
    own = _own(cc["kind"])["cc"]
    wrong = [key for key in cc if cc[key] not in (own[key], ALSO.get((cc["kind"], key), own[key]))]
    return [
        Fault(f"{path}.{key}", f"must be the kernel's value, {json.dumps(own[key])}", cc[key])
        for key in wrong
    ]
