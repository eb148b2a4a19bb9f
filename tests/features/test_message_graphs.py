"""Loads whose messages depend on one another: their files, their metrics, their closed form."""

import json

import pytest
import shallows
from shallows import theory
from shallows.backends.linux import refusals
from shallows.backends.ns3 import command
from shallows.document.check import check
from shallows.document.load import load
from shallows.document.points import expand
from shallows.tables import laws, metric_names
from shallows.tables.metrics import with_sizes

STAR = {
    "duration": "50ms",
    "topology": {"kind": "star", "senders": 4, "rate": "10Gbps", "delay": "25us"},
    "queue": {"kind": "drop-tail"},
    "transport": {"cc": "newreno", "initial_window": "1000pkt", "opening": "established"},
}
RING = STAR | {"traffic": {"sum": {"kind": "collective", "hosts": "s*", "bytes": "400KB", "rounds": 2}}}
STEP = """# a training step
id,from,to,bytes,after,delay_us
grad0,s0,s2,10000,,5
grad1,s1,s2,10KB,,7.5

sum0,s2,s0,10KB,grad0 grad1,2
"""
ROWS = [
    {"id": "grad0", "from": "s0", "to": "s2", "bytes": "10000B", "after": [], "delay": "5us"},
    {"id": "grad1", "from": "s1", "to": "s2", "bytes": "10KB", "after": [], "delay": "7.5us"},
    {"id": "sum0", "from": "s2", "to": "s0", "bytes": "10KB", "after": ["grad0", "grad1"], "delay": "2us"},
]


def graph(**settings):
    return STAR | {"traffic": {"step": {"kind": "graph"} | settings}}


def test_the_tables_of_a_ring_keep_their_laws_and_its_metrics_are_declared(tmp_path):
    run = shallows.run(RING, store=tmp_path)
    assert laws.broken(run.tables, run.experiment, run.manifest["counts"]) == []
    assert len(run.tables["steps"]) == 12 and run.tables["messages"]["step"].max() == 5
    found = {name for name in with_sizes(run.tables) if name.startswith("sum.")}
    declared = set(metric_names.names(run.experiment))
    assert found <= declared
    assert {f"sum.{metric.name}" for metric in (*metric_names.OF_STEPS, *metric_names.OF_ROUNDS)} <= found
    assert run.manifest["cells"]["why_one"].startswith("traffic.sum answers deliveries")


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling"])
def test_the_closed_form_is_the_ideal_of_a_round(tmp_path, algorithm):
    document = json.loads(json.dumps(RING))
    document["traffic"]["sum"] |= {"algorithm": algorithm, "rounds": 1}
    run = shallows.run(document, store=tmp_path)
    out = theory.evaluate("all-reduce", ["ranks=4", "size=400KB", "rate=10Gbps", "delay=50us"])["outputs"]
    stem = algorithm.replace("-", "_")
    assert run.tables["rounds"]["ideal_ps"].to_list() == [out[f"{stem}_fct_ps"]]
    assert len(run.tables["steps"]) == out[f"{stem}_steps"]
    assert run.tables["rounds"]["bytes"][0] == 4 * out["bytes_of_a_rank"]


def test_halving_and_doubling_has_no_value_for_other_ranks():
    out = theory.evaluate("all-reduce", ["ranks=6"])["outputs"]
    assert out["halving_doubling_fct_ps"] is None and out["ring_steps"] == 10


def test_a_graph_from_a_file_is_the_graph_in_the_experiment(tmp_path):
    (tmp_path / "step.csv").write_text(STEP)
    (tmp_path / "step.json").write_text(json.dumps(ROWS))
    made = [graph(name=str(tmp_path / name)) for name in ("step.csv", "step.json")] + [graph(messages=ROWS)]
    points = [expand(load(document))[0] for document in made]
    graphs = [point.experiment["traffic"]["step"]["messages"] for point in points]
    assert graphs[0] == graphs[1] == graphs[2] and len(graphs[0]) == 3
    (tmp_path / "step.csv").write_text(STEP.replace("7.5", "8"))
    assert expand(load(made[0]))[0].key != points[0].key


def test_faults_of_a_file_name_its_lines(tmp_path):
    bad = STEP.replace("sum0,s2", "grad0,s9").replace("grad0 grad1", "grad2")
    (tmp_path / "step.csv").write_text(bad)
    _, faults = check(graph(name=str(tmp_path / "step.csv")))
    told = {fault.path.removeprefix("traffic.step.messages."): fault for fault in faults}
    assert set(told) == {"2.id", "2.from", "2.after.0"}
    assert all("(line 6 of step.csv)" in fault.rule for fault in faults)
    assert "did you mean" in told["2.after.0"].hint and "did you mean" in told["2.from"].hint
    (tmp_path / "step.json").write_text(json.dumps([row | {"after": ["grad1"]} for row in ROWS]))
    _, faults = check(graph(name=str(tmp_path / "step.json")))
    assert any("grad1 -> grad1 (entry 2 of step.json)" in fault.rule for fault in faults)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "id,from,to\n", "must have the columns id, from, to, bytes"),
        ("a.csv", "id,from,to,bytes,start,start_us\na,s0,s1,1,1s,1\n", "one column for start"),
        ("a.json", "{}", "must hold a list"),
        ("a.json", "[", "is damaged JSON"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("b.csv", None, "No such file"),
    ],
)
def test_a_file_that_holds_no_graph_is_a_fault(tmp_path, name, text, says):
    if text is not None:
        (tmp_path / name).write_text(text)
    _, (fault,) = check(graph(name=str(tmp_path / name)))
    assert fault.path == "traffic.step.name" and says in fault.rule


@pytest.mark.parametrize("kind", ["collective", "graph"])
def test_other_backends_refuse_it_by_name(kind):
    document = RING if kind == "collective" else graph(messages=ROWS)
    experiment, faults = check(document)
    assert not faults
    [fault] = [fault for fault in refusals.check(experiment) if fault.path.endswith(".kind")]
    assert fault.path.startswith("traffic.") and kind in fault.value
    with pytest.raises(command.Refusal, match=f"has no {kind}"):
        command.arguments(experiment, [0])


def test_the_typed_classes_have_the_loads():
    import shallows.experiment as x

    load = x.CollectiveLoad(hosts="s*", bytes="1MB", algorithm="halving-doubling")
    assert load.kind == "collective" and load.operation == "all-reduce"


def test_a_message_may_wait_for_one_that_its_own_host_sends(tmp_path):
    """It leaves a time of computation after the other was handed over, not after it arrived."""
    rows = [
        {"id": "first", "from": "s0", "to": "r0", "bytes": "1MB", "start": "1ms"},
        {"id": "second", "from": "s0", "to": "s1", "bytes": "1KB", "after": ["first"], "delay": "3us"},
        {"id": "third", "from": "s0", "to": "s2", "bytes": "1KB", "after": ["second"]},
        {"id": "back", "from": "s1", "to": "s0", "bytes": "1KB", "after": ["second"]},
        {"id": "both", "from": "s0", "to": "s3", "bytes": "1KB", "after": ["third", "back"], "delay": "1us"},
    ]
    run = shallows.run(graph(messages=rows), store=tmp_path)
    names = {row["id"]: i for i, row in enumerate(rows)}
    messages = run.tables["messages"].sort("step")
    start, end = messages["start_ps"].to_list(), (messages["start_ps"] + messages["fct_ps"]).to_list()
    assert start[names["second"]] == start[names["third"]] == 1_003_000_000
    assert start[names["back"]] == end[names["second"]] < end[names["first"]]
    assert start[names["both"]] == end[names["back"]] + 1_000_000
    assert laws.broken(run.tables, run.experiment, run.manifest["counts"]) == []


def test_a_message_of_others_is_still_refused_as_a_cause():
    rows = [
        {"id": "a", "from": "s0", "to": "r0", "bytes": "1KB"},
        {"id": "b", "from": "s1", "to": "s2", "bytes": "1KB", "after": ["a"]},
        {"id": "c", "from": "s3", "to": "s2", "bytes": "1KB", "after": ["c"]},
    ]
    _, faults = check(graph(messages=rows))
    assert [fault.path for fault in faults] == [
        "traffic.step.messages.1.after.0",
        "traffic.step.messages.2.after",
    ]
    assert "must be a message to or from s1" in faults[0].rule and "wait for itself" in faults[1].rule
