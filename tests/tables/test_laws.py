"""The laws of tables: each can be broken, real runs keep them, and the reference page is made from them."""

import json
import re

import polars as pl
import pytest
from conftest import ROOT, SMALL, shallows, write_toml
from shallows.document.load import load
from shallows.document.points import expand
from shallows.execution.runner import Runner
from shallows.results.store import Store
from shallows.tables import laws
from synthetic import SCHEMAS

FULL = SMALL | {
    "queue": {"kind": "codel", "limit": "60pkt", "target": "20us", "interval": "200us"},
    "port": {
        "*->*": {"loss": 0.01, "mark": 0.02, "duplicate": 0.01, "reorder": 0.02, "reorder_delay": "20us"}
    },
    "traffic": {
        "long": {"kind": "bulk", "from": "s*", "to": "r0"},
        "short": {
            "kind": "messages", "from": "s0", "to": "r0", "bytes": "20KB", "interval": "300us", "count": 4
        },
        "plain": {"kind": "datagrams", "from": "s0", "to": "r0", "bytes": "500B", "every": "20us"},
    },
    "probe": {
        "queue_trace": "change", "port_trace": "50us", "flow_trace": "change", "packets": ["*->*"],
        "at_dequeue": True, "nic_queues": True, "shares": True,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    [outcome] = Runner.of(store=tmp_path_factory.mktemp("runs")).run(expand(load(FULL)))
    return outcome.run


def broken(run, **tables):
    return laws.broken({**run.tables, **tables}, run.experiment, run.manifest["counts"])


def test_a_real_run_with_every_table_keeps_all_laws(run):
    assert broken(run) == []
    empty = {name for name, table in run.tables.items() if not len(table)}
    assert empty <= {"rounds", "steps", "inner_queues", "inner_histogram", "pauses", "credits", "losses"}


def test_another_backend_may_lack_numbers_and_keeps_the_other_laws(run):
    """A number is null there, and counts of the simulator are missing; all rows are judged still."""
    flows = run.tables["flows"]
    lacks = {**run.tables, "flows": flows.with_columns(pl.lit(None, pl.UInt64).alias("drops"))}
    assert [one.law for one in broken(run, flows=lacks["flows"])] == ["drops is never null"]
    assert laws.broken(lacks, run.experiment, {}, "linux") == []
    late = flows.with_columns(pl.lit(2**60, pl.UInt64).alias("start_ps"))
    assert laws.broken({**lacks, "flows": late}, run.experiment, {}, "linux")


@pytest.mark.parametrize("table", ["flows", "messages", "queues", "queue_histogram", "packets", "flow_trace"])
def test_no_column_may_change_unnoticed(run, table):
    frame = run.tables[table]
    for change in (frame.drop(frame.columns[-1]), frame.rename({frame.columns[0]: "other"})):
        assert broken(run, **{table: change})


@pytest.mark.parametrize(
    ("table", "column", "value", "law"),
    [
        ("queues", "utilisation", 1.000001, "utilisation in [0, 1]"),
        ("queues", "utilisation", float("nan"), "utilisation is finite"),
        ("queues", "mean_packets", 1e9, "mean_packets <= max_packets"),
        ("queues", "packets_in", 10**9, "packets_in = packets_out + packets_held"),
        ("queues", "drops_wire", 10**9, "drops_wire + drops_cut <= packets_out"),
        ("queues", "p95_packets", 10**9, "p95_packets <= p99_packets"),
        ("queues", "mean_wait_ps", 1e15, "mean_wait_ps <= duration_ps"),
        ("messages", "slowdown", 0.999, "slowdown in [1, )"),
        ("messages", "flow", 10**6, "each message is some connection's"),
        ("flows", "retransmissions", 10**12, "retransmissions <= packets_sent"),
        ("flow_trace", "cwnd_bytes", -1.0, "cwnd_bytes >= 0"),
        ("flow_trace", "flow", 10**6, "each flow traced after `warmup` is in `flows`"),
        ("queue_histogram", "time_ps", 1, "a histogram covers the time of the statistics"),
        ("packets", "ecn", 4, "ecn in [0, 3]"),
    ],
)  # fmt: skip
def test_each_kind_of_law_can_be_broken(run, table, column, value, law):
    frame = run.tables[table]
    changed = frame.with_columns(pl.lit(value, frame.schema[column]).alias(column))
    assert any(found.law.startswith(law) for found in broken(run, **{table: changed})), law


def test_every_law_can_be_read_and_speaks_of_columns_that_there_are():
    for table in laws.tables().values():
        names = {column.name for column in table.columns} | {"duration_ps", "warmup_ps"}
        for law in table.laws:
            words = set(re.findall(r"[a-z][a-z_0-9]*", law))
            assert words <= names, (table.name, law)
            pl.sql_expr(law)


def test_the_hand_made_tables_of_other_tests_have_the_declared_columns():
    types = {"u64": pl.UInt64, "u32": pl.UInt32, "f64": pl.Float64, "str": pl.String}
    declared = {
        name: {column.name: types[column.type.removesuffix("?")] for column in table.columns}
        for name, table in laws.tables().items()
    }
    assert declared == SCHEMAS


def test_check_run(tmp_path):
    file = write_toml(tmp_path / "small.toml", SMALL)
    name = json.loads(shallows("run", file, "--json", cwd=tmp_path).stdout)["hash"]
    done = shallows("check-run", name, cwd=tmp_path)
    assert (done.returncode, "keep all" in done.stdout) == (0, True), done.stderr
    run = Store(tmp_path / "runs").find(name)
    assert run is not None
    queues = run.tables["queues"].with_columns(utilisation=pl.lit(1.5))
    other = "0" * 20
    Store(tmp_path / "runs").save({**run.manifest, "hash": other}, {**run.tables, "queues": queues})
    done = shallows("check-run", other, "--json", cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["broken"][0]["law"] == "utilisation in [0, 1]"
    data = bytearray((run.path / "flows.parquet").read_bytes())
    data[100] ^= 1
    (run.path / "flows.parquet").write_bytes(data)
    assert "flows.parquet is damaged" in shallows("check-run", name, cwd=tmp_path).stderr
    assert shallows("check-run", "../../etc", cwd=tmp_path).returncode == 2


def test_a_run_stored_before_the_column_drops_is_read_with_it(run, tmp_path):
    def older(frame):
        return frame.drop(column for column in ("drops", "drops_cut") if column in frame.columns)

    tables = {name: older(t) if name in ("queues", "inner_queues") else t for name, t in run.tables.items()}
    Store(tmp_path).save(run.manifest, tables)
    again = Store(tmp_path).find(run.hash)
    assert again is not None and broken(again) == []
    assert again.metrics["drops"] == run.metrics["drops"] > 0


def test_the_reference_page_is_made_from_the_laws():
    page = (ROOT / "docs/reference/tables.md").read_text()
    for table in laws.tables().values():
        assert f"## {table.name}" in page
        assert all(f"`{law}`" in page for law in table.laws)


def test_each_number_is_bounded_from_both_sides():
    """From below by 0 or its range, from above by its range or an expression, or a reason says why not."""
    for table in laws.tables().values():
        for column in table.columns:
            closed = column.range.startswith("{") or not column.range.endswith(", )")
            bounded = bool(column.range) and closed
            if column.type.startswith("str"):
                assert not column.most, f"{table.name}.{column.name}"
            else:
                assert bounded != bool(column.most), f"{table.name}.{column.name}"
            if column.most.startswith(laws.FREE):
                assert len(column.most) > len(laws.FREE) + 5, f"{table.name}.{column.name} has no reason"


@pytest.mark.parametrize("table", list(laws.tables()))
def test_a_value_above_its_bound_breaks_a_law(run, table):
    """Each bound of each table, in a row of the run, if the table has one there."""
    frame = run.tables[table]
    if frame.is_empty():
        return
    largest = {pl.UInt64: 2**64 - 1, pl.UInt32: 2**32 - 1, pl.Float64: 1e300}
    for column in laws.tables()[table].columns:
        if column.bound:
            whole = frame.filter(pl.col(column.name).is_not_null())
            if whole.is_empty():
                continue
            high = pl.lit(largest[type(frame.schema[column.name])], frame.schema[column.name])
            odd = {**run.tables, table: whole.with_columns(high.alias(column.name))}
            found = [one.law for one in laws.broken(odd, run.experiment, run.manifest["counts"])]
            assert column.bound in found, column
