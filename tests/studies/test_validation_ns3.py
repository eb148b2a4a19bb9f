"""`./shallows validate` on ns-3: its cells and commands; its absence; one cell, where it is installed."""

import copy
import json

import pytest
from shallows.backends.ns3 import command, program, tables
from shallows.errors import ShallowsError
from shallows.results.store import Store
from shallows.studies.validation import judge, matrix, ns3_cells, runs, show
from shallows.studies.validation.report import write_validation
from test_validation import CELL, numbers

WHOLE = {cell.name: cell for cell in matrix.read().cells}


def arguments(name, starts=(0,)):
    return command.arguments(WHOLE[name].points[0].experiment, starts)


def test_a_cell_as_arguments():
    assert arguments("dctcp-100M-4ms-2-k20", [5, 7]) == {
        "cc": "dctcp", "ecn": 0, "dctcp-g": 0.0625, "rate": 10**8, "sender-rate": 10**9, "delay-ns": 10**6,
        "starts": "5,7", "warmup-ns": 2 * 10**9, "duration-ns": 22 * 10**9, "buffer": 1_400_000,
        "min-rto-ns": 200 * 10**6, "ack-every": 2, "ack-delay-ns": 40 * 10**6, "window": 10, "seed": 1,
        # More than 20 with the packet in service: 20 wait, of which the device holds one.
        "disc": "red", "limit": "198p", "red-min": 19, "red-max": 19, "red-ecn": 1,
    }  # fmt: skip


def test_drop_tail_has_no_thresholds():
    found = arguments("reno-100M-4ms-1-b200")
    assert (found["disc"], found["limit"], found["cc"]) == ("fifo", "198p", "newreno")
    assert not any(key.startswith("red-") for key in found)


def test_tc_red_is_in_bytes_and_less_the_device_packet():
    found = arguments("reno-ecn-red-100M-10ms-10")
    assert (found["limit"], found["red-min"], found["red-max"]) == ("598500B", 43_500, 133_500)
    # tc: 50 + 1 - 45000/1500 = 21 <= (1 - (1 - W)^50) / W, which is 25.5 for 1/32 and 15.4 for 1/16.
    assert found["red-weight"] == 1 / 32
    assert (found["red-probability"], found["red-ecn"], found["ecn"]) == (0.1, 1, 1)
    assert arguments("reno-drop-red-100M-10ms-10")["red-ecn"] == 0


def test_incast_shares_its_total():
    found = arguments("incast-dctcp-10G-100us-20")
    assert (found["rounds"], found["request"], found["response"]) == (40, 100, 50_000)
    assert (found["first-ns"], found["jitter-ns"], found["gap-ns"]) == (10**6, 100_000, 0)


def test_a_budget_decides_what_runs():
    short, long = WHOLE["dctcp-100M-4ms-2-k20"], WHOLE["dctcp-10G-1ms-2-k150"]
    assert ns3_cells.seeds(short) == len(short.points) and ns3_cells.not_run(short) == ""
    assert ns3_cells.seeds(long) == 0 and ns3_cells.not_run(long).startswith(
        "too long for ns-3: 1.8 million packets"
    )
    some = WHOLE["dctcp-10G-500us-10-k100"]
    assert 2 <= ns3_cells.seeds(some) < len(some.points)
    assert (
        ns3_cells.seeds(some) * ns3_cells.cost(some)
        <= ns3_cells.BUDGET_S
        < (ns3_cells.seeds(some) + 1) * ns3_cells.cost(some)
    )
    assert [len(runs.points(cell, "ns3")) for cell in (short, some, long)] == [5, ns3_cells.seeds(some), 0]
    assert runs.total_cost(matrix.read(), ["ns3"]) < 25 * 60 * 2  # two cores


def test_what_ns3_cannot_do_is_said():
    assert "fewer than two packets" in ns3_cells.not_run(WHOLE["dctcp-100M-4ms-2-k2"])
    assert (
        ns3_cells.not_run(WHOLE["reno-10G-100ms-1-b20000"]) == "50 epochs of 52000 round trips are 80 hours"
    )


@pytest.mark.parametrize(
    ("where", "change", "said"),
    [
        (("traffic", "load", "transport"), {"mss": "1460B"}, "mss = 1448B only"),
        (("traffic", "load", "transport"), {"ack_pieces": 4}, "ack_pieces = 1 only"),
        (("traffic", "load", "transport"), {"ack_repeats": 4}, "ack_repeats = 0 only"),
        (("traffic", "load", "transport"), {"growth_cap": "max-flight"}, "growth_cap = none only"),
        (("traffic", "load", "transport"), {"saved_cwnd": "9pkt"}, "saved_cwnd = none only"),
        (("traffic", "load", "transport"), {"cc": {"kind": "prague"}}, "no prague"),
        (("queue",), {"kind": "codel"}, "no codel"),
        (("queue",), {"mark_at": "30KB"}, "limits in packets only, not 30KB"),
        (("queue",), {"measure": "after"}, "measure = before only"),
    ],
)
def test_other_settings_are_refused_by_name(where, change, said):
    other = copy.deepcopy(WHOLE["dctcp-100M-4ms-2-k20"].points[0].experiment)
    table = other
    for key in where:
        table = table[key]
    table |= change
    with pytest.raises(command.Refusal, match=said):
        command.arguments(other, [0, 0])


def test_without_ns3_the_rest_runs_and_it_is_said_once(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(program, "installed", lambda: None)
    program.program.cache_clear()
    backends, notes = runs.choose([])
    assert backends == ["simulator", "linux"]
    assert notes == ("ns-3: not installed (apt install libns3-dev g++ pkg-config)",)
    with pytest.raises(ShallowsError, match="apt install libns3-dev"):
        runs.choose(["ns3"])
    assert runs.choose(["linux"]) == (["simulator", "linux"], ())
    (tmp_path / "m.toml").write_text(CELL)
    found = runs.Validation(matrix.read(tmp_path / "m.toml"), backends, [], {}, notes)
    show.show(found, "page")
    assert capsys.readouterr().out.count(notes[0]) == 1
    assert write_validation(found, tmp_path / "out", "").read_text().count(notes[0]) == 1


@pytest.mark.parametrize(("wanted", "said"), [(["nS3"], "must be one of"), (["linuks"], "linux")])
def test_no_other_backend(wanted, said):
    with pytest.raises(ShallowsError, match=said):
        runs.choose(wanted)


def test_ns3_decides_neither_the_table_nor_linux_explanations(tmp_path):
    (tmp_path / "m.toml").write_text(
        CELL + '[[explained]]\ncells = "t*"\nwhat = "queue_mean"\nwhy = "y"\npeer = "ns3"\n'
    )
    two = (whole := matrix.read(tmp_path / "m.toml")).cells[0]
    same = dict.fromkeys(show.SHOWN) | numbers(queue_mean=20.0, marks=1000.0, throughput_bps=1e8)
    of = {"simulator": [same], "linux": [same], "ns3": [same | {"queue_mean": 50.0, "least_share": 0.1}]}
    found = runs.Validation(whole, list(of), [runs.Result(two, of)], {})
    assert found.results[0].group[0] == "main" and found.counts("linux")["agree"] == 1
    assert found.counts("ns3")["explained"] == 1 and found.exit_status == 0
    assert whole.why("two", "marks", "ns3") == "" and whole.why("two", "queue_mean", "linux") == ""
    absent = runs.Result(two, {"simulator": [same], "linux": [same]}, absent={"ns3": "too long"})
    found = runs.Validation(whole, list(of), [absent], {})
    assert found.counts("ns3")["not-run"] == 1 and show.rows(found, "ns3")[0][-1] == "too long"
    page = write_validation(found, tmp_path / "out", "").read_text()
    assert "too long" in page and "Linux" in page


def test_the_answer_as_tables():
    port = {"waiting_ps": [10, 0, 30, 60], "packets_out": 8, "bytes_out": 12_000, "marks": 3}
    flow = {"start_ps": 0, "delivered_bytes": 125, "alpha": None}
    answer = {
        "port": port | {"drops_full": 1, "drops_aqm": 2}, "flows": [flow], "rounds": [[5, 9], [10, 0]],
    }  # fmt: skip
    point = WHOLE["incast-reno-1G-100us-20"].points[0]
    about = {"rate": 10**9, "warmup-ns": 10**6, "duration-ns": 2 * 10**6, "cc": "newreno"}
    rows = tables._rows(answer, about, point.experiment)
    (queue,) = rows["queues"]
    assert queue["mean_packets"] == 2.4 and queue["max_packets"] == 3
    assert [queue[f"p{q}_packets"] for q in (5, 50, 95, 99)] == [0, 3, 3, 3]
    assert queue["utilisation"] == pytest.approx(12_000 * 8 / 1e-3 / 1e9)
    assert rows["flows"][0]["goodput_bps"] == pytest.approx(125 * 8 / 1e-3)
    assert [row.get("fct_ps") for row in rows["rounds"]] == [4, None]


@pytest.mark.skipif(program.installed() is None, reason=program.INSTALL)
def test_a_cell_on_ns3_agrees_and_is_not_made_twice(tmp_path):
    (tmp_path / "m.toml").write_text(CELL.replace("600ms", "1200ms"))
    chosen = matrix.read(tmp_path / "m.toml").chosen("two")
    store = Store(tmp_path / "runs")
    found = runs.validate(chosen, store, ["simulator", "ns3"], 2)
    assert not found.results[0].failed
    by = {c.what: c for c in found.results[0].compared("ns3")}
    assert by["queue_mean"].agrees and by["throughput_bps"].agrees, by
    assert by["queue_mean"].theirs.value > 10 and by["marks"].theirs.value > 100, by
    kept = json.loads((write_validation(found, tmp_path / "out", "").parent / "validation.json").read_text())
    assert kept["cells"][0]["numbers"]["ns3"]["alpha"]["mean"] == pytest.approx(0.2, abs=0.15)
    before = {
        run.hash: run.manifest["finished_at"] for run in store.runs() if run.manifest["backend"] == "ns3"
    }
    again = runs.validate(chosen, store, ["simulator", "ns3"], 2)
    assert len(before) == 2 and again.results[0].runs == found.results[0].runs
    assert {r.hash for r in store.runs() if r.manifest["backend"] == "ns3"} == set(before)
    assert judge.compare(chosen.cells[0], found.results[0].runs["simulator"], found.results[0].runs["ns3"])
