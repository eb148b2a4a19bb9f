"""How runs are made: one identity a point, one protocol of backends, one set of options everywhere."""

import ast
import inspect
from collections import Counter

import polars as pl
import pytest
import shallows
from conftest import ROOT, SMALL
from shallows.backends.base import Made
from shallows.backends.simulator import Simulator
from shallows.cli import runs, studies
from shallows.document.points import expand, key_of
from shallows.errors import SpecError
from shallows.execution import jobs
from shallows.execution.backends import NAMES, backend
from shallows.execution.runner import Runner

FIVE = ("run", "sweep", "compare", "tune", "reproduce")
OPTIONS = ("store", "workers", "threads", "allow_memory", "executor", "backend", "progress")
SWEPT = SMALL | {"seeds": 2, "sweep": {"grid": {"transport.cc.g": [0.05, 0.1]}}}


# ---- identity ----


def test_another_title_finds_the_stored_run(tmp_path, monkeypatch):
    first = shallows.run(SMALL, store=tmp_path)
    monkeypatch.setattr(Simulator, "run", lambda *_: pytest.fail("it was run again"))
    again = shallows.run(SMALL | {"title": "reworded"}, store=tmp_path)
    assert again.hash == first.hash
    assert again.manifest["finished_at"] == first.manifest["finished_at"]


def test_whatever_else_is_changed_is_another_run():
    keys = {point.key for point in expand(SWEPT)}
    assert len(keys) == 4
    (small,) = expand(SMALL)
    for other in ({"duration": "3ms"}, {"queue": "drop-tail"}, {"seed": 2}):
        assert expand(SMALL | other)[0].key != small.key
    assert key_of(small.experiment) == small.key


def test_points_that_differ_in_their_titles_alone_are_run_once(tmp_path):
    titles = SMALL | {"sweep": {"grid": {"title": ["one", "two"]}}}
    outcomes = shallows.sweep(titles, store=tmp_path)
    assert [outcome.point.params for outcome in outcomes] == [{"title": "one"}, {"title": "two"}]
    assert len({outcome.hash for outcome in outcomes}) == 1 == len(list(tmp_path.iterdir()))


@pytest.fixture
def identified(monkeypatch):
    """How often each point was identified."""
    count, original = Counter(), jobs.identify

    def identify(point, backend):
        count[point.key] += 1
        return original(point, backend)

    monkeypatch.setattr("shallows.execution.runner.identify", identify)
    return count


def test_a_point_is_identified_once(tmp_path, identified):
    shallows.sweep(SWEPT, store=tmp_path)
    assert list(identified.values()) == [1] * 4
    shallows.run(SMALL, store=tmp_path)
    assert list(identified.values()) == [1] * 5
    identified.clear()
    shallows.compare(SMALL | {"seeds": 2}, vary={"queue": ["threshold", "codel"]}, store=tmp_path)
    assert list(identified.values()) == [1] * 4


def test_metrics_are_of_the_tables_in_memory(tmp_path, monkeypatch):
    def read(*_, **__):
        pytest.fail("a table was read back")

    monkeypatch.setattr(pl, "read_parquet", read)
    outcomes = shallows.sweep(SWEPT, store=tmp_path)
    assert all(outcome.metrics["goodput_bps_total"] > 0 for outcome in outcomes)
    run = shallows.run(SMALL | {"seed": 9}, store=tmp_path)
    assert run.metrics["goodput_bps_total"] > 0
    assert not outcomes[0].run.in_memory  # a long sweep could not keep them


# ---- backends ----


class Quiet:
    """A user's backend."""

    name = "quiet"

    def check(self, experiment):
        if experiment["traffic"]["long"]["transport"]["cc"]["kind"] != "dctcp":
            raise SpecError([("transport.cc", "must be dctcp")])

    def fingerprint(self):
        return "q1"

    def run(self, experiment, running):
        made = Simulator().run(experiment, running)
        return Made(made.tables, {"said": "hush"})


def test_a_backend_is_what_keeps_the_protocol(tmp_path):
    run = shallows.run(SMALL, store=tmp_path, backend=Quiet())
    assert run.manifest["backend"] == "quiet"
    assert run.manifest["source_hash"] == "q1"
    assert run.manifest["said"] == "hush"
    assert run.hash != shallows.run(SMALL, store=tmp_path).hash
    with pytest.raises(SpecError, match="must be dctcp"):
        shallows.run(SMALL, settings=["transport.cc=cubic"], store=tmp_path, backend=Quiet())


def test_every_backend_is_found_by_its_name():
    for name in NAMES:
        assert backend(name).name == name
    with pytest.raises(SpecError, match='did you mean "linux"'):
        backend("linus")


def test_no_backend_is_asked_its_name_but_among_backends():
    for path in (ROOT / "python/shallows").rglob("*.py"):
        if "backends" in path.relative_to(ROOT / "python/shallows").parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare):
                compared = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
                assert "linux" not in compared, f"{path}:{node.lineno}"


# ---- options ----


def test_the_five_take_the_same_options():
    for name in FIVE:
        shared = inspect.signature(getattr(shallows, name)).parameters["options"]
        assert (shared.kind, shared.annotation) == (inspect.Parameter.VAR_KEYWORD, "Unpack[Options]"), name


def test_the_five_commands_take_the_same_options():
    functions = [runs.run, runs.sweep, studies.compare, studies.tune, studies.reproduce]
    on_the_line = {"executor": ("cluster", "slurm", "timeout")}
    for option in OPTIONS:
        for name in on_the_line.get(option, (option,)):
            found = [inspect.signature(function).parameters[name] for function in functions]
            assert found == [found[0]] * 5, name


def test_the_options_are_declared_once_each_for_python_and_for_the_command_line():
    from dataclasses import fields

    from shallows.api import Options
    from shallows.cli.options import How

    in_python = {*Options.__annotations__}
    on_the_line = {field.name for field in fields(How)}
    assert in_python == {*inspect.signature(Runner.of).parameters} - {"limit_s"} | {"progress"}
    # In Python a kernel is the setting `linux.kernel`.
    assert on_the_line == in_python - {"executor"} | {"cluster", "slurm", "timeout", "kernel"}


def test_an_option_that_there_is_not_is_refused_by_name():
    with pytest.raises(TypeError, match="wrokers"):
        shallows.run(SMALL, wrokers=2)


def test_options_that_mean_nothing_are_refused_all_at_once():
    with pytest.raises(SpecError) as caught:
        Runner.of(workers=0, threads=0)
    assert [fault.path for fault in caught.value.faults] == ["--workers", "--threads"]
    with pytest.raises(SpecError, match="does not apply to the backend linux"):
        Runner.of(backend="linux", threads=2)


def test_threads_of_a_simulation_leave_fewer_runs_at_a_time(monkeypatch):
    monkeypatch.setattr("shallows.execution.runner.default_workers", lambda: 8)
    assert Runner.of(threads=2).workers == 4
    assert Runner.of(threads=16).workers == 1
    assert Runner.of(threads=2).backend == Simulator(threads=2)
    assert Runner.of(threads=2, workers=3).workers == 3


# ---- labels ----


def labels(sweep):
    return list(dict.fromkeys(point.label for point in expand(SMALL | {"seeds": 2, "sweep": sweep})))


def test_every_point_has_a_label():
    assert labels({"grid": {"queue.mark_at": ["10pkt", "20pkt"]}}) == ["mark_at 10pkt", "mark_at 20pkt"]
    points = [{"label": "low", "queue.mark_at": "10pkt"}, {"queue.mark_at": "20pkt", "transport.cc.g": 0.1}]
    assert labels({"points": points}) == ["low", "mark_at 20pkt, g 0.1"]
    zipped = {"label": ["a", "b"], "queue.mark_at": ["10pkt", "20pkt"]}
    assert labels({"zip": zipped, "grid": {"transport.cc.g": [0.1]}}) == ["g 0.1, a", "g 0.1, b"]
    queues = [{"label": "CoDel", "value": {"kind": "codel"}}, "drop-tail"]
    assert labels({"grid": {"queue": queues}}) == ["CoDel", "queue drop-tail"]
    assert expand(SMALL)[0].label == ""


def test_a_pattern_makes_labels():
    grid = {"queue.mark_at": ["10pkt"], "transport.cc.g": [0.1]}
    assert labels({"grid": grid, "label": "K = {mark_at} (g {transport.cc.g})"}) == ["K = 10pkt (g 0.1)"]
    points = [{"label": "low", "queue.mark_at": "10pkt"}]
    assert labels({"points": points, "label": "{label}: {mark_at}"}) == ["low: 10pkt"]


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ({"grid": {"queue.mark_at": ["10pkt"]}, "label": "{mark}"}, "did you mean"),
        ({"grid": {"queue.mark_at": ["10pkt"]}, "label": 3}, "must be a text"),
        ({"grid": {"queue.mark_at": ["10pkt", "20pkt"]}, "label": "same"}, "have the same label"),
        ({"points": [{"label": 3, "queue.mark_at": "10pkt"}]}, "must be a text"),
        ({"points": [{"label": "alone"}]}, "that sets something"),
    ],
)
def test_labels_that_do_not_do(sweep, said):
    with pytest.raises(SpecError, match=said):
        expand(SMALL | {"sweep": sweep})


def test_labels_stand_in_the_tables_of_a_sweep(tmp_path):
    sweep = shallows.sweep(SWEPT, store=tmp_path)
    assert sweep.frame["label"].to_list() == ["g 0.05", "g 0.05", "g 0.1", "g 0.1"]
    assert sweep.over_seeds()["label"].to_list() == ["g 0.05", "g 0.1"]
