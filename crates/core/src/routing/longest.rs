//! The time that the slowest of several equally short paths takes, empty.
//!
//! Paths of as many hops may differ in delay and rate. A sender that is bound by a round trip does not know which of them its
//! packets take, so the longest counts: Li 2019 (HPCC) wants T "a little above" it, Mittal 2018 (IRN) the longest path.

use super::graph::NodeId;
use super::ideal::Wire;
use super::table::Routing;
use shallows_units::{Bytes, Span};
use std::collections::BTreeMap;

/// Times already found, between the switches of two hosts.
#[derive(Debug, Default)]
pub struct Longest {
    /// By switch (or host on several links) that is left, column of the host that is gone to, and bytes.
    known: BTreeMap<(u32, u32, u64), Span>,
}

impl Longest {
    /// Links or tables have changed.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Most time that a packet of `bytes` takes between two hosts whose columns are known, over an empty shortest path; `wire`
    /// gives each link's rate and delay.
    pub fn time(
        &mut self,
        routing: &Routing,
        (from, to): (NodeId, NodeId),
        bytes: u64,
        wire: impl Fn(u32) -> Wire,
    ) -> Span {
        let over = |link: u32| {
            let (rate, delay) = wire(link);
            delay + if bytes > 0 { rate.transmit(Bytes(bytes)) } else { Span::ZERO }
        };
        let (first, last) = (routing.first_link(from), routing.last_link(to));
        let node = first.map_or(from, |link| routing.end(link));
        let own = first
            .into_iter()
            .chain(last.filter(|_| node != to))
            .map(over)
            .fold(Span::ZERO, |sum, one| sum + one);
        if node == to {
            return own;
        }
        let key = (node.0, routing.column(to), bytes);
        let middle = match self.known.get(&key) {
            Some(known) => *known,
            None => {
                let found = between(routing, (node, to), last, &over, &mut BTreeMap::new());
                self.known.insert(key, found);
                found
            }
        };
        own + middle
    }
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
