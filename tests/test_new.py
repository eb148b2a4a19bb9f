"""`./shallows new cc NAME`: what it writes runs and passes as written, and nothing is overwritten."""

import json
import subprocess
import sys

import pytest
from conftest import shallows as command


def test_what_is_written_runs_and_passes(tmp_path):
    done = command("new", "cc", "My-Control", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert set(written) == {"my_control.py", "test_my_control.py", "my_control.toml"}
    ran = command("run", "my_control.toml", "--json", "--set", "transport.cc.beta=0.6", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert {flow["cc"] for flow in found["flows"]} == {"my-control"}
    assert found["metrics"]["goodput_bps_total"] > 8e9
    for runner in (["-m", "pytest", "-q"], []):
        args = [sys.executable, *runner, "test_my_control.py"]
        tested = subprocess.run(args, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
        assert tested.returncode == 0, tested.stdout + tested.stderr

    again = command("new", "cc", "My-Control", cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr.count("is not overwritten") == 3
    assert {name: (tmp_path / name).read_text() for name in written} == written


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["cc", "dctcp"], "a congestion control that there is"),
        (["cc", "random"], "a module of Python"),
        (["cc", "../x"], "needs a name of letters"),
        (["queue", "x"], "makes cc"),
    ],
)
def test_what_cannot_be_made_is_told(tmp_path, args, told):
    done = command("new", *args, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert list(tmp_path.iterdir()) == []
