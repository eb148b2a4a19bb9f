//! Leaf-spine: every leaf switch is joined to every spine switch, and hosts stand at the leaves.
//!
//! ```text
//!      [spine0]  [spine1]  [spine2]  [spine3]
//!         |   \  /  each to each leaf  \  |
//!      [leaf0]   [leaf1]   [leaf2]   [leaf3]
//!        /|\       /|\       /|\       /|\
//!      h0..h3    h4..h7   h8..h11   h12..h15
//! ```
//!
//! Source: the two-tier Clos network (Clos 1953) as used by Alizadeh et al., SIGCOMM 2013 (pFabric), s.5.
//! Hosts under two leaves have one shortest path a spine. A leaf's oversubscription is the rate of its
//! hosts over the rate of its uplinks.
//! With `planes` a host's card has a port in each of several such networks, which have no link in common (multi-plane networks as
//! third-party notes on MRC 1.0 describe them: a card of 800 Gb/s with eight ports of 100 Gb/s).

use super::{MAX_NODES, in_plane};
use crate::params;
use crate::params::{Code, Faults};
use crate::routing::graph::Graph;
use shallows_units::{Rate, Span};

params! {
    /// Leaves with hosts `h0`, `h1` .., each leaf joined to each spine.
    ///
    /// Switches are called `leaf0` .. and `spine0` .., and with several planes `p0.leaf0`, `p1.leaf0` ..; several equal paths are shared
    /// as the run's `ecmp` says.
    pub struct Settings {
        /// Leaf switches.
        leaves: u64 = 4, "[2, 100000]", "four racks";
        /// Spine switches.
        spines: u64 = 4, "[1, 100000]", "as many as a leaf has hosts: no oversubscription";
        /// Hosts at each leaf.
        hosts_per_leaf: u64 = 4, "[1, 100000]", "sixteen hosts";
        /// Rate of the hosts' links.
        rate: Rate = "10Gbps", "", "the faster testbed of Alizadeh 2010";
        /// Rate of each link between a leaf and a spine; `"none"` is `rate`, or the rate that `oversubscription` gives.
        uplink_rate: Option<Rate> = "none", "", "ports of one kind";
        /// Rate of a leaf's hosts over the rate of its uplinks, which sets `uplink_rate`; `"none"` leaves it.
        oversubscription: Option<f64> = "none", "(0, 1000]", "either this or `uplink_rate`";
        /// One-way delay of the hosts' links.
        delay: Span = "15us", "[0s, 100000s]", "with `uplink_delay`, a base round trip of 100us across the spine";
        /// One-way delay of the links between switches.
        uplink_delay: Span = "10us", "[0s, 100000s]", "with `delay`, a base round trip of 100us across the spine";
        /// Networks of leaves and spines side by side. Each host has a port of `rate` in each.
        planes: u64 = 1, "[1, 64]", "one; notes on MRC 1.0: eight for a card of 800 Gb/s";
    }
}

impl Settings {
    /// Builds the network; one too large to simulate is a fault.
    pub fn build(&self, faults: &mut Faults) -> Graph {
        let mut graph = Graph::default();
        let hosts = self.leaves * self.hosts_per_leaf;
        let nodes = hosts + self.planes * (self.leaves + self.spines);
        let links = self.planes * (self.leaves * self.spines).max(if self.planes > 1 { hosts } else { 0 });
        if nodes > MAX_NODES || links > MAX_NODES {
            let rule = format!(
                "must make <= {MAX_NODES} nodes, and as many uplinks, with `spines` and `hosts_per_leaf`"
            );
            faults.add("topology.leaves", Code::TooMany.rule(rule), &self.leaves.into());
            return graph;
        }
        let uplink_rate = self.uplink_rate(faults);
        let hosts = graph.hosts_named("h", self.leaves * self.hosts_per_leaf);
        for plane in 0..self.planes {
            let name = |switch: String| in_plane(plane, self.planes, switch);
            let leaves: Vec<_> = (0..self.leaves).map(|i| graph.switch(name(format!("leaf{i}")))).collect();
            let spines: Vec<_> = (0..self.spines).map(|i| graph.switch(name(format!("spine{i}")))).collect();
            for (hosts, leaf) in hosts.chunks(self.hosts_per_leaf as usize).zip(&leaves) {
                for host in hosts {
                    graph.link(*host, *leaf, self.rate, self.delay);
                }
            }
            for leaf in leaves {
                for spine in &spines {
                    graph.link(leaf, *spine, uplink_rate, self.uplink_delay);
                }
            }
        }
        graph
    }

    fn uplink_rate(&self, faults: &mut Faults) -> Rate {
        let Some(ratio) = self.oversubscription else { return self.uplink_rate.unwrap_or(self.rate) };
        if self.uplink_rate.is_some() {
            let rule = "must be \"none\" if `uplink_rate` is given: one follows from the other";
            faults.add("topology.oversubscription", Code::Conflict.rule(rule), &ratio.into());
        }
        let down = self.rate.as_bps() as f64 * self.hosts_per_leaf as f64;
        Rate::bps(((down / (ratio * self.spines as f64)) as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::tests::{build, ports};
    use serde_json::json;

    #[test]
    fn every_leaf_meets_every_spine() {
        let (graph, faults) =
            build(json!({"kind": "leaf-spine", "leaves": 2, "spines": 3, "hosts_per_leaf": 1}));
        assert_eq!(faults, [""; 0]);
        assert_eq!(graph.nodes.len(), 2 + 2 + 3);
        let ports = ports(&graph);
        assert_eq!(ports.len(), 2 * (2 + 2 * 3));
        for port in ["h1->leaf1 10Gbps 15us", "leaf0->spine2 10Gbps 10us", "spine2->leaf1 10Gbps 10us"] {
            assert!(ports.iter().any(|p| p == port), "{port} in {ports:?}");
        }
    }

    #[test]
    fn oversubscription_sets_the_uplinks() {
        // 4 hosts of 10 Gb/s over 2 spines at 4:1 leave 10 Gb/s for both uplinks.
        let (graph, _) =
            build(json!({"kind": "leaf-spine", "spines": 2, "hosts_per_leaf": 4, "oversubscription": 4.0}));
        assert!(ports(&graph).iter().any(|p| p == "leaf0->spine0 5Gbps 10us"));
        let both = json!({"kind": "leaf-spine", "oversubscription": 4.0, "uplink_rate": "1Gbps"});
        assert!(build(both).1[0].starts_with("topology.oversubscription: must be \"none\""));
    }

    /// Each plane is a network of its own, and the ports of a host stand in the order of the planes.
    #[test]
    fn planes_have_no_link_in_common() {
        let (graph, faults) =
            build(json!({"kind": "leaf-spine", "leaves": 2, "spines": 3, "hosts_per_leaf": 2, "planes": 4}));
        assert_eq!(faults, [""; 0]);
        assert_eq!((graph.nodes.len(), graph.links.len()), (4 + 4 * 5, 4 * 2 * (4 + 2 * 3)));
        let plane = |name: &str| name.split_once('.').map(|(plane, _)| plane.to_owned());
        for link in &graph.links {
            let [from, to] = [link.from, link.to].map(|end| plane(graph.name(end)));
            assert!(from.is_none() || to.is_none() || from == to, "{from:?} {to:?}");
        }
        let own: Vec<String> = ports(&graph).into_iter().filter(|port| port.starts_with("h3->")).collect();
        let expected = [0, 1, 2, 3].map(|plane| format!("h3->p{plane}.leaf1 10Gbps 15us"));
        assert_eq!(own, expected);
    }

    #[test]
    fn a_fabric_too_large_is_refused() {
        let (_, faults) = build(json!({"kind": "leaf-spine", "leaves": 100_000, "hosts_per_leaf": 100_000}));
        assert!(faults[0].starts_with("topology.leaves: must make <= 1000000 nodes"), "{faults:?}");
    }
}
