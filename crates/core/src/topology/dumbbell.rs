//! Two switches, with hosts on both sides and one link between them.
//!
//! ```text
//!   l0 ---.                     .--- r0
//!   l1 ----[left]====[right]---- r1
//!   ..    |   rate, delay       |    ..
//!   l7 ---'                     `--- r7
//! ```
//!
//! The link between the switches is the bottleneck of everything that crosses it: `left->right` for
//! traffic from left to right, and `right->left` for the way back.

use crate::params;
use crate::params::Faults;
use crate::routing::graph::Graph;
use shallows_units::{Rate, Span};

params! {
    /// Two switches joined by one link, with hosts `l0`, `l1` .. and `r0`, `r1` .. on either side.
    ///
    /// The switches are called `left` and `right`; the bottleneck is the port `left->right`.
    pub struct Settings {
        /// Number of hosts `l0`, `l1` .. on the left.
        left: u64 = 8, "[1, 100000]", "as many as a star has senders";
        /// Number of hosts `r0`, `r1` .. on the right.
        right: u64 = 8, "[1, 100000]", "a receiver a sender";
        /// Rate of the link between the switches.
        rate: Rate = "10Gbps", "", "the faster testbed of Alizadeh 2010";
        /// One-way delay of the link between the switches. A round trip crosses it twice, and four
        /// hosts' links.
        delay: Span = "10us", "[0s, 100000s]", "with `access_delay`, a base round trip of 100us, as inside a data centre";
        /// Rate of the hosts' links; `"none"` is `rate`.
        access_rate: Option<Rate> = "none", "", "a host alone can fill the bottleneck";
        /// One-way delay of the hosts' links.
        access_delay: Span = "20us", "[0s, 100000s]", "with `delay`, a base round trip of 100us, as inside a data centre";
    }
}

impl Settings {
    /// Builds the network.
    pub fn build(&self, _faults: &mut Faults) -> Graph {
        let mut graph = Graph::default();
        let left_hosts = graph.hosts_named("l", self.left);
        let right_hosts = graph.hosts_named("r", self.right);
        let (left, right) = (graph.switch("left"), graph.switch("right"));
        graph.link(left, right, self.rate, self.delay);
        let rate = self.access_rate.unwrap_or(self.rate);
        for host in left_hosts {
            graph.link(host, left, rate, self.access_delay);
        }
        for host in right_hosts {
            graph.link(right, host, rate, self.access_delay);
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::tests::{build, ports};
    use serde_json::json;

    #[test]
    fn one_link_joins_two_sides() {
        let (graph, faults) =
            build(json!({"kind": "dumbbell", "left": 1, "right": 1, "access_rate": "40Gbps"}));
        assert_eq!(faults, [""; 0]);
        assert_eq!(
            ports(&graph),
            [
                "left->right 10Gbps 10us",
                "right->left 10Gbps 10us",
                "l0->left 40Gbps 20us",
                "left->l0 40Gbps 20us",
                "right->r0 40Gbps 20us",
                "r0->right 40Gbps 20us",
            ]
        );
    }
}
