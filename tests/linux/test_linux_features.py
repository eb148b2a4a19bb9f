"""The features of `linux build --config features`: each option is there, and each feature works."""

import re
import sys

import pytest
from conftest import ROOT
from shallows.backends.linux import kernel, offers
from test_linux_exec import NET, execute

GPL = ROOT / "python/shallows/backends/linux/gpl"
PROGRAM = ROOT / "docs/programs/features.py"
NAMES = ("ipv6", "mptcp", "ktls", "bpf", "tun", "tracefs", "police", "config")
BUILT = next((row for row in kernel.status() if "features.config" in row["source"]), None)

DEBUG = next((row for row in kernel.status() if "debug.config" in row["source"]), None)

needs_features = pytest.mark.skipif(BUILT is None, reason="run ./shallows linux build --config features")
needs_debug = pytest.mark.skipif(DEBUG is None, reason="run ./shallows linux build --config debug")


def options(name="features"):
    lines = (GPL / f"{name}.config").read_text().splitlines()
    return [line for line in lines if line.startswith("CONFIG_")]


# ---- without a kernel ----


def test_the_word_features_names_the_fragment_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert kernel.check_config(kernel.Path("features")) == GPL / "features.config"
    assert kernel.check_config(kernel.Path("debug")) == GPL / "debug.config"
    (tmp_path / "features").write_text("CONFIG_IPV6=y\n")
    assert kernel.check_config(kernel.Path("features")) == tmp_path / "features"


def test_the_program_uses_each_feature():
    assert re.search(r"in \(([^)]*)\)}", PROGRAM.read_text())[1].split(", ") == [*NAMES]


# ---- with such a kernel ----


@needs_features
def test_a_build_took_every_option():
    taken = (kernel.named(BUILT["hash"]).path.parent / "config").read_text().splitlines()
    assert BUILT["without"] == [] and not set(options()) - set(taken)


@needs_features
def test_the_kernel_says_itself_that_each_option_is_there(tmp_path):
    read = f'{sys.executable} -c \'import gzip; print(gzip.open("/proc/config.gz", "rt").read())\''
    found = execute(tmp_path, ("s0", read), kernel=BUILT["hash"]).programs[0]
    assert not set(options()) - set(found.stdout.decode().splitlines()), found.stderr
    assert offers.has_tun(kernel.named(BUILT["hash"]))


@needs_features
def test_each_feature_works(tmp_path):
    each = [("s0", f"{sys.executable} {PROGRAM} {name}") for name in NAMES]
    found = execute(tmp_path, *each, kernel=BUILT["hash"])
    said = {name: end.stdout for name, end in zip(NAMES, found.programs, strict=True)}
    assert said == {name: f"{name} works\n".encode() for name in NAMES}, [
        end.stderr for end in found.programs
    ]


@needs_features
def test_no_packet_of_version_6_is_on_the_network(tmp_path):
    """The counts are those of a kernel without it: nothing but what the program sends."""
    send = f'{sys.executable} -c \'import socket; s = socket.socket(2, 2); s.sendto(b"x", ("r0", 9))\''
    found = execute(tmp_path, ("s0", f"{send}; sleep 5"), document=NET, kernel=BUILT["hash"])
    sent = dict(zip(found.queues["port"], found.queues["packets_out"], strict=True))
    assert sent["s0->switch"] == 1 and sent["switch->r0"] == 1
    assert sent["r0->switch"] == 1  # an ICMP message: nobody listens
    assert not any("changed" in line for line in found.notes)


@needs_features
def test_a_host_takes_any_control_as_its_default(tmp_path):
    """A namespace refuses dctcp and others unless they are allowed to everyone."""
    write = (
        "echo bbr >/proc/sys/net/ipv4/tcp_congestion_control && cat /proc/sys/net/ipv4/tcp_congestion_control"
    )
    [end] = execute(tmp_path, ("s0", write.replace("bbr", "dctcp")), kernel=BUILT["hash"]).programs
    assert (end.status, end.stdout) == (0, b"dctcp\n")


TRANSFER = (
    'import socket; s = socket.create_server(("", 9)); c, _ = s.accept();'
    " print(sum(iter(lambda: len(c.recv(65536)), 0)))",
    'import socket; s = socket.create_connection(("r0", 9)); s.sendall(bytes(2000000))',
)


@needs_debug
def test_a_kernel_that_checks_itself_runs_a_transfer_and_reports_nothing(tmp_path):
    """KASAN and lockdep watch a transfer that fills the queue."""
    taken = (kernel.named(DEBUG["hash"]).path.parent / "config").read_text().splitlines()
    assert DEBUG["without"] == [] and not set(options("debug")) - set(taken)
    take, send = TRANSFER
    commands = ("r0", f"{sys.executable} -c '{take}'"), ("s0", f"sleep 0.2; {sys.executable} -c '{send}'")
    found = execute(tmp_path, *commands, kernel=DEBUG["hash"])
    assert found.programs[0].stdout == b"2000000\n" and found.notes == (), found
    assert found.queues.filter(port="switch->r0")["max_packets"].item() > 50
