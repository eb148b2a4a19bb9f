"""Data that the page fetches: films as they grow, and single packets. Numbers only, as bytes or JSON."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Query, Response

if TYPE_CHECKING:
    from shallows.web.live.session import Film, Session, Sessions

WAIT_S = 10.0
"""An answer comes after so long at the latest, so that the page knows that the server lives."""

REST_S = 0.025
"""Between two answers: forty a second are more than a screen shows."""

BYTES = "application/octet-stream"
ONCE = {"Cache-Control": "no-store"}
"""Nobody asks for the same part of a film again: without this, a browser keeps them all."""

MOST_BYTES = 4_000_000
"""The most bytes of one answer; the rest comes with the next one."""

__all__ = ["films_router"]


def films_router(sessions: Sessions) -> APIRouter:
    """The addresses under /live."""
    from shallows.web.live.film import pack

    router = APIRouter()

    def session_of(key: str) -> Session:
        session = sessions.get(key)
        if session is None:
            raise HTTPException(404, "there is no such laboratory")
        session.used_at = time.monotonic()
        return session

    @router.get("/live/{key}/films")
    async def films(key: str, have: str = Query("", max_length=200)) -> Response:
        """News since `have`: side.number.chunks.over, with commas between."""
        session, known = session_of(key), _known(have)
        ends = time.monotonic() + WAIT_S
        while True:
            head, body = _news(session.films, known)
            left = ends - time.monotonic()
            if body or head.pop("news") or left <= 0 or set(known) - set(session.films):
                break
            try:
                await session.changed(left)
            except asyncio.CancelledError:  # the server ends
                raise HTTPException(503, "the server ends") from None
        head.pop("news", None)
        await asyncio.sleep(REST_S)
        return Response(pack(head, []) + b"".join(body), media_type=BYTES, headers=ONCE)

    @router.get("/live/{key}/{side}/packets")
    async def packets(
        key: str, side: int, answer: Response, at_ps: int = Query(ge=0, lt=2**63)
    ) -> dict[str, Any]:
        """Packets under way at a simulated time."""
        answer.headers.update(ONCE)
        found = await session_of(key).packets(side, at_ps)
        if found is None:
            raise HTTPException(409, "no packets can be shown of this run")
        return found

    return router


def _known(text: str) -> dict[int, tuple[int, int, int]]:
    known = {}
    for part in text.split(",") if text else []:
        numbers = part.split(".")
        if len(numbers) != 4 or not all(number.isdigit() and len(number) < 10 for number in numbers):
            raise HTTPException(422, "have must be side.number.chunks.over, with commas between")
        side, number, chunks, over = map(int, numbers)
        known[side] = (number, chunks, over)
    return known


def _news(
    films: dict[int, Film], known: dict[int, tuple[int, int, int]]
) -> tuple[dict[str, Any], list[bytes]]:
    sides: dict[int, dict[str, Any]] = {}
    body: list[bytes] = []
    news = False
    room = MOST_BYTES
    for side, film in sorted(films.items()):
        number, have, over = known.get(side, (0, 0, 0))
        if film.header is None:
            if side in known:  # the page goes on showing the run before, until this one begins
                sides[side] = {"number": number, "fresh": 0, "state": "running"}
            continue
        if number != film.number:
            have, over, news = 0, 0, True
        news = news or (film.state != "running" and not over)
        fresh = []
        for chunk in film.chunks[have:]:
            if fresh and len(chunk) > room:
                break
            fresh.append(chunk)
            room -= len(chunk)
        body += fresh
        sides[side] = {"number": film.number, "fresh": len(fresh), "state": film.state}
        if number != film.number:
            sides[side] |= {"header": film.header, "name": film.name}
    return {"sides": sides, "news": news}, body
