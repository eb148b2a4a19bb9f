//! A tree of switches, with hosts at its leaves and, if wanted, at its root.
//!
//! ```text
//!                 r0
//!                  |
//!                [sw0]              level 1: the root
//!           .------+------.
//!         [sw1]  [sw2]  [sw3]       level 2: fanout 3, here the leaves
//!          /|\    /|\    /|\
//!         h0..2  h3..5  h6..8       hosts_per_leaf 3
//! ```
//!
//! Switches are numbered from the root down and from left to right, hosts from left to right. What
//! the leaves' hosts send to `r0` meets at the leaves' uplinks, then at `sw0->r0`.

use super::MAX_NODES;
use crate::params;
use crate::params::{Code, Faults};
use crate::routing::graph::Graph;
use shallows_units::{Rate, Span};

params! {
    /// A tree of switches with hosts `h0`, `h1` .. at the leaves and `r0`, `r1` .. at the root.
    ///
    /// The root is switch `sw0`; the others count on from it, level by level.
    pub struct Settings {
        /// Levels of switches; 1 is the root alone, which then is the leaf.
        levels: u64 = 2, "[1, 16]", "a root and top-of-rack switches";
        /// Switches below each switch that is not a leaf.
        fanout: u64 = 3, "[1, 1000]", "three racks";
        /// Hosts `h0`, `h1` .. at each leaf.
        hosts_per_leaf: u64 = 3, "[1, 100000]", "nine senders in three racks";
        /// Hosts `r0`, `r1` .. at the root.
        root_hosts: u64 = 1, "[0, 100000]", "one receiver for all";
        /// Rate of the hosts' links, those at the root too.
        rate: Rate = "10Gbps", "", "the faster testbed of Alizadeh 2010";
        /// Rate of the links between switches; `"none"` is `rate`.
        uplink_rate: Option<Rate> = "none", "", "ports of one kind";
        /// One-way delay of every link.
        delay: Span = "15us", "[0s, 100000s]", "a base round trip of 90us from leaf to root host, as inside a data centre";
    }
}

impl Settings {
    /// Builds the network; a tree too large to simulate is a fault.
    pub fn build(&self, faults: &mut Faults) -> Graph {
        let mut graph = Graph::default();
        if self.nodes().is_none_or(|nodes| nodes > MAX_NODES) {
            let rule = format!("must make <= {MAX_NODES} nodes with this `levels` and `hosts_per_leaf`");
            faults.add("topology.fanout", Code::TooMany.rule(rule), &self.fanout.into());
            return graph;
        }
        let leaves = self.fanout.pow(self.levels as u32 - 1);
        let hosts = graph.hosts_named("h", leaves * self.hosts_per_leaf);
        let root_hosts = graph.hosts_named("r", self.root_hosts);
        let root = graph.switch("sw0");
        let mut level = vec![root];
        let mut next = 1;
        let uplink_rate = self.uplink_rate.unwrap_or(self.rate);
        for _ in 1..self.levels {
            let mut below = vec![];
            for parent in level {
                for _ in 0..self.fanout {
                    let child = graph.switch(format!("sw{next}"));
                    graph.link(child, parent, uplink_rate, self.delay);
                    below.push(child);
                    next += 1;
                }
            }
            level = below;
        }
        for (hosts, leaf) in hosts.chunks(self.hosts_per_leaf as usize).zip(level) {
            for host in hosts {
                graph.link(*host, leaf, self.rate, self.delay);
            }
        }
        for host in root_hosts {
            graph.link(root, host, self.rate, self.delay);
        }
        graph
    }

    /// How many nodes there would be, if that can be counted.
    fn nodes(&self) -> Option<u64> {
        let (mut switches, mut leaves) = (1u64, 1u64);
        for _ in 1..self.levels {
            leaves = leaves.checked_mul(self.fanout)?;
            switches = switches.checked_add(leaves)?;
        }
        leaves.checked_mul(self.hosts_per_leaf)?.checked_add(switches)?.checked_add(self.root_hosts)
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::tests::{build, ports};
    use serde_json::json;

    #[test]
    fn three_racks_below_a_root() {
        let (graph, faults) = build(json!({"kind": "tree", "uplink_rate": "40Gbps"}));
        assert_eq!(faults, [""; 0]);
        assert_eq!(graph.nodes.len(), 9 + 1 + 4);
        let ports = ports(&graph);
        for port in [
            "sw1->sw0 40Gbps 15us",
            "sw0->sw3 40Gbps 15us",
            "h0->sw1 10Gbps 15us",
            "sw3->h8 10Gbps 15us",
            "sw0->r0 10Gbps 15us",
        ] {
            assert!(ports.iter().any(|p| p == port), "{port} in {ports:?}");
        }
    }

    #[test]
    fn levels_are_numbered_from_the_root() {
        let (graph, _) = build(json!({"kind": "tree", "levels": 3, "fanout": 2, "hosts_per_leaf": 1}));
        let ports = ports(&graph).join("\n");
        for link in ["sw2->sw0", "sw3->sw1", "sw6->sw2", "h3->sw6"] {
            assert!(ports.contains(link), "{link} in {ports}");
        }
    }

    #[test]
    fn a_forest_is_refused() {
        let (_, faults) = build(json!({"kind": "tree", "levels": 16, "fanout": 1000}));
        let rule = "must make <= 1000000 nodes with this `levels` and `hosts_per_leaf`";
        assert_eq!(faults, [format!("topology.fanout: {rule}, got 1000")]);
    }
}
