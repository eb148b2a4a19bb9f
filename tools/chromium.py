"""A server of the live page and Chromium with a page of it, for the tools that draw and measure it."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

DONE = "() => window.shallows?.player.films.every(film => film?.state === 'done')"
"""All runs that the laboratory shows are over."""


@contextmanager
def opened(
    size: dict[str, int], folder: Path | None = None, **options: Any
) -> Iterator[tuple[str, Any, int]]:
    """The server's address, a page of Chromium, the server's process id. `options` are the page's."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as empty:
        command = [sys.executable, "-m", "shallows", "web", "--port", "0", "--no-browser"]
        server = subprocess.Popen(command, cwd=folder or empty, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            url = re.search(r"http://\S+", server.stdout.readline())
            assert url, "the server did not say where it is"
            with sync_playwright() as playwright:
                chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
                yield url[0], chromium.new_page(viewport=size, **options), server.pid
                chromium.close()
        finally:
            server.terminate()
            server.wait()
