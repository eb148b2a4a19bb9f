"""`./shallows new cc NAME`: a congestion control to start from, with its test and its experiment."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from string import Template

from shallows.document.schema import schema
from shallows.errors import Fault, SpecError, StoreError

__all__ = ["KINDS", "create"]

KINDS = ("cc",)
"""What can be made."""

MODULE = Template('''"""$title: what it does, in a line.

Source: where it is published, with section and equation at each law below.
"""

import shallows


class $cls(shallows.CongestionControl):
    """One segment a round trip up, a share down (Chiu and Jain 1989). Bytes, seconds."""

    # Annotated attributes are settings: `cc = { kind = "$kind", beta = 0.7 }` in the experiment.
    beta: float = shallows.param(0.5, range="(0, 1)")

    # ecn = "per-packet"  # packets are ECN-capable, and each mark is reported
    # cadence = "round"   # on_round once a round trip instead of on_ack: faster

    def start(self, flow):
        """The flow begins: `flow.mss`, `flow.initial_window`, `flow.bytes` if announced, `flow.random` ..."""
        self.mss = flow.mss
        self.cwnd = flow.initial_window

    def on_ack(self, ack):
        """New data is acknowledged: `ack.acked`, `ack.ece`, `ack.rtt`, `ack.round_ended`, `ack.flight` ..."""
        if ack.may_grow:  # no recovery under way, and the window is what limits the sender
            self.cwnd += self.mss * ack.acked / self.cwnd

    def on_congestion(self, why, ack):
        """`why` is loss, loss-after-ecn, ecn or timeout; once a window, but for timeouts."""
        self.cwnd = self.mss if why == "timeout" else self.cwnd * self.beta
''')

TEST = Template('''"""$title is held to what the built-in congestion controls are held to."""

from $module import $cls
from shallows.testing import check_congestion_control


def test_it_holds_what_every_congestion_control_must():
    check_congestion_control($cls)


if __name__ == "__main__":  # without pytest
    check_congestion_control($cls)
    print("$cls passes")
''')

EXPERIMENT = Template("""# Run it:  ./shallows run $module.toml
title = "$title: four senders through one 10 Gb/s port"
duration = "50ms"
warmup = "10ms"

[python]
modules = ["$module.py"]     # beside this file

[topology]
kind = "star"
senders = 4
rate = "10Gbps"
delay = "25us"

[queue]
kind = "threshold"
limit = "250pkt"
mark_at = "65pkt"

[transport]
cc = { kind = "$kind", beta = 0.5 }

[traffic.long]
kind = "bulk"
from = "s*"
to = "r0"

[probe]
queue_trace = "20us"
flow_trace = "100us"
""")


def create(kind: str, name: str, directory: Path) -> list[Path]:
    """Writes the three files and returns them. Raises SpecError, with nothing written, if one is there."""
    from shallows.authoring.declaration import kebab
    from shallows.words import did_you_mean

    if kind not in KINDS:
        raise SpecError([Fault("new", f"makes {', '.join(KINDS)}", f'"{kind}"', did_you_mean(kind, KINDS))])
    module = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise SpecError([Fault("new cc", "needs a name of letters, digits, - and _", f'"{name}"')])
    cc = next(section for section in schema()["sections"] if section["path"] == "transport.cc")
    known = {component["name"] for component in cc["components"]}
    label = module.replace("_", "-")
    if label in known or module in sys.stdlib_module_names or module == "shallows":
        whose = "a congestion control that there is" if label in known else "a module of Python"
        raise SpecError([Fault("new cc", f"must not bear the name of {whose}", f'"{name}"')])
    cls = "".join(part.capitalize() for part in module.split("_"))
    about = {"module": module, "cls": cls, "kind": kebab(cls), "title": cls}
    files = {
        directory / f"{module}.py": MODULE,
        directory / f"test_{module}.py": TEST,
        directory / f"{module}.toml": EXPERIMENT,
    }
    there = [Fault(str(path), "is there already, and is not overwritten") for path in files if path.exists()]
    if there:
        raise SpecError(there)
    try:
        for path, template in files.items():
            path.write_text(template.substitute(about), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write in {directory}: {error.strerror}") from error
    return list(files)
