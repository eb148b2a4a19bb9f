"""The live page without a browser: films, drawings, forms, names for a page, and the server's gate."""

import asyncio
import json
import tomllib
from xml.etree import ElementTree

import gallery_pictures
import numpy as np
import pytest
import shallows
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from shallows import _core
from shallows.document.points import expand
from shallows.errors import SpecError
from shallows.web.editor.document import forbidden, line_of, parse
from shallows.web.editor.editing import lookup, put, sliders
from shallows.web.limits import Limits
from shallows.web.live import drawing, film
from shallows.web.pages import address
from shallows.web.pages.gallery import entries
from shallows.web.server.gate import Gate, is_loopback

QUICKSTART = (ROOT / "experiments/quickstart.toml").read_text()


def resolved(text, settings=()):
    return expand(parse(text, settings, Limits(), False))[0].experiment


def unpacked(chunk):
    length = int.from_bytes(chunk[:4], "little")
    return json.loads(chunk[4 : 4 + length]), np.frombuffer(chunk[4 + length :], dtype="<f4")


def filmed(experiment):
    plan = json.loads(_core.plan(json.dumps(experiment)))
    simulation = _core.Simulation(json.dumps(experiment))
    duration = _core.parse_quantity("span", experiment["duration"])
    filming = film.Filming(simulation, duration, plan["ports"])
    return filming, [unpacked(chunk) for chunk in filming.chunks()], simulation, plan


# ---- films ----


def test_a_film_agrees_with_the_traces_and_the_tables_of_the_run():
    experiment = resolved(QUICKSTART, ["warmup=0s", "probe.queue_trace=100us"])
    filming, chunks, simulation, plan = filmed(experiment)
    ports, looks = len(plan["ports"]), filming.looks
    assert (filming.every_ps, looks) == (100_000_000, 500)
    parts = [body[: 4 * head["looks"] * ports].reshape(4, head["looks"], ports) for head, body in chunks]
    queue, busy, marks, drops = np.concatenate(parts, axis=1)
    run = {
        name: film.columns_of([c for c in table if c[1] != "str"])
        for name, table in simulation.tables().items()
    }
    names = [f"{plan['nodes'][p['from']]['name']}->{plan['nodes'][p['to']]['name']}" for p in plan["ports"]]
    port = names.index("switch->r0")
    words = next(data for name, _, data in simulation.tables()["queue_trace"] if name == "port")
    traced = run["queue_trace"]["packets"][np.frombuffer(words[1], "<u4") == words[0].index("switch->r0")]
    assert list(queue[: len(traced), port]) == list(traced)
    assert marks[:, port].sum() == run["queues"]["marks"].sum() > 0
    assert drops.sum() == 0 and 0.98 < busy[:, port].mean() <= 1


def test_a_film_counts_over_the_end_of_the_warm_up():
    _, chunks, *_ = filmed(resolved(QUICKSTART))
    assert all((body[np.isfinite(body)] >= 0).all() for _, body in chunks)


def test_flows_that_come_and_go_have_gaps_and_no_negative_rates():
    text = QUICKSTART.replace(
        'kind = "bulk"', 'kind = "messages"\nbytes = "20KB"\ninterval = "1ms"\nconnection = "fresh"'
    )
    _, chunks, *_ = filmed(resolved(text, ["duration=5ms", "warmup=0s"]))
    seen = {flow[0] for head, _ in chunks for flow in head["flows"]}
    assert len(seen) > 8
    rates = [
        body[-3 * n * head["looks"] : -2 * n * head["looks"]]
        for head, body in chunks
        if (n := len(head["flows"]))
    ]
    whole = np.concatenate(rates)
    assert np.isnan(whole).any() and np.nanmin(whole) >= 0 and np.nanmax(whole) < 11e9


@given(st.integers(1, 10**16), st.integers(1, 10**6))
def test_the_memory_of_a_film_is_bounded(duration, ports):
    every, looks = film.steps(duration, ports)
    assert looks * ports <= max(film.MOST_CELLS, ports) and (looks - 1) * every < duration <= looks * every


# ---- drawings ----


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_network_of_the_gallery_has_a_drawing(entry):
    experiment = resolved(entry.text)
    drawn = drawing.layout(json.loads(_core.plan(json.dumps(experiment))), experiment)
    if drawn["kind"] == "matrix":
        numbers = [port for block in drawn["blocks"] for row in block["rows"] for port in row["ports"]]
        assert sorted(numbers) == list(range(len(drawn["ports"])))
    else:
        assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in drawn["places"])
        assert len({tuple(place) for place in drawn["places"]}) == len(drawn["names"]), (
            "nodes on top of each other"
        )


def test_a_port_knows_when_its_link_is_down():
    text = next(entry.text for entry in entries() if entry.name == "failing-link")
    text += '[event.last]\nat = "15ms"\nlink = "leaf1->spine1"\nstate = "down"\n'
    experiment = resolved(text)
    drawn = drawing.layout(json.loads(_core.plan(json.dumps(experiment))), experiment)
    dead = {port["name"]: port["dead"] for port in drawn["ports"] if "dead" in port}
    both = [[5 * 10**9, 12 * 10**9]]
    assert dead == {
        "leaf0->spine0": both, "spine0->leaf0": both, "leaf1->spine0": both, "spine0->leaf1": both,
        "leaf1->spine1": [[15 * 10**9, None]],
    }  # fmt: skip


# ---- the gallery ----


def test_the_links_that_fail_in_the_gallery_carry_flows(tmp_path):
    """Else nothing is to be seen: the hash of some seeds sends all flows over the other spine."""
    text = next(entry.text for entry in entries() if entry.name == "failing-link")
    flows = shallows.run(tomllib.loads(text), store=tmp_path).tables["flows"]
    assert 2 <= (flows["timeouts"] > 0).sum() < len(flows) == 4  # data of two, and what answers the others


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_entry_of_the_gallery_says_enough_and_its_sliders_work(entry):
    about = entry.about
    assert 2 <= about["about"].count(". ") + 1 <= 4 and about["watch"]
    document = tomllib.loads(entry.text)
    made = sliders(document, resolved(entry.text), about["drag"])
    assert [slider.path for slider in made] == [each["path"] for each in about["drag"]]
    for slider in made:
        for at in (0, 100):
            resolved(put(entry.text, slider.path, slider.value_at(at)))


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_entry_of_the_gallery_has_a_small_picture(entry):
    assert ElementTree.fromstring(entry.picture).tag.endswith("svg")
    assert len(entry.picture) < 20_000


@pytest.mark.parametrize("name", ["quickstart", "rtt-unfair"])
def test_the_picture_of_an_entry_is_its_run(name):
    entry = next(each for each in entries() if each.name == name)
    assert gallery_pictures.picture(entry) == entry.picture, "make picture"


# ---- forms and text in step ----


def test_a_setting_goes_into_the_text_and_leaves_the_rest_as_it_is():
    text = put(QUICKSTART, "queue.mark_at", "20pkt")
    assert text == QUICKSTART.replace('mark_at = "65pkt"', 'mark_at = "20pkt"')
    text = put(text, "transport.cc.g", 0.25)
    assert 'cc = {kind = "dctcp", g = 0.25}' in text and text.startswith(QUICKSTART[:40])
    assert lookup(tomllib.loads(text), "transport.cc.g") == 0.25
    assert resolved(text)["traffic"]["long"]["transport"]["cc"]["g"] == 0.25
    with pytest.raises(ValueError):
        put("a = = b", "x", 1)


def test_a_slider_gives_back_the_value_that_it_shows():
    wanted = [
        {"path": "queue.mark_at", "from": "1pkt", "to": "250pkt"},
        {"path": "topology.delay", "from": "1us", "to": "2ms"},
    ]
    marks, delay = sliders(tomllib.loads(QUICKSTART), None, wanted)
    assert (
        marks.value_at(marks.at) == "65pkt"
        and marks.value_at(0) == "1pkt"
        and marks.value_at(100) == "250pkt"
    )
    assert delay.value_at(delay.at) == "25us" and delay.value_at(100) == "2000us"
    assert [each.path for each in sliders(tomllib.loads(QUICKSTART), None)] == [
        "queue.mark_at", "queue.limit", "topology.senders", "topology.delay", "topology.rate",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("queue.mark_at", "mark_at"),
        ("duration", "duration"),
        ("transport.cc.g", "cc ="),
        ("traffic.long.from", "from"),
        ("queue", "[queue]"),
    ],
)
def test_a_fault_is_shown_at_its_line(path, line):
    assert QUICKSTART.splitlines()[line_of(QUICKSTART, path) - 1].startswith(line)


# ---- names that a page may use ----

OUTSIDE = [
    "/etc/passwd",
    "../x.csv",
    "a/../../x.csv",
    "/tmp/x.csv",
    "sub/.hidden/x.csv",
    "x\\..\\y.csv",
    "x.csv\0y",
    ".csv/../../x.csv",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_page_names_no_file_outside(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for document in (
        {"traffic": {"a": {"kind": "table", "name": name}}},
        {"traffic": {"a": {"kind": "poisson", "sizes": {"kind": "empirical", "name": name}}}},
        {"sweep": {"grid": {"traffic.a.sizes.name": ["web_search", name]}}},
        {"sweep": {"points": [{'traffic."a".name': name}]}},
    ):
        assert forbidden(document, True), (name, document)


def test_a_link_that_leads_away_is_no_file_here(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "away.csv").write_text("from,to,bytes,start\n")
    (here / "link.csv").symlink_to(tmp_path / "away.csv")
    (here / "own.csv").write_text("from,to,bytes,start\n")
    monkeypatch.chdir(here)
    named = {
        name: forbidden({"traffic": {"a": {"kind": "table", "name": name}}}, False)
        for name in ("link.csv", "own.csv", "web_search")
    }
    assert named["link.csv"] and not named["own.csv"] and not named["web_search"]


@pytest.mark.parametrize(
    "text",
    [
        '[python]\nmodules = ["os.py"]',
        "[python]",
        'python.modules = "x.py"',
        '"python" = 1',
        '[sweep.grid]\n"python.modules" = [["x.py"]]',
        '[tune.vary]\n"python.components" = 1',
    ],
)
def test_a_page_names_no_python_unless_it_may(text):
    assert any(fault.path == "python" for fault in forbidden(tomllib.loads(text), False))
    with pytest.raises(SpecError, match="allow-python"):
        parse(text, (), Limits(), False)
    with pytest.raises(SpecError, match="allow-python"):
        parse(QUICKSTART, ['python.modules=["x.py"]'], Limits(), False)


@pytest.mark.parametrize(
    "topology",
    [
        'kind = "star"\nsenders = 100000000',
        'kind = "fat-tree"\nk = 1000',
        'kind = "leaf-spine"\nleaves = 5000\nspines = 5000\nhosts_per_leaf = 2',
        'kind = "tree"\nlevels = 30\nfanout = 9',
        'kind = "torus"\nsize = [200, 200]',
        'kind = "dragonfly"\nrouters = 32\nhosts_per_router = 8\nglobal_links = 8',
        'kind = "rail"\nservers = 5000\nrails = 8',
    ],
)
def test_a_network_that_is_too_large_is_refused_before_it_is_built(topology):
    text = QUICKSTART.replace('kind = "star"\nsenders = 4', topology)
    with pytest.raises(SpecError, match="hosts that this page runs"):
        parse(text, (), Limits(), False)


def test_texts_that_are_too_long_or_no_toml_are_faults():
    for text in ("x" * 300_000, "a = ", "[" * 5000, "a = " + "[" * 3000, "a = " + "9" * 5000, "\ud800"):
        with pytest.raises(SpecError):
            parse(text, (), Limits(), False)


# ---- addresses ----


@given(st.dictionaries(st.text(), st.text()))
def test_an_address_holds_its_experiment(content):
    packed = address.pack(content)
    assert packed.replace("-", "").replace("_", "").isalnum() and address.unpack(packed) == content


@given(st.text(max_size=50))
def test_other_texts_are_no_addresses(text):
    assert address.unpack(text) is None


def test_an_address_that_unpacks_to_very_much_is_refused():
    assert address.unpack(address.pack({"text": "x" * 10_000_000})) is None


# ---- the gate ----


def ask(gate, headers, path="/", query="", kind="http"):
    """Status and headers of an answer, or the code with which a socket is closed."""
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": kind, "path": path, "raw_path": path.encode(), "query_string": query.encode()}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]
    asyncio.run(gate(scope, receive, send))
    first = sent[0]
    return first.get("status", first.get("code")), {
        k.decode(): v.decode() for k, v in first.get("headers", [])
    }


async def inner(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


LOCAL = ["127.0.0.1", "localhost", "[::1]"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "localhost:8475"}, 200),
        ({"host": "127.0.0.1"}, 200),
        ({"host": "[::1]:8475"}, 200),
        ({"host": "localhost:8475", "origin": "http://localhost:8475"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example"}, 421),
        ({}, 421),
        ({"host": "localhost:8475", "origin": "http://evil.example"}, 403),
        ({"host": "localhost:8475", "origin": "null"}, 403),
        ({"host": "localhost:8475", "origin": "http://localhost:1"}, 403),
        ({"host": "localhost:8475", "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"host": "localhost:8475", "content-length": "99999999"}, 413),
        ({"host": "localhost:8475", "content-length": "-1"}, 413),
    ],
)
def test_the_gate_answers_to_its_own_address_only(headers, status):
    found, answer = ask(Gate(inner, LOCAL, None), headers)
    assert found == status and "default-src 'self'" in answer["content-security-policy"]
    if status != 200:
        assert ask(Gate(inner, LOCAL, None), headers, kind="websocket")[0] == 1008


def test_a_token_in_the_address_becomes_a_cookie():
    gate = Gate(inner, [], "secret")
    host = {"host": "machine:8475"}
    assert ask(gate, host)[0] == 401 == ask(gate, host, query="token=wrong")[0]
    status, answer = ask(gate, host, "/gallery", "token=secret&x=1")
    assert (
        status == 303
        and answer["location"] == "/gallery?x=1"
        and "HttpOnly; SameSite=Strict" in answer["set-cookie"]
    )
    assert ask(gate, host | {"cookie": "shallows-token=secret"})[0] == 200
    assert ask(gate, host | {"cookie": "shallows-token=secre"})[0] == 401
    assert ask(gate, host, kind="websocket")[0] == 1008
    _, answer = ask(gate, host, "//evil.example/", "token=secret")
    assert answer["location"] == "/evil.example/"


def test_loopback_is_told_from_the_rest():
    assert all(map(is_loopback, ["127.0.0.1", "::1", "localhost", "127.9.9.9"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "192.168.1.1", "example.org"]))


@pytest.mark.parametrize("entry", [e for e in entries() if e.name != "fabric"], ids=lambda entry: entry.name)
def test_two_seeds_of_an_entry_differ(entry, tmp_path):
    """The page compares its schemes over five seeds: equal ones would be one run, and no evidence."""
    document = {key: value for key, value in tomllib.loads(entry.text).items() if key != "seed"}
    first, second = shallows.sweep(document | {"seeds": 2}, store=tmp_path, progress=False)
    assert first.metrics != second.metrics
