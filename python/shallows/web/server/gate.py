"""The gate between the network and the page: hosts, origins, the token, sizes, and sources of a page.

The server listens on loopback unless told otherwise, and then only with a token in the address. Host and
Origin are checked, so that another site's page cannot use the reader's browser to speak to the server (DNS
rebinding, cross-site requests).
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from shallows.web.limits import Limits

COOKIE = "shallows-token"
MOST_BODY = 2_000_000
MOST_ADDRESS = 32_000

POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",  # Vue compiles its templates in the page
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "form-action 'self'",
        "base-uri 'self'",
        "object-src 'none'",
    ]
)
"""Nothing is loaded from elsewhere, and nothing is sent elsewhere."""

REPORT_POLICY = "; ".join(
    [
        "sandbox allow-scripts allow-popups",
        "default-src 'none'",
        "script-src 'unsafe-inline' blob:",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "frame-ancestors 'none'",
    ]
)
"""A report is one file with its own script. It is not part of the page and cannot reach the server."""

HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]

FRAMES = ("iframe", "frame", "fencedframe", "embed", "object")
"""Places inside another page, by `Sec-Fetch-Dest`. They are refused before a page is made for them."""

UNREAD_S = 60.0
"""A part of a page that nobody takes for so long ends its connection."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

__all__ = ["Gate", "is_loopback"]


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine's own and cannot be reached from outside."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Gate:
    """ASGI middleware that refuses what does not come from the page's own address."""

    def __init__(self, app: App, hosts: Iterable[str], token: str | None, pages: int = Limits.pages):
        self._app, self._token, self._pages = app, token, pages
        self._making = 0
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a refusal itself; hands everything else on, with headers on the way back."""
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            return await _refuse(scope, receive, send, *refusal)
        if self._token is not None and not self._is_known(headers):
            return await self._ask(scope, receive, send)
        # Proxies' claims about the address are not believed: it would lead the page's own links elsewhere.
        kept = [
            (name, value) for name, value in scope["headers"] if not name.lower().startswith(b"x-forwarded")
        ]
        policy = REPORT_POLICY if scope["path"].startswith("/reports/") else POLICY
        inner = {**scope, "headers": kept}
        if not _is_page(scope):
            return await self._app(inner, _bounded(receive), _with_headers(send, policy))
        if self._making >= self._pages:
            return await _refuse(scope, receive, send, 503, f"{self._pages} pages are being made: try again.")
        return await self._make(inner, receive, _with_headers(send, policy))

    async def _make(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts a page until it begins to be sent, since a reader may never take it."""
        self._making += 1
        counted = True

        def done() -> None:
            nonlocal counted
            self._making -= counted
            counted = False

        async def sends(message: MutableMapping[str, Any]) -> None:
            done()
            await asyncio.wait_for(send(message), UNREAD_S)

        try:
            await asyncio.sleep(0)  # requests that came together are counted before the first is answered
            await self._app(scope, _bounded(receive), sends)
        finally:
            done()

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str] | None:
        host = headers.get(b"host", "").lower()
        if self._hosts and _without_port(host) not in self._hosts:
            return 421, "This server answers to its own address only."
        origin = headers.get(b"origin")
        if origin is not None and (urlsplit(origin).netloc.lower() != host or "://" not in origin):
            return 403, "Requests of other sites are refused."
        if headers.get(b"sec-fetch-site") == "cross-site" and headers.get(b"sec-fetch-mode") != "navigate":
            return 403, "Requests of other sites are refused."
        if headers.get(b"sec-fetch-dest") in FRAMES:
            return 403, "These pages are not shown in frames."
        length = headers.get(b"content-length", "0")
        if not length.isdigit() or int(length) > MOST_BODY:
            return 413, f"At most {MOST_BODY} bytes are accepted."
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > MOST_ADDRESS:
            return 414, f"An address of at most {MOST_ADDRESS} bytes is accepted."
        return None

    def _is_known(self, headers: dict[bytes, str]) -> bool:
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(headers.get(b"cookie", ""))
        except Exception:
            return False
        return COOKIE in cookies and self._fits(cookies[COOKIE].value)

    def _fits(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors="replace"), (self._token or "").encode())

    async def _ask(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The token in the address becomes a cookie, and leaves the address."""
        query = parse_qs((scope.get("query_string") or b"").decode("latin-1"), keep_blank_values=True)
        given = query.pop("token", [""])[0]
        if scope["type"] != "http" or not self._fits(given):
            text = "The address needs the token that the server printed."
            await _refuse(scope, receive, send, 401, text)
            return
        rest = urlencode(query, doseq=True)
        path = "/" + quote(scope["path"].lstrip("/\\"))
        to = path + (f"?{rest}" if rest else "")
        cookie = f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
        headers = [(b"location", to.encode()), (b"set-cookie", cookie.encode())]
        await send({"type": "http.response.start", "status": 303, "headers": [*headers, *HEADERS]})
        await send({"type": "http.response.body", "body": b""})


def _is_page(scope: Scope) -> bool:
    """Whether a request is for a page, which is made for it; all else is a file or a part of a page."""
    first = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
    return scope["type"] == "http" and first not in ("_nicegui", "_nicegui_ws", "live", "stored", "reports")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, text: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def _bounded(receive: Receive) -> Receive:
    """A `receive` that ends a body at the limit."""
    read = 0

    async def bounded() -> MutableMapping[str, Any]:
        nonlocal read
        message = await receive()
        if message["type"] == "http.request":
            read += len(message.get("body", b""))
            if read > MOST_BODY:
                return {"type": "http.disconnect"}
        return message

    return bounded


def _with_headers(send: Send, policy: str) -> Send:
    fixed = [
        (name, policy.encode() if name == b"content-security-policy" else value) for name, value in HEADERS
    ]

    async def with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            ours = {name for name, _ in HEADERS}
            kept = [(name, value) for name, value in message.get("headers", []) if name.lower() not in ours]
            message = {**message, "headers": [*kept, *fixed]}
        await send(message)

    return with_headers
