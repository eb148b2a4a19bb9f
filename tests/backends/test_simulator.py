import json
import math
import struct

import polars as pl
import pytest
import shallows
from shallows import _core
from shallows.errors import RunError, SpecError
from shallows.tables.frames import FEW_ROWS, to_frame
from synthetic import SCHEMAS


def pack(code, *values):
    return struct.pack(f"<{len(values)}{code}", *values)


def test_columns_become_a_table_with_nulls_where_the_core_says_so():
    table = to_frame(
        [
            ("id", "u32", pack("I", 0, 2**32 - 1)),
            ("bytes", "u64?", pack("Q", 5, 2**64 - 1)),
            ("count", "u64", pack("Q", 5, 2**64 - 1)),
            ("alpha", "f64?", pack("d", 0.5, math.nan)),
            ("cc", "str", (["cubic", "dctcp"], pack("I", 1, 1))),
        ]
    )
    assert table.rows() == [(0, 5, 5, 0.5, "dctcp"), (2**32 - 1, None, 2**64 - 1, None, "dctcp")]
    assert table.dtypes == [pl.UInt32, pl.UInt64, pl.UInt64, pl.Float64, pl.String]


def test_long_columns_become_what_short_ones_do():
    """Short columns get their words and nulls in Python, long ones by polars."""
    rows, times = 4, FEW_ROWS
    columns = [
        ("all", "u64?", pack("Q", 1, 2, 3, 4)),
        ("bytes", "u64?", pack("Q", 5, 2**64 - 1, 0, 2**64 - 2)),
        ("id", "u32?", pack("I", 5, 2**32 - 1, 0, 1)),
        ("alpha", "f64?", pack("d", 0.5, math.nan, math.inf, -0.0)),
        ("cc", "str", (["cubic", "", "dctcp"], pack("I", 1, 0, 2, 2))),
    ]
    long = [
        (name, kind, (data[0], data[1] * times) if isinstance(data, tuple) else data * times)
        for name, kind, data in columns
    ]
    short, table = to_frame(columns), to_frame(long)
    assert table.schema == short.schema
    assert len(table) == rows * times
    assert table.equals(pl.concat([short] * times))


def test_empty_columns_keep_their_types():
    table = to_frame([("a", "u64?", b""), ("b", "str", ([], b""))])
    assert table.dtypes == [pl.UInt64, pl.String]
    assert len(table) == 0


def test_one_run_is_stored_with_all_that_decides_it(tmp_path, small):
    seen = []
    run = shallows.run(
        small,
        settings=["transport.cc.g=0.1"],
        store=tmp_path,
        progress=lambda done, failed: seen.append(done),
    )
    assert run.path == tmp_path / run.hash
    manifest = json.loads((run.path / "manifest.json").read_text())
    assert manifest["experiment"]["traffic"]["long"]["transport"]["cc"]["g"] == 0.1
    assert manifest["source_hash"] == _core.source_hash()
    assert {
        "hash",
        "seed",
        "version",
        "backend",
        "counts",
        "memory",
        "cpu_s",
        "wall_s",
        "finished_at",
    } <= set(manifest)
    assert {"packet_hops", "events", "flows"} <= set(manifest["counts"])
    assert len(run.tables["flows"]) == 2
    assert shallows.run(small, settings=["transport.cc.g=0.1"], store=tmp_path).manifest == manifest


def test_the_stored_experiment_is_a_legal_one_and_finds_its_run(tmp_path, small):
    run = shallows.run(small, store=tmp_path)
    assert shallows.run(run.experiment, store=tmp_path).hash == run.hash


def test_every_table_of_the_contract_is_there(tmp_path, small):
    run = shallows.run(small, store=tmp_path)
    names = "flows messages rounds steps datagrams queues queue_histogram inner_queues inner_histogram"
    names += " wait_histogram queue_trace port_trace flow_trace packets pauses credits losses shares"
    assert set(run.tables) == {*names.split()}
    for name, schema in SCHEMAS.items():
        assert dict(run.tables[name].schema) == schema, name


def test_several_runs_are_not_one(tmp_path, small):
    with pytest.raises(SpecError, match="describes 3 runs"):
        shallows.run(small | {"seeds": 3}, store=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_faulty_document_raises_all_faults_from_the_door_too(small):
    small["queue"]["mark_att"] = small["tite"] = "1pkt"
    with pytest.raises(SpecError) as caught:
        _core.Simulation(json.dumps(small | {"seed": 1}))
    assert {fault.path for fault in caught.value.faults} >= {"queue.mark_att", "tite"}


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"a": NaN}', "[" * 10_000])
def test_the_door_answers_for_text_that_is_no_document(text):
    answer = json.loads(_core.check(text))
    assert answer["experiment"] is None
    assert answer["faults"]


def test_a_simulation_runs_once_and_has_tables_only_then(small):
    simulation = _core.Simulation(json.dumps(small | {"seed": 1}))
    for call in (simulation.tables, simulation.manifest):
        with pytest.raises(RunError, match="not run"):
            call()
    simulation.run()
    assert simulation.progress() == 1.0
    with pytest.raises(RunError, match="has run"):
        simulation.run()
    assert simulation.tables()


def test_a_cancelled_run_raises_and_has_no_tables(small):
    simulation = _core.Simulation(json.dumps(small | {"seed": 1, "duration": "100s"}))
    simulation.cancel()
    with pytest.raises(RunError):
        simulation.run()
    with pytest.raises(RunError):
        simulation.tables()


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [("span", "25us", 25_000_000), ("rate", "10Gbps", 10**10), ("bytes", "150KB", 150_000)],
)
def test_unit_strings_are_exact(kind, text, value):
    assert _core.parse_quantity(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text"), [("span", "25"), ("rate", "10gbps"), ("bytes", "-1B"), ("speed", "1m")]
)
def test_unit_strings_that_are_none_are_refused(kind, text):
    with pytest.raises(ValueError, match=r"\w"):
        _core.parse_quantity(kind, text)
