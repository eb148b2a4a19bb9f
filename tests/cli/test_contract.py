"""The command line as a contract: JSON by its schema, exit statuses, a clean standard output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from conftest import ROOT, SMALL, shallows, write_toml

SCHEMAS = ROOT / "python/shallows/cli/schemas"


def answer(name: str, done, status: int = 0):
    assert done.returncode == status, done.stderr
    document = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    return document


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_the_shipped_schemas_are_schemas(path):
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


def test_run(tmp_path, small_file):
    found = answer("run", shallows("run", small_file, "--set", "transport.cc.g=0.1", "--json", cwd=tmp_path))
    assert (tmp_path / found["path"] / "manifest.json").exists()
    assert [flow["cc"] for flow in found["flows"]] == ["dctcp", "dctcp"]
    assert "switch->r0" in {queue["link"] for queue in found["queues"]}


def test_run_with_seeds_gives_each_and_the_interval(tmp_path, small_file):
    jitter = ("--set", "traffic.long.jitter=10us")
    found = answer("run", shallows("run", small_file, "--seeds", 3, *jitter, "--json", cwd=tmp_path))
    assert [run["seed"] for run in found["seeds"]] == [1, 2, 3]
    assert found["seeds"][0]["hash"] == found["hash"]
    assert len(found["over_seeds"]["long.srtt_mean_ps"]["ci95"]) == 2
    assert found["over_seeds"]["long.srtt_mean_ps"]["n"] == 3
    found = answer("run", shallows("run", small_file, "--seeds", 3, "--json", cwd=tmp_path))
    assert found["over_seeds"]["long.srtt_mean_ps"] == {
        "mean": found["metrics"]["long.srtt_mean_ps"], "ci95": None, "n": 1,
    }  # fmt: skip


def test_run_for_people_shows_queues_and_where_the_run_is(tmp_path, small_file):
    done = shallows("run", small_file, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (stored,) = (tmp_path / "runs").iterdir()
    assert f"stored: runs/{stored.name}" in done.stdout
    assert "goodput_bps_total" in done.stdout
    assert "switch->r0" in done.stdout
    assert (stored / "queue.svg").exists()
    assert "found in the store" in shallows("run", small_file, cwd=tmp_path).stdout


def test_sweep_and_its_shards(tmp_path):
    file = write_toml(tmp_path / "s.toml", SMALL | {"sweep": {"grid": {"transport.cc.g": [0.1, 0.2, 0.3]}}})
    shards = [shallows("sweep", file, "--shard", f"{k}/2", "--json", cwd=tmp_path) for k in (1, 2)]
    assert [len(answer("sweep", done)["points"]) for done in shards] == [2, 1]
    done = shallows("sweep", file, "--resume", "--workers", 1, "--json", cwd=tmp_path)
    assert "--resume is deprecated" in done.stderr
    whole = answer("sweep", done)
    assert [point["params"] for point in whole["points"]] == [{"transport.cc.g": g} for g in (0.1, 0.2, 0.3)]
    assert {point["status"] for point in whole["points"]} == {"stored"}
    assert whole["failed"] == 0
    assert shallows("sweep", file, cwd=tmp_path).stdout.count("stored") == 3


def test_list(tmp_path):
    found = answer("list", shallows("list", "--json", cwd=tmp_path))
    names = {(entry["kind"], entry["name"]) for entry in found}
    assert {("cc", "dctcp"), ("queue", "threshold"), ("topology", "star"), ("workload", "bulk")} <= names
    assert all(entry["summary"] for entry in found)
    for word, kind in {
        "cc": "cc",
        "queues": "queue",
        "topologies": "topology",
        "workloads": "workload",
    }.items():
        some = answer("list", shallows("list", word, "--json", cwd=tmp_path))
        assert {entry["kind"] for entry in some} == {kind}
    assert "dctcp" in shallows("list", "cc", cwd=tmp_path).stdout


def test_theory(tmp_path):
    found = answer("theory", shallows("theory", "dctcp", "rate=10Gbps", "k=65", "--json", cwd=tmp_path))
    assert found["name"] == "dctcp"
    assert len(answer("theories", shallows("theory", "--json", cwd=tmp_path))) > 1


def test_bench(tmp_path):
    (row,) = answer(
        "bench", shallows("bench", "dumbbell-8/probes=off", "--repeat", 1, "--json", cwd=tmp_path)
    )
    assert row["packet_hops"] > 0
    assert row["hops_per_cpu_s"] == pytest.approx(row["packet_hops"] / row["cpu_s"])


@pytest.mark.parametrize(
    "args",
    [
        ["run"],
        ["run", "missing.toml"],
        ["run", "small.toml", "--set", "queue.mark_at=20"],
        ["run", "small.toml", "--set", "nonsense"],
        ["run", "small.toml", "--seeds", "0"],
        ["run", "small.toml", "--seeds", "many"],
        ["run", "small.toml", "--backend", "abacus"],
        ["run", "small.toml", "--nonsense"],
        ["run", "small.toml", "--set", "sweep.grid.duration=['1ms','2ms']"],
        ["sweep", "small.toml", "--shard", "3/2"],
        ["sweep", "small.toml", "--workers", "0"],
        ["sweep", "small.toml", "--set", "sweep={}"],
        ["sweep", "small.toml", "--cluster", "nonsense"],
        ["sweep", "small.toml", "--timeout", "nonsense"],
        ["compare", "small.toml"],
        ["tune", "small.toml"],
        ["list", "nonsense"],
        ["theory", "nonsense"],
        ["bench", "nonsense"],
        ["reproduce", "nonsense"],
        ["nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_input_is_status_2_and_writes_nothing(tmp_path, small_file, args):
    done = shallows(*args, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [small_file]


def test_all_faults_of_a_file_are_printed_and_with_json_told(tmp_path):
    file = write_toml(
        tmp_path / "bad.toml", SMALL | {"durration": "1ms", "queue": {"kind": "threshold", "mark_at": 3}}
    )
    done = shallows("run", file, "--json", cwd=tmp_path)
    found = answer("error", done, 2)["error"]
    assert {fault["path"] for fault in found["faults"]} == {"durration", "queue.mark_at"}
    assert all(fault["path"] in done.stderr for fault in found["faults"])


def test_a_store_that_cannot_be_used_is_status_1(tmp_path, small_file):
    (tmp_path / "runs").write_text("not a directory")
    done = shallows("run", small_file, "--json", cwd=tmp_path)
    assert answer("error", done, 1)["error"]["kind"] == "StoreError"
    assert "Traceback" not in done.stderr


def test_a_store_of_another_version_is_refused_in_words(tmp_path, small_file):
    found = answer("run", shallows("run", small_file, "--json", cwd=tmp_path))
    file = tmp_path / found["path"] / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 99, "version": "9.9"}))
    before = sorted(tmp_path.rglob("*"))
    done = shallows("run", small_file, cwd=tmp_path)
    assert done.returncode == 1
    assert "written by Shallows 9.9" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(
    not Path("/dev/full").exists() or os.geteuid() != 0, reason="mounting a small disk takes Linux and root"
)
def test_a_full_disk_leaves_nothing_half_written(tmp_path, small_file):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", disk], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        done = shallows("run", small_file, "--store", disk / "runs", cwd=tmp_path)
        assert done.returncode == 1
        assert "no space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert list((disk / "runs").glob("*")) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_the_store_is_where_the_environment_says(tmp_path, small_file):
    place = tmp_path / "elsewhere"
    found = answer("run", shallows("run", small_file, "--json", cwd=tmp_path, SHALLOWS_STORE=str(place)))
    assert found["path"].startswith(str(place))


def test_a_reader_that_goes_away_is_no_traceback(tmp_path):
    command = f"{sys.executable} -m shallows list --json | head -c 1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_help_imports_nothing_heavy():
    heavy = ["numpy", "polars", "matplotlib", "pydantic", "jinja2", "shallows._core"]
    code = f"import sys, shallows, shallows.cli.app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_fits_eighty_columns_and_no_sentence_is_cut():
    from shallows.cli.app import app
    from typer.main import get_command
    from typer.testing import CliRunner

    def commands(group, path=()):
        for name, command in group.commands.items():
            yield (*path, name)
            if hasattr(command, "commands"):
                yield from commands(command, (*path, name))

    runner, known = CliRunner(), [(), *commands(get_command(app))]
    for path in known:
        done = runner.invoke(app, [*path, "--help"], terminal_width=80, prog_name="shallows")
        assert done.exit_code == 0, path
        lines = done.output.splitlines()[1:]  # the first is its usage
        assert max(map(len, lines)) <= 80, path
        assert len(lines) < 60, path
        assert not [line for line in lines if line.endswith((" ", "..."))], path


def test_the_version_names_the_sources_of_the_core():
    from shallows import _core

    done = shallows("--version", cwd=ROOT)
    assert done.stdout == f"shallows 0.2.0 (sources {_core.source_hash()[:12]})\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered_to_each_shell(shell):
    # The shell is given, not guessed from the parent process, which may be a plain sh.
    done = shallows("--show-completion", shell, cwd=ROOT, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0, done.stderr
    assert "shallows" in done.stdout
