"""Flows of htsim with triggers, as the messages of a graph; `flows_htsim` reads the file."""

from __future__ import annotations

from shallows.importing.parts.content import Reader
from shallows.importing.readers.flows_htsim import OPTIONS, is_matrix, read_matrix

READER = Reader(
    "triggers-htsim",
    "messages",
    "htsim's connection matrix (.cm) with triggers",
    "Broadcom/csg-htsim, sim/datacenter/connection_matrices/; ultraethernet/uet-htsim",
    "Nodes 4\nConnections 2\nTriggers 1\n0->2 id 1 start 0 size 200000 send_done_trigger 1\n"
    "2->0 id 2 trigger 1 size 100000\ntrigger id 1 oneshot\n",
    is_matrix,
    read_matrix,
    options=OPTIONS,
)
