"""How a server was started, and what all its pages share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from shallows.results.store import Store
from shallows.web.jobs import Jobs
from shallows.web.limits import Limits
from shallows.web.session import Sessions

__all__ = ["Options", "State"]


@dataclass(frozen=True)
class Options:
    """How a server was started."""

    host: str = "127.0.0.1"
    port: int = 8475
    allow_python: bool = False
    store: Path | None = None
    limits: Limits = field(default_factory=Limits)
    open_browser: bool = True


class State:
    """What all pages of the server share."""

    def __init__(self, options: Options):
        self.options = options
        self.sessions = Sessions(options.limits, options.allow_python)
        self.store = Store(options.store)
        self.jobs = Jobs(options.limits, self.store, options.allow_python)

    def close(self) -> None:
        """Ends all that runs for pages."""
        self.sessions.close()
        self.jobs.close()
