"""Files of stored runs: tables, figures, packets, manifest. Names are checked before anything is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Response

from shallows.web.jobs.renderer import RenderError
from shallows.web.pages.reports import FILE, TYPES, report_of
from shallows.web.pages.runs import run_of

if TYPE_CHECKING:
    from shallows.results.store import StoredRun
    from shallows.web.pages.state import State

FORMATS = {"png": "image/png", "svg": "image/svg+xml"}
WORD = re.compile(r"^\w{1,60}$")

__all__ = ["downloads_router"]


def downloads_router(state: State) -> APIRouter:
    """The addresses under /stored."""
    router = APIRouter()

    def stored(name: str) -> StoredRun:
        run = run_of(state.store, name)
        if run is None:
            raise HTTPException(404, "there is no such run")
        return run

    async def made(what: str, name: str, *given: Any) -> bytes:
        stored(name)
        try:
            return await state.renderer.make(what, state.store.path, name, *given)
        except RenderError as error:
            raise HTTPException(404 if error.gone else 409, str(error)) from None

    def answer(data: bytes, kind: str, name: str) -> Response:
        return Response(
            data, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'}
        )

    @router.get("/stored/{name}/tables/{table}.{form}")
    async def table(name: str, table: str, form: str) -> Response:
        """A table as Parquet or CSV."""
        if form not in ("parquet", "csv") or not WORD.match(table):
            raise HTTPException(404, "there is no such table")
        data = await made("table", name, table, form)
        kind = "text/csv" if form == "csv" else "application/vnd.apache.parquet"
        return answer(data, kind, f"{name}-{table}.{form}")

    @router.get("/stored/{name}/figures/{kind}.{form}")
    async def figure(name: str, kind: str, form: str) -> Response:
        """A figure as PNG or SVG."""
        from shallows.results.store import FIGURES

        if kind not in FIGURES or form not in FORMATS:
            raise HTTPException(404, "there is no such figure")
        data = await made("figure", name, kind, form)
        return Response(data, media_type=FORMATS[form], headers={"cache-control": "private, max-age=3600"})

    @router.get("/stored/{name}/manifest.json")
    async def manifest(name: str) -> Response:
        """The manifest."""
        import json

        text = json.dumps(stored(name).manifest, indent=1)
        return answer(text.encode(), "application/json", f"{name}.json")

    @router.get("/stored/{name}/film.html")
    async def film(name: str) -> Response:
        """The run's film in one file."""
        return answer(await made("film", name), "text/html; charset=utf-8", f"{name}.html")

    @router.get("/stored/{name}/packets/{place}.pcapng")
    async def packets(name: str, place: str) -> Response:
        """Packets of a link or host, where the run recorded them."""
        data = await made("packets", name, place)
        word = re.sub(r"[^\w.]+", "-", place, flags=re.ASCII)
        return answer(data, "application/octet-stream", f"{name}-{word}.pcapng")

    @router.get("/reports/{name}/{file}")
    async def report(name: str, file: str) -> Response:
        """A file of a report in the working directory."""
        folder = report_of(name)
        if folder is None or not FILE.match(file) or not (folder / file).is_file():
            raise HTTPException(404, "there is no such file of a report")
        kind = TYPES.get(Path(file).suffix)
        if kind is None:
            raise HTTPException(404, "there is no such file of a report")
        return Response((folder / file).read_bytes(), media_type=kind)

    @router.get("/reports/{name}.zip")
    async def archive(name: str) -> Response:
        """A whole report."""
        folder = report_of(name)
        if folder is None:
            raise HTTPException(404, "there is no such report")
        try:
            return answer(await state.renderer.make("archive", folder), "application/zip", f"{name}.zip")
        except RenderError as error:
            raise HTTPException(409, str(error)) from None

    return router
