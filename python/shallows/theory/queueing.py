"""Waits in queues with Poisson arrivals."""

from shallows.theory.registry import closed_form, positive


@closed_form
def mg1(
    load: float = 0.8, rate_bps: int = 10_000_000_000, packet_bytes: int = 1500, cv: float = 1.0
) -> dict[str, float]:
    """M/G/1: mean wait and queue for Poisson arrivals of packets of any size distribution.

    `packet` is the mean size on the wire, `cv` its coefficient of variation (0: all equal, M/D/1; 1 as
    for exponential sizes, M/M/1). Waits exclude the packet's own service, `system` includes it.

    Source: Kleinrock, Queueing Systems vol. 1 (1975), section 5.6, Pollaczek-Khinchin mean-value formula
    """
    positive(rate=rate_bps, packet=packet_bytes)
    if not 0 <= load < 1:
        raise ValueError("load must be >= 0 and < 1")
    service_ps = packet_bytes * 8e12 / rate_bps
    wait_ps = load * service_ps * (1 + cv * cv) / (2 * (1 - load))
    return {
        "service_ps": service_ps,
        "wait_mean_ps": wait_ps,
        "waiting_mean_packets": load * wait_ps / service_ps,
        "system_mean_packets": load + load * wait_ps / service_ps,
        "empty_share": 1 - load,
    }


@closed_form
def md1(load: float = 0.8, rate_bps: int = 10_000_000_000, packet_bytes: int = 1500) -> dict[str, float]:
    """M/D/1: mean wait and queue for Poisson arrivals of equal packets.

    Source: Kleinrock, Queueing Systems vol. 1 (1975), section 5.6, with no variance of service
    """
    return mg1(load, rate_bps, packet_bytes, cv=0.0)
