//! Rail-optimised: card r of every server is joined to leaf r, and the leaves to spines above.
//!
//! ```text
//!            [spine0]        [spine1]
//!            /  |   \        /  |   \         every leaf is joined to every spine
//!      [leaf0]   [leaf1]   [leaf2]            leaf r has card r of every server: rail r
//!        |  \      |  \      |  \
//!   server0.rail0  server0.rail1  ..          three cards of server 0, each a host of its own
//!   server1.rail0  server1.rail1  ..          three cards of server 1
//! ```
//!
//! Source: the rail-optimised fabric of NVIDIA's DGX SuperPOD reference architecture, as described in Wang et al., "Rail-only: A
//! Low-Cost High-Performance Network for Training LLMs with Trillion Parameters", Hot Interconnects 2024. Cards of
//! equal rank are two links apart, others four, also those of one server.
//! With `scale_up_rate` a server has a scale-up domain too (NVLink): each of its cards has a second link, to the switch
//! `server0.scaleup`. Packets between cards of one server take it, since that way is two links long; a card forwards nothing,
//! so packets between servers never do. With `spines = 0` the fabric is rail-only.
//! Left out: relays over another card of the server (PXN), several leaves a rail, and what NVLink does on its own: its packets,
//! its credits and its reductions. The scale-up switch is one more switch that queues as `[queue]` says.

use super::MAX_NODES;
use crate::params;
use crate::params::{Code, Faults};
use crate::routing::graph::Graph;
use shallows_units::{Rate, Span};

params! {
    /// Servers of several network cards: card r of each on leaf r, and spines above. A card is a host.
    ///
    /// Hosts are called `server0.rail3`, so that `server0.*` are a server and `*.rail3` a rail; switches `leaf3` and `spine0`.
    pub struct Settings {
        /// Servers.
        servers: u64 = 4, "[2, 100000]", "half of a small pod";
        /// Network cards of a server, each on a leaf of its own: rails.
        rails: u64 = 8, "[1, 1000]", "NVIDIA DGX H100: eight cards";
        /// Spine switches.
        /// With none the rails are not joined: cards of different rails do not reach each other, but in their server with
        /// `scale_up_rate`.
        spines: u64 = 4, "[0, 100000]", "as many as a leaf has hosts: no oversubscription";
        /// Rate of the cards' links.
        rate: Rate = "100Gbps", "", "cards of training clusters have 100 Gb/s or more";
        /// Rate of each link between a leaf and a spine; `"none"` is `rate`.
        uplink_rate: Option<Rate> = "none", "", "ports of one kind";
        /// One-way delay of the cards' links.
        delay: Span = "1us", "[0s, 100000s]", "Li 2019 (HPCC) s.5.1: each link has 1us";
        /// One-way delay of the links between leaves and spines; `"none"` is `delay`.
        uplink_delay: Option<Span> = "none", "[0s, 100000s]", "Li 2019 (HPCC) s.5.1: each link has 1us";
        /// Rate of a card's link to the switch of its server's scale-up domain (NVLink), each way; `"none"`: a server has no such
        /// network, and its cards reach each other over the fabric.
        scale_up_rate: Option<Rate> = "none", "", "cards alone; NVIDIA DGX H100 has 450 GB/s each way, \"3600Gbps\"";
        /// One-way delay of these links.
        scale_up_delay: Span = "250ns", "[0s, 100000s]", "shorter than a cable between racks; choose by your server";
    }
}

impl Settings {
    /// Builds the network; one too large to simulate is a fault.
    pub fn build(&self, faults: &mut Faults) -> Graph {
        let mut graph = Graph::default();
        let (servers, rails) = (self.servers, self.rails);
        if (servers + 1) * (rails + 1) + self.spines > MAX_NODES || rails * self.spines > MAX_NODES {
            let rule =
                format!("must make <= {MAX_NODES} nodes, and as many uplinks, with `rails` and `spines`");
            faults.add("topology.servers", Code::TooMany.rule(rule), &servers.into());
            return graph;
        }
        let cards: Vec<Vec<_>> = (0..servers)
            .map(|server| (0..rails).map(|rail| graph.host(format!("server{server}.rail{rail}"))).collect())
            .collect();
        let leaves: Vec<_> = (0..rails).map(|rail| graph.switch(format!("leaf{rail}"))).collect();
        let spines: Vec<_> = (0..self.spines).map(|i| graph.switch(format!("spine{i}"))).collect();
        for cards in &cards {
            for (card, leaf) in cards.iter().zip(&leaves) {
                graph.link(*card, *leaf, self.rate, self.delay);
            }
        }
        let rate = self.uplink_rate.unwrap_or(self.rate);
        for leaf in leaves {
            for spine in &spines {
                graph.link(leaf, *spine, rate, self.uplink_delay.unwrap_or(self.delay));
            }
        }
        if let Some(rate) = self.scale_up_rate {
            for (server, cards) in cards.into_iter().enumerate() {
                let switch = graph.switch(format!("server{server}.scaleup"));
                cards.into_iter().for_each(|card| graph.link(card, switch, rate, self.scale_up_delay));
            }
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use crate::params::Names;
    use crate::routing::graph::Role;
    use crate::routing::select::select;
    use crate::routing::table::tests::all_paths;
    use crate::topology::tests::{build, cut, distances, ports};
    use serde_json::json;

    /// G servers of R cards and S spines: G R hosts, R + S switches, G R + R S cables.
    #[test]
    fn counts_follow_from_servers_rails_and_spines() {
        for (g, r, s) in [(4, 8, 4), (2, 1, 1), (3, 2, 5), (16, 4, 1)] {
            let (graph, faults) = build(json!({"kind": "rail", "servers": g, "rails": r, "spines": s}));
            assert_eq!(faults, [""; 0]);
            assert_eq!((graph.ids(Role::Host).count(), graph.ids(Role::Switch).count()), (g * r, r + s));
            assert_eq!(graph.links.len(), 2 * (g * r + r * s));
            // A card has G R - 1 peers: G - 1 are on its rail, two links away, and all others four.
            let far = distances(&graph);
            assert_eq!(far.len(), g * r * (g * r - 1), "all hosts reach each other");
            assert_eq!(far.iter().filter(|links| **links == 2).count(), g * r * (g - 1));
            assert_eq!(far.iter().filter(|links| **links == 4).count(), g * r * g * (r - 1));
        }
    }

    /// Half of R rails is joined to the other half by R S / 2 cables, if the spines stand on one side.
    #[test]
    fn halves_of_the_rails_meet_at_the_spines() {
        let (graph, _) = build(json!({"kind": "rail", "servers": 6, "rails": 4, "spines": 3}));
        let near = |name: &str| {
            let rail = name.split_once(".rail").map(|(_, rail)| rail).or_else(|| name.strip_prefix("leaf"));
            rail.is_some_and(|rail| rail.parse::<u64>().unwrap() < 2)
        };
        assert_eq!(cut(&graph, near), 4 * 3 / 2);
    }

    #[test]
    fn a_rail_has_a_leaf_and_other_rails_a_path_a_spine() {
        let (graph, _) = build(json!({"kind": "rail", "uplink_rate": "400Gbps", "uplink_delay": "2us"}));
        let paths = |from: &str, to: &str| -> Vec<Vec<String>> {
            let found = all_paths(&graph, graph.find(from).unwrap(), graph.find(to).unwrap());
            found.iter().map(|path| path.iter().map(|link| graph.port_name(*link)).collect()).collect()
        };
        assert_eq!(
            paths("server0.rail3", "server2.rail3"),
            [["server0.rail3->leaf3", "leaf3->server2.rail3"]]
        );
        assert_eq!(paths("server0.rail3", "server0.rail4").len(), 4);
        let ports = ports(&graph);
        for port in
            ["server3.rail7->leaf7 100Gbps 1us", "leaf7->spine0 400Gbps 2us", "spine3->leaf0 400Gbps 2us"]
        {
            assert!(ports.iter().any(|p| p == port), "{port} in {ports:?}");
        }
    }

    /// Cards of one server are two links apart over their scale-up switch, and no way between servers leads over one.
    #[test]
    fn a_scale_up_domain_joins_the_cards_of_a_server_alone() {
        let scale_up = json!({"kind": "rail", "servers": 3, "rails": 4, "scale_up_rate": "3600Gbps"});
        let (graph, _) = build(scale_up);
        let paths = |from: &str, to: &str| -> Vec<Vec<String>> {
            let found = all_paths(&graph, graph.find(from).unwrap(), graph.find(to).unwrap());
            found.iter().map(|path| path.iter().map(|link| graph.port_name(*link)).collect()).collect()
        };
        let inside = ["server0.rail3->server0.scaleup", "server0.scaleup->server0.rail1"];
        assert_eq!(paths("server0.rail3", "server0.rail1"), [inside]);
        assert_eq!(
            paths("server0.rail3", "server2.rail3"),
            [["server0.rail3->leaf3", "leaf3->server2.rail3"]]
        );
        let across = paths("server0.rail3", "server1.rail0");
        assert_eq!(across.len(), 4);
        assert!(across.iter().flatten().all(|port| !port.contains("scaleup")), "{across:?}");
        let ports = ports(&graph);
        let port = "server1.scaleup->server1.rail0 3600Gbps 250ns";
        assert!(ports.iter().any(|p| p == port), "{ports:?}");
    }

    /// Without spines the cards of different rails reach each other in their server alone.
    #[test]
    fn a_rail_only_fabric_joins_rails_in_servers() {
        let (graph, faults) = build(
            json!({"kind": "rail", "servers": 3, "rails": 2, "spines": 0, "scale_up_rate": "3600Gbps"}),
        );
        assert_eq!(faults, [""; 0]);
        // A card has five peers: two are on its rail and one is in its server.
        assert_eq!(distances(&graph), [2; 6 * 3]);
    }

    /// Patterns pick a server or a rail, and ranges some of a server's cards.
    #[test]
    fn names_pick_servers_and_rails() {
        let (graph, _) = build(json!({"kind": "rail"}));
        let count = |pattern: &str| select(&graph, &Names(vec![pattern.into()])).unwrap().len();
        assert_eq!((count("server0.*"), count("*.rail3"), count("server1.rail2..server1.rail5")), (8, 4, 4));
    }

    #[test]
    fn a_fabric_too_large_is_refused() {
        let (_, faults) = build(json!({"kind": "rail", "servers": 100_000, "rails": 1000}));
        let rule = "must make <= 1000000 nodes, and as many uplinks, with `rails` and `spines`";
        assert_eq!(faults, [format!("topology.servers: {rule}, got 100000")]);
    }
}
