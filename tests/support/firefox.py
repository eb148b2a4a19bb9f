"""A page in Firefox, driven by WebDriver BiDi over the browser's own port (https://w3c.github.io/webdriver-bidi)."""

import base64
import itertools
import json
import re
import shutil
import subprocess
import threading
from contextlib import contextmanager

import pytest
from websockets.sync.client import connect

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)

needs_firefox = pytest.mark.skipif(FIREFOX is None, reason="no Firefox here: apt-get install firefox-esr")


class Page:
    """One tab. `faults` has the errors of its console."""

    def __init__(self, socket):
        self.socket, self.numbers, self.faults = socket, itertools.count(1), []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.tab = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method, **params):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (answer := json.loads(self.socket.recv(timeout=90))).get("id") != number:
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.faults.append(answer["params"]["text"])
        assert answer["type"] == "success", answer
        return answer["result"]

    def goto(self, address):
        self.ask("browsingContext.navigate", context=self.tab, url=address, wait="complete")

    def evaluate(self, expression):
        """The value of an expression, as JSON has it."""
        text = f"JSON.stringify({expression})"
        found = self.ask("script.evaluate", expression=text, target={"context": self.tab}, awaitPromise=True)
        assert found["type"] == "success", found
        return json.loads(found["result"].get("value", "null"))

    def resize(self, width, height):
        size = {"width": width, "height": height}
        self.ask("browsingContext.setViewport", context=self.tab, viewport=size)

    def screenshot(self):
        return base64.b64decode(self.ask("browsingContext.captureScreenshot", context=self.tab)["data"])


@contextmanager
def firefox(profile):
    """A page of a browser of its own. One that does not begin to listen is ended."""
    profile.mkdir()
    given = ["--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    running = subprocess.Popen([FIREFOX, *given], **quiet)
    slow = threading.Timer(60, running.kill)
    slow.start()
    try:
        lines = iter(running.stderr.readline, "")
        address = next(found[1] for line in lines if (found := re.search(r"listening on (ws://\S+)", line)))
        slow.cancel()
        with connect(f"{address}/session", max_size=None, compression=None) as socket:
            yield Page(socket)
    finally:
        slow.cancel()
        running.terminate()
        running.wait(timeout=30)
        running.stderr.close()
