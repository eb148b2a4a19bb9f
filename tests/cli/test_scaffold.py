"""`./shallows new` and `./shallows copy`: their files run and pass as written, and nothing is overwritten."""

import json
import subprocess
import sys

import pytest
from conftest import ROOT
from conftest import shallows as command
from shallows.cli import scaffold
from shallows.document import places
from shallows.errors import SpecError


@pytest.mark.parametrize("kind", ["cc", "workload", "topology"])
def test_a_python_scaffold_runs_and_passes(tmp_path, kind):
    done = command("new", kind, "My-Own", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert set(written) == {"my_own.py", "test_my_own.py", "my_own.toml"}
    ran = command("run", "my_own.toml", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["metrics"]["goodput_bps_total"] > 1e8
    args = [sys.executable, "-m", "pytest", "-q", "test_my_own.py"]
    tested = subprocess.run(args, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert tested.returncode == 0, tested.stdout + tested.stderr

    again = command("new", kind, "My-Own", cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr.count("is not overwritten") == 3
    assert {name: (tmp_path / name).read_text() for name in written} == written


def test_the_test_of_a_scaffold_runs_without_pytest(tmp_path):
    command("new", "cc", "mine", cwd=tmp_path)
    args = [sys.executable, "test_mine.py"]
    tested = subprocess.run(args, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (tested.returncode, tested.stdout) == (0, "Mine passes\n"), tested.stderr


def test_a_study_is_reproduced_from_its_directory(tmp_path):
    done = command("new", "study", "paper/first-figure", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ran = command("reproduce", "./paper", "--quick", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    (claim,) = json.loads(ran.stdout)["claims"]
    assert (claim["id"], claim["verdict"]) == ("paper/first-figure/queue-at-65", "holds")
    assert (tmp_path / "reports/paper-quick/index.html").is_file()


def test_a_queue_is_a_file_and_a_line_of_the_checkout(tmp_path, monkeypatch):
    """The file, its line and its format. Compiling it takes minutes, so the suite leaves it out."""
    queues = tmp_path / "crates/core/src/queue"
    queues.mkdir(parents=True)
    before = (ROOT / "crates/core/src/queue/mod.rs").read_text()
    (queues / "mod.rs").write_text(before)
    home = tmp_path / "python/shallows/cli"
    home.mkdir(parents=True)
    monkeypatch.setattr(scaffold, "__file__", str(home / "scaffold.py"))
    made = scaffold.create("queue", "Mine-Too", tmp_path)
    after = (queues / "mod.rs").read_text()
    assert after.replace('        "mine-too" => MineToo(mine_too),\n', "") == before
    assert '"mine-too" => MineToo(mine_too),\n    }\n    departure {' in after
    assert {path.name for path in made.files} == {"mine_too.rs", "mine_too.toml", "mod.rs"}
    form = ["rustfmt", "--check", "--edition", "2024", "--config-path", ROOT, queues / "mine_too.rs"]
    formatted = subprocess.run(form, capture_output=True, text=True, check=False)
    assert formatted.returncode == 0, formatted.stdout


def test_a_queue_needs_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(scaffold, "__file__", str(tmp_path / "a/b/c/scaffold.py"))
    with pytest.raises(SpecError, match="needs a checkout"):
        scaffold.create("queue", "mine", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["cc", "dctcp"], "must not have the name of an existing cc"),
        (["topology", "star"], "must not have the name of an existing topology"),
        (["cc", "random"], "must not have the name of a Python module"),
        (["cc", "../x"], "needs a name of letters"),
        (["study", "paper"], "needs PAPER/FIGURE"),
        (["qeue", "x"], "did you mean"),
    ],
)
def test_what_cannot_be_made_is_refused(tmp_path, args, told):
    done = command("new", *args, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_copy_of_a_paper_is_whole_and_reproduced_from_its_place(tmp_path):
    done = command("copy", "xdctcp", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    source = ROOT / "experiments/xdctcp"
    files = {p.relative_to(source) for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert {p.relative_to(tmp_path / "mine") for p in (tmp_path / "mine").rglob("*") if p.is_file()} == files
    ran = command("reproduce", "./mine/bound", "--quick", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert {claim["id"].split("/")[0] for claim in json.loads(ran.stdout)["claims"]} == {"mine"}
    assert command("copy", "xdctcp", "mine", cwd=tmp_path).returncode == 2
    assert command("copy", "xdctcp/bound", cwd=tmp_path).returncode == 2


def test_next_steps_name_the_command_that_is_there(tmp_path, monkeypatch):
    """A wheel has no `./shallows`."""
    assert places.program() == "./shallows"
    monkeypatch.setattr(places, "experiments_path", lambda: tmp_path / "_data/experiments")
    assert places.program() == "shallows"
    assert scaffold.create("cc", "mine", tmp_path).next[0] == "shallows run mine.toml"
