"""Random legal experiments: every topology, discipline, control, transport, probe and fault of a wire.

Settings are drawn from the declared parameters, so that an addition to the simulator is soaked without a
line here. A setting that the checker refuses is changed until the experiment is legal. Networks and times are
small: a run costs milliseconds, and thousands of different ones find more than a long one.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from shallows import _core
from shallows.authoring import examples
from shallows.document.load import load
from shallows.document.paths import split_path
from shallows.document.points import expand
from shallows.document.schema import schema
from shallows.errors import Fault, ShallowsError, SpecError

Document = dict[str, Any]

PLUGINS = [str(Path(examples.__file__).with_name(f"{name}.py")) for name in ("aimd", "dctcp")]

SPANS = ("0s", "1ns", "1us", "10us", "25us", "100us", "250us", "1ms", "5ms", "200ms")
RATES = ("10Mbps", "100Mbps", "1Gbps", "2500Mbps", "10Gbps", "25Gbps", "40Gbps")
BYTES = ("1B", "100B", "536B", "1460B", "4KB", "15KB", "60KB", "200KB", "1MB")
SIZES = ("1pkt", "2pkt", "5pkt", "20pkt", "65pkt", "250pkt", "1500B", "10KB", "100KB", "none")
KEPT = frozenset({"topology", "queue", "transport", "traffic", "duration", "kind", "from", "to"})
"""The parts that an experiment cannot be without."""

OFTEN = ("0s", "1ns", "1us")
"""Intervals of messages that make a run short."""

COUNTS = (0, 1, 2, 3, 4, 7, 20, 100)


@cache
def _sections() -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Declared parameters by section and component."""
    return {
        section["path"]: {one["name"]: one["params"] for one in section["components"] if "backend" not in one}
        for section in schema()["sections"]
    }


def draw(draws: random.Random) -> Document | None:
    """A legal experiment, or None where ten repairs do not make one."""
    document = _written(draws)
    for _ in range(10):
        try:
            [point] = expand(load(document))
        except SpecError as error:
            if not sum(_mend(document, fault) for fault in error.faults):
                return None
        except ShallowsError:
            return None
        else:
            return point.experiment
    return None


def _written(draws: random.Random) -> Document:
    document: Document = {
        "seed": draws.randrange(1000),
        "ecmp": draws.choice(
            ["flow", "round-robin", "random", "weighted", "flowlet", "least-loaded", "permutation"]
        ),
    }
    duration = draws.choice([50, 200, 500, 1000, 2000])
    document |= {"duration": f"{duration}us", "warmup": f"{draws.choice([0, 0, duration // 3])}us"}
    document["topology"] = _component(draws, "topology", without=("graph",), counts=(1, 2, 3, 4), share=0.6)
    if document["topology"]["kind"] == "torus":  # sizes at random make networks of a hundred thousand hosts
        document["topology"]["size"] = draws.choice([[3], [2, 2, 2], [4, 3], [1, 5]])
    if draws.random() < 0.03:  # large enough to be cut into cells, which threads work
        document |= {
            "topology": {"kind": "fat-tree", "k": 8, "rate": "10Gbps", "delay": "1us"},
            "duration": "50us",
        }
    document["queue"] = _component(draws, "queue")
    if draws.random() < 0.3:
        document["nic"] = _component(draws, "queue")
    if draws.random() < 0.3:
        document["port_control"] = _component(draws, "port_control")
    if draws.random() < 0.4:
        pattern = draws.choice(["*->*", "*->*", "*->h*", "s*->*"])
        settings = _settings(draws, _sections()["port"]["port"], 0.25)
        document["port"] = {pattern: {k: v for k, v in settings.items() if not k.startswith("pfc_")}}
    if draws.random() < 0.15:
        document["switch"] = {"*": _settings(draws, _sections()["switch"]["switch"], 0.7)}
    document["transport"] = _transport(draws, document)
    hosts = _hosts(document["topology"])
    document["traffic"] = {f"load{k}": _load(draws, hosts) for k in range(draws.choice([1, 1, 2, 3]))}
    if document["transport"]["profile"] in ("ndp", "homa", "uec"):
        for load in document["traffic"].values():
            if load["kind"] != "datagrams":
                load.pop("transport", None)
    if any(_opens_often(load) for load in document["traffic"].values()):
        document |= {"duration": "20us", "warmup": "0us"}
    if draws.random() < 0.5:
        document["probe"] = _probe(draws)
    return document


def _transport(draws: random.Random, document: Document) -> Document:
    profile = draws.choice(
        [name for name in _sections()["transport"] if name != "udp"]
    )  # datagrams alone have it
    transport = {"profile": profile} | _settings(draws, _sections()["transport"][profile], 0.08)
    for key in ("priority", "ack_priority"):  # the core's soak draws priorities (examples/soak)
        transport.pop(key, None)
    transport["mss"] = draws.choice(["200B", "536B", "1460B", "1460B", "9000B"])
    if profile == "ndp":  # its ports trim
        document["queue"] = {"kind": "trimming", "limit": draws.choice(["1pkt", "8pkt", "8pkt", "30KB"])}
        document["ecmp"] = draws.choice(["flow", "permutation", "permutation"])
        document.pop("switch", None)
        transport["mtu"] = transport.pop("mss")
        return transport | {"cc": "line-rate"}
    if profile == "uec":
        document["queue"] = {"kind": "trimming", "limit": draws.choice(["8pkt", "30KB", "1bdp"])}
        if draws.random() < 0.6:
            document["queue"] |= {"kmin": "5KB", "kmax": "20KB"}
        document["ecmp"] = draws.choice(["flow", "flow", "weighted", "structured", "structured"])
        document.pop("switch", None)
        for key in ("port_status", "recovery", "denied"):  # the core's soak draws planes, and what they need
            transport.pop(key, None)
        if draws.random() < 0.3:
            transport |= {"entropy": "states", "denied": draws.sample(range(64), draws.randint(1, 20))}
        transport["mtu"] = transport.pop("mss")
        return transport | {"cc": "nscc", "entropies": 64}
    if profile == "homa":  # one level; the core's soak draws more, with their priorities
        for key in ("sizes", "cutoffs", "mss"):
            transport.pop(key, None)
        return transport | {"cc": "line-rate", "unscheduled_levels": 0, "scheduled_levels": 1}
    if draws.random() < 0.06:
        document["python"] = {"modules": PLUGINS}
        return transport | {"cc": draws.choice(["aimd", "dctcp"])}
    return transport | {"cc": _component(draws, "transport.cc")} | _windows(draws)


def _windows(draws: random.Random) -> Document:
    """Settings that need each other: a cap on growth, or a saved window."""
    if draws.random() < 0.06:
        kind = draws.choice(["newreno", "cubic", "dctcp", "xdctcp", "prague", "aimd"])
        return {"growth_cap": "max-flight", "validate_cwnd": False, "cc": kind}
    if draws.random() < 0.08:
        saved = {"saved_cwnd": draws.choice(["30pkt", "200pkt", "2MB"]), "saved_rtt": draws.choice(SPANS)}
        kind = draws.choice(["newreno", "cubic", "dctcp"])
        return saved | {"sack": True, "arithmetic": "exact", "cc": kind}
    return {}


def _hosts(topology: Document) -> list[str]:
    """Names of a topology's hosts; of some default one if its settings are not legal."""
    traffic = {"x": {"kind": "bulk", "from": "*", "pattern": "permutation"}}
    rest = {
        "duration": "1ms",
        "seed": 1,
        "queue": "drop-tail",
        "transport": {"cc": "newreno"},
        "traffic": traffic,
    }
    for settings in (topology, {"kind": topology["kind"]}):
        try:
            plan = json.loads(_core.plan(json.dumps(rest | {"topology": settings})))
        except SpecError:
            continue
        if settings is not topology:
            topology.clear()
            topology |= settings
        return [node["name"] for node in plan["nodes"] if node["host"]]
    return ["h0", "h1"]


def _load(draws: random.Random, hosts: list[str]) -> Document:
    load = _component(draws, "traffic", without=("table",), counts=(1, 2, 3))
    some = draws.sample(hosts, min(len(hosts), draws.choice([2, 3, 4])))
    if load["kind"] == "bulk" and draws.random() < 0.3:
        load |= {"from": hosts if draws.random() < 0.5 else some, "pattern": "permutation"}
        load.pop("to", None)
    else:
        load |= {"from": some[1:], "to": some[:1], "pattern": "all"}
    if load["kind"] == "datagrams":
        return _datagrams(draws, load)
    if load["kind"] == "poisson":
        load["sizes"] = _component(draws, "traffic.sizes", without=("empirical",))
    if draws.random() < 0.2:
        load["deadline"] = _component(draws, "traffic.deadline")
    if draws.random() < 0.2:
        load["transport"] = {"cc": _component(draws, "transport.cc")}
    return load


def _datagrams(draws: random.Random, load: Document) -> Document:
    """Laws of times and sizes that belong together."""
    for key in ("bytes", "sizes", "rate", "every", "on", "off", "stop", "name", "trace"):
        load.pop(key, None)
    sizes = {"kind": "uniform", "min": "1B", "max": "1472B"}
    load |= draws.choice([{"bytes": "1B"}, {"bytes": "1400B"}, {"sizes": sizes}])
    load |= draws.choice([{"rate": "100Mbps"}, {"rate": "10Gbps"}, {"every": "1us"}, {"every": "25us"}])
    load |= draws.choice([{}, {"on": "10us", "off": "1us"}, {"on": "1us", "off": "100us"}])
    return load | {"transport": {"ecn": draws.choice(["not-ect", "ect0", "ect1"])}}


def _opens_often(load: Document) -> bool:
    """Whether a load opens connections by the thousand in a microsecond; each takes some 4 us of CPU time."""
    if load["kind"] == "datagrams":
        return False
    sizes = load.get("sizes", {})
    small = any(sizes.get(key) in ("1B", "100B") for key in ("bytes", "min", "mean"))
    return (small and "load" in load) or any(load.get(key) in OFTEN for key in ("interval", "every"))


def _probe(draws: random.Random) -> Document:
    probe = _settings(draws, _sections()["probe"]["probe"], 0.3)
    for trace in ("queue_trace", "port_trace", "flow_trace"):
        probe[trace] = draws.choice(["off", "off", "10us", "37us", "change"])
    if draws.random() < 0.4:
        probe["packets"] = ["*->*"]
    return probe | {"trace_rows": 2_000_000}


def _component(
    draws: random.Random,
    section: str,
    without: tuple[str, ...] = (),
    counts: tuple[int, ...] = COUNTS,
    share: float = 0.3,
) -> Document:
    known = {name: params for name, params in _sections()[section].items() if name not in without}
    kind = draws.choice(sorted(known))
    return {"kind": kind} | _settings(draws, known[kind], share, counts)


def _settings(
    draws: random.Random, params: list[dict[str, Any]], share: float, counts: tuple[int, ...] = COUNTS
) -> Document:
    chosen = {}
    for param in params:
        if param["required"] or draws.random() < share:
            value = _value(draws, param, counts)
            if value is not None:
                chosen[param["name"]] = value
    return chosen


def _value(draws: random.Random, param: dict[str, Any], counts: tuple[int, ...]) -> Any:
    kind = param["kind"]
    optional = kind.endswith(" or none")
    if optional and draws.random() < 0.3:
        return "none"
    drawn: dict[str, Callable[[], Any]] = {
        "span": lambda: draws.choice(SPANS),
        "rate": lambda: draws.choice(RATES),
        "bytes": lambda: draws.choice(BYTES),
        "size": lambda: draws.choice(SIZES[: -1 if not optional else None]),
        "count": lambda: draws.choice(counts),
        "real": lambda: draws.choice([0.0, 0.001, 0.0625, 0.25, 0.5, 0.9, 1.0, 1.5, 4.0, 100.0]),
        "flag": lambda: draws.random() < 0.5,
        "choice": lambda: draws.choice(param["choices"]),
        "list of count": lambda: sorted(draws.sample(range(1, 60), draws.randrange(4))),
    }
    make = drawn.get(kind.removesuffix(" or none"))
    return make() if make else None


def _mend(document: Document, fault: Fault) -> bool:
    """Changes the document at a fault: to what the rule asks for, or without it. Whether it did."""
    *parents, last = [key.partition("[")[0] for key in split_path(fault.path)]
    table = document
    for number, key in enumerate(parents):
        inner = table.get(key)
        if not isinstance(inner, dict):
            parents, last = parents[:number], key
            break
        table = inner
    before = dict(table)
    asked = re.search(r'(?:must be|such as) "([^"]+)"', fault.rule)
    one_of = re.match(r"needs exactly one of `(\w+)` and `(\w+)`", fault.rule)
    words = set(re.findall(r"[a-z_0-9]+", fault.rule)) & set(table) - KEPT
    if one_of:
        table.pop(one_of[2], None)
        table[one_of[1]] = {"load": 0.5, "response": "20KB"}.get(one_of[1], 1)
    elif last.endswith("classes"):
        table[last] = [next(iter(document["traffic"]))]
    elif asked:
        table[last] = asked[1]
    elif "is required: a table" in fault.rule:
        table[last] = {"kind": "fixed", "bytes": "20KB"}
    elif last in table and not (last in KEPT and not parents):
        del table[last]
    elif words:  # a default is at fault, and the rule names the setting that does not go with it
        for word in words:
            del table[word]
    else:
        for key in set(table) - KEPT if parents else ():
            del table[key]
    return table != before


def as_text(document: Document) -> str:
    """One line of JSON."""
    return json.dumps(document, sort_keys=True)
