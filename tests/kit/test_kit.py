"""Kits: their content, their repetition, and changes that it finds."""

import json
import stat
import zipfile
from pathlib import Path

import pytest
from conftest import shallows, write_toml
from shallows.errors import SpecError
from shallows.execution.runner import Runner
from shallows.kit import laboratory
from shallows.kit.make import check, make, sources
from shallows.kit.repeat import repeat
from shallows.kit.subject import Experiment, Paper, subject_of
from shallows.progress import shown

ROOT = Path(__file__).parents[2]


@pytest.fixture
def quiet(monkeypatch):
    """Without the compiled page, which other tests look at."""
    monkeypatch.setattr(laboratory, "page_of", lambda subject, backend: ("<p>the page</p>", []))


def progress(what, total):
    return shown(what, total, False)


def packed(subject, place, **more):
    runner = Runner.of(store=place / "runs", workers=1)
    check(subject, place / "out.zip")
    given = {"with_sources": False, "progress": progress} | more
    return make(subject, runner, place / "out.zip", "shallows kit", **given)


def unpacked(place):
    with zipfile.ZipFile(place / "out.zip") as file:
        file.extractall(place / "there")
    return place / "there/out"


def with_sweep(place, small):
    """An experiment whose loads are a file's, with a sweep."""
    (place / "loads").mkdir()
    (place / "loads/flows.csv").write_text("start,from,to,bytes\n0s,s0,r0,20KB\n10us,s1,r0,40KB\n")
    traffic = {"short": {"kind": "table", "name": "loads/flows.csv"}}
    sweep = {"grid": {"queue.mark_at": ["5pkt", "20pkt"]}}
    return write_toml(place / "mine.toml", small | {"traffic": traffic, "sweep": sweep})


def test_a_kit_of_a_sweep_has_its_files_and_repeats(tmp_path, small, quiet):
    file = with_sweep(tmp_path, small)
    made = packed(Experiment(file, ["transport.cc=newreno"], 2), tmp_path)
    folder = unpacked(tmp_path)
    assert (folder / "experiment/loads/flows.csv").read_bytes() == (tmp_path / "loads/flows.csv").read_bytes()
    assert {p.name for p in folder.iterdir()} == {
        "README.md", "experiment", "kit.json", "laboratory.html", "repeat.sh", "report"
    }  # fmt: skip
    told = json.loads((folder / "kit.json").read_text())
    assert list(told["runs"]) == [f"mark_at {k}pkt, seed {n}" for k in (5, 20) for n in (1, 2)]
    assert told["runs"] == made.record.runs
    # Elsewhere, and without the user's own files.
    (tmp_path / "loads/flows.csv").unlink()
    found, differences = repeat(
        folder, told, Runner.of(store=tmp_path / "new", workers=1), "check-kit", progress
    )
    assert (differences, found.runs) == ([], told["runs"])
    # The reports tell the same.
    assert (folder / "report/metrics.csv").read_bytes() == (folder / "repeated/mine/metrics.csv").read_bytes()


def test_equal_runs_give_an_equal_kit(tmp_path, small_file, quiet):
    packed(Experiment(small_file), tmp_path)
    first = (tmp_path / "out.zip").read_bytes()
    (tmp_path / "out.zip").unlink()
    packed(Experiment(small_file), tmp_path)
    assert (tmp_path / "out.zip").read_bytes() == first


def test_a_change_is_found_by_its_name(tmp_path, small_file, quiet):
    packed(Experiment(small_file), tmp_path)
    folder = unpacked(tmp_path)
    text = (folder / "experiment/small.toml").read_text()
    (folder / "experiment/small.toml").write_text(text.replace("20pkt", "19pkt"))
    done = shallows("check-kit", folder, "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert [each["name"] for each in told["differences"]] == ["seed 1"]
    done = shallows("check-kit", folder, cwd=tmp_path)
    assert done.returncode == 1 and "1 run: not all as recorded" in done.stdout


def test_a_kit_of_a_figure_has_verdicts(tmp_path, quiet):
    made = packed(Paper("sdc-racs/model-check", quick=True), tmp_path)
    folder = unpacked(tmp_path)
    told = json.loads((folder / "kit.json").read_text())
    assert told["verdicts"] and told["verdicts"] == made.record.verdicts
    assert all(name.startswith("sdc-racs/model-check/") for name in told["verdicts"])
    assert (folder / "experiment/sdc-racs/fig3-7/claims.toml").is_file()  # its other figures come along
    told["verdicts"][next(iter(told["verdicts"]))] = "something else"
    _, differences = repeat(folder, told, Runner.of(store=tmp_path / "new", workers=1), "x", progress)
    assert [each.recorded for each in differences] == ["something else"]


def test_entries_of_the_page_are_the_very_runs(tmp_path, small):
    from shallows.document.points import expand

    file = with_sweep(tmp_path, small)
    subject = Experiment(file, (), 2)
    made, lacking = laboratory.entries(subject)
    assert lacking == []
    keys = [point.key for point in subject.points() if point.seed == 1]
    import tomllib

    assert [expand(tomllib.loads(each["text"]))[0].key for each in made] == keys
    plain = write_toml(tmp_path / "plain.toml", small | {"seeds": [7]})
    [entry], _ = laboratory.entries(Experiment(plain))
    assert entry["text"].count("\n") < 10  # the user's own words, not every setting


def test_what_a_page_cannot_run_is_said(tmp_path, small):
    large = small | {"duration": "100s", "probe": {"queue_trace": "change"}}
    made, lacking = laboratory.entries(Experiment(write_toml(tmp_path / "large.toml", large)))
    assert made == [] and "MB by the estimate" in lacking[0]


def test_runs_of_another_backend_have_no_page(small_file):
    page, [sentence] = laboratory.page_of(Experiment(small_file), "linux")
    assert page is None and "these runs come from linux" in sentence


def test_all_faults_at_once(tmp_path, small):
    outside = tmp_path / "flows.csv"
    outside.write_text("start,from,to,bytes\n0s,s0,r0,20KB\n")
    (tmp_path / "in").mkdir()
    traffic = {"short": {"kind": "table", "name": "../flows.csv"}}
    file = write_toml(tmp_path / "in/mine.toml", small | {"traffic": traffic})
    with pytest.raises(SpecError) as raised:
        check(Experiment(file), tmp_path / "out.tar")
    rules = [fault.rule for fault in raised.value.faults]
    assert "must end in .zip" in rules and any("lies outside" in rule for rule in rules)
    (tmp_path / "there.zip").write_text("somebody's work")
    with pytest.raises(SpecError, match="is there already"):
        check(Experiment(write_toml(tmp_path / "a.toml", small)), tmp_path / "there.zip")


@pytest.mark.parametrize(
    ("target", "settings", "seeds", "quick", "path"),
    [
        ("dt-cwa", ["seed=2"], None, False, "--set"),
        ("dt-cwa", [], 3, False, "--seeds"),
        ("mine.toml", [], None, True, "--quick"),
    ],
)
def test_options_that_do_not_apply_are_refused(target, settings, seeds, quick, path):
    with pytest.raises(SpecError, match=path):
        subject_of(target, settings, seeds, quick)


def test_what_is_no_kit_is_refused(tmp_path):
    done = shallows("check-kit", tmp_path, cwd=tmp_path)
    assert done.returncode == 2 and "is no unpacked kit" in done.stderr
    (tmp_path / "a.zip").write_bytes(b"")
    done = shallows("check-kit", "a.zip", cwd=tmp_path)
    assert done.returncode == 2 and "must be unpacked first" in done.stderr


def test_the_sources_are_those_that_git_has(tmp_path):
    listed = [file.relative_to(ROOT).as_posix() for file in sources()]
    if not (ROOT / ".git").exists():
        assert listed == []
        return
    assert {"shallows", "Cargo.lock", "crates/core/src/lib.rs", "uv.lock"} <= set(listed)
    assert not any(name.startswith(("target/", ".venv/", "runs/")) for name in listed)


def test_links_and_scripts_keep_what_they_are(tmp_path):
    from shallows.kit.make import write_zip

    (tmp_path / "link").symlink_to("../there")
    script = tmp_path / "run"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    with (tmp_path / "a.zip").open("wb") as file:
        write_zip(file, "a", {"link": tmp_path / "link", "run": script, "text": b"x"})
    about = {i.filename: i.external_attr >> 16 for i in zipfile.ZipFile(tmp_path / "a.zip").infolist()}
    assert stat.S_ISLNK(about["a/link"])
    assert (about["a/run"] & 0o777, about["a/text"] & 0o777) == (0o755, 0o644)
