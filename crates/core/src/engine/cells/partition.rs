//! How a network is cut into cells, and why it may not be.
//!
//! A switch with its hosts is a cell. A wire between two switches that is shorter than [`SHORTEST`] joins their
//! cells, and so does a host on several links. Cells advance together in windows as long as the shortest wire
//! between two of them, the lookahead: a packet that leaves one cell in a window reaches no other before the next.
//!
//! Where every wire between cells joins two sides, as in a tree, the sides advance in turn, each by two lookaheads
//! (`sides.rs`).
//!
//! All of this depends on the experiment alone, never on the number of threads. The results of a run are defined by
//! its cells and its seed; between two cells events of one time are ordered by link and number.
//!
//! Four parts act at a distance and keep a run in one cell: a load that answers a delivery at one host by sending at
//! another in the same instant; components in Python, which hold the interpreter's lock; a discipline that reads
//! how much a flow has left to send; a trace of flows on change, which reads both ends at once. A small network is
//! one cell too: it fits a processor's cache, where cells gain nothing.
//!
//! Source: conservative windows, Nicol, "The cost of conservative synchronization in parallel discrete event
//! simulations", JACM 40(2), 1993; the lookahead of a wire, Chandy and Misra, IEEE TSE 5(5), 1979.

pub use crate::experiment::Cut;
use crate::routing::graph::{Graph, NodeId, Role};
use shallows_units::{Index, Span};

/// Ports from which on a network is cut.
pub const SMALLEST: usize = 512;

/// A shorter wire between two switches joins their cells: a window must hold more work than meeting costs.
pub const SHORTEST: Span = Span::ns(100);

/// The cells of a network.
#[derive(Debug, Clone)]
pub struct Partition {
    /// By node: its cell.
    pub cell_of: Vec<u32>,
    /// How many cells there are.
    pub cells: u32,
    /// Length of the shortest wire between two cells.
    pub lookahead: Span,
    /// By cell: its side, 0 or 1, if every wire between two cells joins the sides; else empty.
    pub sides: Vec<u8>,
    /// Why there is one cell, if there is.
    pub whole: Option<String>,
}

impl Partition {
    /// One cell, for a reason.
    pub fn whole(graph: &Graph, why: String) -> Self {
        let cell_of = vec![0; graph.nodes.len()];
        Partition { cell_of, cells: 1, lookahead: Span::ZERO, sides: vec![], whole: Some(why) }
    }

    /// The cells of `graph`, whose links have these delays.
    pub fn new(graph: &Graph, delays: &[Span], cut: Cut) -> Self {
        if cut == Cut::Large && graph.links.len() < SMALLEST {
            return Self::whole(graph, format!("the network has fewer than {SMALLEST} ports"));
        }
        let mut groups = Groups::new(graph.nodes.len());
        for (link, delay) in graph.links.iter().zip(delays) {
            let ends = [link.from, link.to];
            if *delay < SHORTEST || ends.iter().any(|end| graph.role(*end) == Role::Host) {
                groups.join(link.from, link.to);
            }
        }
        let (cell_of, cells) = groups.numbers();
        if cells < 2 {
            let rule = format!("no wires of at least {SHORTEST} between switches divide the network");
            return Self::whole(graph, rule);
        }
        let ends = graph.links.iter().map(|link| [link.from, link.to].map(|end| cell_of[end.index()]));
        let between: Vec<([u32; 2], Span)> =
            ends.zip(delays.iter().copied()).filter(|([one, other], _)| one != other).collect();
        let lookahead = between.iter().map(|(_, delay)| *delay).min().unwrap_or(Span::ZERO);
        if lookahead == Span::ZERO {
            return Self::whole(graph, "no wire joins its parts".into());
        }
        let sides = sides(cells as usize, between.iter().map(|(ends, _)| *ends));
        Partition { cell_of, cells, lookahead, sides, whole: None }
    }
}

/// By cell: its side, if all of `wires` join two sides; else nothing. The first cell of each part is on side 0.
fn sides(cells: usize, wires: impl Iterator<Item = [u32; 2]>) -> Vec<u8> {
    let mut next_to = vec![vec![]; cells];
    for [one, other] in wires {
        next_to[one as usize].push(other);
        next_to[other as usize].push(one);
    }
    let mut side = vec![None; cells];
    for first in 0..cells as u32 {
        let mut found = if side[first as usize].is_none() { vec![(first, 0)] } else { vec![] };
        while let Some((cell, wanted)) = found.pop() {
            match side[cell as usize] {
                None => {
                    side[cell as usize] = Some(wanted);
                    found.extend(next_to[cell as usize].iter().map(|other| (*other, 1 - wanted)));
                }
                Some(known) if known != wanted => return vec![],
                Some(_) => {}
            }
        }
    }
    side.into_iter().flatten().collect()
}

/// Nodes in groups (union by smaller number).
struct Groups(Vec<u32>);

impl Groups {
    fn new(nodes: usize) -> Self {
        Groups((0..nodes as u32).collect())
    }

    fn find(&mut self, node: u32) -> u32 {
        let mut root = node;
        while self.0[root as usize] != root {
            self.0[root as usize] = self.0[self.0[root as usize] as usize];
            root = self.0[root as usize];
        }
        root
    }

    fn join(&mut self, a: NodeId, b: NodeId) {
        let (a, b) = (self.find(a.0), self.find(b.0));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// By node the number of its group, in the order of the groups' first nodes, and how many there are.
    fn numbers(mut self) -> (Vec<u32>, u32) {
        let mut of_root = vec![Index::NONE; self.0.len()];
        let mut groups = 0;
        let numbers = (0..self.0.len() as u32).map(|node| {
            let number = &mut of_root[self.find(node) as usize];
            if !number.is_some() {
                *number = Index::new(groups);
                groups += 1;
            }
            number.there()
        });
        (numbers.collect(), groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallows_units::Rate;

    /// Two hosts on each of three switches in a row; the wires between switches are given.
    fn row(wires: [Span; 2]) -> (Graph, Vec<Span>) {
        let mut graph = Graph::default();
        let switches: Vec<_> = (0..3).map(|i| graph.switch(format!("sw{i}"))).collect();
        for (i, switch) in switches.iter().enumerate() {
            for j in 0..2 {
                let host = graph.host(format!("h{i}{j}"));
                graph.link(*switch, host, Rate::gbps(10), Span::us(1));
            }
        }
        for (i, wire) in wires.into_iter().enumerate() {
            graph.link(switches[i], switches[i + 1], Rate::gbps(10), wire);
        }
        let delays = graph.links.iter().map(|link| link.delay).collect();
        (graph, delays)
    }

    #[test]
    fn a_switch_with_its_hosts_is_a_cell() {
        let (graph, delays) = row([Span::us(3), Span::us(2)]);
        let partition = Partition::new(&graph, &delays, Cut::Always);
        assert_eq!(partition.cell_of, [0, 1, 2, 0, 0, 1, 1, 2, 2]);
        assert_eq!((partition.cells, partition.lookahead, partition.whole), (3, Span::us(2), None));
        assert_eq!(partition.sides, [0, 1, 0]);
    }

    #[test]
    fn short_wires_join_cells() {
        let (graph, delays) = row([Span::ns(99), Span::us(2)]);
        let partition = Partition::new(&graph, &delays, Cut::Always);
        assert_eq!((partition.cells, partition.lookahead), (2, Span::us(2)));
        let (graph, delays) = row([Span::ns(99), Span::ZERO]);
        let partition = Partition::new(&graph, &delays, Cut::Always);
        assert_eq!(
            partition.whole.as_deref(),
            Some("no wires of at least 100ns between switches divide the network")
        );
    }

    #[test]
    fn cells_in_an_odd_ring_have_no_sides() {
        let ring = |cells: u32| sides(cells as usize, (0..cells).map(|i| [i, (i + 1) % cells]));
        assert_eq!(ring(4), [0, 1, 0, 1]);
        assert!(ring(5).is_empty());
        assert_eq!(sides(4, [[1, 0], [3, 2]].into_iter()), [0, 1, 0, 1]);
    }

    #[test]
    fn a_small_network_is_one_cell() {
        let (graph, delays) = row([Span::us(3), Span::us(2)]);
        let partition = Partition::new(&graph, &delays, Cut::Large);
        assert_eq!(partition.whole.as_deref(), Some("the network has fewer than 512 ports"));
    }
}
