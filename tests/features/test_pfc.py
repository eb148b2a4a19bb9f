"""Flow control from the experiment file to tables, laws, closed form and the other backends."""

import copy

import pytest
import shallows
from shallows import theory
from shallows.backends.linux import refusals
from shallows.backends.ns3 import command
from shallows.document.check import resolve
from shallows.errors import SpecError
from shallows.tables import laws

DOCUMENT = {
    "duration": "2ms",
    "topology": {"kind": "star", "senders": 4, "rate": "100Gbps", "delay": "1us"},
    "queue": {"kind": "threshold", "limit": "none", "mark_at": "400KB"},
    "switch": {"*": {"buffer": "2MB"}},
    "priority": {"3": {"pfc": True}, "6": {"queue": "drop-tail"}},
    "transport": {"cc": "dctcp", "priority": 3, "ack_priority": 6, "initial_window": "200pkt"},
    "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
}


def test_a_run_has_its_pauses_and_keeps_all_laws(tmp_path):
    run = shallows.run(DOCUMENT, store=tmp_path)
    pauses = run.tables["pauses"]
    assert len(pauses) == 2 * 5  # each end of five cables, for the one lossless priority
    assert set(pauses["priority"]) == {3} and pauses["paused"].sum() > 0
    queues = run.tables["queues"]
    assert queues["drops"].sum() == 0
    assert laws.broken(run.tables, run.experiment, run.manifest["counts"]) == []


def test_the_checker_asks_for_the_headroom_of_the_closed_form():
    document = copy.deepcopy(DOCUMENT)
    document["port"] = {"switch->s*": {"pfc_headroom": "1KB"}}
    with pytest.raises(SpecError) as refused:
        resolve(document)
    asked = theory.evaluate("headroom", ["rate=100Gbps", "delay=1us", "mtu=1500B"])["outputs"]
    assert asked["headroom_bytes"] == 25_000 + 2 * 1500 + 84
    assert asked["standard_headroom_bytes"] == asked["headroom_bytes"] + 394 * 64
    assert f"must be at least {asked['standard_headroom_bytes']}B" in str(refused.value)


def test_the_closed_form_of_dcqcns_switch():
    """Zhu 2015 s.4 with its switch: 12 MB, 32 ports, beta = 8, here with one lossless priority."""
    inputs = ["buffer=12MB", "alpha=8", "rate=40Gbps", "cable=300", "delay=0s"]
    outputs = theory.evaluate("headroom", inputs)["outputs"]
    assert outputs["round_trip_bytes"] == 15_000
    shared = 12_000_000 - 32 * (outputs["standard_headroom_bytes"] + 1500 + 4096)
    assert outputs["mark_below_bytes"] == pytest.approx(8 * shared / (32 * 9))


def test_other_backends_refuse_it_by_name():
    resolved = resolve({**DOCUMENT, "seed": 1})
    places = {fault.path for fault in refusals.check(resolved)}
    assert {"switch", "priority", "pfc"} <= places
    lossy = copy.deepcopy(DOCUMENT)
    lossy["priority"]["3"] = {}
    del lossy["switch"]
    with pytest.raises(command.Refusal, match=r"no \[priority\]"):
        command.arguments(resolve(lossy), [0])
