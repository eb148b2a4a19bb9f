"""Networks as GraphML, such as those of the Internet Topology Zoo (Knight 2011), read by networkx.

defusedxml reads the file first: it refuses entities and references to outside.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.network import of_graph
from shallows.importing.parts.source import Head, Source
from shallows.importing.parts.xml_files import check_xml


def _recognises(head: Head) -> bool:
    return "<graphml" in (head.text or "")


def _read(source: Source, options: Mapping[str, str]) -> Content:
    import networkx as nx

    text = source.text()
    _check_ends(source, text, check_xml(source, text))
    try:
        with warnings.catch_warnings(action="ignore"):  # a key without a type is text
            graph = nx.parse_graphml(text, node_type=str, force_multigraph=True)
    except Exception as error:  # networkx raises many kinds for files that are not GraphML
        why = str(error)[:200] or type(error).__name__
        source.stop(None, f"is not GraphML that networkx can read: {why}")
        raise
    edges = [(str(one), str(other), data) for one, other, data in graph.edges(data=True)]
    nodes = {str(name): data for name, data in graph.nodes(data=True)}
    return of_graph(source, nodes, edges, graph.is_directed(), options.get("hosts", ""))


def _check_ends(source: Source, text: str, root: Any) -> None:
    """Refuses edges to nodes that the file does not have; networkx would add such nodes."""
    ids = {one.get("id") for one in root.iter() if one.tag.endswith("node")}
    edges = (one for one in root.iter() if one.tag.endswith("edge"))
    ends = ((key, edge.get(key)) for edge in edges for key in ("source", "target"))
    for key, end in dict.fromkeys(ends):
        if end is not None and end not in ids:
            found = re.search(rf"\b{key}\s*=\s*[\"']{re.escape(end)}[\"']", text)
            line = text.count("\n", 0, found.start()) + 1 if found else None
            source.refuse(line, "must join nodes of this file; it has no such node", end)


READER = Reader(
    "graphml",
    "topology",
    "GraphML, as of the Internet Topology Zoo",
    "sk2/topologyzoo; topology-zoo.org",
    '<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    '<key id="d0" for="edge" attr.name="rate" attr.type="string"/>\n<graph edgedefault="undirected">\n'
    '<node id="a"/><node id="sw"/><node id="b"/>\n'
    '<edge source="a" target="sw"><data key="d0">1Gbps</data></edge>\n'
    '<edge source="sw" target="b"/>\n</graph></graphml>\n',
    _recognises,
    _read,
    needs=("networkx", "defusedxml"),
    options={"hosts": "leaves: nodes with one link are hosts; each: a host at every node"},
)
