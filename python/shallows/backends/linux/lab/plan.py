"""Lines of the guest's plan for programs: files, variables, captures, commands, counted packets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import controls, scenario, transports
from shallows.backends.linux.lab import environment
from shallows.backends.linux.lab.asked import Lab, Started, hosts_of
from shallows.backends.linux.network import matches
from shallows.results.pcapng import ports_of

if TYPE_CHECKING:
    from shallows.document.paths import Document

__all__ = ["lines_of", "taps", "taps_of_hosts"]

LEAST_PACKET_BYTES = 84
"""The smallest frame takes as many on the wire, with preamble and gap."""

MOST_FRAMES, LEAST_FRAMES = 262_144, 1024
FRAME_BYTES = 128


def taps_of_hosts(network: Mapping[str, Any]) -> tuple[list[str], int]:
    """A line of the plan for each wire that ends at a host, whose packets are counted; and the rings' bytes.

    The guest empties the rings whenever it samples the queues.
    """
    nodes, between_ps = network["nodes"], scenario.sample_ps(network["numbers"])
    lines, total = [], 0
    arriving = [(port["to"], number, port) for number, port in enumerate(network["ports"])]
    for node, number, port in sorted(arriving, key=lambda each: each[:2]):
        if nodes[node]["host"]:
            packets = port["rate_bps"] * between_ps // (8 * LEAST_PACKET_BYTES * 10**12)
            frames = min(max(packets * 5 // 4, LEAST_FRAMES), MOST_FRAMES)
            lines.append(f"tap {node} i{number} {frames}")
            total += frames * FRAME_BYTES
    return lines, total


def taps(link_or_host: str, network: Mapping[str, Any]) -> list[str]:
    """Places of a capture of a link or host: node, device, port, and whether packets arrive there."""
    patterns = ports_of(link_or_host)
    found = []
    for number, port in enumerate(network["ports"]):
        name = port["name"]
        if matches(name, patterns[0]):
            found.append(f"{port['from']} p{number} {name} 0")
        elif any(matches(name, pattern) for pattern in patterns[1:]):
            found.append(f"{port['to']} i{number} {name} 1")
    return found


def lines_of(resolved: Document, lab: Lab, network: Mapping[str, Any], started: list[Started]) -> list[str]:
    """Lines of the guest's plan: files of all hosts, variables, captures, programs."""
    hosts = [f"{scenario.address(number)} {name}" for number, (_, name) in enumerate(hosts_of(network))]
    files = {
        "hosts": ["127.0.0.1 localhost", *hosts],
        "resolv.conf": ["# No name server: hosts are in /etc/hosts."],
        "nsswitch.conf": [f"{kind}: files" for kind in ("passwd", "group", "shadow", "hosts", "services")],
    }
    lines = []
    for name, text in files.items():
        lines += [f"file {name} {len(text)}", *text]
    transport = transports.tcp(resolved).transport
    for node, _ in hosts_of(network):
        lines.append(f"sysctl {node} tcp_congestion_control {controls.kernel_name(transport)}")
    variables = environment.variables(lab.environment)
    lines += [f"variable {name}={value}" for name, value in variables.items()]
    lines.append(f"directory {lab.directory}")
    if lab.keep:
        lines.append("keep")
    for number, name in enumerate(lab.captures):
        lines += [f"capture {number} {tap}" for tap in taps(name, network)]
    for each in started:
        text = each.command.text.split("\n")
        lines.append(f"program {each.node} {each.host} {int(each.command.server)} {len(text)}")
        lines += text
    return lines
