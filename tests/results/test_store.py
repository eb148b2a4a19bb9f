import errno
import hashlib
import io
import json
import os
import threading
from pathlib import Path

import polars as pl
import pytest
import shallows
from hypothesis import given
from hypothesis import strategies as st
from shallows.document.points import key_of
from shallows.errors import StoreError
from shallows.results.parquet import columns, empty, files
from shallows.results.store import FORMAT, LEFTOVER_AGE_S, Store, manifest_digest, run_hash, store_path

NAME = "0123456789abcdef0123"
MANIFEST = {"hash": NAME, "seed": 1, "version": "1", "experiment": {"seed": 1}}
TABLES = {
    "flows": pl.DataFrame({"id": [0, 1], "x": [0.5, None]}),
    "empty": pl.DataFrame({"a": pl.Series([], dtype=pl.UInt64)}),
}


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "runs")
    store.prepare()
    return store


def test_what_is_stored_is_found_again(store):
    saved = store.save(MANIFEST, TABLES)
    found = store.find(NAME)
    assert found == saved
    assert found.manifest["format"] == FORMAT
    assert {name: table.equals(TABLES[name]) for name, table in found.tables.items()} == {
        "flows": True,
        "empty": True,
    }
    assert store.runs() == [found]
    assert found.tables["empty"].schema == TABLES["empty"].schema
    assert sorted(path.name for path in found.path.iterdir()) == ["flows.parquet", "manifest.json"]


def test_a_run_of_format_2_has_a_file_for_each_table_and_is_read(store):
    saved = store.save(MANIFEST, TABLES)
    manifest = json.loads((saved.path / "manifest.json").read_text()) | {"format": 2}
    data = saved.tables.parquet("empty")
    (saved.path / "empty.parquet").write_bytes(data)
    manifest["tables"]["empty"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest["sha256"] = manifest_digest(manifest)
    (saved.path / "manifest.json").write_text(json.dumps(manifest))
    store.prepare()
    assert store.find(NAME).tables["empty"].schema == TABLES["empty"].schema
    (saved.path / "empty.parquet").unlink()
    assert store.find(NAME) is None


def test_each_table_of_a_run_is_made_again_from_its_columns(tmp_path):
    experiment = {
        "duration": "1ms",
        "topology": {"kind": "star", "senders": 2, "rate": "10Gbps", "delay": "5us"},
        "queue": {"kind": "drop-tail", "limit": "100pkt"},
        "transport": {"cc": "dctcp"},
        "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0"}},
    }
    tables = shallows.run(experiment, store=tmp_path).tables
    assert len(tables) > 10
    for table in tables.values():
        assert pl.read_parquet(io.BytesIO(empty(columns(table)))).equals(table.clear())


def test_an_unknown_table_names_the_known_ones(store):
    with pytest.raises(KeyError, match="flows, empty"):
        store.save(MANIFEST, TABLES).tables["flow"]


def test_a_stored_run_is_never_written_again(store):
    store.save(MANIFEST, TABLES)
    before = {path.name: path.stat().st_mtime_ns for path in (store.path / NAME).iterdir()}
    store.save(MANIFEST | {"seed": 2}, TABLES)
    assert {path.name: path.stat().st_mtime_ns for path in (store.path / NAME).iterdir()} == before
    assert [path.name for path in store.path.iterdir()] == [NAME]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", [(Path, "write_bytes"), (os, "fsync"), (Path, "rename")], ids=lambda c: c[1])
def test_a_write_that_fails_leaves_nothing(store, monkeypatch, code, call):
    def fails(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(*call, fails)
    with pytest.raises(StoreError, match="no space left" if code == errno.ENOSPC else "not stored"):
        store.save(MANIFEST, TABLES)
    assert list(store.path.iterdir()) == []
    assert store.find(NAME) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"hash": "other"}', "\xff"])
def test_a_damaged_manifest_counts_as_absent_and_is_replaced(store, text):
    store.save(MANIFEST, TABLES)
    (store.path / NAME / "manifest.json").write_text(text, encoding="latin-1")
    assert store.find(NAME) is None
    store.save(MANIFEST, TABLES)
    assert store.find(NAME) is not None


def test_a_cut_table_counts_as_absent(store):
    store.save(MANIFEST, TABLES)
    file = store.path / NAME / "flows.parquet"
    file.write_bytes(file.read_bytes()[:-1])
    assert store.find(NAME) is None


def test_another_format_is_refused_with_who_wrote_it(store):
    store.save(MANIFEST, TABLES)
    file = store.path / NAME / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 99, "version": "9.9"}))
    with pytest.raises(StoreError, match=r"Shallows 9\.9 in store format 99"):
        store.find(NAME)
    assert store.runs() == []


def test_a_leftover_that_another_process_renames_meanwhile_is_no_fault(store, monkeypatch):
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter([self / ".new-gone"]))
    store.prepare()


def test_leftovers_are_never_read_and_go_with_age(store):
    old, new = store.path / ".new-old", store.path / ".new-young"
    for path in (old, new):
        path.mkdir()
        (path / "manifest.json").write_text(json.dumps(MANIFEST))
    os.utime(old, (0, old.stat().st_mtime - LEFTOVER_AGE_S - 1))
    assert store.runs() == []
    store.prepare()
    assert not old.exists()
    assert new.exists()


def test_many_writers_of_one_run_store_it_once(store):
    errors = []

    def write():
        try:
            store.save(MANIFEST, TABLES)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [path.name for path in store.path.iterdir()] == [NAME]


def test_a_store_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        Store(tmp_path / "runs").prepare()


def test_where_the_store_is(monkeypatch, tmp_path):
    monkeypatch.delenv("SHALLOWS_STORE", raising=False)
    assert str(store_path()) == "runs"
    monkeypatch.setenv("SHALLOWS_STORE", str(tmp_path))
    assert store_path() == tmp_path
    assert str(store_path("here")) == "here"


words = st.text(st.characters(codec="utf-8"), max_size=5)
values = st.recursive(
    st.booleans() | st.integers() | words,
    lambda x: st.lists(x, max_size=3) | st.dictionaries(words, x, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(words, values, max_size=5))
def test_the_hash_does_not_hang_on_the_order_of_keys(experiment):
    key = key_of(experiment | {"seed": 1})
    assert key == key_of({"seed": 1} | dict(reversed(experiment.items())))
    assert key != key_of(experiment | {"seed": 2})
    name = run_hash(key, "simulator", "1", "abc")
    assert name != run_hash(key, "simulator", "2", "abc")
    assert name != run_hash(key, "linux", "1", "abc")
    assert len(name) == 20


def test_a_store_of_the_first_format_is_refused_and_left_as_it_is(tmp_path):
    old = tmp_path / "0123456789abcdef0123"
    old.mkdir()
    (old / "manifest.json").write_text(json.dumps({"format": 1, "version": "0.1.0", "hash": old.name}))
    with pytest.raises(StoreError, match=r"Shallows 0\.1\.0 in store format 1.*choose another store"):
        Store(tmp_path).prepare()
    assert [path.name for path in tmp_path.iterdir()] == [old.name]


def test_a_small_table_keeps_what_is_no_number():
    table = pl.DataFrame({"x": [float("nan"), None, float("inf"), -0.0]})
    [(_, made)] = files({"table": table})
    read = pl.read_parquet(io.BytesIO(made))["x"]
    assert str(read.to_list()) == "[nan, None, inf, -0.0]"


def test_a_stored_run_of_format_2_has_the_numbers_that_it_had():
    """The run was stored by the last build that wrote format 2: 100 us of two DCTCP flows into one port."""
    [run] = Store(Path(__file__).parent / "stored").runs()
    assert run.manifest["format"] == 2
    assert Store(run.path.parent).find(run.hash) == run
    assert {name for name, table in run.tables.items() if len(table)} == {
        "flows",
        "queues",
        "queue_histogram",
        "wait_histogram",
    }
    chosen = ("goodput_bps_total", "drops", "bottleneck_p99_packets", "load.wait_p99_ps")
    assert [run.metrics[name] for name in chosen] == [6657600000.0, 0, 44, 23102336.0]
