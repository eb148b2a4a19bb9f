//! The time that the slowest of several equally short paths takes, empty.
//!
//! Paths of as many hops, or of equal cost, may differ in delay and rate. A sender that is bound by a round trip does not know which of them its
//! packets take, so the longest counts: Li 2019 (HPCC) wants T "a little above" it, Mittal 2018 (IRN) the longest path.

use super::graph::NodeId;
use super::ideal::Wire;
use super::table::Routing;
use shallows_units::{Bytes, Span};
use std::collections::BTreeMap;

/// Times already found.
#[derive(Debug, Default)]
pub struct Longest {
    /// Between the switches of two hosts: by switch (or host on several links) that is left, column of the host that is gone to, and
    /// bytes.
    known: BTreeMap<(u32, u32, u64), Span>,
    /// The rate and delay that all links between switches have; nothing inside where they differ, nothing at all before the first look.
    alike: Option<Option<Wire>>,
}

impl Longest {
    /// Links or tables have changed.
    pub fn forget(&mut self) {
        *self = Longest::default();
    }

    /// Most time that a packet of `bytes` takes between two hosts whose columns are known, over an empty shortest path; `wires` has
    /// each link's rate and delay.
    pub fn time(
        &mut self,
        routing: &Routing,
        (from, to): (NodeId, NodeId),
        bytes: u64,
        wires: &[Wire],
    ) -> Span {
        let over =
            |(rate, delay): Wire| delay + if bytes > 0 { rate.transmit(Bytes(bytes)) } else { Span::ZERO };
        let over_link = |link: u32| over(wires[link as usize]);
        let (first, last) = (routing.first_link(from), routing.last_link(to));
        let node = first.map_or(from, |link| routing.end(link));
        let own = first
            .into_iter()
            .chain(last.filter(|_| node != to))
            .map(over_link)
            .fold(Span::ZERO, |sum, one| sum + one);
        if node == to {
            return own;
        }
        // Equally short paths over links that are alike take equally long, so that one of them tells: on a large tree the search
        // over all of them would cost more than the connection.
        if routing.is_even()
            && let Some(wire) = *self.alike.get_or_insert_with(|| alike(routing, wires))
        {
            let links = routing.path((node, to)).filter(|link| Some(*link) != last).count();
            return own + over(wire) * links as u64;
        }
        let key = (node.0, routing.column(to), bytes);
        let middle = match self.known.get(&key) {
            Some(known) => *known,
            None => {
                let found = between(routing, (node, to), last, &over_link, &mut BTreeMap::new());
                self.known.insert(key, found);
                found
            }
        };
        own + middle
    }
}

/// The rate and delay of all links but the only ones of hosts, if they have one in common.
fn alike(routing: &Routing, wires: &[Wire]) -> Option<Wire> {
    let only = |node: NodeId, links: &[u32]| !routing.forwards(node) && links.len() == 1;
    let mut between = (0u32..).zip(wires).filter(|(link, _)| {
        let (start, end) = (routing.start(*link), routing.end(*link));
        !only(start, routing.links_of(start)) && !only(end, routing.links_into(end))
    });
    let (_, first) = between.next()?;
    between.all(|(_, wire)| wire == first).then_some(*first)
}

/// From `node` to the switch with the link `last`, or to the host itself.
fn between(
    routing: &Routing,
    (node, to): (NodeId, NodeId),
    last: Option<u32>,
    over: &impl Fn(u32) -> Span,
    seen: &mut BTreeMap<NodeId, Span>,
) -> Span {
    if let Some(found) = seen.get(&node) {
        return *found;
    }
    let ways = routing.ways(node, to).iter().filter(|link| Some(**link) != last);
    let longest = ways.map(|link| over(*link) + between(routing, (routing.end(*link), to), last, over, seen));
    let longest = longest.max().unwrap_or(Span::ZERO);
    seen.insert(node, longest);
    longest
}
