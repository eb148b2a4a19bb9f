"""Results by class, by size of message and over seeds, as `run` and `sweep` print them."""

import json

import pytest
from conftest import ROOT, shallows, write_toml

WEB = {
    "duration": "20ms",
    "topology": {"kind": "star", "senders": 4, "rate": "1Gbps", "delay": "10us"},
    "queue": {"kind": "threshold", "limit": "100pkt", "mark_at": "20pkt"},
    "transport": {"cc": "dctcp"},
    "traffic": {
        "web": {
            "kind": "poisson", "from": "s*", "to": "r0", "load": 0.6,
            "sizes": {"kind": "empirical", "name": "google_rpc"},
        },
        "long": {"kind": "bulk", "from": "s0", "to": "r0"},
    },
}  # fmt: skip
POINTS = [{"label": "few", "queue.mark_at": "10pkt"}, {"label": "many", "queue.mark_at": "40pkt"}]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("results")
    write_toml(place / "web.toml", WEB)
    write_toml(place / "swept.toml", WEB | {"seeds": 2, "sweep": {"points": POINTS}})
    return place


def lines(place, *command):
    done = shallows(*command, cwd=place)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines() if not line.startswith("note: ")]


def test_a_run_by_size(place):
    head, *rows = lines(place, "run", "web.toml", "--by", "size")[1:]
    assert head == [
        "seed",
        "status",
        "class",
        "size",
        "messages",
        "messages_unfinished",
        "fct_mean_ps",
        "fct_p50_ps",
        "fct_p99_ps",
        "slowdown_mean",
        "slowdown_p50",
        "slowdown_p99",
    ]
    sizes = [" ".join(row[3:5]) for row in rows if row[2] == "web"]
    assert sizes[1:3] == ["upto 10KB", "upto 100KB"]


def test_a_sweep_by_class_over_seeds_with_its_labels(place):
    head, *rows = lines(
        place, "sweep", "swept.toml", "--by", "class", "--metric", "fct_p99_ps", "--over-seeds"
    )[1:]
    assert head == ["label", "seeds", "class", "fct_p99_ps"]
    assert [row[:3] for row in rows] == [
        ["few", "2", "long"], ["few", "2", "web"], ["many", "2", "long"], ["many", "2", "web"],
    ]  # fmt: skip
    assert rows[0][3] == "-"
    assert rows[1][5].startswith("[") and rows[1][-1].endswith("]")


def test_chosen_metrics_are_columns(place):
    head, *rows = lines(place, "sweep", "swept.toml", "--metric", "bottleneck_m*")[1:]
    assert head[:3] == ["label", "seed", "status"]
    assert all(name.startswith("bottleneck_m") for name in head[3:]) and len(rows) == 4


def test_the_means_stand_in_the_json(place):
    import jsonschema

    found = json.loads(shallows("sweep", "swept.toml", "--over-seeds", "--json", cwd=place).stdout)
    jsonschema.validate(found, json.loads((ROOT / "python/shallows/cli/schemas/sweep.json").read_text()))
    few, many = found["over_seeds"]
    assert (few["label"], many["label"], few["seeds"]) == ("few", "many", 2)
    pair = [p["metrics"]["goodput_bps_total"] for p in found["points"][:2]]
    assert few["metrics"]["goodput_bps_total"]["mean"] == pytest.approx(sum(pair) / 2)


def test_a_metric_that_is_none_is_refused_before_anything_runs(place):
    done = shallows("run", "web.toml", "--metric", "web.fct_p98_ps", "--store", "empty", cwd=place)
    assert done.returncode == 2 and 'did you mean "web.fct_p99_ps"' in done.stderr
    assert not (place / "empty").exists()


def test_a_run_shows_first_how_long_its_messages_took(place):
    title, head, row, _, *others = lines(place, "run", "web.toml")
    assert title == ["Completion", "times", "of", "messages"]
    assert head == ["class", "messages", "unfinished", "fct_mean", "fct_p50", "fct_p99", "slowdown_p99"]
    assert row[0] == "web" and int(row[1]) > 10
    assert ["web.slowdown_p99", row[-1]] in others


def test_a_class_of_which_no_message_ended_is_shown(place):
    web = {
        "kind": "poisson",
        "from": "s*",
        "to": "r0",
        "load": 0.6,
        "sizes": {"kind": "fixed", "bytes": "90MB"},
    }
    write_toml(place / "cut.toml", WEB | {"traffic": {"web": web}, "duration": "2s"})
    title, _, row, *_ = lines(place, "run", "cut.toml", "--set", "duration=400ms")
    assert title[0] == "Completion"
    assert row[:2] == ["web", "0"] and int(row[2]) > 0 and row[3:] == ["-"] * 4
