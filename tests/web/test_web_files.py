"""Files behind the live page: those made in a process apart, reports, and words of completion."""

import asyncio
import json
import os
import tomllib
import zipfile
from io import BytesIO

import pytest
import shallows
from conftest import SMALL, write_toml
from shallows.document.check import check
from shallows.document.schema import schema
from shallows.web.editor.completion import kinds, known
from shallows.web.jobs.renderer import Renderer, RenderError
from shallows.web.limits import Limits
from shallows.web.pages import papers
from shallows.web.pages.reports import document_of, report_of


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    path = write_toml(folder / "small.toml", SMALL)
    return shallows.run(path, store=folder / "runs", progress=False)


def make(*wishes, limits=None):
    """The answers of a renderer to wishes, one after the other; errors as they are."""

    async def all_of_them():
        shop = Renderer(limits or Limits())
        try:
            return [
                wish(shop)
                if callable(wish)
                else await asyncio.gather(shop.make(*wish), return_exceptions=True)
                for wish in wishes
            ]
        finally:
            shop.close()

    return asyncio.run(all_of_them())


def test_files_are_those_of_the_run_and_a_process_that_ends_is_replaced(stored):
    store, name = stored.path.parent, stored.hash
    pids = []

    def end(shop):
        pids.append(shop._process.pid)
        shop._process.kill()
        shop._process.join()

    csv, _, figure, gone, film = make(
        ("table", store, name, "queues", "csv"),
        end,
        ("figure", store, name, "queue_cdf", "svg"),
        ("table", store, name, "nothing", "csv"),
        ("film", store, name),
    )
    assert csv[0].decode() == stored.tables["queues"].write_csv() and pids != [os.getpid()]
    assert b'<metadata id="shallows">' in figure[0]
    assert isinstance(gone[0], RenderError) and gone[0].gone
    assert film[0].startswith(b"<!doctype html>")


def test_a_file_is_bounded_in_time_and_memory_and_says_so(stored):
    store, name = stored.path.parent, stored.hash
    [late] = make(("film", store, name), limits=Limits(file_seconds=0.01))
    assert isinstance(late[0], RenderError) and "took longer" in str(late[0])
    [large] = make(("figure", store, name, "queue_cdf", "png"), limits=Limits(memory_bytes=20_000_000))
    assert isinstance(large[0], RenderError) and not large[0].gone


# ---- reports ----


def report(folder, name, **files):
    place = folder / "reports" / name
    place.mkdir(parents=True)
    (place / ".shallows-report").touch()
    for file, text in files.items():
        (place / file.replace("_", ".")).write_text(text)
    return place


def test_only_reports_of_shallows_are_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = report(tmp_path, "compare-x", compare_json=json.dumps({"title": "x"}))
    (tmp_path / "reports/mine").mkdir()
    (tmp_path / "reports/link").symlink_to(place)
    assert report_of("compare-x") is not None and document_of(place) == ("compare", {"title": "x"})
    for name in (
        "mine",
        "link",
        "..",
        ".",
        "",
        "../reports/compare-x",
        "/etc",
        "compare-x/..",
        "a" * 300,
        "\0",
    ):
        assert report_of(name) is None, name
    (place / "compare.json").write_text("[1")
    assert document_of(place) == ("compare", None)
    [packed] = make(("archive", place))
    assert zipfile.ZipFile(BytesIO(packed[0])).namelist() == ["compare-x/compare.json"]


# ---- completion ----


def test_the_editor_offers_every_setting_of_the_checker():
    words = known()["keys"]
    for section in schema()["sections"]:
        if section["path"] == "kernel":
            continue
        for component in section["components"]:
            own = words[section["path"]]
            keys = {key["label"]: key for key in own.get(component["name"], own.get("", []))}
            for param in component["params"]:
                assert param["name"] in keys, (section["path"], component["name"], param["name"])
                if f"{section['path']}.{param['name']}" in words:
                    continue  # a table of its own, with its own words
                assert " ".join(param["doc"].split(".")[0].split()) in keys[param["name"]]["info"]
                assert {json.dumps(choice) for choice in param["choices"] or ()} <= {
                    word for word, _ in keys[param["name"]]["words"]
                }


def test_words_of_completion_are_values_that_the_checker_takes(small):
    for kind in kinds("queue"):
        for key in known()["keys"]["queue"][kind]:
            for word, meaning in key["words"]:
                if meaning == "the default":
                    value = tomllib.loads(f"x = {word}")["x"]
                    _, faults = check(small | {"queue": {"kind": kind, key["label"]: value}})
                    assert not [f for f in faults if f.path == f"queue.{key['label']}"], (kind, key["label"])


def test_a_paper_has_the_headline_of_its_newest_report(tmp_path, monkeypatch):
    folder = tmp_path / "p-quick"
    folder.mkdir()
    monkeypatch.setattr(papers, "report_of", lambda name: folder if name == "p-quick" else None)
    assert papers.headline_of("p", "quick") == "", "a report that is not whole"
    (folder / "claims.json").write_text('{"headline": "Published: 3. Found: 4.", "claims": []}')
    assert (
        papers.headline_of("p", "quick") == "Published: 3. Found: 4."
        and papers.headline_of("p", "full") == ""
    )
