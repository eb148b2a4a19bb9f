"""The queue's limit cycle against theory: single threshold, DT-DCTCP's two, and hysteresis."""

from functools import cache
from typing import NamedTuple

import polars as pl
from shallows.statistics.estimates import Estimate
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.tables.oscillation import oscillation, queue_steps
from shallows.theory.limit_cycle import limit_cycle

FLOWS = [1, 2, 3, 4, 5, 10, 20, 40]
SYNCHRONISED, WINDOW, WITHIN = 5, 20, 20.0  # where theory is to hold: flows, packets, per cent
SPREAD = {"fast": 15, "slow": 5}  # packets between the middle and each of two thresholds


_cycle = cache(limit_cycle)


class Case(NamedTuple):
    """A port of `rate` Gb/s, links of `delay_us`, a threshold, and how long is needed."""

    rate: int
    delay_us: int
    k: int
    duration: str
    warmup: str

    @property
    def name(self):
        """As in figures."""
        return f"{self.rate} Gb/s, {4 * self.delay_us} us, K = {self.k}"

    def window(self, flows):
        """W* = (C RTT + K) / N in packets, near enough to start from."""
        return (self.rate * 4 * self.delay_us / 12 + self.k) / flows

    def theory(self, k1, k2, flows):
        """The closed form; a packet's transmissions, from hosts ten times as fast, are in the round trip."""
        packet_ps = 12_000_000 // self.rate
        rtt_ps = 4_000_000 * self.delay_us + packet_ps * 11 // 10
        return _cycle(self.rate * 10**9, rtt_ps, k1, k2, flows)


CASES = {
    "fast": Case(10, 25, 65, "60ms", "20ms"),
    "long": Case(10, 100, 65, "120ms", "60ms"),
    "slow": Case(1, 250, 20, "600ms", "200ms"),
}
MARKINGS = ("one threshold", "early release", "hysteresis")


def thresholds(case, marking):
    """K1 (marks while rising) and K2 (until falling) of a marking."""
    k, away = CASES[case].k, SPREAD.get(case, 0)
    return {
        "one threshold": (k, k),
        "early release": (k - away, k + away),
        "hysteresis": (k + away, k - away),
    }[marking]


def _queue(case, marking):
    k1, k2 = thresholds(case, marking)
    common = {"limit": "none", "measure": "after"}
    if k1 == k2:
        return {"kind": "threshold", "mark_at": f"{k1}pkt"} | common
    return {"kind": "double-threshold", "start_above": f"{k1}pkt", "stop_below": f"{k2}pkt"} | common


def _spec(name):
    case = CASES[name]
    markings = MARKINGS if name in SPREAD else MARKINGS[:1]
    return (
        "spec.toml",
        {
            "duration": case.duration,
            "warmup": case.warmup,
            "topology.rate": f"{case.rate}Gbps",
            "topology.sender_rate": f"{10 * case.rate}Gbps",
            "topology.delay": f"{case.delay_us}us",
            "sweep.zip": {
                "topology.senders": FLOWS,
                "transport.initial_ssthresh": [f"{max(2, int(0.9 * case.window(n)))}pkt" for n in FLOWS],
            },
            "sweep.points": [{"title": m, "queue": _queue(name, m)} for m in markings],
        },
    )


def swing(tables):
    """The measured limit cycle; statistics begin with the record of the port."""
    trace = tables["queue_trace"]
    over = int(tables["queues"]["over_ps"].max())
    found = oscillation(*queue_steps(trace, "switch->r0", int(trace["time_ps"].max()) - over))
    return {
        "sd": found.sd_packets,
        "amplitude": found.amplitude_packets,
        "period_us": None if found.period_ps is None else found.period_ps / 1e6,
        "mean": found.mean_packets,
    }


def compared(runs):
    """Measured beside theory: a row a case, marking and number of flows; `off_` in per cent of theory."""
    rows = []
    for row in runs.frame(swing).to_dicts():
        case = CASES[row["spec"]]
        theory = case.theory(*thresholds(row["spec"], row["title"]), row["senders"])
        round_us = theory["window_packets"] * row["senders"] * 12.0 / case.rate
        rows.append(
            {"case": case.name, "marking": row["title"], "flows": row["senders"]}
            | {"window": theory["window_packets"]}
            | {name: row[name] for name in ("mean", "sd", "amplitude", "period_us")}
            | {
                "sawtooth": theory["sawtooth_amplitude_packets"],
                "describing": theory["amplitude_packets"],
                "sawtooth_period_us": theory["sawtooth_period_round_trips"] * round_us,
                "describing_period_us": theory["period_round_trips"] * round_us,
            }
        )
    frame = pl.DataFrame(rows).with_columns(pl.col("describing", "describing_period_us").fill_nan(None))
    off = [
        (100 * (pl.col("amplitude") / pl.col(name) - 1)).alias(f"off_{name}")
        for name in ("sawtooth", "describing")
    ]
    return frame.with_columns(off)


def held_to_theory(frame):
    """The rows of the region in which theory is to hold."""
    return frame.filter(
        (pl.col("marking") == "one threshold")
        & (pl.col("flows") <= SYNCHRONISED)
        & (pl.col("window") >= WINDOW)
    )


def _worst(frame, column):
    if frame[column].null_count():
        return Measured(None, n_seeds=0, note="a case has no limit cycle")
    row = frame.sort(pl.col(column).abs()).tail(1).to_dicts()[0]
    return Measured(abs(row[column]), n_seeds=0, note=f"worst: {row['case']}, {row['flows']} flows")


def measure(runs):
    frame = compared(runs)
    inside = held_to_theory(frame)
    outside = frame.join(inside, on=["case", "marking", "flows"], how="anti").filter(
        pl.col("marking") == "one threshold"
    )
    failing = outside.filter(pl.col("off_sawtooth").abs() > WITHIN).sort("window")
    names = ", ".join(f"{r['case']}, N = {r['flows']} (W {r['window']:.0f})" for r in failing.to_dicts())
    fast = frame.filter(pl.col("case") == CASES["fast"].name)

    def mean_swing(marking):
        return fast.filter((pl.col("marking") == marking) & (pl.col("flows") <= SYNCHRONISED))["sd"].mean()

    single, early, late = (mean_swing(marking) for marking in MARKINGS)
    many = [
        fast.filter((pl.col("marking") == m) & (pl.col("flows") == max(FLOWS)))["sd"].item()
        for m in MARKINGS[:2]
    ]
    note = f"mean sd in packets, 1 to 5 flows: single {single:.2f}, early {early:.2f}, hysteresis {late:.2f}"
    return {
        "sawtooth": _worst(inside, "off_sawtooth"),
        "describing": _worst(inside, "off_describing"),
        "everywhere": Measured(failing.is_empty(), n_seeds=0, note=f"fails at {names or 'none'}"),
        "early-calms": Measured(early < single, n_seeds=0, note=note),
        "early-calms-40": Measured(
            many[1] < many[0], n_seeds=0, note=f"sd {many[1]:.1f} and {many[0]:.1f} packets"
        ),
        "hysteresis-calms": Measured(late < single, n_seeds=0, note=note),
    }


def _points(frame, column):
    rows = frame.filter(pl.col(column).is_not_null()).select("flows", column).iter_rows()
    return {x: Estimate(y, None, None, 1) for x, y in rows}


def draw(runs, reference):
    from shallows.figures import curves

    frame = compared(runs)

    def panel(case, marking, what, theory, unit):
        mine = frame.filter((pl.col("case") == case) & (pl.col("marking") == marking))
        names = {"measured": what, "sawtooth": theory[0], "describing function": theory[1]}
        return curves.Panel({name: _points(mine, column) for name, column in names.items()}, unit)

    def figure(what, theory, unit):
        single = {case.name: panel(case.name, MARKINGS[0], what, theory, unit) for case in CASES.values()}
        double = {
            f"{CASES[name].name} -+ {SPREAD[name]}, {marking}":
                panel(CASES[name].name, marking, what, theory, unit)
            for name in SPREAD for marking in MARKINGS[1:]
        }  # fmt: skip
        return curves.draw(curves.info(single | double, "synchronised flows", log_x=True))

    return {
        "amplitude, measured and by theory":
            figure("amplitude", ("sawtooth", "describing"), "peak to peak (packets)"),
        "period, measured and by theory":
            figure("period_us", ("sawtooth_period_us", "describing_period_us"), "period (us)"),
    }  # fmt: skip


def tables(runs):
    return {"Measured and by theory": compared(runs)}


FIGURE = Figure(
    specs={name: _spec(name) for name in CASES},
    settings={"round trips": [f"{4 * case.delay_us}us" for case in CASES.values()] + ["1ms"]},
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "amplitude, measured and by theory": "Amplitude of the queue's limit cycle by the number of "
        "flows: measured, and by two theories.",
        "period, measured and by theory": "Period of that limit cycle: measured, and by two theories.",
    },
)
