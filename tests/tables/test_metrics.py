"""Metrics of hand-made tables, each value computed by hand."""

import json
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shallows.tables import metrics as m
from shallows.tables.drops import causes
from synthetic import MS, US, small_run, table, tables


def test_metrics_of_a_small_run():
    got = m.metrics(small_run())
    assert got["goodput_bps_total"] == pytest.approx(4.4e9)
    assert got["jain"] == pytest.approx(16 / (2 * 10))  # the two unbounded flows only
    assert got["drops"] == 5 and got["marks"] == 42
    assert got["retransmissions"] == 2 and got["timeouts"] == 1
    assert got["bottleneck_mean_packets"] == 50 and got["bottleneck_utilisation"] == 0.97
    assert got["long.goodput_bps"] == 4e9 and got["long.goodput_mean_bps"] == 2e9
    assert got["short.wait_mean_ps"] == 72 * US  # the flow without a packet has no mean
    assert got["short.delay_mean_ps"] == 122 * US and got["short.srtt_mean_ps"] == 174 * US
    assert got["short.messages"] == 3 and got["short.messages_unfinished"] == 1
    assert got["short.fct_p50_ps"] == 400 * US and got["short.slowdown_mean"] == pytest.approx(22 / 3)
    assert got["short.wait_p50_ps"] == pytest.approx(15 * US, rel=0.005)
    assert got["long.fct_p99_ps"] is None and got["long.wait_p50_ps"] is None
    assert all(isinstance(key, str) for key in got)
    json.dumps(got, allow_nan=False)


def test_rounds_of_an_incast():
    times = [100 * US, 300 * US, None]
    rows = [{"traffic": "incast", "round": k, "fct_ps": t} for k, t in enumerate(times)]
    got = m.metrics(small_run() | {"rounds": table("rounds", *rows)})
    assert got["incast.rounds"] == 2 and got["incast.rounds_unfinished"] == 1
    assert got["incast.round_fct_mean_ps"] == 200 * US and got["incast.round_fct_p50_ps"] == 200 * US


def test_application_throughput_is_the_share_of_deadlines_met():
    rows = [{"met": met, "deadline_ps": None if met is None else MS} for met in (1, 1, 0, None)]
    got = m.message_metrics(table("messages", *rows))
    assert got["application_throughput"] == pytest.approx(2 / 3) and got["deadlines"] == 3
    assert m.met_share(table("messages", {"met": None})) is None


def test_a_count_of_which_a_part_is_unknown_is_no_number():
    """A kernel does not say which connection lost a packet: nulls were summed to 0 drops."""
    run = small_run()
    known = m.metrics(run)
    one = pl.when(pl.int_range(pl.len()) > 0).then(pl.col("drops"))
    found = m.metrics(run | {"flows": run["flows"].with_columns(one.alias("drops"))})
    gone = {name for name in known if known[name] is not None and found[name] is None}
    assert gone and gone < {f"{each}.drops" for each in run["flows"]["class"].unique()} | {"drops"}
    assert found["drops"] == known["drops"]
    assert m.drops(run["queues"].with_columns(pl.lit(None, pl.UInt64).alias("drops"))) is None


def test_nothing_at_all_is_none_not_nan():
    got = m.metrics(tables())
    assert got["jain"] is None and got["goodput_bps_total"] == 0 and got["bottleneck_utilisation"] is None
    json.dumps(got, allow_nan=False)


def test_nan_never_reaches_json():
    flow = {"class": "x", "wait_mean_ps": math.nan, "goodput_bps": 1.0}
    run = small_run() | {"flows": table("flows", flow)}
    assert m.metrics(run)["x.wait_mean_ps"] is None
    json.dumps([m.metrics(run), m.flows_json(run), m.queues_json(run)], allow_nan=False)


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=30))
def test_jain_is_between_one_nth_and_one(values):
    got = m.jain(values)
    if got is None:
        assert sum(x * x for x in values) == 0
    else:
        assert 1 / len(values) - 1e-9 <= got <= 1 + 1e-9


def test_jain_of_equal_shares_and_of_one_taker():
    assert m.jain([5, 5, 5]) == pytest.approx(1) and m.jain([7, 0, 0, 0]) == pytest.approx(0.25)
    assert m.jain([0, 0]) is None


def test_fairness_of_all_flows_where_none_is_unbounded():
    flows = table("flows", {"bytes": 10, "goodput_bps": 1.0}, {"bytes": 10, "goodput_bps": 3.0})
    assert m.compared_goodput_bps(flows).to_list() == [1.0, 3.0]


def test_bottleneck_is_the_busiest_switch_port():
    assert m.bottleneck_port(small_run()["queues"]) == "switch->r0"
    assert m.bottleneck_port(table("queues", {"port": "h", "utilisation": 1.0})) is None
    twins = table("queues", {"port": "b", "is_switch": 1}, {"port": "a", "is_switch": 1})
    assert m.bottleneck_port(twins) == "a"


def test_by_size_puts_a_message_of_the_edge_below_it():
    got = m.by_size(small_run()["messages"]).select("low_bytes", "high_bytes", "messages")
    assert got.rows() == [(0, 10_000, 1), (100_000, 1_000_000, 2)]
    assert m.by_size(table("messages")).is_empty()
    top = m.by_size(table("messages", {"class": "x", "bytes": 10**9, "fct_ps": 5}))
    assert top["high_bytes"].to_list() == [None] and top["fct_p50_ps"].to_list() == [5]


PAIRS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=20)


@given(PAIRS, st.sampled_from([0.05, 0.5, 0.99]))
def test_weighted_quantile_is_that_of_the_repeated_list(pairs, q):
    repeated = sorted(value for value, weight in pairs for _ in range(weight))
    got = m.weighted_quantile([v for v, _ in pairs], [w for _, w in pairs], q)
    assert got == (repeated[max(math.ceil(q * len(repeated)) - 1, 0)] if repeated else None)


def test_quantiles_of_waits_are_of_a_class_in_ms():
    rows = [("a", "wait", 0, 10**9, 1), ("a", "wait", 10**9, 2 * 10**9, 1)]
    rows += [("a", "delay", 0, 4 * 10**9, 2), ("b", "wait", 0, 8, 9)]
    columns = ["class", "what", "low_ps", "high_ps", "packets"]
    tables = {"wait_histogram": pl.DataFrame(rows[::-1], schema=columns, orient="row")}
    assert m.wait_quantile_ms(tables, "a", 0.75) == pytest.approx(1.5)
    assert m.wait_quantile_ms(tables, "a", 0.5, "delay") == pytest.approx(1.0)
    assert m.wait_quantile_ms(tables, "none", 0.5) is None


def test_binned_quantile():
    assert m.binned_quantile([0, 10], [10, 20], [1, 1], 0.5) == 4.5
    assert m.binned_quantile([0, 10], [10, 20], [1, 3], 0.5) == pytest.approx(10 + 9 * 0.5 / 3)
    assert m.binned_quantile([0, 10], [10, 20], [0, 4], 0.0) == 10 + 9 * 0.5 / 4
    assert m.binned_quantile([52_400_000], [52_400_001], [7], 0.99) == 52_400_000
    assert m.binned_quantile([], [], [], 0.5) is None


@given(st.lists(st.integers(0, 400), min_size=1, max_size=60), st.floats(0, 1), st.integers(1, 64))
def test_a_binned_quantile_is_within_a_bin_and_within_what_was_seen(values, q, width):
    """The bins end at the least and the greatest value, as in `wait_histogram`."""
    counts: dict[int, int] = {}
    for value in values:
        counts[value // width] = counts.get(value // width, 0) + 1
    low = [max(each * width, min(values)) for each in sorted(counts)]
    high = [min((each + 1) * width, max(values) + 1) for each in sorted(counts)]
    found = m.binned_quantile(low, high, [counts[each] for each in sorted(counts)], q)
    exact = sorted(values)[max(math.ceil(q * len(values)), 1) - 1]
    assert abs(found - exact) <= width - 1 and min(values) <= found <= max(values)
    assert len(set(values)) > 1 or found == values[0]


def test_arrivals_count_up_to_an_instant():
    run = small_run()
    assert m.arrivals_bits(run, "switch->r0", "long", 5 * MS) == 5 * 45_000 * 8
    with pytest.raises(ValueError, match="no interval of class long ending at"):
        m.arrivals_bits(run, "switch->r0", "long", 5 * MS + 1)


def test_json_shapes_are_the_contract():
    run = small_run()
    flow, queue = m.flows_json(run)[2], m.queues_json(run)[1]
    assert flow == {
        "id": 2, "cc": "dctcp", "class": "short", "bytes": 512_000, "start_ps": 0, "fct_ps": None,
        "goodput_bps": 2e8, "retransmissions": 0, "timeouts": 0,
    }  # fmt: skip
    assert queue == {
        "link": "switch->r0", "mean_packets": 50.0, "p5_packets": 0, "p50_packets": 0, "p95_packets": 0,
        "p99_packets": 80, "mean_wait_ps": 6.0e7, "p99_wait_ps": 9.6e7, "packets_in": 100, "packets_out": 90,
        "packets_held": 7, "marks": 40, "utilisation": 0.97,
        "drops_by_cause": {cause.name: 0 for cause in causes()} | {"full": 3},
    }  # fmt: skip
    assert m.queues_json(run)[2]["mean_wait_ps"] is None


def test_tables_are_not_changed():
    run = small_run()
    before = {name: t.clone() for name, t in run.items()}
    m.metrics(run)
    assert all(t.equals(before[name]) for name, t in run.items())
    assert isinstance(run["flows"], pl.DataFrame)


def test_rounds_tell_their_goodput_and_their_timeouts():
    rows = [
        {
            "traffic": "q",
            "bytes": 1000,
            "fct_ps": 100 * US,
            "timeouts": 3,
            "timeouts_head": 2,
            "timeouts_tail": 1,
        },
        {"traffic": "q", "bytes": 1000, "fct_ps": 300 * US, "timeouts": 1},
        {"traffic": "q", "bytes": 1000, "fct_ps": None, "timeouts": 9},
    ]
    got = m.round_metrics(tables(rounds=rows), "q")
    assert got["round_goodput_bps"] == pytest.approx(16000 / 400e-6)
    assert [got[f"round_{k}_mean"] for k in ("timeouts", "timeouts_head", "timeouts_tail")] == [2, 1, 0.5]


def test_timeouts_by_the_switch_of_the_sender():
    rows = [{"src": "h0", "timeouts": 4}, {"src": "h1", "timeouts": 2}, {"src": "h5", "timeouts": 9}]
    flows = table("flows", *rows, {"src": "r0", "timeouts": 100})
    assert m.timeouts_by(flows, {"h0": "sw1", "h1": "sw1", "h5": "sw2"}) == {"sw1": 3, "sw2": 9}


def test_names_are_those_that_runs_have(tmp_path):
    import shallows
    from conftest import SMALL
    from shallows.tables.metric_names import names

    traffic = {
        "web": {"kind": "poisson", "from": "s*", "to": "r0", "load": 0.5, "sizes": "x"},
        "in": {"kind": "incast", "from": "s*", "to": "r0", "response": "10KB", "class": "burst"},
        "long": {"kind": "bulk", "from": "s0", "to": "r0"},
    }
    traffic["web"]["sizes"] = {"kind": "empirical", "name": "web_search"}
    run = shallows.run(SMALL | {"duration": "300ms", "traffic": traffic}, store=tmp_path)
    found = m.with_sizes(run.tables)
    known = names(run.experiment)
    assert set(found) <= set(known)
    assert "web.upto_10KB.fct_p99_ps" in found and "in.round_fct_p99_ps" in found
    assert {name for name in known if "upto_" not in name and "over_" not in name} <= set(found)


def test_rows_are_written_in_parts_with_the_same_values(monkeypatch, capsys):
    """`run --json` at 65 536 hosts cost three times the run: Python encoded each of a million queues."""
    from shallows import terminal

    rows = [
        {
            "id": n,
            "name": f'a"\n\u00e9{n}',
            "x": n / 7,
            "none": None,
            "tiny": 5e-324 * n,
            "by": {"full": n, "z": 1e300},
        }
        for n in range(95)
    ]
    monkeypatch.setattr(terminal.Records, "ROWS", 10)
    document = {"a": {"b": ["x\ny"]}, "rows": terminal.Records(pl.DataFrame(rows)), "c": 1}
    terminal.print_json(document | {"empty": terminal.Records(pl.DataFrame({"a": []}))})
    assert json.loads(capsys.readouterr().out) == document | {"rows": rows, "empty": []}
