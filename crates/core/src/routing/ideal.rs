//! Ideal times: how soon a message could be delivered, alone on the empty network.
//!
//! Where there are several equally short paths, the best of them counts, so that no choice of path makes a message
//! faster than its ideal. Where packets of one flow take several paths at once, links of one distance count
//! together: the time is then a bound that no assignment of packets to paths can beat, and on paths that are all
//! alike and no slower than the hosts' links it is the time over one of them.
//! Where links have costs, equally near paths may differ in their number of links. Each is then looked at by itself, or, if
//! there are too many or packets of one flow take several, all have at least the tiers of the shortest.
//! A link whose rate or delay changes counts with its best of the run. Where links fail, [`super::fastest`] has the law.

use super::graph::NodeId;
use super::table::Routing;
use shallows_units::{Bytes, Rate, Span};
use std::collections::BTreeMap;

/// Rate and delay of a link.
pub type Wire = (Rate, Span);

/// A message as packets: some full ones and one last.
#[derive(Debug, Clone, Copy)]
pub struct Burst {
    /// Full packets.
    pub packets: u64,
    /// Bytes of the first of them, headers included: it may have one more. Of one packet alone `last` says all.
    pub first: Bytes,
    /// Bytes of each other, headers included.
    pub full: Bytes,
    /// Bytes of the last packet, headers included.
    pub last: Bytes,
}

/// Time from handing the first byte to the NIC until the last is at the far end of the path `links`. Store and
/// forward, exact: on each link a packet begins when it is there and its predecessor has gone.
pub fn passage(links: &[Wire], burst: Burst) -> Span {
    // The last full packet leaves a link when a chain of transmissions has ended, each begun by the one before: the first
    // packet's up to some link, the second's from there to another, all others' on that, the last one's behind it.
    let Burst { packets, first, full, last } = burst;
    let (mut first_comes, mut second_comes, mut full_comes, mut last_comes) = Default::default();
    for (rate, delay) in links {
        let each = rate.transmit(full);
        let first_gone: Span = first_comes + rate.transmit(first);
        let second_gone = first_gone.max(second_comes) + each;
        let full_gone = match packets {
            0 => Span::ZERO,
            1 => first_gone,
            _ => (second_gone + each * (packets - 2)).max(full_comes + each),
        };
        last_comes = full_gone.max(last_comes) + rate.transmit(last) + *delay;
        (first_comes, second_comes, full_comes) =
            (first_gone + *delay, second_gone + *delay, full_gone + *delay);
    }
    last_comes
}

/// All links of one distance from a destination that shortest paths use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Tier {
    /// Rate of the fastest link.
    fastest: Rate,
    /// Rate of all links together.
    together: Rate,
    /// Delay of the shortest link.
    delay: Span,
    /// One link, or several of one rate and delay.
    alike: bool,
}

impl Tier {
    fn new(wires: &[Wire]) -> Option<Self> {
        let first = *wires.first()?;
        let sum = wires.iter().map(|(rate, _)| rate.as_bps()).fold(0, u64::saturating_add);
        Some(Tier {
            fastest: wires.iter().map(|wire| wire.0).max()?,
            together: Rate::bps(sum),
            delay: wires.iter().map(|wire| wire.1).min()?,
            alike: wires.iter().all(|wire| *wire == first),
        })
    }
}

/// All shortest paths between two hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Ways {
    tiers: Vec<Tier>,
    /// The paths that differ in a rate or a delay, where some do; few of very many.
    paths: Vec<Vec<Wire>>,
}

/// Most different paths between two hosts that are looked at one by one; beyond it a bound over all is taken.
const MAX_PATHS: usize = 64;

impl Burst {
    /// Bytes of all.
    pub fn bytes(&self) -> Bytes {
        let full = self.packets.saturating_sub(1).saturating_mul(self.full.0);
        let first = if self.packets > 0 { self.first.0 } else { 0 };
        Bytes(full.saturating_add(first).saturating_add(self.last.0))
    }

    /// The full packets alone, without so many of them.
    pub fn fulls(&self, without: u64) -> Burst {
        Burst { packets: self.packets.saturating_sub(without), last: Bytes(0), ..*self }
    }
}

impl Ways {
    /// No message takes less time when every packet takes a path of its own choice.
    fn sprayed(&self, burst: Burst) -> Span {
        let Burst { packets, full, last, .. } = burst;
        let Some((first, others)) = self.tiers.split_first() else { return Span::ZERO };
        let work = |tier: &Tier, burst: Burst| tier.together.transmit(burst.bytes());
        // When the first full packet, the last full packet and the last packet can be at each tier. The host's
        // tier serves in order; behind it a packet may overtake all others.
        let queued = first.fastest == first.together;
        let after = |before: Span, size: Bytes| {
            let own = first.fastest.transmit(size);
            first.delay + if queued { before + own } else { own.max(before) }
        };
        let mut soonest = first.fastest.transmit(full) + first.delay;
        let mut full_at = after(work(first, burst.fulls(1)), full);
        let mut last_at = after(work(first, burst.fulls(0)), last);
        let mut bound = work(first, burst) + first.delay;
        for tier in others {
            let begins = if packets > 0 { soonest.min(last_at) } else { last_at };
            let own = tier.fastest.transmit(last.min(full));
            // The last packet to leave this tier or the one before has the rest of the way to go.
            bound = (bound + own + tier.delay).max(begins + work(tier, burst) + tier.delay);
            let each = tier.fastest.transmit(full) + tier.delay;
            (soonest, full_at) = (soonest + each, full_at + each);
            last_at = last_at + tier.fastest.transmit(last) + tier.delay;
        }
        bound.max(last_at).max(if packets > 0 { full_at } else { Span::ZERO })
    }

    /// The time over the best path.
    fn over_one(&self, burst: Burst, scratch: &mut Vec<Wire>) -> Span {
        let paths = self.paths.iter().map(|path| passage(path, burst));
        paths.min().unwrap_or_else(|| {
            scratch.clear();
            scratch.extend(self.tiers.iter().map(|tier| (tier.fastest, tier.delay)));
            passage(scratch, burst)
        })
    }
}

/// Ideal times between the hosts of one network.
#[derive(Debug, Default)]
pub struct Ideals {
    /// Packets of a flow take several paths.
    sprays: bool,
    /// By switch (or host on several links) that is left, and host that is gone to or another one like it.
    known: BTreeMap<(u32, u32), u32>,
    distinct: BTreeMap<Ways, u32>,
    ways: Vec<Ways>,
    whole: Ways,
    scratch: Vec<Wire>,
}

impl Ideals {
    /// Nothing known yet of a network where packets of a flow take several paths, or one.
    pub fn new(sprays: bool) -> Self {
        Ideals { sprays, ..Self::default() }
    }

    /// Least time that `burst` takes from one host to another; `wire` gives each link's rate and delay. `chooses`: senders choose a
    /// path for each packet, whatever switches do.
    pub fn time(
        &mut self,
        routing: &Routing,
        (from, to): (NodeId, NodeId),
        burst: Burst,
        chooses: bool,
        wire: impl Fn(u32) -> Wire,
    ) -> Span {
        // All but the hosts' own links is the same for all hosts of two switches.
        let (first, last) = (routing.first_link(from), routing.last_link(to));
        let node = first.map_or(from, |link| routing.end(link));
        let ways = if node == to { None } else { Some(self.between(routing, node, to, &wire)) };
        let middle = ways.map(|ways| &self.ways[ways as usize]);
        let whole = &mut self.whole;
        let own = |link: Option<u32>| link.map(&wire);
        whole.tiers.clear();
        whole.tiers.extend(own(first).and_then(|wire| Tier::new(&[wire])));
        whole.tiers.extend(middle.iter().flat_map(|ways| &ways.tiers));
        whole.tiers.extend(own(last).and_then(|wire| Tier::new(&[wire])));
        if whole.tiers.iter().all(|tier| tier.alike) {
            whole.paths.clear();
        } else if let Some(middle) = middle {
            let whole_path = |path: &Vec<Wire>| {
                own(first).into_iter().chain(path.iter().copied()).chain(own(last)).collect()
            };
            whole.paths = middle.paths.iter().map(whole_path).collect();
        }
        let several = whole.tiers.iter().any(|tier| tier.fastest != tier.together);
        if (self.sprays || chooses) && several {
            whole.sprayed(burst)
        } else {
            whole.over_one(burst, &mut self.scratch)
        }
    }

    /// The paths from `node` to the switch that `to` is on, or to itself.
    fn between(&mut self, routing: &Routing, node: NodeId, to: NodeId, wire: impl Fn(u32) -> Wire) -> u32 {
        let key = (node.0, routing.column(to));
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let ways = find(routing, node, to, wire);
        let number = *self.distinct.entry(ways).or_insert_with_key(|ways| {
            self.ways.push(ways.clone());
            self.ways.len() as u32 - 1
        });
        self.known.insert(key, number);
        number
    }
}

/// Looks at all shortest paths from `node` to the switch that `to` is on, tier by tier.
fn find(routing: &Routing, node: NodeId, to: NodeId, wire: impl Fn(u32) -> Wire) -> Ways {
    let last = routing.last_link(to);
    let mut ways = Ways::default();
    let mut stand: Vec<NodeId> = vec![node];
    let uneven = loop {
        let links: Vec<u32> = stand.iter().flat_map(|node| routing.ways(*node, to)).copied().collect();
        // A shortest path has come to the end of the tiers. Others may go on.
        let here = |link: &u32| Some(*link) == last;
        if links.is_empty() || links.iter().any(here) || stand.contains(&to) {
            break !links.iter().all(here);
        }
        let wires: Vec<Wire> = links.iter().map(|link| wire(*link)).collect();
        ways.tiers.extend(Tier::new(&wires));
        stand = links.iter().map(|link| routing.end(*link)).collect();
        stand.sort_unstable();
        stand.dedup();
    };
    if uneven || ways.tiers.iter().any(|tier| !tier.alike) {
        ways.paths = different(routing, node, to, wire);
    }
    ways
}

/// The paths from `node` that differ in a rate or a delay, or none where there are too many.
fn different(routing: &Routing, node: NodeId, to: NodeId, wire: impl Fn(u32) -> Wire) -> Vec<Vec<Wire>> {
    let last = routing.last_link(to);
    let mut open: BTreeMap<NodeId, Vec<Vec<Wire>>> = BTreeMap::from([(node, vec![vec![]])]);
    let mut whole: Vec<Vec<Wire>> = vec![];
    loop {
        let mut next: BTreeMap<NodeId, Vec<Vec<Wire>>> = BTreeMap::new();
        for (node, paths) in &open {
            let mut goes_on = false;
            for link in routing.ways(*node, to).iter().filter(|link| Some(**link) != last) {
                goes_on = true;
                let found = next.entry(routing.end(*link)).or_default();
                for path in paths {
                    let longer: Vec<Wire> = path.iter().copied().chain([wire(*link)]).collect();
                    if !found.contains(&longer) {
                        found.push(longer);
                    }
                }
                if found.len() > MAX_PATHS {
                    return vec![];
                }
            }
            if !goes_on {
                whole.extend(paths.iter().cloned());
            }
        }
        if whole.len() > MAX_PATHS {
            return vec![];
        }
        if next.is_empty() {
            return whole;
        }
        open = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(packets: u64, full: u64, last: u64) -> Burst {
        Burst { packets, first: Bytes(full), full: Bytes(full), last: Bytes(last) }
    }

    #[test]
    fn passage_of_one_packet_is_the_sum_of_its_parts() {
        let links = [(Rate::gbps(10), Span::us(25)), (Rate::gbps(1), Span::us(5))];
        assert_eq!(passage(&links, burst(0, 1500, 1500)), Span::ns(1200 + 12_000 + 30_000));
    }

    #[test]
    fn the_slowest_link_spaces_the_packets() {
        let links = [(Rate::gbps(10), Span::ZERO), (Rate::gbps(1), Span::ZERO), (Rate::gbps(10), Span::ZERO)];
        // 10 packets: 1.2 us on the first link, 10 x 12 us on the second, 1.2 us on the third.
        assert_eq!(passage(&links, burst(9, 1500, 1500)), Span::ns(1200 + 120_000 + 1200));
    }

    /// Packet by packet over links of random rates: each begins when it is there and the one before has gone.
    #[test]
    fn passage_is_store_and_forward_packet_by_packet() {
        let links =
            [(10, 3), (1, 20), (4, 0), (1, 7), (25, 1)].map(|(gbps, us)| (Rate::gbps(gbps), Span::us(us)));
        for from in 0..links.len() {
            for (packets, first, full, last) in [
                (0, 79, 63, 70),
                (1, 79, 63, 1500),
                (2, 79, 63, 40),
                (9, 1078, 1062, 300),
                (30, 79, 63, 63),
                (5, 3000, 63, 40),
            ] {
                let mut free = [Span::ZERO; 5];
                let sizes = (0..packets).map(|i| if i == 0 { first } else { full }).chain([last]);
                let came = sizes.map(|size| {
                    links[from..].iter().zip(&mut free).fold(Span::ZERO, |there, ((rate, delay), free)| {
                        *free = there.max(*free) + rate.transmit(Bytes(size));
                        *free + *delay
                    })
                });
                let burst = Burst { packets, first: Bytes(first), full: Bytes(full), last: Bytes(last) };
                assert_eq!(passage(&links[from..], burst), came.last().unwrap(), "{from} {burst:?}");
            }
        }
    }
}
