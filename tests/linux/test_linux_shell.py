"""`linux shell`: a shell on a host of a network, at the user's terminal and in real time."""

import os
import pty
import select
import shutil
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from conftest import shallows as command
from conftest import write_toml
from shallows.backends.linux.kernel import Kernel
from shallows.backends.linux.lab import programs
from shallows.document.load import load
from shallows.document.points import one_run
from shallows.errors import SpecError
from test_linux import needs_kernel
from test_linux_exec import NET


def test_without_a_terminal_it_is_refused(tmp_path):
    ran = command("linux", "shell", write_toml(tmp_path / "net.toml", NET), "s0", cwd=tmp_path)
    assert ran.returncode == 2
    assert "needs a terminal; linux exec runs commands without one" in ran.stderr


def test_a_session_keeps_no_traces_of_the_file(tmp_path, monkeypatch):
    """Its samples would take memory, and its trace of ports disk, for as long as it lasts."""
    plans = []
    used = Kernel(tmp_path / "linux", {"hash": "a" * 16, "version": "7.2.12"})
    monkeypatch.setattr(programs, "ready", lambda name: used)
    monkeypatch.setattr(programs, "root", lambda: None)
    monkeypatch.setattr(programs.machine, "attach", lambda used, root, plan, *further: plans.append(plan))
    traces = {"queue_trace": "1us", "port_trace": "1us", "flow_trace": "1us", "nic_queues": True}
    for probe in ({}, traces, {"queue_trace": "change"}):
        resolved = one_run(programs.session(load(NET | {"probe": probe}))).experiment
        programs.shell(resolved, "s0", tmp_path, (80, 24), 1024)
    assert plans[0] == plans[1] == plans[2]
    assert {"ports 0", "traced 0", "sample 5000000000"} <= set(plans[0].splitlines())


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, directory, *words):
        self.ours, self.theirs = pty.openpty()
        self.before = termios.tcgetattr(self.theirs)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shallows", *words],
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=subprocess.PIPE,
            cwd=directory,
            env={**os.environ, "COLUMNS": "100", "LINES": "30"},
        )

    def until(self, text, seconds=60.0):
        """All that is shown until a text has come."""
        shown, end = b"", time.monotonic() + seconds
        while text not in shown and time.monotonic() < end:
            if select.select([self.ours], [], [], 0.1)[0]:
                shown += os.read(self.ours, 4096)
        assert text in shown, shown
        return shown.decode()

    def type(self, text):
        os.write(self.ours, text.encode())


needs_ping = pytest.mark.skipif(not shutil.which("ping"), reason="apt install iputils-ping")


@pytest.fixture
def terminal(tmp_path):
    file = write_toml(tmp_path / "net.toml", NET)
    found = Terminal(tmp_path, "linux", "shell", str(file), "s0")
    yield found
    found.process.kill()
    found.process.wait()
    os.close(found.ours)
    os.close(found.theirs)


@needs_kernel
@needs_ping
def test_a_shell_on_a_host_in_real_time(tmp_path, terminal):
    terminal.until(b"s0:")
    terminal.type("hostname; stty size; echo $((6 * 7)).\n")
    shown = terminal.until(b"42.")
    assert "\ns0\r\n" in shown and "30 100" in shown
    terminal.type("ping -c 2 -i 0.3 r0; echo mine > mine; echo en''d\n")
    began = time.monotonic()
    shown = terminal.until(b"end")
    assert "0% packet loss" in shown and time.monotonic() - began > 0.25
    terminal.type("sleep 1000; echo no\n")
    terminal.until(b"sleep 1000")
    time.sleep(0.3)
    terminal.type("\x03")  # to the guest's program and not to ours
    terminal.type("echo still''here\n")
    assert "\nno" not in terminal.until(b"stillhere")
    terminal.type("exit\n")
    assert terminal.process.wait(timeout=60) == 0, terminal.process.stderr.read()
    assert termios.tcgetattr(terminal.theirs) == terminal.before
    assert not (tmp_path / "mine").exists()
    assert left(terminal) == []


@needs_kernel
@pytest.mark.parametrize("host", ["s*", "nowhere"])
def test_it_is_on_one_host_of_the_network(tmp_path, host):
    experiment = one_run(programs.session(load(NET))).experiment
    with pytest.raises(SpecError, match="HOST: must be a host of the network: s0, r0"):
        programs.shell(experiment, host, tmp_path, (80, 24), 1024)


@needs_kernel
def test_a_signal_gives_the_terminal_back_and_leaves_nothing(terminal):
    terminal.until(b"s0:")
    terminal.process.terminate()
    assert terminal.process.wait(timeout=60) != 0
    assert termios.tcgetattr(terminal.theirs) == terminal.before
    assert left(terminal) == []


def left(terminal):
    """Directories of the machine of this process."""
    return [*Path("/dev/shm").glob(f"shallows-linux-{terminal.process.pid}-*")]
