"""Packet scripts on Linux itself: refusals, the command of a script, and a run where there is packetdrill."""

import shutil

import pytest
from conftest import ROOT
from conftest import shallows as command
from shallows.backends.linux import kernel, offers
from shallows.backends.linux.kernel import Kernel
from shallows.errors import SpecError
from shallows.packetdrill import kernel as scripts
from shallows.packetdrill import on_linux
from shallows.packetdrill.on_linux import Ran

PROBE = ROOT / "tests/packets/tail-loss-probe.pkt"


def test_the_old_name_of_the_selftests_says_the_new_one(tmp_path):
    ran = command("packetdrill", "--kernel", cwd=tmp_path)
    assert ran.returncode == 2
    assert "--kernel: is now --selftests" in ran.stderr and "--on-kernel NAME chooses a kernel" in ran.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((PROBE, "--program", "x"), "--program: requires --backend linux or both"),
        ((PROBE, "--on-kernel", "7.2"), "--on-kernel: requires --backend linux or both"),
        ((PROBE, "--backend", "linux", "--program", "none"), "--program: needs packetdrill"),
        ((PROBE, "--selftests"), "needs scripts or directories of scripts, or --selftests alone"),
    ],
)
def test_what_is_missing_is_said_before_anything_runs(tmp_path, words, said):
    ran = command("packetdrill", *words, cwd=tmp_path)
    assert ran.returncode == 2 and said in ran.stderr


def test_a_kernel_without_tun_is_refused_with_the_command_that_builds_one(tmp_path, monkeypatch):
    made = Kernel(tmp_path / "linux", {"hash": "abcd", "version": "7.2.12"})
    monkeypatch.setattr(on_linux, "ready", lambda name: made)
    monkeypatch.setattr(offers, "of", lambda used: offers.Offers((), (), ("null",), (), (), {}))
    with pytest.raises(SpecError, match=r"needs TUN, which Linux 7\.2\.12 .*--config features"):
        on_linux.usable(None)


def test_a_script_runs_in_its_place_with_the_addresses_of_its_version(tmp_path):
    four, six = tmp_path / "a b.pkt", tmp_path / "six.pkt"
    four.write_text("0 socket(...) = 3\n")
    six.write_text("--ip_version=ipv6\n0 socket(...) = 3\n")
    text = on_linux.command(four, tmp_path / "packetdrill")
    assert text.startswith(f"cd {tmp_path}; ") and "--ip_version=ipv4 --local_ip=192.168.0.1" in text
    assert text.endswith("'a b.pkt'") and "test -e defaults.sh ||" in text
    assert "--ip_version=ipv6 --mtu=1520" in on_linux.command(six, tmp_path / "packetdrill")


def test_the_first_line_about_the_script_is_told(tmp_path):
    said = b"sh: 2: ethtool: not found\nx.pkt:12: error handling packet: bad\nx.pkt:13: more\n"
    assert (
        on_linux._said(said, tmp_path / "x.pkt")
        == "12: error handling packet: bad (ethtool is not installed)"
    )
    assert on_linux._said(b"", tmp_path / "x.pkt") == ""


def test_ends_on_linux_are_compared_with_the_record(tmp_path):
    ran = [Ran(tmp_path / "tcp_basic_client.pkt", "fail", "3: wrong")]
    [told] = scripts.differences_on_linux(ran, scripts.table().version)
    assert told == "tcp_basic_client.pkt on Linux: recorded as pass, and now: 3: wrong"
    assert scripts.differences_on_linux(ran, "6.1.1") == []


def test_the_page_has_the_number_that_passes_on_linux():
    table = scripts.table()
    every = len(table.passes) + len(table.fails) + len(table.needs)
    page = (ROOT / "docs/validation/packetdrill.md").read_text()
    count = "All" if not table.linux else every - len(table.linux)
    assert f"{count} of {every} pass there." in page


# ---- with packetdrill and a kernel with TUN ----

BUILT = next((row for row in kernel.status() if "features.config" in row["source"]), None)


@pytest.mark.skipif(BUILT is None, reason="run ./shallows linux build --config features")
@pytest.mark.skipif(not shutil.which("packetdrill"), reason="packetdrill is not in PATH")
def test_a_script_passes_on_both_and_one_that_is_wrong_on_neither(tmp_path):
    wrong = tmp_path / "wrong.pkt"
    wrong.write_text(PROBE.read_text().replace("tcpi_snd_cwnd == 10", "tcpi_snd_cwnd == 11"))
    assert wrong.read_text() != PROBE.read_text()
    words = ["--backend", "both", "--on-kernel", BUILT["hash"]]
    ran = command("packetdrill", PROBE, wrong, *words, cwd=tmp_path)
    rows = [line.split() for line in ran.stdout.splitlines()]
    assert ["tail-loss-probe", "pass", "pass"] in rows and ["wrong", "fail", "fail"] in rows
    assert ran.returncode == 1
