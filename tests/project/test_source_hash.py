"""The hash of the core's sources is that of the checkout in which it is built, also of a copied one."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT


@pytest.fixture
def checkout(tmp_path):
    """Three small crates with the build script of shallows-spec, compiled there."""
    if shutil.which("rustc", path=PATH) is None:
        pytest.skip("needs rustc")
    crates = tmp_path / "one/crates"
    for name in ("units", "core", "spec"):
        (crates / name / "src").mkdir(parents=True)
        (crates / name / "src/lib.rs").write_text(f"// {name}\n")
        (crates / name / "Cargo.toml").write_text(f'[package]\nname = "{name}"\n')
    shutil.copy(ROOT / "crates/spec/build.rs", crates / "spec")
    command = ["rustc", "--edition", "2024", "build.rs", "-o", "build"]
    subprocess.run(command, cwd=crates / "spec", env=environment(crates / "spec"), check=True)
    return tmp_path / "one"


PATH = os.pathsep.join([os.environ["PATH"], str(Path.home() / ".cargo/bin")])


def environment(package: Path) -> dict[str, str]:
    """The environment of a build script, and its compiler."""
    return {**os.environ, "PATH": PATH, "CARGO_MANIFEST_DIR": str(package)}


def told(checkout: Path) -> tuple[str, list[str]]:
    """The hash that the build script prints, and the files whose change has it run again."""
    package = checkout / "crates/spec"
    done = subprocess.run(
        [package / "build"], cwd=package, env=environment(package), capture_output=True, text=True, check=True
    )
    [found] = re.findall(r"SHALLOWS_SOURCE_HASH=([0-9a-f]{32})", done.stdout)
    return found, re.findall(r"rerun-if-changed=(.*)", done.stdout)


def test_a_copied_checkout_with_an_edited_core_has_a_hash_of_its_own(checkout):
    original, watched = told(checkout)
    copy = shutil.copytree(checkout, checkout.with_name("two"))
    assert told(copy) == (original, watched)
    (copy / "crates/core/src/lib.rs").write_text("// edited\n")
    edited, _ = told(copy)
    assert edited != original
    assert told(checkout)[0] == original


def test_cargo_watches_the_files_of_the_checkout_it_builds(checkout):
    _, watched = told(checkout)
    assert "../core/src/lib.rs" in watched
    assert all((checkout / "crates/spec" / path).exists() for path in watched)
    assert not any(Path(path).is_absolute() for path in watched)
