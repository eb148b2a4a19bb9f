"""Networks as GML (Himsolt 1997) as networkx and the Topology Zoo write it, read by networkx."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.network import NAME, of_graph
from shallows.importing.parts.source import Head, Source


def _recognises(head: Head) -> bool:
    text = head.text or ""
    return bool(
        re.search(r"^\s*graph\s*\[", text, re.MULTILINE) and re.search(r"^\s*node\s*\[", text, re.MULTILINE)
    )


def _read(source: Source, options: Mapping[str, str]) -> Content:
    import networkx as nx

    try:
        graph = nx.parse_gml(source.text(), label="id")
    except Exception as error:  # networkx raises many kinds for files that are not GML
        why = str(error)[:200] or type(error).__name__
        source.stop(None, f"is not GML that networkx can read: {why}")
        raise
    ids = [name for name, _ in graph.nodes(data=True)]
    labels = [str(data.get("label", "")) for _, data in graph.nodes(data=True)]
    named = len(set(labels)) == len(labels) and all(NAME.fullmatch(label) for label in labels)
    names = dict(zip(ids, labels if named else map(str, ids), strict=True))
    nodes = {names[name]: data for name, data in graph.nodes(data=True)}
    edges = [(names[one], names[other], data) for one, other, data in graph.edges(data=True)]
    content = of_graph(source, nodes, edges, graph.is_directed(), options.get("hosts", ""))
    if not named and any(labels):
        content.ignored.append("labels that are no names or not unique: nodes have the names of their ids")
    return content


READER = Reader(
    "gml",
    "topology",
    "GML",
    "networkx.write_gml; Himsolt 1997",
    'Creator "an editor"\ngraph [\n  node [ id 0 label "a" ]\n  node [ id 1 label "sw" ]\n'
    '  node [ id 2 label "b" ]\n'
    '  edge [ source 0 target 1 rate "1Gbps" ]\n  edge [ source 1 target 2 ]\n]\n',
    _recognises,
    _read,
    needs=("networkx",),
    options={"hosts": "leaves: nodes with one link are hosts; each: a host at every node"},
)
