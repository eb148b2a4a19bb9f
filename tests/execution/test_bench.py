"""`shallows bench`: yardsticks beside its scenarios, and published counts beside ours."""

import shutil

import pytest
from conftest import shallows
from shallows.errors import RunError, SpecError
from shallows.execution.bench import Yardsticks, beside, measure

needs_rustc = pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not in PATH")


def source(folder, *statements):
    path = folder / "limit.rs"
    body = " ".join(f"{statement};" for statement in statements)
    path.write_text(f'fn main() {{ let a = std::env::args().skip(1).collect::<Vec<_>>().join(" "); {body} }}')
    return path


@needs_rustc
def test_a_yardstick_runs_in_turn_and_the_ratio_is_best_beside_best(tmp_path):
    told = source(tmp_path, f'std::fs::write("{tmp_path}/asked", &a).unwrap()', 'println!("Mhop/cpu-s=2.5")')
    with Yardsticks([told]) as yardsticks:
        (row,) = measure(["dumbbell-8/probes=off"], 2, yardsticks=yardsticks)
        assert yardsticks.measure("fat-tree-128/probes=off") is None
    assert (tmp_path / "asked").read_text() == "dumb 8 1000"
    assert row["yardstick_hops_per_cpu_s"] == 2.5e6
    assert row["ratio"] == row["hops_per_cpu_s"] / 2.5e6


def test_sources_of_other_names_are_refused_all_at_once(tmp_path):
    done = shallows("bench", "--yardstick", "other.rs", "--yardstick", "limit.rs", cwd=tmp_path)
    assert done.returncode == 2
    assert "other.rs" in done.stderr and "limit.rs or window.rs" in done.stderr
    with pytest.raises(SpecError) as raised:
        Yardsticks([tmp_path / "other.rs", tmp_path / "limit.rs"])
    assert len(raised.value.faults) == 2


@needs_rustc
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("nonsense", "rustc refused"),
        ('println!("fast")', "print Mhop"),
        ("std::process::exit(3)", "status 0"),
    ],
)
def test_a_yardstick_that_fails_says_how(tmp_path, statement, said):
    told = source(tmp_path, statement)
    with pytest.raises(RunError, match=said), Yardsticks([told]) as yardsticks:
        yardsticks.measure("dumbbell-8/probes=off")


def test_published_counts_stand_once_for_rows_that_agree():
    row = {"drops": 170, "scenario": "e5-8192-q256/probes=off", "completion_us": {}}
    others = [row | {"scenario": "e5-8192-q256/probes=default"}, row | {"scenario": "dumbbell-8/probes=off"}]
    ((title, counts),) = beside([row, *others])
    assert title.startswith("e5-8192-q256/probes=off, e5-8192-q256/probes=default beside Days")
    assert counts == [["drops", 157, 170]]
    assert len(beside([row, row | {"drops": 171}])) == 2
