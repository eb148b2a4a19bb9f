"""Shallows: a laboratory for data-centre congestion control.

    import shallows
    run = shallows.run("experiments/quickstart.toml")
    run.tables["queues"], run.metrics, run.figure("queue_time")

To run: `run` (one experiment), `sweep` (its points and seeds), `reproduce` (a paper); `simulate` and
`run_sweep` are the same without progress. To describe: files, tables, or the classes of
`shallows.experiment`; `load` reads one. To write in Python: `CongestionControl`, `Workload`, `topology`,
with `param`, `Window`, `Flow`, `Graph` and the types `Span`, `Rate`, `Bytes`; `shallows.testing` checks
them. Results: `StoredRun`, kept in a `Store`; `Sweep`. Errors: `SpecError` (with each `Fault`), `RunError`,
`PluginError`, `StoreError`, all of them `ShallowsError`.

Names are loaded when first used, so that importing the package costs little.
"""

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shallows.custom import (
        Bytes,
        CongestionControl,
        Flow,
        Graph,
        Rate,
        Span,
        Window,
        Workload,
        param,
        topology,
    )
    from shallows.errors import Fault, PluginError, RunError, ShallowsError, SpecError, StoreError
    from shallows.interface import Sweep, reproduce, run, sweep
    from shallows.run import simulate
    from shallows.spec import load
    from shallows.store import Store, StoredRun
    from shallows.sweep import run_sweep

_HOME = {
    "Bytes": "custom",
    "CongestionControl": "custom",
    "Flow": "custom",
    "Graph": "custom",
    "Rate": "custom",
    "Span": "custom",
    "Window": "custom",
    "Workload": "custom",
    "param": "custom",
    "topology": "custom",
    "PluginError": "errors",
    "Fault": "errors",
    "RunError": "errors",
    "ShallowsError": "errors",
    "SpecError": "errors",
    "StoreError": "errors",
    "Store": "store",
    "StoredRun": "store",
    "load": "spec",
    "Sweep": "interface",
    "run_sweep": "sweep",
    "simulate": "run",
}

__all__ = [
    "Bytes",
    "CongestionControl",
    "Fault",
    "Flow",
    "Graph",
    "PluginError",
    "Rate",
    "RunError",
    "ShallowsError",
    "Span",
    "SpecError",
    "Store",
    "StoreError",
    "StoredRun",
    "Sweep",
    "Window",
    "Workload",
    "load",
    "param",
    "reproduce",
    "run",
    "run_sweep",
    "simulate",
    "sweep",
    "topology",
]


_FUNCTIONS = ("reproduce", "run", "sweep")
"""Modules that can be called: each stands for the function of its name in `shallows.interface`."""


class _Function(ModuleType):
    """`shallows.run` is the room where runs are made, and `shallows.run(...)` makes one."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def _function(self) -> Any:
        return getattr(import_module("shallows.interface"), self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FUNCTIONS and isinstance(value, ModuleType):
            value.__class__ = _Function
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("shallows")
    if name in _FUNCTIONS:
        return import_module(f"shallows.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'shallows' has no attribute {name!r}")
    return getattr(import_module(f"shallows.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
