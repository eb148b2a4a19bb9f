"""GOAL schedules of LogGOPSim and ATLAHS as text (Hoefler 2009: Group Operation Assembly Language).

`num_ranks N`, then `rank r { .. }` with one statement a line: `[label:] send 8b to 1 tag 0`, `recv 8b from
0`, `calc 500`, `a requires b` (a starts when b has ended), `a irequires b` (when b has started).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.schedule import CALC, RECV, SEND, Schedule
from shallows.importing.parts.source import Head, Source

_OPERATION = re.compile(
    r"(?:(\w+)\s*:\s*)?(?:(send|recv)\s+(\d+)b\s+(?:to|from)\s+(-?\d+)(?:\s+tag\s+(-?\d+))?|calc\s+(\d+))"
    r"(?:\s+cpu\s+(\d+))?(?:\s+nic\s+(\d+))?"
)
_REQUIRES = re.compile(r"(\w+)\s+(i?requires)\s+(\w+)")
_RANK = re.compile(r"rank\s+(\d+)\s*\{?")
_PS = {"ps": 1, "ns": 10**3, "us": 10**6}
_MOST = 10**18


def _recognises(head: Head) -> bool:
    text = re.sub(r"/\*.*?\*/", " ", head.text or "", flags=re.DOTALL)
    lines = (line.split("//")[0].strip() for line in text.splitlines())
    return next((line for line in lines if line), "").startswith("num_ranks")


def _read(source: Source, options: Mapping[str, str]) -> Content:
    unit = options.get("calc", "ns")
    if unit not in _PS:
        source.stop(None, f"--option calc must be one of {', '.join(_PS)}", unit)
    scale = _PS[unit]
    schedule = Schedule(source)
    ranks, rank = 0, -1
    labels: dict[str, int] = {}
    seen: set[int] = set()
    cpus = nics = False
    comment = False
    inside = False
    operation, requires = _OPERATION.fullmatch, _REQUIRES.fullmatch
    for number, line in source.lines():
        if comment or "/" in line:
            line, comment = _uncomment(line, comment)
        line = line.strip()
        if not line:
            continue
        if inside:
            if found := operation(line):
                label, kind, size, peer, tag, calc, cpu, nic = found.groups()
                cpus |= cpu not in (None, "0")
                nics |= nic not in (None, "0")
                if kind is None:
                    if len(calc) > 15:
                        source.refuse(number, f"must be a time of at most {_MOST // 1000} {unit}", calc[:60])
                        continue
                    made = schedule.add(CALC, rank, int(calc) * scale, number)
                else:
                    other = int(peer[:12])
                    if not -1 <= other < ranks or (other < 0 and kind == "send"):
                        source.refuse(number, f"must name a rank from 0 to {ranks - 1}", peer[:60])
                        continue
                    if other == rank or len(size) > 18 or len(tag or "") > 18:
                        rule = (
                            "must not be its own rank" if other == rank else "has a number that is too large"
                        )
                        source.refuse(number, rule, line[:60])
                        continue
                    made = schedule.add(
                        SEND if kind == "send" else RECV, rank, int(size), number, other, int(tag or 0)
                    )
                if label is not None:
                    if label in labels:
                        source.refuse(number, "must be a label of its own in its rank", label)
                    labels[label] = made
                continue
            if found := requires(line):
                one, word, before = found.groups()
                if one in labels and before in labels:
                    schedule.requires(labels[one], labels[before], word == "irequires")
                else:
                    lacking = before if one in labels else one
                    source.refuse(number, "must be a label that stands above in this rank", lacking[:60])
                continue
            if line == "}":
                inside = False
                continue
        elif line.startswith("num_ranks"):
            words = line.split()
            ranks = source.count(number, words[1] if len(words) == 2 else "", "num_ranks", 1, 1_000_000)
            continue
        elif found := _RANK.fullmatch(line):
            rank = source.count(number, found[1], "rank", most=max(ranks - 1, 0))
            if rank in seen:
                source.refuse(number, "must not come twice", f"rank {rank}")
            seen.add(rank)
            labels = {}
            inside = line.endswith("{")
            continue
        elif line == "{" and rank >= 0:
            inside = True
            continue
        source.refuse(number, "must be send, recv, calc, requires, irequires, rank or }", line[:60])
    if inside:
        source.refuse(None, f'rank {rank} must end with "}}": the file is cut off')
    elif len(seen) != ranks:
        source.refuse(1, f"promises {ranks} ranks, and the file has {len(seen)}")
    if source.faults:
        return Content()
    messages = schedule.messages()
    told = [
        f"calc is in {unit} (--option calc=ns, us or ps)",
        "LogGOPS parameters: the network of the experiment takes the place of L, o, g, G and S",
    ]
    if cpus:
        told.append("cpu: operations of one cpu run at the same time unless one requires the other")
    if nics:
        told.append("nic")
    if schedule.wild:
        told.append(
            f"{schedule.wild} receives with a wildcard take the next message in the order of the file"
        )
    return messages.content(ranks, [f"{ranks} ranks, {len(schedule.kinds)} operations"], told)


def _uncomment(line: str, inside: bool) -> tuple[str, bool]:
    """The line without comments, and whether one goes on."""
    out = ""
    while line:
        if inside:
            _, end, line = line.partition("*/")
            inside = not end
            continue
        at = min((place for mark in ("//", "/*") if (place := line.find(mark)) >= 0), default=-1)
        if at < 0:
            return out + line, False
        out += line[:at]
        if line.startswith("//", at):
            return out, False
        line, inside = line[at + 2 :], True
    return out, inside


READER = Reader(
    "goal",
    "messages",
    "a GOAL schedule of LogGOPSim and ATLAHS",
    "spcl/LogGOPSim, spcl/atlahs",
    "num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 8192b to 1 tag 0\nl2 requires l1\n"
    "l3: recv 16b from 1 tag 1\n}\n"
    "rank 1 {\nl1: recv 8192b from 0 tag 0\nl2: calc 500\nl3: send 16b to 0 tag 1\n"
    "l2 requires l1\nl3 requires l2\n}\n",
    _recognises,
    _read,
    options={"calc": "unit of calc: ns (default), us or ps"},
    rdma=True,
)
