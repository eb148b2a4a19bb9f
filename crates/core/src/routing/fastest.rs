//! Ideal times in a network whose links fail: a bound that no forwarding can beat.
//!
//! While tables change, packets of a message may take any way, also different ones. Two things hold for all of them: the
//! links of the two hosts have to carry the whole message, and no packet is faster than on the fastest way that there is.
//! So the last packet to leave the sender has left when its links have sent all, and then has the fastest way to go. And
//! the receiver's link has to carry all full packets after the first of them can have come. The larger of the two is the
//! ideal. Where the links between switches are no slower than those of hosts, it is the time over the fastest way, as in
//! a network without failures.
//!
//! The fastest way depends on the size of the packet, but hardly ever: a way that is fastest for an empty packet and for a
//! full one is fastest for all between. Otherwise the time of a packet between is taken in proportion, which is never too
//! long, since the least of straight lines is concave.
//!
//! All cells read one set of tables, and the first that needs one makes it. A table follows from the network alone, so it does
//! not matter which cell was first.

use super::graph::NodeId;
use super::ideal::{Burst, Wire};
use super::table::Routing;
use shallows_units::{Bytes, Index, Rate, Span};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// Delays of a way, and its time for a full packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    full: Span,
    delays: Span,
}

/// The way from a switch.
#[derive(Debug, Clone, Copy)]
struct Best {
    /// For a full packet; of several the one with the least delays.
    way: Way,
    /// The least delays of all ways: its time for an empty packet.
    least: Span,
    /// By which it goes; none at the end.
    link: Index,
}

/// By switch: the fastest way to a node for full packets of one size; empty until it is first asked for.
type Table = Arc<OnceLock<Vec<Option<Best>>>>;

/// The fastest ways to hosts and their switches.
#[derive(Debug)]
pub struct Fastest {
    /// By node that is gone to and size of a full packet.
    known: RwLock<BTreeMap<(u32, u64), Table>>,
    /// By node: its number among the switches.
    numbers: Vec<Index>,
}

/// The fastest ways to `root`, and the link from there to a host, if that is not the root.
struct Ways<'a, W> {
    routing: &'a Routing,
    best: &'a [Option<Best>],
    numbers: &'a [Index],
    root: NodeId,
    last: Option<u32>,
    full: Bytes,
    wire: W,
}

impl<W: Fn(u32) -> Wire> Ways<'_, W> {
    fn best(&self, node: NodeId) -> Option<Best> {
        self.best.get(self.numbers[node.index()].at()).copied().flatten()
    }

    /// Time of a packet of `size` bytes from `node`, where it is whole, to the root.
    fn to_root(&self, node: NodeId, size: Bytes) -> Span {
        let Some(first) = self.best(node) else { return Span::ZERO };
        if first.way.delays > first.least {
            let (low, high) = (first.least.as_ps(), first.way.full.as_ps());
            let part = u128::from(high.saturating_sub(low)) * u128::from(size.as_u64());
            return Span::ps(low + (part / u128::from(self.full.as_u64().max(1))) as u64);
        }
        let (mut node, mut time) = (node, Span::ZERO);
        while node != self.root {
            let Some(link) = self.best(node).and_then(|best| best.link.get()) else { break };
            let (rate, delay) = (self.wire)(link);
            time = time + rate.transmit(size) + delay;
            node = self.routing.end(link);
        }
        time
    }

    /// Time from `node` to the host, over its link too.
    fn to_host(&self, node: NodeId, size: Bytes) -> Span {
        let last = self.last.map(|link| (self.wire)(link));
        self.to_root(node, size) + last.map_or(Span::ZERO, |(rate, delay)| rate.transmit(size) + delay)
    }
}

impl Fastest {
    /// Bytes of a table for each switch.
    pub const BYTES_A_SWITCH: u64 = size_of::<Option<Best>>() as u64;

    /// Nothing known yet.
    pub fn new(routing: &Routing) -> Self {
        let mut switches = 0..;
        let number = |node| {
            let number = if routing.forwards(NodeId(node)) { switches.next() } else { None };
            Index::from(number)
        };
        Fastest { known: RwLock::default(), numbers: (0..routing.nodes() as u32).map(number).collect() }
    }

    /// The node whose table leads to `host`, and the link from there to the host: hosts of one switch share a table.
    pub fn root(routing: &Routing, host: NodeId) -> (NodeId, Option<u32>) {
        match *routing.links_into(host) {
            [link] if routing.forwards(routing.start(link)) => (routing.start(link), Some(link)),
            _ => (host, None),
        }
    }

    fn table(&self, key: (u32, u64)) -> Table {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.entry(key).or_default().clone()
        })
    }

    /// No forwarding delivers `burst` from one host to another in less time; `wire` gives each link's best rate and delay.
    pub fn time(
        &self,
        routing: &Routing,
        (from, to): (NodeId, NodeId),
        burst: Burst,
        wire: impl Fn(u32) -> Wire,
    ) -> Span {
        let Burst { packets, first, full, last } = burst;
        let (root, link) = Self::root(routing, to);
        let table = self.table((root.0, first.as_u64()));
        let best = table.get_or_init(|| search(routing, root, first, &wire));
        let ways = Ways { routing, best, numbers: &self.numbers, root, last: link, full: first, wire: &wire };
        let own = routing.links_of(from);
        let goes_on = |link: &u32| {
            let end = routing.end(*link);
            wire(*link).1 + if end == to { Span::ZERO } else { ways.to_host(end, last) }
        };
        let by_sender = work(own, burst, &wire) + own.iter().map(goes_on).min().unwrap_or_default();
        let (Some(link), 1..) = (link, packets) else { return by_sender };
        let (rate, delay) = wire(link);
        // From the sender to the switch of the receiver.
        let comes = |size: Bytes| {
            let way = |link: &u32| {
                let (rate, delay) = wire(*link);
                rate.transmit(size) + delay + ways.to_root(routing.end(*link), size)
            };
            own.iter().map(way).min().unwrap_or_default()
        };
        // The first of them to come is the first, unless another overtakes it, from one link no sooner than it has gone.
        let mut first_comes = comes(full);
        if own.len() == 1 {
            first_comes =
                comes(first).min(first_comes + work(own, Burst { packets: 1, ..burst.fulls(0) }, &wire));
        }
        // In order behind the others, and so behind the first of them; from several links it may overtake that.
        let waits = own.len() == 1 && work(own, burst.fulls(0), &wire) + comes(last) >= first_comes;
        let behind = if waits { rate.transmit(last) } else { Span::ZERO };
        let all = rate.transmit(first) + rate.transmit(full) * (packets - 1);
        by_sender.max(first_comes + all + behind + delay)
    }
}

/// How long `links` together take for a burst.
fn work(links: &[u32], burst: Burst, wire: impl Fn(u32) -> Wire) -> Span {
    match links {
        [link] => {
            let (rate, Burst { packets, first, full, last }) = (wire(*link).0, burst);
            let fulls = if packets > 0 {
                rate.transmit(first) + rate.transmit(full) * (packets - 1)
            } else {
                Span::ZERO
            };
            fulls + rate.transmit(last)
        }
        _ => {
            let together = links.iter().map(|link| wire(*link).0.as_bps()).fold(0, u64::saturating_add);
            Rate::bps(together.max(1)).transmit(burst.bytes())
        }
    }
}

/// The fastest ways of all switches to `to` (Dijkstra 1959, against the links). Hosts never forward.
fn search(routing: &Routing, to: NodeId, full: Bytes, wire: impl Fn(u32) -> Wire) -> Vec<Option<Best>> {
    let none = Way { full: Span::ZERO, delays: Span::ZERO };
    let by_full = run(routing, to, |link| {
        let (rate, delay) = wire(link);
        Way { full: rate.transmit(full) + delay, delays: delay }
    });
    let by_delay = run(routing, to, |link| Way { full: wire(link).1, delays: Span::ZERO });
    let both = by_full.into_iter().zip(by_delay).zip(0..);
    let switches = both.filter(|(_, node)| routing.forwards(NodeId(*node)));
    switches
        .map(|((full, delay), _)| {
            let ((way, link), (least, _)) = (full?, delay.unwrap_or((none, Index::NONE)));
            Some(Best { way, least: least.full, link })
        })
        .collect()
}

/// By node the least sum of `cost` on the way to `to`, and the first link of it.
fn run(routing: &Routing, to: NodeId, cost: impl Fn(u32) -> Way) -> Vec<Option<(Way, Index)>> {
    let mut best: Vec<Option<(Way, Index)>> = vec![None; routing.nodes()];
    let start = Way { full: Span::ZERO, delays: Span::ZERO };
    best[to.index()] = Some((start, Index::NONE));
    let mut open = BinaryHeap::from([Reverse((start, to))]);
    while let Some(Reverse((so_far, node))) = open.pop() {
        if best[node.index()].is_some_and(|(known, _)| known < so_far) {
            continue;
        }
        for link in routing.links_into(node) {
            let before = routing.start(*link);
            let more = cost(*link);
            let way = Way { full: so_far.full + more.full, delays: so_far.delays + more.delays };
            if best[before.index()].is_none_or(|(known, _)| way < known) {
                best[before.index()] = Some((way, Index::new(*link)));
                if routing.forwards(before) {
                    open.push(Reverse((way, before)));
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::graph::Graph;
    use super::super::ideal::passage;
    use super::*;

    const DELAY: Span = Span::us(5);

    /// Two hosts behind switches that are joined directly, by a wire of the given rate and delay, and through a third
    /// switch at 10 Gb/s.
    fn network(rate: Rate, delay: Span) -> (Graph, Routing) {
        let mut graph = Graph::default();
        let (a, b) = (graph.host("a"), graph.host("b"));
        let [left, right, over] = ["left", "right", "over"].map(|name| graph.switch(name));
        for (one, other) in [(a, left), (left, over), (over, right), (right, b)] {
            graph.link(one, other, Rate::gbps(10), DELAY);
        }
        graph.link(left, right, rate, delay);
        let routing = Routing::new(&graph, 1);
        (graph, routing)
    }

    fn time(network: &(Graph, Routing), burst: Burst) -> Span {
        let (graph, routing) = network;
        let wire = |link: u32| (graph.links[link as usize].rate, graph.links[link as usize].delay);
        Fastest::new(routing).time(routing, (NodeId(0), NodeId(1)), burst, wire)
    }

    fn burst(packets: u64, last: u64) -> Burst {
        Burst { packets, first: Bytes(1500), full: Bytes(1500), last: Bytes(last) }
    }

    /// The shortest way is the fastest: the times are those of a network without failures.
    #[test]
    fn on_equal_links_the_time_is_that_of_the_shortest_way() {
        let network = network(Rate::gbps(10), DELAY);
        for (packets, last) in [(0, 40), (0, 1500), (2, 40), (7, 1500), (1000, 700)] {
            let expected = passage(&[(Rate::gbps(10), DELAY); 3], burst(packets, last));
            assert_eq!(time(&network, burst(packets, last)), expected, "{packets} {last}");
            let longer = Burst { first: Bytes(1516), ..burst(packets, last) };
            assert_eq!(
                time(&network, longer),
                passage(&[(Rate::gbps(10), DELAY); 3], longer),
                "{packets} {last}"
            );
        }
    }

    /// The direct wire takes 1.2 ms a packet, the way around 12.4 us more for the switch: a longer way is the fastest.
    #[test]
    fn a_longer_way_may_be_faster() {
        let network = network(Rate::mbps(10), DELAY);
        let around = passage(&[(Rate::gbps(10), DELAY); 4], burst(9, 1500));
        assert_eq!(time(&network, burst(9, 1500)), around);
    }

    /// A slow wire without delay is fastest for small packets, the other way for large ones: nothing is slower than either.
    #[test]
    fn between_two_ways_the_time_is_below_both() {
        let network = network(Rate::mbps(1500), Span::ZERO);
        for last in [40, 300, 700, 1100, 1500] {
            let direct = [(Rate::gbps(10), DELAY), (Rate::mbps(1500), Span::ZERO), (Rate::gbps(10), DELAY)];
            let around = passage(&[(Rate::gbps(10), DELAY); 4], burst(0, last));
            let least = passage(&direct, burst(0, last)).min(around);
            let bound = time(&network, burst(0, last));
            assert!(bound <= least && bound.as_ps() * 10 > least.as_ps() * 8, "{last}: {bound} {least}");
        }
    }
}
