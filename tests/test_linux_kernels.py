"""Kernels against each other: the choice of one by its name, and `compare` with a kernel for each scheme."""

import json
import shutil

import pytest
from conftest import shallows as command
from conftest import write_toml
from shallows.backends.linux import kernel
from shallows.errors import SpecError
from shallows.execution.runner import Runner
from shallows.studies.compare.comparison import compare
from shallows.studies.compare.section import read
from test_linux import STAR, needs_kernel

BULK = STAR | {"traffic": {"long": STAR["traffic"]["long"] | {"jitter": "20ms"}}, "probe": {}}


def keep(cache, name, version, source, binary=None):
    """A kernel in a cache of the test's own."""
    place = cache / "linux/kernels" / name
    place.mkdir(parents=True)
    (place / "linux").write_bytes(b"")
    if binary is not None:
        shutil.copy2(binary, place / "linux")
    about = {"hash": name, "version": version, "source": source, "without": []}
    (place / "about.json").write_text(json.dumps(about))
    (place.parent / "current").write_text(f"{name}\n")


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    keep(cache, "aaaa000000000000", "6.12.9", "Debian's linux-source-6.12")
    keep(cache, "bbbb000000000000", "6.1.140", "Debian's linux-source-6.1")
    keep(cache, "cccc000000000000", "7.2.12", "Debian's linux-source-7.2")
    keep(cache, "cccd000000000000", "7.2.12", f"the tree {tmp_path}/mine")
    monkeypatch.setenv("SHALLOWS_CACHE", str(cache))
    return tmp_path


def test_a_kernel_has_the_names_of_its_version_hash_and_source(kernels):
    found = {
        name: kernel.named(name).hash[:4]
        for name in ("6.1", "6.12", "6.12.9", "cccc0", "linux-source-7.2", f"{kernels}/mine")
    }
    assert [*found.values()] == ["bbbb", "aaaa", "aaaa", "cccc", "cccc", "cccd"]  # 6.1 is not 6.12
    with pytest.raises(SpecError, match=r"names several kernels.*cccc0.*cccd0"):
        kernel.named("7.2")
    for name in ("6.13", "ccc", "6.1.1"):
        with pytest.raises(SpecError, match=r"must be a kernel that has been built; there is 6\.12\.9"):
            kernel.named(name)


def test_a_version_of_the_command_line_is_no_number(kernels):
    what = read([BULK], vary=["linux.kernel=6.10,6.1"], seeds=2)
    assert [scheme.kernel for scheme in what.schemes] == ["6.10", "6.1"]
    assert [scheme.name for scheme in what.schemes] == ["kernel 6.10", "kernel 6.1"]
    # The kernel is no setting of an experiment, so both schemes have the same one.
    assert len({point.key for scheme in what.schemes for point in scheme.points if point.seed == 1}) == 1
    with pytest.raises(SpecError, match=r"linux.kernel: must be a text in quotes, got 7.2"):
        read([BULK | {"compare": {"schemes": {"a": {"linux": {"kernel": 7.2}}, "b": {}}}}], seeds=2)


def test_kernels_are_refused_before_anything_runs(kernels):
    file = write_toml(kernels / "bulk.toml", BULK)
    for vary, backend, said in (
        ("6.12,cccc0", "simulator", "linux.kernel: needs the backend linux"),
        ("6.12,6.99", "linux", "linux.kernel: must be a kernel that has been built"),
        ("6.12,7.2", "linux", "linux.kernel: names several kernels"),
    ):
        ran = command(
            "compare", file, "--vary", f"linux.kernel={vary}", "--seeds", 2, "--backend", backend, cwd=kernels
        )
        assert ran.returncode == 2, ran.stderr
        assert said in ran.stderr
    assert not (kernels / "runs").exists() or not any((kernels / "runs").glob("*/manifest.json"))


@needs_kernel
def test_one_kernel_under_two_names_is_identical(tmp_path, monkeypatch):
    used = kernel.find()
    for name in "ab":
        source = f"the tree {tmp_path}/{name}"
        keep(tmp_path / "cache", name * 16, used.about["version"], source, used.path)
    monkeypatch.setenv("SHALLOWS_CACHE", str(tmp_path / "cache"))
    what = read([BULK], vary={"linux.kernel": ["aaaa", f"{tmp_path}/b"]}, seeds=2)
    told = []
    found = compare(
        what, Runner.of(store=tmp_path / "runs", backend="linux"), lambda done, failed: told.append(done)
    )
    verdicts = {row.metric: row.verdict for row in found.rows}
    assert {*verdicts.values()} == {"identical", "no-value"}  # Linux knows no waits
    assert verdicts["goodput_bps_total"] == verdicts["marks"] == "identical"
    names = {
        scheme: {run.manifest["linux"]["kernel"]["hash"] for run in runs}
        for scheme, runs in found.runs.items()
    }
    assert [*names.values()] == [{"a" * 16}, {"b" * 16}]
    assert len({run.hash for runs in found.runs.values() for run in runs}) == 4
    assert told[-1] == 4
