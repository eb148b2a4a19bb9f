"""The functions for scripts and notebooks, and their displays."""

import inspect
import pydoc
from types import ModuleType

import matplotlib.pyplot as plt
import polars as pl
import pytest
import shallows
from conftest import SMALL
from shallows import experiment as x
from shallows import progress
from shallows.authoring.examples.aimd import Aimd


def made() -> x.Experiment:
    return x.Experiment(
        title="<small>",
        duration="2ms",
        topology=x.StarTopology(senders=2, rate="1Gbps", delay="10us"),
        queue=x.ThresholdQueue(limit="100pkt", mark_at="20pkt"),
        transport=x.Transport(cc="dctcp"),
        traffic={"long": x.BulkLoad(from_="s*", to="r0", jitter="100us")},
    )


def test_every_public_name_is_there_and_documented():
    for name in shallows.__all__:
        assert inspect.getdoc(getattr(shallows, name)), name
    assert set(shallows.__all__) <= set(dir(shallows))
    documented = inspect.getdoc(shallows)
    for name in set(shallows.__all__) - {"StoreError"}:
        assert f"`{name}`" in documented, name


def test_what_is_called_is_a_function_and_help_shows_it(tmp_path):
    for name in ("run", "sweep", "reproduce"):
        function = getattr(shallows, name)
        assert inspect.isfunction(function) and not isinstance(function, ModuleType)
        assert f"{name}(" in pydoc.plain(pydoc.render_doc(function))
    assert shallows.run(SMALL, store=tmp_path).hash == shallows.run(SMALL, store=tmp_path).hash


def test_an_experiment_runs_and_shows_itself(tmp_path):
    experiment = made()
    run = experiment.run(store=tmp_path, settings=["transport.cc.g=0.1"])
    assert run.experiment["traffic"]["long"]["transport"]["cc"]["g"] == 0.1
    page = experiment._repr_html_()
    assert "&lt;small&gt;" in page
    assert "<td>topology.delay</td><td>10us</td>" in page
    page = run._repr_html_()
    assert "switch-&gt;r0" in page
    assert "goodput_bps_total" in page
    assert run.metrics["goodput_bps_total"] > 0
    figure = run.figure("queue_cdf")
    assert figure.axes
    plt.close(figure)
    with pytest.raises(ValueError, match="no such figure: 'qeue'; there are queue_time"):
        run.figure("qeue")


def test_a_class_of_ones_own_stands_in_a_typed_experiment(tmp_path):
    experiment = made()
    experiment.transport = x.Transport(cc=x.CustomPart(kind="aimd", beta=0.6))
    run = experiment.run(algorithms=[Aimd], store=tmp_path)
    assert run.experiment["traffic"]["long"]["transport"]["cc"] == {"kind": "aimd", "beta": 0.6}
    known = x.Experiment.model_validate(SMALL)
    assert isinstance(known.queue, x.ThresholdQueue)
    assert isinstance(known.traffic["long"], x.BulkLoad)


def test_a_sweep_is_a_frame_with_intervals(tmp_path):
    varied = made().with_settings({"seeds": 2, "sweep": {"grid": {"transport.cc.g": [0.1, 0.5]}}})
    sweep = varied.run_sweep(store=tmp_path)
    assert sweep.frame.shape[0] == len(sweep) == 4
    assert sweep.frame["transport.cc.g"].to_list() == [0.1, 0.1, 0.5, 0.5]
    assert sweep.failed == []
    over = sweep.over_seeds()
    assert over["seeds"].to_list() == [2, 2]
    low, mean, high = (over[f"goodput_bps_total{end}"][0] for end in ("_low", "", "_high"))
    assert low <= mean <= high
    assert sweep._repr_html_().count("<tr>") == 5


def test_other_frames_on_request(tmp_path):
    run = shallows.run(SMALL, store=tmp_path)
    pytest.importorskip("pyarrow", reason="pyarrow is an optional extra")
    table = run.to_arrow("flows")
    assert pl.from_arrow(table).equals(run.tables["flows"])
    pytest.importorskip("pandas", reason="pandas is an optional extra")
    assert len(run.to_pandas("flows")) == len(run.tables["flows"])


def test_a_bar_tells_how_far_it_is():
    told = []

    class Handle:
        def update(self, data, raw):
            told.append(data["text/html"])

    bar = progress._Bar(lambda data, raw, display_id: told.append(data["text/html"]) or Handle(), "sweep", 4)
    bar.report(2.0, 1)
    bar.close()
    assert "value='0.0000'" in told[0]
    assert "value='0.5000'" in told[1]
    assert "2/4, 1 failed" in told[1]
    assert told[2] == ""


def test_an_import_in_python_says_what_it_ignored(tmp_path):
    (tmp_path / "topology.txt").write_text("3 1 2\n0\n0 1 10Gbps 1us 0.01\n0 2 10Gbps 1us 0\n")
    (tmp_path / "flow.txt").write_text("1\n1 2 3 100 5000 0\n2 1 3 100 5000 0\n")
    files = [tmp_path / "topology.txt", tmp_path / "flow.txt"]
    with pytest.warns(shallows.FileWarning, match="1 further lines are not read"):
        made = shallows.import_files(*files, out=tmp_path / "mine.toml")
    assert made.path == tmp_path / "mine.toml" and [path.is_file() for path in made.written] == [True, True]
    assert any(line.startswith("flow.txt: priorities") for line in made.ignored)
    assert "2 hosts, 1 switches, 2 links" in str(made) and any("duration" in line for line in made.chosen)
    with pytest.raises(shallows.SpecError, match="exists already"):
        shallows.import_files(*files, out=tmp_path / "mine.toml")
    document = {
        "duration": "1ms",
        "topology": {"kind": "graph", "name": str(files[0])},
        "queue": {"kind": "drop-tail"},
        "transport": {"cc": "newreno"},
        "traffic": {"x": {"kind": "table", "name": str(files[1])}},
    }
    with pytest.warns(shallows.FileWarning, match=r"topology.name: topology.txt"):
        shallows.run(document, store=tmp_path)
