"""FQ-CoDel computed again: queues of flows in turn, each under CoDel, and room made in the longest one.

The hash that gives a flow its queue is salted, so that no table has it. The audit begins with a queue for
each connection and direction. If the run differs, it asks whether two of them may share a queue. Those that
do leave in the order in which they came, and no more of them share than chance allows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.audit.quantities import level
from shallows.audit.rule import CHANCE, Breach, rule
from shallows.audit.rules import followed
from shallows.audit.sojourn import DROPPED, MARKED, NEVER, PASSED, Law

if TYPE_CHECKING:
    import polars as pl

    from shallows.audit.trace import Trace

EVICTED, REFUSED = "evicted", "refused"

MOST = 64
"""Readings of events of one instant that are followed at once."""

ORDERS = 400
"""Orders of the events of one instant that are tried."""

Key = tuple[int, int]


class _Unknown(Exception):
    """The order of events of one instant decides, and there are too many."""


class _Parted(Exception):
    """The run is not the law's: the packet that the law takes, or none, and the fate that it gives to it."""

    def __init__(self, packet: int | None, fate: str):
        super().__init__(packet, fate)
        self.packet, self.fate = packet, fate


class _Packets(NamedTuple):
    """The packets that came to a port, in order: when each came and left its queue, and its fate."""

    came: list[int]
    size: list[int]
    ecn: list[int]
    at: list[int]
    fate: list[str]
    key: list[Key]
    seq: list[int]


class _Queue:
    """A queue: the packets from `head` to `tail` of its line wait in it."""

    __slots__ = ("bytes", "credits", "head", "law", "line", "listed", "owner", "tail")

    def __init__(self, line: list[int], law: Law, owner: _State):
        self.line, self.law, self.owner = line, law, owner
        self.head = self.tail = self.bytes = self.credits = 0
        self.listed = False

    def twin(self, owner: _State) -> _Queue:
        """A copy of its own."""
        other = _Queue(self.line, self.law.twin(), owner)
        other.head, other.tail, other.bytes = self.head, self.tail, self.bytes
        other.credits, other.listed = self.credits, self.listed
        return other

    def summary(self) -> tuple[Any, ...]:
        """All that decides about its future."""
        # A queue that becomes new has a quantum again.
        owed = self.credits if self.listed else NEVER
        return (tuple(self.line[self.head : self.tail]), owed, *self.law.summary())


class _State:
    """A port at one time."""

    def __init__(self, port: _Port, lines: Mapping[int, list[int]]):
        self.port, self.lines = port, lines
        self.queues: dict[int, _Queue] = {}
        self.new: deque[tuple[int, int]] = deque()
        """New queues, each with the time at which it came: those of one instant may stand in any order."""
        self.old: deque[int] = deque()
        self.packets = self.bytes = self.dropped = 0
        self.serving = -1

    def twin(self) -> _State:
        """A copy of its own."""
        other = _State(self.port, self.lines)
        other.queues, other.new, other.old = dict(self.queues), self.new.copy(), self.old.copy()
        other.packets, other.bytes, other.dropped = self.packets, self.bytes, self.dropped
        other.serving = self.serving
        return other

    def summary(self, here: bool = False) -> tuple[Any, ...]:
        """All that decides about its future; `here`: among states that have changed since the same one."""
        queues = sorted(
            (number, id(queue)) if here and queue.owner is not self else (number, *queue.summary())
            for number, queue in self.queues.items()
        )
        # New queues of one instant may stand in any order. One that was the first has the time -1.
        new = tuple(sorted((since, number) for number, since in self.new))
        return (new, tuple(self.old), self.serving, tuple(queues))

    def _own(self, number: int) -> _Queue:
        queue = self.queues.get(number)
        if queue is None:
            queue = _Queue(self.lines[number], self.port.law.twin(), self)
            self.queues[number] = queue
        elif queue.owner is not self:
            queue = self.queues[number] = queue.twin(self)
        return queue

    def _leaves(self, queue: _Queue) -> int:
        one = queue.line[queue.head]
        size = self.port.all.size[one]
        queue.head += 1
        queue.bytes -= size
        self.packets -= 1
        self.bytes -= size
        return one

    def arrive(self, one: int, number: int, now: int) -> None:
        """RFC 8290 s.4.1: a packet joins its queue, and the longest one makes room."""
        port = self.port
        queue, size = self._own(number), port.all.size[one]
        if queue.line[queue.tail] != one:
            # Packets of one instant may have come in another order than that in which they left.
            place = queue.line.index(one, queue.tail)
            queue.line = queue.line.copy()
            queue.line.insert(queue.tail, queue.line.pop(place))
        queue.tail += 1
        queue.bytes += size
        self.packets += 1
        self.bytes += size
        if not queue.listed:
            queue.listed, queue.credits = True, port.quantum
            self.new.append((number, now))
        while self.packets and port.is_beyond(self):
            self._relieve(number, now)

    def _relieve(self, arrived: int, now: int) -> None:
        """Half of the packets of the queue with the most bytes go, `drop_batch` at most, from its head."""
        all_, queues = self.port.all, self.queues
        listed = [*(number for number, _ in self.new), *self.old]
        most = max(queues[number].bytes for number in listed)
        longest = [number for number in listed if queues[number].bytes == most]
        heads = {number: queues[number].line[queues[number].head] for number in longest}
        # No table has the order of queues that are equal.
        fitting = [number for number in longest if all_.at[heads[number]] == now
                   and all_.fate[heads[number]] in (EVICTED, REFUSED)]  # fmt: skip
        if not fitting:
            raise _Parted(heads[longest[0]], EVICTED)
        number = min(fitting, key=heads.__getitem__)
        queue = self._own(number)
        for _ in range(min(max((queue.tail - queue.head) // 2, 1), self.port.batch)):
            one = self._leaves(queue)
            self.dropped += 1
            fate = REFUSED if number == arrived and queue.head == queue.tail else EVICTED
            if all_.at[one] != now or all_.fate[one] != fate:
                raise _Parted(one, fate)

    def serve(self, now: int) -> None:
        """RFC 8290 s.4.2: the next packet, of the first new queue or else of the first old one."""
        while True:
            from_new = bool(self.new)
            if from_new:
                number, since = self.new[0]
                if since >= 0:
                    number = self._revealed(since, now)
            elif self.old:
                number = self.old[0]
            else:
                self.serving = -1
                return
            queue = self._own(number)
            if queue.credits <= 0:
                queue.credits += self.port.quantum
                self._leave(from_new)
                self.old.append(number)
                continue
            one = self._taken(queue, now)
            if one >= 0:
                queue.credits -= self.port.all.size[one]
                self.serving = one
                return
            self._leave(from_new)
            if from_new:
                self.old.append(number)
            else:
                queue.listed = False

    def _leave(self, from_new: bool) -> None:
        if from_new:
            self.new.popleft()
        else:
            self.old.popleft()

    def _revealed(self, since: int, now: int) -> int:
        """Which of the new queues of one instant is the first: its packet leaves now."""
        group = [number for number, each in self.new if each == since]
        first = group[0]
        if len(group) > 1:
            queues, at = self.queues, self.port.all.at
            held = [queues[number] for number in group]
            if any(queue.head == queue.tail for queue in held):
                raise _Unknown
            fitting = (number for number in group if at[queues[number].line[queues[number].head]] == now)
            first = next(fitting, first)
            self.new.remove((first, since))
            self.new.appendleft((first, -1))
        else:
            self.new[0] = (first, -1)
        return first

    def _taken(self, queue: _Queue, now: int) -> int:
        """The packet that CoDel gives from a queue, or -1; those before it are dropped."""
        port, law, beside = self.port, queue.law, 0
        all_ = port.all
        if port.left_in_all:
            beside = self.bytes - queue.bytes
        while queue.head < queue.tail:
            one = self._leaves(queue)
            ecn = all_.ecn[one]
            fate = law.fate(now, now - all_.came[one], ecn > 0, queue.bytes + beside)
            if fate == MARKED and ecn == 3:
                fate = PASSED  # A mark changes nothing on a packet that came with one.
            # A packet in transmission at the end has no departure.
            last = all_.fate[one] == "" and fate != DROPPED and now >= port.last
            if not last and (all_.fate[one] != fate or all_.at[one] != now):
                raise _Parted(one, fate)
            if fate != DROPPED:
                return one
            self.dropped += 1
        law.emptied()
        return -1


class _Save(NamedTuple):
    """A port on the way: packets that came, transmissions that ended, losses, and the end of the next one."""

    arrived: int
    ended: int
    gone: int
    end: int
    states: list[_State]


class _Reading(NamedTuple):
    """Which queue each packet joins, the queues, its place there, and what is known from another reading."""

    number: list[int]
    lines: dict[int, list[int]]
    spots: list[int]
    saves: list[_Save]
    together: frozenset[tuple[int, ...]]
    """Queues that were joined, those of one in a group."""

    @property
    def shared(self) -> int:
        """How many flows have the queue of another one."""
        return sum(len(group) - 1 for group in self.together)


EVERY = 64
"""Events between two states that are kept."""


def _saved(saves: list[_Save], save: _Save) -> None:
    """Keeps a state; of older ones fewer and fewer."""
    saves.append(save)
    if len(saves) > 48:
        del saves[1:32:2]


class _Found(NamedTuple):
    """How far a reading of a port follows the law, and where it does not."""

    time: int
    text: str = ""
    suspects: tuple[int, ...] = ()
    """Queues of which one may be shared."""
    others: tuple[int, ...] = ()
    steps: int = 0
    saves: tuple[_Save, ...] = ()


class _Port:
    """A port, its packets, and its settings."""

    def __init__(self, settings: Mapping[str, Any], packets: _Packets, ends: list[int], until: int):
        self.all, self.ends, self.until = packets, ends, until
        self.last = ends[-1] if ends else 0
        self.law = Law(settings)
        self.limit = level(settings["limit"])
        self.in_service = settings["count_in_service"]
        self.queues = int(settings["flows"])
        self.quantum = (level(settings["quantum"]) or (0, False))[0]
        self.batch = int(settings["drop_batch"])
        self.left_in_all = settings["left_in"] == "all"
        self.lost = sorted(
            (at, one) for one, (at, fate) in enumerate(zip(packets.at, packets.fate, strict=True))
            if fate in (DROPPED, EVICTED, REFUSED)
        )  # fmt: skip
        self.sent = sorted(
            (at, one) for one, (at, fate) in enumerate(zip(packets.at, packets.fate, strict=True))
            if fate in (PASSED, MARKED)
        )  # fmt: skip
        self.leaves = {one: at for at, (_, one) in enumerate(self.sent)}
        self.of: dict[Key, list[int]] = {}
        for one, key in enumerate(packets.key):
            self.of.setdefault(key, []).append(one)
        self._ordered: dict[tuple[Key, Key], bool] = {}

    def is_beyond(self, state: _State) -> bool:
        """RFC 8290 s.5.2.3: all queues together hold more than the limit."""
        if self.limit is None:
            return False
        serving = self.all.size[state.serving] if self.in_service and state.serving >= 0 else 0
        if self.limit[1]:
            return state.packets + (serving > 0) > self.limit[0]
        return state.bytes + serving > self.limit[0]

    def crowded(self, state: _State, more: list[int]) -> bool:
        """These packets may find no room."""
        if self.limit is None:
            return False
        if self.limit[1]:
            return state.packets + len(more) + 1 > self.limit[0]
        size = self.all.size
        serving = size[state.serving] if state.serving >= 0 else 0
        return state.bytes + serving + sum(size[one] for one in more) > self.limit[0]

    def reading(self, numbers: Mapping[Key, int]) -> _Reading:
        """The queues of flows, by numbers that rise with the first packet of each."""
        number = [numbers[key] for key in self.all.key]
        lines: dict[int, list[int]] = {}
        for one, its in enumerate(number):
            lines.setdefault(its, []).append(one)
        spots = [0] * len(number)
        for line in lines.values():
            self._lined(line, spots)
        return _Reading(number, lines, spots, [], frozenset())

    def _lined(self, line: list[int], spots: list[int]) -> None:
        # Packets of one instant came in the order in which they left.
        came, at, leaves = self.all.came, self.all.at, self.leaves
        line.sort(key=lambda one: (came[one], at[one], leaves.get(one, -1)))
        for spot, one in enumerate(line):
            spots[one] = spot

    def joined(self, reading: _Reading, first: int, second: int, saves: list[_Save]) -> _Reading:
        """Another reading: two queues are one. Until the second has its first packet nothing is another."""
        number, spots, lines = reading.number.copy(), reading.spots.copy(), dict(reading.lines)
        later = lines.pop(second)
        for one in later:
            number[one] = first
        lines[first] = [*lines[first], *later]
        self._lined(lines[first], spots)
        before = [save for save in saves if save.arrived <= later[0]]
        groups = [group for group in reading.together if first in group or second in group]
        members = {first, second}.union(*groups)
        together = reading.together - set(groups) | {tuple(sorted(members))}
        return _Reading(number, lines, spots, before, together)

    def simulated(self, reading: _Reading) -> _Found:
        """Follows the port with these queues of the flows."""
        came, lost, ends = self.all.came, self.lost, self.ends
        saves = reading.saves.copy()
        save = _Save(0, 0, 0, NEVER, [_State(self, reading.lines)]) if not saves else saves[-1]
        arrived, ended, gone, end = save.arrived, save.ended, save.gone, save.end
        states = [state.twin() for state in save.states]
        for state in states:
            before, state.lines = state.lines, reading.lines
            for its, queue in state.queues.items():
                if before[its] is not reading.lines[its]:
                    state.queues[its] = queue.twin(state)
                    state.queues[its].line = reading.lines[its]
        count, steps, events = len(came), 0, 0
        while True:
            now = came[arrived] if arrived < count else NEVER
            now = min(now, end)
            if now >= self.until:
                return _Found(NEVER, steps=steps)
            begin = arrived
            if events % EVERY == 0:
                _saved(saves, _Save(arrived, ended, gone, end, states))
                states = [state.twin() for state in states]
                steps += len(states[0].queues) // 8
            events += 1
            while arrived < count and came[arrived] == now:
                arrived += 1
            more, finishes = list(range(begin, arrived)), now == end
            steps += (len(more) + finishes) * len(states)
            following: list[_State] = states
            failed = None
            try:
                if len(states) > 1 or not self._plain(states[0], more, reading, now, finishes):
                    following, failed, tried = self._explored(states, more, reading, now, finishes)
                    steps += tried
            except _Parted as parted:
                failed, following = parted, []
            except _Unknown:
                return _Found(-1, "the order of events of one instant decides too often", steps=steps)
            while gone < len(lost) and lost[gone][0] <= now:
                gone += 1
            if following and any(state.dropped != gone for state in following):
                following = [state for state in following if state.dropped == gone]
                if not following:
                    failed = _Parted(lost[gone - 1][1] if gone else None, PASSED)
            if len(following) > 1:
                following = list({state.summary(): state for state in following}.values())
            if len(following) > MOST or steps > 8 * count + 200_000:
                return _Found(-1, "the order of events of one instant decides too often", steps=steps)
            if not following:
                assert failed is not None
                return self._failed(failed, states[0], reading, now, steps, saves)
            states = following
            ended += finishes
            end = ends[ended] if states[0].serving >= 0 and ended < len(ends) else NEVER

    def _plain(self, state: _State, more: list[int], reading: _Reading, now: int, finishes: bool) -> bool:
        """Events whose order does not matter, or of which there is one; false for others."""
        number = reading.number
        if finishes:
            if more:
                return False
            state.serving = -1
            state.serve(now)
        elif len(more) == 1:
            state.arrive(more[0], number[more[0]], now)
            if state.serving < 0:
                state.serve(now)
        elif state.serving >= 0 and not self.crowded(state, more):
            for one in sorted(more, key=reading.spots.__getitem__):
                state.arrive(one, number[one], now)
        else:
            return False
        return True

    def _explored(
        self, states: list[_State], more: list[int], reading: _Reading, now: int, finishes: bool
    ) -> tuple[list[_State], _Parted | None, int]:
        """The states after events of one instant, in each order that the run allows; how many were tried."""
        failed: _Parted | None = None
        found: list[_State] = []
        tried = 0
        line = tuple(sorted(more, key=reading.spots.__getitem__))
        for state in states:
            free = not self.crowded(state, more)
            known: set[Any] = set()
            open_: list[tuple[_State, tuple[int, ...], tuple[int, ...], bool]] = [
                (state.twin(), line, (), finishes)
            ]
            while open_:
                here, left, later, to_end = open_.pop()
                if not left and not later and not to_end:
                    found.append(here)
                    continue
                tried += 1
                if tried > ORDERS:
                    raise _Unknown
                ways: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = []
                if not to_end and here.serving >= 0 and free:
                    # The order of those that come now does not matter.
                    ways = [((*left, *later), (), ())]
                elif to_end and free:
                    # Those before the end of the transmission come in one order: that does not matter either.
                    ways = [(left[:1], left[1:], later)] if left else []
                    if left:
                        open_.append((here, left[1:], (*later, left[0]), True))
                    else:
                        ways = [((), (), later)]
                else:
                    rest = (*left, *later)
                    ways = [((one,), tuple(each for each in rest if each != one), ()) for one in rest]
                    if to_end:
                        ways.append(((), rest, ()))
                for come, then, after in ways:
                    try:
                        own = self._then(here, come, reading.number, now)
                    except _Parted as parted:
                        failed = failed or parted
                        continue
                    ending = to_end and bool(come)
                    if not free:
                        name = (then, ending, own.summary(True))
                        if name in known:
                            continue
                        known.add(name)
                    open_.append((own, then, after, ending))
        return found, failed, tried

    def _then(self, state: _State, come: tuple[int, ...], number: list[int], now: int) -> _State:
        """The state after packets have come, or after the end of a transmission."""
        own = state.twin()
        if not come:
            own.serving = -1
            own.serve(now)
        for one in come:
            own.arrive(one, number[one], now)
            if own.serving < 0:
                own.serve(now)
        return own

    def seen(self, reading: _Reading, now: int) -> list[int]:
        """Queues that have had a packet by now."""
        return sorted(its for its, line in reading.lines.items() if self.all.came[line[0]] <= now)

    def in_order(self, reading: _Reading, first: int, second: int) -> bool:
        """The packets of two queues leave in the order in which they came, as if they shared one."""
        keys = [dict.fromkeys(self.all.key[one] for one in reading.lines[its]) for its in (first, second)]
        return all(self._pair(a, b) for a in keys[0] for b in keys[1])

    def _pair(self, a: Key, b: Key) -> bool:
        known = self._ordered.get((a, b))
        if known is None:
            came, at = self.all.came, self.all.at
            # The packet in transmission at the end has left before packets that were evicted since.
            mine = [one for one in (*self.of[a], *self.of[b]) if at[one] != NEVER]
            mine.sort(key=lambda one: (came[one], at[one]))
            known = all(at[x] <= at[y] for x, y in pairwise(mine))
            self._ordered[a, b] = known
        return known

    def _failed(
        self, parted: _Parted, state: _State, reading: _Reading, now: int, steps: int, saves: list[_Save]
    ) -> _Found:
        all_, number = self.all, reading.number
        at = bisect_left(self.sent, (now, -1))
        leaving = [one for when, one in self.sent[at : at + 1] if when == now]
        at = bisect_left(self.lost, (now, -1))
        while at < len(self.lost) and self.lost[at][0] == now:
            leaving.append(self.lost[at][1])
            at += 1
        named = [] if parted.packet is None else [parted.packet]
        suspects = tuple(dict.fromkeys(number[one] for one in (*named, *leaving)))
        others = dict.fromkeys([*(each for each, _ in state.new), *state.old])
        others |= dict.fromkeys(each for each, queue in state.queues.items() if queue.law.count > 1)
        text = "its fate is another"
        if parted.packet is not None:
            one = parted.packet
            flow, reverse = all_.key[one]
            what = "acknowledgement" if reverse else "packet"
            fate = all_.fate[one] or "held at the end"
            text = f"{what} {all_.seq[one]} of flow {flow} is {parted.fate} now by the law, and"
            text += f" is {fate}" + (f" at {all_.at[one]} ps" if all_.fate[one] else "")
        return _Found(now, text, suspects, tuple(others), steps, tuple(saves))


def _judged(port: _Port) -> _Found:
    """The reading of a port that follows the law furthest, with flows that may share queues."""
    keys = list(port.of)
    if port.queues == 1:
        return port.simulated(port.reading(dict.fromkeys(keys, 0)))
    reading = port.reading({key: at for at, key in enumerate(keys)})
    best = port.simulated(reading)
    spent, most = best.steps, 3 * best.steps + 2 * len(port.all.came) + 300_000
    open_: list[tuple[_Found, _Reading]] = [(best, reading)]
    tried: set[frozenset[tuple[int, ...]]] = set()
    while open_ and best.time not in (NEVER, -1):
        open_.sort(key=lambda each: (each[0].time, -each[1].shared))
        found, reading = open_.pop()
        if improbable(len(keys), reading.shared + 1, port.queues):
            continue
        seen = port.seen(reading, found.time)
        pairs = combinations(seen, 2) if len(seen) <= FEW else _pairs(found)
        for pair in pairs:
            if pair[0] not in reading.lines or pair[1] not in reading.lines:
                continue
            if not port.in_order(reading, *pair):
                continue
            other = port.joined(reading, *pair, list(found.saves))
            if other.together in tried:
                continue
            tried.add(other.together)
            if spent > most:
                return _Found(-1, SHARING)
            then = port.simulated(other)
            spent += then.steps + len(port.all.came) // 32
            if then.time in (NEVER, -1):
                return then
            open_.append((then, other))
            if then.time > best.time:
                best = then
    flows = sum(port.all.came[its[0]] <= best.time for its in port.of.values())
    if best.time not in (NEVER, -1) and flows > FEW and flows * (flows - 1) // 2 > port.queues:
        return _Found(-1, SHARING)
    return best


FEW = 6
"""Flows of which all ways to share queues are tried."""

SHARING = "so many flows share queues that not all ways are tried"


def _pairs(found: _Found) -> Iterator[tuple[int, int]]:
    for one in found.suspects:
        for other in found.others:
            if one != other:
                yield min(one, other), max(one, other)


def improbable(flows: int, shared: int, queues: int) -> bool:
    """So many flows share the queue of another one with a chance below `CHANCE`.

    A forest of n edges over the flows has all of its edges within queues with a chance of queues^-n.
    """
    return comb(flows * (flows - 1) // 2, shared) * round(1 / CHANCE) < queues**shared


@rule(
    "fq-codel-law",
    "RFC 8290 s.4.1, s.4.2, s.5.2: queues in turn by a quantum, each under CoDel; the longest makes room",
)
def follows_fq_codel(trace: Trace) -> Iterator[Breach]:
    """FQ-CoDel sends, marks and drops the packets that its law gives, each at its time."""
    if "fq-codel" not in {trace.discipline(port, True)["kind"] for port in trace.switched}:
        return
    if trace.faults("mark", "mark_every"):
        return trace.skip("fq-codel-law", "wires mark packets")
    ports = {
        port: rows for port, rows in followed(trace, "fq-codel-law")
        if trace.discipline(port, True)["kind"] == "fq-codel"
    }  # fmt: skip
    for node in dict.fromkeys(str(rows["from"][0]) for rows in ports.values()):
        mine = {port: rows for port, rows in ports.items() if str(rows["from"][0]) == node}
        for port, frame, until in _came(trace, node, mine):
            packets = _Packets(*(frame[name].to_list() for name in _Packets._fields[:-2]),
                               list(zip(frame["flow"].to_list(), frame["reverse"].to_list(), strict=True)),
                               frame["seq"].to_list())  # type: ignore[call-arg]  # fmt: skip
            ends = mine[port]["time_ps"].to_list()
            found = _judged(_Port(trace.discipline(port, True), packets, ends, until))
            if found.time == -1:
                trace.skip("fq-codel-law", found.text)
            elif found.time != NEVER:
                yield Breach(found.text, found.time, port)


def _came(
    trace: Trace, node: str, ports: Mapping[str, pl.DataFrame]
) -> Iterator[tuple[str, pl.DataFrame, int]]:
    """The packets that came to each port of a node with their fates, and until when all are known."""
    import polars as pl

    here = (pl.col("to") == node) & pl.col("landed_ps").is_not_null() & (pl.col("lost") == 0)
    nth = pl.int_range(pl.len()).over("name").alias("nth")
    landed = trace.hops.filter(here).sort("landed_ps", maintain_order=True)
    landed = landed.select(
        "name", "flow", "reverse", "seq", "size", "ecn", "src", "dst", came=pl.col("landed_ps").cast(pl.Int64)
    )
    took = (pl.col("size").cast(pl.Int64) * 8 * 10**12 + pl.col("rate_bps") - 1) // pl.col("rate_bps")
    left = trace.hops.filter(pl.col("from") == node).select(
        "name", "port", at=(pl.col("time_ps").cast(pl.Int64) - took.cast(pl.Int64)),
        fate=pl.when((pl.col("ecn") == 3) & (pl.col("ecn_before") != 3)).then(pl.lit(MARKED))
        .otherwise(pl.lit(PASSED)),
    )  # fmt: skip
    lost = trace.losses.filter(pl.col("from") == node)
    dropped = lost.select(
        "name", "port", at=pl.col("time_ps").cast(pl.Int64),
        fate=pl.when(pl.col("cause") == "drops_aqm").then(pl.lit(DROPPED))
        .when(pl.col("cause") == "drops_evicted").then(pl.lit(EVICTED))
        .when(pl.col("cause") == "drops_full").then(pl.lit(REFUSED)).otherwise(pl.lit("none")),
    )  # fmt: skip
    # A packet that was refused as it came is known by that time.
    atonce = pl.col("fate").is_in([REFUSED, "none"])
    again = pl.int_range(pl.len()).over("name", "came").alias("again")
    refused = dropped.filter(atonce).rename({"at": "came"}).with_columns(again)
    landed = landed.with_columns(again).join(refused, on=["name", "came", "again"], how="left",
                                             maintain_order="left")  # fmt: skip
    known = pl.col("fate").is_not_null()
    whole = landed.filter(known).with_columns(at=pl.col("came"))
    others = landed.filter(~known).drop("port", "fate").with_columns(nth)
    gone = pl.concat([dropped.filter(~pl.col("fate").is_in([REFUSED, "none"])), left], how="vertical_relaxed")
    gone = gone.sort("at", maintain_order=True).with_columns(nth)
    others = others.join(gone, on=["name", "nth"], how="left", maintain_order="left")
    frame = pl.concat([whole.select(sorted(whole.columns)),
                       others.drop("nth").select(sorted(whole.columns))], how="vertical_relaxed")  # fmt: skip
    # A packet that is held at the end has the port of its flow, or that of its destination.
    single = trace.experiment.get("ecmp", "flow") in ("flow", "symmetric") and all(
        load.get("transport", {}).get("entropy", "single") == "single"
        for load in trace.experiment["traffic"].values()
    )
    ways = (
        frame.filter(pl.col("port").is_not_null())
        .group_by("flow", "reverse")
        .agg(pl.col("port").first().alias("way"), pl.col("port").n_unique().alias("ways"))
    )
    frame = frame.join(ways, on=["flow", "reverse"], how="left", maintain_order="left")
    end = pl.when(pl.col("reverse") == 1).then(pl.col("src")).otherwise(pl.col("dst")).cast(pl.String)
    direct = pl.format("{}->{}", pl.lit(node), end)
    names = trace.ports["port"].to_list()
    direct = pl.when(direct.is_in(names)).then(direct)
    way = pl.when(pl.lit(single) & (pl.col("ways") == 1)).then(pl.col("way").cast(pl.String))
    frame = frame.with_columns(
        pl.coalesce(pl.col("port").cast(pl.String), way, direct).alias("port"),
        pl.col("fate").fill_null(""), pl.col("at").fill_null(NEVER),
    ).filter(pl.col("fate") != "none")  # fmt: skip
    until = min(frame.filter(pl.col("port").is_null())["came"].to_list(), default=trace.duration)
    frame = frame.sort("came", maintain_order=True)
    for port in ports:
        yield port, frame.filter(pl.col("port") == port), until
