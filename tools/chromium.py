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

DONE = """() => {
    const films = window.shallows?.player.films;
    return films?.length > 0 && films.every(film => film?.state === 'done');
}"""
"""All runs that the laboratory shows are over."""


def program() -> str:
    """Chromium's place; ends with a word where there is none."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    return found or sys.exit("no Chromium here: apt-get install chromium")


@contextmanager
def serving(folder: Path | None = None) -> Iterator[tuple[str, int]]:
    """A server's address and process id, in an empty directory or in `folder`."""
    with tempfile.TemporaryDirectory() as empty:
        command = [sys.executable, "-m", "shallows", "web", "--port", "0", "--no-browser"]
        server = subprocess.Popen(command, cwd=folder or empty, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            url = re.search(r"http://\S+", server.stdout.readline())
            assert url, "the server did not say where it is"
            yield url[0], server.pid
        finally:
            server.terminate()
            server.wait()


@contextmanager
def opened(size: dict[str, int], folder: Path | None = None, **options: Any) -> Iterator[tuple[str, Any]]:
    """The server's address and a page of Chromium. `options` are the page's."""
    with serving(folder) as (url, _), sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program(), args=FLAGS)
        yield url, chromium.new_page(viewport=size, **options)
        chromium.close()
