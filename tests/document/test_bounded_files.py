"""Files that users name: regular, bounded while they are read, and told in short messages."""

import gzip
import json
import os
import subprocess
import sys

import pytest
from shallows.errors import Fault, SpecError
from shallows.importing.formats import read
from shallows.packetdrill import run as drill
from shallows.words import did_you_mean

KINDS = ("flows", "messages", "sizes", "topology", "datagrams", "rates", "opportunities")
SUFFIXES = (".csv", ".json", ".graphml", ".pcap", ".txt", "")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_devices_and_pipes_are_refused_at_once(tmp_path, kind, suffix):
    """T7: a link to /dev/zero took gigabytes, and a pipe without a writer hung for ever."""
    zero, pipe, loop = (tmp_path / f"{name}{suffix}" for name in ("zero", "pipe", "loop"))
    zero.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for path in (zero, pipe, loop, tmp_path):
        with pytest.raises(SpecError, match="cannot be read"):
            read(path, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "data",
    [
        b"a," * 1_000_000,
        b"bytes,share\n" + b"9" * 1_000_000 + b",1\n",
        b"from,to,bytes,start\n" + b"s" * 1_000_000 + b",r0,1KB,1us,5\n",
        b'{"' + b"k" * 1_000_000 + b'": 1}',
        b"x" * 1_000_000,
        b"0 " * 500_000,
    ],
    ids=["columns", "number", "name", "key", "word", "numbers"],
)
def test_a_fault_is_short_whatever_the_file_holds(tmp_path, kind, data):
    """T7d: a header of a million columns made a message of three megabytes."""
    path = tmp_path / "x.csv"
    path.write_bytes(data)
    with pytest.raises(SpecError) as caught:
        read(path, kind)
    assert len(str(caught.value)) < 20_000


def test_a_sparse_file_and_a_bomb_of_zeros_are_not_read_whole(tmp_path):
    sparse, bomb = tmp_path / "sparse.csv", tmp_path / "bomb.csv"
    with sparse.open("wb") as file:
        file.truncate(20_000_000_000)
    with gzip.open(bomb, "wb", 1) as packed:
        for _ in range(300):
            packed.write(bytes(1_000_000))
    for path in (sparse, bomb):
        for kind in KINDS:
            with pytest.raises(SpecError):
                read(path, kind)


def test_parts_of_a_fault_are_bounded():
    fault = Fault("p" * 10**6, "r" * 10**6, "v" * 10**6, "h" * 10**6)
    assert len(str(fault)) < 8000
    assert did_you_mean("x" * 10**6, ["xy"]) == ""


def test_an_unreadable_script_is_a_message(tmp_path):
    """A script that is a link to /proc/self/mem showed a traceback."""
    link, large = tmp_path / "mem.pkt", tmp_path / "large.pkt"
    link.symlink_to("/proc/self/mem")
    with large.open("wb") as file:
        file.truncate(20_000_000_000)
    for path in (link, large):
        with pytest.raises(SpecError, match="cannot be read"):
            drill.run(path)


def test_no_memory_is_a_message():
    """MemoryError showed a traceback, and with --json nothing."""
    text = "import sys\nsys.argv = ['shallows', 'list', 'cc', '--json']\n"
    text += "from shallows.cli import app\n"
    text += "def fails():\n    raise MemoryError\n"
    text += "app.app = lambda **_: fails()\nfrom shallows.cli.entry import main\nmain()\n"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "out of memory" in done.stderr and "Traceback" not in done.stderr
    assert json.loads(done.stdout)["error"]["kind"] == "RunError"
