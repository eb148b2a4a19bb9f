"""Places of the live page: connected laboratories, frames, pages that are being made, the list of runs."""

import asyncio
import json
import os
import shutil
import time

import pytest
import shallows
from conftest import SMALL
from shallows.errors import SpecError
from shallows.results.store import Store, manifest_digest
from shallows.web.jobs.queue import Jobs
from shallows.web.limits import Limits
from shallows.web.live.session import Sessions
from shallows.web.pages.index import Index
from shallows.web.pages.runs import run_of
from shallows.web.server.gate import Gate


def test_a_laboratory_belongs_to_a_page_that_connected():
    """T4: eight hidden frames ended a reader's laboratory, and so did a ninth reader."""
    sessions = Sessions(Limits(sessions=2), False)
    mine, yours = sessions.new(), sessions.new()
    assert not sessions.full
    assert sessions.connect(mine) and sessions.connect(yours) and sessions.full
    for _ in range(500):
        sessions.new()
    third = sessions.new()
    assert not sessions.connect(third) and sessions.get(third.key) is None
    assert sessions.get(mine.key) is mine and sessions.get(yours.key) is yours
    assert len(sessions._made) <= 64
    sessions.end(mine)
    assert not sessions.full and sessions.connect(sessions.new())
    assert sessions.connect(yours)  # the same page again, after a lost connection


def test_a_page_that_has_gone_away_gives_its_place_to_the_next():
    """A reader who reloaded eight times within twenty seconds read that all places were taken."""
    sessions = Sessions(Limits(sessions=2), False)
    reader = sessions.new()
    assert sessions.connect(reader)
    for _ in range(20):
        page = sessions.new()
        assert not sessions.full and sessions.connect(page)
        assert len(sessions._open) + len(sessions._away) <= 2
        sessions.leave(page)
    assert sessions.get(page.key) is page and sessions.connect(page)  # back after a lost connection
    sessions.leave(page)
    assert sessions.connect(sessions.new()) and sessions.full
    assert sessions.get(page.key) is None and not sessions.connect(page)  # its place was given away
    assert sessions.get(reader.key) is reader


def ask(gate, path="/", headers=()):
    """The status of one request."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
    scope["headers"] = [(b"host", b"localhost"), *headers]

    async def answer():
        await gate(scope, receive, send)
        return sent[0]["status"]

    return answer()


async def _app(scope, receive, send):
    await asyncio.sleep(0.05)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("place", ["iframe", "frame", "embed", "object", "fencedframe"])
def test_a_hidden_frame_gets_no_page(place):
    headers = [(b"sec-fetch-site", b"cross-site"), (b"sec-fetch-mode", b"navigate")]
    gate = Gate(_app, ["localhost"], None)
    assert asyncio.run(ask(gate, headers=[*headers, (b"sec-fetch-dest", place.encode())])) == 403
    assert asyncio.run(ask(gate, headers=[*headers, (b"sec-fetch-dest", b"document")])) == 200


def test_pages_under_construction_are_bounded():
    """T5: two hundred pages at once kept the next reader waiting for tens of seconds."""

    async def flood():
        gate = Gate(_app, ["localhost"], None, pages=3)
        first = await asyncio.gather(*(ask(gate) for _ in range(50)))
        files = await asyncio.gather(*(ask(gate, "/_nicegui/x.js") for _ in range(50)))
        return first, files, await ask(gate)

    first, files, after = asyncio.run(flood())
    assert sorted(first) == [200] * 3 + [503] * 47
    assert set(files) == {200}
    assert after == 200


def test_a_page_that_nobody_takes_holds_no_place():
    async def stuck(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(3600)

    async def flood():
        gate = Gate(stuck, ["localhost"], None, pages=2)
        waiting = [asyncio.ensure_future(ask(gate)) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert gate._making == 0
        for each in waiting:
            each.cancel()

    asyncio.run(flood())


ODD = {
    "traffic is a list": lambda m: m["experiment"].update(traffic=["x"]),
    "traffic is text": lambda m: m["experiment"].update(traffic="x"),
    "no experiment": lambda m: m.pop("experiment"),
    "experiment is null": lambda m: m.update(experiment=None),
    "a load is null": lambda m: m["experiment"].update(traffic={"a": None}),
    "a load without transport": lambda m: m["experiment"].update(traffic={"a": {}}),
    "cc is a number": lambda m: m["experiment"].update(traffic={"a": {"transport": {"cc": 3}}}),
    "queue is a list": lambda m: m["experiment"].update(queue=[]),
    "topology is null": lambda m: m["experiment"].update(topology=None),
    "kind is a table": lambda m: m["experiment"].update(queue={"kind": {}}),
    "seed is a table": lambda m: m.update(seed={}),
    "no seed": lambda m: m.pop("seed"),
    "tables is a list": lambda m: m.update(tables=[]),
    "a mark is null": lambda m: m.update(tables={"flows": None}),
    "title is a table": lambda m: m["experiment"].update(title={"a": 1}),
    "finished is a list": lambda m: m.update(finished_at=[1]),
}


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return shallows.run(SMALL, store=tmp_path_factory.mktemp("odd") / "runs", progress=False)


@pytest.mark.parametrize("odd", ODD)
def test_a_run_of_an_odd_form_ends_nothing(one, tmp_path, odd):
    """T10: one such run took the whole page of results away."""
    shutil.copytree(one.path.parent, tmp_path / "runs")
    name = "0" * 20
    place = shutil.copytree(one.path, tmp_path / "runs" / name)
    manifest = json.loads((place / "manifest.json").read_text()) | {"hash": name}
    ODD[odd](manifest)
    manifest["sha256"] = manifest_digest(manifest)
    (place / "manifest.json").write_text(json.dumps(manifest))
    store = Store(tmp_path / "runs")
    rows = {row.hash: row for row in Index(store).rows()}
    assert set(rows) == {one.hash, name}
    assert not rows[one.hash].damaged
    if odd not in ("title is a table", "finished is a list"):
        assert rows[name].damaged and rows[name].title == "(damaged)"
        assert run_of(store, name) is None


def test_manifests_are_read_once(one, tmp_path, monkeypatch):
    """T9: every look at 20 000 runs cost 6 CPU s and half a gigabyte."""
    shutil.copytree(one.path.parent, tmp_path / "runs")
    for number in range(200):
        name = f"{number:020x}"
        place = tmp_path / "runs" / name
        place.mkdir()
        manifest = one.manifest | {"hash": name}
        manifest["sha256"] = manifest_digest(manifest)
        (place / "manifest.json").write_text(json.dumps(manifest))
    store = Store(tmp_path / "runs")
    index, reads = Index(store), []
    listed = store.listed
    monkeypatch.setattr(store, "listed", lambda name: reads.append(name) or listed(name))
    assert len(index.rows()) == 201 == len(reads)
    assert len(index.rows("star")) == 201 == len(reads)
    assert index.rows("nowhere") == []
    os.utime(place / "manifest.json", (time.time(), time.time() + 5))
    shutil.rmtree(tmp_path / "runs" / f"{0:020x}")
    assert len(index.rows()) == 200
    assert reads[201:] == [name]
    (place / "manifest.json").write_text("{")
    assert next(row for row in index.rows() if row.hash == name).damaged


BRACES = [
    {"vary": ['traffic.l.sizes={kind="empirical",name="/etc/x.csv"},{kind="fixed",bytes="1KB"}']},
    {"vary": ["traffic.l.sizes={kind='empirical',name='/etc/x.csv'},{kind='fixed',bytes='1KB'}"]},
    {"vary": ["traffic.l.sizes.'name'=/etc/x.csv,web_search"]},
    {"vary": ['traffic.l.sizes."n\\u0061me"=/etc/x.csv,web_search']},
    {"vary": ["traffic.l.name=../x.csv,../y.csv"]},
    {"vary": ['traffic={l={sizes={name="/etc/x.csv"}}},{}']},
    {"settings": ['traffic.l.sizes={kind="empirical",name="/etc/x.csv"}']},
    {"settings": ["traffic.l.sizes.'name'=/etc/x.csv"]},
    {"second": ["traffic.l.sizes.'name'=/etc/x.csv"]},
    {"vary": ["python={modules=['x.py']},{}"]},
    {"vary": ["'python'.modules=['x.py'],['y.py']"]},
    {"seeds": "3; rm"},
    {"seeds": "--help"},
    {"workers": []},
]


@pytest.mark.parametrize("options", BRACES, ids=json.dumps)
def test_settings_of_a_job_are_read_as_the_command_reads_them(tmp_path, monkeypatch, options):
    """T11: a value in braces passed the check of file names, which parted it at every comma."""
    monkeypatch.chdir(tmp_path)
    jobs = Jobs(Limits(), Store(tmp_path / "runs"), False)
    text = (
        'duration = "1ms"\n[topology]\nkind = "star"\nsenders = 2\n[queue]\nkind = "drop-tail"\n'
        '[transport]\ncc = "dctcp"\n[traffic.l]\nkind = "bulk"\nfrom = "s*"\nto = "r0"\n'
    )
    if options == {"workers": []}:
        jobs._arguments("compare", text, {"vary": ["queue.limit=5pkt,9pkt"]}, tmp_path)
        return
    with pytest.raises(SpecError):
        jobs._arguments("compare", text, options, tmp_path)


def test_a_bare_name_of_a_file_here_is_a_file(tmp_path, monkeypatch):
    """A file without a suffix in the server's directory is not for pages."""
    from shallows.web.editor.document import forbidden

    monkeypatch.chdir(tmp_path)
    named = {"traffic": {"l": {"sizes": {"kind": "empirical", "name": "secret"}}}}
    assert forbidden(named, False) == []
    (tmp_path / "secret").write_text("x")
    assert forbidden(named, False) != []
