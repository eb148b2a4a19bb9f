"""Shallows: a laboratory for data-centre congestion control.

    import shallows
    run = shallows.run("experiments/quickstart.toml")
    run.tables["queues"], run.metrics, run.figure("queue_time")

To run: `run` (one experiment), `sweep` (its points and seeds), `compare` (schemes, seed by seed), `tune` (a
`[tune]` section), `reproduce` (a paper). `import_files` makes an experiment of others' files.
To describe: files, tables, or the classes of `shallows.experiment`; `load` reads one. To write in Python:
`CongestionControl`, `Workload`, `topology`, with `param`, `Window`, `Flow`, `Graph` and the types `Span`,
`Rate`, `Bytes`; `shallows.testing` checks them. Results: `StoredRun`, kept in a `Store`; `Sweep`. Errors:
`SpecError` (with each `Fault`), `RunError`, `PluginError`, `StoreError`, all of them `ShallowsError`.
`FileWarning`: a file has something that its experiment has not.

Names are loaded when first used, so that importing the package costs little.
"""

TYPE_CHECKING = False  # not typing's, whose import takes as long as all the rest

if TYPE_CHECKING:
    from typing import Any

    from shallows.api import compare as compare
    from shallows.api import import_files as import_files
    from shallows.api import reproduce as reproduce
    from shallows.api import run as run
    from shallows.api import sweep as sweep
    from shallows.api import tune as tune
    from shallows.authoring.base import Bytes as Bytes
    from shallows.authoring.base import CongestionControl as CongestionControl
    from shallows.authoring.base import Flow as Flow
    from shallows.authoring.base import Graph as Graph
    from shallows.authoring.base import Rate as Rate
    from shallows.authoring.base import Span as Span
    from shallows.authoring.base import Window as Window
    from shallows.authoring.base import Workload as Workload
    from shallows.authoring.base import param as param
    from shallows.authoring.base import topology as topology
    from shallows.document.load import load as load
    from shallows.errors import Fault as Fault
    from shallows.errors import FileWarning as FileWarning
    from shallows.errors import PluginError as PluginError
    from shallows.errors import RunError as RunError
    from shallows.errors import ShallowsError as ShallowsError
    from shallows.errors import SpecError as SpecError
    from shallows.errors import StoreError as StoreError
    from shallows.execution.outcomes import Sweep as Sweep
    from shallows.results.store import Store as Store
    from shallows.results.store import StoredRun as StoredRun

_home: dict[str, str] = {}


def _homes() -> dict[str, str]:
    """The module of each public name, read from the imports above, which type checkers alone follow."""
    if not _home:
        import ast
        from pathlib import Path

        _home.update(
            (alias.name, node.module)
            for node in ast.walk(ast.parse(Path(__file__).read_bytes()))
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("shallows.")
            for alias in node.names
        )
    return _home


def __getattr__(name: str) -> "Any":
    if name == "__version__":
        from importlib.metadata import version

        return version("shallows")
    if name == "__all__":
        return sorted(_homes())
    if name.startswith("__") or name not in _homes():
        raise AttributeError(f"module 'shallows' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_homes()[name]), name)


def __dir__() -> list[str]:
    return [*sorted(_homes()), "__version__"]
