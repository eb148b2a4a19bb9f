"""Networks as the node-link JSON of NetworkX (`node_link_data`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.json_files import parse_json
from shallows.importing.parts.network import of_graph
from shallows.importing.parts.source import Head, Source


def _recognises(head: Head) -> bool:
    text = head.text or ""
    return text.lstrip().startswith("{") and bool(
        re.search(r'"nodes"\s*:\s*\[', text)
        and (re.search(r'"(links|edges)"\s*:\s*\[', text) or not head.whole)
    )


def _read(source: Source, options: Mapping[str, str]) -> Content:
    import networkx as nx

    data = parse_json(source)
    if not isinstance(data, dict):
        source.stop(None, "must hold an object with nodes and links")
    edges = "edges" if "edges" in data else "links"
    for key in ("nodes", edges):
        if not isinstance(data.get(key), list) or not all(isinstance(one, dict) for one in data[key]):
            source.stop(None, f"{key} must be a list of objects")
    for number, node in enumerate(data["nodes"]):
        if not isinstance(node.get("id"), str | int):
            source.refuse(None, f"node {number} must have an id, a text or a whole number", node.get("id"))
    known = {node.get("id") for node in data["nodes"] if isinstance(node.get("id"), str | int)}
    for number, edge in enumerate(data[edges]):
        for end in ("source", "target"):
            if not isinstance(edge.get(end), str | int) or edge[end] not in known:
                source.refuse(None, f"{edges}[{number}].{end} must be the id of a node", edge.get(end))
    if source.faults:
        return Content()
    try:
        graph = nx.node_link_graph(data, edges=edges, multigraph=True)
    except Exception as error:  # networkx raises many kinds for what it cannot read
        why = str(error)[:200] or type(error).__name__
        source.stop(None, f"is not a graph that networkx can read: {why}")
        raise
    nodes = {str(name): data for name, data in graph.nodes(data=True)}
    found = [(str(one), str(other), data) for one, other, data in graph.edges(data=True)]
    return of_graph(source, nodes, found, graph.is_directed(), options.get("hosts", ""))


READER = Reader(
    "node-link",
    "topology",
    "node-link JSON of NetworkX",
    "networkx.node_link_data",
    '{"directed": false, "multigraph": false, "graph": {},\n'
    ' "nodes": [{"id": "a"}, {"id": "sw"}, {"id": "b"}],\n'
    ' "links": [{"source": "a", "target": "sw", "rate": "1Gbps"}, {"source": "sw", "target": "b"}]}\n',
    _recognises,
    _read,
    needs=("networkx",),
    options={"hosts": "leaves: nodes with one link are hosts; each: a host at every node"},
)
