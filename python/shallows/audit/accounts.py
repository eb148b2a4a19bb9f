"""Accounts of flow control whose XOFF follows the free memory of their switch, computed again.

The packets of a switch say at each time what it holds, and so what is free. An account closes as a packet
comes, and may open as any packet leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

MOST = 64
"""Readings of events of one instant that are followed at once."""

TOGETHER = 5
"""Events of one instant of which all orders are tried."""

NEVER = 2**62


class Threshold(NamedTuple):
    """XOFF of an account in bytes, its share of the free memory, and how far below XON lies."""

    xoff: int | None
    alpha: float | None
    below: int

    def at(self, free: int) -> int:
        """XOFF with so much free memory: the lesser of both, rounded down, and 0 if none is free."""
        if free == 0:
            return 0
        share = NEVER if self.alpha is None else int(self.alpha * free)
        return min(NEVER if self.xoff is None else self.xoff, share)


class Event(NamedTuple):
    """A packet that comes, or the last bit of one that leaves."""

    time: int
    comes: bool
    account: int
    """The account that is charged, or -1."""
    lane: int
    """The lossy priority of a port in which it stands, or -1."""
    size: int


class State:
    """The contents of a switch at one time, and when each account was closed."""

    __slots__ = ("blurred", "closed", "count", "headroom", "held", "inside", "lanes", "shared", "spans")

    def __init__(self, accounts: int, lanes: int):
        self.held = self.inside = 0
        """Bytes held, and those of them in headrooms and reserves."""
        self.shared, self.headroom = [0] * accounts, [0] * accounts
        self.closed, self.lanes = [-1] * accounts, [0] * lanes
        self.spans: list[tuple[tuple[int, int], ...]] = [()] * accounts
        self.count = [0] * accounts
        """How often each account has closed."""
        self.blurred = False
        """Another order of events has led to the same, at other times."""

    def twin(self) -> State:
        """A copy of its own."""
        other = State(0, 0)
        other.held, other.inside = self.held, self.inside
        other.shared, other.headroom = self.shared.copy(), self.headroom.copy()
        other.closed, other.lanes, other.spans = self.closed.copy(), self.lanes.copy(), self.spans.copy()
        other.count, other.blurred = self.count.copy(), self.blurred
        return other

    def summary(self) -> tuple[object, ...]:
        """All that decides about its future and has been counted."""
        return (*self.shared, *self.headroom, *self.count, *(since >= 0 for since in self.closed))


class Switch:
    """A switch, its memory beside headrooms and reserves, and its accounts."""

    def __init__(self, memory: int, reserve: int, thresholds: list[Threshold], lanes: int):
        self.memory, self.reserve, self.thresholds, self.lanes = memory, reserve, thresholds, lanes

    def _free(self, state: State) -> int:
        return max(0, self.memory + state.inside - state.held)

    def _apply(self, state: State, event: Event, looks: bool = True) -> None:
        _, comes, account, lane, size = event
        if lane >= 0:
            before = min(state.lanes[lane], self.reserve)
            state.lanes[lane] += size if comes else -size
            state.inside += min(state.lanes[lane], self.reserve) - before
        if comes:
            state.held += size
            if account < 0:
                return
            if state.closed[account] >= 0:
                state.headroom[account] += size
                state.inside += size
                return
            state.shared[account] += size
            if looks and state.shared[account] >= self.thresholds[account].at(self._free(state)):
                state.closed[account] = event.time
                state.count[account] += 1
            return
        state.held -= size
        if account >= 0:
            # The packets beyond XOFF are taken off first.
            beyond = min(state.headroom[account], size)
            state.headroom[account] -= beyond
            state.shared[account] -= size - beyond
            state.inside -= beyond
        if looks:
            self._open(state, event.time)

    def _open(self, state: State, now: int) -> None:
        free = -1
        for account, since in enumerate(state.closed):
            if since < 0 or state.headroom[account]:
                continue
            free = self._free(state) if free < 0 else free
            law = self.thresholds[account]
            if state.shared[account] <= max(0, law.at(free) - law.below):
                state.closed[account] = -1
                state.spans[account] = (*state.spans[account], (since, now))

    def _order_decides(self, state: State, group: list[Event]) -> bool:
        """Whether an account may close or open, or is charged in its headroom, in some order of events."""
        most, least = state.twin(), state.twin()
        come = [0] * len(self.thresholds)
        gone = come.copy()
        for event in group:
            if event.account >= 0:
                (come if event.comes else gone)[event.account] += event.size
            self._apply(most if event.comes else least, event, False)
        # Those that come to closed accounts are in headrooms, and leave no less free.
        low = max(0, self.memory + state.inside - state.held - sum(e.size for e in group if e.comes))
        high = self._free(least) + sum(e.size for e in group if not e.comes)
        for account, law in enumerate(self.thresholds):
            if state.closed[account] < 0:
                if come[account] and state.shared[account] + come[account] >= law.at(low):
                    return True
            elif (come[account] and gone[account]) or (
                state.headroom[account] <= gone[account]
                and state.shared[account] - gone[account] <= max(0, law.at(high) - law.below)
            ):
                return True
        return False

    def readings(self, events: list[Event], until: int, sent: list[int]) -> list[State] | None:
        """The states at `until`, one for each order of events that may have been; None of too many.

        No account has closed more often than `sent` says.
        """
        states = [State(len(self.thresholds), self.lanes)]
        for group in _groups(events, until):
            if len(group) == 1:
                for state in states:
                    self._apply(state, group[0])
                continue
            following: dict[tuple[object, ...], State] = {}
            for state in states:
                if not self._order_decides(state, group):
                    for event in group:
                        self._apply(state, event, False)
                    self._keep(following, state)
                elif len(group) > TOGETHER:
                    return None
                else:
                    for order in permutations(group):
                        own = state.twin()
                        for event in order:
                            self._apply(own, event)
                        self._keep(following, own)
            states = list(following.values())
            if len(states) > 1:
                states = [state for state in states if _within(state.count, sent)]
            if not states:
                break
            if len(states) > MOST:
                return None
        return [state for state in states if _within(state.count, sent)]

    def _keep(self, following: dict[tuple[object, ...], State], state: State) -> None:
        known = following.setdefault(state.summary(), state)
        known.blurred |= known.spans != state.spans or known.closed != state.closed or state.blurred


def _within(counts: list[int], most: list[int]) -> bool:
    return all(count <= limit for count, limit in zip(counts, most, strict=True))


def _groups(events: list[Event], until: int) -> Iterator[list[Event]]:
    """Events of one instant each."""
    group: list[Event] = []
    for event in events:
        if event.time >= until:
            break
        if group and event.time != group[0].time:
            yield group
            group = []
        group.append(event)
    if group:
        yield group
