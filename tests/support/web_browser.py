"""A page of the live page in a real browser: Chromium, driven by Playwright, against a server of its own.

The fixtures are made known by `conftest`; a test file that uses them says `pytestmark = needs_chromium`.
"""

import re
import shutil

import pytest
from web_server import running

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")

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


def put_text(page, text):
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def barriers(page, least="minor"):
    """The findings of Axe, a checker for readers by ear and keyboard: weight, rule, first element."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    weights = ("minor", "moderate", "serious", "critical")
    heavy = [each for each in found if weights.index(each["impact"]) >= weights.index(least)]
    return [f"{each['impact']}: {each['help']}: {each['nodes'][0]['html'][:200]}" for each in heavy]
