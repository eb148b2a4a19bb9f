"""Means over seeds by one function: equal runs count as one, intervals are possible."""

import json

import polars as pl
import pytest
import shallows
from conftest import SMALL, write_toml
from conftest import shallows as command
from shallows.statistics.estimates import mean_ci
from shallows.tables import seeds


def test_equal_runs_are_one_observation():
    runs = [{"drops": 4, "jain": 0.9, "x": None}] * 5
    found = seeds.over_seeds(runs)
    assert found["drops"] == (4.0, None, None, 1) and "x" not in found
    assert seeds.records(runs)["jain"] == {"mean": 0.9, "ci95": None, "n": 1}
    assert not seeds.alike(runs[:1]) and seeds.alike(runs)


def test_an_interval_knows_what_a_metric_can_be():
    samples = [(0, 1, 1.0), (1, 0.9, 1.1), (1500, 0.99, 1.9)]
    names = ("drops", "bottleneck_utilisation", "a.slowdown_p99")
    runs = [dict(zip(names, each, strict=True)) | {"timeouts": 0} for each in samples]
    found = seeds.over_seeds(runs)
    assert mean_ci([0, 1, 1500]).low < 0 < found["drops"].low
    assert mean_ci([1, 0.9, 0.99]).high > 1 > found["bottleneck_utilisation"].high
    assert mean_ci([1.0, 1.1, 1.9]).low < 1 < found["a.slowdown_p99"].low
    assert found["timeouts"] == (0.0, None, None, 3), "equal samples of runs that differ show no spread"


SWEPT = SMALL | {"seeds": 3, "sweep": {"grid": {"queue.mark_at": ["5pkt", "10pkt"]}}}
UNFINISHED = SMALL | {
    "seeds": 2,
    "traffic": {
        "web": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "200KB", "interval": "400us",
                "phase": "random"},
    },
}  # fmt: skip


def test_seeds_that_change_nothing_have_no_interval_anywhere(tmp_path):
    frame = shallows.sweep(SWEPT, store=tmp_path, progress=False).over_seeds()
    assert frame["seeds"].to_list() == [3, 3] and frame["independent"].to_list() == [1, 1]
    assert frame["goodput_bps_total"].null_count() == 0
    ends = frame.select(pl.col("^.*_(low|high)$"))
    assert ends.null_count().row(0) == (2,) * len(ends.columns)
    file = write_toml(tmp_path / "swept.toml", SWEPT)
    done = command("sweep", file, "--over-seeds", "--json", "--store", tmp_path, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert {value["ci95"] for point in found["over_seeds"] for value in point["metrics"].values()} == {None}
    told = command("sweep", file, "--over-seeds", "--store", tmp_path, cwd=tmp_path).stdout
    assert seeds.SEEDS_CHANGE_NOTHING in told
    alone = {key: value for key, value in SWEPT.items() if key != "sweep"}
    done = command("run", write_toml(tmp_path / "one.toml", alone), cwd=tmp_path).stdout
    assert seeds.SEEDS_CHANGE_NOTHING in done and " to " not in done.split("Queues")[0].split("interval")[1]


def test_unfinished_messages_are_told_wherever_a_time_is_printed(tmp_path):
    file = write_toml(tmp_path / "web.toml", UNFINISHED)
    sweep = shallows.sweep(UNFINISHED, store=tmp_path / "runs", progress=False)
    [(missing, of)] = {m["web.messages_unfinished"]: m["web.messages"] for m in (sweep[0].metrics,)}.items()
    assert missing > 0
    total = sum(o.metrics["web.messages_unfinished"] for o in sweep)
    for words in (["sweep"], ["run"], ["run", "--by", "size"], ["run", "--by", "class"]):
        told = command(words[0], file, *words[1:], "--store", tmp_path / "runs", cwd=tmp_path).stdout
        assert f"messages of web did not all end ({total} of " in told, words
    by_size = command("run", file, "--by", "size", "--store", tmp_path / "runs", cwd=tmp_path).stdout
    assert "messages_unfinished" in by_size
    done = command("run", file, "--report", "--store", tmp_path / "runs", cwd=tmp_path)
    page = (tmp_path / "reports/run-web/index.html").read_text()
    assert done.returncode == 0 and "messages of web did not all end" in page
    assert f"{missing} of {missing + of} messages of web did not end" in sweep[0].run.happened[-1]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"sizes": ["1MB", "10KB"]}, "must rise"),
        ({"sizes": ["10Gbps"]}, "must be amounts of data"),
        ({"percentiles": [101]}, "less than 100"),
        ({"size": ["1MB"]}, "sizes"),
    ],
)
def test_a_wrong_summary_is_refused(given, rule):
    from shallows.document.points import expand
    from shallows.errors import SpecError

    with pytest.raises(SpecError) as error:
        expand(SMALL | {"summary": given})
    assert all(fault.path.startswith("summary") for fault in error.value.faults)
    assert rule in str(error.value)


def test_sizes_and_percentiles_are_the_users(tmp_path):
    """By file and by option; the runs in the store are the same ones."""
    mixed = UNFINISHED | {"seeds": 1}
    mixed["traffic"] = {
        "web": mixed["traffic"]["web"],
        "small": {
            "kind": "messages",
            "from": "s0",
            "to": "r0",
            "bytes": "3KB",
            "interval": "100us",
            "class": "web",
        },
    }
    plain = shallows.sweep(mixed, store=tmp_path, progress=False)
    chosen = shallows.sweep(
        mixed | {"summary": {"sizes": ["2KB", "4KB"], "percentiles": [90, 99.9]}},
        store=tmp_path,
        progress=False,
    )
    assert chosen[0].status == "stored" and chosen[0].hash == plain[0].hash
    found = chosen[0].metrics
    assert found["web.upto_4KB.slowdown_p50"] >= 1 and "web.upto_10KB.messages" not in found
    assert found["web.slowdown_p90"] <= found["web.slowdown_p99"] <= found["web.slowdown_p99_9"]
    times = plain[0].run.tables["messages"].filter(pl.col("bytes") > 4000)["slowdown"].drop_nulls()
    assert found["web.over_4KB.slowdown_p90"] == times.quantile(0.9, "linear")
    file = write_toml(tmp_path / "mixed.toml", mixed)
    words = [
        "--by",
        "size",
        "--sizes",
        "4KB",
        "--percentiles",
        "90",
        "--metric",
        "slowdown_p*",
        "--metric",
        "messages",
    ]
    told = command("run", file, *words, "--store", tmp_path, cwd=tmp_path)
    assert "slowdown_p90" in told.stdout and "upto 4KB" in told.stdout and "over 4KB" in told.stdout
