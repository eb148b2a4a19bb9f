"""Links that change, from the experiment file to tables, laws and the other backends."""

import pytest
import shallows
from shallows import sweep
from shallows.backends.linux import refusals
from shallows.backends.ns3 import command
from shallows.document.check import resolve
from shallows.tables import laws
from shallows.tables.metrics import metrics

DOCUMENT = {
    "duration": "2ms",
    "ecmp": "flowlet",
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "delay": "2us"},
    "queue": {"kind": "drop-tail", "limit": "50pkt"},
    "transport": {"cc": "newreno", "min_rto": "200us"},
    "traffic": {"long": {"kind": "bulk", "from": "h0..h1", "to": "h2..h3", "pattern": "pairs"}},
    "event": {
        "cut": {"at": "500us", "link": "leaf0<->spine*", "state": "down"},
        "mend": {"at": "1ms", "link": "leaf0<->spine*", "state": "up", "rate": "2Gbps", "loss": 0.01},
    },
    "routing": {"reconvergence": "50us", "flowlet_gap": "20us"},
}


def test_a_run_books_its_losses_and_keeps_all_laws(tmp_path):
    run = shallows.run(DOCUMENT, store=tmp_path)
    queues = run.tables["queues"]
    lost = {column: queues[column].sum() for column in ("drops_dead", "drops_cut", "drops_wire")}
    assert lost["drops_dead"] > 0 and lost["drops_cut"] > 0
    assert metrics(run.tables)["drops"] == sum(
        queues[column].sum() for column in queues.columns if column.startswith("drops_")
    )
    assert laws.broken(run.tables, run.experiment, run.manifest["counts"]) == []


def test_the_time_of_a_failure_can_be_swept(tmp_path):
    document = DOCUMENT | {"sweep": {"grid": {"event.cut.at": ["200us", "800us"]}}}
    found = sweep(document, store=tmp_path)
    assert [one.point.experiment["event"]["cut"]["at"] for one in found] == ["200us", "800us"]


def test_other_backends_refuse_it_by_name():
    resolved = resolve({**DOCUMENT, "seed": 1})
    faults = {fault.path: fault.rule for fault in refusals.check(resolved)}
    assert "event" not in faults and "ecmp" in faults
    assert "tables that change" in faults["routing.reconvergence"]
    with pytest.raises(command.Refusal, match=r"no \[event\]"):
        command.arguments(resolved, [0])
