"""The simulator's queue disciplines as commands of tc, if Linux has them.

Linux's count of a queue leaves out the packet that is being sent, since the shaper has taken it; the
simulator's includes it unless told otherwise. Limits and thresholds are moved by that one packet.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shallows.backends.linux.readback import Shown, microseconds, number
from shallows.document.schema import components

UNLIMITED_BYTES = 2_000_000_000
"""The size of a queue without limit: as much as a qdisc's 32-bit count of bytes safely holds."""

__all__ = ["KINDS", "Meter", "Qdisc", "Refusal", "paced", "packets_as_bytes", "polices", "qdisc"]


class Refusal(Exception):
    """Linux cannot do this: each a key of the discipline, and the rule."""

    def __init__(self, *faults: tuple[str, str], needed: Mapping[str, Any] | None = None):
        super().__init__("; ".join(f"{key} {rule}" for key, rule in faults))
        self.faults = faults
        self.needed = needed or {}
        """The kernel's own values of settings, by which a file says what the kernel does anyway."""


@dataclass(frozen=True)
class Meter:
    """A bucket of `tc police`: the excess is dropped, the rest goes on."""

    rate_bps: int
    burst: int  # bytes

    @property
    def words(self) -> str:
        """The words for tc. The next filter looks at what has passed."""
        # tc's own limit of packets is 2047 bytes.
        return f"police rate {self.rate_bps}bit burst {self.burst} mtu 65535 conform-exceed drop/continue"

    @property
    def burst_ns(self) -> int:
        """The depth of the bucket as a time, as the kernel has it."""
        return self.burst * 8_000_000_000 // self.rate_bps


LONGEST_BURST_NS = 250_000_000_000
"""The kernel keeps a bucket's depth in 32 bits of 64 ns."""


@dataclass(frozen=True)
class Qdisc:
    """Words of `tc qdisc add ... KIND OPTIONS`, or what the guest sets over netlink; and what tc reports
    then.

    `shows` has options of `tc -j -d qdisc show` with the values that the settings ask for (`readback`). It
    does not come
    from the words, so that it finds a setting that they leave out.
    """

    kind: str
    words: str = ""
    step: tuple[int, int, int] | None = None  # limit in bytes, threshold in bytes, flags
    attributes: tuple[tuple[int, int, int], ...] = ()  # number, bits, value
    adaptive: bool = False  # RED's timer is to be started
    meters: tuple[Meter, ...] = ()  # that packets pass before they come to it
    shows: Mapping[str, Shown] = field(default_factory=dict)


def qdisc(settings: dict[str, Any], frame_bytes: int) -> Qdisc:
    """The qdisc of a discipline's resolved settings, for packets of `frame_bytes`. Raises Refusal."""
    kind = settings["kind"]
    if kind not in KINDS:
        raise Refusal(("kind", f"is not a discipline of the Linux backend, which has {', '.join(KINDS)}"))
    return KINDS[kind](_Settings(settings), frame_bytes)


def polices(settings: Mapping[str, Any]) -> bool:
    """Whether a discipline is a policer, which is a filter in the kernel."""
    return settings["kind"] == "policer"


def packets_as_bytes(settings: Mapping[str, Any]) -> list[str]:
    """Settings in packets of a discipline that counts bytes on Linux, where a packet is a full one."""
    keys = BYTES.get(settings["kind"], ())
    return [key for key in keys if str(settings[key]).endswith("pkt")]


class _Settings(dict[str, Any]):
    """A discipline's resolved settings. `numbers` has their times in ps, rates in bit/s, sizes in bytes."""

    def __init__(self, settings: dict[str, Any]):
        from shallows import _core

        super().__init__(settings)
        found = _core.numbers(json.dumps({"queue": settings}))
        self.numbers = {path.removeprefix("queue."): number for path, number in found.items()}


def _amount(settings: _Settings, key: str) -> tuple[str, int]:
    """`65pkt` as ("packets", 65), an amount of data as ("bytes", n)."""
    if key in settings.numbers:
        return "bytes", settings.numbers[key]
    return "packets", int(settings[key].removesuffix("pkt"))


def _span_us(settings: _Settings, key: str) -> str:
    span = settings.numbers[key]
    if span % 1_000_000:
        raise Refusal((key, "must be a whole number of microseconds, as tc takes it"))
    return f"{span // 1_000_000}us"


def _limit_packets(settings: _Settings) -> int:
    if settings["limit"] == "none":
        return UNLIMITED_BYTES // 2000
    unit, limit = _amount(settings, "limit")
    if unit != "packets":
        raise Refusal(("limit", f"must be in packets, as Linux's {settings['kind']} counts them"))
    return max(limit - int(settings.get("count_in_service", False)), 1)


def _limit_bytes(settings: _Settings, frame: int) -> int:
    if settings["limit"] == "none":
        return UNLIMITED_BYTES
    unit, limit = _amount(settings, "limit")
    limit = limit * frame if unit == "packets" else limit
    return limit - frame * int(settings["count_in_service"])


def _drop_tail(settings: _Settings, frame: int) -> Qdisc:
    if settings["limit"] != "none" and _amount(settings, "limit")[0] == "packets":
        limit = _limit_packets(settings)
        return Qdisc("pfifo", f"pfifo limit {limit}", shows={"limit": number(limit)})
    if settings["measure"] == "before" and settings["limit"] != "none":
        raise Refusal(("measure", 'must be "after": Linux\'s bfifo counts the arriving packet'))
    limit = _limit_bytes(settings, frame)
    return Qdisc("bfifo", f"bfifo limit {limit}", shows={"limit": number(limit)})


# Flags of RED, linux/pkt_sched.h.
_RED_ECN, _RED_NODROP = 1, 8
_RED_FLAGS = {"ecn": "ecn", "harddrop": "harddrop", "nodrop": "nodrop", "adaptative": "adaptive"}
"""By the word for tc: the name that it reports."""


def _threshold(settings: _Settings, frame: int) -> Qdisc:
    if settings["first_exempt"]:
        raise Refusal(("first_exempt", "must be false: Linux's RED marks the first packet too"))
    if settings["measure"] != "before":
        raise Refusal(("measure", 'must be "before": Linux\'s RED looks at the queue that the packet finds'))
    unit, mark_at = _amount(settings, "mark_at")
    in_service = int(settings["count_in_service"])
    # A packet that finds more than K is marked; RED marks at its threshold and above.
    least = (mark_at + 1 - in_service) * frame if unit == "packets" else mark_at + 1 - in_service * frame
    if least <= 0:
        raise Refusal(("mark_at", "must be above the packet in service, which Linux's RED does not see"))
    spares = settings["not_ect"] == "pass"
    limit = _limit_bytes(settings, frame)
    shows = {
        "limit": number(limit),
        "min": number(least),
        "max": number(least),
        "ewma": number(0),
        "ecn": True,
        "nodrop": spares,
        "harddrop": False,
        "adaptive": False,
    }
    flags = _RED_ECN | (_RED_NODROP if spares else 0)
    return Qdisc("red", step=(limit, least, flags), shows=shows)


def _tc_red(settings: _Settings, _frame: int) -> Qdisc:
    if not settings["shaped"]:
        rule = "must be true: the token bucket of each port never asks an empty RED for a packet"
        raise Refusal(("shaped", rule))
    words = ["red", "limit", str(_amount(settings, "limit")[1])]
    for key in ("min", "max"):
        if settings[key] != "none":
            words += [key, str(_amount(settings, key)[1])]
    words += ["avpkt", str(_amount(settings, "avpkt")[1])]
    if settings["burst"] != "none":
        words += ["burst", str(settings["burst"])]
    words += ["probability", repr(settings["probability"])]
    words += ["bandwidth", f"{settings.numbers['bandwidth']}bit"]
    words += [key for key in _RED_FLAGS if settings[key]]
    least, most = _red_thresholds(settings)
    average = _amount(settings, "avpkt")[1]
    burst = (2 * least + most) // (3 * average) if settings["burst"] == "none" else settings["burst"]
    ewma = red_weight(least, burst, average)
    if ewma is None:
        raise Refusal(("burst", "must be larger: tc finds no weight for it (tc_red_eval_ewma)"))
    cells = red_cells(ewma, average, settings.numbers["bandwidth"])
    shows = {
        "limit": number(_amount(settings, "limit")[1]),
        "min": number(least),
        "max": number(most),
        "ewma": number(ewma),
        "Scell_log": number(cells),
        "probability": number(settings["probability"], within=1e-6),
        **{shown: bool(settings[key]) for key, shown in _RED_FLAGS.items()},
    }
    return Qdisc("red", " ".join(words), adaptive=settings["adaptative"], shows=shows)


def _red_thresholds(settings: _Settings) -> tuple[int, int]:
    """`min` and `max` in bytes, as tc completes them (iproute2, red_parse_opt)."""
    given = {key: _amount(settings, key)[1] for key in ("min", "max") if settings[key] != "none"}
    most = given.get("max", 3 * given["min"] if "min" in given else _amount(settings, "limit")[1] // 4)
    return given.get("min", most // 3), most


def red_weight(least: int, burst: int, average: int) -> int | None:
    """The binary logarithm of 1 / W by which tc averages a queue (iproute2, tc_red_eval_ewma), or None.

    That is the largest weight with which a burst of so many packets stays below `least` bytes (Floyd and
    Jacobson 1993 s.6.2).
    """
    room = burst + 1 - least / average
    if room < 1:
        return None
    weights = ((log, 0.5**log) for log in range(1, 32))
    return next((log for log, weight in weights if room <= (1 - (1 - weight) ** burst) / weight), None)


def red_cells(ewma: int, average: int, bandwidth_bps: int) -> int:
    """The binary logarithm of the cells of RED's table of idle times (iproute2, tc_red_eval_idle_damping), in
    ticks.
    """
    whole_us = average * 8_000_000 // bandwidth_bps
    ticks = int(whole_us * 15.625)  # of 64 ns each (/proc/net/psched)
    longest = 31 * ticks / -math.log(1 - 0.5**ewma)
    return next((log for log in range(32) if longest / (1 << log) < 512), 0)


def _require(settings: _Settings, own: dict[str, Any], whose: str) -> None:
    """Raises Refusal for all of `settings` that the kernel decides itself and decides otherwise."""
    faults = [(key, f"must be {value!r}: {whose}") for key, value in own.items() if settings[key] != value]
    if faults:
        raise Refusal(*faults, needed=own)


def _codel_words(settings: _Settings) -> tuple[list[str], dict[str, Shown]]:
    _require(settings, {"root": "newton"}, "Linux takes one Newton step on 16 bits")
    _require(settings, {"max_packet": "1500B"}, "Linux takes the largest packet of the device")
    words = [f"limit {_limit_packets(settings)}"]
    words += [f"{key} {_span_us(settings, key)}" for key in ("target", "interval")]
    if settings["ce_threshold"] != "none":
        words.append(f"ce_threshold {_span_us(settings, 'ce_threshold')}")
    spans = [key for key in ("target", "interval", "ce_threshold") if key in settings.numbers]
    shows: dict[str, Shown] = {
        "limit": number(_limit_packets(settings)),
        **{key: microseconds(settings.numbers[key]) for key in spans},
        "ecn": bool(settings["ecn"]),
    }
    if settings["ce_threshold"] == "none":
        shows["ce_threshold"] = None
    return [*words, "ecn" if settings["ecn"] else "noecn"], shows


def _codel(settings: _Settings, _frame: int) -> Qdisc:
    words, shows = _codel_words(settings)
    return Qdisc("codel", " ".join(["codel", *words]), shows=shows)


def _fq_codel(settings: _Settings, _frame: int) -> Qdisc:
    _require(settings, {"left_in": "all"}, "Linux's fq_codel_dequeue asks the whole discipline")
    own = {"flows": settings["flows"], "quantum": _amount(settings, "quantum")[1]}
    own["drop_batch"] = settings["drop_batch"]
    words, shows = _codel_words(settings)
    words += [f"{name} {value}" for name, value in own.items()]
    shows |= {name: number(value) for name, value in own.items()}
    return Qdisc("fq_codel", " ".join(["fq_codel", *words]), shows=shows)


def _fq(settings: _Settings, _frame: int) -> Qdisc:
    _require(settings, {"fast_path": 8}, "Linux's fq_fastpath_check does this")
    limit = _limit_packets(settings)
    own = {
        "limit": limit,
        "flow_limit": limit if settings["flow_limit"] == "none" else settings["flow_limit"],
    }
    own |= {key: _amount(settings, key)[1] for key in ("quantum", "initial_quantum")}
    words = [f"{name} {value}" for name, value in own.items()]
    words.append(f"refill_delay {_span_us(settings, 'refill_delay')}")
    shows: dict[str, Shown] = {name: number(value) for name, value in own.items()}
    shows |= {"refill_delay": microseconds(settings.numbers["refill_delay"]), "pacing": False}
    # A sender paces itself, where its control does.
    return Qdisc("fq", " ".join(["fq", *words, "nopacing"]), shows=shows)


def paced(fq: Qdisc) -> Qdisc:
    """An fq that paces, as `linux.pacing` asks; another discipline as it is."""
    if fq.kind != "fq":
        return fq
    words = fq.words.removesuffix("nopacing") + "pacing"
    return replace(fq, words=words, shows={**fq.shows, "pacing": True})


PIE = {
    "max_burst": "150ms",
    "mean_packet": "1500B",
    "mark_ecnth": 0.1,
    "latency": "timestamps",
    "active_from": "none",
    "derandomise": True,
    "cap_adjustment": True,
}
"""The habits of PIE in Linux 5.0 and later, which tc cannot change (sch_pie.c)."""


def _pie(settings: _Settings, _frame: int) -> Qdisc:
    _require(settings, PIE, "Linux's PIE does this")
    # tc takes alpha and beta as sixteenths (RFC 8033 in Hz times 16), whole.
    gains = []
    for key in ("alpha", "beta"):
        sixteenths = settings[key] * 16
        if sixteenths != int(sixteenths):
            raise Refusal((key, "must be a multiple of 1/16, as tc takes it"))
        gains.append(f"{key} {int(sixteenths)}")
    spans = [
        f"target {_span_us(settings, 'target')}",
        f"tupdate {_span_us(settings, 'interval')}",
    ]
    limit = _limit_packets(settings)
    shows: dict[str, Shown] = {
        "limit": number(limit),
        "target": microseconds(settings.numbers["target"]),
        "tupdate": microseconds(settings.numbers["interval"]),
        **{key: number(settings[key] * 16) for key in ("alpha", "beta")},
        "ecn": True,
        "bytemode": False,
    }
    return Qdisc("pie", " ".join(["pie", f"limit {limit}", *spans, *gains, "ecn"]), shows=shows)


# Attributes of sch_dualpi2, linux/pkt_sched.h: limit (packets), target and period (us), gains (Hz x 256),
# step (packets or us), least length for the step, coupling, action in overload and its limit, the classic
# queue's per cent, rule for low latency.
_LIMIT, _TARGET, _TUPDATE, _ALPHA, _BETA, _STEP_PACKETS, _STEP_US = 1, 3, 4, 5, 6, 7, 8
_LEAST_LENGTH, _COUPLING, _OVERLOAD, _EARLY, _CLASSIC_PERCENT, _ECN_MASK = 9, 10, 11, 12, 13, 14


def _dualpi2(settings: _Settings, frame: int) -> Qdisc:
    faults = []

    def must(key: str, holds: bool, rule: str) -> None:
        if not holds:
            faults.append((key, rule))

    def whole_us(key: str) -> int:
        try:
            return int(_span_us(settings, key).removesuffix("us"))
        except Refusal as refusal:
            faults.extend(refusal.faults)
            return 0

    def scaled(key: str) -> int:
        value = round(settings[key] * 256)
        must(
            key,
            abs(value - settings[key] * 256) <= 0.01 * value,
            "must be a multiple of 1/256 within 1 %, as the kernel takes it",
        )
        return value

    percent = settings["classic_weight"] * 100
    idle_bytes = 2 * (
        frame + 14
    )  # Linux must_drop: of frames with their Ethernet header, in bytes without it
    must("ramp", settings["ramp"] in ("0s", "0ps"), "must be 0s: Linux's DualPI2 has a step")
    must(
        "min_length",
        settings["min_length"] == 0,
        "must be 0: Linux looks at the length as the packet arrives, not as it leaves",
    )
    must(
        "min_backlog",
        _amount(settings, "min_backlog")[1] == idle_bytes,
        f'must be "{idle_bytes}B", as in Linux',
    )
    must("scheduler", settings["scheduler"] == "wrr", 'must be "wrr", which Linux has')
    must(
        "draw",
        settings["draw"] == "random",
        'must be "random": Linux draws each mark and drop (dualpi2_roll), the RFC spaces them evenly',
    )
    must("k", settings["k"] == int(settings["k"]), "must be whole, as the kernel takes it")
    must(
        "classic_weight", abs(percent - round(percent)) < 1e-9, "must be a whole per cent; Linux's own is 0.1"
    )
    must(
        "limit",
        settings["limit"] == "none" or _amount(settings, "limit")[0] == "packets",
        "must be in packets",
    )
    packets = settings["threshold_packets"]
    step = (_STEP_US, 32, whole_us("threshold")) if packets == "none" else (_STEP_PACKETS, 32, packets)
    found = [
        (_TARGET, 32, whole_us("target")),
        (_TUPDATE, 32, whole_us("interval")),
        (_ALPHA, 32, scaled("alpha")),
        (_BETA, 32, scaled("beta")),
        step,
        (_LEAST_LENGTH, 32, 0),
        (_COUPLING, 8, int(settings["k"])),
        (_OVERLOAD, 8, int(settings["overload"] == "drop")),
        (_EARLY, 8, 0),
        (_CLASSIC_PERCENT, 8, round(percent)),
        (_ECN_MASK, 8, 1 if settings["classify"] == "ect1" else 3),
    ]
    if faults:
        raise Refusal(*faults)
    return Qdisc("dualpi2", attributes=((_LIMIT, 32, _limit_packets(settings)), *found))


def _policer(settings: _Settings, frame: int) -> Qdisc:
    """Buckets of act_police before a FIFO.

    - The buckets of RFC 2697 (srtcm), if yellow passes, let as much through as one bucket of both depths, but
      for a packet; if yellow is dropped, as the committed one alone.
    - Of RFC 2698 (trtcm), if yellow passes, the peak's bucket decides alone. If it is dropped, a packet takes
      from the peak's bucket first, and then needs the committed one.
    """
    marks = [key for key in ("red", "yellow") if settings[key] == "mark"]
    if marks:
        raise Refusal(*((key, "cannot mark on Linux: its act_police drops or passes") for key in marks))
    numbers, passes = settings.numbers, settings["yellow"] == "pass"
    committed = Meter(numbers["rate"], numbers["burst"])
    if settings["meter"] == "trtcm":
        peak = Meter(numbers["peak_rate"], numbers["peak_burst"])
        meters: tuple[Meter, ...] = (peak,) if passes else (peak, committed)
    elif settings["meter"] == "srtcm" and passes:
        meters = (replace(committed, burst=committed.burst + numbers["excess_burst"]),)
    else:
        meters = (committed,)
    if max(meter.burst_ns for meter in meters) > LONGEST_BURST_NS:
        raise Refusal(("burst", "must last at most 250s at its rate on Linux"))
    usual = {param["name"]: param["default"] for param in components("queue")["drop-tail"]["params"]}
    tail = _drop_tail(_Settings({**usual, "kind": "drop-tail", "limit": settings["limit"]}), frame)
    return replace(tail, meters=meters)


BYTES = {"threshold": ("mark_at", "limit")}
"""Settings that the kernel has in bytes, by the simulator's name of the discipline."""

KINDS: dict[str, Callable[[_Settings, int], Qdisc]] = {
    "drop-tail": _drop_tail,
    "threshold": _threshold,
    "tc-red": _tc_red,
    "codel": _codel,
    "fq": _fq,
    "fq-codel": _fq_codel,
    "pie": _pie,
    "dualpi2": _dualpi2,
    "policer": _policer,
}
"""By the simulator's name."""
