"""The backends by name."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from shallows.backends.base import Backend
from shallows.backends.simulator import Simulator
from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean

__all__ = ["NAMES", "all_cores", "backend", "on_kernel"]

_HOMES = {
    "simulator": ("shallows.backends.simulator", "Simulator"),
    "linux": ("shallows.backends.linux.backend", "Linux"),
    "ns3": ("shallows.backends.ns3.backend", "Ns3"),
}

NAMES = tuple(_HOMES)
"""The values of `--backend`."""


def backend(
    which: str | Backend = "simulator", threads: int | None = None, allow_memory: bool = False
) -> Backend:
    """The backend of this name, or the one that is given; `threads` are those of one simulation.

    With `allow_memory` a simulation may take more memory than the machine has free. Raises SpecError for an
    unknown name, and for `threads` or `allow_memory` with a backend that has no use for them.
    """
    found = which if not isinstance(which, str) else _named(which)
    if threads is None and not allow_memory:
        return found
    if not isinstance(found, Simulator):
        rule = f"does not apply to the backend {found.name}"
        given = {"--threads": threads, "--allow-memory": allow_memory or None}
        raise SpecError([Fault(name, rule, it) for name, it in given.items() if it is not None])
    return Simulator(threads, allow_memory)


def on_kernel(name: str, kernel: str) -> Backend:
    """The backend of this name on a kernel by name. Raises SpecError, also where it has no kernels."""
    choose = getattr(_named(name), "on_kernel", None)
    if choose is None:
        raise SpecError([Fault("--kernel", "needs --backend linux", kernel)])
    return choose(kernel)


def _named(name: str) -> Backend:
    if name not in _HOMES:
        rule = f"must be one of {', '.join(NAMES)}"
        raise SpecError([Fault("--backend", rule, name, did_you_mean(name, NAMES))])
    module, cls = _HOMES[name]
    return getattr(import_module(module), cls)()


def all_cores(backend: Backend) -> Backend:
    """The backend with all cores for a run that has the machine to itself, unless threads were given."""
    from shallows.execution.threads import default_workers

    if isinstance(backend, Simulator) and backend.threads is None:
        return replace(backend, threads=default_workers())
    return backend
