"""The bench of a kernel: the files that are copied, so that make compiles what has changed and no more."""

import os
import subprocess

import pytest
from shallows.backends.linux import bench
from shallows.backends.linux.bench import Bench
from shallows.backends.linux.gpl import edits
from shallows.errors import ShallowsError
from test_linux import tree

EDITED = "arch/um/os-Linux/util.c"
FILES = {"net/a.c": "int a;\n", "net/b.c": "int b;\n", "net/Kconfig": "config A\n"}
MAKEFILE = "VERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 12\n"


def mute(text):
    pass


def sources(place, **changed):
    made = tree(place)
    for name, text in (FILES | {"Makefile": MAKEFILE} | changed).items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    return made


def archive(place, name="a.tar.xz"):
    """An archive as Debian's, of old files."""
    for path in place.rglob("*"):
        os.utime(path, (10**9, 10**9))
    subprocess.run(["tar", "cJf", place.parent / name, "-C", place.parent, place.name], check=True)
    return place.parent / name


@pytest.fixture
def one(tmp_path, monkeypatch):
    monkeypatch.setenv("SHALLOWS_CACHE", str(tmp_path / "cache"))
    return Bench.of("7.2", (b"recipe",))


def compiled(one):
    """As after a build."""
    one.objects.mkdir(exist_ok=True)
    (one.objects / "a.o").touch()
    one.configured.write_text("[]")


def newer(one):
    """The sources that make would compile anew."""
    when = (one.objects / "a.o").stat().st_mtime_ns
    files = [path for path in one.sources.rglob("*") if path.is_file()]
    return {path.relative_to(one.sources).as_posix() for path in files if path.stat().st_mtime_ns > when}


def test_a_tree_of_the_users_is_only_read(one, tmp_path):
    mine = sources(tmp_path / "mine")
    for name in (".config", "include/generated/a.h", "net/a.o", ".git/HEAD"):
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_text("")
    (mine / "dts").symlink_to("net")
    before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    times = {path: path.stat().st_mtime_ns for path in before}
    for _ in range(2):
        one.hold_tree(mine, mute)
    assert {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()} == before
    assert {path: path.stat().st_mtime_ns for path in before} == times
    assert "uml_seed" in (one.sources / EDITED).read_text()
    # Files built in the tree are left out, or make would refuse to build elsewhere.
    found = {path.relative_to(one.sources).as_posix() for path in one.sources.rglob("*") if path.is_file()}
    assert found == {"arch/um/Kconfig", edits.TIMER, edits.CALLS, EDITED, "Makefile", *FILES}
    assert (one.sources / "dts").readlink().as_posix() == "net"


def test_a_changed_line_makes_one_file_newer_than_the_objects(one, tmp_path):
    mine = sources(tmp_path / "mine")
    one.hold_tree(mine, mute)
    compiled(one)
    for path in mine.rglob("*"):  # as a checkout of the same commit
        path.touch()
    assert one.hold_tree(mine, mute) == 0
    assert newer(one) == set()
    (mine / "net/a.c").write_text("int c;\n")
    (mine / EDITED).write_text((mine / EDITED).read_text() + "int d;\n")
    assert one.hold_tree(mine, mute) == 2
    assert newer(one) == {"net/a.c", EDITED}
    assert "uml_seed" in (one.sources / EDITED).read_text()
    assert one.configured.exists()
    (mine / "net/b.c").unlink()
    (mine / "net/Kconfig").write_text("config B\n")
    assert one.hold_tree(mine, mute) == 2
    assert not (one.sources / "net/b.c").exists()
    assert not one.configured.exists()


def test_a_tree_uses_the_objects_of_a_debian_build_of_its_version(one, tmp_path):
    packed = archive(sources(tmp_path / "linux"))
    one.hold_archive(packed, mute)
    compiled(one)
    one.forget_sources()
    mine = sources(tmp_path / "mine", **{"net/b.c": "int c;\n"})
    said = []
    assert one.hold_tree(mine, said.append) == 1
    assert said[0] == "unpacking the sources of the objects that are kept"
    assert newer(one) == {"net/b.c"} and (one.objects / "a.o").exists()
    one.hold_archive(packed, mute)  # and back
    assert (one.sources / "net/b.c").read_text() == FILES["net/b.c"]
    assert newer(one) == {"net/b.c"}


def test_objects_without_their_sources_are_not_used_for_others(one, tmp_path):
    one.hold_archive(archive(sources(tmp_path / "linux")), mute)
    compiled(one)
    one.forget_sources()
    later = archive(sources(tmp_path / "later", **{"net/b.c": "int c;\n"}), "b.tar.xz")
    one.hold_archive(later, mute)
    assert not one.objects.exists() and not one.configured.exists()


def test_an_interrupted_change_is_compared_whole(one, tmp_path, monkeypatch):
    mine, other = sources(tmp_path / "mine"), sources(tmp_path / "other", **{"net/a.c": "1", "net/b.c": "2"})
    one.hold_tree(mine, mute)
    compiled(one)
    copy, done = bench._copy, []

    def stop(of, to):
        if done:
            raise KeyboardInterrupt
        done.append(to)
        copy(of, to)

    monkeypatch.setattr(bench, "_copy", stop)
    with pytest.raises(KeyboardInterrupt):
        one.hold_tree(other, mute)
    monkeypatch.setattr(bench, "_copy", copy)
    assert one.hold_tree(mine, mute) == 1
    assert {(one.sources / name).read_text() for name in FILES} == {*FILES.values()}


def test_a_release_is_the_first_two_numbers_of_a_version(tmp_path):
    assert bench.release_of(sources(tmp_path / "mine")) == "7.2"
    with pytest.raises(ShallowsError, match="is not a kernel source"):
        bench.release_of(tmp_path / "none")


def test_what_is_no_tree_is_refused_by_its_own_name(one, tmp_path):
    with pytest.raises(ShallowsError, match=f"{tmp_path}/none is not a kernel source with User-Mode Linux"):
        one.hold_tree(tmp_path / "none", mute)
    assert not one.sources.exists()
    strange = tree(tmp_path / "strange", timer="#define TIMER_MULTIPLIER 512\n")
    with pytest.raises(ShallowsError, match=f"{strange}/.*: expected one place"):
        one.hold_tree(strange, mute)
