"""The laboratory in a real browser. The drawn numbers are held to runs by the command line.

Skipped, with a word, where there is no Chromium.
"""

import numpy as np
import polars as pl
import pytest
import shallows
from shallows.cli.scaffold import create
from shallows.web.pages.address import pack
from shallows.web.pages.gallery import entries
from web_browser import needs_chromium, put_text, wait_for_runs
from web_server import running

pytestmark = needs_chromium

QUEUE = "switch->r0"
QUICKSTART = next(entry for entry in entries() if entry.name == "quickstart").text


def queue_of(page, side=0, port=QUEUE):
    """The queue of a port as the page has it, a number a look."""
    code = """([side, name]) => {
        const film = shallows.player.films[side];
        return film.column('queue', film.layout.ports.findIndex(port => port.name === name));
    }"""
    return page.evaluate(code, [side, port])


def queue_by_command_line(text, settings, folder, every="100us"):
    """The queue that `shallows run` gives with a trace."""
    path = folder / "same.toml"
    path.write_text(text)
    run = shallows.run(
        path, settings=[*settings, f"probe.queue_trace={every}"], store=folder / "store", progress=False
    )
    return run.tables["queue_trace"].filter(pl.col("port") == QUEUE)["packets"].to_list()


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
    mark_at = 9  # from 5 to 200 in even ratios
    page.wait_for_function(
        "(k) => shallows.player.films[0].layout.ports.find(p => p.switch).mark_at === k", arg=mark_at
    )
    wait_for_runs(page)
    page.locator(".cm-content").filter(has_text=f'mark_at = "{mark_at}pkt"').wait_for()
    seen = queue_of(page)
    told = queue_by_command_line(QUICKSTART, [f"queue.mark_at={mark_at}pkt"], tmp_path)
    assert seen[: len(told)] == told and len(told) >= 499
    # The chart is drawn again with the next picture; until then it has as many numbers of the run before.
    page.wait_for_function(
        """told => {
            const drawn = shallows.player.drawn().queue;
            return drawn.length === 500 && told.every((packets, i) => drawn[i] === packets);
        }""",
        arg=told,
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


def test_the_page_opens_playing_where_something_happens(page, server):
    """The first look begins to mark after 0.4 ms; from there on a second shows a millisecond."""
    page.goto(server)
    wait_for_runs(page)
    page.wait_for_function("() => shallows.player.opened")
    view, playing, speed = page.evaluate("(p => [p.view, p.playing, p.speed])(shallows.player)")
    first = page.evaluate(
        "shallows.player.films[0].column('marks', shallows.player.port(0)).findIndex(m => m > 0)"
    )
    assert first > 0 and view >= first * page.evaluate("shallows.player.films[0].header.every_ps")
    assert playing and speed == 1e9 and view < 25e9
    page.get_by_role("button", name="Pause").click()
    page.evaluate("shallows.player.open()")  # once, and never against the reader
    assert not page.evaluate("shallows.player.playing")


def test_pause_step_speed_time_and_single_packets(page, server):
    page.goto(server)
    wait_for_runs(page)
    page.get_by_role("button", name="Pause").click()
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
    first = page.evaluate("shallows.player.port(0)")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    ports = page.evaluate("shallows.player.films[0].ports")
    assert page.evaluate("shallows.player.chosen.port") == (first + 1) % ports


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


def test_a_dead_link_is_drawn_as_dead_while_it_is(page, server):
    page.goto(f"{server}?show=failing-link")
    wait_for_runs(page, 2)
    seen = """(at_ms) => {
        const { player } = shallows, film = player.films[0], network = player.sides[0].drawing;
        const crossed = [], cross = network.cross.bind(network);
        network.cross = (from, to, port) => { crossed.push(port.name); cross(from, to, port); };
        player.choosePort(film.layout.ports.findIndex(port => port.name === 'leaf0->spine0'));
        player.seek(at_ms * 1e9);
        player.forceFrame = true;
        player.draw(performance.now());
        delete network.cross;
        return [crossed.sort(), document.querySelector('.sh-readout').textContent];
    }"""
    cables = sorted(
        f"{a}->{b}" for leaf in (0, 1) for a, b in [(f"leaf{leaf}", "spine0"), ("spine0", f"leaf{leaf}")]
    )
    for at, dead in [(4.9, []), (5.1, cables), (11.9, cables), (12.1, [])]:
        crossed, readout = page.evaluate(seen, at)
        assert crossed == dead, at
        assert readout.startswith("leaf0->spine0: ") and ("the link is down" in readout) == bool(dead), (
            readout
        )


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_entry_of_the_gallery_runs(page, server, entry):
    page.goto(f"{server}?show={entry.name}")
    wait_for_runs(page, 2 if entry.second else 1)
    assert page.locator(".sh-faults").inner_text() == ""
    page.wait_for_function("() => shallows.player.drawn().queue.length > 100")


def test_an_address_holds_its_experiment(page, server):
    page.goto(server)
    wait_for_runs(page)
    page.wait_for_function("() => location.search.startsWith('?x=')")
    before = page.evaluate("location.search")
    put_text(page, QUICKSTART.replace("65pkt", "33pkt"))
    page.wait_for_function("(old) => location.search !== old", arg=before)
    page.goto(page.evaluate("location.href"))
    wait_for_runs(page)
    assert "33pkt" in page.locator(".cm-content").inner_text()


def test_a_reloaded_or_sent_address_keeps_the_lesson(page, server):
    page.goto(f"{server}?show=incast")
    wait_for_runs(page, 2)
    page.wait_for_function("() => location.search.startsWith('?x=')")
    before = page.evaluate("location.search")
    set_slider(page, "topology.senders", 0.2)
    page.wait_for_function("(old) => location.search !== old", arg=before)
    page.wait_for_timeout(1500)  # the last of the drag's runs
    wait_for_runs(page, 2)
    told = [page.locator(each).inner_text() for each in (".sh-about", ".sh-slider >> nth=0")]
    page.reload()
    wait_for_runs(page, 2)
    page.locator(".sh-slider").first.wait_for()
    assert [page.locator(each).inner_text() for each in (".sh-about", ".sh-slider >> nth=0")] == told
    assert page.locator(".sh-title").all_inner_texts() == ["Reno, drop-tail", "DCTCP, marks above 20 packets"]


@pytest.mark.parametrize("address", ["?show=nope", "?x=garbage"])
def test_an_address_that_cannot_be_read_is_told(page, server, address):
    page.goto(f"{server}{address}")
    wait_for_runs(page)
    assert "cannot be read" in page.get_by_role("alert").first.inner_text()


def test_both_commands_are_shown_and_none_while_there_is_a_fault(page, server, tmp_path):
    page.goto(f"{server}?show=dctcp-cubic")
    wait_for_runs(page, 2)
    first, second = page.locator(".sh-code").first.inner_text().splitlines()
    assert first.endswith("run mine.toml") and "transport.cc=cubic" in second
    put_text(page, QUICKSTART.replace("mark_at", "mark_att"))
    page.wait_for_selector(".sh-fault")
    page.locator(".sh-code").first.wait_for(state="hidden")


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
    title = "() => shallows.player.sides[0].charts.chart.getOption()?.title[0].textStyle.fontSize"
    page.wait_for_function(f"() => ({title})() > 14")  # the charts follow too
    page.reload()
    wait_for_runs(page)
    page.wait_for_function("(was) => document.body.classList.contains('body--dark') !== was", arg=before)
    assert page.evaluate("document.documentElement.style.fontSize") == "18px"
    page.evaluate("localStorage.clear()")


SLOWLY = """() => {
    const now = window.socket.emit.bind(window.socket);
    window.socket.emit = (...message) => (setTimeout(() => now(...message), 1500), window.socket);
}"""
"""Messages of the page arrive late at the server, as under load."""


def test_faults_are_marked_without_undoing_what_is_typed_meanwhile(page, server):
    page.goto(server)
    wait_for_runs(page)
    put_text(page, QUICKSTART.rstrip() + "\n\n# ")
    page.wait_for_timeout(800)
    wait_for_runs(page)
    page.evaluate(SLOWLY)
    page.keyboard.insert_text("x\nunknown = 1")
    page.wait_for_timeout(1000)  # the check of this text ends while more is typed
    typed = "\n# " + "abcdefghij" * 4
    page.keyboard.type(typed, delay=60)
    page.wait_for_selector(".cm-line.sh-fault")
    page.wait_for_timeout(2500)
    written = page.evaluate("() => [...document.querySelectorAll('.cm-line')].at(-1).innerText")
    assert written == typed.strip()


def offered(page, word):
    """An entry of the list of completions; a machine under load may take its time."""
    entry = page.locator(".cm-tooltip-autocomplete li").filter(has_text=word)
    entry.wait_for(timeout=60_000)
    return entry


def test_the_editor_completes_keys_words_and_tables_with_their_meaning(page, server):
    page.goto(server)
    wait_for_runs(page)
    put_text(page, QUICKSTART.rstrip() + "\n\n[pro")
    page.keyboard.type("b", delay=50)
    # A click, since the editor takes no Enter for a list that has only just appeared.
    offered(page, "probe").click()
    page.locator(".cm-tooltip-autocomplete").wait_for(state="hidden")
    page.keyboard.press("End")
    page.keyboard.insert_text("]")
    page.keyboard.type("\nqueue_tr", delay=50)
    offered(page, "queue_trace")
    page.locator(".cm-completionInfo").filter(has_text="queue").wait_for()
    page.keyboard.press("Escape")
    put_text(page, QUICKSTART.replace('mark_at = "65pkt"', 'mark_at = "65pkt"\nmeasure = '))
    page.locator(".cm-line").filter(has_text="measure = ").click()
    page.keyboard.press("End")
    page.keyboard.press("Control+Space")
    offered(page, "before")
    offered(page, "after").click()
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
