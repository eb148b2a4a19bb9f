"""Ranks over time: the link that made one wait is the one that was made slow or crowded."""

import polars as pl
import pytest
import shallows
from shallows.tables import laws, ranks

FABRIC = {
    "duration": "20ms",
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 3, "rate": "10Gbps"},
    "queue": {"kind": "drop-tail", "limit": "none"},
    "transport": {"cc": "newreno", "initial_window": "1000pkt", "opening": "established"},
    "traffic": {
        "sum": {"kind": "collective", "hosts": ["h0", "h3"], "bytes": "400KB", "rounds": 2},
    },
    "probe": {"shares": True},
}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """Four bulk flows share the way from rank 0 to rank 1, and none that of the answers."""
    bulk = {"kind": "bulk", "from": ["h1", "h2"], "to": ["h4", "h5"], "bytes": "8MB"}
    document = FABRIC | {"traffic": FABRIC["traffic"] | {"other": bulk}}
    return shallows.run(document, store=tmp_path_factory.mktemp("runs"), progress=False)


def test_a_rank_waits_for_the_link_that_others_crowd(crowded):
    rows = ranks.timeline(crowded.tables)
    assert rows.select("round", "dst").rows() == [(0, "h0"), (0, "h3"), (1, "h0"), (1, "h3")]
    assert rows["messages"].to_list() == [2] * 4
    behind = rows.filter(pl.col("dst") == "h3")
    assert set(behind["connections"]) == {5} and set(behind["src"]) == {"h0"}
    assert behind["port"][0] in ("leaf0->spine0", "spine0->leaf1")
    late = rows.group_by("dst").agg(pl.col("late_ps").sum()).sort("dst")["late_ps"]
    assert late[1] > 10 * late[0]
    told = [line for line in crowded.happened if "overdue" in line]
    assert told[0].startswith("sum, round ") and "the rank on h3 waited" in told[0]
    assert f"waited most at {behind['port'][0]}" in told[0] and "which 5 connections share" in told[0]


def test_a_rank_waits_while_some_message_is_overdue(crowded):
    """The union of the times from the ideal end to the end, computed interval by interval."""
    flows = crowded.tables["flows"].select("id", "dst")
    messages = crowded.tables["messages"].filter(pl.col("traffic") == "sum")
    for row in ranks.timeline(crowded.tables).iter_rows(named=True):
        mine = messages.filter(pl.col("round") == row["round"]).join(flows, left_on="flow", right_on="id")
        mine = mine.filter(pl.col("dst") == row["dst"])
        spans = sorted(zip(mine["start_ps"] + mine["ideal_ps"], mine["end_ps"], strict=True))
        waited, until = 0, 0
        for due, end in spans:
            waited += max(0, end - max(due, until))
            until = max(until, end)
        assert row["late_ps"] == waited > 0


def test_shares_add_up_to_the_counts_of_ports(crowded):
    assert laws.broken(crowded.tables, crowded.experiment, crowded.manifest["counts"]) == []
    shares = crowded.tables["shares"].group_by("port").agg(pl.col("packets", "bytes", "wait_ps").sum())
    queues = crowded.tables["queues"].filter(pl.col("is_switch") == 1).join(shares, on="port")
    assert len(queues) == len(shares) > 0
    waits = queues["mean_wait_ps"] * queues["packets_out"]
    for row, wait in zip(queues.iter_rows(named=True), waits, strict=True):
        assert 0 <= row["packets"] - row["packets_out"] <= 1 or row["packets_held"]
        assert wait == pytest.approx(row["wait_ps"], rel=1e-3, abs=1)


def test_the_probe_changes_no_result(crowded, tmp_path):
    document = {key: value for key, value in crowded.experiment.items() if key != "probe"}
    plain = shallows.run(document, store=tmp_path, progress=False)
    for name in ("flows", "messages", "rounds", "steps", "queues"):
        assert plain.tables[name].equals(crowded.tables[name]), name
    assert not len(plain.tables["shares"]) and not any("overdue" in line for line in plain.happened)
    rows = ranks.timeline(plain.tables)
    assert len(rows) == 4 and rows["port"].null_count() == 4


def test_messages_that_are_overdue_together_count_once():
    def table(**columns):
        return pl.DataFrame(columns)

    tables = {
        "flows": table(id=[0, 1, 2], src=["a", "b", "c"], dst=["r", "r", "r"]),
        "messages": table(
            traffic=["x"] * 3, round=[0] * 3, step=[0, 1, 2], flow=[0, 1, 2], start_ps=[0, 0, 50],
            end_ps=[30, 40, 70], fct_ps=[30, 40, 20], ideal_ps=[10, 20, 10],
        ),
    }  # fmt: skip
    [row] = ranks.timeline(tables).to_dicts()
    # Overdue from 10 to 30, from 20 to 40, and from 60 to 70: 40 ps in all.
    assert (row["late_ps"], row["latest_ps"], row["messages"]) == (40, 20, 3)
