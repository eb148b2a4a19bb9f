"""The rooms of python/shallows: a package each. Arrows between them never lead back to where they came from.

An arrow is any import, also one within a function or for types alone.
"""

import ast
import warnings
from collections import defaultdict
from itertools import pairwise

import pytest
from conftest import ROOT

HOME = ROOT / "python/shallows"
MODULES = sorted(HOME.rglob("*.py"))
GENERATED = {HOME / "experiment/_classes.py"}
CODE = ("python/**/*.py", "crates/**/*.rs", "tests/**/*.py", "tools/**/*.py", "soak/*.py")
WRITTEN = (*CODE, "experiments/**/*.py")
MOST_LINES = 600
MOST_KNOWN = 18
MOST_ROOMS = 20
MOST_MODULES = 30

ENTRANCES = {"__init__", "__main__"}
"""They name what others define: nothing within the package imports from them."""


def dotted(path):
    parts = path.relative_to(HOME).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


NAMES = {dotted(path) for path in MODULES} | {"_core"}
PACKAGES = {dotted(path) for path in MODULES if path.name == "__init__.py"} - {"__init__"}


def imported(path, types=True):
    """The modules of shallows that this one imports, wherever in it; `from package import name` by name."""
    tree = ast.parse(path.read_text())
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
    }
    for node in ast.walk(tree):
        if not types and id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "shallows":
            module = node.module.removeprefix("shallows").removeprefix(".")
            for alias in node.names:
                inner = f"{module}.{alias.name}".strip(".")
                yield inner if inner in NAMES else module or "__init__"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "shallows":
                    yield alias.name.removeprefix("shallows").removeprefix(".") or "__init__"


def room(module):
    """The package that holds a module; a module at the top is a room of its own."""
    return module if module in PACKAGES else module.rpartition(".")[0] or module


ARROWS = defaultdict(dict)
for each in MODULES:
    for other in imported(each):
        if dotted(each) not in ENTRANCES:
            ARROWS[dotted(each)][other] = None


def a_circle(arrows):
    """Some circle of the graph, as the list of its nodes with the first again at the end; or nothing."""
    left = {node: set(others) - {node} for node, others in arrows.items()}
    while True:
        free = [node for node, others in left.items() if not others & set(left)]
        if not free:
            break
        for node in free:
            del left[node]
    if not left:
        return []
    walk = [min(left)]
    while walk[-1] not in walk[:-1]:
        walk.append(min(left[walk[-1]] & set(left)))
    return walk[walk.index(walk[-1]) :]


def between_rooms():
    arrows = defaultdict(set)
    for module, others in ARROWS.items():
        arrows[room(module)] |= {room(other) for other in others}
    return arrows


def test_every_import_is_of_a_module_that_there_is():
    for module, others in ARROWS.items():
        assert set(others) <= NAMES | PACKAGES, module


def test_the_rooms_stand_in_an_order():
    circle = a_circle(between_rooms())
    by_whom = [
        f"{module} -> {other}"
        for one, two in pairwise(circle)
        for module, others in ARROWS.items()
        for other in others
        if (room(module), room(other)) == (one, two)
    ]
    assert not circle, f"{' -> '.join(circle)}, by {by_whom}"


def test_no_module_imports_one_that_imports_it():
    """Types alone may: within a room a class and what shows it know each other."""
    assert not a_circle({dotted(path): set(imported(path, types=False)) for path in MODULES})


def test_a_circle_is_found():
    assert a_circle({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}}) == ["b", "c", "b"]


@pytest.mark.parametrize("low", ["backends", "execution"])
def test_what_makes_runs_knows_neither_studies_nor_the_command_line(low):
    for one, others in between_rooms().items():
        if one.split(".")[0] == low:
            assert not {other for other in others if other.split(".")[0] in ("cli", "studies")}, one


def test_only_the_door_is_entered_from_within():
    assert not {other for others in ARROWS.values() for other in others if other in ENTRANCES} - {
        "__init__"
    }, "a module of the package imports __main__"
    users = {module for module, others in ARROWS.items() if "__init__" in others}
    assert all(user.startswith("authoring.examples.") or user == "cli.app" for user in users), users


def test_there_are_few_rooms_and_large_files_are_named():
    for folder in {path.parent for path in MODULES}:
        assert (
            len([package for package in folder.iterdir() if (package / "__init__.py").exists()]) <= MOST_ROOMS
        )
        assert len(list(folder.glob("*.py"))) <= MOST_MODULES, folder
    written = [path for pattern in WRITTEN for path in ROOT.glob(pattern) if path not in GENERATED]
    assert {*MODULES} - GENERATED <= {*written}
    for path in written:
        if (lines := len(path.read_text().splitlines())) > MOST_LINES:
            warnings.warn(f"{path.relative_to(ROOT)} has {lines} lines: is it two files?", stacklevel=1)


def test_no_module_knows_too_much():
    """A module that imports many others does several things. tests/rooms.rs has the law for Rust."""
    known = {module: len({*others}) for module, others in ARROWS.items()}
    assert {module: n for module, n in known.items() if n > MOST_KNOWN} == {}


def test_every_package_says_what_it_is_for():
    for path in MODULES:
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text())), path
    assert {path.parent for path in MODULES} == {
        path.parent for path in MODULES if path.name == "__init__.py"
    }


OTHER_TESTS = {
    "api": "the functions of shallows/api.py",
    "experiments": "the studies in experiments/",
    "features": "one feature, from the experiment file to tables and backends",
    "linux": "backends.linux, which needs a kernel for most",
    "packets": "packet scripts, which other programs read too",
    "project": "the repository: rooms, documentation, generated files",
    "requirements": "requirements of RFCs, with the tests that hold them",
    "regressions": "findings of the soak, which the Rust tests read too",
    "support": "what several test files share",
}
"""Folders of tests that are named after no package."""


def test_the_tests_stand_in_a_folder_named_after_the_package_they_test():
    folders = {
        path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"
    }
    assert folders - set(OTHER_TESTS) <= PACKAGES
    assert set(OTHER_TESTS) <= folders
    assert not list((ROOT / "tests").glob("test_*.py")), "a test file belongs in a folder"


WRITTEN_BY_USERS = {
    "linux": "options of programs' runs from Python",
    "attack.corpus": "values of earlier finds' files, which a range has in a unit of its own",
    "statistics.expected": "values of --expect, which are no part of a record",
    "cli.linux_exec": "rates, times and lengths of `linux exec`",
    "cli.options": "--timeout of the command line",
    "document.kernel_settings": "times of `linux.rebind`, a section that the core does not know",
    "document.summary": "sizes of `[summary]` and --sizes, which are no part of a record",
    "theory.registry": "the inputs of `theory` on the command line",
    "studies.validation.matrix": "rate and round trip of a cell of matrix.toml, which make its document",
}
"""Modules that read a quantity as a user wrote it, and its place. `_core.numbers` has those of a record."""


def test_quantities_of_a_record_are_read_by_the_core_alone():
    readers = {
        dotted(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if "parse_quantity" in (getattr(node, key, "") for key in ("attr", "id", "name"))
    }
    assert readers == set(WRITTEN_BY_USERS)
