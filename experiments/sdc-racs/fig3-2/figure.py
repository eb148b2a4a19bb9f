"""Figure 3.2: completion time of class A, throughput of classes B and C, by class A's gain."""

import polars as pl
from shallows.figures import style
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured

from ..model import ALPHA, FLOWS, GAINS_A, PIPE_PACKETS, classes, row
from ..model import SETTINGS as SETTINGS


def networks(alpha=ALPHA):
    """By gain of class A; at a gain of 1 all classes are alike."""
    return {1: classes(1, 1)} | {gain: classes(gain, 2, alpha=alpha) for gain in GAINS_A}


def _alphas(found):
    """The sum of all flows' alphas, by which eq. (3.5) lets the windows exceed the pipe."""
    return sum(count * found.effective[name].alpha for name, count in FLOWS.items())


def measure(runs):
    by_gain = networks(runs.reading["model_alpha"])
    first, knee, last = by_gain[2], by_gain[10], by_gain[100]
    early = first.fct_ms["A"] - knee.fct_ms["A"]
    late = knee.fct_ms["A"] - last.fct_ms["A"]
    equal = by_gain[1].mbps
    least = min(min(found.window_packets.values()) for found in by_gain.values())
    greatest = max(found.total_mbps for found in by_gain.values())
    without = [
        found.total_mbps * PIPE_PACKETS / (PIPE_PACKETS + _alphas(found)) for found in by_gain.values()
    ]
    alike = by_gain[1].window_packets
    return {
        "afct-falls": Measured(
            first.fct_ms["A"] - last.fct_ms["A"], n_seeds=0,
            note=f"from {first.fct_ms['A']:.2f} to {last.fct_ms['A']:.2f} ms",
        ),
        "slowest-is-faster": Measured(
            max(found.fct_ms["A"] for found in by_gain.values()) < 30, n_seeds=0
        ),
        "b-throughput": Measured(last.mbps["B"], n_seeds=0),
        "c-throughput": Measured(last.mbps["C"], n_seeds=0),
        "diminishing": Measured(
            late < early, n_seeds=0, note=f"{early:.2f} ms from 2 to 10, {late:.2f} ms from 10 to 100"
        ),
        "fair-at-one": Measured(max(equal.values()) - min(equal.values()) < 1e-9, n_seeds=0),
        "within-the-link": Measured(greatest <= 1000, n_seeds=0, note=f"up to {greatest:.0f} Mb/s"),
        "alphas-exceed": Measured(
            max(without) <= 1000, n_seeds=0, note=f"up to {max(without):.0f} Mb/s"
        ),
        "whole-at-one": Measured(
            min(alike.values()) >= 1, n_seeds=0, note=f"from {min(alike.values()):.2f} packets on"
        ),
        "whole-windows": Measured(least >= 1, n_seeds=0, note=f"down to {least:.3f} packets"),
    }  # fmt: skip


def numbers(runs):
    """Numbers that the text names beside claims."""
    by_gain = networks()
    first, last = by_gain[2].fct_ms["A"], by_gain[100].fct_ms["A"]
    return {"afct-falls share": (Measured(100 * (1 - last / first), n_seeds=0), "%")}


@style.styled
def figure(by_gain, label, xscale="log"):
    """Completion time of A over throughputs of B and C, against what varies."""
    drawn, (above, below) = style.canvas(columns=2, width_inch=style.PAGE_INCH, height_inch=2.4)
    at = list(by_gain)
    times = [found.fct_ms["A"] for found in by_gain.values()]
    above.plot(at, times, "o-", color=style.colour(0))
    above.set(xlabel=label, ylabel="completion time of class A (ms)", ylim=(0, None), xscale=xscale)
    for k, name in enumerate("ABC"):
        rates = [found.mbps[name] for found in by_gain.values()]
        below.plot(at, rates, "o-", color=style.colour(k), label=f"class {name}")
    below.plot([100, 100], [5, 1], "x", color=style.PUBLISHED, label="published (B, C)")
    below.set(xlabel=label, ylabel="throughput of a flow (Mb/s)", ylim=(0, None), xscale=xscale)
    below.legend(loc="center right")
    for ax in (above, below):
        ax.set_xticks(at, [str(gain) for gain in at])
        ax.minorticks_off()
    return drawn


def draw(runs, reference):
    return {"class-a-gain": figure(networks(), "gain of class A over class C")}


def tables(runs):
    rows = [row({"gain of A": gain}, found) for gain, found in networks().items()]
    return {"The network by class A's gain (class B's is 2, or 1 in the first row)": pl.DataFrame(rows)}


FIGURE = Figure(
    specs={},  # theory only
    settings=SETTINGS,
    measure=measure,
    draw=draw,
    tables=tables,
    numbers=numbers,
    shows={"class-a-gain": ("*",)},
    captions={
        "class-a-gain": "Completion time of class A and throughput of the classes by class A's gain; crosses "
        "are the values that the text gives at 100. Its improvement of class A by about 30 ms is more than "
        "the longest time here."
    },
)
