"""`./shallows validate`: the matrix, the rules of agreement, the page; and one cell on Linux, where a
kernel has been built."""

import json

import pytest
import shallows
from shallows.backends.linux import kernel
from shallows.errors import SpecError
from shallows.results.store import Store
from shallows.studies.validation import judge, matrix, measure, ns3_cells, runs, show
from shallows.studies.validation.report import write_validation

CELL = """
seeds = 2
[[cell]]
name = "two"
cc = "dctcp"
flows = 2
rate = "100Mbps"
rtt = "4ms"
queue = { kind = "threshold", mark_at = "20pkt", limit = "200pkt" }
warmup = "200ms"
duration = "600ms"
jitter = "10ms"
[[cell]]
name = "long"
cc = "newreno"
flows = 1
rate = "10Gbps"
rtt = "100ms"
queue = { kind = "drop-tail", limit = "20000pkt" }
not_run = "it would take days"
[[explained]]
cells = "two"
what = "marks"
why = "because"
"""


@pytest.fixture
def cells(tmp_path):
    path = tmp_path / "matrix.toml"
    path.write_text(CELL)
    return matrix.read(path)


def numbers(**changes):
    same = dict.fromkeys(("throughput_bps", "queue_mean", "marks", "drops", "fct_mean_ps"), 0.0)
    return same | {"packets": 10_000.0, "least_share": 1.0, "first_share": None} | changes


def compared(cell, what, ours, theirs):
    found = judge.compare(cell, [numbers(**{what: x}) for x in ours], [numbers(**{what: x}) for x in theirs])
    return next(c for c in found if c.what == what)


def test_the_matrix_that_comes_along():
    whole = matrix.read()
    assert 0 < len(whole.cells) <= matrix.MOST_CELLS
    run = [cell for cell in whole.cells if not cell.not_run]
    assert {cell.cc for cell in run} == {"newreno", "cubic", "dctcp", "bbr1"}
    assert min(cell.rate_bps for cell in run) == 10**6 and max(cell.rate_bps for cell in run) == 10**11
    assert min(cell.rtt_ps for cell in run) == 36 * 10**6 and max(cell.rtt_ps for cell in run) == 36 * 10**10
    assert min(cell.flows for cell in run) == 1 and max(cell.flows for cell in run) == 100
    assert any(cell.incast for cell in run)
    fabrics = {cell.cc for cell in run if len(cell.ports) > 1}
    assert fabrics == {"cubic", "dctcp"}  # the simulator has no other control of several paths on Linux
    hours = runs.total_cost(whole, runs.BACKENDS) / 3600
    assert hours < 2 * 2  # two cores for two hours


def test_a_fabric_has_its_uplinks_as_bottlenecks(tmp_path):
    text = CELL.replace("flows = 2\n", "flows = 4\nspines = 3\n", 1)
    path = tmp_path / "m.toml"
    path.write_text(text)
    cell = matrix.read(path).cells[0]
    assert cell.ports == ("leaf0->spine0", "leaf0->spine1", "leaf0->spine2")
    experiment = cell.points[0].experiment
    assert experiment["topology"]["hosts_per_leaf"] == 2
    assert (
        experiment["traffic"]["load"]["from"] == "h0..h1" and experiment["traffic"]["load"]["to"] == "h2..h3"
    )
    run = shallows.run(experiment, store=tmp_path / "runs")
    found = measure.numbers(run.tables, "simulator", cell.ports)
    uplinks = run.tables["queues"].filter(run.tables["queues"]["port"].is_in(cell.ports))
    assert found["packets"] == uplinks["packets_out"].sum() > 0
    assert found["queue_mean"] == pytest.approx((uplinks["mean_packets"] - uplinks["utilisation"]).mean())
    assert found["goodput_bps"] == run.tables["flows"]["goodput_bps"].sum()
    assert "a star only, not a leaf-spine" in ns3_cells.not_run(cell)
    path.write_text(text.replace("flows = 4", "flows = 5"))
    with pytest.raises(SpecError, match="must be a square"):
        matrix.read(path)


def test_faults_of_a_matrix_come_all_at_once(tmp_path):
    wrong = CELL.replace('cc = "dctcp"', 'cc = "dctpc"').replace("flows = 1\n", "flwos = 1\n")
    (tmp_path / "m.toml").write_text(wrong + '\n[[cell]]\nname = "two"\n')
    with pytest.raises(SpecError) as caught:
        matrix.read(tmp_path / "m.toml")
    text = str(caught.value)
    for part in ("dctpc", 'did you mean "flows"', "cell[2].cc: is required"):
        assert part in text, text


def test_a_pattern_chooses_cells(cells):
    assert [cell.name for cell in cells.chosen("t*").cells] == ["two"]
    with pytest.raises(SpecError, match="matches no cell"):
        cells.chosen("three")


@pytest.mark.parametrize(
    ("what", "ours", "theirs", "agrees"),
    [
        ("queue_mean", [105.0] * 5, [100.0] * 5, True),  # 5 %
        ("queue_mean", [105.1] * 5, [100.0] * 5, False),
        ("queue_mean", [2.9] * 5, [2.0] * 5, True),  # a packet
        ("queue_mean", [90.0, 110, 130], [85.0, 95, 105], True),  # two standard errors: 2 x hypot(11.5, 5.8)
        ("throughput_bps", [0.99e9], [1e9], True),
        ("throughput_bps", [0.989e9], [1e9], False),
        ("marks", [1099.0], [1000.0], True),
        ("marks", [1101.0], [1000.0], False),
        ("marks", [149.0], [100.0], True),  # 0.5 % of 10 000 packets
        ("marks", [151.0], [100.0], False),
    ],
)
def test_agreement(cells, what, ours, theirs, agrees):
    assert compared(cells.cells[0], what, ours, theirs).agrees is agrees


def test_cells_that_stand_apart(cells):
    two = cells.cells[0]  # the path holds 33 packets
    many = numbers(queue_mean=20.0, marks=1000.0)

    def table(run, cell=two):
        return judge.group(cell, {"simulator": [many], "linux": [run]})[0]

    assert table(many) == "main"
    assert table(many | {"marks": 49.0}) == "few"
    assert table(many | {"least_share": 0.4}) == "locked"
    crowd = matrix.Cell("x", "dctcp", 30, two.rate_bps, two.rtt_ps, "", two.points)
    assert table(many, crowd) == "floor"


def test_a_validation_of_the_simulator_alone_and_its_page(cells, tmp_path):
    told = []
    found = runs.validate(
        cells, Store(tmp_path / "runs"), ["simulator"], 1, lambda done, failed: told.append((done, failed))
    )
    assert told[-1][1] == 0 and told[-1][0] == pytest.approx(2 * runs.cost(cells.cells[0], "simulator"))
    assert [result.group[0] for result in found.results] == ["main", "not-run"]
    page = write_validation(found, tmp_path / "out", "./shallows validate")
    text = page.read_text()
    assert "it would take days" in text and "two" in text
    kept = json.loads((page.parent / "validation.json").read_text())
    assert [cell["name"] for cell in kept["cells"]] == ["two", "long"]
    assert kept["cells"][0]["numbers"]["simulator"]["queue_mean"]["seeds"] == 2
    assert found.exit_status == 0


def test_a_large_difference_is_explained_or_a_fault(cells):
    two = cells.cells[0]
    runs_of = {
        "simulator": [numbers(queue_mean=20.0, marks=1000.0, throughput_bps=1e8)],
        "linux": [numbers(queue_mean=20.0, marks=2000.0, throughput_bps=1e8)],
    }
    explained = runs.Validation(cells, ["simulator", "linux"], [runs.Result(two, runs_of)], {})
    assert explained.counts("linux")["explained"] == 1 and explained.exit_status == 0
    assert show.rows(explained, "linux")[-1][-1] == "because"
    runs_of["linux"][0]["queue_mean"] = 40.0
    fault = runs.Validation(cells, ["simulator", "linux"], [runs.Result(two, runs_of)], {})
    assert fault.counts("linux")["faults"] == 1 and fault.exit_status == 1


@pytest.mark.skipif(kernel.find() is None, reason="run ./shallows linux build")
def test_a_cell_on_linux_agrees(cells, tmp_path):
    found = runs.validate(cells.chosen("two"), Store(tmp_path / "runs"), ["simulator", "linux"], 2)
    assert not found.results[0].failed
    by = {c.what: c for c in found.results[0].compared("linux")}
    assert by["queue_mean"].agrees and by["throughput_bps"].agrees and by["marks"].agrees, by
    assert write_validation(found, tmp_path / "out", "").exists()
