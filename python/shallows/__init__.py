"""Shallows: a laboratory for data-centre congestion control.

    import shallows
    run = shallows.simulate("experiments/quickstart.toml")
    run.tables["queues"]

Names are loaded when first used, so that importing the package costs little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shallows.errors import Fault, RunError, ShallowsError, SpecError, StoreError
    from shallows.run import simulate
    from shallows.spec import load
    from shallows.store import Store, StoredRun
    from shallows.sweep import run_sweep

_HOME = {
    "Fault": "errors",
    "RunError": "errors",
    "ShallowsError": "errors",
    "SpecError": "errors",
    "StoreError": "errors",
    "Store": "store",
    "StoredRun": "store",
    "load": "spec",
    "run_sweep": "sweep",
    "simulate": "run",
}

__all__ = [
    "Fault",
    "RunError",
    "ShallowsError",
    "SpecError",
    "Store",
    "StoreError",
    "StoredRun",
    "load",
    "run_sweep",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("shallows")
    if name not in _HOME:
        raise AttributeError(f"module 'shallows' has no attribute {name!r}")
    return getattr(import_module(f"shallows.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
