"""The arguments with which the program for ns-3 runs an experiment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shallows.document.schema import elsewhere, facts

__all__ = ["PACKET_BYTES", "Refusal", "arguments", "in_rounds"]

PACKET_BYTES = 1500


class Refusal(Exception):
    """ns-3 cannot do this cell."""


def in_rounds(load: Mapping[str, Any]) -> bool:
    """Whether the program makes the load's rounds itself: its answers wait for requests."""
    return facts("traffic", load["kind"])["elsewhere"].get("ns3") == "rounds"


def arguments(experiment: Mapping[str, Any], starts_ns: Sequence[int]) -> dict[str, str | int | float]:
    """The program's arguments for a resolved experiment whose flows start then. Raises Refusal."""
    from shallows import _core

    if len(experiment["traffic"]) > 1:
        raise Refusal("the program for ns-3 has one load only")
    [(name, load)] = experiment["traffic"].items()
    numbers = _core.numbers(json.dumps(experiment))

    def ns(path: str) -> int:
        return numbers[path] // 1000

    for section in ("port", "switch", "priority", "pfc", "event", "routing"):
        if experiment.get(section):
            raise Refusal(f"the program for ns-3 has no [{section}]")
    if experiment["topology"]["kind"] != "star":
        raise Refusal(f"the program for ns-3 has a star only, not a {experiment['topology']['kind']}")
    if facts("traffic", load["kind"])["closed_loop"] and not in_rounds(load):
        raise Refusal(f"the program for ns-3 has no {load['kind']}")
    of_load, of_transport = f"traffic.{name}", f"traffic.{name}.transport"
    transport = load["transport"]
    if other := facts("transport", transport["profile"])["not_tcp"]:
        raise Refusal(f"the program for ns-3 has no {other}, only TCP")
    _only(transport, mss="1448B", header="40B", timestamps=True, sack=True, nagle=False, dup_acks=3, burst=1)
    _only(transport, receive_window="none", echo="auto")
    _only(transport, ack_pieces=1, ack_repeats=0, ack_ahead="none", hide_marks=False)
    _only(transport, growth_cap="none", saved_cwnd="none")
    control = elsewhere("transport.cc", "ns3").get(transport["cc"]["kind"])
    if control is None:
        raise Refusal(f"the program for ns-3 has no {transport['cc']['kind']}")
    if experiment["nic"]["kind"] != "drop-tail":
        raise Refusal('the program for ns-3 has a FIFO in each host: write nic = "drop-tail"')
    rate, delay_ns = numbers["topology.rate"], ns("topology.delay")
    queue, held = _queue(experiment["queue"], numbers)
    bdp = rate * 4 * delay_ns / 8e9
    found: dict[str, str | int | float] = {
        "cc": control,
        "ecn": int(transport["ecn"] == "on"),
        "rate": rate,
        "sender-rate": numbers["topology.sender_rate"],
        "delay-ns": delay_ns,
        "starts": ",".join(map(str, starts_ns)),
        "warmup-ns": ns("warmup"),
        "duration-ns": ns("duration"),
        # The largest window, and as much again three times while a loss is mended.
        "buffer": max(2**20, int(4 * (bdp + held))),
        "min-rto-ns": ns(f"{of_transport}.min_rto"),
        "ack-every": transport["ack_every"],
        "ack-delay-ns": ns(f"{of_transport}.ack_delay"),
        "window": int(transport["initial_window"].removesuffix("pkt")),
        "seed": experiment["seed"],
        **queue,
    }
    if found["cc"] == "dctcp":
        found["dctcp-g"] = transport["cc"]["g"]
    if in_rounds(load):
        _only(load, connection="persistent", deadline="none", response="none")
        if load["rounds"] == "none":
            raise Refusal("the program for ns-3 needs a number of rounds")
        found |= {
            "rounds": load["rounds"],
            "request": numbers[f"{of_load}.request"],
            "response": max(numbers[f"{of_load}.total"] // load["workers"], 1),
            "first-ns": ns(f"{of_load}.start"),
            "jitter-ns": ns(f"{of_load}.jitter"),
            "gap-ns": ns(f"{of_load}.gap"),
        }
    return found


def _queue(
    settings: Mapping[str, Any], numbers: Mapping[str, int]
) -> tuple[dict[str, str | int | float], int]:
    """Arguments of the disc, and the bytes that the port may hold.

    A limit of the simulator counts the packet in service; ns-3's disc leaves out that one, and the one that
    the device holds besides.
    """
    kind = settings["kind"]
    if kind == "tc-red":
        _only(settings, shaped=True, harddrop=False, nodrop=False, adaptative=False)
        least, most, limit = (numbers[f"queue.{key}"] - PACKET_BYTES for key in ("min", "max", "limit"))
        weight = _red_weight(numbers["queue.min"], settings["burst"], numbers["queue.avpkt"])
        red = {"red-min": least, "red-max": most, "red-weight": weight}
        red |= {"red-probability": settings["probability"], "red-ecn": int(settings["ecn"])}
        return {"disc": "red", "limit": f"{limit}B", **red}, limit
    if kind not in ("drop-tail", "threshold"):
        raise Refusal(f"the program for ns-3 has no {kind}")
    _only(settings, count_in_service=True)
    limit = _packets(settings["limit"])
    held = limit * PACKET_BYTES
    if kind == "drop-tail":
        return {"disc": "fifo", "limit": f"{limit - 2}p"}, held
    # A packet that finds more than K in the port is marked, so K and more besides the packet in service.
    _only(settings, measure="before", first_exempt=False, not_ect="drop")
    least = _packets(settings["mark_at"]) - 1
    if least < 2:
        raise Refusal(
            "ns-3's RED marks nothing while fewer than two packets are in its queue (RedQueueDisc::DoEnqueue)"
        )
    return {"disc": "red", "limit": f"{limit - 2}p", "red-min": least, "red-max": least, "red-ecn": 1}, held


def _red_weight(least: int, burst: int, packet: int) -> float:
    """iproute2 `tc_red_eval_ewma`: the largest 2^-n by which a burst does not lift the average above min."""
    excess = burst + 1 - least / packet
    return next(w for n in range(1, 32) if excess <= (1 - (1 - (w := 0.5**n)) ** burst) / w)


def _only(settings: Mapping[str, Any], **same: Any) -> None:
    for key, value in same.items():
        if settings[key] != value:
            raise Refusal(f"the program for ns-3 has {key} = {value} only")


def _packets(text: str) -> int:
    if not text.endswith("pkt"):
        raise Refusal(f"the program for ns-3 has limits in packets only, not {text}")
    return int(text.removesuffix("pkt"))
