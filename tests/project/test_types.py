"""The typed API under a type checker: notebooks' code passes, and a wrong name does not."""

import subprocess
import sys

from conftest import ROOT


def test_the_type_checker_accepts_what_runs_and_refuses_a_wrong_name(tmp_path):
    right, wrong = ROOT / "tests/support/typed.py", tmp_path / "wrong.py"
    wrong.write_text(right.read_text().replace("mark_at=", "mark_att="))
    cache = str(ROOT / ".mypy_cache")
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", cache, right, wrong]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    faults = [line for line in found.splitlines() if "error:" in line]
    assert len(faults) == 1, found
    assert "wrong.py" in faults[0]
    assert 'Unexpected keyword argument "mark_att"' in faults[0]


def test_it_runs(tmp_path):
    command = [sys.executable, ROOT / "tests/support/typed.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
