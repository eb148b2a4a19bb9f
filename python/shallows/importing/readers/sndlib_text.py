"""Networks as SNDlib's native text format: NODES ( .. ), LINKS ( .. ), one entry a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.network import of_graph
from shallows.importing.parts.source import Head, Source

_NODE = re.compile(r"(\S+)\s*\(\s*(\S+)\s+(\S+)\s*\)")
_LINK = re.compile(r"(\S+)\s*\(\s*(\S+)\s+(\S+)\s*\)")
_SECTION = re.compile(r"([A-Z_]+)\s*\(")


def _recognises(head: Head) -> bool:
    return (head.text or "").startswith("?SNDlib native format")


def _read(source: Source, options: Mapping[str, str]) -> Content:
    nodes: dict[str, dict[str, Any]] = {}
    edges: list[tuple[str, str, dict[str, Any]]] = []
    section, demands, geographic = "", 0, False
    for number, line in source.lines():
        # Older files say so in the comment above their nodes.
        geographic |= "CoordinatesType = geographical" in line or "(<longitude>, <latitude>)" in line
        text = line.split("#", 1)[0].strip()
        if not text or text.startswith("?"):
            continue
        if not section:
            found = _SECTION.fullmatch(text) or _SECTION.match(text)
            if found is None and re.match(r"\w+_MODEL\s*=", text):
                rule = "is a model of SNDlib, which has no network: import the file of the network"
                source.stop(number, rule, text[:60])
            if found is None:
                source.refuse(number, 'must begin a section, such as "NODES ("', text[:60])
            elif not text.endswith(")"):
                section = found[1]
        elif text == ")":
            section = ""
        elif section == "NODES":
            node = _NODE.match(text)
            if node is None or node[1] in nodes:
                source.refuse(number, "must be a node of its own: name ( x y )", text[:60])
            else:
                nodes[node[1]] = {"longitude": node[2], "latitude": node[3]}
        elif section == "LINKS":
            link = _LINK.match(text)
            if link is None or link[2] not in nodes or link[3] not in nodes:
                source.refuse(number, "must be a link between nodes of the file: name ( a b ) ...", text[:60])
            else:
                edges.append((link[2], link[3], {}))
        demands += section == "DEMANDS"
    if not geographic:
        nodes = {name: {} for name in nodes}
    content = of_graph(source, nodes, edges, False, options.get("hosts", "each"))
    content.ignored = [line for line in content.ignored if "no attribute" not in line]
    content.ignored.append("each node is a switch NAME-sw with a host NAME")
    content.ignored.append("capacities and costs of links: SNDlib gives capacities no unit")
    if demands:
        content.ignored.append(f"{demands} demands: they have no unit either")
    return content


READER = Reader(
    "sndlib-text",
    "topology",
    "SNDlib's networks as text",
    "sndlib.zib.de",
    "?SNDlib native format; type: network; version: 1.0\nNODES (\n  a ( 6.04 50.76 )\n  b ( 7.09 50.73 )\n)\n"
    "LINKS (\n  L1 ( a b ) 0.00 0.00 0.00 0.00 ( 40.00 0.00 )\n)\n",
    _recognises,
    _read,
    options={"hosts": "each (default): a host at every node; leaves: nodes with one link are hosts"},
)
