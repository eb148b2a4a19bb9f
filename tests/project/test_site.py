"""The documentation as a site: a strict build, nothing loaded from elsewhere, and a search that finds."""

import functools
import re
import shutil
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import ROOT
from web_browser import barriers

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site in a folder. A link without a target or a name without an entry ends the build."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder]
    made = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder


def test_no_page_loads_anything_from_elsewhere(site):
    loads = re.compile(r"""<(?:script|link|img|iframe)[^>]*?(?:src|href)=["']?(https?:[^"' >]+)""")
    found = {
        address
        for page in site.rglob("*.html")
        for tag, address in ((m[0], m[1]) for m in loads.finditer(page.read_text()))
        if 'rel="canonical"' not in tag
    }
    assert found == set()


@pytest.fixture(scope="module")
def served(site):
    """The address of a web server with that folder."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=site)
    handler.log_message = lambda *_: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@in_a_browser
@pytest.mark.parametrize("way", ["a server", "a file"])
def test_the_search_finds(site, served, way):
    from playwright.sync_api import sync_playwright

    address = site.as_uri() if way == "a file" else served
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{address}/reference/transport.html")
        page.keyboard.press("s")
        page.keyboard.type("watchdog")
        result = page.locator(".md-search-result__item").first
        result.wait_for(timeout=60_000)
        assert "watchdog" in result.inner_text().lower()
        result.locator("a").first.click()
        page.wait_for_url("**/*.html*")
        assert "watchdog" in page.locator("article").inner_text().lower()
        browser.close()


@in_a_browser
def test_names_in_reference_tables_stay_whole(site):
    """`slow_start` was broken over two lines: it can be neither read nor copied."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{site.as_uri()}/reference/transport.html")
        broken = page.eval_on_selector_all(
            "article td:first-child code",
            "all => all.filter(c => c.getClientRects().length > 1).map(c => c.innerText)",
        )
        assert broken == []
        browser.close()


@in_a_browser
@pytest.mark.parametrize("page", ["index", "reference/transport", "how-to/assess", "lab"])
def test_nothing_bars_readers_by_ear_or_keyboard(site, page):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1440, "height": 900})
        shown.goto(f"{site.as_uri()}/{page}.html")
        assert barriers(shown, "serious") == []  # the theme is not ours
        browser.close()
