//! A look at the paths that the tables give: for ideal times, failures and tests. Packets find their way without it.

use super::{Destination, Next, Routing};
use crate::routing::graph::NodeId;
use std::collections::{BTreeMap, BTreeSet};

impl Routing {
    /// The links by which `node` may send towards host `to`, whose column is known: those of its group, or its only
    /// one, or none.
    pub fn ways(&self, node: NodeId, to: NodeId) -> &[u32] {
        self.ways_to(node, self.destinations[self.host[to.index()].at()])
    }

    /// The links by which `node` may send a packet with this label.
    pub fn ways_of(&self, node: NodeId, label: u32) -> &[u32] {
        self.ways_to(node, self.destinations[(label >> self.spare) as usize])
    }

    fn ways_to(&self, node: NodeId, Destination { column, last }: Destination) -> &[u32] {
        let links = self.wiring.out.of(node.0);
        match self.entry(node.0, column) {
            Next::NONE if links.len() == 1 && !self.wiring.forwards(node.0) => links,
            Next::NONE => &[],
            Next::HERE => {
                let place = links.iter().position(|link| last.get() == Some(*link));
                place.map_or(&[], |place| &links[place..=place])
            }
            Next(link) if (link as usize) < links.len() => std::slice::from_ref(&links[link as usize]),
            Next(group) => self.hops[node.index()].groups[group as usize - links.len()].of(&self.members),
        }
    }

    /// The links of a shortest path between two hosts whose columns are known.
    pub fn path(&self, (from, to): (NodeId, NodeId)) -> impl Iterator<Item = u32> + '_ {
        let mut node = from;
        std::iter::from_fn(move || {
            let link = if node == to { None } else { self.ways(node, to).first().copied() }?;
            node = self.end(link);
            Some(link)
        })
    }

    /// The links by which packets of `from` may leave it towards `to`, and those by which they may come there. The columns of both are known.
    pub fn own_links(&self, (from, to): (NodeId, NodeId)) -> [Vec<u32>; 2] {
        let first = self.ways(from, to).to_vec();
        let mut last = vec![];
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for link in self.ways(node, to) {
                let end = self.end(*link);
                if end == to {
                    last.push(*link);
                } else if seen.insert(end) {
                    open.push(end);
                }
            }
        }
        last.sort_unstable();
        [first, last]
    }

    /// Whether all ways that a table shares between two nodes have as many links: those with the fewest.
    pub fn is_even(&self) -> bool {
        !self.wiring.has_costs() && self.fixed.is_empty()
    }

    /// Links on the longest of the paths between two hosts whose columns are known.
    pub fn most_links(&self, ends: (NodeId, NodeId)) -> usize {
        if self.is_even() {
            return self.path(ends).count();
        }
        let (from, to) = ends;
        let mut known = BTreeMap::from([(to, 0)]);
        // A node stays open until all behind it are known. No way leads in a circle: each link has a cost, and
        // static routes that do are refused.
        let mut open = vec![from];
        while let Some(node) = open.last().copied() {
            let next: Vec<NodeId> = self.ways(node, to).iter().map(|link| self.end(*link)).collect();
            let unknown: Vec<NodeId> = next.iter().copied().filter(|end| !known.contains_key(end)).collect();
            if unknown.is_empty() {
                let behind = next.iter().filter_map(|end| known.get(end)).max();
                known.insert(node, behind.map_or(0, |links| links + 1));
                open.pop();
            }
            open.extend(unknown);
        }
        known.get(&from).copied().unwrap_or(0)
    }

    /// The only link that leaves `host`, if it is the only one.
    pub fn first_link(&self, host: NodeId) -> Option<u32> {
        match *self.wiring.out.of(host.0) {
            [port] => Some(port),
            _ => None,
        }
    }

    /// The link from the switch that `host` shares its column with, if it shares one.
    pub fn last_link(&self, host: NodeId) -> Option<u32> {
        self.destinations[self.host[host.index()].at()].last.get()
    }

    /// The column of `host`.
    pub fn column(&self, host: NodeId) -> u32 {
        self.destinations[self.host[host.index()].at()].column
    }

    /// Nodes of the network.
    pub fn nodes(&self) -> usize {
        self.host.len()
    }

    /// Whether `node` is a switch.
    pub fn forwards(&self, node: NodeId) -> bool {
        self.wiring.forwards(node.0)
    }

    /// The links that leave `node`.
    pub fn links_of(&self, node: NodeId) -> &[u32] {
        self.wiring.out.of(node.0)
    }

    /// The links that come to `node`.
    pub fn links_into(&self, node: NodeId) -> &[u32] {
        self.wiring.into.of(node.0)
    }

    /// Where a link begins.
    pub fn start(&self, link: u32) -> NodeId {
        self.wiring.ends[link as usize].0
    }

    /// Where a link ends.
    pub fn end(&self, link: u32) -> NodeId {
        self.wiring.ends[link as usize].1
    }
}
