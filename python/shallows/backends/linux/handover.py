"""How each setting that the backend hands to the kernel is known to have arrived: a row for each.

A setting that is passed on and not seen again can be lost in silence. RED's NODROP was: the kernel stored its
bit in a word for user space and returned it. So each declared setting of a discipline, wire, route or
connection has a row here, and `tests/linux/test_linux_handover.py` holds the rows against the declarations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ROWS", "Row"]


@dataclass(frozen=True)
class Row:
    """How a setting is verified.

    - `read`: before the traffic, by a program that did not set it (`readback`). `by` has the reported names.
    - `opens`: by each connection as it opens (guest, traffic.c, `verify`).
    - `sysctl`: by the guest, which reads the sysctl `by` again.
    - `effect`: by a test of what it does, whose name is `by`; nothing reports it.
    - `kernel`: the kernel decides it, and any other value is refused.
    - `nothing`: it changes nothing on Linux, for the reason in `by`.
    """

    how: Literal["read", "opens", "sysctl", "effect", "kernel", "nothing"]
    by: str = ""


def _read(by: str) -> Row:
    return Row("read", by)


KERNEL = Row("kernel")
DUALPI2 = Row("effect", "test_each_setting_of_dualpi2_acts_as_in_the_simulator")
"""tc knows DualPI2 since 6.16; older ones report none of its options."""

METERS = Row("effect", "test_a_policer_acts_as_in_the_simulator")
"""The guest reads each bucket back from its filter too (meters.c), which tc does not report as JSON."""

CODEL = {
    "limit": _read("limit"),
    "target": _read("target"),
    "interval": _read("interval"),
    "ecn": _read("ecn"),
    "ce_threshold": _read("ce_threshold"),
    "max_packet": KERNEL,
    "root": KERNEL,
    "count_in_service": _read("limit"),
}

DISCIPLINES: dict[str, dict[str, Row]] = {
    "drop-tail": {
        "limit": _read("limit"),
        "count_in_service": _read("limit"),
        "measure": KERNEL,
    },
    "threshold": {
        "limit": _read("limit"),
        "mark_at": _read("min max"),
        "count_in_service": _read("limit min max"),
        "measure": KERNEL,
        "first_exempt": KERNEL,
        "not_ect": _read("nodrop"),
    },
    "tc-red": {
        "limit": _read("limit"),
        "min": _read("min"),
        "max": _read("max"),
        "avpkt": _read("ewma"),
        "burst": _read("ewma Scell_log"),
        "probability": _read("probability"),
        "bandwidth": _read("Scell_log"),
        "ecn": _read("ecn"),
        "harddrop": _read("harddrop"),
        "nodrop": _read("nodrop"),
        "adaptative": Row("effect", "test_an_adaptive_red_adapts"),  # its flag is reported, not its timer
        "shaped": KERNEL,
    },
    "codel": CODEL,
    "fq": {
        "limit": _read("limit flow_limit"),
        "flow_limit": _read("flow_limit"),
        "quantum": _read("quantum"),
        "initial_quantum": _read("initial_quantum"),
        "fast_path": KERNEL,
        "refill_delay": _read("refill_delay"),
    },
    "fq-codel": CODEL
    | {"left_in": KERNEL}
    | {"flows": _read("flows"), "quantum": _read("quantum"), "drop_batch": _read("drop_batch")},
    "pie": {
        "limit": _read("limit"),
        "target": _read("target"),
        "interval": _read("tupdate"),
        "alpha": _read("alpha"),
        "beta": _read("beta"),
        "max_burst": KERNEL,
        "mark_ecnth": KERNEL,
        "mean_packet": KERNEL,
        "latency": KERNEL,
        "dq_threshold": Row("nothing", "it belongs to latency = departure_rate, which is refused"),
        "active_from": KERNEL,
        "derandomise": KERNEL,
        "cap_adjustment": KERNEL,
    },
    "policer": {
        **dict.fromkeys(("rate", "burst"), METERS),
        **dict.fromkeys(("peak_rate", "peak_burst", "excess_burst"), METERS),
        "meter": Row("effect", "test_a_policer_acts_as_in_the_simulator"),
        "yellow": Row("effect", "test_a_policer_acts_as_in_the_simulator"),
        "red": KERNEL,
        "limit": _read("limit"),
    },
    "dualpi2": {
        **dict.fromkeys(
            (
                "limit",
                "classify",
                "target",
                "interval",
                "alpha",
                "beta",
                "k",
                "threshold",
                "threshold_packets",
            ),
            DUALPI2,
        ),
        **dict.fromkeys(("classic_weight", "overload"), DUALPI2),
        **dict.fromkeys(("ramp", "min_length", "min_backlog", "scheduler", "draw"), KERNEL),
        "time_shift": Row("nothing", "it belongs to scheduler = ts_fifo, which is refused"),
    },
}

PORT = {
    "queue": Row("nothing", "its settings have rows of their own"),
    "rate": _read("rate"),
    "delay": _read("delay.delay"),
    "loss": _read("loss-random.loss"),
    "duplicate": _read("loss-random.loss"),  # of the copies' wire
    "reorder": Row("effect", "test_packets_are_held_back_as_in_the_simulator"),
    "reorder_delay": Row("effect", "test_packets_are_held_back_as_in_the_simulator"),
    **dict.fromkeys(
        ("jitter", "jitter_law", "jitter_order"),
        Row("effect", "test_each_law_of_jitter_has_the_simulators_delays"),
    ),
    "jitter_correlation": KERNEL,
    "burst_begins": _read("loss-gemodel.p"),
    "burst_ends": _read("loss-gemodel.r"),
    "burst_loss": _read("loss-gemodel.1-h"),
    "bit_errors": _read("loss-random.loss"),  # of the bands of sizes
    "weight": _read("weight"),
    "trace": Row("effect", "test_a_link_follows_its_trace_as_in_the_simulator"),
}

EVENT = {
    "at": Row("effect", "test_a_link_fails_and_comes_back_as_in_the_simulator"),
    "link": Row("effect", "test_a_link_fails_and_comes_back_as_in_the_simulator"),
    "state": Row("effect", "test_a_link_fails_and_comes_back_as_in_the_simulator"),
    "rate": Row("effect", "test_a_link_changes_as_in_the_simulator"),
    "delay": Row("effect", "test_a_link_changes_as_in_the_simulator"),
    "loss": Row("effect", "test_a_link_changes_as_in_the_simulator"),
    "pause": Row("nothing", "lossless priorities are refused"),
    "pause_for": Row("nothing", "lossless priorities are refused"),
}

TRANSPORT = {
    "profile": Row("nothing", "it chooses the values of the others"),
    "cc": Row("opens"),
    "mss": Row("opens"),
    "header": KERNEL,
    "timestamps": Row("opens"),
    "initial_window": Row("opens"),
    "min_rto": _read("rto_min"),
    "sack": Row("opens"),
    "nagle": Row("effect", "test_a_short_segment_waits_with_nagle"),
    "ecn": Row("sysctl", "tcp_ecn"),
    "echo": Row("sysctl", "tcp_ecn"),
    "burst": _read("gso_max_segs"),
    "receive_window": _read("window"),
    "ack_every": _read("quickack"),
}

DATAGRAMS = {
    "mtu": _read("mtu"),
    "header": KERNEL,
    "ecn": Row("effect", "test_datagrams_that_are_ecn_capable_are_marked_as_in_the_simulator"),
    "priority": KERNEL,
    "send_buffer": Row("effect", "test_datagrams_wait_for_room_in_their_host"),
}

ROWS: dict[str, Row] = {
    **{f"queue.{kind}.{key}": row for kind, rows in DISCIPLINES.items() for key, row in rows.items()},
    **{f"port.{key}": row for key, row in PORT.items()},
    **{f"event.{key}": row for key, row in EVENT.items()},
    **{f"transport.{key}": row for key, row in TRANSPORT.items()},
    **{f"datagrams.{key}": row for key, row in DATAGRAMS.items()},
}
"""By the setting's path in a document; disciplines by their kind, and the transport `udp` as `datagrams`."""
