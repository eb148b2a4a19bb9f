//! Racks of hosts behind top-of-rack switches, which one more switch joins.
//!
//! ```text
//!              [S4]
//!          .----+----.
//!        [S1]  [S2]  [S3]
//!         /|\   /|\   /|\
//!       a0..a2 b0..b2 c0..c2      racks A, B, C
//! ```
//!
//! Source: Munir, "Improving Flow Completion Times in Data Center Networks" (NUST, 2012), figures 3.6 and
//! 4.3. Its hosts are numbered in the figure, which the text alone does not show; here each has its rack's
//! letter.

use super::MAX_NODES;
use crate::params;
use crate::params::Faults;
use crate::routing::graph::Graph;
use shallows_units::{Rate, Span};

params! {
    /// Racks of hosts (`a0`, `a1` .., `b0` ..) on switches `S1`, `S2` .., joined by one more switch.
    pub struct Settings {
        /// Racks, lettered from a on.
        racks: u64 = 3, "[2, 26]", "Munir 2012 figure 3.6: A, B, C";
        /// Hosts of each rack.
        hosts_per_rack: u64 = 3, "[1, 30000]", "Munir 2012 s.3.5: three are drawn";
        /// Rate of the hosts' links.
        rate: Rate = "1Gbps", "", "Munir 2012 s.3.5";
        /// Rate of the links between switches; `"none"` is `rate`.
        uplink_rate: Option<Rate> = "none", "", "Munir 2012 s.3.5: 1 Gb/s links";
        /// One-way delay of the hosts' links.
        delay: Span = "75us", "[0s, 100000s]", "Munir 2012 s.3.4.5: a round trip of 300us, in a rack four crossings";
        /// One-way delay of the links between switches; `"none"` is `delay`.
        uplink_delay: Option<Span> = "none", "[0s, 100000s]", "links of one kind";
    }
}

impl Settings {
    /// Builds the network.
    pub fn build(&self, _faults: &mut Faults) -> Graph {
        const { assert!(26 * 30_000 + 27 <= MAX_NODES) };
        let mut graph = Graph::default();
        let letters = ('a'..='z').take(self.racks as usize);
        let racks: Vec<_> =
            letters.map(|rack| graph.hosts_named(&rack.to_string(), self.hosts_per_rack)).collect();
        let tops: Vec<_> = (1..=self.racks).map(|i| graph.switch(format!("S{i}"))).collect();
        let root = graph.switch(format!("S{}", self.racks + 1));
        for (hosts, top) in racks.iter().zip(&tops) {
            for host in hosts {
                graph.link(*host, *top, self.rate, self.delay);
            }
        }
        for top in tops {
            let rate = self.uplink_rate.unwrap_or(self.rate);
            graph.link(top, root, rate, self.uplink_delay.unwrap_or(self.delay));
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::tests::{build, ports};
    use serde_json::json;

    #[test]
    fn three_racks_as_in_the_thesis() {
        let (graph, faults) =
            build(json!({"kind": "multi-rack", "uplink_rate": "10Gbps", "uplink_delay": "5us"}));
        assert_eq!(faults, [""; 0]);
        assert_eq!(graph.nodes.len(), 9 + 4);
        let ports = ports(&graph);
        assert_eq!(ports.len(), 2 * (9 + 3));
        for port in ["a0->S1 1Gbps 75us", "S3->c2 1Gbps 75us", "S2->S4 10Gbps 5us", "S4->S1 10Gbps 5us"] {
            assert!(ports.iter().any(|p| p == port), "{port} in {ports:?}");
        }
    }
}
