"""Why a machine ended early, from its console: the kernel's message with file, line and function."""

from __future__ import annotations

import re

BUG = re.compile(r"BUG: failure at (?P<file>\S+):(?P<line>\d+)/(?P<function>\w+)\(\)!")
WARNING = re.compile(
    r"WARNING: (?:CPU: \d+ PID: \d+ at )?(?P<file>[\w/.-]+):(?P<line>\d+)(?: at)? (?P<function>[\w.]+)\+"
)
FAULT = re.compile(
    r"(?:Kernel mode fault at addr|BUG: (?:kernel NULL pointer|unable to handle)|Segfault with no mm).*"
)
PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
KASAN = re.compile(r"BUG: (?:KASAN|KFENCE|KCSAN): (?P<what>.*?) in (?P<function>[\w.]+)\+")
FRAME = re.compile(r"(?:\[<[0-9a-f]+>\]\s+)?\b(?P<function>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+")

REPORT = re.compile(
    r"(?:BUG: |WARNING: |UBSAN: |INFO: (?:trying to register|possible|suspicious|inconsistent)).*"
)
"""A fault after which the kernel goes on: lib/Kconfig.debug, kernel/locking/lockdep.c, mm/kasan/report.c."""

MACHINERY = re.compile(
    r"^(?:show_stack|dump_stack|__?dump_stack\w*|panic|vpanic|__warn\w*|warn_slowpath\w*|segv|segv_handler|"
    r"sig_handler\w*|hard_handler|_?printk|vprintk\w*|bad_segv|relay_signal|unblock_signals\w*|die|oops\w*)$"
)
"""Functions that display a fault, which are in every trace and are not its place."""

MOST_FRAMES = 12
MOST_REPORTS = 5
LAST_LINES = 8

__all__ = ["cause", "reports"]


def cause(said: str) -> str:
    """The reason in a line, then the kernel's own words and the functions that were called."""
    lines = [line.rstrip() for line in said.strip().splitlines() if not line.startswith("guest: at ")]
    if re.search("[Oo]ut of memory|deadlocked on memory", said):
        return "\n".join(["the Linux machine ran out of memory", *lines[-LAST_LINES:]])
    panic = PANIC.search(said)
    if panic is None:
        return "\n".join(["the Linux machine stopped before its end", *lines[-LAST_LINES:]])
    found = [f"the Linux machine panicked: {panic[1].strip()}"]
    first = next((number for number, line in enumerate(lines) if _tells(line)), None)
    if first is None:
        return "\n".join([*found, *lines[-LAST_LINES:]])
    if place := BUG.search(said) or WARNING.search(said):
        found.append(f"at {place['file']}:{place['line']} in {place['function']}()")
    elif place := KASAN.search(said):
        found.append(f"{place['what']} in {place['function']}()")
    words = [line for line in lines[first:] if _tells(line)]
    found += list(dict.fromkeys(words))[:6]
    functions = [match["function"] for line in lines[first:] if (match := FRAME.search(line))]
    called = [name for name in dict.fromkeys(functions) if not MACHINERY.match(name)][:MOST_FRAMES]
    if called:
        found.append(f"called from {', '.join(called)}")
    return "\n".join(found)


def reports(said: str) -> list[str]:
    """The first of the faults that the kernel's messages report, from a run that went on."""
    found = [match[0].strip() for line in said.splitlines() if (match := REPORT.search(line))]
    return list(dict.fromkeys(found))[:MOST_REPORTS]


def _tells(line: str) -> bool:
    return any(each.search(line) for each in (BUG, WARNING, FAULT, KASAN, PANIC))
