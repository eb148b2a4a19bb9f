"""The guest's C sources: they compile without a warning, by the package's command, and stand in an order."""

import re
import shutil
import subprocess
from graphlib import TopologicalSorter

import pytest
from shallows.backends.linux.cache import HERE
from shallows.backends.linux.root import COMPILE

GUEST = HERE / "guest"
needs_compiler = pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("make") and shutil.which("nm")),
    reason="no gcc, make or nm here",
)
ONE_MACHINE = {"traffic", "flows", "rounds"}


@needs_compiler
def test_every_file_compiles_without_a_warning():
    ran = subprocess.run(["make", "-C", GUEST, "check"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_the_makefile_builds_as_the_package_does():
    named = dict(re.findall(r"^(CC|CFLAGS) = (.*)$", (GUEST / "Makefile").read_text(), re.M))
    assert [named["CC"], *named["CFLAGS"].split()] == list(COMPILE)


def test_the_readme_names_every_file():
    named = re.findall(r"^\| `(\w+\.c)` \|", (GUEST / "README.md").read_text(), re.M)
    assert sorted(named) == sorted(path.name for path in GUEST.glob("*.c"))


@needs_compiler
def test_files_call_each_other_in_one_direction(tmp_path):
    """By the symbols that each defines and needs. Connections, their records and closed loops are one."""
    defined, needed = {}, {}
    for file in GUEST.glob("*.c"):
        built = tmp_path / f"{file.stem}.o"
        subprocess.run(["gcc", "-c", "-o", built, file], check=True)
        symbols = subprocess.run(["nm", built], capture_output=True, text=True, check=True).stdout
        name = "traffic" if file.stem in ONE_MACHINE else file.stem
        for kind, symbol in re.findall(r"([A-Zu]) (\w+)$", symbols, re.M):
            if kind == "U":
                needed.setdefault(name, set()).add(symbol)
            else:
                defined[symbol] = name
    calls = {name: {defined.get(each, name) for each in needs} - {name} for name, needs in needed.items()}
    order = list(TopologicalSorter(calls).static_order())  # CycleError names the circle
    assert order[0] == "base"
    assert order[-1] == "main"
