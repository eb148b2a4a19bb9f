"""The live page under readers who come, look, leave and lie: films are whole, and nothing is left behind.

A reader asks for a page, connects as a browser does, and fetches the film of its run.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import socketio
from shallows.document.points import expand
from shallows.errors import SpecError
from shallows.web.editor.document import parse
from shallows.web.editor.editing import put
from shallows.web.limits import Limits
from shallows.web.live.film import FLOW_METRICS, PORT_METRICS
from shallows.web.pages.address import pack
from shallows.web.pages.gallery import entries

from soak.guests import processes

READERS = 6
"""Readers at once: fewer than the page has places."""

FILM_S = 90.0
"""A film that has not ended after so long is a finding: its run takes milliseconds."""

MOST_PROCESSES = Limits().sessions + 2
"""The server, one for each laboratory, and the one with which multiprocessing watches over them."""

END_S = 20.0
"""The server ends within so long of Ctrl-C."""

LATE = f"its film did not end in {FILM_S:g} s"

NONSENSE = ("x", "0.0.0", "0.1.2.3,", "-1.0.0.0", "9" * 150, "0.999999999.5.0", "7.1.0.1,7.1.0.1")
"""A page never sends these as the parts of the film that it has."""


def visit(draws: random.Random, place: Path) -> list[str]:
    """A server, a dozen readers, its end."""
    found: list[str] = []
    folder = place / "pages"
    folder.mkdir(exist_ok=True)
    with _server(folder, found) as (url, group):
        found += asyncio.run(_readers(url, group, draws.randrange(2**32)))
    return found


@contextlib.contextmanager
def _server(folder: Path, found: list[str]) -> Iterator[tuple[str, int]]:
    """Its address and its process group. After Ctrl-C it has ended in order, with all of its processes."""
    errors = folder / "errors"
    command = [sys.executable, "-m", "shallows", "web", "--port", "0", "--no-browser", "--store", "runs"]
    with errors.open("w") as file:
        server = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=file, text=True, start_new_session=True
        )
    assert server.stdout is not None
    try:
        said = re.search(r"http://\S+?(?=/?$)", server.stdout.readline())
        if said is None:
            found.append(f"the server did not start: {errors.read_text()[-500:]}")
            return
        yield said[0], server.pid
        server.send_signal(signal.SIGINT)
        try:
            if server.wait(END_S) != 0:
                found.append(f"the server ended with status {server.returncode}")
        except subprocess.TimeoutExpired:
            found.append(f"the server runs {END_S:g} s after Ctrl-C")
        time.sleep(0.2)
        if left := processes(server.pid):
            found.append(f"{len(left)} processes are left of the server")
        if "Traceback" in (text := errors.read_text()):
            found.append(f"the server printed {text[-800:]}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.stdout.close()
        server.wait()


async def _readers(url: str, group: int, seed: int) -> list[str]:
    found: list[str] = []
    films: dict[str, str] = {}
    most = 0
    async with httpx.AsyncClient(base_url=url, timeout=60.0) as client:
        for turn in range(2):
            readers = [
                asyncio.create_task(_reader(client, url, random.Random(f"{seed} {number}"), turn, films))
                for number in range(READERS)
            ]
            for reader in asyncio.as_completed(readers):
                most = max(most, await _settled(group))
                try:
                    found += await reader
                except (httpx.HTTPError, socketio.exceptions.SocketIOError) as error:
                    found.append(f"a reader met {type(error).__name__}: {error}")
    if most > MOST_PROCESSES:
        found.append(f"{most} processes worked for {READERS} readers")
    return found


async def _settled(group: int) -> int:
    """Processes of the server, once those that it has just killed are gone."""
    for _ in range(20):
        if (count := len(processes(group))) <= MOST_PROCESSES:
            return count
        await asyncio.sleep(0.1)
    return count


async def _reader(
    client: httpx.AsyncClient, url: str, draws: random.Random, turn: int, films: dict[str, str]
) -> list[str]:
    """One reader. The second turn draws the same, so that its films are those of the first."""
    entry = draws.choice(entries())
    text = put(put(entry.text, "warmup", "0s"), "duration", draws.choice(["200us", "1ms", "5ms"]))
    wrong = True
    if draws.random() < 0.15:
        text = draws.choice([text.replace("=", "==", 1), put(text, "seed", "never"), "x = [" * 3000])
    with contextlib.suppress(SpecError):
        expand(parse(text, [], Limits(), False))
        wrong = False
    acts = random.Random(draws.random() + turn)  # when it leaves and what it asks for need not repeat
    await asyncio.sleep(acts.random())
    page = await client.get("/", params={"x": pack({"text": text})})
    if page.status_code == 503:
        return []  # too many pages are being made: a refusal in words
    key = re.search(r'session"?:"([\w-]{16,})"', page.text)
    name = re.search(r"client_id': '([\w-]+)'", page.text)
    if page.status_code != 200 or key is None or name is None:
        return [f"{entry.name}: the page has status {page.status_code} and no laboratory"]
    if acts.random() < 0.1:
        return []  # it never opens the page
    found: list[str] = []
    address = _address(url, name[1])
    for _ in range(2 if acts.random() < 0.3 else 1):  # a second time as after a lost connection
        socket = socketio.AsyncClient(reconnection=False)
        await socket.connect(
            address, socketio_path="/_nicegui_ws/socket.io", transports=["websocket"], wait_timeout=30
        )
        try:
            leaves = wrong or acts.random() < 0.3
            ends = time.monotonic() + (acts.random() * 3 if leaves else FILM_S)
            said = await _watch(client, key[1], acts, ends, (f"{entry.name} {text}", films))
            if said == LATE if wrong else leaves and said in ("", LATE):
                continue
            if said or wrong:
                found.append(f"{entry.name}: {said or 'a wrong text has a film'}")
        finally:
            await socket.disconnect()
    return found


def _address(url: str, client: str) -> str:
    query = {
        "client_id": client, "next_message_id": 0, "implicit_handshake": "true",
        "document_id": uuid.uuid4(), "tab_id": uuid.uuid4(),
    }  # fmt: skip
    return f"{url}?{'&'.join(f'{name}={value}' for name, value in query.items())}"


class _Reel:
    """A film as a page puts it together: chunks follow one another, however they are cut."""

    def __init__(self, number: int, header: dict[str, Any]):
        self.number, self.ports, self.looks = number, len(header["layout"]["ports"]), header["looks"]
        self.chunks = self.done = 0
        self._parts: list[np.ndarray[Any, Any]] = []

    def append(self, data: bytes) -> str:
        """Takes over chunks; returns their fault, or nothing."""
        at = 0
        while at < len(data):
            length = int.from_bytes(data[at : at + 4], "little")
            head = json.loads(data[at + 4 : at + 4 + length])
            if head["from"] != self.done:
                return f"look {head['from']} follows look {self.done}"
            at += 4 + length
            cells = head["looks"] * self.ports * len(PORT_METRICS)
            part = np.frombuffer(data, "<f4", cells, at)
            self._parts.append(part.reshape(len(PORT_METRICS), head["looks"], self.ports))
            at += 4 * (cells + head["looks"] * len(head["flows"]) * len(FLOW_METRICS))
            self.chunks, self.done = self.chunks + 1, self.done + head["looks"]
        return ""

    def digest(self) -> str:
        """A hash of all states of all ports."""
        return hashlib.sha256(np.concatenate(self._parts, axis=1).tobytes()).hexdigest()


async def _watch(
    client: httpx.AsyncClient, key: str, acts: random.Random, ends: float, films: tuple[str, dict[str, str]]
) -> str:
    """Fetches a film until it is over or the reader leaves; returns the fault, or nothing."""
    reel: _Reel | None = None
    while time.monotonic() < ends:
        if acts.random() < 0.1 and (wrong := await _lie(client, key, acts)):
            return wrong
        known = f"0.{reel.number}.{reel.chunks}.0" if reel else ""
        answer = await client.get(f"/live/{key}/films", params={"have": known})
        if answer.status_code != 200:
            return f"its film has status {answer.status_code}"
        length = int.from_bytes(answer.content[:4], "little")
        side = json.loads(answer.content[4 : 4 + length])["sides"].get("0")
        if side is None:
            continue
        if "header" in side:
            reel = _Reel(side["number"], side["header"])
        if reel is None:
            return "its film has no header"
        if wrong := reel.append(answer.content[4 + length :]):
            return wrong
        if side["state"] == "done" and reel.done == reel.looks:
            seen = films[1].setdefault(films[0], reel.digest())
            return "" if seen == reel.digest() else "two readers saw different films"
        if side["state"] not in ("running", "waiting", "done"):
            return f"its run ended as {side['state']}"
    return LATE


async def _lie(client: httpx.AsyncClient, key: str, acts: random.Random) -> str:
    """A request that no page makes; returns the fault of the answer, or nothing."""
    path, expected = acts.choice(
        [
            (f"/live/{key}/films?have={acts.choice(NONSENSE)}", (200, 422)),
            (f"/live/{key}x/films", (404,)),
            (f"/live/{key}/0/packets?at_ps={acts.randrange(10**10)}", (200, 409)),
            (f"/live/{key}/7/packets?at_ps=0", (409,)),
            (f"/live/{key}/0/packets?at_ps=-1", (422,)),
        ]
    )
    status = (await client.get(path)).status_code
    return "" if status in expected else f"{path.partition('?')[0]} has status {status}"
