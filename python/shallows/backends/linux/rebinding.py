"""NATs that change their mapping in mid-run (`linux.rebind`): addresses, lines of the plan, refusals.

The guest's part is `guest/rebinding.c`. A host is seen by its own address and ports before its first
rebinding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import offers
from shallows.backends.linux.loads import IDLE
from shallows.backends.linux.paths import drawn
from shallows.errors import Fault
from shallows.words import did_you_mean

if TYPE_CHECKING:
    from shallows.backends.linux.kernel import Kernel

FIRST, MOST = 3, 200
"""Outer addresses begin with 10.3; hosts have 10.1, and ports 10.2 (`scenario.address`, `paths.gateway`)."""

FLIPS = 1023
"""Ports change in their last ten bits, so that those from 1024 on stay there."""

BPF = "bpf"
"""The file system that a kernel with programs in BPF has."""

__all__ = ["Rebinding", "faults", "line", "of"]


@dataclass(frozen=True)
class Rebinding:
    """A new mapping of a host: it is seen by the address `outer`, and by its ports xor `flip`."""

    name: str
    host: str
    at_ps: int
    inner: str
    outer: str
    flip: int

    @property
    def about(self) -> dict[str, Any]:
        """For the record of a run."""
        return {"name": self.name, "host": self.host, "at_s": self.at_ps / 1e12, "address": self.outer}


def of(experiment: Mapping[str, Any], hosts: Mapping[str, str]) -> list[Rebinding]:
    """The rebindings in the order of their times. `hosts` has addresses by name."""
    asked = experiment.get("linux", {}).get("rebind", {})
    found: list[Rebinding] = []
    for name, each in sorted(asked.items(), key=lambda item: (item[1]["at_ps"], item[0])):
        before = [one for one in found if one.host == each["host"]]
        inner = hosts[each["host"]]
        outer, flip = (before[-1].outer, before[-1].flip) if before else (inner, 0)
        if each["to"] == "address":
            second = FIRST + len({one.outer for one in before} - {inner})
            outer = f"10.{second}.{inner.split('.', 2)[2]}"
        else:
            draws = (drawn(experiment["seed"], "rebind", name, str(n)) % FLIPS + 1 for n in range(10 * FLIPS))
            flip = next(draw for draw in draws if draw not in [one.flip for one in before])
        found.append(Rebinding(name, each["host"], each["at_ps"], inner, outer, flip))
    return found


def line(each: Rebinding, node: int, ports: Sequence[Mapping[str, Any]]) -> str:
    """The order of the plan: the host's addresses, and its cables."""
    cables = [
        f"p{number}:{port['to']}:p{port['back']}" for number, port in enumerate(ports) if port["from"] == node
    ]
    return f"rebind {node} {each.inner} {each.outer} {each.flip} {' '.join(cables)}"


def faults(
    experiment: Mapping[str, Any], network: Mapping[str, Any], kernel: Kernel | None, programs: bool
) -> Iterator[Fault]:
    """All that is wrong with the rebindings. `programs`: whether the run is one of programs alone."""
    asked = experiment.get("linux", {}).get("rebind", {})
    names = [node["name"] for node in network["nodes"] if node["host"]]
    if asked and not programs:
        rule = "is about programs: the connections of a file's own loads would break"
        yield Fault("linux.rebind", rule, hint="linux exec", code="unsupported")
        return
    if asked and kernel is not None and BPF not in offers.of(kernel).filesystems:
        rule = (
            f"needs programs in BPF, which Linux {kernel.about['version']} ({kernel.hash}) was built without"
        )
        yield Fault("linux.rebind", rule, hint="linux build --config features", code="unsupported")
    for name, each in asked.items():
        path = f"linux.rebind.{name}"
        if each["host"] not in names:
            rule = "must be a host of the network"
            yield Fault(f"{path}.host", rule, each["host"], did_you_mean(each["host"], names), "unknown-word")
        for load, ends in network["loads"].items():
            if load != IDLE and each["host"] in (names[place] for end in ends.values() for place in end):
                rule = f"sends or receives for traffic.{load}, whose connections would break"
                yield Fault(f"{path}.host", rule, each["host"], code="conflict")
        if each["at_ps"] >= network["numbers"]["duration"]:
            yield Fault(f"{path}.at", "must be before the end of the run", each["at"], code="out-of-range")
    if len(asked) > MOST:
        yield Fault("linux.rebind", f"must be {MOST} at most", len(asked), code="out-of-range")
