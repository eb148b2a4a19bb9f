"""What the figures of this paper share: the transports with their settings, and what is measured of a run."""

import polars as pl
from shallows.statistics.estimates import Estimate, mean_ci, paired_difference
from shallows.tables import metrics
from shallows.theory import disciplines, mg1

PORT = "switch->r0"
MARK = {"kind": "threshold", "limit": "100pkt", "mark_at": "20pkt"}

AS_WRITTEN = {
    "sdc": ({"kind": "sdc", "hold": 0.0, "quantised": True}, "sdc"),
    "racs": ({"kind": "racs", "size_scale": "100KB"}, {"kind": "racs", "drain": 0.0}),
}
"""Sender and router of the thesis' own transports without our additions, as the base reading has them."""


NO_WINDOW = {"transport.cwnd_max": "100000pkt"}
"""ns-2's window_ is TCP's: rates have none."""


def _at_every_port(sender, router):
    return {"transport.cc": sender, "port_control": router, 'port."*->*".port_control': router}


TRANSPORTS = {
    "sack": {"transport.cc": "newreno"},
    "red": {
        "transport.cc": "newreno",
        "transport.ecn": "on",
        "queue": {"kind": "red", "limit": "100pkt", "min": "0pkt", "max": "0pkt"},
    },
    "dctcp": {"transport.cc": "dctcp", "queue": MARK},
    "cubic": {"transport.cc": "cubic"},
    "xdctcp": {"transport.cc": {"kind": "xdctcp", "class_by": "size", "long_from": "1MB"}, "queue": MARK},
    "dt-cwa": {
        "transport.cc": "dt-cwa",
        "queue": {
            "kind": "double-threshold",
            "limit": "100pkt",
            "start_above": "20pkt",
            "stop_below": "15pkt",
        },
    },
    "d2tcp": {"transport.cc": "d2tcp", "queue": MARK},
    "pfabric": {
        "transport.cc": "newreno",
        "transport.initial_window": "25pkt",
        "transport.initial_ssthresh": "25pkt",
        "transport.cwnd_max": "25pkt",
        "transport.dup_acks": 10_000,
        "transport.limited_transmit": False,
        "transport.initial_rto": "1ms",
        "transport.min_rto": "1ms",
        "transport.rto_backoff": 1,
        "queue": {"kind": "pfabric", "limit": "50pkt"},
        "nic": {"kind": "pfabric", "limit": "100pkt"},
    },
    "rcp": _at_every_port("rcp", {"kind": "rcp", "first_rtt": "averages", "initial_rtt": "200ms"})
    | NO_WINDOW,
    "sdc": _at_every_port(*AS_WRITTEN["sdc"]),
    "racs": _at_every_port(*AS_WRITTEN["racs"]) | NO_WINDOW,
    "d3": _at_every_port("d3", "d3") | NO_WINDOW,
}
"""Settings over a scenario's, by id, in the base reading. The thesis names neither RED's thresholds nor
DCTCP's K (here 20 packets, Alizadeh et al. 2010 section 4 for 1 Gb/s). The thresholds that ns-2 of its year
chose by itself, 625 and 1875 packets of 500 bytes, lie above the buffer of 100, so that RED never marks.
RCP starts as its authors' ns-2 code does. pFabric has windows of the bandwidth-delay product, queues of
twice that, and timeouts of about three round trips (Alizadeh et al. 2013). RCP, SDC, RACS and D3 have
controllers at the hosts' ports too, as every link has in the thesis' simulator: several flows of one host
meet there first."""

NAMES = {
    "sack": "SACK drop-tail",
    "cubic": "CUBIC",
    "red": "SACK + RED/ECN",
    "dctcp": "DCTCP",
    "xdctcp": "xDCTCP",
    "dt-cwa": "DT-CWA",
    "d2tcp": "D2TCP",
    "d3": "D3",
    "pfabric": "pFabric-like",
    "rcp": "RCP",
    "sdc": "SDC",
    "racs": "RACS",
}


def specs(scenario, ids, **changes):
    """One experiment a transport: the scenario with its settings, and `changes` (dots as `__`) over them."""
    over = {name.replace("__", "."): value for name, value in changes.items()}
    return {name: (f"../scenarios/{scenario}.toml", TRANSPORTS[name] | over) for name in ids}


def bottleneck(tables):
    """The receiver's port: link use and packets lost in per cent, mean and 99th percentile of the queue."""
    port = tables["queues"].filter(pl.col("port") == PORT)
    lost = sum(int(port[f"drops_{why}"][0]) for why in ("full", "aqm", "evicted"))
    return {
        "utilisation": 100 * port["utilisation"][0],
        "queue": port["mean_packets"][0],
        "queue_p99": port["p99_packets"][0],
        "loss": 100 * lost / max(int(port["packets_in"][0]), 1),
    }


def responses(tables, traffic="short"):
    """Completion times of a load's messages in ms; those not delivered at the end are counted apart."""
    mine = tables["messages"].filter(pl.col("traffic") == traffic)
    ended = mine["fct_ps"].drop_nulls().cast(pl.Float64) / 1e9
    return {
        "afct": ended.mean(),
        "p99": ended.quantile(0.99, "linear"),
        "within": 100 * (ended <= 10).sum() / max(len(mine), 1),
        "unfinished": len(mine) - len(ended),
    }


LINK_BPS = 1e9
BYTE_MS = 8e3 * (1500 / 1460) / LINK_BPS
LAWS = {"mix": mg1.Uniform(2_000, 50_000), "benchmark": mg1.BoundedPareto(1.2, 5_353, 10_000_000)}
"""Sizes of the responses in bytes, which come as Poisson processes beside two long flows."""


def at_link(messages, permanent=2):
    """Completion times in ms under SRPT, PS and FB of these arrivals at the bottleneck alone, exactly."""
    starts, sizes = messages["start_ps"].to_list(), messages["bytes"].to_list()
    times = disciplines.on_link(starts, sizes, LINK_BPS, permanent=permanent)
    return {name: each / 1e9 for name, each in times.items()}


def mg1_ms(scenario, per_second, low=0.0, high=float("inf")):
    """M/G/1 means in ms of responses between these sizes in bytes; PS shares with the two long flows."""
    law = LAWS[scenario]
    load = per_second * mg1.mean_size(law) * BYTE_MS / 1e3
    times = mg1.mean_times(law, load, permanent=2, low=low, high=high)
    return {name: time * BYTE_MS for name, time in times.items()}


def mg1_rows(scenario, per_second):
    """The same as rows of a figure."""
    return {f"M/G/1 {name}": Estimate(ms, None, None, 0) for name, ms in mg1_ms(scenario, per_second).items()}


def estimates(frame, column, by, **which):
    """`{value of by: Estimate over seeds}` of one transport's rows; `which` gives `spec` and more."""
    for name, value in which.items():
        frame = frame.filter(pl.col(name) == value)
    groups = frame.sort(by, "seed").group_by(by, maintain_order=True)
    return {key[0]: mean_ci(rows[column].to_list()) for key, rows in groups}


def one(frame, column, **which) -> Estimate:
    """Mean over seeds of the rows with these values."""
    for name, value in which.items():
        frame = frame.filter(pl.col(name) == value)
    return mean_ci(frame.sort("seed")[column].to_list())


def difference(frame, column, new, base, **which) -> Estimate:
    """Difference of a column between two transports, paired by seed."""
    columns = []
    for spec in (new, base):
        rows = frame.filter(pl.col("spec") == spec)
        for name, value in which.items():
            rows = rows.filter(pl.col(name) == value)
        columns.append(rows.sort("seed")[column].to_list())
    return paired_difference(*columns)


def drops(tables):
    """Packets dropped in the run, wherever."""
    return metrics.drops(tables["queues"])
