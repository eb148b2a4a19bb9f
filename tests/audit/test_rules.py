"""Each rule accepts a run that keeps it, and a mutant that breaks it is rejected by this rule alone.

A mutant is a changed setting of the experiment, as if the simulator had another constant, or a changed table.
"""

import copy

import polars as pl
import pytest
from shallows.audit import audit
from shallows.audit.rule import RULES
from test_audit import BASE, done

ROCE = {"profile": "roce", "cc": "line-rate"}
PIE = {
    "kind": "pie",
    "target": "20us",
    "interval": "30us",
    "max_burst": "100us",
    "alpha": 12.5,
    "beta": 125.0,
}
PI = {"target": "20us", "interval": "30us", "alpha": 16.0, "beta": 320.0}
SMALL = {"kind": "drop-tail", "limit": "12pkt"}
SOON = {"min_rto": "1ms"}
QUICK = {"cc": "newreno"} | SOON
LOSSY = {"switch->r0": {"loss": 0.02}}
DEEP = {"kind": "threshold", "limit": "none", "mark_at": "20pkt"}
SLOW = {"kind": "timely", "initial_rate": "3Gbps", "t_low": "30us", "t_high": "100us"}
LONG = {"kind": "drop-tail", "limit": "400pkt"}
MIXED = {
    name: {
        "kind": "poisson",
        "from": "s*",
        "to": "r0",
        "every": every,
        "sizes": {"kind": "fixed", "bytes": size},
    }
    for name, every, size in (("small", "80us", "15KB"), ("large", "600us", "300KB"))
}
RCP = {"kind": "rcp", "interval": "35us", "target": 0.95, "initial_rtt": "50us"}
SDC = {"kind": "sdc", "interval": "25us"}
CLASSES = {"kind": "sdc", "r_a": "10pkt", "r_b": "100pkt", "gamma_b": 0.5, "gamma_c": 0.4, "alpha_b": 0.8}
RACS = {"kind": "racs", "size_scale": "20KB"}
FEW = {"kind": "swift", "base_target": "5us", "hop_target": "1us", "scaling_min": 0.3, "min_window": 0.5}
TWO = {"kind": "star", "senders": 6, "receivers": 2, "rate": "10Gbps", "delay": "5us"}
SIX = {"kind": "star", "senders": 6, "rate": "10Gbps", "delay": "5us"}
SHORT = {"kind": "red", "limit": "60pkt", "min": "5pkt", "max": "25pkt"}
TIGHT = {"kind": "threshold", "limit": "25pkt", "mark_at": "8pkt"}
SOME = {
    "a": {
        "kind": "poisson",
        "from": "s*",
        "to": "r0",
        "every": "300us",
        "sizes": {"kind": "fixed", "bytes": "150001B"},
    },
}
CALLS = {
    "m": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "8760B", "interval": "100us", "count": 15}
}
FREE = {"cc": "newreno", "validate_cwnd": False}
FAST = {"kind": "star", "senders": 1, "rate": "10Gbps", "sender_rate": "40Gbps", "delay": "5us"}
SAVED = {"cc": "newreno", "saved_cwnd": "400pkt", "saved_rtt": "20us"}
CODEL = {"kind": "codel", "limit": "400pkt", "target": "20us", "interval": "200us"}
FQ = {"kind": "fq-codel", "target": "20us", "interval": "200us"}
SENT = {"sent": {"kind": "datagrams", "from": "s*", "to": "r0", "bytes": "1200B", "rate": "4Gbps"}}
ENDLESS = {"kind": "drop-tail", "limit": "none"}
INT = {"profile": "roce", "cc": {"kind": "hpcc", "base_rtt": "25us"}}
DOCUMENTS = {
    "codel that marks": {"duration": "10ms", "queue": CODEL, "transport": {"cc": "cubic", "ecn": "on"}},
    "codel that drops": {"duration": "10ms", "queue": CODEL, "transport": {"cc": "newreno"}},
    "codel by newton": {"duration": "9ms", "queue": CODEL | {"root": "newton"}, "transport": {"cc": "cubic"}},
    "codel unresponsive": {"duration": "3ms", "queue": CODEL, "traffic": {
        "sent": {"kind": "datagrams", "from": "s*", "to": "r0", "bytes": "1200B", "rate": "4Gbps"}}},
    # Some packets come to the second port with a mark of the first, and a mark is no drop.
    "codel twice": {
        "duration": "8ms", "queue": CODEL, "transport": {"cc": "cubic", "ecn": "on"},
        "topology": {"kind": "dumbbell", "left": 4, "right": 2, "rate": "10Gbps", "access_rate": "10Gbps"},
        "port": {"right->r*": {"rate": "4Gbps"}},
        "traffic": {
            "a": {"kind": "bulk", "from": "l*", "to": "r0"},
            "b": {"kind": "messages", "from": "l*", "to": "r1", "bytes": "900KB", "interval": "3ms"},
        },
    },
    "codel above a threshold": {
        "duration": "5ms", "queue": CODEL | {"ce_threshold": "35us"},
        "transport": {"cc": "cubic", "ecn": "on"},
    },
    "fq-codel that marks": {"duration": "5ms", "queue": FQ, "transport": {"cc": "cubic", "ecn": "on"}},
    "fq-codel that drops": {"duration": "5ms", "queue": FQ, "transport": {"cc": "newreno"}},
    "fq-codel of Linux": {
        "duration": "9ms", "queue": FQ | {"root": "newton", "left_in": "all"}, "transport": {"cc": "cubic"},
    },
    "fq-codel that overflows": {
        "duration": "3ms", "queue": FQ | {"limit": "40pkt", "drop_batch": 4}, "traffic": SENT,
    },
    "fq-codel of many": {
        "duration": "5ms", "queue": FQ, "transport": {"cc": "cubic", "ecn": "on"},
        "traffic": MIXED | {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
    },
    "fq-codel of few queues": {
        "duration": "5ms", "queue": FQ | {"flows": 2}, "transport": {"cc": "cubic"},
    },
    "fq-codel of one queue": {"duration": "5ms", "queue": FQ | {"flows": 1}, "transport": {"cc": "cubic"}},
    # Right runs that the rule rejected once: the packet in transmission at the end has no departure.
    "fq-codel with a held packet": {
        "duration": "2ms", "traffic": MIXED | SENT,
        "topology": {"kind": "star", "senders": 2, "rate": "2Gbps", "sender_rate": "10Gbps", "delay": "5us"},
        "queue": FQ | {"limit": "60KB", "drop_batch": 1, "flows": 2, "ecn": False},
    },
    "fq-codel above a threshold": {
        "duration": "5ms", "queue": FQ | {"ce_threshold": "30us"}, "transport": {"cc": "cubic", "ecn": "on"},
    },
    "dctcp": {"duration": "5ms"},
    "newreno with ecn": {"duration": "5ms", "transport": {"cc": "newreno", "ecn": "on"}},
    "cubic with ecn": {"duration": "5ms", "transport": {"cc": "cubic", "ecn": "on"}},
    "newreno": {"duration": "30ms", "queue": SMALL, "transport": {"cc": "newreno"}},
    "losses": {
        "duration": "20ms", "queue": SMALL, "transport": QUICK, "port": {"switch->r0": {"loss": 0.05}},
    },
    "silence": {
        "duration": "40ms", "queue": SMALL, "transport": QUICK,
        "port": {"switch->r0": {"drop_packets": list(range(30, 400))}},
    },
    "cubic with losses": {
        "duration": "10ms", "queue": SMALL, "transport": {"cc": "cubic"} | SOON, "port": LOSSY,
    },
    "without sack": {
        "duration": "10ms", "queue": SMALL, "transport": QUICK | {"sack": False}, "port": LOSSY,
    },
    "prr": {"duration": "10ms", "queue": SMALL, "transport": QUICK | {"prr": True}, "port": LOSSY},
    "prr of two messages": {
        "duration": "30ms", "queue": LONG, "port": {"s0->switch": {"drop_packets": [100, 302]}},
        "transport": QUICK | {"prr": True, "arithmetic": "linux", "opening": "established"},
        "topology": {"kind": "star", "senders": 1, "rate": "10Gbps", "delay": "25us"},
        "traffic": {
            "m": {
                "kind": "messages", "from": "s0", "to": "r0", "bytes": "438000B", "interval": "15ms",
                "count": 2,
            },
        },
    },
    "rack": {
        "duration": "10ms", "queue": SMALL, "transport": {"cc": "cubic", "loss_detection": "rack"} | SOON,
    },
    "rack and losses": {
        "duration": "10ms", "queue": SMALL, "transport": {"cc": "newreno", "loss_detection": "rack"} | SOON,
        "port": {"switch->r0": {"loss": 0.02}, "r0->switch": {"loss": 0.05}},
    },
    "rack with prr": {
        "duration": "10ms", "queue": SMALL, "port": LOSSY,
        "transport": {"cc": "cubic", "loss_detection": "rack", "prr": True} | SOON,
    },
    # Segments of a burst have one time of sending, and the first answer brings the lost one back at once.
    "a repair at once": {
        "queue": LONG, "transport": QUICK | {"dup_acks": 1}, "port": {"s0->switch": {"drop_packets": [2]}},
        "traffic": {"m": {"kind": "messages", "from": "s0", "to": "r0", "bytes": "14KB", "interval": "1ms"}},
    },
    # Right runs that rules rejected once.
    "a cut of the flight": {
        "duration": "4ms", "queue": SHORT, "transport": {"cc": "cubic", "ecn": "on"}, "topology": SIX,
        "traffic": SOME,
    },
    "red after idle times": {
        "duration": "4ms", "seed": 68, "queue": SHORT, "transport": {"cc": "aimd", "prr": True},
        "topology": SIX, "traffic": SOME,
    },
    "a timer of an impatient repair": {
        "duration": "8ms", "queue": SMALL, "transport": QUICK | {"sack": False, "dup_acks": 5},
        "topology": SIX | {"delay": "30us"}, "traffic": SOME,
    },
    "a loss by a later repair": {
        "duration": "12ms", "queue": SMALL, "port": {"switch->r0": {"loss": 0.2}}, "traffic": SOME,
        "topology": SIX | {"delay": "30us"},
        "transport": {
            "cc": "aimd", "loss_detection": "rack", "prr": True, "timestamps": True, "opening": "established",
        } | SOON,
    },
    "a probe beyond the window": {
        "queue": SMALL, "traffic": SOME, "topology": SIX | {"senders": 3},
        "transport": {"cc": "dctcp", "loss_detection": "rack", "tail_loss_probe": True},
    },
    "a round that ends with a FIN": {
        "queue": TIGHT, "transport": {"cc": "dctcp", "validate_cwnd": False},
        "topology": SIX | {"senders": 1, "delay": "30us"},
        "traffic": {"a": SOME["a"] | {"sizes": {"kind": "fixed", "bytes": "20KB"}}},
    },
    "a mark beside a gap": {
        "duration": "6ms", "seed": 134, "queue": TIGHT, "port": {"switch->r0": {"loss": 0.01}},
        "transport": {"cc": "dctcp", "prr": True, "timestamps": True}, "topology": SIX | {"delay": "30us"},
        "traffic": SOME,
    },
    "a timer that runs on": {
        "duration": "12ms", "seed": 180, "queue": TIGHT, "topology": SIX | {"senders": 1, "delay": "30us"},
        "transport": {"cc": "aimd", "min_rto": "2ms", "nagle": True},
        "port": {"switch->r0": {"loss": 0.05}, "r0->switch": {"loss": 0.2}},
        "traffic": {
            "a": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "100KB", "interval": "3ms"},
        },
    },
    "poisson": {"traffic": {"p": {
        "kind": "poisson", "from": "s*", "to": "r0", "every": "5us",
        "sizes": {"kind": "fixed", "bytes": "3KB"},
    }}},
    "messages": {"traffic": {"m": {
        "kind": "messages", "from": "s*", "to": "r0", "bytes": "6KB", "interval": "100us", "stagger": "7us",
    }}},
    "red": {"duration": "10ms", "queue": {
        "kind": "red", "limit": "90pkt", "min": "10pkt", "max": "30pkt", "w_q": 0.1}},
    "pie": {"duration": "20ms", "queue": PIE},
    "pi2": {"duration": "20ms", "queue": {"kind": "pi2"} | PI, "transport": {"cc": "prague"}},
    "dualpi2": {"duration": "20ms", "queue": {"kind": "dualpi2"} | PI, "transport": {"cc": "prague"}},
    "dualpi2 at random": {
        "duration": "20ms", "queue": {"kind": "dualpi2", "draw": "random"} | PI,
        "transport": {"cc": "prague"},
    },
    "shared": {
        "topology": TWO, "queue": {"kind": "drop-tail", "limit": "none"}, "transport": {"cc": "newreno"},
        "switch": {"*": {"buffer": "100KB", "alpha": 0.5}},
        "traffic": {to: {"kind": "bulk", "from": "s*", "to": to} for to in ("r0", "r1")},
    },
    "pfc": {
        "duration": "1ms", "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "400KB"}},
        "topology": {"kind": "dumbbell", "left": 4, "right": 4, "rate": "40Gbps", "access_rate": "10Gbps",
                     "delay": "2us"},
        "priority": {"3": {"pfc": True}}, "transport": ROCE | {"priority": 3},
        "traffic": {"a": {"kind": "bulk", "from": "l*", "to": "r0"}},
    },
    "pfc at fixed thresholds": {
        "duration": "2ms", "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "4MB"}},
        "port": {"*->*": {"pfc_xoff": "40KB", "pfc_alpha": "none", "pfc_hysteresis": "6KB"}},
        "topology": {"kind": "dumbbell", "left": 4, "right": 4, "rate": "40Gbps", "access_rate": "10Gbps",
                     "delay": "2us"},
        "priority": {"3": {"pfc": True}}, "transport": ROCE | {"priority": 3},
        "traffic": {"a": {"kind": "bulk", "from": "l*", "to": "r0"}},
    },
    "pfc by free memory": {
        "duration": "1ms", "queue": ENDLESS, "switch": {"*": {"buffer": "500KB"}},
        "port": {"*->*": {"pfc_alpha": 0.125}}, "priority": {"3": {"pfc": True}, "6": {}},
        "topology": {"kind": "star", "senders": 4, "receivers": 2, "rate": "10Gbps", "delay": "1234ns"},
        "transport": ROCE | {"priority": 3, "ack_priority": 6},
        "traffic": {
            "a": {
                "kind": "poisson", "from": "s*", "to": "r*", "every": "20us",
                "sizes": {"kind": "fixed", "bytes": "50KB"},
            },
            "b": {"kind": "bulk", "from": "s0", "to": "r0"},
        },
    },
    # Packets that are held at the end fill a memory too, and an account closes where none is free.
    "pfc without free memory": {
        "duration": "300us", "seed": 732052, "queue": ENDLESS, "switch": {"*": {"buffer": "500KB"}},
        "port": {"*->*": {"pfc_alpha": "none", "pfc_xoff": "100KB"}},
        "priority": {"3": {"pfc": True}, "6": {}},
        "topology": {"kind": "star", "senders": 16, "receivers": 2, "rate": "10Gbps", "delay": "1us"},
        "transport": ROCE | {"priority": 3, "ack_priority": 6},
        "traffic": {
            "l0": {
                "kind": "poisson", "from": "s*", "to": "r*", "every": "20us",
                "sizes": {"kind": "fixed", "bytes": "50KB"},
            },
            "low": {
                "kind": "bulk", "from": "s*", "to": "r*",
                "transport": {"profile": "datacentre", "cc": "cubic", "priority": 6},
            },
        },
    },
    "pfc with a short headroom": {
        "duration": "2ms", "queue": {"kind": "drop-tail", "limit": "none"}, "pfc": {"lossy": "allowed"},
        "switch": {"*": {"buffer": "4MB"}}, "priority": {"3": {"pfc": True}},
        "port": {"*->*": {"pfc_xoff": "40KB", "pfc_alpha": "none", "pfc_headroom": "3KB"}},
        "topology": {"kind": "star", "senders": 4, "rate": "10Gbps", "delay": "5us"},
        "transport": ROCE | {"priority": 3},
    },
    "ndp": {
        "duration": "1ms", "queue": {"kind": "trimming"}, "transport": {"profile": "ndp", "cc": "line-rate"},
        "topology": {"kind": "star", "senders": 12, "rate": "10Gbps", "delay": "1us"},
        "traffic": {"a": {"kind": "incast", "from": "s*", "to": "r0", "response": "90KB"}},
    },
    "go-back-n": {
        "duration": "5ms", "queue": {"kind": "drop-tail", "limit": "40pkt"}, "transport": ROCE,
        "traffic": {"a": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "100KB", "interval": "1ms"}},
    },
    "irn": {
        "duration": "5ms", "queue": {"kind": "drop-tail", "limit": "40pkt"},
        "transport": ROCE | {"repair": "irn"},
        "traffic": {"a": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "100KB", "interval": "1ms"}},
    },
    "hpcc": {
        "duration": "1ms", "queue": {"kind": "drop-tail", "limit": "none"}, "port_control": "hpcc",
        "transport": {"profile": "roce", "cc": "hpcc"},
        "traffic": {"a": {"kind": "messages", "from": "s0", "to": "r0", "bytes": "5KB", "interval": "50us"}},
    },
    "hpcc of several": {"duration": "1ms", "queue": ENDLESS, "port_control": "hpcc", "transport": INT},
    # Ports with flow control are not followed, so that no record of theirs is known.
    "hpcc without records": {
        "duration": "1ms", "queue": ENDLESS, "port_control": "hpcc", "transport": INT | {"priority": 3},
        "priority": {"3": {"pfc": True}}, "switch": {"*": {"buffer": "9MB"}},
    },
    "hpcc in stages": {
        "duration": "1ms", "queue": ENDLESS, "transport": INT | {"cc": INT["cc"] | {"max_stage": 5}},
        "port_control": {"kind": "hpcc", "written": "first-bit", "unit_factor": 4},
        "topology": {"kind": "star", "senders": 4, "rate": "100Gbps", "delay": "1us"},
    },
    "hpcc by rounds": {
        "duration": "1ms", "queue": ENDLESS, "port_control": "hpcc",
        "transport": INT | {"cc": INT["cc"] | {"reaction": "per-rtt"}},
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4},
        "traffic": {"long": {"kind": "bulk", "from": "h0..h3", "to": "h4..h7", "pattern": "pairs"}},
    },
    "dcqcn": {"duration": "5ms", "queue": DEEP, "transport": ROCE | {"cc": "dcqcn"}},
    "dcqcn by bytes": {
        "duration": "10ms", "queue": DEEP,
        "transport": ROCE | {"cc": {"kind": "dcqcn", "increase_bytes": "20KB", "recovery_rounds": 2}},
    },
    "dcqcn of cards": {
        "duration": "40ms", "queue": DEEP,
        "transport": ROCE | {"cc": {"kind": "dcqcn", "parameters": "vendor"}},
        "traffic": {
            "a": {"kind": "messages", "from": "s*", "to": "r0", "bytes": "400KB", "interval": "12ms"},
        },
    },
    "dcqcn over tcp": {"duration": "5ms", "queue": DEEP, "transport": {"cc": "dcqcn"}},
    "timely": {"duration": "5ms", "queue": DEEP, "transport": ROCE | {"cc": SLOW}},
    "timely by gradients": {
        "duration": "5ms", "queue": DEEP,
        "transport": ROCE | {"cc": SLOW | {"t_low": "21us", "t_high": "30us"}},
    },
    "timely over tcp": {"duration": "5ms", "queue": DEEP, "transport": {"cc": SLOW, "burst": 8}},
    "timely by windows": {
        "duration": "5ms", "queue": DEEP, "transport": ROCE | {"cc": SLOW | {"samples": "window"}},
    },
    "timely, patched": {
        "duration": "5ms", "queue": DEEP, "transport": ROCE | {"cc": SLOW | {"law": "patched"}},
    },
    "swift": {"duration": "5ms", "queue": LONG, "transport": {"cc": "swift"}, "traffic": MIXED},
    "swift of many": {
        "duration": "5ms", "queue": LONG, "transport": {"cc": FEW},
        "topology": {"kind": "star", "senders": 40, "rate": "10Gbps", "delay": "5us"},
    },
    "swift over roce": {
        "duration": "3ms", "queue": DEEP, "transport": ROCE | {"cc": "swift"},
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2},
        "traffic": {"long": {"kind": "bulk", "from": "h*", "to": "h3"}},
    },
    "rcp": {"duration": "6ms", "queue": LONG, "port_control": RCP, "transport": {"cc": "rcp"}},
    "rcp by averages": {
        "duration": "6ms", "queue": LONG, "port_control": RCP | {"first_rtt": "averages"},
        "transport": {"cc": "rcp"}, "traffic": MIXED,
    },
    "rcp at hosts": {
        "duration": "6ms", "queue": LONG, "port": {"*->*": {"port_control": RCP}}, "transport": {"cc": "rcp"},
        "traffic": MIXED,
    },
    "racs": {
        "duration": "6ms", "queue": LONG, "port_control": "racs", "transport": {"cc": RACS},
        "traffic": MIXED | {"long": {"kind": "bulk", "from": "s0", "to": "r0"}},
    },
    "racs of messages": {
        "duration": "6ms", "queue": LONG, "port_control": "racs", "transport": {"cc": RACS},
        "traffic": {
            "m": {
                "kind": "messages", "from": "s*", "to": "r0", "bytes": "21KB", "interval": "2ms",
                "stagger": "10us",
            },
        },
    },
    "sdc": {
        "duration": "6ms", "queue": LONG, "port_control": SDC, "transport": {"cc": CLASSES}, "traffic": MIXED,
    },
    "sdc by two bits": {
        "duration": "6ms", "queue": LONG, "port_control": SDC | {"expiry": "200us"},
        "transport": {"cc": CLASSES | {"quantised": True, "mapping": "fixed"}, "validate_cwnd": False},
        "traffic": MIXED,
    },
    "capped": {"traffic": CALLS, "transport": FREE | {"growth_cap": "max-flight"}},
    "capped cubic": {
        "traffic": CALLS,
        "transport": FREE | {"cc": "cubic", "growth_cap": "max-flight", "initial_ssthresh": "10pkt"},
    },
    "not capped": {"traffic": CALLS, "transport": FREE},
    "resumed": {"topology": FAST, "queue": {"kind": "drop-tail", "limit": "60pkt"}, "transport": SAVED},
    "resumed, marked": {"topology": FAST, "transport": SAVED | {"cc": "dctcp"}},
    "resumed by rack": {
        "topology": FAST, "queue": {"kind": "drop-tail", "limit": "90pkt"},
        "transport": SAVED | {"cc": "cubic", "loss_detection": "rack", "max_jump": "150pkt"},
    },
}  # fmt: skip


def queue(key, value):
    return lambda experiment, tables: experiment["queue"].update({key: value})


def transport(key, value):
    def change(experiment, tables):
        for load in experiment["traffic"].values():
            load["transport"].update({key: value})

    return change


def control(key, value):
    def change(experiment, tables):
        for load in experiment["traffic"].values():
            load["transport"]["cc"].update({key: value})

    return change


def controller(key, value):
    def change(experiment, tables):
        for one in [experiment, *experiment.get("port", {}).values()]:
            if "port_control" in one:
                one["port_control"].update({key: value})

    return change


def load(key, value):
    def change(experiment, tables):
        for one in experiment["traffic"].values():
            one[key] = value

    return change


def switch(key, value):
    return lambda experiment, tables: experiment["switch"]["*"].update({key: value})


def thresholds(key, value):
    return lambda experiment, tables: experiment["port"]["*->*"].update({key: value})


def column(table, name, change):
    def changed(experiment, tables):
        frame = tables[table]
        tables[table] = frame.with_columns(change(pl.col(name)).cast(frame.schema[name]).alias(name))

    return changed


def idle_cut(experiment, tables):
    """A cut in the middle of the run, when the path is all but idle."""
    trace = tables["flow_trace"]
    last = trace.tail(1).with_columns(
        pl.lit(800_000_000, pl.UInt64).alias("time_ps"), pl.col("cwnd_bytes") * 0.5
    )
    tables["flow_trace"] = pl.concat([trace.filter(pl.col("time_ps") < 800_000_000), last])


def filled_acknowledgements(experiment, tables):
    """Acknowledgements have data, as when the bytes of SACK blocks were counted so."""
    filled = pl.when(pl.col("reverse") == 1).then(pl.lit(12, pl.UInt32)).otherwise(pl.col("payload"))
    tables["packets"] = tables["packets"].with_columns(filled.alias("payload"))


def mild_retreat(experiment, tables):
    """The first reduction leaves five segments more."""
    trace = tables["flow_trace"].sort("flow", "time_ps")
    fell = (pl.col("cwnd_bytes").diff() < 0).cum_sum() == 1
    tables["flow_trace"] = trace.with_columns(pl.col("cwnd_bytes") + pl.when(fell).then(7300).otherwise(0))


def other_fate(name, value):
    """A packet that passed the bottleneck unmarked, in the middle of the run, is marked there."""

    def changed(experiment, tables):
        packets = tables["packets"]
        here = (pl.col("port") == "switch->r0") & (pl.col("ecn") == 2) & (pl.col("reverse") == 0)
        at = packets.with_row_index("row").filter(here)["row"]
        row = pl.int_range(pl.len()) == at[len(at) // 2]
        with_value = pl.when(row).then(pl.lit(value, packets.schema[name])).otherwise(pl.col(name))
        tables["packets"] = packets.with_columns(with_value.alias(name))
        queues = tables["queues"]
        more = pl.when(pl.col("port") == "switch->r0").then(pl.col("marks") + 1).otherwise(pl.col("marks"))
        tables["queues"] = queues.with_columns(more.cast(queues.schema["marks"]).alias("marks"))

    return changed


def lost_later(experiment, tables):
    """A port drops its tenth packet a nanosecond later."""
    losses = tables["losses"]
    at = pl.when(pl.int_range(pl.len()) == 10).then(1000).otherwise(0)
    tables["losses"] = losses.with_columns((pl.col("time_ps") + at).cast(losses.schema["time_ps"]))


MUTANTS = [
    ("cap", "not capped", transport("growth_cap", "max-flight")),
    ("resume", "resumed", transport("saved_cwnd", "420pkt")),
    ("resume", "resumed", transport("saved_rtt", "45us")),
    ("resume", "resumed", transport("max_jump", "190pkt")),
    ("resume", "resumed", mild_retreat),
    ("resume", "resumed, marked", mild_retreat),
    ("resume", "resumed by rack", transport("saved_rtt", "2us")),
    ("resume", "resumed by rack", mild_retreat),
    ("codel-law", "codel that marks", queue("interval", "201us")),
    ("codel-law", "codel that marks", queue("target", "19us")),
    ("codel-law", "codel that drops", queue("interval", "190us")),
    ("codel-law", "codel by newton", queue("root", "exact")),
    ("codel-law", "codel unresponsive", queue("interval", "195us")),
    ("codel-law", "codel above a threshold", queue("ce_threshold", "36us")),
    ("fq-codel-law", "fq-codel that marks", queue("interval", "201us")),
    ("fq-codel-law", "fq-codel that marks", queue("target", "19us")),
    ("fq-codel-law", "fq-codel that marks", queue("quantum", "1513B")),
    ("fq-codel-law", "fq-codel that marks", other_fate("ecn", 3)),
    ("fq-codel-law", "fq-codel that drops", queue("quantum", "3028B")),
    ("fq-codel-law", "fq-codel that drops", queue("limit", "60pkt")),
    ("fq-codel-law", "fq-codel that drops", lost_later),
    ("fq-codel-law", "fq-codel of Linux", queue("root", "exact")),
    ("fq-codel-law", "fq-codel that overflows", queue("drop_batch", 3)),
    ("fq-codel-law", "fq-codel that overflows", queue("limit", "41pkt")),
    ("fq-codel-law", "fq-codel that overflows", queue("count_in_service", False)),
    ("fq-codel-law", "fq-codel that overflows", lost_later),
    ("fq-codel-law", "fq-codel of many", queue("max_packet", "3000B")),
    ("fq-codel-law", "fq-codel of many", queue("quantum", "3028B")),
    ("fq-codel-law", "fq-codel of few queues", queue("interval", "199us")),
    ("fq-codel-law", "fq-codel of few queues", queue("quantum", "1460B")),
    ("fq-codel-law", "fq-codel of one queue", queue("interval", "201us")),
    ("fq-codel-law", "fq-codel above a threshold", queue("ce_threshold", "31us")),
    ("hpcc", "hpcc", idle_cut),
    ("hpcc-law", "hpcc of several", control("eta", 0.96)),
    ("hpcc-law", "hpcc of several", control("step", "81B")),
    ("hpcc-law", "hpcc of several", control("base_rtt", "25001ns")),
    ("hpcc-law", "hpcc in stages", control("max_stage", 4)),
    ("hpcc-law", "hpcc in stages", lambda e, t: e["port_control"].update(written="last-bit")),
    ("hpcc-law", "hpcc in stages", lambda e, t: e["port_control"].update(unit_factor=1)),
    ("hpcc-law", "hpcc by rounds", control("reaction", "per-ack")),
    ("content", "newreno", filled_acknowledgements),
    ("starts", "messages", load("interval", "101us")),
    ("starts", "messages", load("stagger", "8us")),
    ("starts", "messages", load("bytes", "6001B")),
    ("starts", "messages", load("count", 3)),
    ("starts", "dctcp", load("start", "1us")),
    ("poisson", "poisson", load("every", "10us")),
    ("poisson", "poisson", column("flows", "start_ps", lambda it: it.rank("ordinal") * 4_900_000)),
    ("red-average", "red", queue("w_q", 0.02)),
    ("red-average", "red", queue("min", "15pkt")),
    ("red-average", "red", queue("max", "14pkt")),
    ("pie", "pie", queue("alpha", 25.0)),
    ("pie", "pie", queue("interval", "60us")),
    ("pie", "pie", queue("mark_ecnth", 0.05)),
    ("pi2", "pi2", queue("k", 2.2)),
    ("pi2", "pi2", queue("target", "25us")),
    ("dualpi2", "dualpi2", queue("k", 2.02)),
    ("dualpi2", "dualpi2", queue("target", "20500ns")),
    ("dualpi2", "dualpi2", queue("threshold", "100us")),
    ("dualpi2", "dualpi2 at random", queue("k", 2.2)),
    ("shared", "shared", switch("alpha", 0.55)),
    ("shared", "shared", switch("alpha", 0.45)),
    ("shared", "shared", switch("buffer", "97KB")),
    ("shared", "shared", switch("buffer", "103KB")),
    ("account", "pfc", column("pauses", "max_held_bytes", lambda it: it + 3000)),
    ("account", "pfc", column("pauses", "max_held_bytes", lambda it: it * 0.9)),
    ("pause", "pfc", column("pauses", "paused_ps", lambda it: it * 0.5)),
    ("pause", "pfc", column("pauses", "paused_ps", lambda it: it * 1.2)),
    ("xoff", "pfc at fixed thresholds", thresholds("pfc_xoff", "41KB")),
    ("xoff", "pfc at fixed thresholds", thresholds("pfc_xoff", "39KB")),
    ("xoff", "pfc at fixed thresholds", thresholds("pfc_hysteresis", "12KB")),
    ("xoff", "pfc at fixed thresholds", column("pauses", "pauses_sent", lambda it: it + 1)),
    ("xoff", "pfc with a short headroom", thresholds("pfc_xoff", "41KB")),
    ("xoff", "pfc by free memory", thresholds("pfc_alpha", 0.25)),
    ("xoff", "pfc by free memory", thresholds("pfc_alpha", 0.06)),
    ("xoff", "pfc by free memory", thresholds("pfc_alpha", 0.115)),
    ("xoff", "pfc by free memory", thresholds("pfc_hysteresis", "20KB")),
    ("xoff", "pfc by free memory", thresholds("pfc_xoff", "20KB")),
    ("xoff", "pfc by free memory", switch("reserve", "16KB")),
    ("xoff", "pfc by free memory", switch("buffer", "600KB")),
    ("xoff", "pfc by free memory", column("pauses", "pauses_sent", lambda it: it + 1)),
    ("trimming", "ndp", queue("limit", "7pkt")),
    ("trimming", "ndp", queue("limit", "10pkt")),
    ("trimming", "ndp", queue("header", "80B")),
    ("window", "newreno with ecn", column("flow_trace", "cwnd_bytes", lambda it: it * 0.5)),
    ("growth", "dctcp", transport("initial_window", "9pkt")),
    ("growth", "dctcp", transport("slow_start_limit", 0.5)),
    ("cut", "dctcp", control("reduction", 0.525)),
    ("cut", "newreno with ecn", control("ecn_beta", 0.52)),
    ("cut", "cubic with ecn", control("ecn_beta", 0.72)),
    ("alpha", "dctcp", control("g", 0.065)),
    ("alpha", "dctcp", control("initial_alpha", 0.9)),
    ("prague", "dualpi2", control("g", 0.064)),
    ("prague", "dualpi2", control("initial_alpha", 0.95)),
    ("prague", "dualpi2", control("reduction", 0.51)),
    ("prague", "pi2", transport("slow_start_limit", 0.5)),
    ("retransmission", "without sack", transport("dup_acks", 4)),
    ("retransmission", "losses", transport("min_rto", "1200us")),
    ("pipe", "losses", transport("limited_transmit", False)),
    ("pipe", "losses", transport("ssthresh_floor", "3pkt")),
    ("pipe", "cubic with losses", control("beta", 0.72)),
    ("pipe", "cubic with losses", control("beta", 0.68)),
    ("pipe", "without sack", transport("dup_acks", 2)),
    ("pipe", "without sack", transport("limited_transmit", False)),
    ("pipe", "prr", transport("prr", False)),
    ("prr", "losses", transport("prr", True)),
    ("prr", "prr", transport("arithmetic", "linux")),
    ("prr", "prr of two messages", transport("arithmetic", "exact")),
    ("prr", "rack", transport("prr", True)),
    ("rack", "rack", transport("dup_acks", 30)),
    ("rack", "rack and losses", transport("dup_acks", 30)),
    ("timer", "silence", transport("rto_backoff", 3)),
    ("timer", "silence", transport("max_rto", "3ms")),
    ("roundtrip", "losses", column("flow_trace", "srtt_ps", lambda it: it * 1.001)),
    ("dcqcn", "dcqcn", control("g", 0.0039)),
    ("dcqcn", "dcqcn", control("alpha_period", "56us")),
    ("dcqcn", "dcqcn", control("increase_period", "54us")),
    ("dcqcn", "dcqcn", control("initial_rate", "9Gbps")),
    ("dcqcn", "dcqcn", control("min_rate", "101Mbps")),
    ("dcqcn", "dcqcn", column("flow_trace", "pacing_bps", lambda it: it * 1.000001)),
    ("dcqcn", "dcqcn", column("flow_trace", "alpha", lambda it: it * 0.999)),
    ("dcqcn", "dcqcn by bytes", control("increase_bytes", "21KB")),
    ("dcqcn", "dcqcn by bytes", control("recovery_rounds", 3)),
    ("dcqcn", "dcqcn by bytes", control("additive", "41Mbps")),
    ("dcqcn", "dcqcn by bytes", control("hyper", "201Mbps")),
    ("dcqcn", "dcqcn of cards", control("alpha_period", "1100ns")),
    ("dcqcn", "dcqcn of cards", control("cut_interval", "5us")),
    ("dcqcn", "dcqcn of cards", control("clamp", True)),
    ("dcqcn", "dcqcn of cards", control("recovery_rounds", 2)),
    ("dcqcn", "dcqcn over tcp", control("cut_interval", "45us")),
    ("timely", "timely by gradients", control("t_low", "21100ns")),
    ("timely", "timely by gradients", control("t_high", "29us")),
    ("timely", "timely", control("delta", "10100kbps")),
    ("timely", "timely", control("beta", 0.81)),
    ("timely", "timely", control("weight", 0.87)),
    ("timely", "timely by gradients", control("hai", 4)),
    ("timely", "timely", control("min_rtt", "20100ns")),
    ("timely", "timely by gradients", control("max_cut", 0.1)),
    ("timely", "timely", control("segment", "17KB")),
    ("timely", "timely", column("flow_trace", "pacing_bps", lambda it: it * 1.00001)),
    ("timely", "timely over tcp", transport("burst", 7)),
    ("timely", "timely by windows", control("samples", "segment")),
    ("timely", "timely, patched", control("law", "original")),
    ("timely", "timely, patched", control("beta", 0.0081)),
    ("swift", "swift", control("base_target", "22us")),
    ("swift", "swift", control("hop_target", "3.1us")),
    ("swift", "swift", control("scaling_range", "101us")),
    ("swift", "swift", control("scaling_max", 101.0)),
    ("swift", "swift", control("ai", 1.01)),
    ("swift", "swift", control("beta", 0.81)),
    ("swift", "swift", control("max_decrease", 0.2)),
    ("swift", "swift", transport("initial_window", "9pkt")),
    ("swift", "swift of many", control("scaling_min", 0.31)),
    ("swift", "swift of many", control("min_window", 0.51)),
    ("swift", "swift of many", column("flow_trace", "pacing_bps", lambda it: it * 1.00001)),
    ("swift", "swift over roce", control("hop_target", "3.1us")),
    ("rcp", "rcp", controller("alpha", 0.404)),
    ("rcp", "rcp", controller("beta", 0.404)),
    ("rcp", "rcp", controller("interval", "36us")),
    ("rcp", "rcp", controller("target", 0.949)),
    ("rcp", "rcp", controller("initial_share", 0.051)),
    ("rcp", "rcp", controller("initial_rtt", "34us")),
    ("rcp", "rcp", controller("first_rtt", "averages")),
    ("rcp", "rcp", column("flow_trace", "pacing_bps", lambda it: it * 1.00001)),
    ("rcp", "rcp by averages", controller("first_rtt", "replaces")),
    ("rcp", "rcp by averages", controller("beta", 0.404)),
    ("rcp", "rcp at hosts", controller("alpha", 0.404)),
    ("racs", "racs", control("w_min", 1.01)),
    ("racs", "racs", control("w_max", 8.9)),
    ("racs", "racs", control("size_scale", "19900B")),
    ("racs", "racs", controller("share", 0.99)),
    ("racs", "racs", controller("drain", 0.149)),
    ("racs", "racs", controller("initial_slot", "280us")),
    ("racs", "racs", column("flow_trace", "pacing_bps", lambda it: it * 1.00001)),
    ("racs", "racs of messages", control("w_max", 8.9)),
    ("sdc", "sdc", controller("interval", "26us")),
    ("sdc", "sdc", control("r_a", "11pkt")),
    ("sdc", "sdc", control("r_b", "99pkt")),
    ("sdc", "sdc", control("gamma_a", 1.01)),
    ("sdc", "sdc by two bits", control("gamma_b", 0.51)),
    ("sdc", "sdc", control("gamma_c", 0.41)),
    ("sdc", "sdc", control("alpha_a", 0.91)),
    ("sdc", "sdc", control("alpha_c", 0.51)),
    ("sdc", "sdc", control("beta_a", 0.89)),
    ("sdc", "sdc", control("beta_b", 0.54)),
    ("sdc", "sdc", control("beta_c", 0.51)),
    ("sdc", "sdc", control("hold", 0.9)),
    ("sdc", "sdc", control("mapping", "fixed")),
    ("sdc", "sdc by two bits", control("mapping", "dynamic")),
    ("sdc", "sdc by two bits", control("alpha_b", 0.81)),
    ("sdc", "sdc", transport("initial_window", "9pkt")),
    ("go-back-n", "go-back-n", column("packets", "nak", lambda it: it * 0)),
    ("irn", "irn", column("packets", "nak", lambda it: it * 0)),
]
"""The rule that alone rejects, the document, and the change."""

BESIDE = {"pause": {"xoff"}}
"""Rules that may reject too: both know for how long a port is paused."""


@pytest.fixture(scope="module")
def runs():
    kept = {}

    def run(name):
        if name not in kept:
            kept[name] = done(BASE | DOCUMENTS[name])
        return kept[name]

    return run


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_real_run_is_accepted(runs, name):
    run = runs(name)
    assert [str(one) for one in audit(run.tables, run.experiment).rejected] == []


@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_a_mutant_is_rejected_by_its_rule_alone(runs, number):
    rule, name, change = MUTANTS[number]
    run = runs(name)
    experiment, tables = copy.deepcopy(dict(run.experiment)), dict(run.tables)
    change(experiment, tables)
    rejected = {one.rule for one in audit(tables, experiment).rejected}
    assert rejected - BESIDE.get(rule, set()) == {rule}


def test_each_rule_of_controls_and_loads_has_a_mutant_of_its_own():
    packets = {rule.name for rule in RULES if rule.check.__module__ == "shallows.audit.rules"}
    assert {rule.name for rule in RULES if rule.judges(False)} - packets == {
        rule for rule, _, _ in MUTANTS
    } - packets
