"""Hostile requests to the live page: an answer each, no crash, nothing from outside."""

import http.client
import json
import re
from urllib.parse import quote, urlsplit

import pytest
from shallows.web.pages.address import pack
from web_server import running

NASTY = [
    "",
    "0",
    "-1",
    "1e999",
    "NaN",
    "9" * 400,
    "../../../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "/etc/passwd",
    "\0",
    "%00",
    "%",
    "<script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    "{{7*7}}",
    "${7*7}",
    "__proto__",
    "constructor",
    "\ud83d\ude00",
    "\u202e",
    "a" * 5000,
    "; ls",
    "$(id)",
    "| id",
    "\r\nX-Bad: 1",
    "[]",
    "{}",
    "null",
    "true",
    "0.0.0,1",
    "0.1.2.3,0.1.2.3",
    "99.99.99.99",
    "file:///etc/passwd",
    "//evil.example/x",
    "\\\\evil\\x",
    "x.csv",
    "queue.mark_at=",
    "==",
    "python.modules",
]

ADDRESSES = [
    "/?x={}",
    "/?show={}",
    "/?second={}",
    "/gallery?{}",
    "/results?q={}",
    "/run/{}",
    "/difference?a={0}&b={0}",
    "/sweep?q={}",
    "/sweep?metric={}",
    "/papers?{}",
    "/figure/{}/x",
    "/figure/x/{}",
    "/jobs?job={}",
    "/live/{}/films",
    "/live/x/films?have={}",
    "/live/x/{}/packets?at_ps=0",
    "/live/x/0/packets?at_ps={}",
    "/stored/{}/manifest.json",
    "/stored/{}/tables/queues.csv",
    "/stored/00000000000000000000/tables/{}.csv",
    "/stored/{}/figures/queue_time.svg",
    "/stored/{}/figures/{}.{}",
    "/stored/{}/tables/{}.parquet",
    "/stored/{}/film.html",
    "/stored/00000000000000000000/packets/{}.pcapng",
    "/report/{}",
    "/reports/{}/index.html",
    "/reports/compare-x/{}",
    "/reports/{}.zip",
    "/papers?form={}",
    "/figure/xdctcp/fig2?form={}",
    "/sweep?job={}",
    "/sweep?figure={}",
    "/stored/{}/packets/x.pcapng",
    "/_nicegui/{}",
    "/{}",
    "/static/{}",
    "/docs?{}",
    "/openapi.json?{}",
]


HEADERS = [
    {"Host": "evil.example"},
    {"Host": "localhost.evil.example:80"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Referer": "http://evil.example/", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
]
"""Each of them is refused at every address, with every method."""

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret.txt").write_text("the secret of the house")
    with running(folder) as url:
        yield url


def ask(server, path, method="GET", headers=None, body=None):
    parts = urlsplit(server)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace"), answer.headers
    finally:
        connection.close()


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_crashes_or_leads_outside(server, address):
    for number, text in enumerate(NASTY):
        if "?" in address and not address.startswith("/live") and (number + len(address)) % 5:
            continue  # pages take their time; a fifth of the list each, another fifth for each address
        status, body, headers = ask(
            server, address.format(*[quote(text.encode("utf-8", "replace"), safe="")] * 3)
        )
        assert status < 500, (address, text, body[:500])
        assert "root:" not in body and "secret of the house" not in body, (address, text)
        if "html" in headers["content-type"]:  # other kinds may repeat a text: nothing in them is markup
            assert "<script>alert(1)" not in body and "<img src=x" not in body, (address, text)
        policy = headers["content-security-policy"]
        alone = (
            policy.startswith("sandbox") and "default-src 'none'" in policy
        )  # a report, served as a file of its own
        assert "X-Bad" not in headers
        assert alone if address.startswith("/reports/") else "default-src 'self'" in policy


def test_an_address_with_a_hostile_experiment_is_a_page(server):
    for content in (
        {"text": "[python]\nmodules = ['secret.py']"},
        {"text": 1},
        {"text": "x" * 150_000},
        {"second": []},
        {"text": "</script><script>alert(1)</script>", "second": "<img src=x onerror=alert(1)>"},
        {"text": "a=1", "second": "'"},
    ):
        status, body, _ = ask(server, f"/?x={pack(content)}")
        assert status == 200 and "<script>alert(1)" not in body and "<img src=x" not in body


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}, 403),
        ({"Cookie": "\xff=;;;=,"}, 200),
        ({"Accept": "text/markdown"}, 200),
        ({"X-Forwarded-Host": "evil.example", "X-Forwarded-Prefix": "//evil.example"}, 200),
    ],
)
def test_headers_are_not_believed(server, headers, expected):
    status, body, answer = ask(server, "/gallery", headers=headers)
    assert status == expected and "evil.example" not in body and "evil.example" not in str(answer)


def test_every_address_of_the_server_is_among_those_that_are_tried(tmp_path, monkeypatch):
    """A new address joins the list above, or this fails. NiceGUI's own are tried by name below."""
    monkeypatch.setenv("NICEGUI_STORAGE_PATH", str(tmp_path))
    from nicegui import core
    from shallows.web.pages.state import Options
    from shallows.web.server.serve import build

    gate, state = build(Options(store=tmp_path), None)
    paths = {*gate._app.openapi()["paths"], *(each.path for each in core.app.routes if hasattr(each, "path"))}
    state.close()
    assert {"/jobs", "/stored/{name}/film.html", "/report/{name}"} <= paths
    tried = {address.split("?")[0] for address in ADDRESSES}
    for path in sorted(paths):
        if path.startswith(("/_nicegui", "/socket.io")) or path == "":
            continue
        known = re.escape(path).replace(r"\{", "{").replace(r"\}", "}")
        pattern = re.compile(re.sub(r"{[^}]*}", "[^/]+", known) + "$")
        assert any(pattern.match(each) for each in tried), f"{path} is not tried"


def test_no_address_answers_other_sites_with_any_method(server):
    for number, address in enumerate(dict.fromkeys(each.split("?")[0] for each in ADDRESSES)):
        path = address.format("x", "x", "x")
        for method in METHODS:
            headers = HEADERS[(number + len(method)) % len(HEADERS)]
            status, body, _ = ask(server, path, method, headers)
            assert status in (403, 421) and "<html" not in body, (method, path, headers, status)
        status, _, _ = ask(server, path, METHODS[2 + number % 5], {"Origin": server.rstrip("/")})
        assert 400 <= status < 500, (path, status)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"])
def test_other_methods_change_nothing(server, method):
    for path in ("/", "/results", "/live/x/films", "/stored/x/manifest.json", "/_nicegui/upload"):
        status, _, _ = ask(server, path, method, body=b"{}" if method == "POST" else None)
        assert 400 <= status < 500, (method, path, status)


def test_sockets_take_nonsense_without_falling(server):
    socket = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"
    status, body, _ = ask(server, socket)
    assert status < 500
    if status == 200:
        key = json.loads(body[1:])["sid"]
        for packet in (
            "40",
            '42["event",{}]',
            '42["event",{"id":"x","client_id":"../..","listener_id":1,"args":[]}]',
            "4" * 1000,
            '42["handshake",{"client_id":"<script>"}]',
            "\x1e\x1e",
            '42["javascript_response",{"request_id":1}]',
            "1",
        ):
            assert ask(server, f"{socket}&sid={key}", "POST", body=packet.encode())[0] < 500
    assert ask(server, "/gallery")[0] == 200
    assert ask(server, socket, headers={"Origin": "http://evil.example"})[0] == 403


def test_a_body_that_is_too_large_is_refused(server):
    assert (
        ask(server, "/_nicegui/upload", "POST", headers={"Content-Length": "999999999"}, body=b"")[0] == 413
    )
