"""The Linux backend when something goes wrong: a clear cause, the console kept, nothing else left behind."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT
from shallows.backends.linux import backend, cache, kernel, machine, root
from shallows.errors import Cancelled, RunError

pytestmark = pytest.mark.skipif(kernel.find() is None, reason="run ./shallows linux build")

PLACES = [Path("/dev/shm"), Path("/tmp"), Path("/var/tmp")]


def left() -> set[str]:
    """Machines' directories and processes on this machine that belong to this test."""
    owner = f"shallows-linux-{os.getpid()}-"
    directories = {str(path) for place in PLACES for path in place.glob(f"{owner}*")}
    binary = str(backend.ready().path)
    return directories | processes(binary)


def processes(binary: str) -> set[str]:
    """Processes of this test's machines: their working directory says whose they are."""
    found = set()
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            command = (directory / "cmdline").read_bytes().split(b"\0")[0].decode()
            where = str((directory / "cwd").readlink())
        except OSError:
            continue
        if command == binary and f"shallows-linux-{os.getpid()}-" in where:
            found.add(directory.name)
    return found


def a_root(tmp_path: Path, program: str) -> root.Root:
    """A root directory whose only program is this."""
    top = tmp_path / "root"
    for name in root.PLACES:
        (top / name).mkdir(parents=True)
    (tmp_path / "init.c").write_text(program)
    subprocess.run(
        ["gcc", "-static", "-o", str(top / "sbin/init"), str(tmp_path / "init.c")], check=True, timeout=60
    )
    return root.Root(top, {"hash": "test", "tc": "none"})


def kept_log(error: pytest.ExceptionInfo) -> str:
    place = re.search(r"console is kept in (\S+)", str(error.value))
    return Path(place[1]).read_text()


FAULTS = {
    "panicked: Attempted to kill init!": "int main(void) { return 3; }",
    "hangs: it said nothing for 2 s": "#include <unistd.h>\n"
    'int main(void) { write(1, "up\\n", 3); for (;;); }',
    "ran out of memory": "#include <stdlib.h>\n#include <string.h>\n"
    "int main(void) { for (;;) { char *p = malloc(1 << 20); if (p) memset(p, 1, 1 << 20); } }",
}


@pytest.mark.parametrize("cause", FAULTS)
def test_the_cause_is_told_and_the_console_kept(tmp_path, cause, monkeypatch):
    own = a_root(tmp_path, FAULTS[cause])
    with (
        pytest.raises(RunError, match=re.escape(f"the Linux machine {cause}")) as error,
        machine.boot(backend.ready(), own, "", 1, memory_mb=64, silence_s=2 if "hangs" in cause else 60),
    ):
        pass
    assert kept_log(error).strip()
    wait_for(lambda: left() == set())  # it has been killed, which takes a moment


def test_what_tc_refuses_is_shown_in_its_own_words():
    plan = "run /bin/ip link add name x type dummy0\ngo\n"
    with (
        pytest.raises(
            RunError,
            match=r"command failed with status 2: /bin/ip link add name x type dummy0\n.*Unknown device type",
        ),
        machine.boot(backend.ready(), root.root(), plan, 1),
    ):
        pass
    wait_for(lambda: left() == set())


@pytest.mark.skipif("CONFIG_NET_SCH_DUALPI2" in getattr(kernel.find(), "without", []), reason="it is newer")
def test_what_the_kernel_refuses_is_shown_in_its_own_words():
    # A step in packets and one in time: refused by sch_dualpi2 itself.
    plan = (
        "run /bin/ip netns add n0\nrun /bin/ip -n n0 link add name a type veth peer name b\n"
        "attributes 0 a ffffffff 10000 dualpi2 1:32:1000 7:32:10 8:32:1000\ngo\n"
    )
    with (
        pytest.raises(
            RunError, match="the kernel refuses dualpi2 on a: sch_dualpi2: multiple step thresh attributes"
        ),
        machine.boot(backend.ready(), root.root(), plan, 1),
    ):
        pass


def test_a_machine_that_is_stopped_leaves_nothing():
    with pytest.raises(Cancelled), machine.boot(backend.ready(), root.root(), "go\n", 1, lambda: True):
        pass
    wait_for(lambda: left() == set())


LONG = """
import sys
from shallows.backends.linux import backend, machine, root
with machine.boot(backend.ready(), root.root(), "duration 900000000000000\\nsample 1000\\ngo\\n", 1):
    pass
"""


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGKILL])
def test_a_command_that_is_interrupted_takes_its_machine_along(with_signal):
    """Ctrl-C leaves nothing; a killed run leaves files, which the next run clears away."""
    command = subprocess.Popen([sys.executable, "-c", LONG], cwd=ROOT, stderr=subprocess.DEVNULL)
    binary, owner = str(backend.ready().path), f"shallows-linux-{command.pid}-"

    def directories() -> list[Path]:
        return [path for place in PLACES for path in place.glob(f"{owner}*")]

    def machines() -> list[str]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (
                    owner in str((process / "cwd").readlink())
                    and binary.encode() in (process / "cmdline").read_bytes()
                ):
                    found.append(process.name)
            except OSError:
                continue
        return found

    try:
        wait_for(lambda: machines() and any("guest: up" in read(d / "console.log") for d in directories()))
        command.send_signal(with_signal)
        command.wait(timeout=20)
    finally:
        command.kill()
    wait_for(lambda: not machines())
    if with_signal == signal.SIGKILL:
        with pytest.raises(Cancelled), machine.boot(backend.ready(), root.root(), "go\n", 1, lambda: True):
            pass
    assert directories() == []


def read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def wait_for(holds, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


@pytest.mark.skipif(os.getuid() != 0, reason="already without privileges")
def test_it_needs_no_privileges(tmp_path):
    """As nobody, with the caches' files readable and nothing else."""
    closed = [path for path in cache.cache().parents if not path.stat().st_mode & 0o001]
    if closed:
        pytest.skip(f"nobody may not enter {closed[0]}, where the cache is; set SHALLOWS_CACHE")
    script = tmp_path / "run.py"
    script.write_text(
        "import os, sys\n"
        "from shallows.backends.linux import backend, machine, root\n"
        "made, kernel = root.root(), backend.ready()\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "with machine.boot(kernel, made, 'duration 1000000\\ngo\\n', 1) as answer:\n"
        "    print(os.getuid(), 'guest: end' in answer.console)\n"
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert ran.stdout.split() == ["65534", "True"], ran.stderr
