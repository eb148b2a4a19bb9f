"""The settings that a script's shell lines make: sysctls of Linux as settings of `[transport]`.

Commands are read and never run. A sysctl is a setting, changes nothing for a reason, or is refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from shallows.document.schema import elsewhere

__all__ = ["DEFAULTS", "Unknown", "apply", "controls", "sysctls"]


def controls() -> dict[str, str]:
    """Congestion controls of Linux that the simulator has, by their names there."""
    return {kernels: own for own, kernels in elsewhere("transport.cc", "linux").items()}


DEFAULTS = {
    "tcp_timestamps": "1",
    "tcp_sack": "1",
    "tcp_reordering": "3",
    "tcp_congestion_control": "cubic",
    "tcp_slow_start_after_idle": "0",
    "tcp_early_retrans": "4",
    "tcp_recovery": "1",
    "tcp_ecn": "0",
}
"""The settings of `defaults.sh` of the kernel's scripts (Linux 7.2), as far as it means something here."""

KERNEL = DEFAULTS | {"tcp_slow_start_after_idle": "1", "tcp_early_retrans": "3", "tcp_ecn": "2"}
"""The kernel's own values (Documentation/networking/ip-sysctl.rst), for scripts that set none."""

WITHOUT_MEANING = {
    "tcp_tso_win_divisor": "segments leave one by one",
    "tcp_min_tso_segs": "segments leave one by one",
    "tcp_pacing_ss_ratio": "nothing paces a host alone",
    "tcp_pacing_ca_ratio": "nothing paces a host alone",
    "tcp_rmem": "the receiver's window is the script's",
    "tcp_wmem": "applications write without a bound",
    "tcp_notsent_lowat": "applications write without a bound",
    "tcp_fack": "the kernel ignores it since 4.15",
    "tcp_frto": "spurious timeouts are not undone",
    "tcp_dsack": "scripts with D-SACK are refused",
    "tcp_fastopen": "scripts with Fast Open are refused",
    "tcp_fastopen_key": "scripts with Fast Open are refused",
    "tcp_syn_retries": "a SYN is sent as often as max_timeouts says",
    "tcp_synack_retries": "a SYN is sent as often as max_timeouts says",
}
"""Sysctls that change nothing in a script that is not refused, and why."""

QUIET = re.compile(
    r"/bin/(rm|dd) .*|/tmp/sysctl_restore_\S+|ip tcp_metrics flush.*|ethtool -K tun0 (tso|gso|gro|off|on| )+"
    r"|echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect"
)
"""Commands without a meaning here: they restore sysctls, set offloads, make files of zeros, or set HyStart's
parts to both, which the kernel and the simulator have anyway."""


NEEDED_SYSCTLS = {
    "tcp_invalid_ratelimit": "challenge acknowledgements",
    "tcp_shrink_window": "advertised windows and receive buffers",
}
"""Sysctls by the features that they need; another is refused by its own name."""

NEEDED_COMMANDS = {
    "grep": "the kernel's own counters",
    "ip": "the device's settings",
    "nstat": "the kernel's own counters",
    "tc": "queue disciplines of the device",
}
"""Commands by the features that they need; another is refused by its own name."""


class Unknown(Exception):
    """A command or a value that has no counterpart here; the text is the feature that it needs."""


def sysctls(text: str) -> Iterator[tuple[str, str]]:
    """The sysctls that a shell text sets, by their last names. Raises Unknown for other commands."""
    for line in re.split(r"\n|;|&&", text.replace("\\\n", " ")):
        words = line.split("#")[0].strip()
        if not words or QUIET.fullmatch(words):
            continue
        name, *rest = _words(words)
        if name.endswith("defaults.sh"):
            yield from DEFAULTS.items()
        elif name.endswith("set_sysctls.py") or name == "sysctl":
            for one in rest:
                if "=" in one:
                    key, _, value = one.partition("=")
                    yield re.split(r"[./]", key)[-1], value
        elif name == "tc" and "fq" in rest:
            raise Unknown("pacing by sch_fq")
        else:
            command = name.rpartition("/")[2]
            raise Unknown(NEEDED_COMMANDS.get(command, f"the shell command {command}"))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        raise Unknown("a shell command that is whole") from None


def _flag(key: str) -> Callable[[str], dict[str, Any]]:
    return lambda value: {key: value != "0"}


def _control(value: str) -> dict[str, Any]:
    if value not in controls():
        raise Unknown(f"the congestion control {value}")
    return {"cc": {"kind": controls()[value]}}


def _recovery(value: str) -> dict[str, Any]:
    if value != "1":
        raise Unknown("loss detection without RACK")
    return {}


def _cookies(value: str) -> dict[str, Any]:
    if value == "2":
        raise Unknown("SYN cookies")
    return {}


_MEANINGS: dict[str, Callable[[str], dict[str, Any]]] = {
    "tcp_timestamps": _flag("timestamps"),
    "tcp_sack": _flag("sack"),
    "tcp_slow_start_after_idle": _flag("idle_restart"),
    "tcp_early_retrans": _flag("tail_loss_probe"),
    "tcp_ecn_fallback": _flag("ecn_fallback"),
    "tcp_reordering": lambda value: {"dup_acks": int(value)},
    "tcp_rto_max_ms": lambda value: {"max_rto": f"{value}ms"},
    "tcp_rto_min_us": lambda value: {"min_rto": f"{value}us"},
    "tcp_congestion_control": _control,
    "tcp_recovery": _recovery,
    "tcp_syncookies": _cookies,
}


def apply(name: str, value: str, opens: bool) -> dict[str, Any]:
    """The settings that a sysctl stands for in a host that opens its connection or not. Raises Unknown."""
    if name in WITHOUT_MEANING:
        return {}
    if name == "tcp_ecn":
        return {"ecn": _ecn(value, opens)}
    if name.startswith("tcp_ecn_option"):
        raise Unknown("AccECN's negotiation")
    if name not in _MEANINGS:
        raise Unknown(NEEDED_SYSCTLS.get(name, f"the sysctl {name}"))
    if name != "tcp_congestion_control" and not value.isdigit():
        raise Unknown(f"the value {value!r} of {name}")
    return _MEANINGS[name](value)


def _ecn(value: str, opens: bool) -> str:
    """Linux 7.2 include/net/tcp_ecn.h: 0 never, 1 asked for and granted, 2 granted; 3 to 5 with AccECN."""
    if value not in ("0", "1", "2", "4", "5") or (not opens and value in "45"):
        raise Unknown("AccECN's negotiation")
    return "on" if value == "1" or (value == "4" if opens else value == "2") else "off"
