"""Least times of collective operations: bytes counted message by message, and runs that they bound."""

import polars as pl
import pytest
import shallows
from shallows import theory
from shallows.errors import SpecError
from shallows.theory.collective import collective

HEADER = 62  # RoCEv2: Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4


def schedule(operation: str, ranks: int):
    """(rank, peer, share of the buffer) of every message."""
    block = 1 / ranks
    for rank in range(ranks):
        if operation == "ring":
            yield from ((rank, (rank + 1) % ranks, block) for _ in range(2 * (ranks - 1)))
        elif operation == "all_to_all":
            yield from ((rank, peer, block) for peer in range(ranks) if peer != rank)
        else:
            distance = ranks // 2
            while distance:
                yield from [(rank, rank ^ distance, distance * block)] * 2
                distance //= 2


@pytest.mark.parametrize("operation", ["ring", "halving_doubling", "all_to_all"])
@pytest.mark.parametrize("placement", ["block", "striped"])
@pytest.mark.parametrize(("ranks", "per_leaf"), [(16, 4), (32, 8), (8, 8), (64, 2)])
def test_bytes_are_those_of_all_messages(operation, placement, ranks, per_leaf):
    size, leaves = 1_000_000, ranks // per_leaf
    got = collective(ranks, size, 8_000_000_000_000, per_leaf, 1, 8_000_000_000_000, 0, 1000, 0)

    def leaf(rank: int) -> int:
        return rank // per_leaf if placement == "block" else rank % leaves

    sent, left = [0.0] * ranks, [0.0] * leaves
    for rank, peer, share in schedule(operation, ranks):
        sent[rank] += share * size
        left[leaf(rank)] += share * size * (leaf(rank) != leaf(peer))
    name = operation if operation == "all_to_all" else f"{operation}_{placement}"
    # A byte takes a picosecond.
    assert got[f"{name}_host_ps"] == pytest.approx(max(sent))
    assert got[f"{name}_uplinks_ps"] == pytest.approx(max(left), abs=1e-6)
    assert got[f"{name}_least_ps"] == pytest.approx(max(*sent, *left))


def test_many_short_steps_are_bounded_by_their_delay():
    got = collective(ranks=1024, size_bytes=1024, delay_ps=1_000_000)
    assert got["ring_block_least_ps"] == 2 * 1023 * 1_000_000
    assert got["halving_doubling_block_least_ps"] == 2 * 10 * 1_000_000


@pytest.mark.parametrize("placement", ["block", "striped"])
def test_a_run_on_one_uplink_takes_the_bound_and_its_steps_ways(placement):
    hosts = [f"h{i}" for i in range(8)]
    if placement == "striped":
        hosts = [host for pair in zip(hosts[:4], hosts[4:], strict=True) for host in pair]
    size, rate, steps, full = 8 * 819_200, 100e9, 14, 4096 + HEADER
    run = shallows.run(
        {
            "duration": "50ms",
            "topology": {
                "kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 4, "rate": "100Gbps",
                "delay": "1us", "uplink_delay": "1us",
            },
            "queue": {"kind": "drop-tail", "limit": "none"},
            "transport": {"profile": "roce", "cc": "line-rate", "mtu": "4096B"},
            "traffic": {"x": {"kind": "collective", "hosts": hosts, "bytes": f"{size}B", "rounds": 1}},
        }
    )  # fmt: skip
    bounds = collective(8, size, 100_000_000_000, 4, 1, 100_000_000_000, 2_000_000, 4096, HEADER)
    took, least = run.tables["rounds"]["fct_ps"][0], bounds[f"ring_{placement}_least_ps"]
    # A step ends when its last packet has come: four links of 1 us, and four transmissions of a packet.
    ways = steps * (4e6 + 4 * full * 8e12 / rate)
    assert least <= took <= 1.03 * least + ways


def test_ranks_must_fill_leaves():
    with pytest.raises(SpecError, match="ranks must fill leaves of 32"):
        theory.evaluate("collective", ["ranks=100"])
    with pytest.raises(SpecError, match="each rank has a block"):
        theory.evaluate("collective", ["size=100B"])


def test_the_hierarchy_is_the_ideal_of_a_round(tmp_path):
    load = {
        "kind": "collective", "hosts": "server*", "algorithm": "hierarchical", "group": 4,
        "bytes": "1200003B", "rounds": 1,
    }  # fmt: skip
    document = {
        "duration": "20ms",
        "topology": {
            "kind": "rail", "servers": 3, "rails": 4, "rate": "100Gbps", "delay": "1us",
            "scale_up_rate": "400Gbps", "scale_up_delay": "250ns",
        },
        "queue": {"kind": "drop-tail"},
        "transport": {"cc": "newreno", "initial_window": "1000pkt", "opening": "established"},
        "traffic": {"sum": load},
    }  # fmt: skip
    run = shallows.run(document, store=tmp_path, progress=False)
    inputs = [
        "servers=3", "cards=4", "size=1200003B", "rate=100Gbps", "delay=2us", "scale_up_rate=400Gbps",
        "scale_up_delay=500ns", "mss=1460B", "header=40B",
    ]  # fmt: skip
    out = theory.evaluate("hierarchical", inputs)["outputs"]
    [row] = run.tables["rounds"].to_dicts()
    assert row["ideal_ps"] == pytest.approx(out["fct_ps"], abs=1000) and 1 <= row["slowdown"] < 1.05
    sent = run.tables["flows"].join(
        run.tables["messages"].group_by("flow").agg(pl.col("bytes").sum().alias("moved")),
        left_on="id",
        right_on="flow",
    )
    server = pl.col("src").str.split(".").list.first(), pl.col("dst").str.split(".").list.first()
    across = sent.filter(server[0] != server[1])
    assert across["moved"].mean() == pytest.approx(out["bytes_across"], rel=1e-5)
    with pytest.raises(SpecError, match="cards must be > 0"):
        theory.evaluate("hierarchical", ["cards=1"])
