"""The duration of an all-reduce on an empty network, by ring and by halving and doubling."""

from shallows.theory.fct import ideal_fct
from shallows.theory.registry import closed_form, positive


@closed_form
def all_reduce(
    ranks: int = 8,
    size_bytes: int = 8_000_000,
    rate_bps: int = 10_000_000_000,
    delay_ps: int = 50_000_000,
    links: int = 2,
    mss_bytes: int = 1460,
    header_bytes: int = 40,
) -> dict[str, float | None]:
    """Completion time of an all-reduce whose steps wait for one another, no window limiting a message.

    `size` is the buffer of each rank. A ring takes 2 (n - 1) steps of an n-th of it each; halving and
    doubling 2 log2 n steps of 1/2, 1/4 ... 1/n of it and back, for n a power of two. A step costs alpha +
    beta times its bytes: alpha is the path's propagation (`delay`, one way) and the storing and forwarding of
    a packet, beta the time of a byte with its share of headers. `bus` is the bandwidth that nccl-tests calls
    so: the bytes that leave a rank over the time. The time is `ideal_ps` of the table `rounds`, where the
    ranks divide the buffer and all paths are alike.

    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1) 2005, section 4.5; Patarasuk and Yuan, JPDC 69(2)
    2009; messages counted packet by packet
    """
    positive(ranks=ranks - 1, size=size_bytes)
    if size_bytes < ranks:
        raise ValueError("size must be >= ranks: each rank has a block")
    each, longer = divmod(size_bytes, ranks)

    def step(blocks: int) -> float:
        """The longest message of so many neighbouring blocks."""
        size = blocks * each + min(blocks, longer)
        return ideal_fct(size, rate_bps, delay_ps, links, mss_bytes, header_bytes)["fct_ps"]

    moved = 2 * (ranks - 1) / ranks * size_bytes
    ring = 2 * (ranks - 1) * step(1)
    halvings = ranks.bit_length() - 1
    power = ranks == 1 << halvings
    halving = 2 * sum(step(1 << k) for k in range(halvings)) if power else None
    return {
        "bytes_of_a_rank": moved,
        "ring_steps": 2 * (ranks - 1),
        "ring_fct_ps": ring,
        "ring_bus_bps": 8e12 * moved / ring,
        "halving_doubling_steps": 2 * halvings if power else None,
        "halving_doubling_fct_ps": halving,
        "halving_doubling_bus_bps": 8e12 * moved / halving if halving else None,
    }
