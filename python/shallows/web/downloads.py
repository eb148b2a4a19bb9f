"""Files of stored runs: tables, figures, packets, manifest. Names are checked before anything is read."""

from __future__ import annotations

import asyncio
import io
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Response

from shallows.errors import ShallowsError
from shallows.web.runs import run_of

if TYPE_CHECKING:
    from shallows.results.store import StoredRun
    from shallows.web.state import State

FORMATS = {"png": "image/png", "svg": "image/svg+xml"}
DRAWING = threading.Lock()
"""Matplotlib draws one figure at a time."""

__all__ = ["downloads_router"]


def downloads_router(state: State) -> APIRouter:
    """The addresses under /stored."""
    router = APIRouter()

    def stored(name: str) -> StoredRun:
        run = run_of(state.store, name)
        if run is None:
            raise HTTPException(404, "there is no such run")
        return run

    def answer(data: bytes, kind: str, name: str) -> Response:
        return Response(
            data, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'}
        )

    @router.get("/stored/{name}/tables/{table}.{form}")
    async def table(name: str, table: str, form: str) -> Response:
        """A table as Parquet or CSV."""
        run = stored(name)
        if table not in run.tables or form not in ("parquet", "csv"):
            raise HTTPException(404, "there is no such table")
        data = await asyncio.to_thread(_table, run, table, form)
        return answer(
            data, "text/csv" if form == "csv" else "application/vnd.apache.parquet", f"{name}-{table}.{form}"
        )

    @router.get("/stored/{name}/figures/{kind}.{form}")
    async def figure(name: str, kind: str, form: str) -> Response:
        """A figure as PNG or SVG."""
        from shallows.results.store import FIGURES

        run = stored(name)
        if kind not in FIGURES or form not in FORMATS:
            raise HTTPException(404, "there is no such figure")
        try:
            data = await asyncio.to_thread(_figure, run, kind, form)
        except ValueError as error:
            raise HTTPException(404, str(error)) from None
        return Response(data, media_type=FORMATS[form], headers={"cache-control": "private, max-age=3600"})

    @router.get("/stored/{name}/manifest.json")
    async def manifest(name: str) -> Response:
        """The manifest."""
        import json

        return answer(
            json.dumps(stored(name).manifest, indent=1).encode(), "application/json", f"{name}.json"
        )

    @router.get("/stored/{name}/film.html")
    async def film(name: str) -> Response:
        """The run's film in one file."""
        from shallows.web.export import page_of

        run = stored(name)
        try:
            page = await asyncio.to_thread(page_of, run.experiment)
        except ShallowsError as error:
            raise HTTPException(409, str(error)) from None
        return answer(page.encode(), "text/html; charset=utf-8", f"{name}.html")

    @router.get("/stored/{name}/packets/{place}.pcapng")
    async def packets(name: str, place: str) -> Response:
        """Packets of a link or host, where the run recorded them."""
        run = stored(name)
        try:
            data = await asyncio.to_thread(_packets, run, place)
        except ShallowsError as error:
            raise HTTPException(404, str(error)) from None
        return answer(data, "application/octet-stream", f"{name}.pcapng")

    return router


def _table(run: StoredRun, table: str, form: str) -> bytes:
    if form == "parquet":
        return (run.path / f"{table}.parquet").read_bytes()
    return run.tables[table].write_csv().encode()


def _figure(run: StoredRun, kind: str, form: str) -> bytes:
    with DRAWING:
        from matplotlib import pyplot

        drawn: Any = run.figure(kind)
        try:
            buffer = io.BytesIO()
            drawn.savefig(buffer, format=form)
        finally:
            pyplot.close(drawn)
        return buffer.getvalue()


def _packets(run: StoredRun, place: str) -> bytes:
    from shallows.results import pcapng

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "packets.pcapng"
        pcapng.write(run, place, path)
        return path.read_bytes()
