"""Runs packet scripts against the simulator's sender and receiver, and says what came instead."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from shallows import _core
from shallows.errors import Fault, SpecError, Written
from shallows.files import read_bounded
from shallows.packetdrill import plan as plans
from shallows.packetdrill.calls import READS, WRITES
from shallows.packetdrill.grammar import Call, Packet
from shallows.packetdrill.plan import Plan, Step

__all__ = ["CONSTANTS", "Outcome", "files", "run"]

MS = 10**9
ANY_TIME = 600 * 1000 * MS
"""A packet whose time is `*` may take ten minutes: longer than any timer."""

MOST_BYTES = 10_000_000
"""A longer script is none."""

CONSTANTS = {"TCP_CA_Open": 0, "TCP_CA_Disorder": 1, "TCP_CA_CWR": 2, "TCP_CA_Recovery": 3, "TCP_CA_Loss": 4}
"""Linux `enum tcp_ca_state`, and the least that scripts compare with."""


@dataclass(frozen=True)
class Outcome:
    """The end of a script: `pass`, `fail` with the first fault, `refused` with the features that it needs."""

    path: Path
    word: str
    fault: Fault | None = None
    needs: tuple[plans.Need, ...] = ()

    @property
    def features(self) -> list[str]:
        """The needs of a refused script, each once."""
        return list(dict.fromkeys(need.feature for need in self.needs))

    def lines(self) -> list[str]:
        """A sentence for each fault, with its place."""
        if self.fault:
            return [str(self.fault)]
        needs = sorted(self.needs, key=lambda need: need.line)
        return [
            f"{self.path}:{need.line}: needs {need.feature}, which the simulator does not have"
            for need in needs
        ]


def run(path: Path, text: str | None = None) -> Outcome:
    """Runs the script in `path`. Raises SpecError for a file or text that is no script."""
    plan = plans.compile_(path, _text(path) if text is None else text, _known().__contains__)
    if plan.needs:
        return Outcome(path, "refused", needs=tuple(plan.needs))
    try:
        _Run(plan).go()
    except _Unfit as why:
        fault = Fault(f"{path}:{why.line}", why.rule, Written(why.value))
        return Outcome(path, "fail", fault)
    except _Left as why:
        return Outcome(path, "refused", needs=(plans.Need(why.line, why.feature),))
    return Outcome(path, "pass")


def _text(path: Path) -> str:
    try:
        return read_bounded(path, MOST_BYTES).decode()
    except UnicodeDecodeError:
        raise SpecError([Fault(str(path), "is not text in UTF-8")]) from None
    except (OSError, ValueError) as error:
        raise SpecError([Fault(str(path), f"cannot be read: {getattr(error, 'strerror', error)}")]) from None


def _known() -> set[str]:
    host = _core.ScriptedHost(json.dumps({"profile": "linux", "cc": {"kind": "cubic"}}), True)
    return {*host.info(), *CONSTANTS}


class _Unfit(Exception):
    """The host did something else than the script says."""

    def __init__(self, line: int, rule: str, value: str):
        super().__init__(rule)
        self.line, self.rule, self.value = line, rule, value


class _Left(Exception):
    """The script turned to what the simulator leaves out."""

    def __init__(self, line: int, feature: str):
        super().__init__(feature)
        self.line, self.feature = line, feature


@dataclass
class _Blocked:
    """A call that has not returned: its condition, and when it is to return."""

    line: int
    call: Call
    due: int
    wanted: int
    done: int | None = None


class _Run:
    def __init__(self, plan: Plan):
        self._plan = plan
        self._host = _core.ScriptedHost(json.dumps(plan.transport), plan.passive)
        self._read = 0
        self._blocked: list[_Blocked] = []
        self._inbound_at: int | None = None
        self._kept: tuple | None = None

    def go(self) -> None:
        for step in self._plan.steps:
            base = (
                self._inbound_at if self._inbound_at is not None and _is_inbound(step) else self._host.now()
            )
            self._inbound_at = None
            match step.action:
                case Packet(outbound=True) as packet:
                    self._expect(step, packet, base)
                case action:
                    self._wait(step, base)
                    if isinstance(action, Packet):
                        self._inject(step, action)
                    elif isinstance(action, Call):
                        self._call(step, action, base)
                    else:
                        self._assert(step)
            self._look()
        for blocked in self._blocked:
            self._returned(blocked)

    # ---- time ----

    def _due(self, step: Step, base: int) -> tuple[int, int]:
        """The first and last instant at which the step may happen, without tolerance."""
        offset = base if step.time.relative else 0
        return step.time.first + offset, step.time.last + offset

    def _wait(self, step: Step, base: int) -> None:
        due, _ = self._due(step, base)
        if due + MS < self._host.now():
            raise _Unfit(step.line, f"is due at {_s(due)}", f"the time is {_s(self._host.now())}")
        self._host.advance(max(due, self._host.now()))
        if _is_inbound(step):
            self._inbound_at = max(due, base)

    def _tolerance(self, since: int) -> int:
        tolerance = self._plan.tolerance
        return max(tolerance.ps, int(since * tolerance.percent / 100))

    # ---- packets ----

    def _expect(self, step: Step, packet: Packet, base: int) -> None:
        first, last = self._due(step, base)
        spare = self._tolerance(last - base)
        early, late = (0, base + ANY_TIME) if step.time.any else (first - spare, last + spare)
        when = "at any time" if step.time.any else f"at {_span(first, last)} (within {_s(spare)})"
        rule = f"expected {_write(packet)} {when}"
        got = self._next(late)
        if got is None:
            raise _Unfit(step.line, rule, f"nothing by {_s(late)}")
        at, flags, codepoint, seq, length, ack, sack = got
        while length < packet.length and seq == packet.seq:
            more = self._next(late)
            if more is None or more[3] != seq + length or more[5] != ack:
                self._kept = more
                break
            length += more[4]
            flags = flags if more[1] == flags else "".join(sorted({*flags, *more[1]}, key="SEWF.".index))
        shown = _show(flags, codepoint if packet.ip else "", seq, length, ack, sack)
        wanted = _write(packet, sack if packet.options is None else None)
        if shown != wanted:
            raise _Unfit(step.line, rule, f"{shown} at {_s(at)}")
        if not early <= at <= late:
            raise _Unfit(step.line, rule, f"it at {_s(at)}")
        self._host.advance(max(at, self._host.now()))
        refused = self._host.refused()
        if refused:
            raise _Left(step.line, refused)

    def _next(self, until: int) -> tuple | None:
        got, self._kept = self._kept, None
        return got or self._host.next(max(until, 0))

    def _inject(self, step: Step, packet: Packet) -> None:
        scale = 0 if "S" in packet.flags else self._plan.scale
        window = None if packet.window is None else packet.window << scale
        flags = packet.flags.replace("P", "").replace("A", "")
        why = self._host.arrive(
            flags, packet.ip or "noecn", packet.seq, packet.length, packet.ack or 0, packet.blocks, window
        )
        if why:
            raise _Left(step.line, why)

    # ---- the application ----

    def _call(self, step: Step, call: Call, base: int) -> None:
        match call.name:
            case "connect":
                self._host.connect()
                self._block(step, call, base, 0)
            case "accept":
                self._block(step, call, base, 0)
            case name if name in WRITES:
                self._host.write(int(call.result))
            case "close" | "shutdown":
                self._host.close()
            case "setsockopt" if call.arguments[2] == "TCP_NODELAY":
                self._host.set_nagle(call.arguments[3].strip("[]") == "0")
            case name if name in READS:
                self._receive(step, call, base)

    def _receive(self, step: Step, call: Call, base: int) -> None:
        size, result = int(call.arguments[2]), int(call.result)
        if call.end is None:
            there = min(size, self._host.delivered() - self._read)
            if there != result:
                raise _Unfit(step.line, f"expected {call.name} to return {result}", f"{there}")
        self._read += result
        self._block(step, call, base, self._read)

    def _block(self, step: Step, call: Call, base: int, wanted: int) -> None:
        if call.end is not None:
            due = call.end + (base if step.time.relative else 0)
            self._blocked.append(_Blocked(step.line, call, due, wanted))

    def _look(self) -> None:
        """Which blocked calls return now, and which are overdue."""
        now = self._host.now()
        for blocked in self._blocked:
            done = self._host.delivered() >= blocked.wanted if blocked.wanted else self._host.is_open()
            if blocked.done is None and done:
                blocked.done = now
        for blocked in [
            one for one in self._blocked if one.done is not None or now > one.due + self._tolerance(0)
        ]:
            self._returned(blocked)
            self._blocked.remove(blocked)

    def _returned(self, blocked: _Blocked) -> None:
        rule = f"expected {blocked.call.name} to return at {_s(blocked.due)}"
        if blocked.done is None:
            raise _Unfit(blocked.line, rule, f"it blocks at {_s(self._host.now())}")
        if abs(blocked.done - blocked.due) > self._tolerance(0):
            raise _Unfit(blocked.line, rule, f"it returned at {_s(blocked.done)}")

    def _assert(self, step: Step) -> None:
        values = {**self._host.info(), **CONSTANTS}
        for assertion in step.action if isinstance(step.action, list) else ():
            missing = [name for name in assertion.names if name not in values]
            if missing:
                raise _Left(step.line, f"tcp_info's {missing[0].removeprefix('tcpi_')} without SACK")
            if not assertion.holds(values):
                known = ", ".join(
                    f"{name} = {values[name]}" for name in assertion.names if name not in CONSTANTS
                )
                raise _Unfit(step.line, f"expected {assertion.text}", known)


def _is_inbound(step: Step) -> bool:
    return isinstance(step.action, Packet) and not step.action.outbound


def _show(flags: str, codepoint: str, seq: int, length: int, ack: int, sack: list[tuple[int, int]]) -> str:
    """A packet as a script writes it."""
    words = [f"[{codepoint}]" if codepoint else "", flags or "-", f"{seq}:{seq + length}({length})"]
    words.append(f"ack {ack}" if "." in flags else "")
    words.append(f"<sack {' '.join(f'{low}:{high}' for low, high in sack)}>" if sack else "")
    return "> " + " ".join(word for word in words if word)


def _write(packet: Packet, sack: list[tuple[int, int]] | None = None) -> str:
    """A packet of the script in the same words; PSH is not compared, nor are other options than SACK."""
    flags = "".join(sorted(packet.flags.replace("P", ""), key="SEWF.".index))
    sack = packet.blocks if sack is None else sack
    return _show(flags, packet.ip, packet.seq, packet.length, packet.ack or 0, sack)


def _s(ps: int) -> str:
    return f"{ps / 1000 / MS:.6f}".rstrip("0").rstrip(".") + " s"


def _span(first: int, last: int) -> str:
    return _s(first) if first == last else f"{_s(first)} to {_s(last)}"


def files(places: list[Path]) -> list[Path]:
    """The scripts that are named, and those in directories that are named. Raises SpecError."""
    found: list[Path] = []
    for place in places:
        inside = sorted(place.glob("*.pkt")) if place.is_dir() else [place]
        if not inside or not all(one.is_file() for one in inside):
            rule = "holds no packet script (*.pkt)" if place.is_dir() else "does not exist"
            raise SpecError([Fault(str(place), rule)])
        found += inside
    return found
