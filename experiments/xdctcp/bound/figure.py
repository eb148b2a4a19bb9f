"""The document's bound on g, computed from the formula that it quotes."""

import polars as pl
from shallows.studies.paper.claims import Measured
from shallows.theory.dctcp import dctcp, dctcp_gain

from ..common import DCTCP, OPTIMUM

SPECS: dict = {}  # theory only
SIZES = {"1460 B (the document's packet)": 1460, "1500 B (on the wire)": 1500}


def measure(runs):
    bound = dctcp_gain(packet_bytes=1460)
    wire = dctcp_gain(packet_bytes=1500)["g_max"]
    sawtooth = dctcp(flows=3, packet_bytes=1460)
    slip = bound["g_max_without_two"]
    note = f"{wire:.4f} with 1500 B on the wire; {slip:.4f} without the 2 under the root"
    return {
        "g-bound": Measured(bound["g_max"], n_seeds=0, note=note),
        "g-bound-slip": Measured(slip, n_seeds=0),
        "dctcp-below-bound": DCTCP["g"] < bound["g_max"],
        "optimum-below-bound": OPTIMUM["g"] < bound["g_max"],
        "k-above-bound": sawtooth["least_k_packets"] < 65,
    }


def tables(runs):
    rows = [{"packet": name} | dctcp_gain(packet_bytes=size) for name, size in SIZES.items()]
    return {"The bound on g (C RTT + K in packets; all closed forms)": pl.DataFrame(rows)}
