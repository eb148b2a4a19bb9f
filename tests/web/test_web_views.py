"""Results, papers, jobs and reports in a real browser; films and reports from a file, without a network.

Skipped, with a word, where there is no Chromium.
"""

import contextlib
import re
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import shallows
from shallows.results.store import Store
from shallows.web.live.export import page_of
from shallows.web.pages.address import pack
from shallows.web.pages.gallery import entries
from web_browser import needs_chromium, put_text, wait_for_runs
from web_server import running

pytestmark = needs_chromium

QUICKSTART = next(entry for entry in entries() if entry.name == "quickstart").text
SHORT = QUICKSTART.replace('"10ms"', '"1ms"').replace('"50ms"', '"4ms"')


def test_work_results_and_a_film_that_plays_from_a_file(page, server, folder, tmp_path):
    page.goto(server)
    wait_for_runs(page)
    put_text(page, QUICKSTART.replace('"50ms"', '"5ms"').replace('"10ms"', '"1ms"'))
    page.wait_for_function("() => shallows.player.films[0].header.duration_ps === 5e9")
    page.get_by_role("button", name="Run and keep").click()
    page.wait_for_url("**/jobs?job=*")
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


def test_each_download_of_a_run_opens(page, server, folder, tmp_path):
    path = folder / "captured.toml"
    path.write_text(SHORT)
    settings = ["probe.packets=switch->*", "probe.queue_trace=100us"]
    run = shallows.run(path, settings=settings, store=folder / "runs", progress=False)
    page.goto(f"{server}run/{run.hash}")
    page.get_by_text("Settings and their sources").wait_for()
    links = page.locator('a[href^="/stored/"]').all()
    got = {}
    for link in links:
        with page.expect_download() as download:
            link.click()
        name = download.value.suggested_filename
        got[name] = tmp_path / name
        download.value.save_as(got[name])
    words = {name.removeprefix(run.hash) for name in got}
    ports = {f"-switch-{host}.pcapng" for host in ("r0", "s0", "s1", "s2", "s3")}
    assert (
        ports | {"-queues.csv", "-queues.parquet", "-queue_time.svg", "-queue_time.png", ".json", ".html"}
        <= words
    )
    for name, file in got.items():
        data = file.read_bytes()
        if name.endswith(".png"):
            assert data.startswith(b"\x89PNG\r\n")
        elif name.endswith(".svg"):
            assert ElementTree.fromstring(data).tag.endswith("svg")
        elif name.endswith("-queues.parquet"):
            assert pl.read_parquet(file).equals(run.tables["queues"])
        elif name.endswith("-queues.csv"):
            assert pl.read_csv(file)["marks"].to_list() == run.tables["queues"]["marks"].to_list()
        elif name.endswith("r0.pcapng"):
            sent = run.tables["packets"].filter(pl.col("port") == "switch->r0")
            assert data[:4] == b"\n\r\r\n" and len(data) > 60 * sent.height > 0


def test_a_report_has_a_cursor_offline_and_its_image_without_scripts(page, server, folder, browser):
    path = folder / "two.toml"
    path.write_text(SHORT)
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
    # That result inside the page, with the runs behind it.
    page.goto(f"{server}report/compare-two")
    page.get_by_role("heading", name="Comparison").wait_for()
    page.wait_for_function("() => document.querySelectorAll('.sh-interactive canvas').length > 0")
    page.get_by_role("link", name="run 1").first.click()
    page.wait_for_url("**/run/*")
    page.get_by_text("Settings and their sources").wait_for()


def test_ctrl_c_ends_a_server_at_work_for_an_open_page(browser, tmp_path):
    """A simulation that runs, a page that listens to it, and a file that is being made."""
    path = tmp_path / "short.toml"
    path.write_text(SHORT)
    stored = shallows.run(path, store=tmp_path / "runs", progress=False)
    quiet = QUICKSTART.replace('queue_trace = "20us"', "").replace('flow_trace = "100us"', "")
    page = browser.new_page()  # which may say that its server has gone
    try:
        with running(tmp_path) as own:
            page.goto(f"{own}?x={pack({'text': quiet.replace('50ms', '60s')})}")
            page.wait_for_function("() => window.shallows?.player.films[0]?.done > 0")
            with page.expect_request("**/film.html"):
                page.evaluate(f"void fetch('/stored/{stored.hash}/film.html').catch(() => 0)")
    finally:
        page.close()


def test_ctrl_c_ends_a_sweep_that_the_page_started_and_what_is_finished_stays(browser, tmp_path):
    """Two short runs, then long ones: the server ends, its sweep with it, and the short runs are stored."""
    quiet = SHORT.replace('queue_trace = "20us"', "").replace('flow_trace = "100us"', "")
    text = quiet + '\n[sweep.grid]\nduration = ["4ms", "5ms", "1000s", "1001s"]\n'
    page = browser.new_page()
    try:
        with running(tmp_path) as own:
            page.goto(f"{own}?x={pack({'text': text})}")
            page.get_by_role("button", name="Sweep", exact=True).click()
            page.get_by_role("heading", name="sweep: running").wait_for()
            assert len(_working_in(tmp_path)) >= 2
            page.close()  # the job goes on
            until = time.monotonic() + 60
            while len(Store(tmp_path / "runs").runs()) < 2:
                assert time.monotonic() < until
                time.sleep(0.05)
    finally:
        page.close()
    until = time.monotonic() + 20
    while left := _working_in(tmp_path):
        assert time.monotonic() < until, left
        time.sleep(0.05)
    assert len(Store(tmp_path / "runs").runs()) == 2


def _working_in(folder):
    """Processes in a directory: the server, its workers, and their children."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink() == folder:  # of one that has ended it cannot be read
                found.append(process.name)
    return found


def test_a_server_without_work_says_so(browser, tmp_path):
    page = browser.new_page()
    try:
        with running(tmp_path) as own:
            page.goto(f"{own}jobs")
            page.get_by_text("Nothing yet.").wait_for()
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
