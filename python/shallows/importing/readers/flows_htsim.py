"""Flows as htsim's connection matrices (`.cm`) have them, with triggers and failures (connection_matrix.cpp).

Flows become a table of flows, or with triggers the messages of a graph, since triggers are dependencies. A
oneshot trigger starts its flows at its first call, a multishot one flow more at each call, a barrier after
`count` calls (trigger.cpp).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.source import MOST_ROWS, Head, Source

_HEADER = ("Nodes", "Connections", "Triggers", "Failures")
_UNITS = ("ps", "ns", "us")


@dataclass
class _Trigger:
    line: int
    kind: str = ""
    count: int = 0
    flows: list[int] = field(default_factory=list)
    callers: list[tuple[int, bool]] = field(default_factory=list)


def is_matrix(head: Head) -> bool:
    """Whether a file is a connection matrix."""
    first = {line.split()[0] for line in head.lines[:6]}
    return {"Nodes", "Connections"} <= first


def has_triggers(head: Head) -> bool:
    """Whether its header announces triggers."""
    return any(line.split()[0] == "Triggers" and line.split()[1:] != ["0"] for line in head.lines[:6])


def read_matrix(source: Source, options: Mapping[str, str]) -> Content:
    """The flows as messages of a graph."""
    endless = options.get("endless")
    if endless is not None and not (endless.isdecimal() and 0 < int(endless) < 2**63):
        source.stop(None, "--option endless must be a number of bytes above zero", endless[:40])
    matrix = _Matrix(source, options.get("start", "ps"), int(endless or 0))
    matrix.read()
    return matrix.content()


def _read_table(source: Source, options: Mapping[str, str]) -> Content:
    content = read_matrix(source, options)
    keys = ("from", "to", "bytes", "start")
    content.rows = [{key: row.get(key, "0s") for key in keys} for row in content.rows]
    return content


class _Matrix:
    def __init__(self, source: Source, unit: str, endless: int) -> None:
        self.source = source
        self.unit = unit
        self.endless = endless
        if unit not in _UNITS:
            source.stop(None, f"--option start must be one of {', '.join(_UNITS)}", unit)
        self.header: dict[str, tuple[int, int]] = {}
        self.flows: list[dict[str, Any]] = []
        self.lines: list[int] = []
        self.ids: dict[str, int] = {}
        self.triggers: dict[str, _Trigger] = defaultdict(lambda: _Trigger(0))
        self.declared = 0
        self.failures: list[tuple[str, int, int]] = []
        self.ignored: dict[str, int] = defaultdict(int)
        self.zero = 0
        self.starts = False

    def read(self) -> None:
        for line, words in self.source.words():
            if words[0] in _HEADER:
                if len(words) != 2 or words[0] in self.header:
                    self.source.refuse(line, f"{words[0]} must stand once, with a number", " ".join(words))
                    continue
                self.header[words[0]] = (self.source.count(line, words[1], words[0], most=MOST_ROWS), line)
            elif "->" in words[0]:
                self._flow(line, words)
            elif words[0] == "trigger":
                self._trigger(line, words[1:])
            elif words[0] == "failure":
                self._failure(line, words[1:])
            else:
                self.source.refuse(line, "must be a flow a->b, a trigger or a failure", words[0][:60])

    def _pairs(self, line: int, words: list[str], known: tuple[str, ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        rest = iter(
            [word for at, word in enumerate(words) if not (at and words[at - 1] == "msg" and word.isdigit())]
        )
        for key in rest:  # a message may have a number of its own, which says nothing here
            if key in ("oneshot", "multishot", "barrier") and "kind" in known:
                found["kind"] = key
            elif key in ("addon", "msg"):
                self.ignored[key] += 1
                found[key] = key
            elif key not in known or key == "kind":
                self.source.refuse(line, f"unknown word; known: {', '.join(known)}", key[:60])
                return found
            else:
                found[key] = next(rest, "")
        return found

    def _flow(self, line: int, words: list[str]) -> None:
        source = self.source
        if len(self.flows) >= MOST_ROWS:
            source.stop(line, f"holds more than {MOST_ROWS} flows")
        nodes = self.header.get("Nodes", (MOST_ROWS, 0))[0]
        known = ("id", "start", "trigger", "size", "prio", "send_done_trigger", "recv_done_trigger")
        given = self._pairs(line, words[1:], known)
        ends = words[0].split("->")
        if len(ends) != 2:
            source.refuse(line, "must be a flow a->b", words[0][:60])
            ends = ["0", "0"]
        one, other = (source.count(line, end, "a node", most=max(nodes - 1, 0)) for end in ends)
        if one == other:
            source.refuse(line, "must go from one node to another", words[0][:60])
        if ("start" in given) == ("trigger" in given):
            source.refuse(line, "must have start or trigger, and not both", " ".join(words)[:80])
        if "size" not in given:
            source.refuse(line, "must have size, in bytes", " ".join(words)[:80])
        size = source.count(line, given.get("size", "0"), "size")
        if not size:
            self.zero += 1
            size = self.endless
        number = len(self.flows)
        name = given.get("id") or f"row{number}"
        if name in self.ids and "msg" in given:  # a further message of a flow
            name = f"{name}.{number}"
        if name in self.ids:
            source.refuse(line, "must have an id of its own", name[:60])
        self.ids[name] = number
        flow: dict[str, Any] = {
            "id": name,
            "from": str(one),
            "to": str(other),
            "bytes": f"{size}B",
            "after": [],
        }
        if "start" in given:
            flow["start"] = source.time(line, given["start"], self.unit, "start")
            self.starts |= flow["start"] != "0ps" and flow["start"] != "0s"
        else:
            self.triggers[given.get("trigger", "")].flows.append(number)
        for key in ("send_done_trigger", "recv_done_trigger"):
            if key in given:
                self.triggers[given[key]].callers.append((number, key.startswith("send")))
        self.ignored["prio"] += "prio" in given
        self.flows.append(flow)
        self.lines.append(line)

    def _trigger(self, line: int, words: list[str]) -> None:
        given = self._pairs(line, words, ("id", "count", "kind"))
        self.declared += 1
        trigger = self.triggers[given.get("id", "")]
        if trigger.line:
            self.source.refuse(
                line, f"must have an id of its own; line {trigger.line} has it", given.get("id")
            )
        trigger.line, trigger.kind = line, given.get("kind", "")
        if not trigger.kind:
            self.source.refuse(line, "must be oneshot, multishot or barrier", " ".join(words)[:60])
        if trigger.kind == "barrier" or "count" in given:
            trigger.count = self.source.count(line, given.get("count", ""), "count", 1)

    def _failure(self, line: int, words: list[str]) -> None:
        given = self._pairs(line, words, ("switch_type", "switch_id", "link_id"))
        kind = given.get("switch_type", "")
        if kind not in ("TOR", "AGG", "CORE"):
            self.source.refuse(line, "switch_type must be TOR, AGG or CORE", kind[:60])
        switch, link = (
            self.source.count(line, given.get(key, ""), key, most=10**7) for key in ("switch_id", "link_id")
        )
        self.failures.append((f"{kind} {switch}", link, line))

    def content(self) -> Content:
        source = self.source
        for key, have in (
            ("Connections", len(self.flows)),
            ("Triggers", self.declared),
            ("Failures", len(self.failures)),
        ):
            said, line = self.header.get(key, (0, 1))
            if said != have:
                source.refuse(line, f"promises {said} {key.lower()}, and the file has {have}", said)
        for name, trigger in self.triggers.items():
            self._bind(name, trigger)
        if self.zero and not self.endless and not source.faults:
            source.refuse(
                None,
                f"{self.zero} flows have the size 0, a flow without end; give each a size, or all by "
                "--option endless=BYTES",
            )
        nodes = self.header.get("Nodes", (0, 0))[0]
        content = Content(
            self.flows, self.lines, [str(node) for node in range(nodes)], failures=self.failures
        )
        content.understood = [
            f"{len(self.flows)} flows on {nodes} nodes, {self.declared} triggers, "
            f"{len(self.failures)} failures"
        ]
        if self.starts:
            content.ignored.append(
                f"starts are in {self.unit} (--option start=us: whole microseconds, as for the UEC main)"
            )
        content.ignored += [f"{count} times the word {key}" for key, count in self.ignored.items() if count]
        if self.zero:
            content.ignored.append(f"{self.zero} flows have no end: each has {self.endless:,} bytes")
        if self.failures:
            content.ignored.append(
                f"{len(self.failures)} failed links: only an import with the .topo has them"
            )
        if any(trigger.callers for trigger in self.triggers.values()):
            content.ignored.append(
                "a flow triggers others when its last byte has arrived, for send_done as for recv_done"
            )
        return content

    def _bind(self, name: str, trigger: _Trigger) -> None:
        """Turns a trigger into dependencies, or refuses it where a graph has none of its kind."""
        source = self.source
        if not trigger.line:
            flow = trigger.flows[0] if trigger.flows else trigger.callers[0][0]
            source.refuse(self.lines[flow], "must name a trigger of this file", name[:60])
            return
        calls = len(trigger.callers)
        if trigger.flows and not calls:
            source.refuse(trigger.line, f"starts {len(trigger.flows)} flows, and no flow calls it", name)
        elif trigger.kind == "oneshot" and calls > 1 and trigger.flows:
            source.refuse(
                trigger.line,
                f"starts at the first of {calls} calls; a message waits for all that it names",
                name,
            )
        elif trigger.kind == "multishot" and trigger.flows and (calls > 1 or len(trigger.flows) > 1):
            source.refuse(
                trigger.line, "starts its flows call by call, in an order that the file does not fix", name
            )
        elif trigger.kind == "barrier" and trigger.flows and trigger.count != calls:
            source.refuse(trigger.line, f"waits for {trigger.count} calls, and {calls} flows call it", name)
        else:
            for number in trigger.flows:
                flow = self.flows[number]
                for caller, _ in trigger.callers:
                    before = self.flows[caller]
                    if flow["from"] not in (before["to"], before["from"]):
                        rule = f"starts at host {flow['from']} after a flow between others"
                        source.refuse(self.lines[number], rule, before["id"])
                        return
                    flow["after"].append(before["id"])


OPTIONS = {
    "start": "unit of starts: ps (default; NDP and RoCE mains), ns or us (UEC main)",
    "endless": "bytes of flows of the size 0, which have no end",
}

READER = Reader(
    "flows-htsim",
    "flows",
    "htsim's connection matrix (.cm)",
    "Broadcom/csg-htsim, sim/datacenter/connection_matrices/; ultraethernet/uet-htsim",
    "Nodes 4\nConnections 2\n0->2 id 1 start 0 size 200000\n1->2 id 2 start 1000000 size 100000\n",
    lambda head: is_matrix(head) and not has_triggers(head),
    _read_table,
    options=OPTIONS,
)
