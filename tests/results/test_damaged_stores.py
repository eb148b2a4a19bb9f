"""Stored runs that were damaged, and stores in odd places: never another table, never a traceback."""

import json
import random
import subprocess
import sys
from contextlib import suppress

import polars as pl
import pytest
from conftest import SMALL, shallows, write_toml
from shallows.document.points import expand
from shallows.errors import DamagedRun, OtherFormat, StoreError
from shallows.execution.runner import Runner
from shallows.results.store import Store

NAME = "0123456789abcdef0123"
MANIFEST = {"hash": NAME, "seed": 1, "version": "1", "experiment": {"seed": 1}}


def tables(value: float) -> dict[str, pl.DataFrame]:
    return {"flows": pl.DataFrame({"id": [0, 1], "x": [value, None]}), "empty": pl.DataFrame({"a": []})}


def stored(place) -> Store:
    store = Store(place)
    store.prepare()
    return store


@pytest.mark.parametrize("name", ["run*", "run?", "results [final]", "{a,b}", "~", "%41", "a b'\""])
def test_the_name_of_a_store_is_no_pattern(tmp_path, name):
    """Fault 1: `run*` read the tables of `run1` and `run2` as well."""
    for value, place in ((1.0, "run1"), (2.0, "run2"), (3.0, name)):
        stored(tmp_path / place).save(MANIFEST, tables(value))
    found = stored(tmp_path / name).find(NAME)
    assert found is not None
    assert found.tables["flows"].equals(tables(3.0)["flows"])


def test_no_flipped_bit_gives_another_table(tmp_path):
    """Fault 8: 19 % of single-bit flips gave another table, in silence."""
    store = stored(tmp_path)
    run = store.save(MANIFEST, tables(0.5))
    chance = random.Random(8)
    for file in sorted(run.path.iterdir()):
        whole = file.read_bytes()
        for _ in range(60):
            at, bit = chance.randrange(len(whole)), chance.randrange(8)
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            with suppress(OtherFormat):  # the flip may hit the number of the format
                assert store.find(NAME) is None, (file.name, at, bit)
            with pytest.raises((DamagedRun, OtherFormat)):
                store.check(NAME)
        file.write_bytes(whole)
    assert store.find(NAME) is not None


def test_a_table_that_is_damaged_after_it_was_found_is_told(tmp_path):
    store = stored(tmp_path)
    store.save(MANIFEST, tables(0.5))
    run = store.find(NAME)
    file = run.path / "flows.parquet"
    file.write_bytes(bytes(reversed(file.read_bytes())))
    with pytest.raises(StoreError, match=r"flows\.parquet is damaged.*run it again"):
        run.tables["flows"]


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["tables"].pop("flows"),
        lambda m: m["tables"].update(more=m["tables"]["flows"]),
        lambda m: m.pop("seed"),
        lambda m: m.pop("tables"),
        lambda m: m.update(tables=[]),
        lambda m: m.update(experiment=7),
        lambda m: m["tables"].update({"../../flows": 1}),
    ],
)
def test_a_damaged_manifest_counts_as_absent(tmp_path, change):
    store = stored(tmp_path)
    file = store.save(MANIFEST, tables(0.5)).path / "manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest))
    assert store.find(NAME) is None
    assert store.runs() == []


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "1" * 10_000, "\0", '"\\ud800"'])
def test_a_manifest_of_rubbish_counts_as_absent(tmp_path, text):
    store = stored(tmp_path)
    file = store.save(MANIFEST, tables(0.5)).path / "manifest.json"
    file.write_text(text)
    assert store.find(NAME) is None
    assert store.runs() == []


def test_a_rotten_run_is_made_again_and_the_sweep_goes_on(tmp_path):
    points = expand(SMALL | {"seeds": 3})
    first = Runner.of(store=tmp_path, workers=1).run(points, metrics=True)
    good = [(o.run.path / "queues.parquet").read_bytes() for o in first]
    for outcome, file in zip(first, ["queues.parquet", "manifest.json", None], strict=True):
        if file:
            path = outcome.run.path / file
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
    again = Runner.of(store=tmp_path, workers=1).run(points, metrics=True)
    assert [o.status for o in again] == ["done", "done", "stored"]
    assert [(o.run.path / "queues.parquet").read_bytes() for o in again] == good
    assert [o.metrics for o in again] == [o.metrics for o in first]


READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 99
shift
exec "$@"
"""


def read_only(place, *command, cwd) -> subprocess.CompletedProcess:
    """The command, to which the directory cannot be written; also not if it is root's."""
    sandbox = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "sh", str(place)]
    done = subprocess.run([*sandbox, *command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no namespace of mounts here: {done.stderr.strip()}")
    return done


def test_a_store_that_is_read_only_can_be_used(tmp_path):
    """Fault 19: existing files are found; a missing one is refused before anything runs."""
    file = write_toml(tmp_path / "s.toml", SMALL | {"seeds": 2})
    assert shallows("run", file, cwd=tmp_path).returncode == 0
    for figure in (tmp_path / "runs").glob("*/queue.svg"):
        figure.unlink()
    command = [sys.executable, "-m", "shallows", "run", str(file)]
    done = read_only(tmp_path / "runs", *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "found in the store" in done.stdout
    assert "the figure was not written" in done.stderr
    done = read_only(tmp_path / "runs", *command, "--seeds", "3", cwd=tmp_path)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "1 of 3 runs" in done.stderr
    assert len(list((tmp_path / "runs").iterdir())) == 2
