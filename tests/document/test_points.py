import pytest
from conftest import SMALL
from hypothesis import given
from hypothesis import strategies as st
from shallows.document.points import MAX_RUNS, expand, one_run
from shallows.errors import SpecError


def faults_of(document):
    with pytest.raises(SpecError) as caught:
        expand(document)
    return [str(fault) for fault in caught.value.faults]


def test_a_file_without_sweep_and_seeds_is_one_run_with_seed_1(small):
    point = one_run(small)
    assert (point.params, point.seed, point.experiment["seed"]) == ({}, 1, 1)


def test_grid_zip_points_and_seeds_multiply_in_order(small):
    small["seeds"] = [7, 9]
    small["sweep"] = {
        "grid": {"queue.mark_at": ["10pkt", "20pkt"]},
        "zip": {"topology.senders": [1, 2], "topology.rate": ["1Gbps", "2Gbps"]},
        "points": [{"transport.cc.g": 0.1}],
    }
    points = expand(small)
    assert [(p.params["queue.mark_at"], p.params["topology.senders"], p.seed) for p in points] == [
        (k, n, seed) for k in ("10pkt", "20pkt") for n in (1, 2) for seed in (7, 9)
    ]
    assert points[-1].experiment["topology"]["rate"] == "2Gbps"
    assert points[-1].experiment["traffic"]["long"]["transport"]["cc"]["g"] == 0.1


def test_the_document_is_left_as_it_was(small):
    small["sweep"] = {"grid": {"transport.cc.g": [0.1]}}
    expand(small)
    assert small["transport"] == {"cc": "dctcp"}
    assert "sweep" in small


@pytest.mark.parametrize(
    ("sweep", "fault"),
    [
        ({}, "sweep: is empty"),
        (3, "sweep: must be a table"),
        ({"gird": {"a": [1]}}, "sweep.gird: unknown key"),
        (
            {"queue.k": ["1"]},
            'sweep."queue.k": unknown key; known: grid, zip, points, label, got ["1"] (a setting to vary '
            'goes into [sweep.grid]: "queue.k" = [...])',
        ),
        ({"grid": {}}, "sweep.grid: is empty"),
        ({"grid": {"queue.mark_at": []}}, 'sweep.grid."queue.mark_at": is empty'),
        ({"grid": {"queue.mark_at": "1pkt"}}, 'sweep.grid."queue.mark_at": must be a list'),
        (
            {"zip": {"queue.mark_at": ["1pkt"], "duration": ["1ms", "2ms"]}},
            "sweep.zip: must hold lists of the same",
        ),
        ({"points": []}, "sweep.points: is empty"),
        ({"points": [{}]}, "sweep.points[0]: must be a table"),
        (
            {"grid": {"duration": ["1ms"]}, "zip": {"duration": ["1ms"]}},
            "sweep.duration: is varied in two places",
        ),
        ({"grid": {"seeds": [1]}}, "sweep.seeds: cannot be varied"),
        ({"grid": {f"a{k}": list(range(10)) for k in range(9)}}, f"sweep: describes {10**9} runs"),
    ],
)
def test_sweeps_that_mean_nothing_are_refused(small, sweep, fault):
    found = faults_of(small | {"sweep": sweep})
    assert any(line.startswith(fault) for line in found), found


@pytest.mark.parametrize("seeds", [0, -1, MAX_RUNS + 1, [], [1, 1], [-1], [1.5], "3", True, [True], [2**63]])
def test_seeds_that_mean_nothing_are_refused(small, seeds):
    assert faults_of(small | {"seeds": seeds})[0].startswith("seeds: ")


def test_faults_of_all_points_come_once_each(small):
    small["sweep"] = {"grid": {"queue.mark_at": ["10pkt", 20, "30"], "transport.cc.g": [0.1, 0.2]}}
    small["tpoology"] = {}
    found = faults_of(small)
    assert sum("tpoology" in line for line in found) == 1
    assert sum(line.startswith("queue.mark_at") for line in found) == 2


sizes = st.integers(1, 4)


@given(sizes, sizes, sizes, st.integers(1, 3))
def test_as_many_runs_as_the_product_all_different(a, b, c, seeds):
    sweep = {
        "grid": {
            "queue.mark_at": [f"{k + 1}pkt" for k in range(a)],
            "transport.cc.g": [0.1 * (k + 1) for k in range(b)],
        },
        "zip": {"topology.senders": list(range(1, c + 1))},
    }
    points = expand({**SMALL, "seeds": seeds, "sweep": sweep})
    assert len(points) == a * b * c * seeds
    assert len({str(point.experiment) for point in points}) == len(points)


def test_the_order_of_patterns_is_part_of_the_key(small):
    """Two patterns set the rate of one port, and the last decides: these are two experiments."""
    every, one = {"*->*": {"rate": "2Gbps"}}, {"s0->switch": {"rate": "3Gbps"}}
    keys = [one_run(small | {"port": patterns}).key for patterns in (every | one, one | every)]
    assert keys[0] != keys[1]
