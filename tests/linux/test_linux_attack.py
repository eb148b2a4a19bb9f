"""Searches whose finds hold on Linux as well: each file of experiments/attack whose command has `--on
linux`."""

import json
import re

import pytest
from conftest import ROOT, shallows
from test_linux import needs_kernel

pytest.importorskip("optuna")
FILES = [p for p in sorted((ROOT / "experiments/attack").glob("*.toml")) if "--on linux" in p.read_text()]


@needs_kernel
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_find_of_the_simulator_is_confirmed_by_the_kernel(file, tmp_path):
    command = re.search(r"^#   \./shallows attack \S+ (.*)$", file.read_text(), re.MULTILINE)[1]
    against = re.search(r'--against "(.*?)"', command)[1]
    others = re.sub(r'--against ".*?"', "", command).split()
    done = shallows("attack", file, "--against", against, *others, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["find"]["verdict"] == "weakness"
    assert told["confirmed"]["verdict"] == "confirmed", told["confirmed"]
