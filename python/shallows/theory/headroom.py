"""Headroom of a lossless priority, and the thresholds that fit a switch's memory."""

import math

from shallows.theory.registry import closed_form, positive

__all__ = ["headroom", "standard_response"]

FRAME_BYTES = 84
"""A pause frame with preamble and gap (IEEE 802.3-2018 annex 31D)."""

QUANTUM_BITS = 512

LIMITS = ((10, 60), (25, 80), (40, 118), (100, 394), (400, 905))
"""Longest response to a pause frame: Gb/s, quanta (IEEE 802.3-2018 s.31B.3.7)."""


def standard_response(rate_bps: float) -> float:
    """The longest response in ps that the standard allows.

    A rate between two of the standard's rates has the quanta of the faster one.
    """
    gbps, quanta = next(
        (limit for limit in LIMITS if rate_bps <= limit[0] * 1_000_000_000),
        LIMITS[-1],
    )
    return quanta * QUANTUM_BITS * 1e12 / min(rate_bps, gbps * 1e9)


@closed_form
def headroom(
    rate_bps: int = 100_000_000_000,
    delay_ps: int = 1_000_000,
    cable: float = 0.0,
    mtu_bytes: int = 1500,
    response_ps: int = 0,
    ports: int = 32,
    priorities: int = 1,
    buffer_bytes: int = 32_000_000,
    alpha: float = 0.125,
    lossy: int = 1,
    reserve_bytes: int = 4096,
) -> dict[str, float | None]:
    """Bytes that still come after XOFF, the headroom without loss, and what it leaves of a switch's memory.

    `delay` is one way, or `cable` in metres at 5 ns each, or both. `mtu` is a largest frame as the wire
    carries it. `response` is the time that the neighbour takes to obey; `standard_headroom` takes the
    longest that the standard allows. After the decision come: a round trip of bytes, those of the response,
    a frame under way at the switch, the pause frame, and a frame that the neighbour has just begun.

    A switch has the standard's headroom and a frame for each of `ports` with this link and for each lossless
    priority, and `reserve` for each of `lossy` priorities, such as that of acknowledgements. `shared` is
    the rest. `xoff_one` is the threshold while one neighbour is over it, `xoff_all` while all but the
    receiver's are. `mark_below` is the largest threshold of ECN at each port that marks
    before any pause: packets of one neighbour may stand in every queue.

    Source: IEEE 802.1Qbb-2011 annex O; IEEE 802.3-2018 s.31B.3.7; thresholds: Choudhury and Hahne 1998; marks
    before pauses: Zhu et al., DCQCN, SIGCOMM 2015, section 4
    """
    positive(rate=rate_bps, mtu=mtu_bytes, ports=ports, priorities=priorities)
    delay = delay_ps + 5000 * cable
    round_trip = 2 * delay * rate_bps / 8e12
    frames = 2 * mtu_bytes + FRAME_BYTES
    least = math.floor(round_trip + response_ps * rate_bps / 8e12) + frames
    standard = standard_response(rate_bps)
    full = math.floor(round_trip + standard * rate_bps / 8e12) + frames
    reserved = ports * (priorities * (full + mtu_bytes) + max(lossy, 0) * max(reserve_bytes, 0))
    shared = max(buffer_bytes - reserved, 0)
    return {
        "round_trip_bytes": round_trip,
        "response_bytes": response_ps * rate_bps / 8e12,
        "frames_bytes": frames,
        "headroom_bytes": least,
        "standard_response_ps": standard,
        "standard_headroom_bytes": full,
        "reserved_bytes": reserved,
        "shared_bytes": shared,
        "xoff_one_bytes": alpha * shared / (1 + alpha),
        "xoff_all_bytes": alpha * shared / (1 + alpha * (ports - 1)),
        "mark_below_bytes": alpha * shared / (ports * (1 + alpha)),
        "longest_pause_ps": 65535 * QUANTUM_BITS * 1e12 / rate_bps,
    }
