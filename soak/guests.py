"""`linux exec`: random programs give the same bytes again, end in order, and leave nothing behind.

A run ends by itself, by Ctrl-C, by SIGTERM or by a kill. Needs a kernel of `./shallows linux build`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from shallows.backends.linux import kernel

RUN_S = 300.0
"""A run that has not ended after so long of wall time is a finding."""

STOP_S = 20.0
"""The command ends within so long of a signal."""

PLACES = (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")))
"""Where a run keeps its files."""

TAKE = (
    "import socket, hashlib; s = socket.create_server(('', {port})); c, _ = s.accept();"
    " d = b''.join(iter(lambda: c.recv(65536), b'')); print(len(d), hashlib.sha256(d).hexdigest())"
)
GIVE = (
    "import socket, time; time.sleep({wait}); s = socket.create_connection(('{peer}', {port}));"
    " s.sendall(bytes(range(256)) * {blocks}); s.close()"
)


def possible() -> bool:
    """Whether programs can run here."""
    found = kernel.find()
    return found is not None and "CONFIG_OVERLAY_FS" not in found.without


def execute(draws: random.Random, place: Path) -> list[str]:
    """A run of programs: twice to its end, or once until a signal comes."""
    folder = place / f"guests-{draws.randrange(2**32):08x}"
    folder.mkdir()
    network, programs, sent = _drawn(draws)
    (folder / "net.toml").write_text(network)
    found: list[str] = []
    if draws.random() < 0.5:
        first, second = (_whole(folder, programs, f"out{n}", sent, found) for n in range(2))
        if first != second:
            found.append(f"two runs differ: {programs}")
    else:
        _stopped(folder, programs, draws, found)
    return [f"{each} (in {network!r})" for each in found]


def _drawn(draws: random.Random) -> tuple[str, list[str], int]:
    """A network, options of `linux exec` for programs on it, and the bytes that they send."""
    rate, delay = draws.choice(["10Mbps", "100Mbps", "1Gbps"]), draws.choice(["50us", "1ms", "10ms"])
    conditions = draws.choice(
        ["", "[port.\"s0->switch\"]\nloss = 0.01\n", "[port.\"s0->switch\"]\njitter = \"1ms\"\n",
         "[port.\"switch->r0\"]\nduplicate = 0.01\nreorder = 0.02\nreorder_delay = \"2ms\"\n"]
    )  # fmt: skip
    network = (
        f'duration = "20s"\nseed = {draws.randrange(1, 100)}\n'
        f'topology = {{ kind = "star", senders = 2, rate = "{rate}", delay = "{delay}" }}\n'
        f'queue = {{ kind = "{draws.choice(["drop-tail", "fq-codel", "codel"])}" }}\n'
        f'transport = {{ profile = "linux", cc = "{draws.choice(["cubic", "newreno", "bbr1", "dctcp"])}" }}\n'
        f"{conditions}"
    )
    blocks = draws.choice([1, 40, 400])
    programs: list[str] = []
    flows = draws.choice([1, 2])
    for number in range(flows):
        port = 9000 + number
        programs += ["--on", "r0", f'{sys.executable} -c "{TAKE.format(port=port)}"']
        give = GIVE.format(wait=0.1 + 0.1 * number, peer="r0", port=port, blocks=blocks)
        programs += ["--on", f"s{number}", f'{sys.executable} -c "{give}"']
    if draws.random() < 0.3:
        programs += [
            "--on",
            "s1",
            draws.choice(["sleep 3; date +%s", "cat /proc/uptime", "yes | head -c 100000"]),
        ]
    if draws.random() < 0.3:
        programs += ["--pcap", "r0=r0.pcapng"]
    return network, programs, 256 * blocks * flows


def _command(folder: Path, programs: list[str], out: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "shallows", "linux", "exec", "net.toml", *programs, "--out", out]
    return subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def _errors(ran: subprocess.Popen[str], within_s: float) -> str | None:
    """Its standard error, or None if it had not ended by then and was killed."""
    try:
        return ran.communicate(timeout=within_s)[1]
    except subprocess.TimeoutExpired:
        os.killpg(ran.pid, signal.SIGKILL)
        ran.communicate()
        return None


def _whole(folder: Path, programs: list[str], out: str, sent: int, found: list[str]) -> dict[str, str]:
    """Runs to the end. Files of the outputs by name, with their digests."""
    ran = _command(folder, programs, out)
    errors = _errors(ran, RUN_S)
    if errors is None:
        found.append(f"did not end in {RUN_S:g} s: {programs}")
        return {}
    found += _left(ran.pid, "its end")
    if ran.returncode != 0 or "Traceback" in errors:
        found.append(f"status {ran.returncode}: {programs}: {errors[-600:]}")
        return {}
    outputs = sorted((folder / out).glob("r0.*.stdout"))
    said = [file.read_text().split() for file in outputs]
    arrived = sum(int(words[0]) for words in said if words)
    if arrived != sent:
        found.append(f"{arrived} of {sent} bytes arrived: {programs}")
    files = [*(folder / out).rglob("*"), folder / "r0.pcapng"]
    return {
        str(file.relative_to(folder)).removeprefix(out): hashlib.sha256(_steady(file)).hexdigest()
        for file in files
        if file.is_file()
    }


def _steady(file: Path) -> bytes:
    """The content, less the time that the run took on this machine and the directory in which it worked."""
    if file.name == "dmesg.txt":
        lines = file.read_bytes().splitlines(keepends=True)
        return b"".join(line for line in lines if b"mconsole" not in line)
    if file.name != "programs.json":
        return file.read_bytes()
    document: Any = json.loads(file.read_text())
    del document["about"]["wall_s"], document["about"]["cpu_s"]
    return json.dumps(document, sort_keys=True).encode()


def _stopped(folder: Path, programs: list[str], draws: random.Random, found: list[str]) -> None:
    """Runs until a signal comes at some moment."""
    number = draws.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    ran = _command(folder, programs, "out")
    time.sleep(draws.random() * 6)
    with contextlib.suppress(ProcessLookupError):
        ran.send_signal(number)
    errors = _errors(ran, STOP_S)
    if errors is None:
        found.append(f"runs {STOP_S:g} s after {number.name}: {programs}")
        return
    # It ended before the signal, was ended by it, or says that it was stopped.
    allowed = {0, 128 + number, -number} | ({1} if "stopped by" in errors else set())
    if ran.returncode not in allowed or "Traceback" in errors:
        found.append(f"status {ran.returncode} after {number.name}: {errors[-800:]}")
    found += _left(ran.pid, number.name)


def _left(pid: int, why: str) -> list[str]:
    """Processes and directories of a run that has ended. A killed one cannot remove its directory."""
    name = f"-{pid}-"
    ends = time.monotonic() + 5
    while time.monotonic() < ends:
        left = {f"process {each}" for each in processes(pid)}
        if why != signal.SIGKILL.name:
            left |= {str(path) for place in PLACES for path in place.glob(f"shallows*{name}*")}
        if not left:
            return []
        time.sleep(0.1)
    return [f"left behind after {why}: {sorted(left)}"]


def processes(group: int) -> list[int]:
    """Processes of a group that live."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                members.append(int(stat.parent.name))
    return members
