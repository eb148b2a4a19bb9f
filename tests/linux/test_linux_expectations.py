"""Programs in tests and CI: expectations, seeds, JUnit, the Python interface and the fixture for pytest."""

import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec

import pytest
import shallows
from conftest import ROOT, write_toml
from conftest import shallows as command
from shallows import linux
from shallows.backends.linux.lab import expectations
from shallows.backends.linux.lab.metrics import metrics
from shallows.backends.linux.lab.outcome import Outcome
from shallows.errors import SpecError
from test_linux_ends import BULK, TAKE
from test_linux_exec import NET, needs_kernel

pytest_plugins = ["shallows.pytest_plugin"]

# ---- without a kernel ----


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("s0.1.ended_ps < 2s", 2e12),
        ("s0->r0.mean_bps >= 10Mbps", 1e7),
        ("s0->r0.udp.share > 40%", 0.4),
        ("switch->r0.max_packets <= 20pkt", 20),
        ("s0.1.status==0", 0),
    ],
)
def test_an_expectation_has_the_unit_of_its_metric(text, bound):
    [found] = expectations.read([text])
    assert found.bound == bound and found.metric == text.split()[0].split("==")[0]


@pytest.mark.parametrize(
    "text",
    [
        *("s0.1.ended_ps < 2", "s0.1.status", "a->b.mean_bps > fast", "s0.1.status < 1 2"),
        *("s0.1.state < 1", "a->b.share > 2 * a->b.mean_bps", "a->b.share > 2 * a->b.share"),
    ],
)
def test_a_wrong_form_or_unit_is_refused(text, tmp_path):
    with pytest.raises(SpecError):
        expectations.read([text])
    file = write_toml(tmp_path / "net.toml", NET)
    ran = command("linux", "exec", file, "--on", "s0", "true", "--expect", text, cwd=tmp_path)
    assert ran.returncode == 2 and "--expect: " in ran.stderr


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1, 1, 1], "holds"),
        ([3, 3], "differs"),
        ([1.0, 1.1, 0.9], "holds"),
        ([1.0, 3.0], "not-determined"),
        ([4.0, 4.1, 4.2], "differs"),
        ([1, None], "not-determined"),
    ],
)
def test_the_whole_interval_decides_over_seeds(values, verdict):
    [judged] = expectations.judge(
        expectations.read(["s0.1.status < 2"]), [{"s0.1.status": value} for value in values]
    )
    assert judged.verdict == verdict
    with pytest.raises(SpecError, match="names no metric of this run"):
        expectations.judge(expectations.read(["s1.1.status < 2"]), [{"s0.1.status": 1}])


def test_two_metrics_are_compared_with_a_factor():
    """The grammar is that of `run --expect`."""
    wanted = expectations.read(["a->r0.share < 2 * b->r0.share", "a->r0.share > b->r0.share"])
    runs = [{"a->r0.share": 0.3 + d, "b->r0.share": 0.2 + 2 * d} for d in (0.0, 0.001, 0.002)]
    found = expectations.judge(wanted, runs)
    assert [each.verdict for each in found] == ["holds", "holds"]
    assert found[1].estimate.value == pytest.approx(0.099) and "the difference is" in found[1].measured
    assert "s0.1.status" in str(_refused("s0.1.state < 1"))


def _refused(text):
    with pytest.raises(SpecError) as error:
        expectations.read([text])
    return error.value


def test_junit_has_a_case_for_each_expectation_and_each_broken_run(tmp_path):
    judged = expectations.judge(
        expectations.read(["s0.1.status < 2", "s0.1.status > 2"]), [{"s0.1.status": 1}]
    )
    expectations.write_junit(tmp_path / "all.xml", "net.toml", judged, ["it panicked"])
    [suite] = ElementTree.parse(tmp_path / "all.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [len(case) for case in suite] == [0, 1, 1]


def test_junit_needs_an_expectation(tmp_path):
    file = write_toml(tmp_path / "net.toml", NET)
    ran = command("linux", "exec", file, "--on", "s0", "true", "--junit", "a.xml", cwd=tmp_path)
    assert ran.returncode == 2 and "--junit: requires --expect" in ran.stderr


PAGE = (ROOT / "docs" / "linux-programs.md").read_text()


def block(name):
    """A file of the page."""
    return re.search(rf"<!-- file: {re.escape(name)} -->\n```\w+\n(.*?)```", PAGE, re.S)[1]


def test_the_workflow_of_the_page_names_what_is_there():
    steps = re.findall(r"- run: (.*)", block("programs.yml"))
    assert "shallows/shallows linux build" in steps
    assert (ROOT / "tools" / "uv").exists() and (ROOT / "python/shallows/backends/linux/gpl").is_dir()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--qlog",), "--qlog: needs --out"),
        (("--format", "pdf"), "--format: needs --out"),
        (("--qlog", "--out", "out", "--env", "QLOGDIR=/x"), "--qlog: sets QLOGDIR itself"),
    ],
)
def test_figures_and_qlog_need_a_directory(tmp_path, options, said):
    file = write_toml(tmp_path / "net.toml", NET)
    ran = command("linux", "exec", file, "--on", "s0", "true", *options, cwd=tmp_path)
    assert ran.returncode == 2 and said in ran.stderr


# ---- with a kernel ----

SOME = "sleep 0.1$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')"


@needs_kernel
def test_expectations_decide_the_status_over_seeds(tmp_path):
    file = write_toml(tmp_path / "net.toml", NET)
    words = ["linux", "exec", file, "--on", "s0", SOME, "--seeds", 3, "--json"]
    asked = ["--expect", "s0.1.ended_ps < 1s", "--expect", "s0.1.status == 0", "--junit", "all.xml"]
    ran = command(*words, *asked, "--out", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = json.loads(ran.stdout)
    ends = [one["programs"][0]["ended_s"] for one in told["seeds"]]
    assert len(set(ends)) > 1 and [each["verdict"] for each in told["expectations"]] == ["holds"] * 2
    assert (tmp_path / "out" / "3" / "programs.json").exists() and (tmp_path / "all.xml").exists()
    ran = command(*words[:-1], "--expect", "s0.1.ended_ps > 1s", cwd=tmp_path)
    assert ran.returncode == 1 and "differs" in ran.stdout and "seed 3" in ran.stdout


@needs_kernel
def test_traces_are_drawn_and_qlog_is_kept(tmp_path):
    file = write_toml(tmp_path / "net.toml", NET | {"probe": {"flow_trace": "10ms", "queue_trace": "10ms"}})
    writes = f"{BULK.format('r0', 1_000_000)}; mkdir -p $QLOGDIR; echo '{{}}' >$QLOGDIR/a.sqlog"
    words = ["--on", "r0", TAKE, "--on", "s0", writes, "--out", "out", "--format", "png", "--qlog"]
    ran = command("linux", "exec", file, *words, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out" / "programs.svg").exists() and (tmp_path / "out" / "programs.png").exists()
    assert (tmp_path / "out" / "qlog" / "s0" / "a.sqlog").read_text() == "{}\n"
    assert not (tmp_path / "out" / "files").exists()
    ran = command("linux", "exec", file, "--on", "s0", "true", "--out", "none", "--qlog", cwd=tmp_path)
    assert "no program wrote qlog" in ran.stderr and not (tmp_path / "none" / "programs.svg").exists()


@needs_kernel
def test_a_transfer_is_tested_from_python_with_its_time_and_share(tmp_path, linux_programs):
    background = {"traffic": {"long": {"kind": "bulk", "from": "s0", "to": "r0"}}}
    document = NET | background | {"probe": {"flow_trace": "10ms"}}
    send = BULK.format("r0", 5_000_000)
    found = linux_programs(document, ("r0", TAKE), ("s0", f"sleep 0.5; {send}"), directory=tmp_path)
    assert isinstance(found, Outcome) and found.status == 0
    linux.expect(found, "r0.1.ended_ps < 5s", "s0->r0.tcp.share > 20%", "s0->r0.tcp.share < 80%")
    with pytest.raises(AssertionError, match=r"s0\.1\.status == 1: differs, 0"):
        linux.expect(found, "s0.1.status == 1")
    numbers = metrics(found)
    assert numbers["s0->r0.data_bytes"] == 5_000_000
    # The link is full, and the background has the rest.
    assert numbers["s0->r0.mean_bps"] == pytest.approx(96e6 * numbers["s0->r0.tcp.share"], rel=0.1)


@needs_kernel
def test_the_interface_raises_what_broke_with_what_was_written(tmp_path):
    strange = "echo before; sleep 0.1; exec bash -c 'exec 3<>/dev/tcp/10.1.0.2/5000'"
    background = {"traffic": {"long": {"kind": "bulk", "from": "s0", "to": "r0"}}, "duration": "1s"}
    with pytest.raises(shallows.RunError) as error:
        shallows.linux.programs(NET | background, ("s0", strange), ("s0", "sleep 0.5"), out=tmp_path / "out")
    assert error.value.outcome.programs[0].stdout == b"before\n"
    assert json.loads((tmp_path / "out" / "programs.json").read_text())["error"]


@needs_kernel
@pytest.mark.skipif(
    find_spec("aioquic") is None or not shutil.which("openssl"),
    reason="tools/uv run --with aioquic; apt install openssl",
)
def test_the_test_of_the_page_passes_as_written(tmp_path):
    """`tools/uv run --frozen --with aioquic pytest tests/linux/test_linux_expectations.py` has aioquic."""
    write_toml(tmp_path / "net.toml", NET)
    (tmp_path / "test_quic.py").write_text(block("test_quic.py"))
    for script in (ROOT / "docs" / "programs").glob("quic_*.py"):
        shutil.copy(script, tmp_path)
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=s0"
    files = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_quic.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert (tmp_path / "results" / "program_trace.csv").exists()
