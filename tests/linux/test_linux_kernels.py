"""Kernels against each other: the choice of one by its name, and `compare` with a kernel for each scheme."""

import json
import shutil
from contextlib import contextmanager

import pytest
from conftest import shallows as command
from conftest import write_toml
from shallows.backends.linux import backend, kernel, machine
from shallows.backends.linux.kernel import SETTING as KERNEL
from shallows.backends.linux.lab import programs
from shallows.backends.linux.lab.outcome import Outcome
from shallows.backends.linux.root import Root
from shallows.document.load import load
from shallows.document.points import one_run
from shallows.errors import SpecError
from shallows.execution.runner import Runner
from shallows.studies.compare.comparison import compare
from shallows.studies.compare.section import read
from test_linux import STAR, needs_kernel
from test_linux_exec import NET

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
    for vary, where, said in (
        ("6.12,cccc0", "simulator", "linux.kernel: needs the backend linux"),
        ("6.12,6.99", "linux", "linux.kernel: must be a kernel that has been built"),
        ("6.12,7.2", "linux", "linux.kernel: names several kernels"),
    ):
        ran = command(
            "compare", file, "--vary", f"linux.kernel={vary}", "--seeds", 2, "--backend", where, cwd=kernels
        )
        assert ran.returncode == 2, ran.stderr
        assert said in ran.stderr
    assert not (kernels / "runs").exists() or not any((kernels / "runs").glob("*/manifest.json"))


def test_the_faults_of_all_schemes_come_together_each_with_its_scheme(kernels):
    names = ["6.99", "6.12", "7.2"]
    schemes = {name: {KERNEL: name} for name in names} | {"pie": {KERNEL: "6.12", "queue": {"kind": "pie"}}}
    with pytest.raises(SpecError) as error:
        compare(read([BULK], schemes=schemes, seeds=2), Runner.of(store=kernels / "runs", backend="linux"))
    paths = {fault.path for fault in error.value.faults}
    assert {f"6.99: {KERNEL}", f"7.2: {KERNEL}", "pie: queue.derandomise"} <= paths
    assert not any(path.startswith("6.12") for path in paths)


def test_a_fault_of_all_schemes_is_written_once(kernels):
    schemes = {"a": {KERNEL: "6.12"}, "b": {KERNEL: "cccc0"}}
    what = read([BULK | {"ecmp": "random"}], schemes=schemes, seeds=2)
    with pytest.raises(SpecError) as error:
        compare(what, Runner.of(store=kernels / "runs", backend="linux"))
    assert [fault.path for fault in error.value.faults] == ["ecmp"]


def test_one_kernel_is_not_compared_with_itself(kernels, monkeypatch):
    monkeypatch.setattr(backend, "root", lambda: Root(kernels, {"hash": "a" * 16, "tc": ""}))
    cubic = {KERNEL: "cccd", "transport.cc": "cubic"}
    # The fixture's last kernel is the current one.
    schemes = {"cccd": {}, "mine": {KERNEL: f"{kernels}/mine"}, "cubic": cubic}
    with pytest.raises(SpecError) as error:
        compare(read([BULK], schemes=schemes, seeds=2), Runner.of(store=kernels / "runs", backend="linux"))
    [fault] = error.value.faults
    assert fault.path == f"mine: {KERNEL}" and 'must differ from the kernel of "cccd"' in fault.rule


def test_programs_record_the_kernel_on_which_they_ran(kernels, tmp_path, monkeypatch):
    """A build may end, and make another kernel the current one, while they run."""

    @contextmanager
    def booted(used, *further, **options):
        keep(kernels / "cache", "eeee000000000000", "7.3.1", "Debian's linux-source-7.3")
        yield machine.Answer(tmp_path, "", 0.0, 0.0)

    monkeypatch.setattr(programs.machine, "boot", booted)
    monkeypatch.setattr(programs, "root", lambda: None)
    told = lambda whole, *read: Outcome((), None, None, 0.0, {"kernel": whole.used.about})  # noqa: E731
    monkeypatch.setattr(programs.Whole, "outcome", told)
    experiment = one_run(programs.experiment(load(NET))).experiment
    lab = programs.Lab((), tmp_path, captures={"r0": tmp_path / "r0.pcapng"})
    outcome = programs.execute(experiment, lab, None)
    assert kernel.find().hash.startswith("eeee")
    assert outcome.about["kernel"]["hash"].startswith("cccd")


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
