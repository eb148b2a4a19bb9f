"""Routes of a node as words of ip, with the kernel's own choice among several equal next hops.

A switch keeps the packets of a connection on one path, by a hash of addresses, protocol and ports. It reads
them from the packet (`fib_multipath_hash_policy` 3). Policy 1 would take the hash of the sender's socket,
which stays with a packet within one machine and changes at each timeout. Each switch has a seed of its own,
drawn from the experiment's. With one for all, the flows that a switch sends one way would all go one way at
the next.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

HASHED = 0x01 | 0x02 | 0x04 | 0x10 | 0x20
"""Source and destination address, protocol, source and destination port (linux/ip_fib.h)."""

__all__ = ["Ways", "drawn", "gateway"]


def gateway(port: int) -> str:
    """Address of the far end of a port; it answers nothing, since its hardware address is known."""
    return f"10.2.{port // 250}.{port % 250 + 1}"


def drawn(seed: int, *name: str) -> int:
    """A number from 1 to 2^31 of a named stream of the experiment's seed."""
    text = "\0".join([str(seed), *name])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % 2**31 + 1


class Ways:
    """The next hops of each node towards each host. Hosts are places among the hosts.

    `routes` of `_core.plan` has the first ones, the answer of `_core.ways` all of several. `weights` of ports
    are the shares of several next hops; None is one for each.
    """

    def __init__(
        self,
        routes: Sequence[Sequence[int | None]],
        groups: Sequence[Mapping[str, Any]],
        weights: Sequence[int] | None = None,
    ):
        self._routes, self.weights = routes, weights
        self._several = {
            (group["node"], host): tuple(group["ports"]) for group in groups for host in group["hosts"]
        }
        self._choosing = {group["node"] for group in groups}

    def ports(self, node: int, host: int) -> tuple[int, ...]:
        """Ports of a node that lead to a host; none for itself and where there is no way."""
        first = self._routes[host][node]
        return self._several.get((node, host), () if first is None else (first,))

    def route(self, node: int, host: int, address: str, rules: str) -> str | None:
        """Words after `ip route`, with `rules` for what the node itself sends."""
        ports = self.ports(node, host)
        hops = [f"via {gateway(port)} dev p{port} onlink" for port in ports]
        if not hops:
            return None
        if len(hops) == 1:
            return f"add {address}/32 {hops[0]}{rules}"
        if self.weights is not None:
            hops = [f"{hop} weight {self.weights[port]}" for hop, port in zip(hops, ports, strict=True)]
        return f"add {address}/32{rules} " + " ".join(f"nexthop {hop}" for hop in hops)

    def sysctls(self, node: int, name: str, seed: int) -> Iterator[tuple[str, str]]:
        """net.ipv4 of a node that chooses among paths."""
        if node in self._choosing:
            yield "fib_multipath_hash_policy", "3"
            yield "fib_multipath_hash_fields", str(HASHED)
            yield "fib_multipath_hash_seed", str(drawn(seed, "multipath", name))
