"""qlog of connections: its schema, its books, and the files that it replaces."""

import json
from pathlib import Path

import jsonschema
import pytest
import shallows
from conftest import shallows as command
from qlog_traces import each_packet_once
from shallows.cli.explain import story_of
from shallows.errors import SpecError
from shallows.results import qlog

SCHEMA = json.loads(Path(__file__).with_name("qlog.schema.json").read_text())
FILE = """
title = "Two flows in a small buffer"
duration = "{duration}"
[topology]
kind = "star"
senders = 2
rate = "20Mbps"
delay = "2ms"
[queue]
kind = "{queue}"
limit = "12pkt"
{more}
[transport]
cc = "{cc}"
[traffic.long]
kind = "bulk"
from = "s*"
to = "r0"
[probe]
audit = true
"""
CASES = {
    "sack": {"cc": "newreno", "queue": "drop-tail", "more": "", "duration": "2s"},
    "marks": {"cc": "dctcp", "queue": "threshold", "more": 'mark_at = "4pkt"', "duration": "300ms"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("qlog")


@pytest.fixture(scope="module", params=CASES)
def run(request, folder):
    path = folder / f"{request.param}.toml"
    path.write_text(FILE.format(**CASES[request.param]))
    return shallows.run(path, store=folder / "runs", progress=False)


def of(run, flow):
    return qlog.document(run.tables, story_of(run.tables, run.experiment, flow), run.hash)


def test_it_is_of_the_schema_and_damage_is_not(run):
    checker = jsonschema.Draft202012Validator(SCHEMA)
    whole = of(run, 0)
    assert list(checker.iter_errors(whole)) == []
    events = whole["traces"][0]["events"]
    for name in {event["name"] for event in events}:
        event = next(event for event in events if event["name"] == name)
        kept = event["data"]
        event["data"] = {"header": {"packet_number": -1}, "congestion_window": "9"}
        assert name.startswith("shallows:") or list(checker.iter_errors(whole)), name
        event["data"] = kept


@pytest.mark.parametrize("flow", [0, 1])
def test_each_packet_is_sent_once_and_acknowledged_or_lost_once(run, flow):
    events = of(run, flow)["traces"][0]["events"]
    names = each_packet_once(events)
    about = run.tables["flows"].row(flow, named=True)
    assert names["shallows:packet_dropped"] == about["drops"]
    assert (names["shallows:packet_marked"] > 0) == (about["cc"] == "dctcp")
    lost = names["quic:packet_lost"]
    # Nothing is lost of a packet whose acknowledgement overtakes its repeat.
    needless = story_of(run.tables, run.experiment, flow).needless
    assert about["retransmissions"] - needless <= lost <= about["retransmissions"]
    states = [event["data"]["new"] for event in events if event["name"] == "quic:congestion_state_updated"]
    assert bool(states) == bool(lost) and set(states) <= {"open", "recovery", "loss"}


def test_the_commands_write_it_and_overwrite_nothing_else(folder, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(FILE.format(**CASES["marks"]).replace("audit = true", ""))
    done = command("run", "mine.toml", "--qlog", "0=a.qlog", cwd=tmp_path)
    assert done.returncode == 0 and "events of flow 0" in done.stderr
    told = json.loads((tmp_path / "a.qlog").read_text())
    assert len(told["traces"][0]["events"]) > 100
    first = (tmp_path / "a.qlog").read_bytes()
    done = command("explain", "mine.toml", "0", "--qlog", "a.qlog", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "a.qlog").read_bytes() == first
    done = command("run", "mine.toml", "--qlog", "0=mine.toml", "--qlog", "x=b.qlog", cwd=tmp_path)
    assert done.returncode == 2
    assert "is not qlog of Shallows" in done.stderr and "must be FLOW=FILE" in done.stderr
    done = command("run", "mine.toml", "--qlog", "0=b.qlog", "--seeds", "2", cwd=tmp_path)
    assert done.returncode == 2 and "needs exactly one run, not 2" in done.stderr


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["0"], "must be FLOW=FILE"),
        (["0=a", "0=b"], "twice"),
        (["0=a", "1=a"], "twice"),
        (["0=no/such/a"], "existing directory"),
        (["0=/"], "is a directory"),
    ],
)
def test_what_cannot_be_written_is_refused(texts, told):
    with pytest.raises(SpecError, match=told):
        qlog.parse_requests(texts)
