"""Long-run rates under given marks against the slides' formulas and those derived for these senders."""

import math
from itertools import pairwise

import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.tables.goodput import batch_mbps
from shallows.theory.acks import marked_windows
from shallows.theory.steady_state import cubic_rate, dctcp_rate, reno_rate

from ..common import BACKENDS, BATCHES, PORT

MSS_BITS = 1448 * 8
WINDOWS = (10, 20, 40, 80)
ENDS = ("window", "window_low", "window_high")
MARK, EVERY = f'port."{PORT}".mark', f'port."{PORT}".mark_every'


def by_chance(ps, changes):
    """Marks by chance, packet by packet."""
    return "spec.toml", changes | {"sweep": {"grid": {MARK: ps}}}


def periodic(ps, changes):
    """One packet in 1 / p marked."""
    return "spec.toml", changes | {"sweep": {"grid": {EVERY: [round(1 / p) for p in ps]}}}


RENO_P = [1.5 / w**2 for w in WINDOWS]
DCTCP_P = [2 / w for w in WINDOWS]  # so that p_reno = (p_dc / 1.63)^2, window by window
CUBIC_P = [0.2 * (1.054 / w) ** (4 / 3) for w in (40, 80)]
CUBIC = {"transport.cc": "cubic"}
LONG = {"topology.delay": "50ms"}
WHOLE = {"transport.cc": {"kind": "dctcp", "whole_segments": True}, "transport.ecn": "auto"}
BYTES = {
    "transport.cc": {"kind": "dctcp", "whole_segments": False},
    "transport.ecn": "auto",
    "transport.arithmetic": "exact",
}
DELAYED = {"transport.ack_every": 2}
STEP = WHOLE | {
    "topology.rate": "40Mbps",
    "topology.sender_rate": "1Gbps",
    "queue": {"kind": "threshold", "limit": "1000pkt", "mark_at": "20pkt"},
    "sweep": {"grid": {"topology.delay": ["2ms", "4ms", "8ms"]}},
}
GAINS = {
    "transport.cc": {"kind": "dctcp", "whole_segments": False},
    "transport.ecn": "auto",
    "transport.arithmetic": "exact",
    "topology.rate": "40Mbps",
    "topology.sender_rate": "1Gbps",
    "queue": {"kind": "threshold", "limit": "1000pkt", "mark_at": "20pkt"},
    "duration": "620s",
    "warmup": "320s",  # the smallest gain remembers a thousand round trips
    "sweep": {
        "grid": {
            "transport.cc.g": [1 / 16, 1 / 64, 1 / 256, 1 / 1024],
            "topology.delay": ["2ms", "4ms", "8ms"],
        }
    },
}
"""The step again, by the gain of alpha. Linux's steps of alpha have no gain as small as the last."""
COUNTED = {
    "transport.profile": "datacentre",
    "transport.min_rto": "2s",
    "transport.initial_ssthresh": "20pkt",
}
ALONE = {"transport.cc": {"kind": "cubic", "friendly": False, "fast_convergence": False}}
PRAGUE = {"transport.cc": {"kind": "prague", "rtt_virt": "own"}, "transport.ecn": "auto"}
# The limits of their forms, which small windows stay some packets below.
PRAGUE_P = [2.73 / (w + 3) for w in WINDOWS]
DCTCP_COUNTED_P = [2.24 / (w + 4) for w in WINDOWS]
FORMS = {
    "counted-reno": "reno_periodic",
    "counted-reno-chance": "reno_independent",
    "counted-reno-delayed": "reno_independent",
    "counted-cubic": "cubic_periodic",
    "counted-cubic-chance": "cubic_independent",
    "counted-cubic-long": "cubic_long_periodic",
    "counted-dctcp": "dctcp_independent",
    "counted-prague": "prague_independent",
}
"""By sender as the RFCs have it: which form of `marked-windows` follows their marks and their growth."""

NAMES = {
    "reno": "Reno, periodic marks",
    "reno-chance": "Reno, marks by chance",
    "reno-delayed": "Reno, by chance, delayed ACKs",
    "cubic": "Cubic, periodic, 20 ms",
    "cubic-long": "Cubic, periodic, 200 ms",
    "dctcp": "DCTCP, whole segments",
    "dctcp-delayed": "the same, delayed ACKs",
    "dctcp-bytes": "DCTCP, window in bytes",
    "counted-reno": "Reno by the RFCs, periodic",
    "counted-reno-chance": "Reno by the RFCs, by chance",
    "counted-reno-delayed": "Reno by the RFCs, delayed ACKs",
    "counted-cubic": "Cubic by the RFCs, periodic, 20 ms",
    "counted-cubic-chance": "Cubic by the RFCs, by chance, 20 ms",
    "counted-cubic-long": "Cubic's own region, 200 ms",
    "counted-dctcp": "DCTCP by RFC 8257",
    "counted-prague": "Prague",
}


def found(tables):
    """Share of packets marked, goodput by batches in Mb/s, mean window and round trip."""
    flow = tables["flows"].row(0, named=True)
    rate = mean_ci(batch_mbps(tables, "flow"))
    return {
        "p": flow["marks"] / flow["wait_packets"],
        "mbps": rate.value,
        "mbps_low": rate.low,
        "mbps_high": rate.high,
        "cwnd_packets": flow["cwnd_mean_bytes"] / 1448,
        "timeouts": flow["timeouts"],
    }


def rtt_ms(spec):
    """Base round trip of an experiment without a queue."""
    return 200.0 if spec.endswith("cubic-long") else 20.0


def told(spec, p):
    """Windows by the slides' formula, and by the one derived for this sender (None: there is none)."""
    rtt_s = rtt_ms(spec) / 1000
    rtt_ps = int(rtt_s * 1e12)
    if spec in FORMS:
        return math.nan, marked_windows(p, rtt_ps, rtt_ps)[f"{FORMS[spec]}_packets"]
    if spec.startswith("reno"):
        return 1.22 / math.sqrt(p), reno_rate(p)[
            "periodic_packets" if spec == "reno" else "independent_packets"
        ]
    if spec.startswith("cubic"):
        return 1.17 * (rtt_s / p) ** 0.75, cubic_rate(p, rtt_ps)["window_packets"]
    return 2 / p, dctcp_rate(p)["independent_packets"] if spec == "dctcp-bytes" else None


def windows(runs, spec):
    """A row a p: the window measured, with its interval, the slides', the derived one, and the ratios."""
    rows = []
    for row in runs.frame(found).filter(pl.col("spec") == spec).iter_rows(named=True):
        factor = 1e6 * rtt_ms(spec) / 1000 / MSS_BITS
        slides, derived = told(spec, row["p"])
        ends = {end: row[end.replace("window", "mbps")] * factor for end in ENDS}
        over = {
            "over_slides": ends["window"] / slides,
            "over_derived": ends["window"] / derived if derived else None,
        }
        rows.append(
            {"p": row["p"]}
            | ends
            | {"slides": slides, "derived": derived}
            | over
            | {"timeouts": row["timeouts"]}
        )
    return pl.DataFrame(rows, infer_schema_length=None).sort("p")


def _range(values, note=""):
    """Median of ratios, with the least and the largest: a claim holds if all of them are accepted."""
    values = pl.Series(values)
    return Measured(values.median(), values.min(), values.max(), BATCHES, note, range=True)


def on_off(runs):
    """W p^2 behind the step by the gain, largest first: a row a base RTT."""
    frame = runs.frame(found).filter(pl.col("spec") == "gains")
    return frame.with_columns((pl.col("cwnd_packets") * pl.col("p") ** 2).alias("W p^2")).sort(
        "g", "delay", descending=[True, False]
    )


def _by_gain(runs):
    """Whether each smaller gain takes the constant further below 2, at each base RTT."""
    parts = on_off(runs).partition_by("g", maintain_order=True)
    told = "; ".join(f"g = 1/{1 / part['g'][0]:.0f}: {part['W p^2'].median():.2f}" for part in parts)
    falls = all((later["W p^2"] < earlier["W p^2"]).all() for earlier, later in pairwise(parts))
    below = (parts[0]["W p^2"] < 2).all()
    return Measured(bool(falls and below), n_seeds=BATCHES, note=f"medians over the base RTTs: {told}")


def measure(runs):
    by = {spec: windows(runs, spec) for spec in NAMES}
    step = runs.frame(found).filter(pl.col("spec") == "step")
    whole, bytes_ = by["dctcp"], by["dctcp-bytes"]
    return {
        "reno-slides": _range(1.22 * by["reno"]["over_slides"]),
        "reno-chance-slides": _range(1.22 * by["reno-chance"]["over_slides"]),
        "reno-derived": _range(by["reno"]["over_derived"]),
        "reno-chance-derived": _range(by["reno-chance"]["over_derived"]),
        "reno-delayed-derived": _range(by["reno-delayed"]["over_derived"]),
        "cubic-slides": _range(1.17 * by["cubic-long"]["over_slides"]),
        "cubic-derived": _range(by["cubic-long"]["over_derived"]),
        "cubic-friendly-derived": _range(by["cubic"]["over_derived"]),
        "cubic-is-reno": _range(by["cubic"]["window"] / by["reno"]["window"]),
        "dctcp-slides": _range(2 * whole["over_slides"]),
        "dctcp-delayed-slides": _range(2 * by["dctcp-delayed"]["over_slides"]),
        "dctcp-bytes-slides": _range(2 * bytes_["over_slides"]),
        "dctcp-bytes-derived": _range(bytes_["over_derived"]),
        "dctcp-bytes-nearer": Measured(
            bool(((bytes_["over_derived"] - 1).abs() < (bytes_["over_slides"] - 1).abs()).all()),
            n_seeds=BATCHES,
            note=f"medians: over the form {bytes_['over_derived'].median():.2f}, "
            f"over the slides' {bytes_['over_slides'].median():.2f}",
        ),
        "on-off": _range(step["cwnd_packets"] * step["p"] ** 2),
        "on-off-gain-lowers": _by_gain(runs),
        "equal-rates": _range(by["reno-chance"]["window"].sort() / whole["window"].sort()),
        **{spec: _range(by[spec]["over_derived"]) for spec in FORMS},
        "no-timeouts": Measured(not any(frame["timeouts"].sum() for frame in by.values()), n_seeds=BATCHES),
    }


def draw(runs, reference):
    from shallows.figures import relation
    from shallows.statistics.estimates import Estimate

    panels = {}
    for title, specs in (
        ("Reno", ("reno", "reno-chance", "reno-delayed")),
        ("Cubic", ("cubic", "cubic-long")),
        ("DCTCP", ("dctcp", "dctcp-delayed", "dctcp-bytes")),
    ):
        series = {
            NAMES[spec]: [
                (r["p"], Estimate(r["window"], r["window_low"], r["window_high"], BATCHES))
                for r in windows(runs, spec).iter_rows(named=True)
            ]
            for spec in specs
        }
        first, last = windows(runs, specs[0]), windows(runs, specs[-1])
        theory = {"slides": (first["p"], first["slides"])}
        if title == "Cubic":
            theory = {"slides, 200 ms": (last["p"], last["slides"])}
        theory |= {"derived for the last": (last["p"], last["derived"])}
        panels[title] = relation.panel(series, ("p", "packets a round trip"), theory, log="xy")
    return {
        "window against the share of marks": relation.draw(panels, line="o", sharey=True),
        "senders by the RFCs over the form of their own rules": relation.draw(
            counted(runs), line="o-", sharey=True
        ),
    }


def counted(runs):
    """Panels of windows over their forms, with what agreement asks for."""
    from shallows.figures import relation
    from shallows.statistics.estimates import Estimate

    panels = {}
    for title in ("Reno", "Cubic", "DCTCP and Prague"):
        series = {}
        for spec in FORMS:
            if any(name in spec for name in title.lower().split(" and ")):
                series[NAMES[spec]] = [
                    (r["derived"], Estimate(*(r[key] / r["derived"] for key in ENDS), BATCHES))
                    for r in windows(runs, spec).sort("derived").iter_rows(named=True)
                ]
        bounds = {"within 10 %": ([8, 80, 80, 8, 8], [0.9, 0.9, 1.1, 1.1, 0.9])}
        panels[title] = relation.panel(
            series, ("window by the form in packets", "measured over the form"), bounds, log="x"
        )
    return panels


def tables(runs):
    step = (
        runs.frame(found)
        .filter(pl.col("spec") == "step")
        .with_columns((pl.col("cwnd_packets") * pl.col("p") ** 2).alias("W p^2"))
    )
    return {NAMES[spec]: windows(runs, spec) for spec in NAMES} | {
        "DCTCP behind a step of 20 packets": step.select("delay", "p", "cwnd_packets", "W p^2", "mbps"),
        "DCTCP behind the step by its gain": on_off(runs).select(
            "g", "delay", "p", "cwnd_packets", "W p^2", "mbps"
        ),
    }


FIGURE = Figure(
    specs={
        "reno": periodic(RENO_P, {}),
        "reno-chance": by_chance(RENO_P, {}),
        "reno-delayed": by_chance(RENO_P, DELAYED),
        "cubic": periodic(RENO_P, CUBIC),
        "cubic-long": periodic(CUBIC_P, CUBIC | LONG),
        "dctcp": by_chance(DCTCP_P, WHOLE),
        "dctcp-delayed": by_chance(DCTCP_P, WHOLE | DELAYED),
        "dctcp-bytes": by_chance(DCTCP_P, BYTES),
        "step": ("spec.toml", STEP),
        "gains": ("spec.toml", GAINS),
        "counted-reno": periodic(RENO_P, COUNTED),
        "counted-reno-chance": by_chance(RENO_P, COUNTED),
        "counted-reno-delayed": by_chance(RENO_P, COUNTED | DELAYED | {"transport.ack_delay": "1ms"}),
        "counted-cubic": periodic(RENO_P, COUNTED | CUBIC),
        "counted-cubic-chance": by_chance(RENO_P, COUNTED | CUBIC),
        "counted-cubic-long": periodic(
            CUBIC_P, COUNTED | ALONE | LONG | {"duration": "1600s", "warmup": "500s"}
        ),
        "counted-dctcp": by_chance(
            DCTCP_COUNTED_P, COUNTED | {"transport.cc": "dctcp", "transport.ecn": "auto"}
        ),
        "counted-prague": by_chance(PRAGUE_P, COUNTED | PRAGUE),
    },
    samples="batches",
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"window against the share of marks": ("*",)},
    captions={
        "window against the share of marks": "Mean window against the share of marked packets, with the "
        "slides' formula and the derived form.",
        "senders by the RFCs over the form of their own rules": "Windows of the senders by the RFCs over the "
        "form of their own rules.",
    },
)
