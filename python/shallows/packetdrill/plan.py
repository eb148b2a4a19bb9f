"""The meaning of a script's events: settings of the host, and steps that the runner takes.

A part that the simulator does not have is refused by the name of what it needs, all parts at once, before
anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows.packetdrill import assertions, forms, grammar, settings
from shallows.packetdrill.calls import Calls, Refused
from shallows.packetdrill.grammar import Call, Code, Event, Packet, Shell, Time

__all__ = ["Need", "Plan", "Step", "Tolerance", "compile_"]

OUR_MSS = 1460
"""Ethernet's 1500 bytes less 40 of headers."""

DEFAULT_MSS = 536
"""RFC 9293 s.3.7.1, where the peer's SYN names none."""

TIMESTAMP_BYTES = 12

NEEDED_OPTIONS = {
    "md5": "TCP-MD5",
    "FO": "TCP Fast Open",
    "FOEXP": "TCP Fast Open",
    "ECN": "AccECN's negotiation",
}
PLAIN_OPTIONS = ("mss", "wscale", "sackOK", "sack", "TS", "nop", "eol")

IGNORED_FLAGS = (
    "ip_version",
    "mss",
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "send_omit_free",
    "verbose",
)
"""Options of packetdrill about addresses, buffers and coalescing, which no event here depends on."""


@dataclass(frozen=True)
class Need:
    """A feature that a line needs and the simulator does not have."""

    line: int
    feature: str


@dataclass(frozen=True)
class Tolerance:
    """packetdrill's: 4 ms, or 12.5 % of the time since the last event if that is more."""

    ps: int = 4_000_000_000
    percent: float = 12.5


@dataclass(frozen=True)
class Step:
    """An event that takes part in the run: a packet, a call of the application, or assertions."""

    line: int
    time: Time
    action: Packet | Call | list[assertions.Assertion]


@dataclass
class Plan:
    """A script that can run, or the features that it lacks."""

    path: Path
    passive: bool = True
    transport: dict[str, Any] = field(default_factory=lambda: {"profile": "linux"})
    tolerance: Tolerance = Tolerance()
    steps: list[Step] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)
    scale: int = 0
    """The peer's window scale."""

    @property
    def features(self) -> list[str]:
        """Needs of the script that the simulator does not have, each once."""
        return list(dict.fromkeys(need.feature for need in self.needs))


def compile_(path: Path, text: str, known: Callable[[str], bool]) -> Plan:
    """The plan of a script; `known` says which names of tcp_info there are. Raises SpecError."""
    options, events = grammar.read(text, str(path))
    forms.check(path, events)
    plan = Plan(path)
    plan.passive = not any(
        isinstance(event.action, Call) and event.action.name == "connect" for event in events
    )
    _settings(plan, events)
    calls, asserted = Calls(events), assertions.Assertions()
    for event in events:
        try:
            action = _action(event, calls, asserted, known)
            if action is not None:
                plan.steps.append(Step(event.line, event.time, action))
        except (Refused, assertions.NotKnown) as why:
            plan.needs.append(Need(event.line, str(why)))
    for option in options:
        _option(plan, option)
    _handshake(plan)
    return plan


def _action(event: Event, calls: Calls, asserted: assertions.Assertions, known: Callable[[str], bool]) -> Any:
    match event.action:
        case Packet() as packet:
            calls.check_packet(packet)
            _packet(packet)
            return packet
        case Call() as call:
            return calls.take(call)
        case Code(text):
            each = list(asserted.read(text))
            missing = [name for one in each for name in one.names if not known(name)]
            if missing:
                raise Refused(f"tcp_info's {missing[0].removeprefix('tcpi_')}")
            return each
    return None


def _packet(packet: Packet) -> None:
    if packet.protocol != "tcp":
        raise Refused("ICMP" if packet.protocol == "icmp" else f"packets of {packet.protocol}")
    if packet.ip not in ("", "noecn", "ect0", "ect1", "ce"):
        raise Refused(f"the field {packet.ip.split()[0]} of IP")
    for option in packet.options or ():
        name = option.split()[0]
        if name in NEEDED_OPTIONS:
            raise Refused(NEEDED_OPTIONS[name])
        if name not in PLAIN_OPTIONS:
            raise Refused(f"the TCP option {name}")
    accurate = "A01234567"
    if not packet.outbound and "S" in packet.flags:
        accurate = "01234567"  # RFC 3168's hosts take no notice of AE in a SYN
    for letters, feature in (("R", "resets"), ("U", "urgent data"), (accurate, "AccECN's negotiation")):
        if set(packet.flags) & set(letters):
            raise Refused(feature)
    if (
        packet.outbound
        and "S" not in packet.flags
        and any(one.startswith("TS ") for one in packet.options or ())
    ):
        raise Refused("the values of timestamps")
    if "S" in packet.flags and packet.length:
        raise Refused("TCP Fast Open")
    if ("S" in packet.flags) != (packet.seq == 0):
        raise Refused("initial numbers other than 0")
    if not packet.outbound and "S" not in packet.flags and "." not in packet.flags:
        raise Refused("segments without ACK")
    if not packet.outbound and packet.window == 0:
        raise Refused("zero windows and their probes")
    if packet.outbound and packet.window is not None:
        raise Refused("advertised windows and receive buffers")
    blocks = packet.blocks
    if any(first == 0 for first, _ in blocks):
        raise Refused("SACK of a SYN")
    if any(end <= (packet.ack or 0) for _, end in blocks) or (blocks and _contains(blocks[0], blocks[1:])):
        raise Refused("D-SACK")


def _contains(first: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    """Whether the first block lies in another, and so reports a duplicate (RFC 2883 s.4)."""
    return any(low <= first[0] and first[1] <= high for low, high in others)


def _option(plan: Plan, option: grammar.Option) -> None:
    number = re.fullmatch(r"\d+(\.\d+)?", option.value)
    if option.name == "tolerance_usecs" and number:
        plan.tolerance = Tolerance(int(option.value) * 1_000_000, plan.tolerance.percent)
    elif option.name == "tolerance_percent" and number:
        plan.tolerance = Tolerance(plan.tolerance.ps, float(option.value))
    elif option.name == "tcp_ts_tick_usecs":
        plan.needs.append(Need(option.line, "the values of timestamps"))
    elif option.name not in IGNORED_FLAGS:
        plan.needs.append(Need(option.line, f"the option --{option.name}"))


def _settings(plan: Plan, events: list[Event]) -> None:
    """Reads the profile's settings from shell lines."""
    values = dict(settings.KERNEL)
    for event in events:
        if isinstance(event.action, Shell):
            try:
                values.update(settings.sysctls(event.action.text))
            except settings.Unknown as why:
                plan.needs.append(Need(event.line, str(why)))
    line = next((event.line for event in events if isinstance(event.action, Shell)), 1)
    for name, value in values.items():
        try:
            plan.transport |= settings.apply(name, value, not plan.passive)
        except settings.Unknown as why:
            plan.needs.append(Need(line, str(why)))


def _handshake(plan: Plan) -> None:
    """The terms of the peer's SYN."""
    syns = [(step.line, step.action) for step in plan.steps if isinstance(step.action, Packet)]
    syns = [(line, packet) for line, packet in syns if not packet.outbound and "S" in packet.flags]
    if len(syns) != 1:
        if not plan.needs:
            line = syns[1][0] if syns else 1
            plan.needs.append(
                Need(line, "more than one connection" if syns else "a connection without a handshake")
            )
        return
    options = {one.split()[0]: one.split()[1:] for one in syns[0][1].options or ()}
    mss = min(int(options["mss"][0]) if "mss" in options else DEFAULT_MSS, OUR_MSS)
    plan.scale = int(options["wscale"][0]) if "wscale" in options else 0
    stamps = plan.transport["timestamps"] and "TS" in options
    controls = [
        str(step.action.arguments[3]).strip('"')
        for step in plan.steps
        if isinstance(step.action, Call) and step.action.arguments[2:3] == ("TCP_CONGESTION",)
    ]
    plan.transport |= {
        "timestamps": stamps,
        "sack": plan.transport["sack"] and "sackOK" in options,
        "mss": f"{mss - (TIMESTAMP_BYTES if stamps else 0)}B",
        "nagle": True,
    }
    if controls:
        plan.transport["cc"] = {"kind": settings.controls()[controls[-1].strip('[]"')]}
