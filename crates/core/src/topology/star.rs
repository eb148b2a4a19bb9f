//! One switch, with every host on a link of its own.
//!
//! ```text
//!   s0 ---.
//!   s1 ----[switch]---- r0
//!   ..    |        `--- ..
//!   s7 ---'
//! ```
//!
//! With one receiver the port `switch->r0` is the bottleneck: incast, and N long flows through one
//! port. Rates and delays apply to each link and are the same in both directions.

use crate::params;
use crate::params::Faults;
use crate::routing::graph::Graph;
use shallows_units::{Rate, Span};

params! {
    /// One switch with senders `s0`, `s1` .. and receivers `r0`, `r1` .. on links of their own.
    ///
    /// The switch is called `switch`; a receiver's bottleneck is the port `switch->r0`.
    pub struct Settings {
        /// Number of hosts `s0`, `s1` ...
        senders: u64 = 8, "[1, 100000]", "enough flows to share a port, few enough to watch";
        /// Number of hosts `r0`, `r1` ...
        receivers: u64 = 1, "[1, 100000]", "one bottleneck";
        /// Rate of the receivers' links, and of the senders' unless `sender_rate` says otherwise.
        rate: Rate = "10Gbps", "", "the faster testbed of Alizadeh 2010";
        /// Rate of the senders' links; `"none"` is `rate`.
        sender_rate: Option<Rate> = "none", "", "hosts of one kind";
        /// One-way delay of the receivers' links, and of the senders' unless `sender_delay` says
        /// otherwise. A round trip crosses four links.
        delay: Span = "25us", "[0s, 100000s]", "a base round trip of 100us, as inside a data centre";
        /// One-way delay of the senders' links; `"none"` is `delay`.
        sender_delay: Option<Span> = "none", "[0s, 100000s]", "hosts of one kind";
    }
}

impl Settings {
    /// Builds the network.
    pub fn build(&self, _faults: &mut Faults) -> Graph {
        let mut graph = Graph::default();
        let senders = graph.hosts_named("s", self.senders);
        let receivers = graph.hosts_named("r", self.receivers);
        let switch = graph.switch("switch");
        let (rate, delay) = (self.sender_rate.unwrap_or(self.rate), self.sender_delay.unwrap_or(self.delay));
        for sender in senders {
            graph.link(sender, switch, rate, delay);
        }
        for receiver in receivers {
            graph.link(switch, receiver, self.rate, self.delay);
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::tests::{build, ports};
    use serde_json::json;

    #[test]
    fn senders_may_differ_from_receivers() {
        let (graph, faults) =
            build(json!({"kind": "star", "senders": 1, "sender_rate": "40Gbps", "sender_delay": "5us"}));
        assert_eq!(faults, [""; 0]);
        assert_eq!(
            ports(&graph),
            [
                "s0->switch 40Gbps 5us",
                "switch->s0 40Gbps 5us",
                "switch->r0 10Gbps 25us",
                "r0->switch 10Gbps 25us",
            ]
        );
    }

    #[test]
    fn faulty_numbers_build_no_giant() {
        let (graph, faults) = build(json!({"kind": "star", "senders": 1e15 as u64}));
        assert_eq!(faults, ["topology.senders: must be <= 100000, got 1000000000000000"]);
        assert_eq!(graph.nodes.len(), 10);
    }
}
