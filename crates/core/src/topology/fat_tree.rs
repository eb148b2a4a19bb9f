//! Fat tree: a three-tier Clos network of equal k-port switches.
//!
//! ```text
//!   [core0] [core1]      [core2] [core3]          (k/2)^2 core switches
//!     to agg p.0 of         to agg p.1 of
//!      every pod p           every pod p
//!   pod 0: [agg0.0]   [agg0.1]     pod 1: ...     k pods, each with k/2 aggregation
//!             |    \ /    |                       and k/2 edge switches
//!          [edge0.0] [edge0.1]
//!            h0  h1    h2  h3                     k/2 hosts an edge switch: k^3/4 in all
//! ```
//!
//! Source: Al-Fares, Loukissas and Vahdat, SIGCOMM 2008, s.2.2. Core switch c is joined to aggregation
//! switch floor(c / (k/2)) of each pod. Two hosts have 1 shortest path under one edge switch, k/2 within a
//! pod and (k/2)^2 between pods.
//! With `planes` a host's card has a port in each of several such trees, which have no link in common (multi-plane networks as third-party
//! notes on MRC 1.0 describe them).
//! Left out: the paper's two-level routing tables and flow scheduler; paths are shared as the run's `ecmp` says.

use super::{MAX_NODES, in_plane};
use crate::params;
use crate::params::{Code, Faults};
use crate::routing::graph::{Graph, NodeId};
use shallows_units::{Rate, Span};

params! {
    /// A fat tree of k-port switches with hosts `h0`, `h1` ...
    ///
    /// Switches are called `edge0.0` (pod, place), `agg0.0` and `core0`, and with several planes `p0.edge0.0`, `p1.edge0.0` ..; several
    /// equal paths are shared as the run's `ecmp` says.
    pub struct Settings {
        /// Ports of a switch: k pods with (k/2)^2 hosts each. Must be even.
        k: u64 = 4, "[2, 100]", "Al-Fares 2008 figure 3: 16 hosts";
        /// Hosts at each edge switch; `"none"` is k/2, and more oversubscribe the fabric.
        hosts_per_edge: Option<u64> = "none", "[1, 100000]", "Al-Fares 2008 s.2.2";
        /// Rate of the hosts' links.
        rate: Rate = "10Gbps", "", "the faster testbed of Alizadeh 2010";
        /// Rate of the links from edge to aggregation; `"none"` is `rate`.
        aggregation_rate: Option<Rate> = "none", "", "Al-Fares 2008: identical switches";
        /// Rate of the links from aggregation to core; `"none"` is `rate`.
        core_rate: Option<Rate> = "none", "", "Al-Fares 2008: identical switches";
        /// One-way delay of the hosts' links.
        delay: Span = "5us", "[0s, 100000s]", "with `uplink_delay`, a base round trip of 100us between pods";
        /// One-way delay of the links between switches.
        uplink_delay: Span = "10us", "[0s, 100000s]", "with `delay`, a base round trip of 100us between pods";
        /// Trees side by side. Each host has a port of `rate` in each.
        planes: u64 = 1, "[1, 64]", "one; notes on MRC 1.0: eight for a card of 800 Gb/s";
    }
    facts {
        renamed: &[("switch_delay", "uplink_delay", "the delay of the links between switches. A switch has a delay of its \
            own as latency in [switch.NAME]")],
    }
}

impl Settings {
    /// Builds the network; one too large to simulate, or of odd k, is a fault.
    pub fn build(&self, faults: &mut Faults) -> Graph {
        let mut graph = Graph::default();
        let half = self.k / 2;
        if self.k % 2 == 1 {
            faults.add(
                "topology.k",
                Code::OutOfRange.rule("must be even: half of a switch's ports lead up"),
                &self.k.into(),
            );
            return graph;
        }
        let hosts_per_edge = self.hosts_per_edge.unwrap_or(half);
        let hosts = self.k * half * hosts_per_edge;
        // With several planes the ports of hosts may be more than the nodes.
        let ports = if self.planes > 1 { self.planes * hosts } else { hosts };
        if ports.max(hosts + self.planes * 5 * half * half) > MAX_NODES {
            let rule = format!("must make <= {MAX_NODES} nodes with `hosts_per_edge`");
            faults.add("topology.k", Code::TooMany.rule(rule), &self.k.into());
            return graph;
        }
        let hosts = graph.hosts_named("h", hosts);
        for plane in 0..self.planes {
            self.build_plane(plane, &hosts, hosts_per_edge, &mut graph);
        }
        graph
    }

    fn build_plane(&self, plane: u64, hosts: &[NodeId], hosts_per_edge: u64, graph: &mut Graph) {
        let half = self.k / 2;
        let name = |switch: String| in_plane(plane, self.planes, switch);
        let core: Vec<_> = (0..half * half).map(|i| graph.switch(name(format!("core{i}")))).collect();
        let aggregation_rate = self.aggregation_rate.unwrap_or(self.rate);
        let core_rate = self.core_rate.unwrap_or(self.rate);
        let mut hosts = hosts.chunks(hosts_per_edge as usize);
        for pod in 0..self.k {
            let edge: Vec<_> = (0..half).map(|i| graph.switch(name(format!("edge{pod}.{i}")))).collect();
            let agg: Vec<_> = (0..half).map(|i| graph.switch(name(format!("agg{pod}.{i}")))).collect();
            for (edge, hosts) in edge.iter().zip(&mut hosts) {
                for host in hosts {
                    graph.link(*host, *edge, self.rate, self.delay);
                }
                for agg in &agg {
                    graph.link(*edge, *agg, aggregation_rate, self.uplink_delay);
                }
            }
            for (agg, core) in agg.iter().zip(core.chunks(half as usize)) {
                for core in core {
                    graph.link(*agg, *core, core_rate, self.uplink_delay);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::routing::graph::Role;
    use crate::routing::table::tests::all_paths;
    use crate::topology::tests::{build, ports};
    use serde_json::json;

    /// Al-Fares 2008 s.2.2: k^3/4 hosts, 5k^2/4 switches, each with k ports.
    #[test]
    fn counts_are_those_of_the_paper() {
        for k in [2u64, 4, 6, 8] {
            let (graph, faults) = build(json!({"kind": "fat-tree", "k": k}));
            assert_eq!(faults, [""; 0]);
            assert_eq!(graph.ids(Role::Host).count() as u64, k * k * k / 4);
            assert_eq!(graph.ids(Role::Switch).count() as u64, 5 * k * k / 4);
            for switch in graph.ids(Role::Switch) {
                let out = graph.links.iter().filter(|l| l.from == switch).count() as u64;
                assert_eq!(out, k, "{}", graph.name(switch));
            }
        }
    }

    /// Each plane is a tree of its own: between pods there are as many paths in each.
    #[test]
    fn planes_are_trees_side_by_side() {
        let (graph, faults) = build(json!({"kind": "fat-tree", "k": 4, "planes": 3}));
        assert_eq!(faults, [""; 0]);
        assert_eq!((graph.ids(Role::Host).count(), graph.ids(Role::Switch).count()), (16, 3 * 20));
        let [from, to] = ["h0", "h15"].map(|name| graph.find(name).unwrap());
        assert_eq!(all_paths(&graph, from, to).len(), 3 * 4);
        assert!(ports(&graph).iter().any(|port| port.starts_with("h5->p2.edge1.0 ")));
    }

    /// s.2.2: one path under an edge switch, k/2 in a pod, (k/2)^2 between pods; 2, 4 and 6 links long.
    #[test]
    fn paths_are_as_many_and_as_long_as_in_the_paper() {
        for k in [4u64, 6] {
            let half = k / 2;
            let (graph, _) = build(json!({"kind": "fat-tree", "k": k}));
            let host = |i: u64| graph.find(&format!("h{i}")).unwrap();
            for (to, paths, links) in [
                (1, 1, 2),
                (half, half, 4),
                (half * half, half * half, 6),
                (k * half * half - 1, half * half, 6),
            ] {
                let found = all_paths(&graph, host(0), host(to));
                assert_eq!(found.len() as u64, paths, "k {k}, to h{to}");
                assert!(found.iter().all(|path| path.len() == links));
                let distinct: std::collections::BTreeSet<_> = found.iter().collect();
                assert_eq!(distinct.len(), found.len());
            }
        }
    }

    #[test]
    fn tiers_have_their_own_rates() {
        let (graph, _) =
            build(json!({"kind": "fat-tree", "aggregation_rate": "40Gbps", "core_rate": "100Gbps",
            "hosts_per_edge": 6}));
        assert_eq!(graph.ids(Role::Host).count(), 4 * 2 * 6);
        let ports = ports(&graph);
        for port in ["h0->edge0.0 10Gbps 5us", "edge3.1->agg3.0 40Gbps 10us", "agg0.1->core3 100Gbps 10us"] {
            assert!(ports.iter().any(|p| p == port), "{port} in {ports:?}");
        }
    }

    #[test]
    fn the_old_name_of_a_setting_is_refused_with_the_new_one() {
        let (_, faults) = build(json!({"kind": "fat-tree", "switch_delay": "1us"}));
        let meaning = "the delay of the links between switches. A switch has a delay of its own as latency in [switch.NAME]";
        assert_eq!(
            faults,
            [format!("topology.switch_delay: is called uplink_delay now: {meaning}, got \"switch_delay\"")]
        );
        let (_, faults) = build(json!({"kind": "torus", "switch_delay": "1us", "switch_rate": "1Gbps"}));
        assert!(faults[0].contains("fabric_delay") && faults[1].contains("fabric_rate"), "{faults:?}");
        // Other topologies never had it.
        let (_, faults) = build(json!({"kind": "star", "switch_delay": "1us"}));
        assert!(faults[0].starts_with("topology.switch_delay: unknown key"), "{faults:?}");
    }

    #[test]
    fn odd_switches_are_refused() {
        let (_, faults) = build(json!({"kind": "fat-tree", "k": 5}));
        assert_eq!(faults, ["topology.k: must be even: half of a switch's ports lead up, got 5"]);
    }
}
