"""Programs of this machine over a network in virtual time: refusals; and runs, if there is a kernel."""

import dataclasses
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import shallows as command
from conftest import write_toml
from shallows.backends.linux import kernel
from shallows.backends.linux.lab import environment, programs
from shallows.backends.linux.lab.outcome import Ended
from shallows.backends.linux.process import confine
from shallows.document.points import one_run
from shallows.errors import RunError, SpecError

needs_kernel = pytest.mark.skipif(
    kernel.find() is None or "CONFIG_OVERLAY_FS" in kernel.find().without, reason="run ./shallows linux build"
)
needs_ping = pytest.mark.skipif(not shutil.which("ping"), reason="apt install iputils-ping")

NET = {
    "duration": "10s",
    "topology": {"kind": "star", "senders": 1, "rate": "100Mbps", "sender_rate": "1Gbps", "delay": "2ms"},
    "queue": {"kind": "drop-tail", "limit": "100pkt"},
    "transport": {"profile": "linux", "cc": "cubic"},
}

PLACES = [Path("/dev/shm"), Path("/tmp"), Path("/var/tmp")]


def execute(tmp_path, *commands, out=None, document=NET, **lab):
    """Runs commands, each a host and a text."""
    made = tuple(programs.command(host, text) for host, text in commands)
    experiment = one_run(programs.experiment(document)).experiment
    return programs.execute(experiment, programs.Lab(made, tmp_path, **lab), out)


def texts(outcome):
    return [(each.stdout, each.stderr, each.status, each.ended_s) for each in outcome.programs]


# ---- without a kernel ----


def test_a_command_that_ends_with_an_ampersand_is_a_server():
    assert programs.command("s0", "nginx -g 'daemon off;' & ") == programs.Command(
        "s0", "nginx -g 'daemon off;'", server=True
    )
    assert programs.command("s0", "a && b") == programs.Command("s0", "a && b")


def test_a_program_that_asks_for_ipv6_gets_a_line_about_it():
    """nginx of Debian's default site listens on [::]:80, and fails at once on a kernel without IPv6."""
    said = b"nginx: [emerg] socket() [::]:80 failed (97: Address family not supported by protocol)\n"
    ended = Ended("s0", "nginx", 1, None, False, 0.1, b"", said, server=True)
    assert "linux build --config features" in environment.no_version_6(ended)
    assert environment.no_version_6(dataclasses.replace(ended, status=0)) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "s0", "true", "--on", "r0"], "--on: needs a host and one command in quotes"),
        (["--on", "s0", "true", "--keep"], "--keep: needs --out"),
        (["--on", "s0", "true", "--out", "full"], "--out: must be a new or an empty directory"),
        (["--on", "s0", "true", "--call", "1GB"], "--call: "),
        (["--on", "s0", "true", "--env", "=3"], "--env: must be NAME=VALUE"),
        ([], "--on: needs a host and a command, or --pcap"),
        (["--on", "s0", "true", "--pcap", "r0"], "--pcap: must be LINK_OR_HOST=FILE"),
    ],
)
def test_wrong_words_are_refused_before_anything_runs(tmp_path, words, said):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    ran = command("linux", "exec", write_toml(tmp_path / "net.toml", NET), *words, cwd=tmp_path)
    assert ran.returncode == 2, ran.stdout
    assert said in ran.stderr
    assert (tmp_path / "full" / "mine").read_text() == "mine"


@pytest.mark.skipif(not confine.available(), reason="this kernel has no Landlock")
def test_a_confined_process_writes_to_its_directory_alone(tmp_path):
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.write_text("as it was")
    words = f"echo a >{own}/a; echo b >{other}; mkdir {tmp_path}/new; rm {other}; echo c >/dev/null"
    with confine.to(own) as limit:
        sh = subprocess.run(["sh", "-c", words], preexec_fn=limit, capture_output=True, text=True, timeout=20)
    assert sh.stderr.count("Permission denied") == 3, sh.stderr
    assert (own / "a").read_text() == "a\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "own"]
    assert other.read_text() == "as it was"


# ---- with a kernel ----


@needs_kernel
def test_hosts_that_are_not_there_are_refused_by_name(tmp_path):
    with pytest.raises(SpecError) as error:
        execute(tmp_path, ("s1", "true"), ("r*", ""), captures={"x->y": tmp_path / "x"})
    assert [fault.path for fault in error.value.faults] == ["--on", "--on r*", "--pcap"]
    assert "s0, r0" in str(error.value.faults[0])


@needs_kernel
@needs_ping
def test_the_round_trip_is_that_of_the_wires_to_the_packet(tmp_path):
    """A ping of 84 bytes: twice 2 ms on two wires, and its time on links of 1 Gb/s and 100 Mb/s each way."""
    capture = tmp_path / "r0.pcapng"
    outcome = execute(tmp_path, ("s0", "ping -c 3 -i 0.5 r0"), captures={"r0": capture}, call_ns=0)
    [ping] = outcome.programs
    assert ping.status == 0, ping.stderr
    assert b"3 received" in ping.stdout
    assert ping.ended_s == pytest.approx(1.008, abs=0.005)
    arrivals, departures = (
        [at for at, length, direction in packets(capture) if (direction, length) == (way, 98)]
        for way in (1, 2)
    )
    one_way = 2 * 2e6 + 84 * 8 * (1 + 10)  # ns; the link to the receiver is the slower
    assert len(arrivals) == len(departures) == 3
    assert arrivals[0] == pytest.approx(one_way, abs=2e5)  # ping looks up names first
    # The answer leaves as soon as its request has come.
    assert [a - b for a, b in zip(departures, arrivals, strict=True)] == pytest.approx([0, 0, 0], abs=100)
    assert [b - a for a, b in pairwise(arrivals)] == pytest.approx([5e8, 5e8], rel=1e-3)


def packets(path):
    """Time in ns, length and direction (1 in, 2 out) of the packets of a capture."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + size - 4) == (size,)
        if kind == 6:
            _, high, low, kept, length = struct.unpack_from("<IIIII", data, at + 8)
            code, width, flags = struct.unpack_from("<HHI", data, at + 28 + (kept + 3) // 4 * 4)
            assert (code, width) == (2, 4)
            found.append(((high << 32) + low, length, flags))
        at += size
    assert at == len(data)
    return found


SERVER = """
import asyncio, os, random, ssl, sys

async def serve(reader, writer):
    size = int(await reader.readline())
    writer.write(random.randbytes(8).hex().encode() + b"\\n" + bytes(size))
    await writer.drain()
    writer.close()

async def main():
    async with await asyncio.start_server(serve, "0.0.0.0", 80) as server:
        await server.serve_forever()

asyncio.run(main())
"""

CLIENT = """
import asyncio, os, time

async def main():
    await asyncio.sleep(0.25)
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("r0", 80)
    writer.write(b"1000000\\n")
    print((await reader.readline()).decode().strip(), len(await reader.read()))
    print(time.time(), time.monotonic() - began, os.urandom(4).hex(), os.getpid(), id(writer))
    print(os.uname().nodename)

asyncio.run(main())
"""


@needs_kernel
def test_a_server_and_its_client_are_repeated_to_the_byte(tmp_path):
    """Random numbers, clocks, numbers of processes and addresses of memory follow from the seed."""
    place = tmp_path / "programs"  # in which nothing changes: Python lists the directory of a script
    place.mkdir()
    (place / "server.py").write_text(SERVER)
    (place / "client.py").write_text(CLIENT)
    python = sys.executable
    words = [("r0", f"{python} server.py &"), ("s0", f"{python} client.py")]
    ran = [execute(place, *words, captures={"s0": tmp_path / f"{n}.pcapng"}) for n in range(2)]
    assert texts(ran[0]) == texts(ran[1])
    assert (tmp_path / "0.pcapng").read_bytes() == (tmp_path / "1.pcapng").read_bytes()
    assert ran[0].queues.equals(ran[1].queues)
    server, client = ran[0].programs
    assert server.stopped and client.status == 0, client.stderr
    assert b" 1000000\n" in client.stdout and b"\ns0\n" in client.stdout
    # A megabyte through 100 Mb/s takes 80 ms and more; the run has ended with its client.
    assert 0.33 < client.ended_s < 0.6 and ran[0].ended_s == pytest.approx(client.ended_s, abs=1e-3)
    other = execute(place, *words, document=NET | {"seed": 2})
    assert other.programs[1].stdout != client.stdout


@needs_kernel
def test_an_end_of_the_duration_stops_programs_that_run(tmp_path):
    trap = "trap 'echo closing; exit 3' TERM; while :; do sleep 0.1; done"
    outcome = execute(tmp_path, ("s0", trap), ("r0", "sleep 100"), document=NET | {"duration": "1s"})
    first, second = outcome.programs
    assert (first.stopped, first.status, first.stdout) == (True, 3, b"closing\n")
    assert (second.stopped, second.status, second.signal) == (True, None, 15)
    assert outcome.ended_s == pytest.approx(1.0)
    assert not first.failed and not second.failed


ATTEMPTS = """
exec 2>&1
echo mine >{place}/mine; ln {place}/mine {place}/twice; echo changed >{place}/other; rm {place}/gone
echo changed >>/etc/hostname
mount -o remount,rw / ; mount -t hostfs none /mnt -o / ; mount -t tmpfs none /mnt
mknod /tmp/memory c 1 1; mknod /tmp/disk b 8 0
ls /proc/1/root/run; cat /proc/1/environ; dd if=/dev/mem of=/dev/null count=1
unshare -m true; unshare -U true; nsenter -t 1 -m true; chroot / mount -t hostfs none /mnt
cat {place}/other; ls {place}
"""


@needs_kernel
@pytest.mark.parametrize("kept", [True, False])
def test_a_program_cannot_write_to_the_hosts_files(tmp_path, kept):
    """As the guest's root, and with what root may try. It sees its own writes, and they can be kept."""
    place = tmp_path / "place"
    place.mkdir()
    for name in ("other", "gone"):
        (place / name).write_text(name)
    hostname = Path("/etc/hostname").read_bytes()
    out = tmp_path / "out"
    out.mkdir()
    outcome = execute(tmp_path, ("s0", ATTEMPTS.format(place=place)), out=out, keep=kept)
    [tried] = outcome.programs
    said = tried.stdout.decode()
    assert said.splitlines()[-4:] == ["changed", "mine", "other", "twice"], said
    for refused in ("mount: ", "mknod: /tmp/memory: Operation not permitted", "unshare: ", "nsenter: "):
        assert refused in said
    assert not Path("/tmp/memory").exists() and not Path("/tmp/disk").exists()
    assert sorted((path.name, path.read_text()) for path in place.iterdir()) == [
        ("gone", "gone"),
        ("other", "other"),
    ]
    assert Path("/etc/hostname").read_bytes() == hostname
    files = out / "files" / "s0" / place.relative_to("/")
    assert files.exists() == kept
    if kept:
        assert (files / "mine").read_text() == (files / "twice").read_text() == "mine\n"  # of one file
        assert (files / "other").read_text() == "changed\n"
        assert str(place / "gone") in (out / "files" / "s0.removed").read_text().splitlines()


LINKS = """
mkdir -p {place}/deep; echo kept >{place}/deep/file; cd {place}/deep
ln -s file beside; ln -s {place}/deep/file absolute
ln -s deep {place}/directory; ln -s {place}/directory/beside chain
ln -s ../../../../../../../../etc/shadow climbs; ln -s /etc/passwd outside; ln -s outside through
ln -s nowhere broken; ln -s round round; ln -s ../directory/../../mine behind
"""


@needs_kernel
def test_symbolic_links_to_kept_files_are_kept_and_others_listed(tmp_path):
    """A kept link names no file of this machine: its text would be resolved here, and not in the guest."""
    place, out = tmp_path / "place", tmp_path / "out"
    place.mkdir()
    out.mkdir()
    (tmp_path / "mine").write_text("mine")
    [ran] = execute(tmp_path, ("s0", LINKS.format(place=place)), out=out, keep=True).programs
    assert (ran.stderr, ran.status) == (b"", 0)
    kept = out / "files" / "s0" / place.relative_to("/")
    for name in ("deep/beside", "deep/absolute", "deep/chain", "directory/file"):
        assert (kept / name).read_text() == "kept\n" and (kept / name).resolve().is_relative_to(out.resolve())
    listed = (out / "files" / "s0.links").read_text().splitlines()
    assert f"{place}/deep/outside -> /etc/passwd" in listed and f"{place}/deep/through -> outside" in listed
    found = {line.split(" -> ")[0].rpartition("/")[2] for line in listed}
    assert found == {"climbs", "outside", "through", "broken", "round", "behind"}
    assert not any(os.path.lexists(kept / "deep" / name) for name in found)


@needs_kernel
@needs_ping
def test_full_packets_pass_a_bucket_of_which_the_kernel_warns(tmp_path):
    """It compares the bucket with a frame of Ethernet, whose 14 bytes a size table takes off before."""
    out = tmp_path / "out"
    outcome = execute(tmp_path, ("s0", "ping -c 5 -i 0.1 -s 1472 -M do r0"), out=out)
    assert b" 5 received, 0% packet loss" in outcome.programs[0].stdout
    warned = re.findall(
        r"sch_tbf: burst (\d+) is lower than device p\d+ mtu \((\d+)\)", (out / "dmesg.txt").read_text()
    )
    assert len(warned) == 4
    assert all(int(burst) >= int(frame) - 14 for burst, frame in warned)


@needs_kernel
def test_a_program_reads_nothing_about_the_machine_below_its_kernel(tmp_path):
    below = os.uname()
    [ran] = execute(tmp_path, ("s0", "cat /proc/cpuinfo /proc/version; uname -a")).programs
    assert b"model name" in ran.stdout and b"flags" in ran.stdout
    assert below.version.encode() not in ran.stdout and below.release.encode() not in ran.stdout
    [ran] = execute(tmp_path, ("s0", "echo mine >/proc/cpuinfo || umount /proc/cpuinfo")).programs
    assert ran.status != 0


@needs_kernel
def test_the_command_shows_all_and_fails_with_a_program(tmp_path):
    file = write_toml(tmp_path / "net.toml", NET)
    words = ["--on", "s0", "echo hello; sleep 0.5; exit 7", "--on", "r0", "cat /etc/hosts; hostname >&2"]
    ran = command("linux", "exec", file, *words, "--out", "out", "--json", cwd=tmp_path)
    assert ran.returncode == 1, ran.stderr
    first, second = json.loads(ran.stdout)["programs"]
    assert (first["stdout"], first["status"]) == ("hello\n", 7)
    assert first["ended_s"] == pytest.approx(0.5, abs=0.01)
    assert "10.1.0.2 r0" in second["stdout"] and second["stderr"] == "r0\n"
    assert (tmp_path / "out" / "r0.1.stderr").read_text() == "r0\n"
    assert "switch->r0" in (tmp_path / "out" / "queues.csv").read_text()
    shown = command("linux", "exec", file, *words, cwd=tmp_path)
    assert "== s0: echo hello; sleep 0.5; exit 7 (exit status 7 after 0.50" in shown.stdout


@needs_kernel
@needs_ping
def test_the_files_traffic_is_the_background(tmp_path):
    load = {"kind": "bulk", "from": "s0", "to": "r0"}
    document = NET | {"traffic": {"long": load}, "duration": "2s"}
    idle, busy = (
        execute(tmp_path, ("s0", "ping -c 3 -i 0.4 -q r0; sleep 0.2"), document=each)
        for each in (NET, document)
    )
    rtts = [float(each.programs[0].stdout.split(b"/")[4]) for each in (idle, busy)]
    assert rtts[0] == pytest.approx(8, abs=0.2)
    assert rtts[1] > rtts[0] + 3  # 100 packets of 121 us are 12 ms
    assert busy.flows["delivered_bytes"].sum() > 10_000_000 and idle.flows is None


@needs_kernel
def test_ports_are_the_programs_where_no_background_traffic_ends(tmp_path):
    """The background's connections end at ports from 5000 on, of their receivers alone."""
    serve = "python3 -m http.server 5000 &"
    words = ("r0", serve), ("s0", "sleep 1; curl -s -o /dev/null -w '%{http_code}' http://r0:5000/")
    background = {"traffic": {"long": {"kind": "bulk", "from": "r0", "to": "s0"}}, "duration": "2s"}
    for document in NET, NET | background:
        server, client = execute(tmp_path, *words, document=document).programs
        assert client.stdout == b"200", (server.stderr, client.stderr)
    strange = "exec 3<>/dev/tcp/10.1.0.1/5000"
    with pytest.raises(RunError, match="a program connected to a port from 5000 on of 10"):
        execute(tmp_path, ("r0", f"sleep 0.1; bash -c '{strange}'; sleep 0.1"), document=NET | background)


@needs_kernel
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_process_file_or_mount(tmp_path, number):
    mounts = Path("/proc/mounts").read_text()
    file = write_toml(tmp_path / "net.toml", NET | {"duration": "100000s"})
    busy = "while :; do sleep 0.001; done"
    words = ["linux", "exec", str(file), "--on", "s0", busy, "--on", "r0", "sleep 100000"]
    running = subprocess.Popen(
        [sys.executable, "-m", "shallows", *words], cwd=tmp_path, stderr=subprocess.PIPE, env=os.environ | {}
    )
    owner = f"shallows-linux-{running.pid}-"

    def directories():
        return [path for place in PLACES for path in place.glob(f"{owner}*")]

    def processes():
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if owner in str((process / "cwd").readlink()):
                    found.append(process.name)
            except OSError:
                continue
        return found

    def up():
        consoles = [place / "console.log" for place in directories()]
        return any(each.exists() and "network ready" in each.read_text(errors="replace") for each in consoles)

    try:
        wait_for(lambda: processes() and up())
        time.sleep(0.3)
        running.send_signal(number)
        assert running.wait(timeout=20) in (1, -number)
    finally:
        running.kill()
    wait_for(lambda: not processes())
    assert directories() == []
    assert Path("/proc/mounts").read_text() == mounts


def wait_for(holds, seconds=60.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


@needs_kernel
def test_the_traffic_of_a_file_is_captured_at_any_port_of_several_paths(tmp_path):
    """Every packet of the two uplinks is in one of two captures, which are whole for Wireshark."""
    net = NET | {
        "duration": "50ms",
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4,
            "rate": "100Mbps", "delay": "100us",
        },
        "traffic": {"web": {"kind": "bulk", "from": "h0..h3", "to": "h4..h7", "bytes": "10KB"}},
    }  # fmt: skip
    file = write_toml(tmp_path / "net.toml", net)
    words = [word for n in range(2) for word in ("--pcap", f"leaf0->spine{n}={n}.pcapng")]
    ran = command("linux", "exec", file, *words, "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["programs"] == [] and told["ended_s"] == 0.05
    sent = {row["port"]: row["packets_out"] for row in told["queues"]}
    for n in range(2):
        assert len(packets(tmp_path / f"{n}.pcapng")) == sent[f"leaf0->spine{n}"] > 0
