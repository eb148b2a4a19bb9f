"""Figure 12: HPCC and DCQCN with flow control, with go-back-N, and with IRN."""

from shallows.statistics.estimates import paired_ratio
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_within
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS
from ..fabric import DCQCN, HPCC, SCHEMES, flows, incasts, paused_percent, slowdowns

PFC, GBN, IRN = "PFC", "go-back-N", "IRN"
LOSSY = {"port": {}, "priority.3.pfc": False, "switch.*.alpha": 1.0}
"""Without flow control and its settings; a port may hold as much as is free, as in the authors' simulator."""

REPAIRS = {
    PFC: {},
    GBN: LOSSY | {"transport.repair": "go-back-n", "transport.nak_interval": "500us"},
    # A public simulator's timers: half a millisecond, and the longest path behind half of a switch's memory.
    IRN: LOSSY
    | {
        "transport.repair": "irn", "transport.bdp": "153KB", "transport.timeout_resends": "all",
        "transport.rto_low": "454us", "transport.rto_high": "1350us",
    },
}  # fmt: skip


def _title(scheme, repair):
    """The title of a point; with flow control the scheme's own."""
    return scheme if repair == PFC else f"{scheme}, {repair}"


POINTS = [
    changes | scheme | {"title": _title(scheme["title"], repair)}
    for scheme in SCHEMES
    if scheme["title"] in (HPCC, DCQCN)
    for repair, changes in REPAIRS.items()
]
MARGIN = 0.1


def seen(tables):
    """Slowdown, losses and pauses of a run."""
    mine, queues = flows(tables), tables["queues"]
    found = {column: mine[column].quantile(0.95, "linear") for column in ("sender", "receiver")}
    lost = int(queues["drops"].sum())
    return found | {
        "lost_percent": 100 * lost / int(queues["packets_in"].sum()),
        "again": int(tables["flows"]["retransmissions"].sum()),
        "paused_percent": paused_percent(tables) if len(tables["pauses"]) else 0.0,
        "flows": len(mine),
        "unended": int((~mine["ended"]).sum()),
    }


def measure(runs):
    frame, end = runs.frame(seen), runs.reading["end"]

    def of(scheme, repair):
        return Rows(frame).samples(end, title=_title(scheme, repair))

    alike = (
        is_within(
            paired_ratio(of(HPCC, repair), of(HPCC, PFC)), MARGIN, of=1.0, unit=f"times PFC's ({repair})"
        )
        for repair in (GBN, IRN)
    )
    gains = (
        is_above(paired_ratio(of(DCQCN, repair), of(DCQCN, IRN)), 1.0, unit=f"times IRN's ({repair})")
        for repair in (PFC, GBN)
    )
    return {"hpcc-alike": every(alike), "dcqcn-irn": every(gains)}


def draw(runs, reference):
    from shallows.figures import relation

    labels = ("size (bytes)", "slowdown, 95th percentile")
    panels = {}
    for scheme in (HPCC, DCQCN):
        lines = slowdowns(runs, [_title(scheme, repair) for repair in REPAIRS])
        named = dict(zip(REPAIRS, lines.values(), strict=True))
        panels[scheme] = relation.panel(named, labels, log="xy")
    return {"slowdown by size": relation.draw(panels, sharey=True)}


def tables(runs):
    names = ["sender", "receiver", "lost_percent", "again", "paused_percent", "flows", "unended"]
    return {"Means over the seeds": Rows(runs.frame(seen)).table(names, ["title"])}


FIGURE = Figure(
    specs={
        "incast": (
            "../fig11/spec.toml",
            {
                "topology.hosts_per_edge": 4,
                "duration": "1ms",
                "seeds": 10,
                "switch.*.buffer": "8MB",
                "traffic.background.load": 0.3,
                "traffic.incast": incasts(0.1) | {"fan_in": 24},
                "sweep.points": POINTS,
            },
        )
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"slowdown by size": ("*",)},
    captions={
        "slowdown by size": "Figure 12: the 95th percentile of the slowdown by size, at a load of 30 % and "
        "with incasts."
    },
)
