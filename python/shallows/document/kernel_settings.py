"""The `[linux]` section: the kernel of the Linux backend, and its settings. The simulator refuses it.

Settings are kept by their whole names and as texts, as the kernel takes them. Whether a kernel has them is
asked of the kernel itself (`backends.linux.offers`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from shallows.document.paths import Document, flatten
from shallows.document.strict import Strict, read
from shallows.errors import Fault, SpecError

SECTION = "linux"
KERNEL = "linux.kernel"

IPV4 = "net.ipv4."
"""Sysctls of this table are named without it."""

NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")

__all__ = ["KERNEL", "SECTION", "LinuxTable", "kernel_of", "read_linux", "refuse", "without"]


class RebindTable(Strict):
    """A NAT's change of the mapping of a host."""

    host: str = Field(description="The host behind the NAT.")
    at: str = Field(description="The time, as in `3s`.")
    to: Literal["port", "address"] = Field(
        "address", description="What changes of the host as others see it: its ports, or its address."
    )


class LinuxTable(Strict):
    """The kernel of the Linux backend, and its settings."""

    kernel: str | None = Field(
        None,
        description="The kernel: its version, Debian package, tree, or the beginning of its hash;"
        " by default the one that was built last.",
    )
    sysctl: dict[str, Any] = Field(
        {},
        description="Sysctls of every host and switch, by name: `tcp_comp_sack_rtt_percent = 5`."
        " A name without a dot is one of `net.ipv4`; others are whole: `net.core.optmem_max`.",
    )
    parameter: dict[str, Any] = Field(
        {}, description="Parameters of the kernel's modules: `tcp_cubic.hystart = 0`."
    )
    pacing: bool = Field(
        False,
        description="Whether the fq discipline of hosts paces: it then obeys SO_MAX_PACING_RATE of UDP too,"
        " and every TCP connection is paced, as on a host with fq.",
    )
    rebind: dict[str, RebindTable] = Field(
        {},
        description="For `linux exec`: changes of a NAT's mapping, by name:"
        ' `rebind.home = { host = "r0", at = "3s", to = "port" }`.',
    )


def read_linux(given: Any, faults: list[Fault]) -> dict[str, Any]:
    """The section with names and texts as the kernel has them, without what is not set."""
    table = read(LinuxTable, given, SECTION, faults)
    if table is None:
        return {}
    found: dict[str, Any] = {}
    if table.kernel is not None:
        found["kernel"] = table.kernel
    if sysctls := _texts("sysctl", table.sysctl, faults):
        found["sysctl"] = {name.removeprefix(IPV4): value for name, value in sysctls.items()}
    if parameters := _texts("parameter", table.parameter, faults):
        found["parameter"] = parameters
        for name in parameters:
            if name.count(".") != 1:
                faults.append(Fault(f"linux.parameter.{name}", "must be MODULE.NAME", name))
    if table.pacing:
        found["pacing"] = True
    if table.rebind:
        found["rebind"] = {name: _rebinding(name, each, faults) for name, each in table.rebind.items()}
    return found


def _rebinding(name: str, given: RebindTable, faults: list[Fault]) -> dict[str, Any]:
    from shallows import _core

    try:
        at_ps = _core.parse_quantity("span", given.at)
    except ValueError as error:
        faults.append(Fault(f"{SECTION}.rebind.{name}.at", str(error), given.at))
        at_ps = 0
    return given.model_dump() | {"at_ps": at_ps}


def _texts(key: str, table: Mapping[str, Any], faults: list[Fault]) -> dict[str, str]:
    found = {}
    for name, value in flatten(table):
        path = f"{SECTION}.{key}.{name}"
        if not NAME.fullmatch(name):
            faults.append(Fault(path, "is not the name of a setting of the kernel", name))
        elif not isinstance(value, str | int) or not str(value).strip() or "\n" in str(value):
            faults.append(Fault(path, "must be a whole number, true, false, or a text", value))
        else:
            found[name] = str(int(value)) if isinstance(value, int) else " ".join(value.split())
    return found


def kernel_of(experiment: Mapping[str, Any]) -> str | None:
    """The kernel that a resolved experiment names."""
    return experiment.get(SECTION, {}).get("kernel")


def refuse(experiment: Mapping[str, Any], backend: str) -> None:
    """Raises SpecError if the experiment has the section, for a backend without a kernel."""
    if SECTION in experiment:
        rule = f"is about the kernel of the backend linux, and {backend} has none"
        raise SpecError([Fault(SECTION, rule, experiment[SECTION], "--backend linux", "unsupported")])


def without(experiment: Mapping[str, Any]) -> Document:
    """The experiment without the section, as the core and other backends know it."""
    return {key: value for key, value in experiment.items() if key != SECTION}
