"""Operations of ranks that wait for one another, as the messages of a graph.

A rank is a host. Each send becomes a message. It leaves a time of computation after the messages that it
waits for: those that its rank receives before it are delivered, those that its rank sends before it are
handed over. Receives and computations become part of the messages behind them. A message of a graph has one
time of computation, after all that it waits for. If the ways to a send have different computations, the
longest counts from the last of them, and the import says how many that concerns.
"""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from shallows.importing.parts.content import Content
from shallows.importing.parts.source import MOST_ROWS, Source, span

__all__ = ["AS_RINGS", "CALC", "COLLECTIVES", "RECV", "SEND", "Messages", "Program", "Schedule", "State"]

CALC, SEND, RECV, JOIN = range(4)

State = tuple[tuple[int, ...], int]
"""The numbers of messages that must come before, and the computation after them in ps."""

_MOST_OPERATIONS = 8_000_000
_MOST_WAITS = 20_000_000
_MOST_PS = 10**17


class Messages:
    """The messages of a graph, as they are found."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rows: list[dict[str, Any]] = []
        self.lines: list[int] = []
        self.waits = 0
        self.empty = 0
        self.longest = 0
        self._like: dict[tuple[tuple[int, ...], int, str], int] = {}

    def add(self, number: int, ends: tuple[int, int], size: int, state: State, line: int) -> None:
        """Adds the message with this number."""
        after, delay = state
        if len(self.rows) >= MOST_ROWS:
            rule, hint = (
                f"needs more than {MOST_ROWS} messages, the most of a graph",
                "fewer ranks, or a part of it",
            )
            self.source.stop(line or None, rule, hint=hint)
        if ends[0] == ends[1]:
            self.source.stop(line or None, "must not send from a rank to itself", ends[0])
        if delay > _MOST_PS:
            self.source.stop(line or None, "computes for more than 100000 s", f"{delay // 10**12}s")
        self.empty += size < 1
        one = str(ends[0])
        if len(after) > 2:  # the first message that waits for these stands for them
            key = (after, delay, one)
            if (like := self._like.get(key)) is not None:
                after, delay = (like,), 0
            else:
                self._like[key] = number
        self.waits += len(after)
        if self.waits > _MOST_WAITS:
            self.source.stop(
                line or None, f"has more than {_MOST_WAITS} dependencies, the most that are read"
            )
        row: dict[str, Any] = {
            "id": f"m{number}",
            "from": one,
            "to": str(ends[1]),
            "bytes": f"{max(size, 1)}B",
        }
        row["after"] = [f"m{other}" for other in after]
        if delay:
            row["delay"] = span(delay)
        self.rows.append(row)
        self.lines.append(line)

    def content(self, ranks: int, understood: Iterable[str], ignored: Iterable[str] = ()) -> Content:
        """The content, with a host for each rank."""
        content = Content(self.rows, self.lines, [str(rank) for rank in range(ranks)])
        content.understood = [*understood, f"{len(self.rows)} messages with {self.waits} dependencies"]
        content.ignored = [*ignored]
        if self.empty:
            content.ignored.append(f"{self.empty} messages without bytes are sent with one byte")
        if self.longest:
            content.ignored.append(
                f"{self.longest} operations wait on ways with different computations: the longest counts"
            )
        return content


def merge(messages: Messages, one: State | None, other: State) -> State:
    """The state that waits for both."""
    if one is None or one == other:
        return other
    if one[0] is other[0] or one[0] == other[0]:
        return one[0], max(one[1], other[1])
    messages.longest += one[1] != other[1]
    after = tuple(dict.fromkeys(one[0] + other[0])) if one[0] and other[0] else one[0] or other[0]
    messages.waits += len(after) // 64  # a chain of receives without a send is bounded too
    return after, max(one[1], other[1])


# ---- collectives ----

Ready = dict[int, State]
"""The state of each rank of a group."""

Add = Callable[[int, int, int, State], int]
"""Adds a message from, to, of so many bytes, after a state; returns its number."""


def _ring(group: Sequence[int], size: int, steps: int, ready: Ready, add: Add) -> Ready:
    """Each rank sends a block to the next in each step, once it has the block of the step before."""
    n = len(group)
    block = max(size // n, 1)
    for _ in range(steps):
        sent = [add(group[i], group[(i + 1) % n], block, ready[group[i]]) for i in range(n)]
        ready = {group[i]: ((sent[i - 1], sent[i]), 0) for i in range(n)}
    return ready


def _all_reduce(group: Sequence[int], size: int, ready: Ready, add: Add) -> Ready:
    return _ring(group, size, 2 * (len(group) - 1), ready, add)


def _all_gather(group: Sequence[int], size: int, ready: Ready, add: Add) -> Ready:
    return _ring(group, size, len(group) - 1, ready, add)


def _all_to_all(group: Sequence[int], size: int, ready: Ready, add: Add) -> Ready:
    n = len(group)
    came: dict[int, list[int]] = {rank: [] for rank in group}
    for i, rank in enumerate(group):
        state = ready[rank]
        for step in range(1, n):
            to = group[(i + step) % n]
            number = add(rank, to, max(size // n, 1), state)
            if step == 1:
                state = ((number,), 0)
                came[rank].append(number)
            came[to].append(number)
    return {rank: (tuple(numbers), 0) for rank, numbers in came.items()}


def _broadcast(group: Sequence[int], size: int, ready: Ready, add: Add) -> Ready:
    """The first rank of the group has the data; each hands them to the next."""
    ready = dict(ready)
    for one, to in pairwise(group):
        number = add(one, to, size, ready[one])
        after, delay = ready[to]
        ready[one] = ((number,), 0)
        ready[to] = ((*after, number), delay)
    return ready


def _reduce(group: Sequence[int], size: int, ready: Ready, add: Add) -> Ready:
    return _broadcast([*reversed(group)], size, ready, add)


def _barrier(group: Sequence[int], size: int, ready: Ready, add: Add) -> Ready:
    return _ring(group, len(group), len(group) - 1, ready, add)


AS_RINGS = "collectives are rings, an all-to-all sends to all at once, a broadcast is a chain"
"""The words of an import about them."""

COLLECTIVES: Mapping[str, Callable[[Sequence[int], int, Ready, Add], Ready]] = {
    "all-reduce": _all_reduce,
    "all-gather": _all_gather,
    "reduce-scatter": _all_gather,
    "all-to-all": _all_to_all,
    "broadcast": _broadcast,
    "reduce": _reduce,
    "barrier": _barrier,
}
"""Each as a ring or a chain, in the blocks that a ring has; sizes count as those of the load `collective`."""


class Schedule:
    """Operations by number, in arrays: a million take some 100 MB."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.kinds = bytearray()
        self.values = array("q")
        self.ranks = array("l")
        self.peers = array("l")
        self.tags = array("q")
        self.lines = array("L")
        self._before: tuple[array[int], array[int]] = (array("L"), array("L"))
        self._starts: tuple[array[int], array[int]] = (array("L"), array("L"))
        self.joins: dict[int, tuple[str, list[int]]] = {}
        """The collectives: by the number of their operation, their kind and their group in order."""

        self._entered: dict[int, Ready] = {}
        self.wild = 0

    def add(self, kind: int, rank: int, value: int, line: int, peer: int = -1, tag: int = -1) -> int:
        """Adds a computation of `value` ps, or a message of `value` bytes. Returns its number."""
        if len(self.kinds) >= _MOST_OPERATIONS:
            self.source.stop(line, f"holds more than {_MOST_OPERATIONS} operations")
        self.kinds.append(kind)
        self.values.append(value)
        self.ranks.append(rank)
        self.peers.append(peer)
        self.tags.append(tag)
        self.lines.append(line)
        return len(self.kinds) - 1

    def requires(self, one: int, other: int, start: bool = False) -> None:
        """Operation `one` waits for the end of `other`, or for its start."""
        pairs = self._starts if start else self._before
        pairs[0].append(one)
        pairs[1].append(other)

    def messages(self) -> Messages:
        """The messages. Raises SpecError for operations that can never run."""
        messages = Messages(self.source)
        matched = self._match()
        if self.source.faults:
            return messages
        n = len(self.kinds)
        # Edges as linked lists. One below `ends` follows the end of its operation, one above its start. One
        # from `starts` on follows the send of a receive: so messages come in an order in which they can run.
        ends = len(self._before[0])
        starts = ends + len(self._starts[0])
        first, next_edge, to = array("q", [-1]) * n, array("q"), array("L")
        waits = array("L", [0]) * n
        for ones, others in (self._before, self._starts, (matched.keys(), matched.values())):
            for one, other in zip(ones, others, strict=True):
                next_edge.append(first[other])
                first[other] = len(to)
                to.append(one)
                waits[one] += 1
        state: list[State | None] = [None] * n
        free = deque(i for i in range(n) if not waits[i])
        done, more = 0, n
        nothing: State = ((), 0)
        while free:
            i = free.popleft()
            done += 1
            before = state[i] or nothing
            state[i] = None
            kind = self.kinds[i]
            after = before
            outs: Ready | None = None
            if kind == CALC:
                after = (before[0], before[1] + self.values[i])
            elif kind == SEND:
                messages.add(i, (self.ranks[i], self.peers[i]), self.values[i], before, self.lines[i])
                after = ((i,), 0)
            elif kind == RECV:
                after = ((*before[0], matched[i]), before[1])
                messages.longest += bool(before[1])
            elif i in self.joins:
                name, group = self.joins[i]
                entered = self._entered.pop(i, {})
                ready = {rank: entered.get(rank, nothing) for rank in group}

                def add(one: int, other: int, size: int, at: State, line: int = self.lines[i]) -> int:
                    nonlocal more
                    messages.add(more, (one, other), size, at, line)
                    more += 1
                    return more - 1

                outs = COLLECTIVES[name](group, self.values[i], ready, add) if len(group) > 1 else ready
            edge = first[i]
            while edge >= 0:
                other = to[edge]
                if edge >= starts:
                    waits[other] -= 1
                    if not waits[other]:
                        free.append(other)
                    edge = next_edge[edge]
                    continue
                given = before if edge >= ends else after
                if outs is not None:
                    given = outs.get(self.ranks[other], nothing)
                if self.kinds[other] == JOIN and other in self.joins:
                    into = self._entered.setdefault(other, {})
                    into[self.ranks[i]] = merge(messages, into.get(self.ranks[i]), given)
                else:
                    state[other] = merge(messages, state[other], given)
                waits[other] -= 1
                if not waits[other]:
                    free.append(other)
                edge = next_edge[edge]
        if done < n:
            left = [i for i in range(n) if waits[i]]
            self._cycle(left, matched)
        return messages

    def collective(self, name: str, group: list[int], size: int, line: int) -> int:
        """Adds a collective. Computations of its ranks come before and after it, and give it their rank."""
        number = self.add(JOIN, -1, size, line)
        self.joins[number] = (name, group)
        return number

    def _match(self) -> dict[int, int]:
        """The send of each receive: first in, first out, by source, destination and tag."""
        sends: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
        for i, kind in enumerate(self.kinds):
            if kind == SEND:
                sends[(self.ranks[i], self.peers[i], self.tags[i])].append(i)
        matched: dict[int, int] = {}
        wild = []
        for i, kind in enumerate(self.kinds):
            if kind != RECV:
                continue
            if self.peers[i] < 0 or self.tags[i] < 0:
                wild.append(i)
                continue
            queue = sends.get((self.peers[i], self.ranks[i], self.tags[i]))
            if queue:
                matched[i] = queue.popleft()
            else:
                wild.append(i)
        self.wild = len(wild)
        if wild:
            self._match_wild(wild, sends, matched)
        left = [queue[0] for queue in sends.values() if queue]
        for i in sorted(left)[:5]:
            self.source.refuse(self.lines[i], "sends a message that no operation receives", self._shown(i))
        return matched

    def _match_wild(
        self, wild: list[int], sends: dict[tuple[int, int, int], deque[int]], matched: dict[int, int]
    ) -> None:
        """Receives with a wildcard take the next message to their rank that nothing else receives."""
        by_rank: dict[int, list[deque[int]]] = defaultdict(list)
        for (_, to, _), queue in sends.items():
            if queue:
                by_rank[to].append(queue)
        for i in wild:
            fits = [
                queue
                for queue in by_rank[self.ranks[i]]
                if queue
                and self.peers[i] in (-1, self.ranks[queue[0]])
                and (-1 in (self.tags[i], self.tags[queue[0]]) or self.tags[i] == self.tags[queue[0]])
            ]
            if fits:
                matched[i] = min(fits, key=lambda queue: queue[0]).popleft()
            else:
                self.source.refuse(
                    self.lines[i], "receives a message that no operation sends", self._shown(i)
                )

    def _shown(self, i: int) -> str:
        word = {SEND: "to", RECV: "from"}.get(self.kinds[i], "at")
        return f"{self.values[i]}b {word} {self.peers[i]} tag {self.tags[i]} at rank {self.ranks[i]}"

    def _cycle(self, left: list[int], matched: Mapping[int, int]) -> None:
        """Refuses operations that wait for themselves, with the lines of one circle."""
        stuck = {*left}
        before: dict[int, int] = {}
        for ones, others in (self._before, self._starts, (matched.keys(), matched.values())):
            for one, other in zip(ones, others, strict=True):
                if one in stuck and other in stuck:
                    before[one] = other
        walk: list[int] = []
        at = left[0]
        while at not in walk and at in before:
            walk.append(at)
            at = before[at]
        circle = walk[walk.index(at) :] if at in walk else walk
        lines = [str(self.lines[i]) for i in [*circle, circle[0]]][:13]
        self.source.stop(
            self.lines[circle[0]], f"must not wait for itself: lines {' waits for '.join(lines)}"
        )


class Program:
    """Operations of each rank one after another, onto a schedule."""

    def __init__(self, source: Source, ranks: int) -> None:
        self.schedule = Schedule(source)
        self.ranks = ranks
        self.alone = 0
        self._last: dict[int, int] = {}

    def compute(self, rank: int, ps: int, line: int) -> int:
        """A computation of a rank."""
        return self._next(rank, self.schedule.add(CALC, rank, ps, line))

    def send(self, rank: int, to: int, size: int, line: int, tag: int = 0) -> None:
        """A message, which the rank does not wait for."""
        self._next(rank, self.schedule.add(SEND, rank, size, line, to, tag))

    def receive(self, rank: int, source: int, size: int, line: int, tag: int = 0) -> None:
        """The wait for a message."""
        self._next(rank, self.schedule.add(RECV, rank, size, line, source, tag))

    def collective(self, name: str, group: list[int], size: int, line: int, wait: bool = True) -> None:
        """A collective of a group; without `wait` its ranks go on at once."""
        if len(group) < 2:
            self.alone += 1
            return
        before = {rank: self._last.get(rank) for rank in group}
        number = self.schedule.collective(name, group, size, line)
        for rank in group:
            enter = before[rank]
            if enter is None or self.schedule.kinds[enter] != CALC:
                enter = self.compute(rank, 0, line)
            self.schedule.requires(number, enter)
            if wait:
                self._last[rank] = self.schedule.add(CALC, rank, 0, line)
                self.schedule.requires(self._last[rank], number)

    def _next(self, rank: int, number: int) -> int:
        if rank in self._last:
            self.schedule.requires(number, self._last[rank])
        self._last[rank] = number
        return number
