"""The rooms of python/shallows stand in an order, and no module imports from a later one as it is loaded."""

import ast

import pytest
from conftest import ROOT

ORDER = ["errors", "model", "spec", "points", "store", "run", "sweep", "crew", "cluster", "connect"]
"""From the first to the last; what follows them (metrics, claims, reports, the command line) may use all."""

HOME = ROOT / "python/shallows"


def imported(path):
    """Modules of shallows that loading this one loads; imports within functions and for types come later."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shallows."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "shallows":
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("name", ORDER)
def test_a_room_uses_only_those_before_it(name):
    allowed = set(ORDER[: ORDER.index(name)])
    assert set(imported(HOME / f"{name}.py")) <= allowed, name


def test_every_module_loads_nothing_that_loads_it():
    uses = {path.stem: set(imported(path)) for path in HOME.glob("*.py")}
    left = dict(uses)
    while True:
        free = [name for name, needs in left.items() if not needs & set(left)]
        if not free:
            break
        for name in free:
            del left[name]
    assert not left, f"these import each other: {sorted(left)}"
