//! The backward search: which links lead nearest to a destination, found for 64 destinations at once.
//!
//! Source: breadth-first search from many nodes at once with one bit a search, Then et al., "The More the
//! Merrier: Efficient Multi-Source Graph Traversal", PVLDB 8(4), 2014, s.3. A search runs against the links, from
//! a destination to all that lead there, one link further at each step. A word holds a bit for each of 64
//! destinations, so that switches which see many destinations alike are looked at once for all of them.
//! Hosts never forward: a search ends at them.

use super::graph::{Graph, NodeId, Role};

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
        Wiring { down: vec![false; ends.len()], ends, out, into, forwards }
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
    }

    /// From now on the links of `down` are out of order and all others in order.
    pub fn take_down(&mut self, down: &[u32]) {
        self.down.fill(false);
        down.iter().for_each(|link| self.down[*link as usize] = true);
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

/// Searches backwards from each of `roots`, at most 64, and hands to `found` each node that has to choose, with
/// its choices. A node may come several times, each time with other destinations. In the `whole` network links that are
/// out of order count too.
pub fn search(wiring: &Wiring, whole: bool, roots: &[NodeId], mut found: impl FnMut(u32, &[Part])) {
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
    let (mut new, mut parts) = (vec![0u64; nodes], vec![]);
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
            found(*node, &parts);
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
    parts: &mut Vec<Part>,
) {
    parts.clear();
    parts.push(Part { bits, links: vec![] });
    for (place, link) in (0..).zip(wiring.out.of(node)) {
        let leads = edge[wiring.ends[*link as usize].1.index()] & bits;
        if leads == 0 || !works(*link) {
            continue;
        }
        for i in 0..parts.len() {
            let both = parts[i].bits & leads;
            if both == 0 {
                continue;
            }
            if both != parts[i].bits {
                let apart = Part { bits: parts[i].bits & !leads, links: parts[i].links.clone() };
                parts.push(apart);
                parts[i].bits = both;
            }
            parts[i].links.push(place);
        }
    }
}
