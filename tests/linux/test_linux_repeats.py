"""Two programs at once under load: every repeat gives the same bytes. Runs alone, if there is a kernel.

The long form is
`SHALLOWS_REPEATS=100 tools/uv run --frozen --with aioquic pytest tests/linux/test_linux_repeats.py`.
Without aioquic the second program is the asyncio example.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from importlib.util import find_spec

import pytest
from conftest import ROOT
from test_linux_exec import execute, needs_kernel

REPEATS = int(os.environ.get("SHALLOWS_REPEATS", "3"))

QUIC = ("quic_server.py", "quic_client.py 100000")
ASYNCIO = ("asyncio_server.py", "asyncio_client.py 1000000")


@contextmanager
def load():
    """A busy loop on each core, at the lowest priority."""
    busy = [
        subprocess.Popen(["nice", "-n", "19", sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


@needs_kernel
@pytest.mark.skipif(not shutil.which("iperf3"), reason="apt install iperf3")
def test_two_programs_under_load_repeat_to_the_byte(tmp_path):
    place = tmp_path / "lab"  # in which nothing changes
    place.mkdir()
    for script in (ROOT / "docs" / "programs").glob("*.py"):
        shutil.copy(script, place)
    quic = find_spec("aioquic") is not None and shutil.which("openssl")
    if quic:
        words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=s0"
        files = ["-keyout", place / "key.pem", "-out", place / "cert.pem"]
        subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)
    server, client = QUIC if quic else ASYNCIO
    programs = (
        ("r0", "iperf3 -s &"),
        ("s0", f"{sys.executable} {server} &"),
        ("s0", "sleep 0.3; iperf3 -c r0 -n 2M"),
        ("r0", f"sleep 0.3; {sys.executable} {client}"),
    )
    seen: Counter[str] = Counter()
    with load():
        for _ in range(REPEATS):
            captures = {name: tmp_path / f"{name}.pcapng" for name in ("s0", "r0")}
            ran = execute(place, *programs, captures=captures)
            assert [each.status for each in ran.programs[2:]] == [0, 0], ran.programs
            parts = [file.read_bytes() for file in captures.values()]
            parts += [part for each in ran.programs for part in (each.stdout, each.stderr)]
            parts += [repr([each.ended_s for each in ran.programs]).encode(), ran.queues.write_csv().encode()]
            parts.append(ran.tables["program_flows"].write_csv().encode())
            hashes = (hashlib.sha256(part).hexdigest() for part in parts)
            seen[" ".join(hashes)] += 1
    assert list(seen.values()) == [REPEATS]
