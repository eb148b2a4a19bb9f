//! The backward search: which links lead nearest to a destination, found for 64 destinations at once.
//!
//! Source: breadth-first search from many nodes at once with one bit a search, Then et al., "The More the
//! Merrier: Efficient Multi-Source Graph Traversal", PVLDB 8(4), 2014, s.3. A search runs against the links, from
//! a destination to all that lead there, one link further at each step. A word holds a bit for each of 64
//! destinations, so that switches which see many destinations alike are looked at once for all of them.
//! Hosts never forward: a search ends at them.
//!
//! Where links have costs, the nearest is the least sum of costs, and each destination has a search of its own: Dijkstra, "A Note on
//! Two Problems in Connexion with Graphs", Numerische Mathematik 1, 1959, problem 2. Next hops with equal sums belong together, as
//! RFC 2328 s.16.1 has it.

use super::graph::{Graph, NodeId, Role};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Links grouped by the node at one of their ends, in the order of the links.
#[derive(Debug, Default)]
pub struct Ports {
    start: Vec<u32>,
    links: Vec<u32>,
}

impl Ports {
    /// Groups links by `at`, which gives each link's node.
    fn new(nodes: usize, at: impl Iterator<Item = NodeId> + Clone) -> Self {
        let mut start = vec![0; nodes + 1];
        for node in at.clone() {
            start[node.index() + 1] += 1;
        }
        for i in 0..nodes {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut links = vec![0; start[nodes] as usize];
        for (link, node) in at.enumerate() {
            links[next[node.index()] as usize] = link as u32;
            next[node.index()] += 1;
        }
        Ports { start, links }
    }

    /// The first place of the links of `node`, and how many they are.
    pub fn run(&self, node: u32) -> (u32, u32) {
        let (start, end) = (self.start[node as usize], self.start[node as usize + 1]);
        (start, end - start)
    }

    /// The link at a place.
    #[inline]
    pub fn link(&self, place: u32) -> u32 {
        self.links[place as usize]
    }

    /// The links of `node`.
    #[inline]
    pub fn of(&self, node: u32) -> &[u32] {
        let (start, end) = (self.start[node as usize], self.start[node as usize + 1]);
        &self.links[start as usize..end as usize]
    }
}

/// The graph as a search sees it.
#[derive(Debug, Default)]
pub struct Wiring {
    /// By link: its two ends.
    pub ends: Vec<(NodeId, NodeId)>,
    /// The links that leave each node.
    pub out: Ports,
    /// The links that come to each node.
    pub into: Ports,
    forwards: Vec<bool>,
    /// By link: what it adds to the cost of a way. Empty where all add one.
    costs: Vec<u32>,
    /// Links that are out of order.
    down: Vec<bool>,
}

impl Wiring {
    /// The wiring of `graph`, every link in order.
    pub fn new(graph: &Graph) -> Self {
        let ends: Vec<_> = graph.links.iter().map(|link| (link.from, link.to)).collect();
        let nodes = graph.nodes.len();
        let out = Ports::new(nodes, ends.iter().map(|(from, _)| *from));
        let into = Ports::new(nodes, ends.iter().map(|(_, to)| *to));
        let forwards = graph.nodes.iter().map(|node| node.role == Role::Switch).collect();
        Wiring { down: vec![false; ends.len()], ends, out, into, forwards, costs: graph.costs() }
    }

    /// Whether links have costs, so that equally near ways may have different numbers of links.
    pub fn has_costs(&self) -> bool {
        !self.costs.is_empty()
    }

    /// Whether `node` is a switch.
    #[inline]
    pub fn forwards(&self, node: u32) -> bool {
        self.forwards[node as usize]
    }

    /// Whether `node` has to choose where a packet goes: a switch, or a host on several links.
    pub fn chooses(&self, node: u32) -> bool {
        self.forwards(node) || self.out.of(node).len() > 1
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let ports = |ports: &Ports| 4 * (ports.start.capacity() + ports.links.capacity());
        8 * self.ends.capacity()
            + ports(&self.out)
            + ports(&self.into)
            + self.forwards.len()
            + self.down.len()
            + 4 * self.costs.capacity()
    }

    /// From now on the links of `down` are out of order and all others in order.
    pub fn take_down(&mut self, down: &[u32]) {
        self.down.fill(false);
        down.iter().for_each(|link| self.down[*link as usize] = true);
    }

    /// Whether `link` is in order.
    pub fn works(&self, link: u32) -> bool {
        !self.down[link as usize]
    }

    /// Some link is out of order.
    pub fn any_down(&self) -> bool {
        self.down.contains(&true)
    }
}

/// Where one node sends packets for some of the destinations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The destinations, a bit each.
    pub bits: u64,
    /// Places of the node's nearest links among its own, rising.
    pub links: Vec<u32>,
}

/// Parts whose lists of links are used again.
#[derive(Default)]
struct Parts {
    list: Vec<Part>,
    used: usize,
}

impl Parts {
    fn all(&self) -> &[Part] {
        &self.list[..self.used]
    }

    /// Adds a part with these destinations, and the links of another one, if it is named.
    fn add(&mut self, bits: u64, alike: Option<usize>) {
        if self.used == self.list.len() {
            self.list.push(Part { bits, links: vec![] });
        }
        let (others, rest) = self.list.split_at_mut(self.used);
        let part = &mut rest[0];
        part.bits = bits;
        part.links.clear();
        part.links.extend(alike.into_iter().flat_map(|place| &others[place].links));
        self.used += 1;
    }
}

/// Searches backwards from each of `roots`, at most 64, and hands to `found` each node that has to choose, with
/// its choices. A node may come several times, each time with other destinations. In the `whole` network links that are
/// out of order count too.
pub fn search(wiring: &Wiring, whole: bool, roots: &[NodeId], found: impl FnMut(u32, &[Part])) {
    if wiring.has_costs() {
        by_cost(wiring, whole, roots, found);
    } else {
        by_links(wiring, whole, roots, found);
    }
}

/// The search where a way costs as much as the sum of its links.
fn by_cost(wiring: &Wiring, whole: bool, roots: &[NodeId], mut found: impl FnMut(u32, &[Part])) {
    let works = |link: u32| whole || !wiring.down[link as usize];
    let cost = |link: u32| u64::from(wiring.costs.get(link as usize).copied().unwrap_or(1));
    let mut far = vec![u64::MAX; wiring.forwards.len()];
    for (bit, root) in roots.iter().enumerate() {
        far.fill(u64::MAX);
        far[root.index()] = 0;
        let mut reached = vec![];
        let mut open = BinaryHeap::from([Reverse((0, root.0))]);
        while let Some(Reverse((so_far, node))) = open.pop() {
            if far[node as usize] < so_far {
                continue;
            }
            reached.push(node);
            if node != root.0 && !wiring.forwards(node) {
                continue;
            }
            for link in wiring.into.of(node).iter().filter(|link| works(**link)) {
                let (before, way) = (wiring.ends[*link as usize].0.0, so_far + cost(*link));
                if wiring.chooses(before) && way < far[before as usize] {
                    far[before as usize] = way;
                    open.push(Reverse((way, before)));
                }
            }
        }
        for node in reached.into_iter().filter(|node| *node != root.0) {
            let leads = |link: u32| {
                let end = wiring.ends[link as usize].1;
                (end == *root || wiring.forwards(end.0))
                    && far[end.index()].checked_add(cost(link)) == Some(far[node as usize])
            };
            let links = (0..).zip(wiring.out.of(node)).filter(|(_, link)| works(**link) && leads(**link));
            found(node, &[Part { bits: 1 << bit, links: links.map(|(place, _)| place).collect() }]);
        }
    }
}

/// The search where a way costs as much as it has links.
fn by_links(wiring: &Wiring, whole: bool, roots: &[NodeId], mut found: impl FnMut(u32, &[Part])) {
    let works = |link: u32| whole || !wiring.down[link as usize];
    let nodes = wiring.forwards.len();
    // By node, a bit each: destinations whose search has come by; those whose search came with the last step.
    let (mut seen, mut edge) = (vec![0u64; nodes], vec![0u64; nodes]);
    let mut standing = vec![];
    for (bit, root) in roots.iter().enumerate() {
        if edge[root.index()] == 0 {
            standing.push(root.0);
        }
        edge[root.index()] |= 1 << bit;
        seen[root.index()] |= 1 << bit;
    }
    let (mut new, mut parts) = (vec![0u64; nodes], Parts::default());
    while !standing.is_empty() {
        let mut reached = vec![];
        for node in &standing {
            for link in wiring.into.of(*node).iter().filter(|link| works(**link)) {
                let before = wiring.ends[*link as usize].0.0;
                let fresh = edge[*node as usize] & !seen[before as usize];
                if fresh != 0 && wiring.chooses(before) {
                    if new[before as usize] == 0 {
                        reached.push(before);
                    }
                    new[before as usize] |= fresh;
                }
            }
        }
        for node in &reached {
            divide(wiring, works, *node, new[*node as usize], &edge, &mut parts);
            found(*node, parts.all());
        }
        standing.iter().for_each(|node| edge[*node as usize] = 0);
        for node in &reached {
            let fresh = std::mem::take(&mut new[*node as usize]);
            seen[*node as usize] |= fresh;
            if wiring.forwards(*node) {
                edge[*node as usize] = fresh;
            }
        }
        reached.retain(|node| wiring.forwards(*node));
        standing = reached;
    }
}

/// Divides the destinations `bits` of `node` into parts that are reached over the same links: those whose far ends
/// stand at the `edge` of their searches.
fn divide(
    wiring: &Wiring,
    works: impl Fn(u32) -> bool,
    node: u32,
    bits: u64,
    edge: &[u64],
    parts: &mut Parts,
) {
    parts.used = 0;
    parts.add(bits, None);
    for (place, link) in (0..).zip(wiring.out.of(node)) {
        let leads = edge[wiring.ends[*link as usize].1.index()] & bits;
        if leads == 0 || !works(*link) {
            continue;
        }
        for i in 0..parts.used {
            let before = parts.list[i].bits;
            let both = before & leads;
            if both == 0 {
                continue;
            }
            if both != before {
                parts.add(before & !leads, Some(i));
                parts.list[i].bits = both;
            }
            parts.list[i].links.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shallows_units::{Rate, Span};
    use std::collections::BTreeMap;

    /// Where all links cost alike, both searches find the same next hops.
    fn both_agree(hosts: u32, switches: u32, links: &[(u32, u32)], down: &[bool], roots: &[u32]) {
        let mut graph = Graph::default();
        graph.hosts_named("h", hosts.into());
        (0..switches).for_each(|i| _ = graph.switch(format!("sw{i}")));
        for (from, to) in links {
            graph.simplex(NodeId(*from), NodeId(*to), Rate::gbps(10), Span::us(1));
        }
        let mut wiring = Wiring::new(&graph);
        let out: Vec<u32> = (0..links.len() as u32).filter(|link| down[*link as usize]).collect();
        wiring.take_down(&out);
        let roots: Vec<_> = roots.iter().map(|node| NodeId(*node)).collect();
        let mut found = [BTreeMap::new(), BTreeMap::new()];
        let [first, second] = &mut found;
        let note = |all: &mut BTreeMap<_, _>, node: u32, parts: &[Part]| {
            for part in parts {
                for bit in (0..64).filter(|bit| part.bits >> bit & 1 == 1) {
                    assert!(all.insert((node, bit), part.links.clone()).is_none(), "{node} twice for {bit}");
                }
            }
        };
        by_links(&wiring, false, &roots, |node, parts| note(first, node, parts));
        by_cost(&wiring, false, &roots, |node, parts| note(second, node, parts));
        assert_eq!(found[0], found[1]);
    }

    proptest! {
        #[test]
        fn equal_costs_are_no_costs(
            hosts in 1u32..5,
            switches in 0u32..6,
            pairs in prop::collection::btree_set((0u32..11, 0u32..11), 0..40),
            down in prop::collection::vec(prop::bool::weighted(0.2), 40),
            several: bool,
        ) {
            let legal = |(a, b): &(u32, u32)| a != b && *a < hosts + switches && *b < hosts + switches;
            let links: Vec<_> = pairs.into_iter().filter(legal).collect();
            let roots: Vec<_> = if several { (0..hosts + switches).collect() } else { vec![0] };
            both_agree(hosts, switches, &links, &down, &roots);
        }
    }
}
