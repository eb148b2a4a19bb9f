"""How much a page may ask for. Each limit has an option of `./shallows web`, and says so when it bites."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds on what a page may run."""

    run_seconds: float = 120.0
    """Wall time of one run of the laboratory."""
    ports: int = 20_000
    """Directions of links of a network."""
    memory_bytes: int = 4_000_000_000
    """Address space of a worker process beyond what it needs to start."""
    document_bytes: int = 200_000
    """Text of an experiment."""
    file_seconds: float = 120.0
    """Wall time in which a file of a stored run is made: a figure, a table, a film."""
    sessions: int = 8
    """Laboratories open at once, each with a process."""
    jobs: int = 4
    """Sweeps, comparisons and other work that wait or run at once."""
