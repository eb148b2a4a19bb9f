"""Chromium by its own protocol alone, for measurements of memory.

Playwright asks Chromium to keep the answers that a page fetches (up to 100 MB), so a page that it drives
grows by what the page fetches. Here no domain is enabled: only the domains in use listen.
"""

import itertools
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chromium import FLAGS, program
from websockets.sync.client import ClientConnection, connect

__all__ = ["Page", "bare"]

MOST_BYTES = 50_000_000
"""The most bytes of one answer of Chromium."""


class Page:
    """A page of a Chromium of its own."""

    def __init__(self, line: ClientConnection, size: dict[str, int]):
        self._line, self._numbers = line, itertools.count(1)
        self._session = ""
        target = self.browser("Target.createTarget", url="about:blank", newWindow=True, **size)["targetId"]
        self._session = self.browser("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def browser(self, method: str, **given: Any) -> dict[str, Any]:
        """An answer of the whole browser. Raises RuntimeError."""
        return self._ask({"method": method, "params": given})

    def ask(self, method: str, **given: Any) -> dict[str, Any]:
        """An answer of this page. Raises RuntimeError."""
        return self._ask({"method": method, "params": given, "sessionId": self._session})

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        self._line.send(json.dumps(message | {"id": number}))
        while True:
            answer = json.loads(self._line.recv(timeout=120))
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{message['method']}: {answer['error']['message']}")
                return dict(answer["result"])

    def evaluate(self, code: str) -> Any:
        """The value of an expression in the page. Raises RuntimeError."""
        told = self.ask("Runtime.evaluate", expression=code, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(str(told["exceptionDetails"]))
        return told["result"].get("value")

    def mouse(self, kind: str, x: float, y: float) -> None:
        """`kind`: mousePressed, mouseMoved or mouseReleased, with the left button."""
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def processes(self) -> dict[str, list[int]]:
        """Process ids by their kind: browser, renderer, GPU, and the others."""
        found: dict[str, list[int]] = {}
        for each in self.browser("SystemInfo.getProcessInfo")["processInfo"]:
            found.setdefault(each["type"], []).append(each["id"])
        return found


@contextmanager
def bare(size: dict[str, int]) -> Iterator[Page]:
    """A page in a Chromium of its own, with an empty profile."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        asked = [program(), *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
        browser = subprocess.Popen(asked, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            with connect(_address(Path(profile), browser), max_size=MOST_BYTES) as line:
                yield Page(line, size)
        finally:
            browser.terminate()
            browser.wait()


def _address(profile: Path, browser: subprocess.Popen[bytes]) -> str:
    """The browser's socket, which it writes into its profile when it listens."""
    place = profile / "DevToolsActivePort"
    while browser.poll() is None:
        try:
            [port, path] = re.findall(r"\S+", place.read_text())
        except (OSError, ValueError):
            continue
        return f"ws://127.0.0.1:{port}{path}"
    raise RuntimeError("Chromium ended as it began")
