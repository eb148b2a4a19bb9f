"""Draws the picture of the live page that README.md shows: `make picture`. Needs Chromium and Playwright."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PLACE = Path(__file__).parents[1] / "docs/images/web.png"
SIZE = {"width": 1280, "height": 860}
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

DONE = "() => window.shallows?.player.films[0]?.state === 'done'"
SLOW = """() => {
    const { player } = shallows;
    player.controls.speed.value = 5;
    player.controls.setSpeed();
    player.follow = false;
    player.seek(3.07e9);
}"""
CLOSE = "() => shallows.player.close[0]?.at_ps === Math.round(shallows.player.view)"


def main() -> None:
    """Starts a server, opens the first experiment of the gallery, and takes the picture at 3.07 ms."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("picture: no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "shallows", "web", "--port", "0", "--no-browser"]
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            url = re.search(r"http://\S+", server.stdout.readline())
            assert url, "the server did not say where it is"
            with sync_playwright() as playwright:
                chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
                page = chromium.new_page(viewport=SIZE, color_scheme="light")
                page.goto(url[0])
                page.wait_for_function(DONE)
                page.wait_for_timeout(1500)  # the charts draw a little later
                page.evaluate(SLOW)
                page.wait_for_function(CLOSE)
                page.wait_for_timeout(500)
                page.screenshot(path=PLACE)
                chromium.close()
        finally:
            server.kill()
            server.wait()
    print(PLACE)


if __name__ == "__main__":
    main()
