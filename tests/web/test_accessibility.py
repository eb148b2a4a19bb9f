"""Axe, a checker of the rules for readers by ear and by keyboard (WCAG), finds nothing in any view."""

import subprocess
import sys

import pytest
import shallows
from shallows.web.live.export import page_of
from shallows.web.pages.gallery import entries
from web_browser import barriers, needs_chromium, wait_for_runs

pytestmark = needs_chromium

QUICKSTART = next(entry for entry in entries() if entry.name == "quickstart").text
SHORT = QUICKSTART.replace('"10ms"', '"1ms"').replace('"50ms"', '"4ms"')


@pytest.fixture(scope="module")
def run(folder):
    """A stored run, and a report that compares two."""
    path = folder / "two.toml"
    path.write_text(SHORT)
    command = [sys.executable, "-m", "shallows", "compare", str(path), "--vary", "queue.mark_at=20pkt,65pkt"]
    subprocess.run([*command, "--seeds", "2"], cwd=folder, check=True, capture_output=True)
    return shallows.run(path, store=folder / "runs", progress=False)


@pytest.mark.parametrize("view", ["", "?show=dctcp-cubic", "?show=pfc", "gallery"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_laboratory_and_the_gallery(page, server, view, theme):
    page.emulate_media(color_scheme=theme)
    page.goto(f"{server}{view}")
    if view != "gallery":
        wait_for_runs(page, 2 if "cubic" in view else 1)
    page.get_by_role("main").get_by_role("heading").first.wait_for()
    assert barriers(page) == []


@pytest.mark.parametrize("view", ["papers", "results", "jobs", "sweep", "run", "report/compare-two"])
def test_a_view_of_what_is_stored(page, server, run, view):
    page.goto(f"{server}{view}" + (f"/{run.hash}" if view == "run" else ""))
    page.get_by_role("main").get_by_role("heading").first.wait_for()
    assert barriers(page) == []


def test_an_address_that_leads_nowhere(browser, server):
    page = browser.new_page()  # whose console tells the status
    answer = page.goto(f"{server}now<b>here")
    assert answer.status == 404 and page.locator("code").inner_text() == "/now<b>here"
    page.get_by_role("link", name="Gallery").wait_for()
    assert barriers(page) == []
    page.close()


def test_films_and_reports_that_are_files(page, run, folder):
    film = folder / "film.html"
    film.write_text(page_of(run.experiment))
    page.goto(film.as_uri())
    wait_for_runs(page)
    assert barriers(page) == []
    page.goto((folder / "reports/compare-two/index.html").as_uri())
    page.locator("figure img").first.scroll_into_view_if_needed()
    page.wait_for_function("() => window.shallowsFigures?.length > 0")
    assert barriers(page) == []
