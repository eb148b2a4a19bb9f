"""Figure 3: how stable DCQCN's fixed point is, by delay, number of flows and parameters."""

from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.theory.dcqcn import Loop, phase_margin

from ..common import BACKENDS, draw_margins

DELAYS = (0, 50, 100)
"""Delays of the control loop, in us."""
PARAMETERS = {
    "default": {},
    "slow": {"additive": 1250.0},
    "slow and flat": {"additive": 1250.0, "kmax": 1000.0},
}
"""R_AI of 10 Mb/s are 1250 packets a second; Kmax of 1000 KB are 1000 packets."""
FLOWS = tuple(range(2, 101, 2))
DRAWN = (2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 50, 60, 80, 100)
TITLES = {"default": "default", "slow": "R_AI 10 Mb/s", "slow and flat": "R_AI 10 Mb/s, Kmax 1000 KB"}


def margins(name, delay_us, flows=DRAWN):
    """Degrees by the number of flows."""
    return {n: phase_margin(Loop(n, delay_us * 1e-6, **PARAMETERS[name])) for n in flows}


def published(reference, name, delay_us):
    """The authors' degrees by the number of flows."""
    rows = reference.filter(series=f"{name}|{delay_us}")
    return {n: degrees for n, degrees in rows.select("flows", "degrees").iter_rows() if n in DRAWN}


def measure(runs):
    far, near, flat = margins("default", 100), margins("default", 0), margins("slow and flat", 100)
    found = {}
    least = min(near, key=near.get)
    found["stable-at-0"] = Measured(min(near.values()) > 0, n_seeds=0, note=_said(near))
    below = [n for n, degrees in far.items() if degrees < 0]
    again = bool(below) and far[max(DRAWN)] > 0
    found["dips"] = Measured(
        again and far[10] < 0,
        n_seeds=0,
        note=f"below 0 from {min(below)} to {max(below)} flows" if below else "",
    )
    found["tuned-stable"] = Measured(min(flat.values()) > 0, n_seeds=0, note=_said(flat))
    found["least-at"] = Measured(least, n_seeds=0)
    found["least"] = Measured(near[least], n_seeds=0)
    return found


def _said(degrees):
    n = min(degrees, key=degrees.get)
    return f"least {degrees[n]:.1f} degrees, at {n} flows"


def draw(runs, reference):
    panels = {}
    for name, title in TITLES.items():
        lines = {f"{delay} us": margins(name, delay) for delay in DELAYS}
        crosses = {f"{delay} us": published(reference, name, delay) for delay in DELAYS}
        panels[title] = lines, crosses
    return {"phase margin by the number of flows": draw_margins(panels)}


FIGURE = Figure(
    specs={},  # theory only
    settings={
        "parameters": ["40Mbps", "10Mbps", "200KB", "1000KB"],
        "delays": ["0us", "50us", "100us"],
        "flows": 100,
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    shows={"phase margin by the number of flows": ("*",)},
    captions={
        "phase margin by the number of flows": "Phase margin of DCQCN's model as printed, linearised "
        "numerically (lines), and as the authors plot it (crosses), at loops of 0, 50 and 100 us."
    },
)
