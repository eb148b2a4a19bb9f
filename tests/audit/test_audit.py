"""The audit accepts real runs, and rejects traces of which one field was changed."""

import json
import random
import re
from pathlib import Path

import everything
import polars as pl
import pytest
from shallows.audit import audit
from shallows.audit.rule import RULES
from shallows.cli import audit as command
from shallows.document.load import load
from shallows.document.points import expand
from shallows.errors import RunError
from shallows.execution.runner import Runner

ROOT = Path(__file__).parents[2]
BASE = {
    "duration": "2ms", "warmup": "0s", "probe": {"audit": True},
    "topology": {"kind": "star", "senders": 4, "rate": "10Gbps", "delay": "5us"},
    "queue": {"kind": "threshold", "limit": "80pkt", "mark_at": "20pkt"},
    "transport": {"cc": "dctcp"},
    "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
}  # fmt: skip
SHORT = {"kind": "messages", "from": "s*", "to": "r0", "bytes": "60KB", "interval": "200us", "count": 5}
TREE = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}
SLOWER = {"kind": "star", "senders": 1, "rate": "10Gbps", "sender_rate": "40Gbps", "delay": "5us"}
VARIANTS = {
    "threshold": {},
    "drop-tail": {"queue": {"kind": "drop-tail", "limit": "30KB"}, "transport": {"cc": "newreno"}},
    "cubic before": {
        "queue": {"kind": "drop-tail", "limit": "30pkt", "measure": "before", "count_in_service": False},
        "transport": {"cc": "cubic"},
    },
    "red": {"queue": {"kind": "red", "limit": "90pkt", "min": "10pkt", "max": "30pkt", "w_q": 0.1}},
    "codel": {"queue": {"kind": "codel", "limit": "90pkt", "target": "20us", "interval": "200us"}},
    "fq-codel": {"queue": {"kind": "fq-codel", "target": "20us", "interval": "200us"}},
    "pie": {"queue": {"kind": "pie", "target": "20us"}},
    "dualpi2": {"queue": {"kind": "dualpi2"}, "transport": {"cc": "prague"}},
    "messages": {"traffic": {"short": SHORT}},
    "dumbbell": {
        "topology": {"kind": "dumbbell", "left": 3, "right": 3},
        "traffic": {"long": {"kind": "bulk", "from": "l*", "to": "r*", "pattern": "pairs"}},
    },
    "leaf-spine": {"topology": TREE, "traffic": {"long": {"kind": "bulk", "from": "h0", "to": "h3"}}},
    "loss": {"port": {"switch->r0": {"loss": 0.01}}},
    "divided": {"transport": {"cc": "newreno", "ack_pieces": 4}},
    "repeated": {"transport": {"cc": "newreno", "sack": False, "ack_repeats": 4}},
    "ahead": {"transport": {"cc": "newreno", "ack_ahead": "5pkt"}},
    "hidden": {"transport": {"cc": "dctcp", "hide_marks": True}},
    "capped": {
        "transport": {"cc": "cubic", "validate_cwnd": False, "growth_cap": "max-flight"},
        "traffic": {"short": SHORT},
    },
    "resumed": {
        "topology": SLOWER,
        "queue": {"kind": "drop-tail", "limit": "60pkt"},
        "transport": {"cc": "newreno", "saved_cwnd": "400pkt", "saved_rtt": "20us"},
    },
    "resumed by proportion": {
        "topology": SLOWER,
        "queue": {"kind": "drop-tail", "limit": "60pkt"},
        "transport": {
            "cc": "cubic",
            "prr": True,
            "loss_detection": "rack",
            "saved_cwnd": "400pkt",
            "saved_rtt": "20us",
        },
    },
    "resumed, marked": {
        "topology": SLOWER,
        "transport": {"cc": "dctcp", "saved_cwnd": "400pkt", "saved_rtt": "20us"},
    },
}


def done(document):
    [outcome] = Runner.of().run(expand(load(document)))
    assert outcome.run is not None, outcome
    return outcome.run


@pytest.fixture(scope="module")
def runs():
    return {name: done(BASE | change) for name, change in VARIANTS.items()}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_real_run_is_accepted(runs, name):
    run = runs[name]
    outcome = audit(run.tables, run.experiment)
    assert [str(one) for one in outcome.rejected] == []
    assert outcome.packets > 100


FIELDS = ("time_ps", "landed_ps", "size", "ecn", "port", "seq", "payload", "stamp_ps", "flow", "drop a row",
          "repeat a row")  # fmt: skip
"""Fields that a mutant changes. `ecn` is changed at switches alone: a host may send what it likes."""


def mutant(run, random, steps=(1, 2, 1000, 10**6)):
    """The tables with one field of one row changed, and the name of the field."""
    packets = run.tables["packets"]
    field = random.choice(FIELDS)
    switch = pl.col("port").str.starts_with("switch") | pl.col("port").str.contains(
        "^(left|right|leaf|spine).*->"
    )
    rows = packets.with_row_index("row").filter(
        switch & (pl.col("payload") > 0) & pl.col("landed_ps").is_not_null()
    )
    at = random.choice(rows["row"].to_list())
    row = packets.row(at, named=True)
    if field == "drop a row":
        changed = pl.concat([packets[:at], packets[at + 1 :]])
    elif field == "repeat a row":
        changed = pl.concat([packets, packets[at : at + 1]])
    else:
        if field == "port":
            value = random.choice([p for p in packets["port"].unique().sort() if p != row["port"]])
        elif field == "ecn":
            value = random.choice([code for code in range(4) if code != row["ecn"]])
        elif field == "flow":
            value = row["flow"] + 1
        else:
            step = random.choice(steps)
            value = row[field] + step if row[field] < step or random.random() < 0.5 else row[field] - step
            value = max(value, 1)
        dtype = packets.schema[field]
        here = pl.int_range(pl.len()) == at
        changed = packets.with_columns(
            pl.when(here).then(pl.lit(value, dtype)).otherwise(pl.col(field)).alias(field)
        )
    return field, dict(run.tables) | {"packets": changed}


def survivors(run, count, seed):
    """Mutants that the audit accepts, and by which rules the others are rejected."""
    draws, alive, by = random.Random(seed), [], {}
    for number in range(count):
        field, tables = mutant(run, draws)
        outcome = audit(tables, run.experiment)
        if not outcome.rejected:
            alive.append((number, field))
        by.setdefault(field, set()).update(one.rule for one in outcome.rejected)
    return alive, by


RIGHT = {
    "time_ps": {"service", "work", "propagation", "arrival"}, "landed_ps": {"propagation"},
    "size": {"service", "work", "books"}, "ecn": {"codepoint", "threshold", "books"},
    "port": {"arrival", "conservation", "books"}, "seq": {"arrival", "delivery"}, "payload": {"content"},
    "stamp_ps": {"arrival"}, "flow": {"arrival", "destination"}, "drop a row": {"books", "conservation"},
    "repeat a row": {"once", "books"},
}  # fmt: skip


@pytest.mark.parametrize("name", ["threshold", "drop-tail", "dumbbell"])
def test_changed_traces_are_rejected(runs, name):
    """A sample: 60 mutants a run; `python tests/audit/test_audit.py COUNT SEED` makes more."""
    alive, by = survivors(runs[name], 60, 41)
    assert alive == []
    for field, rules in by.items():
        assert rules & RIGHT[field], f"{field} is rejected by {rules}"


def test_faults_of_earlier_versions_are_rejected(runs):
    run = runs["threshold"]
    packets, flows, queues = (run.tables[name] for name in ("packets", "flows", "queues"))

    def rules(**tables):
        return {one.rule for one in audit(dict(run.tables) | tables, run.experiment).rejected}

    # Goodput above the link, as go-back-0 with a warm-up once had it.
    fast = flows.with_columns(pl.col("goodput_bps") * 50)
    assert rules(flows=fast) == {"delivery"}
    # Bytes counted from warm-up on, where the reference says the whole run.
    assert rules(flows=flows.with_columns(pl.col("arrived_bytes") // 2)) == {"delivery"}
    # A port's packets that were still on the wire at the end had no row.
    assert "books" in rules(packets=packets.filter(pl.col("landed_ps").is_not_null()))
    # All rows of a port are missing.
    assert {"books", "conservation"} <= rules(packets=packets.filter(pl.col("port") != "switch->r0"))
    # Marks one packet late, as by counting the arriving packet or by `>=` for `>`.
    late = run.experiment | {"queue": run.experiment["queue"] | {"mark_at": "21pkt"}}
    early = run.experiment | {"queue": run.experiment["queue"] | {"mark_at": "19pkt"}}
    for experiment in (late, early):
        assert {one.rule for one in audit(run.tables, experiment).rejected} == {"threshold"}
    # Two ports read as one: their packets interleave.
    other = packets.with_columns(pl.col("port").replace({"s1->switch": "s0->switch"}))
    assert {"service", "books"} <= rules(packets=other)
    assert len(queues)


def test_a_limit_or_delay_that_is_not_the_experiments_is_rejected(runs):
    run = runs["drop-tail"]
    for limit in ("28500B", "31500B"):
        other = run.experiment | {"queue": run.experiment["queue"] | {"limit": limit}}
        assert {one.rule for one in audit(run.tables, other).rejected} == {"limit"}
    for key, value, rule in (("delay", "6us", "propagation"), ("rate", "11Gbps", "service")):
        other = run.experiment | {"topology": run.experiment["topology"] | {key: value}}
        assert {one.rule for one in audit(run.tables, other).rejected} == {rule}


def test_files_of_the_repository_are_accepted(capsys):
    """A sample; `python tests/audit/everything.py` audits all."""
    names = ("experiments/training-step.toml", "experiments/ndp-incast.toml", "experiments/roce-incast.toml")
    assert everything.main([ROOT / name for name in names]) == 0
    assert re.search("3 runs audited with [0-9]+ departures, 0 rejected, 0 not run", capsys.readouterr().out)


def test_the_command_audits_files_and_stored_runs(tmp_path):
    from conftest import shallows, write_toml

    place = tmp_path / "small.toml"
    write_toml(place, BASE | {"duration": "300us"})
    store = ["--store", str(tmp_path / "runs")]
    [printed] = json.loads(shallows("audit", place, *store, "--json", cwd=tmp_path).stdout)["runs"]
    assert printed["rejected"] == []
    assert "rates" in printed["not_audited"]
    assert "accepted; " in shallows("audit", printed["run"], *store, cwd=tmp_path).stdout
    plain = done(BASE | {"duration": "300us", "probe": {}})
    assert "packets" not in plain.tables or not len(plain.tables["packets"])
    write_toml(place, BASE | {"duration": "300us", "probe": {}})
    shallows("run", place, *store, cwd=tmp_path)
    [bare] = {path.name for path in (tmp_path / "runs").iterdir() if len(path.name) == 20} - {printed["run"]}
    for name, words in (("0" * 20, "no such run"), (bare, "probe.audit: must be true")):
        refused = shallows("audit", name, *store, cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert words in refused.stderr


def test_an_audit_names_runs_that_failed(tmp_path):
    from conftest import shallows, write_toml

    place = tmp_path / "rows.toml"
    write_toml(place, BASE | {"probe": {"trace_rows": 100}})
    told = shallows("audit", place, "--store", tmp_path / "runs", cwd=tmp_path)
    assert (told.returncode, told.stdout) == (1, "")
    assert f"1 of 1 runs of {place} failed; the first: " in told.stderr
    assert "trace_rows" in told.stderr


def test_an_audit_that_memory_does_not_hold_is_refused():
    command._fits("a run", 1000, None)
    command._fits("a run", 1000, 1000 * command.BYTES)
    with pytest.raises(RunError, match=r"its 1001 departures need some 0\.0 GB .* --allow-memory"):
        command._fits("a run", 1001, 1000 * command.BYTES)


def test_the_audit_shares_nothing_with_the_core():
    sources = sorted((ROOT / "python/shallows/audit").glob("*.py"))
    assert sources
    for path in sources:
        imports = re.findall(r"^\s*(?:from|import) (\S+)", path.read_text("utf-8"), re.MULTILINE)
        ours = {name for name in imports if name.startswith("shallows")}
        assert all(name.startswith("shallows.audit") for name in ours), path
        assert "_core" not in path.read_text("utf-8")


def test_rules_have_names_and_sources():
    assert len({rule.name for rule in RULES}) == len(RULES)
    page = (ROOT / "docs/audit.md").read_text("utf-8")
    for rule in RULES:
        assert rule.source and f"`{rule.name}`" in page, f"docs/audit.md lacks {rule.name}"


if __name__ == "__main__":
    import sys

    total, left = 0, []
    for name, change in VARIANTS.items():
        if name in ("threshold", "drop-tail", "dumbbell"):
            alive, _ = survivors(done(BASE | change), int(sys.argv[1]), int(sys.argv[2]))
            total, left = total + int(sys.argv[1]), left + [(name, *one) for one in alive]
    print(json.dumps({"mutants": total, "accepted": left}))
