"""The duration of collective operations on an empty network, and the link that bounds it."""

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


@closed_form
def collective(
    ranks: int = 1024,
    size_bytes: int = 100_000_000,
    rate_bps: int = 400_000_000_000,
    hosts_per_leaf: int = 32,
    uplinks: int = 32,
    uplink_rate_bps: int = 400_000_000_000,
    delay_ps: int = 4_000_000,
    mss_bytes: int = 4096,
    header_bytes: int = 64,
) -> dict[str, float | None]:
    """Least time of collective operations on leaves and spines, by the link that bounds it.

    Each operation has three bounds, and its `least` is the greatest. `host` is the time of all bytes of a
    rank through its own link. `uplinks` is that of all bytes that leave a leaf through its uplinks, evenly
    spread. Each step takes `delay`, one way. Nothing is faster. A hash that puts two connections on one
    uplink is slower. Headers count. `block` places ranks leaf by leaf, `striped` deals them to the leaves in
    turn. An all-to-all sends as much either way. Halving and doubling is null unless ranks and leaves are
    powers of two.

    Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1) 2005, sections 4.3 to 4.5, for the bytes of each
    step; divided here by the rates of the links that they cross
    """
    positive(ranks=ranks - 1, size=size_bytes, rate=rate_bps, hosts_per_leaf=hosts_per_leaf)
    positive(uplinks=uplinks, uplink_rate=uplink_rate_bps, mss=mss_bytes)
    if size_bytes < ranks:
        raise ValueError("size must be >= ranks: each rank has a block")
    if ranks % hosts_per_leaf and ranks > hosts_per_leaf:
        raise ValueError(f"ranks must fill leaves of {hosts_per_leaf}: a leaf with fewer has another bound")
    leaves = max(1, ranks // hosts_per_leaf)
    of_leaf = ranks // leaves
    wire = (mss_bytes + header_bytes) / mss_bytes
    halvings = ranks.bit_length() - 1
    powers = ranks == 1 << halvings and leaves & (leaves - 1) == 0
    moved = 2 * (ranks - 1) / ranks * size_bytes
    all_to_all = (ranks - 1) / ranks * size_bytes

    def least(sent: float, left: float, steps: int) -> dict[str, float]:
        """Bounds of an operation in which a rank sends `sent` bytes, and `left` leave each leaf."""
        host = 8e12 * wire * sent / rate_bps
        out = 8e12 * wire * left / (uplinks * uplink_rate_bps)
        return {"host_ps": host, "uplinks_ps": out, "least_ps": max(host, out, steps * delay_ps)}

    many = leaves > 1
    # In a ring one rank of a leaf sends to another leaf; striped, all do. Partners at a distance of d ranks
    # are on one leaf if d is below the hosts of a leaf, or striped if the leaves divide d: a rank sends a
    # (d / ranks)-th there, and gets it back.
    halved = 2 * size_bytes * of_leaf
    bounds = {
        "ring_block": least(moved, moved * many, 2 * (ranks - 1)),
        "ring_striped": least(moved, moved * of_leaf * many, 2 * (ranks - 1)),
        "halving_doubling_block": least(moved, halved * (1 - 1 / leaves), 2 * halvings),
        "halving_doubling_striped": least(
            moved, 2 * size_bytes * of_leaf * (leaves - 1) / ranks, 2 * halvings
        ),
        "all_to_all": least(all_to_all, size_bytes * of_leaf * (1 - 1 / leaves), 1),
    }
    shown = {
        f"{name}_{key}": None if name.startswith("halving") and not powers else value
        for name, bound in bounds.items()
        for key, value in bound.items()
    }
    return {"leaves": leaves, "oversubscription": of_leaf * rate_bps / (uplinks * uplink_rate_bps)} | shown


@closed_form
def hierarchical(
    servers: int = 16,
    cards: int = 8,
    size_bytes: int = 100_000_000,
    rate_bps: int = 400_000_000_000,
    delay_ps: int = 2_000_000,
    scale_up_rate_bps: int = 3_600_000_000_000,
    scale_up_delay_ps: int = 500_000,
    mss_bytes: int = 4096,
    header_bytes: int = 64,
) -> dict[str, float | None]:
    """Completion time of a hierarchical all-reduce on rails, with a scale-up domain in each server.

    Each server adds up a block for each card in a ring over its scale-up domain. Cards of equal place add up
    theirs in rings between servers, and a ring in each server spreads the sums. `delay` is the one-way
    propagation over a rail's leaf, `scale_up_delay` that over the server's switch: two links each. Of the
    buffer each card sends `bytes_across` over the fabric. The time is `ideal_ps` of the table `rounds`.

    Source: Jia et al., "Highly Scalable Deep Learning Training System with Mixed-Precision", 2018,
    for the three phases; Patarasuk and Yuan, JPDC 69(2) 2009, for each ring; messages counted packet by
    packet
    """
    positive(servers=servers - 1, cards=cards - 1, size=size_bytes)
    ranks = servers * cards
    if size_bytes < ranks:
        raise ValueError("size must be >= servers x cards: each card has a block")
    each, longer = divmod(size_bytes, ranks)

    def message(blocks: int, rate: int, delay: int) -> float:
        size = blocks * each + min(blocks, longer)
        return ideal_fct(size, rate, delay, 2, mss_bytes, header_bytes)["fct_ps"]

    inside = 2 * (cards - 1) * message(servers, scale_up_rate_bps, scale_up_delay_ps)
    between = 2 * (servers - 1) * message(1, rate_bps, delay_ps)
    moved = 2 * (ranks - 1) / ranks * size_bytes
    across = 2 * (servers - 1) / servers * size_bytes / cards
    return {
        "inside_ps": inside,
        "between_ps": between,
        "fct_ps": inside + between,
        "bytes_across": across,
        "bus_bps": 8e12 * moved / (inside + between),
    }
