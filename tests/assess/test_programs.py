"""Programs as the candidate of a card: commands, refusals, and the tables that come from outside."""

from dataclasses import replace

import polars as pl
import pytest
import shallows
from conftest import ROOT
from shallows import linux
from shallows.assess import card, programs
from shallows.backends.linux.lab.outcome import Ended, Outcome
from shallows.cli.assess import _programs
from shallows.cli.options import How
from shallows.errors import Fault, RunError, SpecError
from shallows.execution.runner import Runner

SEND = (
    "import socket,sys\ns=socket.create_connection((sys.argv[1],int(sys.argv[2])))\n"
    "while 1: s.sendall(bytes(9999))\n"
)
TAKE = (
    "import socket,sys\ns=socket.socket()\ns.bind(('',int(sys.argv[1])))\ns.listen()\nc,_=s.accept()\n"
    "while c.recv(9999): pass\n"
)
CONNECTION = {"traffic": "x", "class": "x", "src": "l0", "dst": "r0", "start_ps": 2 * 10**12, "id": 0}


def test_rows_that_programs_cannot_run_say_why():
    work = card.plan("program", True, ["C4", "C9", "C18"], programs=programs.Programs("a {peer}", "b &"))
    assert {row for row, _ in work.refused} == {"C9", "C18"}
    assert "not messages of given sizes" in work.refused["C9", "long CUBIC, 30 % load"]
    assert "the receiver of a program is its own" in work.refused["C18", "acknowledgements in 4 pieces"]
    points = [those[0] for (row, _, label), those in work.points.items() if (row, label) == ("C4", "program")]
    assert {point.experiment["warmup"] for point in points} == {"0s"}
    [far] = [point.experiment for point in points if "far" in point.experiment["traffic"]]
    assert all(programs._replaced(load) for load in far["traffic"].values()), "both flows are the program's"


def test_a_cell_that_the_backend_refuses_is_not_run_and_the_card_goes_on(tmp_path):
    class Refuses:
        name = "linux"

        def check(self, experiment):
            if experiment["queue"]["kind"] == "fq-codel":
                raise SpecError([Fault("queue.left_in", "must be 'all'")])

        def fingerprint(self):
            return "none"

    work = card.runnable(
        card.plan("newreno", True, ["C8"]), replace(Runner.of(store=tmp_path), backend=Refuses())
    )
    told = "the backend linux refuses it: queue.left_in: must be 'all'"
    assert work.refused == {("C8", "delay, FQ-CoDel"): told}
    assert {cell for _, cell, _ in work.points} == {"delay, 1 BDP", "delay, 4 BDP", "loss, 0.25 BDP"}
    only = replace(
        work, points=dict(list(card.plan("newreno", True, ["C8"]).points.items())[-1:]), refused={}
    )
    with pytest.raises(SpecError, match="left_in"):
        card.runnable(only, replace(Runner.of(store=tmp_path), backend=Refuses()))


def test_servers_start_before_the_others():
    made = programs.Programs("send {peer} {port}", "take {port} &")
    first, second = made._commands([CONNECTION])
    assert (first.host, first.text, first.server) == ("l0", "sleep 2.050000; send r0 7000", False)
    assert (second.host, second.text, second.server) == ("r0", "take 7000", True)


def test_a_changed_program_is_another_candidate(tmp_path, monkeypatch):
    monkeypatch.setattr(programs.Linux, "fingerprint", lambda self: "kernel")
    (tmp_path / "mine.py").write_text("1")
    made = programs.Programs("python3 mine.py", "take &", directory=tmp_path)
    before = made.fingerprint()
    (tmp_path / "mine.py").write_text("2")
    assert made.fingerprint() != before
    assert replace(made, sender="python3 mine.py -v").fingerprint() != made.fingerprint()


@pytest.mark.parametrize(
    ("status", "ended_s", "told"),
    [(3, 10.0, "ended with status 3: no route"), (0, 4.0, "ended after 4 s, and the row needs 10 s")],
)
def test_a_program_that_fails_or_ends_early_is_named(status, ended_s, told):
    ended = Ended("l0", "send", status, None, False, ended_s, b"", b"at once\nno route\n")
    outcome = Outcome((ended,), None, None, ended_s, {})
    with pytest.raises(RunError, match=told):
        programs._held(outcome, {"duration": "10s"})


def test_flows_of_programs_have_the_shape_of_the_simulators(tmp_path):
    run = shallows.run(
        {
            "duration": "20ms",
            "topology": {"kind": "star", "senders": 1},
            "queue": {"kind": "drop-tail", "limit": "100pkt"},
            "transport": {"cc": "cubic"},
            "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0"}},
            "probe": {"flow_trace": "1ms"},
        },
        store=tmp_path,
    )
    ends = {"src": "l0", "dst": "r0", "src_port": 40000, "dst_port": 7000, "flow": 5}
    seen = pl.DataFrame([ends | {"first_ps": 0, "last_ps": 10**12, "packets": 9, "data_bytes": 1000}])
    trace = pl.DataFrame({"flow": [5, 5], "time_ps": [10**11, 10**12], "data_bytes": [400, 1000]})
    outcome = Outcome(
        (), run.tables["queues"], None, 1.0, {}, {"program_flows": seen, "program_trace": trace}
    )
    found = programs._tables(outcome, run.tables, [CONNECTION])
    assert found["flows"].schema == run.tables["flows"].schema
    assert found["flows"].select("class", "arrived_bytes", "goodput_bps").rows() == [("x", 1000, 8000.0)]
    assert found["flow_trace"]["arrived_bytes"].to_list() == [400, 1000]


@pytest.mark.parametrize(
    ("commands", "backend", "told"),
    [
        (("a", ""), "linux", "needs --receiver too"),
        (("a", "b"), "simulator", "needs --backend linux"),
        (("a &", "b &"), "linux", "one end starts the transfer"),
    ],
)
def test_half_a_program_runs_nothing(commands, backend, told):
    with pytest.raises(SpecError, match=told):
        _programs(*commands, How(backend=backend))


@pytest.mark.skipif(not linux.available(), reason="needs a kernel: run ./shallows linux build")
def test_a_program_fills_a_slow_link(tmp_path):
    (tmp_path / "send.py").write_text(SEND)
    (tmp_path / "take.py").write_text(TAKE)
    made = programs.Programs(
        f"python3 {tmp_path}/send.py {{peer}} {{port}}",
        f"python3 {tmp_path}/take.py {{port}} &",
        directory=ROOT,
    )
    work = card.plan("program", True, ["C16"], programs=made)
    [key] = [key for key in work.points if key[1:] == ("64 kb/s, 40 ms", "program")]
    first = work.points[key][0]
    short = replace(first, experiment=first.experiment | {"duration": "20s"})
    work = replace(work, points={key: [short]})
    [outcome] = card._outcomes(work, Runner.of(store=tmp_path, backend="linux"), None)[key]
    assert outcome.error is None
    assert outcome.metrics["bottleneck_utilisation"] > 0.9


@pytest.mark.parametrize(
    "setting", [{"ack_pieces": 4}, {"ack_repeats": 3}, {"ack_ahead": "1pkt"}, {"hide_marks": True}]
)
def test_a_receiver_that_misbehaves_is_refused_to_programs(setting):
    load = {"kind": "bulk", "transport": {"cc": programs.PLACE, **setting}}
    assert programs.refusal({"traffic": {"x": load}}) == "the receiver of a program is its own"
