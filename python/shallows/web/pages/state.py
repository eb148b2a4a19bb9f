"""How a server was started, and the state that all its pages share."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows.results.store import Store, StoredRun, store_path
from shallows.web.jobs.queue import Jobs
from shallows.web.jobs.renderer import Renderer
from shallows.web.limits import Limits
from shallows.web.live.session import Sessions
from shallows.web.pages.index import Index

MOST_METRICS = 5000
"""Runs whose metrics the server keeps in mind."""

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
    """The state that all pages of the server share."""

    def __init__(self, options: Options):
        self.options = options
        self.sessions = Sessions(options.limits, options.allow_python)
        self.store = Store(options.store)
        self.index = Index(self.store)
        self.jobs = Jobs(options.limits, self.store, options.allow_python)
        self.renderer = Renderer(options.limits)
        self._metrics: dict[str, Mapping[str, Any]] = {}

    @property
    def store_option(self) -> str:
        """The words that choose this store on a command line; none for the usual one."""
        path = self.store.path
        usual = path.absolute() == store_path().absolute()
        return "" if usual else f" --store {shlex.quote(str(path))}"

    @property
    def store_code(self) -> str:
        """This store in Python."""
        return f"shallows.Store({json.dumps(str(self.store.path)) if self.store_option else ''})"

    def metrics(self, run: StoredRun) -> Mapping[str, Any]:
        """The metrics of a stored run, which never change; those asked for last are kept."""
        found = self._metrics.pop(run.hash, None)
        if found is None:
            found = run.metrics
        self._metrics[run.hash] = found
        while len(self._metrics) > MOST_METRICS:
            self._metrics.pop(next(iter(self._metrics)), None)
        return found

    def close(self) -> None:
        """Ends all that runs for pages."""
        self.sessions.close()
        self.jobs.close()
        self.renderer.close()
