"""Completion times on one server under SRPT, PS and FB, exactly, for the same arrivals.

The references of size-aware transports: shortest remaining processing time first (optimal for the mean:
Schrage, Operations Research 16(3) 1968), processor sharing, and foreground-background, which serves those
with least attained service alike and needs no sizes (Kleinrock, Queueing Systems vol. 2 (1976), section 4.6).
Each is simulated from event to event without a time step, in O(n log n) or, for FB, O(n log^2 n).

Times and sizes are in one unit: a size is the time its job takes alone. For flows through a link,
`alone_ps(size_bytes, rate_bps)` of `on_link` makes the sizes.
"""

import heapq
from collections.abc import Callable, Sequence

import numpy as np

Floats = Sequence[float] | np.ndarray


def srpt(arrivals: Floats, sizes: Floats) -> np.ndarray:
    """Instant at which each job ends under shortest remaining processing time first, preemptive.

    Shapes: two of length n, arrivals in any order; the result in the same order. Of equals the earlier goes
    first. Errors: ValueError for unequal lengths, or a size that is not above zero.
    """
    order, ends = _prepare(arrivals, sizes)
    waiting: list[tuple[float, int]] = []  # (remaining, job); the least is in service
    now = 0.0
    for at, job in order:
        now = _serve(waiting, ends, now, at)
        heapq.heappush(waiting, (float(sizes[job]), job))
    _serve(waiting, ends, now, np.inf)
    return ends


def _serve(waiting: list[tuple[float, int]], ends: np.ndarray, now: float, until: float) -> float:
    while waiting:
        remaining, job = waiting[0]
        if now + remaining > until:
            heapq.heapreplace(waiting, (remaining - (until - now), job))
            return until
        now += remaining
        ends[job] = now
        heapq.heappop(waiting)
    return until


def ps(arrivals: Floats, sizes: Floats, permanent: int = 0) -> np.ndarray:
    """Instant at which each job ends under egalitarian processor sharing, beside `permanent` endless jobs.

    In virtual time, which runs at 1 / (number of jobs), each job ends its size after its arrival. Shapes and
    errors as `srpt`.
    """
    order, ends = _prepare(arrivals, sizes)
    due: list[tuple[float, int]] = []  # (virtual end, job)
    now = virtual = 0.0

    def run(until: float) -> None:
        nonlocal now, virtual
        while due:
            end, job = due[0]
            gone = now + (end - virtual) * (len(due) + permanent)
            if gone > until:
                virtual += (until - now) / (len(due) + permanent)
                break
            now, virtual = gone, end
            ends[job] = now
            heapq.heappop(due)
        now = until

    for at, job in order:
        if not due:
            virtual = 0.0  # an empty server forgets: keeps the sums small, and so exact
        run(at)
        heapq.heappush(due, (virtual + float(sizes[job]), job))
    run(np.inf)
    return ends


def fb(arrivals: Floats, sizes: Floats) -> np.ndarray:
    """Instant at which each job ends under foreground-background (least attained service).

    Jobs with equal attained service form a group; the least group shares the server until it reaches the next
    one's level, a member's size, or a new job comes. Shapes and errors as `srpt`.
    """
    order, ends = _prepare(arrivals, sizes)
    groups: list[tuple[float, list[tuple[float, int]]]] = []  # (attained, heap of (size, job)), least last
    now = 0.0

    def run(until: float) -> None:
        nonlocal now
        while groups:
            level, members = groups[-1]
            size = members[0][0]
            above = groups[-2][0] if len(groups) > 1 else np.inf
            target = min(size, above)
            reached = now + (target - level) * len(members)
            if reached > until:
                groups[-1] = (level + (until - now) / len(members), members)
                break
            now = reached
            groups.pop()
            while members and members[0][0] <= target:
                ends[heapq.heappop(members)[1]] = now
            if members:
                _join(groups, target, members)
        now = until

    for at, job in order:
        run(at)
        _join(groups, 0.0, [(float(sizes[job]), job)])
    run(np.inf)
    return ends


def _join(groups: list, level: float, members: list[tuple[float, int]]) -> None:
    """Adds a group at the least level; into the one that stands there, the smaller into the larger."""
    if groups and groups[-1][0] <= level:
        level, others = groups.pop()
        members, others = (members, others) if len(members) >= len(others) else (others, members)
        for member in others:
            heapq.heappush(members, member)
    groups.append((level, members))


def _prepare(arrivals: Floats, sizes: Floats) -> tuple[list[tuple[float, int]], np.ndarray]:
    if len(arrivals) != len(sizes):
        raise ValueError(f"{len(arrivals)} arrivals need as many sizes, got {len(sizes)}")
    if len(sizes) and not np.min(sizes) > 0:
        raise ValueError("sizes must be > 0")
    order = sorted((float(at), job) for job, at in enumerate(arrivals))
    return order, np.full(len(sizes), np.nan)


DISCIPLINES: dict[str, Callable[[Floats, Floats], np.ndarray]] = {"SRPT": srpt, "PS": ps, "FB": fb}
"""The references, by name."""


def on_link(
    starts_ps: Floats, sizes_bytes: Floats, rate_bps: float, permanent: int = 0, overhead: float = 1500 / 1460
) -> dict[str, np.ndarray]:
    """Completion times in ps of flows whose bottleneck is one link, by discipline.

    `permanent` long flows without end stand beside them: PS shares with them, SRPT and FB leave them what the
    others do not need. `overhead` is bytes on the wire a byte of payload. Propagation is left out: it adds
    the same to each flow whatever the discipline.
    """
    starts = np.asarray(starts_ps, dtype=float)
    alone = np.asarray(sizes_bytes, dtype=float) * (8e12 * overhead / rate_bps)
    ends = {"SRPT": srpt(starts, alone), "PS": ps(starts, alone, permanent), "FB": fb(starts, alone)}
    return {name: end - starts for name, end in ends.items()}
