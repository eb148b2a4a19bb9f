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
    """Two bulk flows share the way from rank 0 to rank 1, and none that of the answers."""
    bulk = {"kind": "bulk", "from": ["h1", "h2"], "to": ["h4", "h5"], "bytes": "8MB"}
    document = FABRIC | {"traffic": FABRIC["traffic"] | {"other": bulk}}
    return shallows.run(document, store=tmp_path_factory.mktemp("runs"), progress=False)


def test_a_rank_waits_for_the_link_that_others_crowd(crowded):
    rows = ranks.timeline(crowded.tables)
    assert rows.select("round", "dst").rows() == [(0, "h0"), (0, "h3"), (1, "h0"), (1, "h3")]
    assert rows["messages"].to_list() == [2] * 4
    behind = rows.filter(pl.col("dst") == "h3")
    assert set(behind["connections"]) == {3} and set(behind["src"]) == {"h0"}
    assert behind["port"][0] in ("leaf0->spine0", "spine0->leaf1")
    late = rows.group_by("dst").agg(pl.col("late_ps").sum()).sort("dst")["late_ps"]
    assert late[1] > 10 * late[0]
    told = [line for line in crowded.happened if "lost" in line]
    assert told[0].startswith("sum, round ") and "the rank on h3 lost" in told[0]
    assert f"waited most at {behind['port'][0]}" in told[0] and "which 3 connections share" in told[0]


def test_late_is_what_exceeds_the_ideal(crowded):
    messages = crowded.tables["messages"].filter(pl.col("traffic") == "sum")
    late = (messages["fct_ps"] - messages["ideal_ps"]).sum()
    assert ranks.timeline(crowded.tables)["late_ps"].sum() == late


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
    assert not len(plain.tables["shares"]) and not any("lost" in line for line in plain.happened)
    rows = ranks.timeline(plain.tables)
    assert len(rows) == 4 and rows["port"].null_count() == 4
