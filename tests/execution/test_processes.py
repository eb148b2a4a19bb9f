"""Sweeps of runs that call Python: in processes, with the results of threads."""

import json
import os
import signal
import textwrap
import threading
import time

import pytest
import shallows
from conftest import SMALL, write_toml
from shallows.authoring.examples.aimd import Aimd
from shallows.document.load import load
from shallows.document.points import expand
from shallows.execution.processes import Processes
from shallows.execution.runner import Runner
from shallows.execution.threads import Threads

MODULE = """
    import os, shallows

    class Mine(shallows.CongestionControl):
        gain: float = 1.0
        way: str = "well"

        def start(self, flow):
            self.mss, self.cwnd = flow.mss, flow.initial_window
            print("not an answer")

        def on_ack(self, ack):
            self.cwnd += self.gain * self.mss * ack.acked / self.cwnd
            if self.way == "raise":
                raise RuntimeError("my own mistake")
            if self.way == "die":
                os.kill(os.getpid(), 9)
            if self.way == "hang":
                open("started", "w").close()
                while True:
                    pass

        def on_congestion(self, why, ack):
            self.cwnd /= 2
"""


@pytest.fixture
def points(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(textwrap.dedent(MODULE))

    def make(**varied):
        document = json.loads(json.dumps(SMALL)) | {
            "python": {"modules": "mine.py"},
            "sweep": {"grid": varied},
        }
        file = write_toml(tmp_path / "mine.toml", document | {"transport": {"cc": "mine"}})
        return expand(load(file))

    return make


def test_processes_give_the_tables_of_threads(tmp_path, points):
    some = points(**{"transport.cc.gain": [0.5, 1.0, 2.0]})
    ours = Runner.of(store=tmp_path / "a", executor=Processes(2)).run(some, metrics=True)
    theirs = Runner.of(store=tmp_path / "b", executor=Threads(2)).run(some, metrics=True)
    assert [outcome.status for outcome in ours] == ["done"] * 3
    assert len({outcome.hash for outcome in ours}) == 3
    for one, other in zip(ours, theirs, strict=True):
        assert one.metrics == other.metrics
        for file in sorted(other.run.path.glob("*.parquet")):
            assert (one.run.path / file.name).read_bytes() == file.read_bytes()


def test_where_a_sweep_runs(points):
    some = points(**{"transport.cc.gain": [0.5, 1.0]})
    paths = {("mine.py", "x"): "mine.py"}
    two, one = (Runner.of(store="runs", workers=n) for n in (2, 1))
    assert isinstance(two._local(some, paths), Processes)
    assert isinstance(one._local(some, paths), Processes)
    assert isinstance(two._local(some[:1], paths), Processes)
    assert isinstance(two._local(some, None), Threads)  # a notebook's class cannot be imported elsewhere
    assert isinstance(two._local(expand(SMALL | {"seeds": 2}), None), Threads)


def test_what_fails_is_told_and_the_others_go_on(tmp_path, points):
    some = points(**{"transport.cc.way": ["well", "raise", "die"], "transport.cc.gain": [1.0, 2.0]})
    outcomes = Runner.of(store=tmp_path / "runs", workers=2).run(some)
    assert [outcome.status for outcome in outcomes] == ["done", "done", *["failed"] * 4]
    assert "RuntimeError: my own mistake\nin Mine.on_ack of flow" in outcomes[2].error
    assert "mine.py" in outcomes[2].error  # the traceback
    assert outcomes[4].error == "its process died (status -9)"


def test_an_interrupt_ends_the_processes(tmp_path, points):
    some = points(**{"transport.cc.way": ["hang"], "transport.cc.gain": [1.0, 2.0]})

    def interrupt():
        while not (tmp_path / "started").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        Runner.of(store=tmp_path / "runs", workers=2).run(some)
    thread.join()
    assert list((tmp_path / "runs").glob("[0-9a-f]*")) == []


def test_a_class_in_no_file_is_swept_in_this_process(tmp_path):
    class Local(Aimd):
        pass

    Local.__module__ = "__main__"
    document = SMALL | {"transport": {"cc": "local"}, "seeds": 2}
    outcomes = shallows.sweep(document, algorithms=[Local], store=tmp_path, workers=2, progress=False)
    assert [outcome.status for outcome in outcomes] == ["done", "done"]
