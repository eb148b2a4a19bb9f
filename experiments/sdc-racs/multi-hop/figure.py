"""Multi-hop: simulated rates beside those that follow from each protocol's rule, and the published ones."""

import math
from pathlib import Path

import polars as pl
from shallows.figures import style
from shallows.statistics.estimates import Estimate, mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, every, is_within

from ..common import NAMES, TRANSPORTS
from .rates import FLOWS, PLACEMENTS, PUBLISHED, all_placements, by_weight, max_min, path, shared_switch

IDS = ("sdc", "racs", "rcp")
RULES = {"racs": by_weight, "rcp": max_min}
DRAWS = Path(__file__).with_name("sdc_rule.csv")
WITHIN = 0.03
SHARED_GBPS = 0.9
HALF_MBPS = 500


def _hosts(racks):
    """Names of hosts 1 to 5 in the topology."""
    names, used = {}, {"a": 0, "b": 0, "c": 0}
    for number, rack in racks.items():
        names[number] = f"{rack}{used[rack]}"
        used[rack] += 1
    return names


def _settings(racks, first):
    """Where the flows begin and end; the first of them, printed as 1->2, is read as `first`."""
    names = _hosts(racks)
    ends = {}
    for flow in FLOWS:
        source, sink = first if flow == FLOWS[0] else flow
        ends[f"traffic.f{flow}.from"], ends[f"traffic.f{flow}.to"] = names[int(source)], names[int(sink)]
    return ends


SEEDS = {"sdc": 60, "racs": 20, "rcp": 20}
"""One run of SDC hangs by several per cent on when flows begin (`sdc_rule`)."""

DEFAULTS = {
    "sdc": {"transport.cc": "sdc", "port_control": "sdc", 'port."*->*".port_control': "sdc"},
    "racs": {"transport.cc": "racs", "port_control": "racs", 'port."*->*".port_control': "racs"},
    "rcp": {"transport.cc": "rcp", "port_control": "rcp", 'port."*->*".port_control': "rcp"},
}
"""For comparison with the rules: our own defaults, with windows that never limit, as the rules have none."""
FREE = {"transport.profile": "datacentre", "transport.cwnd_max": "100000pkt"}


def specs(reading):
    """Each transport on the reading's placement, and beside it on every placement against its rule."""
    chosen = _settings(PLACEMENTS[reading["hosts"]], reading["first_flow"])
    found = {
        name: ("../scenarios/multi-hop.toml", TRANSPORTS[name] | chosen | {"seeds": SEEDS[name]})
        for name in IDS
    }
    for name in IDS:
        for k, racks in enumerate(PLACEMENTS.values()):
            ends = _settings(racks, "12")
            settings = DEFAULTS[name] | FREE | ends | {"seeds": SEEDS[name]}
            found[f"{name}-{k}"] = ("../scenarios/multi-hop.toml", settings)
    return found


def expected(name, placement):
    """Rates in Mb/s on the wire by the protocol's own rule; SDC's with an interval, being means of draws."""
    if name == "sdc":
        drawn = pl.read_csv(DRAWS).filter(pl.col("placement") == placement)
        return {flow: mean_ci(drawn[flow].to_list()) for flow in FLOWS}
    rates = RULES[name]({flow: path(flow, PLACEMENTS[placement]) for flow in FLOWS})
    return {flow: Estimate(rate, rate, rate, 0) for flow, rate in rates.items()}


def _off(got, want):
    """By how much of the rule's rate simulation is off, with the interval of both (independent) means."""
    off = got.value / want.value - 1
    if got.ci is None:
        return Estimate(off, None, None, got.n)
    half = math.hypot(got.high - got.value, want.high - want.value) / want.value
    return Estimate(off, off - half, off + half, got.n)


def _agreement(runs, name):
    """True if every flow's whole interval is within 3 % of the rule, false if one lies wholly outside."""
    found = {}
    for k, placement in enumerate(PLACEMENTS):
        got, want = simulated(runs, f"{name}-{k}"), expected(name, placement)
        for flow in FLOWS:
            found[f"flow {flow[0]}->{flow[1]} at {placement}"] = _off(got[flow], want[flow])
    worst = max(found, key=lambda where: abs(found[where].value))
    intervals = [e.ci for e in found.values()]
    agrees = None
    if None not in intervals:
        outside = any(low > WITHIN or high < -WITHIN for low, high in intervals)
        inside = all(low >= -WITHIN and high <= WITHIN for low, high in intervals)
        agrees = False if outside else True if inside else None
    note = "at most {:.1f} % [{:.1f}, {:.1f}], {}".format(*(100 * (x or 0) for x in found[worst][:3]), worst)
    return Measured(agrees, n_seeds=found[worst].n, note=note)


def _rates(tables):
    """Throughput of each flow in Mb/s on the wire."""
    flows = tables["flows"]
    return {
        flow: flows.filter(pl.col("traffic") == f"f{flow}")["goodput_bps"][0] * 1500 / 1460e6
        for flow in FLOWS
    }


def simulated(runs, spec):
    """Rates by flow, over seeds."""
    frame = runs.where(spec).frame(_rates)
    return {flow: mean_ci(frame[flow].to_list()) for flow in FLOWS}


def _equal(runs, spec):
    """Whether the first three flows have equal shares: each within 3 % of their mean, seed by seed."""
    frame = runs.where(spec).frame(_rates).sort("seed")
    mean = frame.select(pl.mean_horizontal(*FLOWS[:3])).to_series()
    return every(
        is_within(
            mean_ci((frame[flow] / mean).to_list()), WITHIN, 1, f"of their mean has {flow[0]}->{flow[1]}"
        )
        for flow in FLOWS[:3]
    )


def measure(runs):
    measured = {}
    for name, published in PUBLISHED.items():
        rates = simulated(runs, name)
        for flow, _ in zip(FLOWS, published, strict=True):
            measured[f"{name}-{flow}"] = rates[flow]
        measured[f"{name}-equal"] = _equal(runs, name)
    measured["rcp-equal"] = _equal(runs, "rcp")
    misprint = max_min(
        {flow: path("13" if flow == "12" else flow, PLACEMENTS["1 2 3 | 4 5"]) for flow in FLOWS},
        1000 * SHARED_GBPS,
    )
    note = ", ".join(f"{misprint[flow]:.0f}" for flow in FLOWS) + " Mb/s"
    measured["misprint-explains"] = Measured(_near(misprint), n_seeds=0, note=note)
    measured["no-common-link"] = Measured(
        not any(set(path("12", racks)) & set(path("23", racks)) for racks in all_placements()), n_seeds=0
    )
    halves = [
        by_weight({flow: path(first if flow == "12" else flow, racks) for flow in FLOWS})["45"]
        for racks in all_placements()
        for first in ("12", "13")
    ]
    measured["racs-half"] = Measured(
        max(halves) <= HALF_MBPS, n_seeds=0, note=f"at most {max(halves):.0f} Mb/s"
    )
    if not runs.where("sdc-0"):
        return measured
    for name in IDS:
        measured[f"{name}-rule"] = _agreement(runs, name)
    paths = ({flow: path(flow, racks) for flow in FLOWS} for racks in all_placements())
    measured["a-placement"] = Measured(
        any(_near(max_min(each)) for each in paths), n_seeds=0, note="of 243, max-min shares"
    )
    shared = shared_switch(1000 * SHARED_GBPS)
    note = ", ".join(f"{shared[flow]:.0f}" for flow in FLOWS) + " Mb/s"
    measured["one-resource"] = Measured(_near(shared), n_seeds=0, note=note)
    return measured


def _near(rates):
    """Whether rates stand in the published ratio at every capacity, within 3 %."""
    ratios = [rates[flow] / want for flow, want in zip(FLOWS, PUBLISHED["racs"], strict=True)]
    return max(ratios) / min(ratios) < 1.03


@style.styled
def draw(runs, reference):
    drawn, axes = style.canvas(
        columns=len(PLACEMENTS), width_inch=style.PAGE_INCH, height_inch=2.4, sharey=True
    )
    for k, (ax, placement) in enumerate(zip(axes, PLACEMENTS, strict=True)):
        for i, name in enumerate(IDS):
            got, want = simulated(runs, f"{name}-{k}"), expected(name, placement)
            at = [j + 0.22 * (i - 1) for j in range(len(FLOWS))]
            ax.bar(
                at,
                [got[flow].value for flow in FLOWS],
                0.2,
                color=style.colour(i, NAMES[name]),
                label=NAMES[name],
            )
            ax.plot(at, [want[flow].value for flow in FLOWS], "_", color=style.INK, markersize=6,
                    label="by its rule" if i == 0 else None)  # fmt: skip
        for published, marker in (("racs", "x"), ("sdc", "+")):
            label = f"published ({NAMES[published]})"
            ax.plot(range(len(FLOWS)), PUBLISHED[published], marker, color=style.PUBLISHED, label=label)
        ax.set_xticks(range(len(FLOWS)), [f"{flow[0]}→{flow[1]}" for flow in FLOWS])
        ax.set(title=placement)
        ax.grid(False, axis="x")
    axes[0].set(ylabel="throughput (Mb/s)")
    handles, labels = axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=5)
    return {"multi-hop": drawn}


def _ends(flow):
    return f"{flow[0]}→{flow[1]}"


def tables(runs):
    rows = []
    for k, (placement, racks) in enumerate(PLACEMENTS.items()):
        fair = max_min({flow: path(flow, racks) for flow in FLOWS})
        rows.append(
            {"racks A | B": placement, "transport": "max-min"}
            | {_ends(flow): f"{fair[flow]:.0f}" for flow in FLOWS}
        )
        for name in IDS:
            got, want = simulated(runs, f"{name}-{k}"), expected(name, placement)
            cells = {_ends(flow): f"{got[flow]} (rule {want[flow].value:.0f})" for flow in FLOWS}
            rows.append({"racks A | B": placement, "transport": NAMES[name]} | cells)
    for name, rates in PUBLISHED.items():
        cells = {_ends(flow): str(rate) for flow, rate in zip(FLOWS, rates, strict=True)}
        rows.append({"racks A | B": "not said", "transport": f"{NAMES[name]}, published"} | cells)
    return {"Throughput of each flow (Mb/s on the wire)": pl.DataFrame(rows)}


FIGURE = Figure(
    specs=specs,
    settings={"what the first three share": f"{SHARED_GBPS}Gbps"},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"Throughput of each flow (Mb/s on the wire)": ("*",)},
    captions={
        "multi-hop": "Throughput of the four flows on each placement of racks A and B, our defaults; "
        "crosses are published."
    },
)
