//! A chain of switches: one long path over every hop, and a crossing path over each.
//!
//! ```text
//!         a1            b1 a2            b2
//!          |             | |              |
//!   s ---[sw0]=========[sw1]============[sw2]--- r
//!             hop 1            hop 2
//! ```
//!
//! A flow `s->r` meets one competitor at every hop, `a1->b1`, `a2->b2` and so on, each of which meets
//! it alone. How the rates divide tells max-min fairness, proportional fairness and a bias against
//! long paths apart.

use crate::params;
use crate::params::Faults;
use crate::routing::graph::Graph;
use shallows_units::{Rate, Span};

params! {
    /// A chain of switches `sw0`, `sw1` .. with a long path `s` to `r` and a crossing path each hop.
    ///
    /// The crossing path of hop i goes from host `ai` to `bi`, counted from 1; its bottleneck is the
    /// port into switch `swi`, such as `sw0->sw1`.
    pub struct Settings {
        /// Number of links between switches.
        hops: u64 = 3, "[1, 10000]", "the least with a first, an inner and a last hop";
        /// Rate of the links between switches.
        rate: Rate = "10Gbps", "", "the faster testbed of Alizadeh 2010";
        /// One-way delay of the links between switches.
        delay: Span = "10us", "[0s, 100000s]", "with `access_delay`, a round trip of 100us for a crossing path";
        /// Rate of the hosts' links; `"none"` is `rate`.
        access_rate: Option<Rate> = "none", "", "a host alone can fill its bottleneck";
        /// One-way delay of the hosts' links.
        access_delay: Span = "20us", "[0s, 100000s]", "with `delay`, a round trip of 100us for a crossing path";
    }
}

impl Settings {
    /// Builds the network.
    pub fn build(&self, _faults: &mut Faults) -> Graph {
        let mut graph = Graph::default();
        let hops = self.hops as usize;
        let (s, r) = (graph.host("s"), graph.host("r"));
        let crossing: Vec<_> =
            (1..=hops).map(|i| (graph.host(format!("a{i}")), graph.host(format!("b{i}")))).collect();
        let switches: Vec<_> = (0..=hops).map(|i| graph.switch(format!("sw{i}"))).collect();
        for hop in switches.windows(2) {
            graph.link(hop[0], hop[1], self.rate, self.delay);
        }
        let rate = self.access_rate.unwrap_or(self.rate);
        graph.link(s, switches[0], rate, self.access_delay);
        graph.link(switches[hops], r, rate, self.access_delay);
        for ((a, b), hop) in crossing.into_iter().zip(switches.windows(2)) {
            graph.link(a, hop[0], rate, self.access_delay);
            graph.link(hop[1], b, rate, self.access_delay);
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use crate::routing::table::tests::all_paths;
    use crate::topology::tests::build;
    use serde_json::json;

    #[test]
    fn the_long_path_meets_each_crossing_path_once() {
        let (graph, faults) = build(json!({"kind": "parking-lot", "hops": 2}));
        assert_eq!(faults, [""; 0]);
        let path = |from: &str, to: &str| -> Vec<String> {
            let [path] = &all_paths(&graph, graph.find(from).unwrap(), graph.find(to).unwrap())[..] else {
                panic!("one path")
            };
            path.iter().map(|link| graph.port_name(*link)).collect()
        };
        assert_eq!(path("s", "r"), ["s->sw0", "sw0->sw1", "sw1->sw2", "sw2->r"]);
        assert_eq!(path("a1", "b1"), ["a1->sw0", "sw0->sw1", "sw1->b1"]);
        assert_eq!(path("a2", "b2"), ["a2->sw1", "sw1->sw2", "sw2->b2"]);
    }
}
