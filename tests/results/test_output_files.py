"""Files beside the runs: written whole or not at all, and never over files of others."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import SMALL, shallows, write_toml
from shallows.errors import SpecError, StoreError
from shallows.figures import style
from shallows.results.pcapng import parse_requests
from shallows.studies.page import place


def page(new: Path) -> None:
    (new / "index.html").write_text("page")


def test_a_report_replaces_only_a_report(tmp_path):
    """Fault 17: `--out experiments` removed the sources of a paper."""
    place.write(tmp_path, "mine", page)
    place.write(tmp_path, "mine", page)
    sources = tmp_path / "xdctcp"
    sources.mkdir()
    (sources / "spec.toml").write_text("precious")
    for check in (place.check, lambda out, name: place.write(out, name, page)):
        with pytest.raises(StoreError, match=r"xdctcp was not made by Shallows"):
            check(tmp_path, "xdctcp")
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to(sources)
    for name in ("file", "link"):
        with pytest.raises(StoreError, match=r"was not made by Shallows"):
            place.write(tmp_path, name, page)
    assert (sources / "spec.toml").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "mine", "xdctcp"]
    (tmp_path / "empty").mkdir()
    assert place.write(tmp_path, "empty", page).read_text() == "page"


def test_a_report_that_cannot_be_put_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "reports/compare-small").mkdir(parents=True)
    (tmp_path / "reports/compare-small/notes").write_text("precious")
    file = write_toml(tmp_path / "small.toml", SMALL)
    done = shallows("compare", file, "--vary", "queue.mark_at=10pkt,20pkt", "--seeds", 2, cwd=tmp_path)
    assert done.returncode == 1
    assert "reports/compare-small was not made by Shallows" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/"])
def test_a_report_has_a_name(tmp_path, name):
    with pytest.raises(ValueError, match="name"):
        place.write(tmp_path, name, page)


def test_a_figure_appears_whole(tmp_path, monkeypatch):
    """Fault 16: a full disk left half of a figure."""
    from matplotlib.figure import Figure

    path = tmp_path / "queue.svg"
    style.save(Figure(), path)
    before = path.read_bytes()

    def fsync(handle):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space"):
        style.save(Figure(figsize=(1, 1)), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_full_after_the_run_leaves_a_good_run_and_a_clear_word(tmp_path):
    probe = tmp_path / "probe"
    probe.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", probe], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        file = write_toml(tmp_path / "small.toml", SMALL)
        assert shallows("run", file, "--store", probe / "runs", cwd=tmp_path).returncode == 0
        (figure,) = (probe / "runs").glob("*/queue.svg")
        figure.unlink()
        with pytest.raises(OSError, match="No space"), (probe / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
        done = shallows("run", file, "--store", probe / "runs", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "the figure was not written" in done.stderr
        assert "No space left" in done.stderr
        assert not list((probe / "runs").glob("*/*.svg*"))
        done = shallows("run", file, "--pcap", f"s0={probe}/s0.pcapng", cwd=tmp_path)
        assert done.returncode == 1
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert not list(probe.glob("*pcapng*"))
    finally:
        subprocess.run(["umount", probe], check=True)


def test_a_capture_never_overwrites_what_is_none(tmp_path):
    """Fault 18."""
    old, empty, other = tmp_path / "old.pcapng", tmp_path / "empty", tmp_path / "thesis.tex"
    old.write_bytes(bytes.fromhex("0a0d0d0a1c000000"))
    empty.touch()
    other.write_text("\\documentclass{thesis}")
    assert set(parse_requests([f"s0={old}", f"s1={empty}", f"s2={tmp_path}/new"])) == {"s0", "s1", "s2"}
    with pytest.raises(SpecError, match=r"is not a capture.*thesis\.tex"):
        parse_requests([f"s0={other}"])
    with pytest.raises(SpecError, match="is a directory"):
        parse_requests([f"s0={tmp_path}"])
    with pytest.raises(SpecError, match="twice"):
        parse_requests([f"s0={old}", f"s1={old}"])
    with pytest.raises(SpecError, match="twice"):
        parse_requests([f"s0={old}", f"s0={tmp_path}/new"])
