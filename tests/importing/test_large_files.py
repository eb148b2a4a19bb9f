"""Large files are read in bounded memory."""

import subprocess
import sys
import textwrap

import pytest

MEASURED = """
import sys
from shallows.cli.app import app

try:
    app(["import", sys.argv[1], "-o", sys.argv[2]])
except SystemExit as end:
    assert not end.code, end.code
# The peak of `getrusage` begins with that of the process that started this one.
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(peak * 1024)
"""


def measure(path, out):
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASURED), path, out],
        capture_output=True,
        text=True,
        check=True,
    )
    *told, last = found.stdout.splitlines()
    return "\n".join(told), int(last)


@pytest.fixture
def goal(tmp_path):
    """A hundred thousand operations: 100 ranks that each send to the next, wait, compute, and so on."""
    path = tmp_path / "ring.goal"
    ranks, rounds = 100, 333
    with path.open("w") as file:
        file.write(f"num_ranks {ranks}\n")
        for rank in range(ranks):
            file.write(f"rank {rank} {{\n")
            for i in range(rounds):
                file.write(f"s{i}: send 4096b to {(rank + 1) % ranks} tag {i}\n")
                file.write(f"r{i}: recv 4096b from {(rank - 1) % ranks} tag {i}\nc{i}: calc 1000\n")
                file.write(f"c{i} requires r{i}\n")
                if i:
                    file.write(f"s{i} requires c{i - 1}\n")
            file.write("}\n")
    return path


def test_a_schedule_of_a_hundred_thousand_operations(goal, tmp_path):
    """A million takes ten times as long and 0.4 GB."""
    told, memory = measure(goal, tmp_path / "out.toml")
    assert "100 ranks, 99900 operations" in told and "33300 messages" in told
    assert memory < 0.3e9


def test_a_matrix_of_8192_nodes(tmp_path):
    path = tmp_path / "perm.cm"
    lines = [f"{i}->{(i * 5 + 1) % 8192} id {i + 1} start 0 size 2000000\n" for i in range(8192)]
    lines = [line for line in lines if line.split("->")[0] != line.split("->")[1].split()[0]]
    path.write_text(f"Nodes 8192\nConnections {len(lines)}\n" + "".join(lines))
    told, memory = measure(path, tmp_path / "out.toml")
    assert f"{len(lines)} flows on 8192 nodes" in told and memory < 0.3e9
