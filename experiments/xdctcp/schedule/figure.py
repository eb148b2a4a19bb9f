"""Other mixes of senders on the published schedule, with nothing random in it, beside the published runs."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.tables import metrics

from ..common import DCTCP, OPTIMUM, PORT, UNTIL_PS, arrivals_mbit, settings, wait_us
from ..mixes.figure import MIXES, senders

OTHERS = {name: counts for name, counts in MIXES.items() if name != "2-3-3"}
ALONE = {name: DCTCP | {name: OPTIMUM[name]} for name in OPTIMUM}
"""DCTCP with one of g, ns and nl as in the optimum."""
QUERY_BYTES = {"": "2048B", "-10KB": "10240B"}
"""The authors' inputs of these mixes send 2 KB a query, and not the 10 KB of the document."""


def schedule(query, short, long):
    """The inputs' starts: messages at 50 ms and 5 ms later by sender, long flows at 10 ms by sender."""
    return senders(query, short, long) | {
        "traffic.short.start": f"{50 + 5 * query}ms",
        "traffic.long.start": f"{10 * (query + short)}ms",
    }


def points(kind):
    """The two triplets; with the document's queries also one of g, ns and nl alone."""
    return [settings(t) for t in (DCTCP, OPTIMUM, *(ALONE.values() if kind else ()))]


def seen(tables):
    """Mean wait of short flows in us, Mbit that arrive per long flow, and per query flow."""
    flows = tables["flows"]
    counts = {name: len(flows.filter(pl.col("class") == name)) for name in ("query", "long")}
    return {
        "wait_us": wait_us(tables, "query", "short"),
        "long_mbit": arrivals_mbit(tables, "long") / counts["long"],
        "query_mbit": metrics.arrivals_bits(tables, PORT, "query", UNTIL_PS) / 1e6 / counts["query"],
    }


def rows(runs):
    """By mix and size of queries: ours under both triplets, the changes in per cent, and published ones."""
    published = {(row["mix"], row["triplet"]): row for row in runs.reference.to_dicts()}
    found = []
    for mix in OTHERS:
        for kind, size in QUERY_BYTES.items():
            mine = [seen(runs.first(spec=f"{mix}{kind}", **t).tables) for t in (DCTCP, OPTIMUM)]
            theirs = [published[mix, name] for name in ("dctcp", "optimum")]
            row = {"mix": mix, "query": size}
            for name in ("wait_us", "long_mbit"):
                row |= {f"ours {name}": mine[0][name], f"published {name}": theirs[0][name]}
                row |= {
                    f"ours, change of {name}": 100 * (mine[1][name] / mine[0][name] - 1),
                    f"published, change of {name}": 100 * (theirs[1][name] / theirs[0][name] - 1),
                }
            found.append(row)
    return found


def measure(runs):
    found = {}
    for row in rows(runs):
        mix, kind = row["mix"], next(k for k, size in QUERY_BYTES.items() if size == row["query"])
        found[f"throughput-{mix}{kind}"] = row["ours, change of long_mbit"]
        if not kind:
            found[f"wait-{mix}"] = row["ours, change of wait_us"]
    for mix, (_, _, long) in OTHERS.items():
        if long == 1:
            found[f"nl-{mix}"] = _most_by_nl(runs, mix)
    return found


def _most_by_nl(runs, mix):
    """Whether nl takes more Mbit from the one long flow than g and ns do, each alone."""
    base, all_three = (
        seen(runs.first(spec=f"{mix}-10KB", **t).tables)["long_mbit"] for t in (DCTCP, OPTIMUM)
    )
    taken = {
        name: base - seen(runs.first(spec=f"{mix}-10KB", **triplet).tables)["long_mbit"]
        for name, triplet in ALONE.items()
    }
    parts = ", ".join(f"{mbit:.0f} Mbit by {name}" for name, mbit in taken.items())
    note = f"{parts}, each alone; {base - all_three:.0f} by all three"
    return Measured(max(taken, key=taken.__getitem__) == "nl", n_seeds=0, note=note)


def tables(runs):
    return {"Ours and published: DCTCP, and the optimum's change in per cent": pl.DataFrame(rows(runs))}


FIGURE = Figure(
    specs={
        f"{mix}{kind}": (
            "../table/spec.toml",
            schedule(*counts) | {"traffic.query.bytes": size, "sweep.points": points(kind)},
        )
        for mix, counts in OTHERS.items()
        for kind, size in QUERY_BYTES.items()
    },
    measure=measure,
    tables=tables,
)
