"""A network as a CSV of links: from, to and, if wanted, rate, delay. Nodes with one link are hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.csv_rows import header_of, read_rows
from shallows.importing.parts.network import DELAY, RATE, Network, delay_of, rate_of
from shallows.importing.parts.source import Head, Source


def _recognises(head: Head) -> bool:
    cells = {*header_of(head)}
    return {"from", "to"} <= cells <= {"from", "to", "rate", "delay"}


def _read(source: Source, options: Mapping[str, str]) -> Content:
    network = Network(source)
    rows = list(
        read_rows(source, ("from", "to"), ("rate", "delay"), " and may have rate, delay, each with a unit")
    )
    degree = Counter(name for _, row in rows for name in (row["from"], row["to"]))
    for name, links in degree.items():
        network.node(None, name, "host" if links == 1 else "switch")
    for line, row in rows:
        rate, delay = rate_of(row.get("rate") or RATE), delay_of(row.get("delay") or DELAY)
        if rate is None:
            source.refuse(line, 'rate must be a rate with a unit, such as "100Gbps"', row["rate"])
        elif delay is None:
            source.refuse(line, 'delay must be a time with a unit, such as "1us"', row["delay"])
        else:
            network.link(line, (row["from"], row["to"]), rate, delay)
    return network.done(["nodes with one link are hosts, all others are switches"])


READER = Reader(
    "links-csv",
    "topology",
    "a network as CSV: its links",
    "the form of Shallows",
    "from,to,rate,delay\na,sw,100Gbps,1us\nb,sw,100Gbps,1us\n",
    _recognises,
    _read,
    suffix=".csv",
    columns={
        "from": "node at one end; a node with one link is a host, any other a switch",
        "to": "node at the other end",
        "rate": f"rate with its unit; {RATE} if empty or missing",
        "delay": f"one-way delay with its unit; {DELAY} if empty or missing",
    },
)
