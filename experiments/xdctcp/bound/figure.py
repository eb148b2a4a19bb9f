"""The document's bound on g, computed from the formula that it quotes."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.theory.dctcp import dctcp, dctcp_gain

from ..common import DCTCP, OPTIMUM

SIZES = {"1460 B (the document's packet)": 1460, "1500 B (on the wire)": 1500}


def measure(runs):
    bound = dctcp_gain(packet_bytes=runs.reading["packet"])
    sawtooth = dctcp(flows=3, packet_bytes=1460)
    most = bound["g_max" if runs.reading["root"] else "g_max_without_two"]
    return {
        "g-bound": Measured(most, n_seeds=0),
        "g-bound-slip": Measured(bound["g_max_without_two"], n_seeds=0),
        "dctcp-below-bound": DCTCP["g"] < most,
        "optimum-below-bound": OPTIMUM["g"] < most,
        "k-above-bound": sawtooth["least_k_packets"] < 65,
    }


def tables(runs):
    rows = [{"packet": name} | dctcp_gain(packet_bytes=size) for name, size in SIZES.items()]
    return {"The bound on g (C RTT + K in packets; all closed forms)": pl.DataFrame(rows)}


FIGURE = Figure(
    specs={},  # theory only
    measure=measure,
    tables=tables,
    shows={"The bound on g (C RTT + K in packets; all closed forms)": ("*",)},
)
