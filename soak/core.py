"""Another build of the core in place of the installed one: `--core target/checked` of the soak.

The profile `checked` panics where a number overflows or an assertion does not hold. This module is imported
before anything of Shallows, and reads the command line itself.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ExtensionFileLoader
from pathlib import Path

LIBRARIES = ("lib_core.so", "lib_core.dylib", "_core.dll")


def use(directory: Path) -> None:
    """Takes the library of the directory for `shallows._core`."""
    found = [directory / name for name in LIBRARIES if (directory / name).is_file()]
    if not found:
        raise SystemExit(f"no library of the core in {directory}; make soak builds one")
    loader = ExtensionFileLoader("shallows._core", str(found[0].resolve()))
    spec = importlib.util.spec_from_file_location("shallows._core", found[0], loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules["shallows._core"] = module


if "--core" in sys.argv:
    use(Path(sys.argv[sys.argv.index("--core") + 1]))
