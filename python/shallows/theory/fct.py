"""The duration of a transfer on an empty network: in a stream, and from slow start."""

from shallows.theory.registry import closed_form, positive


def _wire(size_bytes: int, mss_bytes: int, header_bytes: int) -> tuple[int, int, int]:
    """Packets, bytes on the wire of all, and of the last."""
    positive(size=size_bytes, mss=mss_bytes)
    packets = -(-size_bytes // mss_bytes)
    last = size_bytes - (packets - 1) * mss_bytes
    return packets, size_bytes + packets * header_bytes, last + header_bytes


@closed_form
def ideal_fct(
    size_bytes: int = 512_000,
    rate_bps: int = 10_000_000_000,
    delay_ps: int = 50_000_000,
    links: int = 2,
    mss_bytes: int = 1460,
    header_bytes: int = 40,
) -> dict[str, float]:
    """Completion time of a message streamed alone, no window limiting it: the base of a slowdown.

    All `links` have the same rate; `delay` is the one-way propagation of the whole path. From the first
    bit sent to the last received: propagation, the message once at the rate, and a full packet's time
    at each further link, for a smaller last packet waits there behind the full one before it.

    Source: the usual base of a slowdown (as in Montazeri et al., Homa, SIGCOMM 2018); store and
    forward counted packet by packet
    """
    positive(rate=rate_bps, links=links)
    packets, wire, last = _wire(size_bytes, mss_bytes, header_bytes)
    full = mss_bytes + header_bytes if packets > 1 else last
    fct_ps = delay_ps + (wire + (links - 1) * full) * 8e12 / rate_bps
    return {
        "packets": packets,
        "wire_bytes": wire,
        "fct_ps": fct_ps,
        "goodput_bps": size_bytes * 8e12 / fct_ps,
    }


@closed_form
def slow_start(
    size_bytes: int = 512_000,
    rate_bps: int = 10_000_000_000,
    delay_ps: int = 50_000_000,
    links: int = 2,
    initial_packets: int = 10,
    mss_bytes: int = 1460,
    header_bytes: int = 40,
    ack_bytes: int = 40,
) -> dict[str, float]:
    """Completion time from an initial window that doubles each round trip.

    No loss, every segment acknowledged, no other limit on the window. Rounds start one round trip
    apart until a window fills the pipe; from then on the sender never stops. Each ACK releases two
    packets, which the first link spaces again. `delay` is one-way propagation.

    Source: RFC 5681 section 3.1 (the growth), as modelled by Cardwell, Savage and Anderson, INFOCOM
    2000; here the time of each packet is followed exactly
    """
    positive(rate=rate_bps, links=links, initial=initial_packets)
    packets, _, last = _wire(size_bytes, mss_bytes, header_bytes)
    per_byte_ps = 8e12 / rate_bps
    packet_ps = (mss_bytes + header_bytes) * per_byte_ps
    rtt_ps = 2 * delay_ps + links * (packet_ps + ack_bytes * per_byte_ps)
    window, before, began_ps, rounds = initial_packets, 0, 0.0, 1
    while before + window < packets:
        before += window
        began_ps += max(rtt_ps, window * packet_ps)
        window *= 2
        rounds += 1
    place = packets - before  # of the last packet in its round
    full_ps = packet_ps if place > 1 else last * per_byte_ps  # bytes before it at each further link
    last_ps = last * per_byte_ps + (links - 1) * full_ps
    fct_ps = began_ps + (place - 1) * packet_ps + delay_ps + last_ps
    return {"rtt_ps": rtt_ps, "rounds": rounds, "fct_ps": fct_ps, "goodput_bps": size_bytes * 8e12 / fct_ps}
