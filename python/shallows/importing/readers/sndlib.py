"""Networks as the XML of SNDlib (Orlowski 2010): nodes with coordinates, links with capacities, demands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.network import of_graph
from shallows.importing.parts.source import Head, Source
from shallows.importing.parts.xml_files import check_xml


def _recognises(head: Head) -> bool:
    text = head.text or ""
    return text.lstrip().startswith("<") and ("sndlib" in text or "<networkStructure" in text)


def _read(source: Source, options: Mapping[str, str]) -> Content:
    root = check_xml(source, source.text())
    for element in root.iter():
        element.tag = str(element.tag).rpartition("}")[2]
    geographic = any(e.get("coordinatesType") == "geographical" for e in root.iter("nodes"))
    nodes: dict[str, dict[str, Any]] = {}
    for node in root.iter("node"):
        name = node.get("id")
        if not name or name in nodes:
            source.refuse(None, "must give each node an id of its own", name)
            continue
        nodes[name] = {}
        if geographic:
            nodes[name] = {
                "longitude": node.findtext("coordinates/x"),
                "latitude": node.findtext("coordinates/y"),
            }
    edges = []
    for link in root.iter("link"):
        ends = [(link.findtext(end) or "").strip() for end in ("source", "target")]
        edges.append((ends[0], ends[1], {}))
    content = of_graph(source, nodes, edges, False, options.get("hosts", "each"))
    content.ignored = [line for line in content.ignored if "no attribute" not in line]
    content.ignored.append("each node is a switch NAME-sw with a host NAME")
    content.ignored.append("capacities and costs of links: SNDlib gives capacities no unit")
    if demands := sum(1 for _ in root.iter("demand")):
        content.ignored.append(f"{demands} demands: they have no unit either")
    return content


READER = Reader(
    "sndlib",
    "topology",
    "SNDlib's networks as XML",
    "sndlib.zib.de",
    '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
    '<network xmlns="http://sndlib.zib.de/network" version="1.0">\n'
    '<networkStructure><nodes coordinatesType="geographical">\n'
    '<node id="Aachen"><coordinates><x>6.04</x><y>50.76</y></coordinates></node>\n'
    '<node id="Bonn"><coordinates><x>7.09</x><y>50.73</y></coordinates></node></nodes>\n'
    '<links><link id="L1"><source>Aachen</source><target>Bonn</target></link></links>\n'
    "</networkStructure></network>\n",
    _recognises,
    _read,
    needs=("defusedxml",),
    options={"hosts": "each (default): a host at every node; leaves: nodes with one link are hosts"},
)
