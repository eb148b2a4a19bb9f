"""A congestion control in a Rust file: its copy of the checkout, its faults and its commands."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT
from shallows.cli import rust_files as rust
from shallows.document import places
from shallows.errors import SpecError

LISTED = 'macro_rules! algorithms {}\n\nalgorithms! {\n    "newreno" => NewReno(newreno),\n}\n'
SOURCE = "pub struct Settings;\npub struct Control;\n"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with the few files that matter, and the user's cache beside it."""
    root = tmp_path / "a checkout"
    controls = root / "crates/core/src/cc"
    for path in (
        controls,
        root / "experiments",
        root / "python/shallows/_data",
        root / ".tools",
        root / "target",
    ):
        path.mkdir(parents=True)
    (controls / "mod.rs").write_text(LISTED)
    (controls / "newreno.rs").write_text("// here\n")
    (root / "python/shallows/_core.abi3.so").write_text("built")
    (root / "python/shallows/_data/experiments").symlink_to("../../../experiments")
    (root / "Cargo.toml").write_text("[workspace]\n")
    (root / "shallows").write_text("#!/bin/sh\n")
    (root / "shallows").chmod(0o755)
    monkeypatch.setattr(rust, "experiments_path", lambda: root / "experiments")
    monkeypatch.setenv("SHALLOWS_CACHE", str(tmp_path / "cache"))
    return root


def written(tmp_path, name="my_own.rs", text=SOURCE):
    file = tmp_path / name
    file.write_text(text)
    return file


def test_the_copy_has_the_file_and_its_line_and_the_checkout_stays(checkout, tmp_path):
    before = {str(path): path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    tree = rust.laboratory(written(tmp_path))
    assert (tree / "crates/core/src/cc/my_own.rs").read_text() == SOURCE
    line = '    "my-own" => MyOwnControl(my_own),\n'
    assert (tree / "crates/core/src/cc/mod.rs").read_text() == LISTED.replace(
        '{\n    "new', f'{{\n{line}    "new'
    )
    assert (tree / "python/shallows/_data/experiments").resolve() == tree / "experiments"
    assert (tree / ".tools").resolve() == checkout / ".tools"
    assert os.access(tree / "shallows", os.X_OK)
    assert not (tree / "python/shallows/_core.abi3.so").exists()
    assert not (tree / "target").exists()
    assert {str(path): path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before
    assert rust.laboratory(written(tmp_path, "other.rs")) != tree


def test_a_change_is_followed_and_what_is_built_stays(checkout, tmp_path):
    tree = rust.laboratory(written(tmp_path))
    for built in ("target/thing", ".venv/thing", "python/shallows/_core.abi3.so"):
        (tree / built).parent.mkdir(exist_ok=True)
        (tree / built).write_text("built")
    unchanged = (tree / "Cargo.toml").stat().st_mtime_ns
    (checkout / "crates/core/src/cc/newreno.rs").rename(checkout / "crates/core/src/cc/reno.rs")
    rust.laboratory(written(tmp_path, text=SOURCE + "// changed\n"))
    assert (tree / "crates/core/src/cc/my_own.rs").read_text().endswith("// changed\n")
    assert (tree / "crates/core/src/cc/reno.rs").exists()
    assert not (tree / "crates/core/src/cc/newreno.rs").exists()
    assert (tree / "Cargo.toml").stat().st_mtime_ns == unchanged
    for built in ("target/thing", ".venv/thing", "python/shallows/_core.abi3.so"):
        assert (tree / built).read_text() == "built"


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("My.rs", SOURCE, "lower-case letters"),
        ("match.rs", SOURCE, "keyword of Rust"),
        ("mine.txt", SOURCE, "must be a Rust file"),
        ("My.rs", "fn main() {}", "pub struct Control"),
        ("newreno.rs", SOURCE, "built in"),
        ("cubic.rs", SOURCE, "built in"),
        ("mine.rs", "pub struct Settings;", "must have pub struct Control"),
        ("mine.rs", "fn main() {}", "must have pub struct Settings and pub struct Control"),
        ("mine.rs", "x" * 4_000_001, "longer than"),
        ("absent.rs", None, "cannot be read: No such file"),
    ],
)
def test_files_that_cannot_be_controls_are_refused(checkout, tmp_path, name, text, rule):
    if text is not None:
        written(tmp_path, name, text)
    with pytest.raises(SpecError) as caught:
        rust.laboratory(tmp_path / name)
    assert rule in str(caught.value)
    assert not (tmp_path / "cache").exists()


def test_a_wheel_says_what_is_missing(checkout, tmp_path):
    shutil.rmtree(checkout / "crates")
    with pytest.raises(SpecError, match="needs a checkout of the sources"):
        rust.laboratory(written(tmp_path))


def test_the_words_and_the_command(checkout, tmp_path, monkeypatch):
    assert rust.parted("my_own.rs,gain=2,words=a b") == (rust.Path("my_own.rs"), "my-own,gain=2,words=a b")
    assert rust.parted("newreno,gain=2.rs") is None
    assert rust.parted("mine.py:gentle") is None
    called = []
    monkeypatch.setattr(os, "execv", lambda command, words: called.append((str(command), words)))
    monkeypatch.setenv(places.WITH, "")
    monkeypatch.setenv("SHALLOWS_BUILD", "")
    monkeypatch.delenv("SHALLOWS_BUILD")
    file = written(tmp_path)
    rust.run(file, ["run", "a file.toml"])
    tree = rust.laboratory(file)
    assert called == [(str(tree / "shallows"), [str(tree / "shallows"), "run", "a file.toml"])]
    assert os.environ["SHALLOWS_BUILD"] == "develop"
    assert places.program() == f"./shallows with {file}"
    rust.run(written(tmp_path, "a_second.rs"), ["run"])
    assert places.program() == f"./shallows with {file} with {tmp_path / 'a_second.rs'}"


@pytest.mark.parametrize("words", [["with", "mine.rs", "list"], ["assess", "mine.rs,gain=2", "--quick"]])
def test_both_commands_read_the_file(tmp_path, words):
    done = subprocess.run(
        [sys.executable, "-m", "shallows", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        env=os.environ | {"SHALLOWS_CACHE": str(tmp_path / "cache")}, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "mine.rs: cannot be read: No such file or directory" in done.stderr
    assert (ROOT / rust.LIST).is_file()
