"""The `shallows` script, with stand-ins for cargo, uv and python3: its messages, and when it builds."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

TOOLS = "sh cat cp rm mv mkdir ln ls find head tail sed grep dirname readlink touch env sleep chmod"


@pytest.fixture
def clone(tmp_path):
    """A clone with the scripts alone, a PATH with the plain tools alone, and a home without anything."""
    root = tmp_path / "a clone"
    for name in ("shallows", "tools/uv"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "crates").mkdir()
    for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml", "uv.lock", "crates/lib.rs"):
        (root / name).write_text("")
    (root / "Cargo.toml").write_text('[workspace.package]\nrust-version = "1.85"\n')
    (tmp_path / "bin").mkdir()
    (tmp_path / "home").mkdir()
    for tool in TOOLS.split():
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    return root


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def everything(clone: Path) -> None:
    """cargo, rustc and a uv that makes an environment whose python tells what it was given."""
    bin = clone.parent / "bin"
    script(bin / "cargo", f'echo cargo "$@" >>"{clone.parent}/log"; echo "   Compiling shallows" >&2')
    script(bin / "rustc", 'echo "rustc 1.95.0 (abc 2026-03-21)"')
    script(
        bin / "uv",
        f'echo uv "$@" >>"{clone.parent}/log"; mkdir -p "{clone}/.venv/bin"\n'
        f'printf "#!/bin/sh\\necho ran \\"\\$@\\" in \\"\\$PWD\\"\\n" >"{clone}/.venv/bin/python"\n'
        f'chmod +x "{clone}/.venv/bin/python"',
    )


def call(
    clone: Path, *args: str, command: Path | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess:
    env = {"PATH": str(clone.parent / "bin"), "HOME": str(clone.parent / "home")}
    command = command or clone / "shallows"
    return subprocess.run(
        [command, *args], env=env, cwd=cwd or clone, capture_output=True, text=True, timeout=60
    )


def log(clone: Path) -> list[str]:
    path = clone.parent / "log"
    return path.read_text().splitlines() if path.exists() else []


def test_without_cargo_it_says_what_to_install(clone):
    done = call(clone)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "cargo" in done.stderr
    assert "rustup.rs" in done.stderr


def test_an_old_compiler_is_named(clone):
    everything(clone)
    script(clone.parent / "bin" / "rustc", 'echo "rustc 1.63.0"')
    done = call(clone)
    assert done.returncode == 1
    assert "Rust 1.85 or newer is needed and rustc 1.63.0 is here" in done.stderr


def test_cargo_of_rustup_is_found_in_the_home_directory(clone):
    everything(clone)
    (clone.parent / "home/.cargo/bin").mkdir(parents=True)
    for tool in ("cargo", "rustc"):
        (clone.parent / "bin" / tool).rename(clone.parent / "home/.cargo/bin" / tool)
    assert call(clone).returncode == 0


def test_the_first_run_builds_and_says_so_and_the_second_does_not(clone):
    everything(clone)
    first = call(clone, "run", "a b.toml")
    assert first.returncode == 0, first.stderr
    assert "compiling the simulator once" in first.stderr
    assert "Compiling shallows" in first.stderr
    assert first.stdout == f"ran -m shallows run a b.toml in {clone}\n"
    built = log(clone)
    assert [line.split()[0] for line in built] == ["cargo", "uv"]
    second = call(clone, "run")
    assert (second.returncode, second.stderr, log(clone)) == (0, "", built)


@pytest.mark.parametrize("change", ["edit", "add", "remove", "move"])
def test_a_change_of_the_sources_builds_again(clone, change):
    everything(clone)
    call(clone)
    if change == "edit":
        (clone / "crates/lib.rs").write_text("// new")
    elif change == "add":
        (clone / "crates/more.rs").write_text("")
    elif change == "remove":
        (clone / "crates/lib.rs").unlink()
    else:
        clone = clone.rename(clone.parent / "moved")
        everything(clone)
    done = call(clone)
    assert done.returncode == 0, done.stderr
    assert len(log(clone)) == 4


def profiles(clone: Path) -> list[str]:
    """The profiles with which cargo has built, in order."""
    return [line.split()[3] for line in log(clone) if line.startswith("cargo build")]


def test_sources_that_are_being_written_are_built_for_development(clone):
    everything(clone)
    state = clone.parent / "git-status"
    state.write_text("")
    script(clone.parent / "bin" / "git", f'cat "{state}"')
    call(clone)
    state.write_text(" M crates/lib.rs\n")
    (clone / "crates/lib.rs").write_text("// being written")
    done = call(clone)
    assert "SHALLOWS_BUILD=release" in done.stderr
    assert call(clone).stderr == ""
    assert profiles(clone) == ["release", "develop"]
    assert call(clone, "bench").returncode == 0  # measures the fast build, though no source has changed
    assert profiles(clone) == ["release", "develop", "release"]


def test_a_commit_ends_the_build_for_development(clone):
    everything(clone)
    state = clone.parent / "git-status"
    state.write_text(" M crates/lib.rs\n")
    script(clone.parent / "bin" / "git", f'cat "{state}"')
    call(clone)
    (clone / "crates/lib.rs").write_text("// being written")
    call(clone)
    state.write_text("")
    call(clone)
    assert call(clone).stderr == ""
    assert profiles(clone) == ["release", "develop", "release"]


def test_a_build_that_fails_is_tried_again(clone):
    everything(clone)
    good = (clone.parent / "bin/cargo").read_text()
    script(clone.parent / "bin" / "cargo", '[ "$1" = fetch ] && exit 0; exit 101')
    done = call(clone)
    assert done.returncode == 1
    assert "the simulator does not compile" in done.stderr
    assert "network" not in done.stderr
    assert sorted(path.name for path in clone.iterdir() if path.name.startswith(".")) == []
    script(clone.parent / "bin" / "cargo", good.removeprefix("#!/bin/sh\n"))
    assert call(clone).returncode == 0


def test_without_the_packages_of_rust_it_speaks_of_the_network(clone):
    everything(clone)
    script(clone.parent / "bin" / "cargo", "exit 101")
    done = call(clone)
    assert done.returncode == 1
    assert "the first build needs the network" in done.stderr
    assert "does not compile" not in done.stderr


def test_from_another_directory_and_through_links(clone):
    everything(clone)
    elsewhere = clone.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "one").symlink_to("two")
    (elsewhere / "two").symlink_to(clone / "shallows")
    done = call(clone, command=elsewhere / "one", cwd=elsewhere)
    assert done.stdout == f"ran -m shallows in {elsewhere}\n"


PIP = """case "$*" in
    *"-m venv "*) {venv} ;;
    *"pip --version") {has_pip} ;;
    *"pip install"*) {install} ;;
esac"""


def python3(clone: Path, venv: str, has_pip: str = "exit 0", install: str = "exit 0") -> None:
    (clone.parent / "bin/uv").unlink()
    script(clone.parent / "bin" / "python3", PIP.format(venv=venv, has_pip=has_pip, install=install))


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        (None, "python3 is not installed"),
        ({"venv": "exit 1", "has_pip": "exit 1"}, "sudo apt install python3-venv"),
        ({"venv": "exit 1", "install": "echo NewConnectionError >&2; exit 1"}, "needs the network"),
        ({"venv": "exit 1", "install": "echo 'No space left on device' >&2; exit 1"}, "no space left"),
        ({"venv": "exit 1", "install": "echo 'who knows' >&2; exit 1"}, "could not install uv: who knows"),
    ],
)
def test_where_uv_cannot_be_had_one_sentence_says_why(clone, python, sentence):
    everything(clone)
    if python is None:
        (clone.parent / "bin/uv").unlink()
    else:
        python3(clone, **python)
    done = call(clone)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert not (clone / ".tools").exists()
    assert not list(clone.glob(".tools.new*"))


@pytest.mark.parametrize("venv", ["works", "missing"])
def test_uv_is_installed_with_venv_or_without(clone, venv):
    everything(clone)
    kept = clone.parent / "kept"
    shutil.move(clone.parent / "bin/uv", kept)
    (clone.parent / "bin/uv").touch()
    inner = f'mkdir -p "$3/bin"; cp "{kept}" "$3/bin/uv"; cp "{shutil.which("true")}" "$3/bin/python"'
    target = f'shift 5; mkdir -p "$1/bin"; cp "{kept}" "$1/bin/uv"'
    python3(clone, venv=inner if venv == "works" else "exit 1", install=target)
    done = call(clone, "list")
    assert done.returncode == 0, done.stderr
    assert "getting uv" in done.stderr
    assert done.stdout.startswith("ran -m shallows list")


def test_first_runs_at_the_same_time_do_not_disturb_each_other(clone):
    everything(clone)
    kept = clone.parent / "kept"
    shutil.move(clone.parent / "bin/uv", kept)
    (clone.parent / "bin/uv").touch()
    real = shutil.which("python3", path="/usr/bin:/usr/local/bin") or shutil.which("python3")
    target = f'echo install >>"{clone.parent}/installs"; sleep 0.3\n'
    target += f'shift 5; mkdir -p "$1/bin"; cp "{kept}" "$1/bin/uv"'
    python3(clone, venv="exit 1", install=target)
    text = (clone.parent / "bin/python3").read_text()
    script(
        clone.parent / "bin" / "python3",
        f'[ "$1" = -c ] && exec "{real}" "$@"\n' + text.removeprefix("#!/bin/sh\n"),
    )
    env = {"PATH": str(clone.parent / "bin"), "HOME": os.environ["HOME"] + "/none"}
    started = [
        subprocess.Popen(
            [clone / "shallows", "list"], env=env, cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(4)
    ]
    for process in started:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.startswith(b"ran -m shallows list")
    assert (clone.parent / "installs").read_text() == "install\n"
