"""How many runs at once fit into the memory that is free, by the checker's estimates."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from shallows.backends.memory import free_memory
from shallows.terminal import note

__all__ = ["fitting", "workers_in_memory"]


def fitting(estimates: Iterable[int], workers: int, free: int | None) -> int:
    """The most of `workers` whose largest runs fit together into `free` bytes; at least one.

    Whether the largest run fits alone is for the backend to say, which refuses it with its parts.
    """
    largest = heapq.nlargest(workers, estimates)
    held = 0
    for number, estimate in enumerate(largest):
        held += estimate
        if free is not None and held > free:
            return max(1, number)
    return workers


def workers_in_memory(estimates: Iterable[int], workers: int) -> int:
    """The workers that the free memory has room for; prints a line on standard error if they are fewer."""
    sizes, free = list(estimates), free_memory()
    fit = fitting(sizes, workers, free)
    if fit < workers and free is not None:
        note(
            f"shallows: {fit} of {workers} runs at a time, since a run takes up to {max(sizes) / 1e9:.1f} GB "
            f"and {free / 1e9:.1f} GB are free (--allow-memory: all {workers})"
        )
    return fit
