"""An incast of N senders: the last message's end against the time that the link takes for all bytes."""

import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below, is_within
from shallows.studies.paper.kit import Rows

from ..common import ALONE, BACKENDS, DCQCN, FRAME, PAYLOAD, RATE_BPS

WIDTHS = (2, 4, 8, 16, 32)
IRN, GBN = "IRN, no PFC", "go-back-N, no PFC"
_LOSSY = {"priority.3.pfc": False}
_MARKS = {"kind": "ramp", "kmin": "5KB", "kmax": "200KB", "pmax": 0.01}
SCHEMES = [
    {"title": ALONE},
    {"title": DCQCN, "transport.cc": "dcqcn", "priority.3.queue": _MARKS},
    {"title": IRN, "transport.repair": "irn", **_LOSSY},
    {"title": GBN, **_LOSSY},
]
BYTES, RETH = 1_000_000, 16
DURATION_PS = 400_000_000_000
ALIKE = 0.01
"""Margin of equivalence, as a share of the closed form."""
ROUND_TRIP_US = 4 * 1.0 + 2 * 8e6 * (FRAME + 66) / RATE_BPS
"""Four links of 1 us, and a frame and an acknowledgement on two links each."""


def closed_form_us(n):
    """N messages one after another on the receiver's link, after the first frame's way to the switch."""
    packets, rest = divmod(BYTES, PAYLOAD)
    message = packets * FRAME + (rest + FRAME - PAYLOAD if rest else 0) + RETH
    return 8e6 * (n * message + FRAME + RETH) / RATE_BPS + 2 * 1.0


def seen(tables):
    """When the last message ended after the first start in us, and what it cost."""
    flows = tables["flows"]
    return {
        "senders": len(flows),
        "last_us": (flows["end_ps"].fill_null(DURATION_PS).max() - flows["start_ps"].min()) / 1e6,
        "failed": flows["end_ps"].null_count(),
        "again": flows["retransmissions"].sum(),
        "timeouts": flows["timeouts"].sum(),
        "lost": int(tables["queues"]["drops"].sum()),
    }


def frame_of(runs):
    """The runs with the time beyond the closed form."""
    forms = {n: closed_form_us(n) for n in WIDTHS}
    frame = runs.frame(seen)
    return frame.with_columns(
        beyond_us=pl.col("last_us") - pl.col("senders").replace_strict(forms, return_dtype=pl.Float64),
        last_ms=pl.col("last_us") / 1e3,
    )


def measure(runs):
    frame = frame_of(runs)
    widths = sorted(frame["senders"].unique())
    alone = [Rows(frame).estimate("beyond_us", title=ALONE, senders=n) for n in widths]
    found = {
        "never-before": every(is_above(each, -1e-6, "us beyond it") for each in alone),
        "within-a-round-trip": every(is_below(each, ROUND_TRIP_US, "us beyond it") for each in alone),
        "lossless": every(
            is_below(Rows(frame).estimate("lost", title=t, senders=n), 0.5, "packets lost")
            for t in (ALONE, DCQCN) for n in widths
        ),
    }  # fmt: skip
    most = max(widths)
    later = {
        title: paired_difference(
            *(Rows(frame).samples("last_ms", title=each, senders=most) for each in (title, ALONE))
        )
        for title in (DCQCN, IRN, GBN)
    }
    found["dcqcn-later"] = is_above(later[DCQCN], 0, "ms")
    found["irn-alike"] = is_within(later[IRN], ALIKE * closed_form_us(most) / 1e3, unit="ms")
    found["go-back-n-later"] = is_above(later[GBN], 0, "ms")
    return found


def draw(runs, reference):
    from shallows.figures import curves

    forms = {n: closed_form_us(n) / 1e3 for n in WIDTHS}
    panel = curves.Panel(
        Rows(frame_of(runs)).curve("last_ms", "senders"),
        "last end (ms)",
        log=True,
        references={"closed form": forms},
    )
    return {
        "last message by the number of senders": curves.draw(curves.info({"": panel}, "senders", log_x=True))
    }


def tables(runs):
    return {
        "Times, losses and repairs": Rows(frame_of(runs)).table(
            ["last_ms", "beyond_us", "lost", "again", "timeouts", "failed"], ["title", "senders"]
        )
    }


FIGURE = Figure(
    specs={
        "spec": (
            "spec.toml",
            {
                "sweep.grid": {"traffic.incast.from": [f"s0..s{n - 1}" for n in WIDTHS]},
                "sweep.points": SCHEMES,
            },
        )
    },
    settings={"widths": WIDTHS, "message": "1MB", "headers": [62, 66], "duration": "400ms"},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"last message by the number of senders": ("*",)},
    captions={
        "last message by the number of senders": "Time from the first start to the last end of N messages. "
        "The line is the time that the receiver's link takes for all frames, and for a frame and two cables "
        "more. A message without an end counts with the duration of the run, 400 ms."
    },
)
