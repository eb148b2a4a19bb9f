"""How runs of programs end: a note for each unfinished, orphaned or broken part; outputs stay."""

import json
import os
import signal
import subprocess
import sys

import pytest
from conftest import shallows as command
from conftest import write_toml
from shallows.backends.linux.lab import environment
from shallows.backends.linux.lab.outcome import Ended
from shallows.backends.linux.lab.streams import whole_blocks
from shallows.backends.linux.process import oops
from test_linux_exec import NET, execute, needs_kernel, wait_for

BULK = "python3 -c 'import socket; s = socket.create_connection((\"{}\", 9)); s.sendall(bytes({}))'"
TAKE = (
    'python3 -c \'import socket; s = socket.create_server(("", 9)); c, _ = s.accept();'
    " n = sum(iter(lambda: len(c.recv(65536)), 0)); print(n)'"
)

# ---- without a kernel ----

PANIC = """
guest: network ready
guest: at 12 of 1000
BUG: failure at net/ipv4/tcp_lab.c:40/lab_cong_avoid()!
Kernel panic - not syncing: BUG!
CPU: 0 UID: 0 PID: 0 Comm: swapper Not tainted 7.2.12 #1 VOLUNTARY
Stack:
 600c641d 00000009 6150d000 00000200
Call Trace:
 [<600c641d>] ? _printk+0x0/0x90
 [<600c641e>] panic+0x112/0x2e0
 [<600621f8>] lab_cong_avoid+0xe8/0x230
 [<6053c250>] tcp_ack+0x30/0x6a0
 [<60083be0>] ? rest_init+0x0/0x60
"""
"""As User-Mode Linux prints it: include/asm-generic/bug.h, arch/um/kernel/sysrq.c."""


def test_a_panic_is_told_with_file_line_and_function():
    first, place, *rest = oops.cause(PANIC).splitlines()
    assert first == "the Linux machine panicked: BUG!"
    assert place == "at net/ipv4/tcp_lab.c:40 in lab_cong_avoid()"
    assert rest[0] == "BUG: failure at net/ipv4/tcp_lab.c:40/lab_cong_avoid()!"
    assert rest[-1] == "called from lab_cong_avoid, tcp_ack, rest_init"


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: CPU: 0 PID: 9 at net/ipv4/tcp_input.c:77 tcp_ack+0x12/0x80",
        "WARNING: net/ipv4/tcp_input.c:77 at tcp_ack+0x12/0x80, CPU#0: swapper/0",
    ],
)
def test_a_warning_before_a_panic_is_its_place(line):
    said = f"guest: up\n{line}\nKernel panic - not syncing: kernel: panic_on_warn set\n"
    assert "at net/ipv4/tcp_input.c:77 in tcp_ack()" in oops.cause(said)


def test_faults_after_which_the_kernel_went_on_are_told():
    said = """<6>[   10.000000] tcp_lab: registered
<3>[   10.100000] BUG: KASAN: slab-out-of-bounds in lab_cong_avoid+0xe8/0x230
<4>[   10.200000] WARNING: possible circular locking dependency detected
<4>[   10.300000] WARNING: possible circular locking dependency detected
"""
    assert oops.reports(said) == [
        "BUG: KASAN: slab-out-of-bounds in lab_cong_avoid+0xe8/0x230",
        "WARNING: possible circular locking dependency detected",
    ]


def test_a_capture_is_cut_at_its_last_whole_block():
    block = (6).to_bytes(4, "little") + (16).to_bytes(4, "little") + bytes(4) + (16).to_bytes(4, "little")
    assert whole_blocks(block * 2 + block[:9]) == block * 2
    assert whole_blocks(b"") == b""


def test_an_activated_environment_comes_first(tmp_path, monkeypatch):
    for name in environment.ACTIVATED:
        monkeypatch.delenv(name, raising=False)
    assert environment.variables({})["PATH"] == environment.PLAIN["PATH"]
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert environment.variables({})["PATH"].startswith(f"{tmp_path}/bin:")
    assert environment.variables({"PATH": "/bin"})["PATH"] == "/bin"


@pytest.mark.parametrize("said", ["/bin/sh: 1: mine: not found\n", "bash: line 1: mine: command not found\n"])
def test_a_command_of_the_callers_path_is_named(tmp_path, monkeypatch, said):
    (tmp_path / "mine").write_text("#!/bin/sh\n")
    (tmp_path / "mine").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    ended = Ended("s0", "mine", 127, None, False, 0.1, b"", said.encode())
    assert f"mine is {tmp_path}/mine in your PATH" in environment.not_found(ended, {})
    assert environment.not_found(ended, {"PATH": str(tmp_path)}) is None


# ---- with a kernel ----


@needs_kernel
def test_a_command_that_was_stopped_gives_124_and_a_server_gives_0(tmp_path):
    file = write_toml(tmp_path / "net.toml", NET | {"duration": "1s"})
    words = ["linux", "exec", file, "--on", "r0", "sleep 200 &", "--on", "s0"]
    late = command(*words, "sleep 100", "--json", cwd=tmp_path)
    assert late.returncode == 124
    assert "s0: 'sleep 100' had not finished when the run ended after 1.000000 s" in late.stderr
    told = json.loads(late.stdout)
    assert [each["server"] for each in told["programs"]] == [True, False]
    assert told["status"] == 124 and told["flows"] is None and told["program_flows"] == []
    assert command(*words, "sleep 0.5", cwd=tmp_path).returncode == 0
    assert command(*words, "exit 3", cwd=tmp_path).returncode == 1


@needs_kernel
def test_what_a_command_leaves_behind_is_named(tmp_path):
    daemon = "setsid sleep 7 >/dev/null 2>&1 </dev/null &"
    outcome = execute(tmp_path, ("s0", "(sleep 5; echo late) & echo parent"), ("r0", f"{daemon} sleep 1"))
    assert ("s0", "sleep 5") in outcome.orphans and ("r0", "sleep 7") in outcome.orphans
    assert any("'sleep 7' was left behind" in line for line in outcome.notes)
    [alone] = execute(tmp_path, ("s0", "sleep 5 & sleep 1; kill $!; wait")).programs
    assert not execute(tmp_path, ("s0", "sleep 9 & wait"), ("r0", "sleep 8 &")).orphans
    assert alone.status == 143 or alone.status == 0


@needs_kernel
@pytest.mark.parametrize(("sender", "receiver", "meets"), [("r0", "s0", False), ("s0", "r0", True)])
def test_bytes_that_meet_no_queue_are_told(tmp_path, sender, receiver, meets):
    """The slow link is the one to and from r0, whose own packets wait in its buffer alone."""
    outcome = execute(tmp_path, (receiver, TAKE), (sender, f"sleep 0.2; {BULK.format(receiver, 1_000_000)}"))
    assert outcome.programs[0].stdout == b"1000000\n"
    told = [line for line in outcome.notes if "waited at no switch" in line]
    assert bool(told) != meets, outcome.notes
    forth = outcome.tables["program_flows"].filter(src=sender)
    assert forth["data_bytes"].to_list() == [1_000_000] and forth["protocol"].to_list() == ["tcp"]


@needs_kernel
@pytest.mark.parametrize(
    ("change", "note", "gone"),
    [
        ("tc qdisc replace dev p0 root netem loss 10%", "shaper of s0->switch is not there", True),
        ("ip link del p0", "device p0 is not there", True),
        ("tc qdisc change dev i1 root handle 1: netem delay 12ms", "delay.delay is 0.012 after 0.002", False),
        ("sysctl -qw net.ipv4.tcp_sack=0", "sysctl of s0: net.ipv4.tcp_sack is 0", False),
    ],
)
def test_a_network_that_a_program_changed_is_told_and_its_output_kept(tmp_path, change, note, gone):
    outcome = execute(tmp_path, ("s0", f"echo important; {change}; sleep 0.1"))
    assert (outcome.programs[0].stdout, outcome.status) == (b"important\n", 0)
    assert any(note in line for line in outcome.notes), outcome.notes
    [row] = outcome.queues.filter(port="s0->switch").to_dicts()
    assert (row["packets_out"] is None) == gone
    assert any("its counts are null" in line for line in outcome.notes) == gone


@needs_kernel
def test_an_unchanged_network_has_no_notes(tmp_path):
    assert execute(tmp_path, ("s0", "sleep 0.1")).notes == ()


@needs_kernel
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_was_written(tmp_path, number):
    """A program that computes for ever: virtual time stands still, and only a signal ends the run."""
    file = write_toml(tmp_path / "net.toml", NET)
    endless = "echo before; exec python3 -c 'while True: pass'"
    words = ["linux", "exec", str(file), "--on", "s0", endless, "--on", "r0", "exit 3", "--out", "out"]
    running = subprocess.Popen(
        [sys.executable, "-m", "shallows", *words, "--pcap", "s0=s0.pcapng"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        streamed = tmp_path / "out" / "s0.1.stdout"
        wait_for(lambda: streamed.exists() and streamed.read_text() == "before\n")
        running.send_signal(number)
        shown, said = running.communicate(timeout=20)
    finally:
        running.kill()
    assert running.returncode == 1
    assert "== s0: " in shown and "(had not ended)\nbefore" in shown
    assert "what the programs wrote until then is in out" in said
    told = json.loads((tmp_path / "out" / "programs.json").read_text())
    assert (
        told["error"]["message"] and "guest: network ready" in (tmp_path / "out" / "console.log").read_text()
    )
    assert told["programs"][0]["stopped"] is True
    assert (tmp_path / "s0.pcapng").read_bytes()[:4] == bytes.fromhex("0a0d0d0a")


@needs_kernel
def test_a_run_that_breaks_keeps_what_was_written(tmp_path):
    """The guest ends the run when a program connects to a port of the file's own traffic."""
    strange = "sleep 0.1; exec 3<>/dev/tcp/10.1.0.2/5000"
    background = {"traffic": {"long": {"kind": "bulk", "from": "s0", "to": "r0"}}, "duration": "2s"}
    file = write_toml(tmp_path / "net.toml", NET | background)
    words = ["--on", "s0", "echo important", "--on", "s0", f"bash -c '{strange}'; sleep 1"]
    ran = command("linux", "exec", file, *words, "--json", "--out", "out", cwd=tmp_path)
    assert ran.returncode == 1
    told = json.loads(ran.stdout)
    assert told["programs"][0]["stdout"] == "important\n" and told["programs"][0]["status"] == 0
    assert "a program connected to a port from 5000 on" in told["error"]["message"]
    assert (tmp_path / "out" / "s0.1.stdout").read_text() == "important\n"


@needs_kernel
def test_probes_of_a_run_of_programs_are_written(tmp_path):
    document = NET | {"probe": {"queue_trace": "10ms", "flow_trace": "10ms"}}
    outcome = execute(
        tmp_path,
        ("r0", TAKE),
        ("s0", f"sleep 0.2; {BULK.format('r0', 2_000_000)}"),
        document=document,
        counters_ns=100_000_000,
    )
    trace = outcome.tables["queue_trace"].filter(port="switch->r0")
    assert trace["packets"].max() > 10 and trace["time_ps"].diff().drop_nulls().unique().to_list() == [10**10]
    flows = outcome.tables["program_flows"]
    [data] = flows.filter(src="s0")["flow"].to_list()
    steps = outcome.tables["program_trace"].filter(flow=data)
    assert steps["data_bytes"].drop_nulls().is_sorted() and steps["cc"].drop_nulls().unique().to_list() == [
        "cubic"
    ]
    assert steps["srtt_ps"].max() > 8 * 10**9 and steps["cwnd_bytes"].max() > 100_000
    counted = outcome.tables["counters"].filter(host="r0", counter="IpExtInOctets")["value"].max()
    assert counted >= 2_000_000


@needs_kernel
def test_the_kernels_messages_are_kept(tmp_path):
    out = tmp_path / "out"
    execute(tmp_path, ("s0", "true"), out=out)
    assert "Linux version" in (out / "dmesg.txt").read_text()


UDP = "python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); {}'"


@needs_kernel
def test_datagrams_count_by_five_tuple_with_their_fragments(tmp_path):
    take = UDP.format('s.bind(("", 7)); print(sum(len(s.recv(9999)) for _ in range(4)))')
    send = UDP.format('[s.sendto(bytes(n), ("r0", 7)) for n in (1, 4000, 4000, 4000)]')
    outcome = execute(tmp_path, ("r0", take), ("s0", f"sleep 0.2; {send}"))
    assert outcome.programs[0].stdout == b"12001\n", outcome.programs[0].stderr
    [row] = outcome.tables["program_flows"].filter(protocol="udp").to_dicts()
    assert (row["dst"], row["dst_port"], row["packets"], row["data_bytes"]) == ("r0", 7, 10, 12_001)
