"""The laboratory without a server: the bytes of the native run, and its page in a real browser as a file."""

import json
import random
import shutil
import subprocess
import time
import tomllib

import numpy as np
import pytest
from conftest import ROOT
from firefox import firefox, needs_firefox
from pages import lab
from shallows import _core
from shallows.document.points import expand
from shallows.tables.digest import hash_of
from shallows.tables.frames import to_frame
from shallows.web.editor.editing import sliders
from shallows.web.live import drawing, film
from shallows.web.pages import address
from shallows.web.pages.gallery import entries
from shallows.web.pages.lab_file import MOST_BYTES, page_of
from web_browser import CHROMIUM, FLAGS, barriers, needs_chromium

from soak import experiments

STATIC = ROOT / "python/shallows/web/static"
NODE = shutil.which("node")

needs_target = pytest.mark.skipif(not lab.available(), reason=f"no target: rustup target add {lab.TARGET}")
needs_node = pytest.mark.skipif(NODE is None, reason="no node here: apt-get install nodejs")
pytestmark = needs_target

WHOLE = """
const fs = require("fs");
eval(fs.readFileSync(process.argv[1], "utf8") + "; globalThis.start = start; globalThis.ask = ask;");
(async () => {
  await start(await WebAssembly.compile(fs.readFileSync(process.argv[2])), () => {});
  for (const request of JSON.parse(fs.readFileSync(0, "utf8"))) {
    const header = ask({ do: "begin", side: 0, ...request });
    if (header.faults) { console.log(JSON.stringify(header)); continue; }
    const film = [];
    for (let done = 0; done < header.looks; done += header.most) {
      film.push(Buffer.from(ask({ do: "chunk", side: 0, looks: header.most })).toString("base64"));
    }
    const { layout, experiment } = header;
    console.log(JSON.stringify({ layout, experiment, film, ...ask({ do: "end", side: 0 }) }));
  }
})();
"""


def in_node(tmp_path, requests, program=WHOLE):
    """The answers of the module in Node, a run a request."""
    module = tmp_path / "module.wasm"
    module.write_bytes(lab.module())
    command = [NODE, "-e", program, str(STATIC / "worker.js"), str(module)]
    done = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def native(experiment):
    """Hash of the tables, counts, layout and film of a run here."""
    text = json.dumps(experiment)
    plan = json.loads(_core.plan(text))
    simulation = _core.Simulation(text)
    filming = film.Filming(simulation, plan["numbers"]["duration"], plan["ports"], paced=False)
    chunks = list(filming.chunks())
    tables = {name: to_frame(columns) for name, columns in simulation.tables().items()}
    counts = json.loads(simulation.manifest())["counts"]
    return hash_of(tables), counts, drawing.layout(plan, experiment), chunks


def unpacked(chunk):
    size = int.from_bytes(chunk[:4], "little")
    return json.loads(chunk[4 : 4 + size]), np.frombuffer(chunk[4 + size :], dtype="<f4")


@needs_node
def test_random_experiments_give_the_same_bytes_in_node(tmp_path):
    draws, drawn = random.Random(43), []
    while len(drawn) < 40:
        document = experiments.draw(draws)
        if document is not None and "python" not in document:  # the page has no Python
            drawn.append(expand(document)[0].experiment)
    answers = in_node(tmp_path, [{"experiment": each} for each in drawn])
    compared = events = 0
    for experiment, answer in zip(drawn, answers, strict=True):
        if "faults" in answer:  # a page has less memory than this machine
            assert [fault["path"] for fault in answer["faults"]] == ["memory"], json.dumps(experiment)
            continue
        tables, counts, *_ = native(experiment)
        assert (answer["tables"], answer["counts"]) == (tables, counts), json.dumps(experiment)
        compared, events = compared + 1, events + counts["events"]
    assert compared > 30
    assert events > 20_000, "the experiments did something"


@needs_node
def test_the_gallery_is_read_drawn_and_filmed_as_on_the_server(tmp_path):
    import base64

    chosen = [each for each in entries() if each.name in ("quickstart", "fabric", "failing-link", "incast")]
    answers = in_node(tmp_path, [{"text": each.text, "settings": []} for each in chosen])
    for entry, answer in zip(chosen, answers, strict=True):
        experiment = expand(tomllib.loads(entry.text))[0].experiment
        assert answer["experiment"] == experiment
        tables, _, drawn, chunks = native(experiment)
        assert answer["tables"] == tables
        assert answer["layout"] == json.loads(json.dumps(drawn))
        for ours, theirs in zip(answer["film"], chunks, strict=True):
            (head, floats), (other, wanted) = unpacked(base64.b64decode(ours)), unpacked(theirs)
            assert head == other
            np.testing.assert_array_equal(floats, wanted)


@needs_node
def test_second_schemes_and_faults_are_those_of_the_command(tmp_path):
    from shallows.document.load import load

    chosen = [each for each in entries() if each.about.get("second")]
    settings = [list(each.about["second"]) for each in chosen]
    requests = [{"text": e.text, "settings": s} for e, s in zip(chosen, settings, strict=True)]
    faulty = {"text": 'duration = "1ms"\n[queue]\nkind = "treshold"\n', "settings": []}
    *answers, faults = in_node(tmp_path, [*requests[:3], faulty])
    for entry, second, answer in zip(chosen, settings, answers, strict=False):
        assert answer["experiment"] == expand(load(tomllib.loads(entry.text), second))[0].experiment
    assert any("threshold" in fault["hint"] for fault in faults["faults"]), faults


# ---- the page ----


@pytest.fixture(scope="module")
def html():
    return page_of(lab.module(), lab.lessons())


@pytest.fixture(scope="module")
def place(tmp_path_factory, html):
    path = tmp_path_factory.mktemp("lab") / "index.html"
    path.write_text(html)
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    """A page that raises no error and asks nobody for anything."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request",
        lambda request: (
            faults.append(request.url) if not request.url.startswith(("file:", "blob:", "data:")) else None
        ),
    )
    yield page
    page.close()
    assert not faults, faults


def until(page, expression):
    """Waits without the page's own eval, which its policy refuses."""
    ends = time.monotonic() + 60
    while not page.evaluate(expression):
        assert time.monotonic() < ends, expression
        time.sleep(0.05)


DONE = "!!window.shallows && shallows.lab.states.length > 0 && shallows.lab.states.every(s => s === 'done')"


def opened(page, address):
    page.goto("about:blank")
    page.goto(address)
    until(page, DONE)


def test_the_page_is_small(html):
    assert len(html.encode()) < MOST_BYTES


@needs_chromium
def test_the_page_opens_as_a_file_and_shows_the_hash_of_the_native_run(page, place):
    opened(page, f"{place}#show=dctcp-cubic")
    (entry,) = (each for each in entries() if each.name == "dctcp-cubic")
    tables = native(expand(tomllib.loads(entry.text))[0].experiment)[0]
    assert page.locator(".lab-hash code").first.inner_text() == tables
    assert page.locator(".sh-title").all_inner_texts() == entry.about["names"]
    assert page.locator(".sh-about h1").inner_text() == entry.about["title"]
    assert "million packet-hops" in page.locator(".sh-state").inner_text()


@needs_firefox
def test_firefox_opens_the_file_and_makes_the_same_bytes(tmp_path, place):
    (entry,) = (each for each in entries() if each.name == "incast")
    tables = native(expand(tomllib.loads(entry.text))[0].experiment)[0]
    with firefox(tmp_path / "profile") as page:
        page.goto(f"{place}#show=incast")
        until(page, DONE)
        assert page.evaluate("document.querySelector('.lab-hash code').innerText") == tables
        until(page, "shallows.player.view > 0 && shallows.player.frames > 5")  # it plays
        assert page.faults == []


@needs_chromium
def test_a_film_goes_on_where_it_ended(page, place):
    opened(page, f"{place}#show=quickstart")
    former = page.evaluate("shallows.player.duration")
    page.get_by_role("button", name="Run for twice as long").click()
    until(page, f"shallows.player.duration === 2 * {former}")
    until(page, f"{DONE} && shallows.player.view > {former}")
    assert page.evaluate("shallows.player.playing")
    text = page.evaluate("shallows.lab.text")
    tables = native(expand(tomllib.loads(text))[0].experiment)[0]
    assert page.locator(".lab-hash code").first.inner_text() == tables


@needs_chromium
def test_a_dragged_slider_runs_and_an_address_keeps_the_lesson(page, place):
    opened(page, f"{place}#show=incast")
    before = page.locator(".lab-hash code").first.inner_text()
    page.get_by_role("slider", name="Workers").evaluate(
        "(knob) => { knob.value = 50; knob.dispatchEvent(new Event('input')); }"
    )
    until(page, "/senders = (?!40)/.test(shallows.lab.text)")
    until(page, DONE)
    assert page.locator(".lab-hash code").first.inner_text() != before
    text = page.evaluate("shallows.lab.text")
    until(page, "location.hash.startsWith('#x=') && shallows.lab.own === location.hash.slice(1)")
    sent = page.url.split("#x=")[1]
    assert address.unpack(sent)["text"] == text  # the live page's own form
    opened(page, f"{place}#x={sent}")
    assert page.evaluate("shallows.lab.text") == text
    assert page.locator(".sh-about h1").inner_text() == "Incast: the collapse and its cure"
    assert page.get_by_role("slider", name="Workers").count() == 1
    assert page.locator(".lab-notice").is_hidden()


@needs_chromium
@pytest.mark.parametrize("broken", ["x=garbage", "show=nope", "x=" + address.pack({"no": "text"})])
def test_a_broken_address_is_said(page, place, broken):
    opened(page, f"{place}#{broken}")
    assert "cannot be read" in page.locator(".lab-notice").inner_text()
    assert page.locator(".sh-about h1").inner_text() == entries()[0].about["title"]


@needs_chromium
def test_a_fault_is_shown_at_its_line_and_below(page, place):
    opened(page, f"{place}#show=quickstart")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text('duration = "1ms"\n[queue]\nkind = "treshold"\n')
    until(page, "document.querySelector('.sh-faults').innerText.includes('threshold')")
    assert 'kind = "treshold"' in page.locator(".cm-line.sh-fault").all_inner_texts()
    assert "fault" in page.locator(".sh-state").inner_text()


LONG = """duration = "100s"
topology = { kind = "star", senders = 8 }
queue = { kind = "drop-tail", limit = "100pkt" }
transport = { cc = "newreno" }
traffic.long = { kind = "bulk", from = "s*", to = "r0" }
"""


@needs_chromium
def test_a_long_run_is_stopped_and_the_page_answers_meanwhile(page, place):
    page.goto("about:blank")
    page.goto(f"{place}#x={address.pack({'text': LONG, 'second': ''})}")
    until(page, "!!window.shallows && shallows.player.films[0]?.done > 0")
    waited = page.evaluate(
        "new Promise((ok, _, at = performance.now()) => setTimeout(() => ok(performance.now() - at), 10))"
    )
    assert waited < 5000
    page.get_by_role("button", name="Stop").click()
    until(page, "document.querySelector('.sh-state').textContent === 'stopped'")
    looks = page.evaluate("shallows.player.films[0].done")
    time.sleep(0.5)
    assert page.evaluate("shallows.player.films[0].done") == looks
    assert page.evaluate("shallows.lab.engine.ask({ do: 'version' })")["version"] == _core.source_hash()


@needs_node
def test_every_entry_is_read_without_faults(tmp_path):
    lessons = lab.lessons()
    begun = "done < header.looks;"
    assert begun in WHOLE
    requests = [{"text": each["text"], "settings": []} for each in lessons]
    answers = in_node(tmp_path, requests, WHOLE.replace(begun, "done < 1;"))
    assert [answer.get("faults") for answer in answers] == [None] * len(lessons)


@needs_chromium
def test_entries_run_in_the_page(page, place):
    """Every fifth entry: each is read in Node above."""
    names = [each["name"] for each in lab.lessons()]
    page.goto(f"{place}#gallery")
    until(page, "document.querySelectorAll('.sh-card').length > 0")
    assert page.locator(".sh-card").count() == len(names)
    for name in names[::5]:
        opened(page, f"{place}#show={name}")
        assert page.locator(".sh-faults").inner_text() == "", name


@needs_chromium
def test_sliders_have_the_scale_of_the_live_page(page, place):
    opened(page, f"{place}#show=quickstart")
    for entry in entries():
        document = tomllib.loads(entry.text)
        for slider in sliders(document, expand(document)[0].experiment, entry.about.get("drag", ())):
            told = {key: getattr(slider, key) for key in ("low", "high", "unit", "whole", "ratio")}
            values = page.evaluate(
                "([slider, places]) => places.map((at) => shallows.valueAt(slider, at))",
                [told, [0, 33, 50, 100]],
            )
            assert [str(each) for each in values] == [
                f"{v:g}" if isinstance(v := slider.value_at(at), float) else str(v) for at in (0, 33, 50, 100)
            ]


def test_without_the_target_the_site_has_no_laboratory_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(lab, "available", lambda: False)
    assert lab.pages() == {}
    assert "rustup target add wasm32-unknown-unknown" in capsys.readouterr().err
    assert lab.linked("See <!-- lab: show=incast the incast -->.", None) == "See the incast."
    assert lab.linked("<!-- lab: show=a B -->", "../lab/index.html") == "[B](../lab/index.html#show=a)"


@needs_chromium
@pytest.mark.parametrize("part", ["show=dctcp-cubic", "gallery"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_bars_readers_by_ear_or_keyboard(page, place, part, theme):
    page.emulate_media(color_scheme=theme)
    page.goto("about:blank")
    page.goto(f"{place}#{part}")
    if part == "gallery":
        page.get_by_role("heading", name="Gallery").wait_for()
    else:
        until(page, DONE)
    assert barriers(page) == []
