"""The live page in a real browser: Chromium, driven by Playwright, against a server of its own.

Skipped, with a word, where there is no Chromium. What is drawn is held to runs by the command line.
"""

import re
import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
import shallows
from shallows.cli.scaffold import create
from shallows.results.store import Store
from shallows.web.address import pack
from shallows.web.export import page_of
from shallows.web.gallery_entries import entries
from web_server import running

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

QUEUE = "switch->r0"
QUICKSTART = next(entry for entry in entries() if entry.name == "quickstart").text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the server runs; its store is below."""
    return tmp_path_factory.mktemp("web")


@pytest.fixture(scope="module")
def server(folder):
    with running(folder) as url:
        yield url


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        folder = str(tmp_path_factory.mktemp("profile"))
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=CHROMIUM, args=FLAGS, viewport={"width": 1280, "height": 900}
        )
        yield context
        context.close()


@pytest.fixture
def page(browser):
    """A page that must raise no error, and must ask nobody but the server for anything."""
    page = browser.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on(
        "request",
        lambda request: (
            faults.append(request.url)
            if not re.match(r"(http://localhost:|data:|blob:|file:)", request.url)
            else None
        ),
    )
    yield page
    page.close()
    assert not faults, faults


DONE = """(sides) => {
    const films = window.shallows ? shallows.player.films : [];
    return films.length === sides && films.every(f => f && f.state === 'done' && f.done === f.header.looks);
}"""


def wait_for_runs(page, sides=1):
    page.wait_for_function(DONE, arg=sides, timeout=30_000)


def queue_of(page, side=0, port=QUEUE):
    """The queue of a port as the page has it, a number a look."""
    code = """([side, name]) => {
        const film = shallows.player.films[side];
        return film.column('queue', film.layout.ports.findIndex(port => port.name === name));
    }"""
    return page.evaluate(code, [side, port])


def queue_by_command_line(text, settings, folder, every="100us"):
    """The same by `shallows run` with a trace."""
    path = folder / "same.toml"
    path.write_text(text)
    run = shallows.run(
        path, settings=[*settings, f"probe.queue_trace={every}"], store=folder / "store", progress=False
    )
    return run.tables["queue_trace"].filter(pl.col("port") == QUEUE)["packets"].to_list()


def put_text(page, text):
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def set_slider(page, path, share):
    """Drags a slider to a share of its width."""
    box = page.locator(
        f'.q-slider[aria-label="{path}"], [aria-label="{path}"] .q-slider'
    ).first.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.5, y)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(box["x"] + box["width"] * (0.5 + (share - 0.5) * step / 5), y)
    page.mouse.up()


def test_a_fault_is_marked_as_one_types_and_a_mended_text_runs(page, server):
    page.goto(server)
    wait_for_runs(page)
    put_text(page, QUICKSTART.replace("mark_at", "mark_att"))
    page.wait_for_selector(".cm-line.sh-fault")
    assert page.locator(".cm-line.sh-fault").inner_text() == 'mark_att = "65pkt"'
    assert "did you mean" in page.locator(".sh-faults").inner_text()
    put_text(page, QUICKSTART.replace("65pkt", "30pkt"))
    page.wait_for_function("() => document.querySelectorAll('.sh-fault').length === 0")
    page.wait_for_function("() => shallows.player.films[0].layout.ports.some(p => p.mark_at === 30)")


def test_dragging_k_moves_the_queue_to_what_the_command_line_gives(page, server, tmp_path):
    page.goto(server)
    wait_for_runs(page)
    assert queue_of(page)[:-1] == queue_by_command_line(QUICKSTART, [], tmp_path)[: len(queue_of(page)) - 1]
    set_slider(page, "queue.mark_at", 0.15)
    page.wait_for_function("() => shallows.player.films[0].layout.ports.find(p => p.switch).mark_at < 15")
    page.wait_for_timeout(500)
    wait_for_runs(page)
    mark_at = page.evaluate("shallows.player.films[0].layout.ports.find(p => p.switch).mark_at")
    assert f'mark_at = "{mark_at}pkt"' in page.locator(".cm-content").inner_text()
    seen = queue_of(page)
    told = queue_by_command_line(QUICKSTART, [f"queue.mark_at={mark_at}pkt"], tmp_path)
    assert seen[: len(told)] == told and len(told) >= 499
    page.wait_for_function("() => shallows.player.drawn().queue.length === 500")
    assert page.evaluate("shallows.player.drawn().queue")[: len(told)] == told, (
        "the chart draws other numbers"
    )
    assert np.mean(seen[100:]) < mark_at + 20


def test_forms_and_text_are_in_step(page, server):
    page.goto(server)
    wait_for_runs(page)
    page.locator('label:has-text("Congestion control")').click()
    page.get_by_role("option", name="newreno").click()
    page.wait_for_function(
        "() => document.querySelector('.cm-content').innerText.includes('cc = \"newreno\"')"
    )
    put_text(page, QUICKSTART.replace('cc = "dctcp"', 'cc = "cubic"'))
    page.wait_for_function("() => document.querySelector('.sh-field-row').innerText.includes('cubic')")


def test_pause_step_speed_time_and_single_packets(page, server):
    page.goto(server)
    wait_for_runs(page)
    page.get_by_label("Speed").select_option(label="50 us a second")
    page.evaluate("shallows.player.seek(2e9)")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => shallows.player.close[0]?.packets.length > 20")
    page.get_by_role("button", name="Pause").click()
    at = page.evaluate("shallows.player.view")
    assert 2e9 < at < 3e9
    page.get_by_role("button", name="Step", exact=True).click()
    stepped = page.evaluate("shallows.player.view")
    assert stepped == at + 2.5e6
    page.wait_for_function("() => shallows.player.close[0].at_ps === Math.round(shallows.player.view)")
    seen = page.evaluate("shallows.player.close[0].packets")
    assert {flags & 1 for *_, flags in seen} == {0, 1} and all(lands >= 0 for _, _, _, lands, _ in seen)
    page.keyboard.press("Home")
    page.wait_for_function("() => shallows.player.view === 0")
    page.locator("canvas.sh-network").click(position={"x": 5, "y": 5})  # beside every link: nothing changes
    assert page.evaluate("shallows.player.chosen.port") is None


def test_two_schemes_run_on_the_same_arrivals(page, server, tmp_path):
    page.goto(f"{server}?show=reno-dctcp-red")
    wait_for_runs(page, 2)
    entry = next(each for each in entries() if each.name == "reno-dctcp-red")
    for side, settings in ((0, []), (1, list(entry.about["second"]))):
        told = queue_by_command_line(entry.text, settings, tmp_path)
        assert queue_of(page, side)[: len(told)] == told
    assert page.locator(".sh-side").count() == 2


def test_a_link_is_chosen_by_clicking_it_and_a_flow_by_its_button(page, server):
    page.goto(server)
    wait_for_runs(page)
    place = page.evaluate(
        """() => {
            const { from, to } = shallows.player.sides[0].drawing.hits.find(hit => hit.number === 0);
            return [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
        }"""
    )
    page.locator("canvas.sh-network").click(position={"x": place[0], "y": place[1]})
    assert page.evaluate("shallows.player.chosen.port") == 0
    page.wait_for_function("() => document.querySelector('.sh-readout').textContent.startsWith('s0->switch')")
    page.locator(".sh-chip").nth(1).click()
    assert page.evaluate("shallows.player.chosen.flow") == 1


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_entry_of_the_gallery_runs(page, server, entry):
    page.goto(f"{server}?show={entry.name}")
    wait_for_runs(page, 2 if entry.second else 1)
    assert page.locator(".sh-faults").inner_text() == ""
    page.wait_for_function("() => shallows.player.drawn().queue.length > 100")


def test_an_address_holds_its_experiment(page, server):
    page.goto(server)
    wait_for_runs(page)
    put_text(page, QUICKSTART.replace("65pkt", "33pkt"))
    page.wait_for_function(
        """() => location.search.startsWith('?x=')
            && shallows.player.films[0].layout.ports.some(port => port.mark_at === 33)"""
    )
    page.wait_for_timeout(200)
    page.goto(page.url)
    wait_for_runs(page)
    assert "33pkt" in page.locator(".cm-content").inner_text()


def test_titles_and_names_are_text_never_markup(page, server):
    page.goto(server)
    wait_for_runs(page)
    nasty = '<img src=x onerror=\\"window.hacked=1\\"><script>window.hacked=1</script>'
    put_text(
        page,
        QUICKSTART.replace("Four DCTCP senders through one 10 Gb/s port", nasty).replace(
            "traffic.long", 'traffic."<b onmouseover=alert(1)>x"'
        ),
    )
    page.wait_for_function("() => shallows.player.films[0].header.title.includes('onerror')")
    put_text(page, QUICKSTART.replace("mark_at", '"<img src=x onerror=window.hacked=1>"'))
    page.wait_for_selector(".cm-line.sh-fault")
    assert page.evaluate("window.hacked") is None and page.locator(".sh-page img").count() == 0


def test_limits_say_so_and_the_server_goes_on(page, server):
    page.goto(server)
    wait_for_runs(page)
    put_text(page, QUICKSTART.replace("senders = 4", "senders = 900000000"))
    page.wait_for_selector(".sh-fault")
    assert "hosts that this page runs" in page.locator(".sh-faults").inner_text()
    put_text(page, "[python]\nmodules = ['os.py']\n" + QUICKSTART.replace("title", "#"))
    page.wait_for_function("() => document.querySelector('.sh-faults').innerText.includes('--allow-python')")
    put_text(page, QUICKSTART)
    wait_for_runs(page)


def test_dark_mode_and_text_size_are_kept(page, server):
    page.goto(server)
    wait_for_runs(page)
    before = page.evaluate("document.body.classList.contains('body--dark')")
    page.get_by_role("button", name="Dark or light").click()
    page.wait_for_function("(was) => document.body.classList.contains('body--dark') !== was", arg=before)
    page.get_by_role("button", name="Larger text").click()
    page.reload()
    wait_for_runs(page)
    page.wait_for_function("(was) => document.body.classList.contains('body--dark') !== was", arg=before)
    assert page.evaluate("document.documentElement.style.fontSize") == "18px"
    page.evaluate("localStorage.clear()")


def test_work_results_and_a_film_that_plays_from_a_file(page, server, folder, tmp_path):
    page.goto(server)
    wait_for_runs(page)
    put_text(page, QUICKSTART.replace('"50ms"', '"5ms"').replace('"10ms"', '"1ms"'))
    page.wait_for_function("() => shallows.player.films[0].header.duration_ps === 5e9")
    page.get_by_role("button", name="Run and keep").click()
    page.wait_for_url("**/work?job=*")
    page.get_by_role("link", name=re.compile("^Run [0-9a-f]{20}")).click(timeout=30_000)
    [run] = Store(folder / "runs").runs()
    page.wait_for_url(f"**/run/{run.hash}")
    page.get_by_text("Settings and their sources").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="queues.csv").click()
    assert pl.read_csv(download.value.path())["marks"].to_list() == run.tables["queues"]["marks"].to_list()
    page.goto(f"{server}results?q=queue.mark_at=65pkt")
    page.get_by_role("link", name=run.hash).wait_for()

    film = tmp_path / "film.html"
    film.write_text(page_of(run.experiment))
    page.context.set_offline(True)
    try:
        page.goto(film.as_uri())
        wait_for_runs(page)
        page.wait_for_function("() => shallows.player.drawn().queue.length === 500")
        page.get_by_label("Speed").select_option(label="50 us a second")
        page.evaluate("shallows.player.seek(1.5e8)")
        page.wait_for_function("() => shallows.player.close[0]?.packets.length > 3")
    finally:
        page.context.set_offline(False)


def test_the_editor_completes_keys_words_and_tables_with_their_meaning(page, server):
    page.goto(server)
    wait_for_runs(page)
    put_text(page, QUICKSTART.rstrip() + "\n\n[pro")
    page.keyboard.type("b", delay=50)
    # A click, since the editor takes no Enter for a list that has only just appeared.
    page.locator(".cm-tooltip-autocomplete li").filter(has_text="probe").click()
    page.locator(".cm-tooltip-autocomplete").wait_for(state="hidden")
    page.keyboard.press("End")
    page.keyboard.insert_text("]")
    page.keyboard.type("\nqueue_tr", delay=50)
    page.locator(".cm-tooltip-autocomplete li").filter(has_text="queue_trace").wait_for()
    page.locator(".cm-completionInfo").filter(has_text="queue").wait_for()
    page.keyboard.press("Escape")
    put_text(page, QUICKSTART.replace('mark_at = "65pkt"', 'mark_at = "65pkt"\nmeasure = '))
    page.locator(".cm-line").filter(has_text="measure = ").click()
    page.keyboard.press("End")
    page.keyboard.press("Control+Space")
    page.locator(".cm-tooltip-autocomplete li").filter(has_text="before").wait_for()
    page.locator(".cm-tooltip-autocomplete li").filter(has_text="after").click()
    page.wait_for_function(
        "() => document.querySelector('.cm-content').innerText.includes('measure = \"after\"')"
    )


def test_python_in_a_page_runs_only_where_the_server_allows_it(page, folder, server):
    create("cc", "gentle", folder)
    text = (folder / "gentle.toml").read_text()
    page.goto(f"{server}?x={pack({'text': text})}")
    page.locator(".sh-faults").filter(has_text="--allow-python").wait_for()
    with running(folder, "--allow-python") as allowing:
        page.goto(f"{allowing}?x={pack({'text': text})}")
        wait_for_runs(page)
        assert page.locator(".sh-faults").inner_text() == ""
        outside = text.replace("gentle.py", "../elsewhere.py")
        page.goto(f"{allowing}?x={pack({'text': outside})}")
        page.locator(".sh-faults").filter(has_text="elsewhere").wait_for()
        page.goto("about:blank")


def test_a_report_has_a_cursor_offline_and_its_image_without_scripts(page, server, folder, browser):
    path = folder / "two.toml"
    path.write_text(QUICKSTART.replace('"50ms"', '"4ms"').replace('"10ms"', '"1ms"'))
    command = [sys.executable, "-m", "shallows", "compare", str(path), "--vary", "queue.mark_at=20pkt,65pkt"]
    subprocess.run([*command, "--seeds", "2"], cwd=folder, check=True, capture_output=True)
    report = folder / "reports/compare-two/index.html"
    page.context.set_offline(True)
    try:
        page.goto(report.as_uri())
        page.locator("figure img").first.scroll_into_view_if_needed()
        page.wait_for_function("() => window.shallowsFigures?.length > 0")
        drawn = page.evaluate("shallowsFigures[0].chart.getOption().series.length")
        assert drawn > 0 and page.locator("figure img.sh-hidden").count() >= 1
        page.emulate_media(media="print")
        assert (
            page.locator("figure img").first.is_visible()
            and not page.locator(".sh-interactive").first.is_visible()
        )
        page.emulate_media(media="screen")
    finally:
        page.context.set_offline(False)
    # The same result inside the page, with the runs behind it.
    page.goto(f"{server}report/compare-two")
    page.get_by_role("heading", name="Comparison").wait_for()
    page.wait_for_function("() => document.querySelectorAll('.sh-interactive canvas').length > 0")
    page.get_by_role("link", name="run 1").first.click()
    page.wait_for_url("**/run/*")
    page.get_by_text("Settings and their sources").wait_for()


def test_ctrl_c_ends_a_server_at_work_for_an_open_page(browser, tmp_path):
    """A simulation that runs, a page that listens to it, and a file that is being made."""
    path = tmp_path / "short.toml"
    path.write_text(QUICKSTART.replace('"50ms"', '"4ms"').replace('"10ms"', '"1ms"'))
    stored = shallows.run(path, store=tmp_path / "runs", progress=False)
    quiet = QUICKSTART.replace('queue_trace = "20us"', "").replace('flow_trace = "100us"', "")
    page = browser.new_page()  # which may say that its server has gone
    try:
        with running(tmp_path) as own:
            page.goto(f"{own}?x={pack({'text': quiet.replace('50ms', '60s')})}")
            page.wait_for_function("() => window.shallows?.player.films[0]?.done > 0")
            page.evaluate(f"void fetch('/stored/{stored.hash}/film.html').catch(() => 0)")
            page.wait_for_timeout(300)
    finally:
        page.close()


def test_papers_lead_to_their_figures(page, server):
    page.goto(f"{server}papers")
    page.get_by_role("link", name="Full form").click()
    page.wait_for_url("**/papers?form=full")
    page.get_by_role("link", name="fig2", exact=True).first.click()
    page.wait_for_url("**/figure/*/fig2?form=full")
    page.get_by_text("Runs behind it").wait_for()
    assert page.get_by_text("of the").count() >= 1
