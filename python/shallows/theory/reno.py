"""TCP Reno's sawtooth on one link: utilisation by buffer, and Mathis's square-root law."""

import math

from shallows.theory.dctcp import bdp_packets
from shallows.theory.registry import closed_form, positive


@closed_form
def reno(
    rate_bps: int = 10_000_000_000,
    rtt_ps: int = 100_000_000,
    buffer_packets: int = 0,
    packet_bytes: int = 1500,
) -> dict[str, float]:
    """Utilisation of one Reno flow by the size of its buffer: 3/4 with none, full from one C RTT on.

    The window grows by one packet a round trip from W/2 to W = C RTT + B and is halved. While it is
    below C RTT a round takes RTT; above, the queue paces it. Every packet acknowledged, no slow start.

    Source: Mathis et al., CCR 27(3) 1997 (3/4); Appenzeller, Keslassy and McKeown, SIGCOMM
    2004, section 2 (full at one C RTT); between the two, integrated here over the same sawtooth
    """
    pipe = bdp_packets(rate_bps, rtt_ps, packet_bytes)
    top = pipe + buffer_packets
    sent = 3 / 8 * top * top
    slow = max(pipe - top / 2, 0.0)  # rounds that do not fill the pipe, each one RTT long
    fast_from = max(top / 2, pipe)
    could = slow * pipe + (top * top - fast_from * fast_from) / 2
    return {
        "bdp_packets": pipe,
        "window_max_packets": top,
        "utilisation": min(sent / could, 1.0),
        "period_ps": (slow + (top * top - fast_from * fast_from) / 2 / pipe) * rtt_ps,
        "queue_mean_packets": _mean_queue(pipe, top),
    }


def _mean_queue(pipe: float, top: float) -> float:
    """Time mean of w - pipe while above it; a round at window w lasts w / C."""
    low = max(top / 2, pipe)

    def integral(w: float) -> float:
        return w**3 / 3 - pipe * w * w / 2

    busy = (top * top - low * low) / 2
    slow = max(pipe - top / 2, 0.0) * pipe
    return (integral(top) - integral(low)) / (busy + slow)


@closed_form
def mathis(
    loss: float = 0.0001, rtt_ps: int = 100_000_000, mss_bytes: int = 1460, per_ack: float = 1.0
) -> dict[str, float]:
    """Goodput of Reno under rare random loss: MSS / RTT x sqrt(3 / (2 b p)).

    `rtt` includes queueing; `per_ack` is b, segments acknowledged at once. For p well below 1 / 100.

    Source: Mathis et al., CCR 27(3) 1997, eq. (3), with C = sqrt(3 / 2) per acknowledged segment
    """
    positive(loss=loss, rtt=rtt_ps, mss=mss_bytes, per_ack=per_ack)
    window = math.sqrt(3 / (2 * per_ack * loss))
    return {"window_mean_packets": window, "goodput_bps": window * mss_bytes * 8e12 / rtt_ps}
