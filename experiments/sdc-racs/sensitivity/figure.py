"""The effect of each parameter that the thesis leaves out: one at a time around the default."""

import polars as pl
from shallows.figures import style
from shallows.figures.curves import DASHES
from shallows.statistics.estimates import Estimate, mean_ci, paired_change, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_below, some
from shallows.studies.paper.kit import Rows

from ..common import NAMES, TRANSPORTS, at_link, bottleneck, difference, mg1_ms, responses

BASE = "default"

SDC = {
    "gamma": {v: dict.fromkeys(("gamma_a", "gamma_b", "gamma_c"), float(v)) for v in ("0.5", "2")},
    "alpha of A, B": {"0.6": {"alpha_a": 0.6, "alpha_b": 0.6}, "1.8": {"alpha_a": 1.8, "alpha_b": 1.8}},
    "alpha of C": {"0.25": {"alpha_c": 0.25}, "0.9": {"alpha_c": 0.9}},
    "beta of A": {"0.77": {"beta_a": 0.77}, "0.95": {"beta_a": 0.95}},
    "beta of B": {"0.5": {"beta_b": 0.5}, "0.77": {"beta_b": 0.77}},
    "beta of C": {"0.25": {"beta_c": 0.25}, "0.538": {"beta_c": 0.538}},
    "r_A": {"25": {"r_a": "25pkt"}, "100": {"r_a": "100pkt"}},
    "r_B": {"50": {"r_b": "50pkt"}, "200": {"r_b": "200pkt"}},
    "hold": {"1": {"hold": 1.0}, "2": {"hold": 2.0}},
}  # fmt: skip
"""Settings of the sender. An alpha above 1 is more than the thesis allows (section 3.3)."""

RACS = {
    "w_min": {"0.5": {"w_min": 0.5}, "2": {"w_min": 2.0}},
    "w_max": {"4": {"w_max": 4.0}, "19": {"w_max": 19.0}},
    "1 / a": {"50": {"size_scale": "50KB"}, "200": {"size_scale": "200KB"}},
}
DEFAULTS = {
    "gamma": "1", "alpha of A, B": "0.9", "alpha of C": "0.5", "beta of A": "0.887", "beta of B": "0.538",
    "beta of C": "0.5", "r_A": "50", "r_B": "100", "hold": "0", "t_p": "300", "w_min": "1", "w_max": "9",
    "1 / a": "100", "drain": "0", "every": "2",
}  # fmt: skip
UNITS = {"r_A": "packets", "r_B": "packets", "t_p": "us", "1 / a": "KB", "every": "ms"}
PORTS = ("port_control", 'port."*->*".port_control')
"""Where a controller's settings stand: at switches and at hosts."""


def _variants():
    """(transport, parameter, value, settings), the default first of each transport."""
    for name, table in (("sdc", SDC), ("racs", RACS)):
        yield name, BASE, "", {}
        for parameter, values in table.items():
            for value, changes in values.items():
                yield name, parameter, value, {"transport.cc": TRANSPORTS[name]["transport.cc"] | changes}
    for value in ("150", "600"):
        yield "sdc", "t_p", value, _at_ports({"kind": "sdc", "interval": f"{value}us"})
    for value in (0.15, 0.3):
        yield "racs", "drain", f"{value:g}", _at_ports({"kind": "racs", "drain": value})
    for name in ("sdc", "racs", "rcp", "sack"):
        for value in ("1", "10", "50"):
            yield name, "every", value, {"traffic.short.every": f"{value}ms"}
    for name in ("rcp", "sack"):
        yield name, BASE, "", {}


def _at_ports(control):
    return dict.fromkeys(PORTS, control)


def _key(name, parameter, value):
    return f"{name} {parameter} {value}".strip()


MIX, BENCHMARK = "../scenarios/mix.toml", "../scenarios/benchmark.toml"
SEEDS = {"seeds": 10}
"""Half of the other figures': there are many variants, each paired with the default by seed."""
BUSY = {"sweep.grid": {"traffic.short.every": ["500us"]}}
SPECS = {_key(name, p, v): (MIX, TRANSPORTS[name] | SEEDS | changes) for name, p, v, changes in _variants()}
SPECS |= {
    f"{_key(name, p, v)} benchmark": (BENCHMARK, TRANSPORTS[name] | BUSY | SEEDS | changes)
    for name, p, v, changes in _variants()
    if name in ("sdc", "racs") and p != "every"
}

PUBLISHED = {"sdc": (2.6, 98.11), "racs": (2.0, 98.77), "rcp": (2.67, 98.13)}
"""Completion time in ms and utilisation in per cent: tables 3.4 and 4.2."""


def mix(tables):
    """The receiver's port and the responses."""
    return bottleneck(tables) | responses(tables)


def _found(runs, column, scenario=""):
    frame = runs.frame(mix)
    keys = {(n, p, v): f"{_key(n, p, v)} {scenario}".strip() for n, p, v, _ in _variants()}
    known = set(frame["spec"])
    return {key: Rows(frame).estimate(column, spec=spec) for key, spec in keys.items() if spec in known}


def measure(runs):
    frame = runs.frame(mix)
    seeds = len(runs.seeds)
    afct = _found(runs, "afct")
    measured = {}
    own = [key for key in afct if key[0] == "sdc" and key[1] != "every"]
    sooner = {key: is_below(difference(frame, "afct", _key(*key), "sack " + BASE)) for key in own}
    slower = ", ".join(" ".join(key[1:]) for key, each in sooner.items() if not each.value)
    note = f"not sooner with {slower or 'none of them'}"
    measured["sdc-before-sack"] = every(sooner.values(), note)._replace(n_seeds=seeds)
    own = [key for key in afct if key[0] == "racs" and key[1] != "every"]
    sooner = {key: is_below(difference(frame, "afct", _key(*key), "sdc " + BASE)) for key in own}
    note = ", ".join(" ".join(key[1:]) for key, each in sooner.items() if each.value)
    measured["racs-before-sdc"] = some(sooner.values(), note or "none")._replace(n_seeds=seeds)
    gain = difference(frame, "afct", "racs w_max 19", "racs w_max 4")
    measured["racs-gain-grows"] = is_below(gain, 0, "ms")
    sparse = difference(frame, "afct", "racs every 50", "sdc every 50")
    measured["racs-before-sdc-sparse"] = is_below(sparse, 0, "ms")
    return measured


def draw(runs, reference):
    return {name: _panel(runs, name) for name in ("sdc", "racs")} | {"arrivals": _arrivals(runs)}


def _change(runs, column, scenario, key):
    """Against the default, paired by seed: of times in per cent, of shares in points."""
    frame = runs.frame(mix)
    values = []
    for each in (key, (key[0], BASE, "")):
        spec = f"{_key(*each)} {scenario}".strip()
        values.append(frame.filter(pl.col("spec") == spec).sort("seed")[column].to_list())
    if column == "utilisation":
        return paired_difference(*values)
    found = paired_change(*values)
    return Estimate(100 * found.value, 100 * found.low, 100 * found.high, found.n)


@style.styled
def _panel(runs, name):
    """Each parameter's two values beside the default: completion times, and use of the link."""
    keys = [(n, p, v) for n, p, v, _ in _variants() if n == name and p != "every"]
    rows = list(dict.fromkeys(p for _, p, _ in keys if p != BASE))
    height = 0.8 + 0.3 * len(rows)
    drawn, axes = style.canvas(columns=3, width_inch=style.PAGE_INCH, height_inch=height, sharey=True)
    columns = (("afct", "", "mix: completion time (%)"),
               ("afct", "benchmark", "benchmark: completion time (%)"),
               ("utilisation", "", "mix: share of the link (points)"))  # fmt: skip
    for ax, (column, scenario, label) in zip(axes, columns, strict=True):
        ax.axvline(0, color=style.INK, linewidth=0.6)
        for i, parameter in enumerate(rows):
            two = [key for key in keys if key[1] == parameter]
            for k, (key, shift) in enumerate(zip(two, (-0.15, 0.15), strict=True)):
                e = _change(runs, column, scenario, key)
                ax.plot([e.value], [i + shift], "o", color=style.colour(k))
                ax.plot(e.ci, [i + shift] * 2, color=style.colour(k))
                ax.annotate(key[2], (e.ci[1], i + shift), xytext=(3, 0), textcoords="offset points",
                            fontsize=6, va="center", color=style.colour(k))  # fmt: skip
        ax.set(xlabel=label, ylim=(len(rows) - 0.5, -0.5))
        low, high = ax.get_xlim()
        ax.set_xlim(low, high + 0.12 * (high - low))
        ax.grid(False, axis="y")
    words = [f"{p} = {DEFAULTS[p]} {UNITS.get(p, '')}".strip() for p in rows]
    axes[0].set_yticks(range(len(rows)), words)
    axes[0].set(title=f"{NAMES[name]}: change against the default, paired by seed")
    return drawn


def _at_link(runs):
    """Mean times in ms by mean gap, of the same arrivals at the link alone and of M/G/1."""
    found = {}
    for value in ("1", DEFAULTS["every"], "10", "50"):
        key = ("sack", BASE, "") if value == DEFAULTS["every"] else ("sack", "every", value)
        same = {}
        for run in runs.where(_key(*key)):
            for name, each in at_link(run.tables["messages"].filter(pl.col("traffic") == "short")).items():
                same.setdefault(f"{name} at the link", []).append(float(each.mean()))
        lines = {name: mean_ci(each).value for name, each in same.items()}
        lines |= {f"M/G/1 {name}": ms for name, ms in mg1_ms("mix", 1e3 / float(value)).items()}
        for name, ms in lines.items():
            found.setdefault(name, {})[float(value)] = ms
    return found


@style.styled
def _arrivals(runs):
    """Completion time and use of the link by the one setting of the traffic that the thesis leaves out."""
    drawn, axes = style.canvas(columns=2, width_inch=style.PAGE_INCH, height_inch=2.6)
    columns = (("afct", "mean completion time (ms)"), ("utilisation", "share of the link (%)"))
    for ax, (column, label) in zip(axes, columns, strict=True):
        found = _found(runs, column)
        for k, name in enumerate(("sack", "rcp", "sdc", "racs")):
            keys = {
                float(v or DEFAULTS["every"]): e
                for (n, p, v), e in found.items()
                if n == name and p in (BASE, "every")
            }
            xs = sorted(keys)
            ax.plot(
                xs, [keys[x].value for x in xs], "o-", color=style.colour(k, NAMES[name]), label=NAMES[name]
            )
            for x in xs:
                ax.plot([x, x], keys[x].ci, color=style.colour(k, NAMES[name]))
            if name in PUBLISHED:
                level = PUBLISHED[name][0 if column == "afct" else 1]
                ax.axhline(level, color=style.colour(k, NAMES[name]), linewidth=0.6, linestyle=":")
        for k, (name, points) in enumerate(_at_link(runs).items() if column == "afct" else ()):
            colour = style.INK if k < len(DASHES) else style.QUIET
            ax.plot(list(points), list(points.values()), DASHES[k % len(DASHES)], color=colour, linewidth=0.8,
                    label=name)  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks([1, 2, 10, 50], ["1", "2", "10", "50"])
        ax.minorticks_off()
        ax.set(xlabel="mean time between responses (ms); dotted: published", ylabel=label)
    axes[0].set_ylim(bottom=0)
    handles, labels = axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=4)
    return drawn


def tables(runs):
    columns = ("afct", "p99", "utilisation", "loss", "queue")
    found = {}
    for scenario, words in (("", "mix"), ("benchmark", "benchmark traffic, 2000 responses a second")):
        values = {column: _found(runs, column, scenario) for column in columns}
        rows = []
        for name, parameter, value, _ in _variants():
            key = (name, parameter, value)
            if key in values["afct"]:
                row = {"transport": NAMES[name], "parameter": parameter, "value": value}
                rows.append(row | {column: str(values[column][key]) for column in columns})
        title = f"One parameter at a time, {words}: times in ms, rest in per cent and packets"
        found[title] = pl.DataFrame(rows)
    return found


FIGURE = Figure(
    specs=SPECS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"racs": ("racs-gain-grows",)},
    captions={
        "sdc": "SDC: what each parameter changes, against the default; blue the lower value, red the higher.",
        "racs": "RACS: what each parameter changes, against the default; lower in blue, higher in red.",
        "arrivals": "Mean completion time of the mix by how often a response comes.",
    },
)
