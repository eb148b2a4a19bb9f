//! Static shortest-path routes, by number of links.
//!
//! Where several next hops are equally near, one is taken by a hash of the flow's `choice` and the
//! node that chooses: the paths of a flow are stable, those of many flows spread over all that are
//! equal (ECMP), and nothing depends on the order of calls.
//!
//! Distances are found by one search backwards from a destination when it's first asked for. A host
//! on a single link shares the search of its switch, so that a thousand hosts on a star take one.
//! Hosts never forward, so only switches have a distance.
//!
//! Left out: weights, failures, and routes that change during a run.

use super::graph::{Graph, NodeId, Role};
use std::collections::VecDeque;

/// No way to get there.
const FAR: u32 = u32::MAX;

/// The routes of one graph.
#[derive(Debug)]
pub struct Routes {
    /// By link: its two ends.
    ends: Vec<(NodeId, NodeId)>,
    /// By node: its number among the switches; [`FAR`] for a host.
    switch: Vec<u32>,
    switches: usize,
    out: Ports,
    into: Ports,
    /// By node that was searched from: how many links each switch is away from it.
    distances: Vec<Option<Box<[u32]>>>,
}

impl Routes {
    /// Prepares the routes of `graph` without searching any.
    pub fn new(graph: &Graph) -> Self {
        let mut switch = vec![FAR; graph.nodes.len()];
        let mut switches = 0;
        for id in graph.ids(Role::Switch) {
            switch[id.index()] = switches as u32;
            switches += 1;
        }
        let ends: Vec<_> = graph.links.iter().map(|link| (link.from, link.to)).collect();
        let nodes = graph.nodes.len();
        let out = Ports::new(nodes, ends.iter().map(|(from, _)| *from));
        let into = Ports::new(nodes, ends.iter().map(|(_, to)| *to));
        Routes { ends, switch, switches, out, into, distances: vec![None; nodes] }
    }

    /// The links from `src` to `dst` in order, or `None` where there is no way. Among equally short
    /// ways `choice`, a number of the flow's own, decides.
    pub fn path(&mut self, src: NodeId, dst: NodeId, choice: u64) -> Option<Vec<u32>> {
        if src == dst {
            return Some(vec![]);
        }
        let (root, last) = self.root(dst);
        let mut path = vec![];
        let mut node = src;
        while node != root {
            let link = self.next(node, root, choice)?;
            path.push(link);
            node = self.ends[link as usize].1;
        }
        path.extend(last);
        Some(path)
    }

    /// All shortest ways from `src` to `dst`, at most `most`, in the order of the links' numbers.
    pub fn all(&mut self, src: NodeId, dst: NodeId, most: usize) -> Vec<Vec<u32>> {
        if src == dst {
            return vec![vec![]];
        }
        let (root, last) = self.root(dst);
        let (mut found, mut open) = (vec![], vec![(src, vec![])]);
        while let Some((node, path)) = open.pop().filter(|_| found.len() < most) {
            if node == root {
                found.push(path.into_iter().chain(last).collect());
                continue;
            }
            let before = open.len();
            open.extend(self.nearest(node, root).map(|link| {
                let to = self.ends[link as usize].1;
                (to, path.iter().copied().chain([link]).collect())
            }));
            open[before..].reverse();
        }
        found
    }

    /// Where a search for `dst` starts, and the link from there to it: hosts on one link share their switch's.
    fn root(&mut self, dst: NodeId) -> (NodeId, Option<u32>) {
        let (root, last) = match *self.into.of(dst) {
            [link] if self.is_switch(self.ends[link as usize].0) => (self.ends[link as usize].0, Some(link)),
            _ => (dst, None),
        };
        self.search(root);
        (root, last)
    }

    /// The link that `node` takes towards `root`.
    fn next(&self, node: NodeId, root: NodeId, choice: u64) -> Option<u32> {
        let equal = self.nearest(node, root);
        let ticket = u128::from(mix(choice, node)) * equal.clone().count() as u128;
        equal.clone().nth((ticket >> 64) as usize)
    }

    /// The links of `node` that lead nearest to `root`, which has been searched.
    fn nearest(&self, node: NodeId, root: NodeId) -> impl Iterator<Item = u32> + Clone + '_ {
        let away = move |link: &u32| self.away(self.ends[*link as usize].1, root);
        let links = self.out.of(node);
        let least = links.iter().map(away).min().filter(|away| *away != FAR);
        links.iter().copied().filter(move |link| Some(away(link)) == least)
    }

    /// How many links `node` is away from `root`, which has been searched.
    fn away(&self, node: NodeId, root: NodeId) -> u32 {
        if node == root {
            return 0;
        }
        let distances = self.distances[root.index()].as_ref().expect("searched before");
        distances.get(self.switch[node.index()] as usize).copied().unwrap_or(FAR)
    }

    /// Finds all distances to `root`, once.
    fn search(&mut self, root: NodeId) {
        if self.distances[root.index()].is_some() {
            return;
        }
        let mut distances = vec![FAR; self.switches].into_boxed_slice();
        if self.is_switch(root) {
            distances[self.switch[root.index()] as usize] = 0;
        }
        let mut frontier = VecDeque::from([(root, 0)]);
        while let Some((node, away)) = frontier.pop_front() {
            for link in self.into.of(node) {
                let before = self.ends[*link as usize].0;
                if let Some(found @ &mut FAR) = distances.get_mut(self.switch[before.index()] as usize) {
                    *found = away + 1;
                    frontier.push_back((before, away + 1));
                }
            }
        }
        self.distances[root.index()] = Some(distances);
    }

    fn is_switch(&self, node: NodeId) -> bool {
        self.switch[node.index()] != FAR
    }
}

/// Links grouped by the node at one of their ends, in link order.
#[derive(Debug)]
struct Ports {
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

    fn of(&self, node: NodeId) -> &[u32] {
        let (start, end) = (self.start[node.index()], self.start[node.index() + 1]);
        &self.links[start as usize..end as usize]
    }
}

/// 64 evenly spread bits of a flow's choice at a node (the finaliser of SplitMix64, Steele 2014).
fn mix(choice: u64, node: NodeId) -> u64 {
    let mut z = choice.wrapping_add(u64::from(node.0 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shallows_units::{Rate, Span};

    fn graph(hosts: u64, switches: u64, links: &[(u32, u32)]) -> Graph {
        let mut graph = Graph::default();
        graph.hosts_named("h", hosts);
        (0..switches).for_each(|i| _ = graph.switch(format!("sw{i}")));
        for (from, to) in links {
            graph.simplex(NodeId(*from), NodeId(*to), Rate::gbps(10), Span::us(1));
        }
        graph
    }

    fn names(graph: &Graph, path: Option<Vec<u32>>) -> Vec<String> {
        path.unwrap().into_iter().map(|link| graph.port_name(link)).collect()
    }

    #[test]
    fn a_path_is_the_shortest_and_ends_are_simple() {
        let ring = [(0, 2), (2, 3), (3, 4), (4, 2), (3, 1)]; // h0 sw0 sw1 sw2, h1 at sw1
        let graph = graph(2, 3, &ring);
        let mut routes = Routes::new(&graph);
        let path = routes.path(NodeId(0), NodeId(1), 7);
        assert_eq!(names(&graph, path), ["h0->sw0", "sw0->sw1", "sw1->h1"]);
        assert_eq!(routes.path(NodeId(0), NodeId(0), 7), Some(vec![]));
        assert_eq!(routes.path(NodeId(1), NodeId(0), 7), None);
    }

    #[test]
    fn hosts_never_forward() {
        let graph = graph(3, 0, &[(0, 1), (1, 2)]);
        let mut routes = Routes::new(&graph);
        assert_eq!(routes.path(NodeId(0), NodeId(1), 0), Some(vec![0]));
        assert_eq!(routes.path(NodeId(0), NodeId(2), 0), None);
    }

    #[test]
    fn a_star_takes_one_search() {
        let mut graph = graph(1024, 1, &[]);
        let switch = graph.find("sw0").unwrap();
        for host in graph.ids(Role::Host).collect::<Vec<_>>() {
            graph.link(host, switch, Rate::gbps(10), Span::us(1));
        }
        let mut routes = Routes::new(&graph);
        for i in 0..1024 {
            let path = routes.path(NodeId(i), NodeId((i + 1) % 1024), 0);
            assert_eq!(path, Some(vec![2 * i, 2 * ((i + 1) % 1024) + 1]));
        }
        assert_eq!(routes.distances.iter().flatten().count(), 1);
    }

    #[test]
    fn equal_paths_share_the_flows() {
        // Two leaves below four spines.
        let links: Vec<_> =
            (4..8).flat_map(|spine| [(2, spine), (spine, 3)]).chain([(0, 2), (3, 1)]).collect();
        let graph = graph(2, 6, &links);
        let mut routes = Routes::new(&graph);
        let mut flows = [0; 4];
        for choice in 0..4000 {
            let path = routes.path(NodeId(0), NodeId(1), choice).unwrap();
            assert_eq!(routes.path(NodeId(0), NodeId(1), choice).as_ref(), Some(&path));
            flows[graph.links[path[1] as usize].to.index() - 4] += 1;
        }
        // Binomial: standard deviation 27.4; five of them.
        assert!(flows.iter().all(|n| (1000i32 - n).abs() < 137), "{flows:?}");
    }

    proptest! {
        #[test]
        fn paths_are_as_short_as_relaxation_finds(
            hosts in 1u64..5,
            switches in 0u64..6,
            pairs in prop::collection::btree_set((0u32..11, 0u32..11), 0..40),
            choice: u64,
        ) {
            let nodes = (hosts + switches) as u32;
            let legal = |(a, b): &(u32, u32)| a != b && *a < nodes && *b < nodes;
            let links: Vec<_> = pairs.into_iter().filter(legal).collect();
            let graph = graph(hosts, switches, &links);
            let mut routes = Routes::new(&graph);
            for dst in 0..nodes {
                let mut away = vec![None; nodes as usize];
                away[dst as usize] = Some(0);
                for _ in 0..nodes {
                    for (a, b) in &links {
                        let forwards = *b == dst || u64::from(*b) >= hosts;
                        let over = away[*b as usize].filter(|_| forwards).map(|n: usize| n + 1);
                        let old = away[*a as usize];
                        away[*a as usize] = old.into_iter().chain(over).min();
                    }
                }
                for src in 0..nodes {
                    let path = routes.path(NodeId(src), NodeId(dst), choice);
                    prop_assert_eq!(path.as_ref().map(Vec::len), away[src as usize]);
                    let mut at = src;
                    for link in path.into_iter().flatten() {
                        prop_assert_eq!(links[link as usize].0, at);
                        at = links[link as usize].1;
                    }
                    prop_assert!(at == dst || away[src as usize].is_none());
                }
            }
        }
    }
}
