"""Flows of iperf3 runs (`iperf3 --json`): a flow for each stream, from client to server or back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.json_files import parse_json
from shallows.importing.parts.source import Head, Source, span


def _recognises(head: Head) -> bool:
    text = head.text or ""
    return text.lstrip().startswith("{") and '"start"' in text and '"connected"' in text and "iperf" in text


def _read(source: Source, options: Mapping[str, str]) -> Content:
    data = parse_json(source)
    start, end = (_part(source, data, key) for key in ("start", "end"))
    test = start.get("test_start")
    test = test if isinstance(test, dict) else {}
    content = Content()
    streams = end.get("streams")
    if not isinstance(streams, list) or not streams:
        error = data.get("error") if isinstance(data, dict) else None
        source.stop(None, "has no streams in end.streams", error)
        return content
    connected = {one.get("socket"): one for one in start.get("connected", []) if isinstance(one, dict)}
    back = bool(test.get("reverse"))
    for number, stream in enumerate(streams):
        found = stream if isinstance(stream, dict) else {}
        sent = found.get("sender") or found.get("udp")
        sent = sent if isinstance(sent, dict) else {}
        size, at = sent.get("bytes"), sent.get("start", 0)
        if isinstance(size, bool) or not isinstance(size, int) or not 0 < size < 2**62:
            source.refuse(None, f"end.streams[{number}].sender.bytes must be a whole number above 0", size)
            continue
        if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= 100_000:
            source.refuse(None, f"end.streams[{number}].sender.start must be seconds from 0 to 100000", at)
            continue
        one = connected.get(sent.get("socket"), {})
        ends = [_name(one.get("local_host"), "client"), _name(one.get("remote_host"), "server")]
        if ends[0] == ends[1]:
            ends = ["client", "server"]
        flow: dict[str, Any] = {"from": ends[back], "to": ends[not back], "bytes": f"{size}B"}
        content.rows.append(flow | {"start": span(round(at * 10**12))})
        content.hosts += [host for host in ends if host not in content.hosts]
    content.understood = [f"{len(content.rows)} flows: {', '.join(content.hosts)}"]
    content.ignored = ["rates, round-trip times and retransmissions that iperf3 measured"]
    if str(test.get("protocol", "TCP")).upper() != "TCP":
        content.ignored.append(
            f"the protocol {test['protocol']}: flows are sent by the experiment's transport"
        )
    return content


def _part(source: Source, data: object, key: str) -> dict[str, Any]:
    part = data.get(key) if isinstance(data, dict) else None
    if not isinstance(part, dict):
        source.stop(None, f"must have an object {key}", part)
        return {}
    return part


def _name(host: object, otherwise: str) -> str:
    text = str(host).replace(":", "_") if isinstance(host, str) and host else otherwise
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in text)[:100]


READER = Reader(
    "iperf3",
    "flows",
    "iperf3's JSON",
    "esnet/iperf, iperf3 --json",
    '{"start": {"version": "iperf 3.16",\n'
    '  "connected": [{"socket": 5, "local_host": "10.0.0.1", "remote_host": "10.0.0.2"}],\n'
    '  "test_start": {"protocol": "TCP", "num_streams": 1, "reverse": 0}},\n'
    ' "intervals": [],\n'
    ' "end": {"streams": [{"sender": {"socket": 5, "start": 0, "end": 1.0, "bytes": 125000000}}]}}\n',
    _recognises,
    _read,
)
