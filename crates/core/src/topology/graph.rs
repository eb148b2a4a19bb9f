//! Any network, written out: the nodes by name, then link by link.
//!
//! ```text
//!   a ---[sw0]      hosts    = ["a", "b"]
//!           \       switches = ["sw0", "sw1"]
//!   b ---[sw1]      links    = [{ from = "a", to = "sw0" }, { from = "b", to = "sw1" },
//!                               { from = "sw0", to = "sw1", rate = "1Gbps", delay = "1ms" }]
//! ```
//!
//! Several cables between two nodes are equal next hops; their ports have numbers.

use crate::params;
use crate::params::{Code, Faults, Names, Row, unknown};
use crate::routing::graph::{Graph, Role};
use crate::routing::select::expand;
use serde_json::Value;
use shallows_units::{Rate, Span};
use std::collections::BTreeSet;

params! {
    /// Any network: hosts and switches by name, joined link by link.
    ///
    /// Packets take a path with the fewest links, or where links have a `cost`, one with the least sum of costs. Several equal
    /// paths are shared as the run's `ecmp` says.
    pub struct Settings {
        /// Name of the file that the network came from.
        name: String = "", "", "recorded with the result";
        /// Names of the hosts; `"h0..h7"` stands for eight. Filled in from the named file, as all that follows.
        hosts: Names = required, "", "the user's network";
        /// Names of the switches; `"sw0..sw3"` stands for four.
        switches: Names = [], "", "two hosts can do without";
        /// The links, each `{ from, to, rate = "10Gbps", delay = "25us", duplex = true, cables = 1, cost = 1 }`.
        links: Vec<Row<LinkParams>> = required, "", "the user's network";
    }
    facts {
        example: r#"{"hosts": ["a", "b", "c"], "switches": ["sw"],
            "links": [{"from": "a", "to": "sw"}, {"from": "sw", "to": "b"}, {"from": "sw", "to": "c"}]}"#,
    }
}

params! {
    /// A link between two nodes.
    pub struct LinkParams {
        /// The node at one end.
        from: String = required, "", "the user's network";
        /// The node at the other end.
        to: String = required, "", "the user's network";
        /// Rate, in each direction.
        rate: Rate = "10Gbps", "", "the faster testbed of Alizadeh 2010";
        /// One-way delay.
        delay: Span = "25us", "[0s, 100000s]", "as a star's: four crossings make a base round trip of 100us";
        /// Whether the link goes both ways, or only from `from` to `to`.
        duplex: bool = true, "", "a cable";
        /// How many such links there are side by side; a further row between the same nodes adds others. Their ports are `a->b#1`,
        /// `a->b#2` and so on, and `a->b` names them all.
        cables: u64 = 1, "[1, 1024]", "one";
        /// The cost that the link adds to a path, in each direction; packets take the path with the least sum.
        cost: u64 = 1, "[1, 65535]", "RFC 2328 s.C.3 for the range; with one everywhere, the fewest links";
    }
}

impl Settings {
    /// Builds the network without the parts that are at fault.
    pub fn build(&self, faults: &mut Faults) -> Graph {
        let mut graph = Graph::default();
        for name in names(&self.hosts, "topology.hosts", &graph, faults) {
            graph.host(name);
        }
        if graph.nodes.is_empty() && !at_fault(faults, "topology.hosts") {
            faults.add("topology.hosts", Code::TooFew.rule("must name at least one host"), &Value::Null);
        }
        for name in names(&self.switches, "topology.switches", &graph, faults) {
            graph.switch(name);
        }
        for (i, Row(link)) in self.links.iter().enumerate() {
            if faults.enough() {
                break;
            }
            link.add(&mut graph, &format!("topology.links.{i}"), faults);
        }
        if !at_fault(faults, "topology.links") {
            let joined: BTreeSet<_> = graph.links.iter().flat_map(|link| [link.from, link.to]).collect();
            for host in graph.ids(Role::Host).filter(|id| !joined.contains(id)) {
                faults.add(
                    "topology.hosts",
                    Code::NoPath.rule("must each have a link"),
                    &graph.name(host).into(),
                );
            }
        }
        graph
    }
}

impl LinkParams {
    /// Adds the link to `graph`, or the faults of the row at `path`.
    fn add(&self, graph: &mut Graph, path: &str, faults: &mut Faults) {
        let mut end = |key: &str, name: &str| {
            let path = format!("{path}.{key}");
            let id = graph.find(name);
            if id.is_none() && !at_fault(faults, &path) {
                let known: Vec<_> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
                faults.add(&path, unknown(Code::NotFound, "node", name, &known), &name.into());
            }
            id
        };
        let (Some(from), Some(to)) = (end("from", &self.from), end("to", &self.to)) else { return };
        if from == to {
            let rule = Code::Conflict.rule("must not be the node that the link comes from");
            return faults.add(&format!("{path}.to"), rule, &self.to.as_str().into());
        }
        let first = graph.links.len() as u32;
        for _ in 0..self.cables {
            if self.duplex {
                graph.link(from, to, self.rate, self.delay);
            } else {
                graph.simplex(from, to, self.rate, self.delay);
            }
        }
        (first..graph.links.len() as u32).for_each(|link| graph.set_cost(link, self.cost as u32));
    }
}

/// The names that a list spells out, less those at fault.
fn names(written: &Names, path: &str, graph: &Graph, faults: &mut Faults) -> Vec<String> {
    let all = expand(written).unwrap_or_else(|rule| {
        faults.add(path, rule, &Value::Null);
        vec![]
    });
    let mut seen = BTreeSet::new();
    let mut good = |name: &String| {
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let rule = if name.is_empty() || !name.chars().all(legal) {
            Code::WrongForm.rule("must be letters, digits, \"-\", \"_\" and \".\"")
        } else if graph.find(name).is_some() || !seen.insert(name.clone()) {
            Code::WrittenTwice.rule("must not be the name of another node")
        } else {
            return true;
        };
        faults.add(path, rule, &name.as_str().into());
        false
    };
    all.into_iter().filter(|name| good(name)).collect()
}

/// Whether there is a fault at `path` or below it.
fn at_fault(faults: &Faults, path: &str) -> bool {
    let below =
        |full: &str| full.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    faults.0.iter().any(|fault| below(&fault.path))
}

#[cfg(test)]
mod tests {
    use crate::routing::table::tests::all_paths;
    use crate::topology::tests::{build, ports};
    use serde_json::json;

    #[test]
    fn links_go_both_ways_unless_told() {
        let (graph, faults) = build(json!({
            "kind": "graph", "hosts": "h0..h1", "switches": "sw0",
            "links": [
                {"from": "h0", "to": "sw0"},
                {"from": "sw0", "to": "h1", "rate": "1Gbps", "delay": "1ms", "duplex": false},
                {"from": "h1", "to": "sw0", "rate": "1Mbps", "duplex": false},
            ],
        }));
        assert_eq!(faults, [""; 0]);
        assert_eq!(
            ports(&graph),
            ["h0->sw0 10Gbps 25us", "sw0->h0 10Gbps 25us", "sw0->h1 1Gbps 1ms", "h1->sw0 1Mbps 25us"]
        );
    }

    /// Two ways around: over `near` two links of cost 5, over `mid` and `far` three of cost 1, 4 and 5. Equal sums share.
    #[test]
    fn the_cheapest_ways_count_and_equal_sums_share() {
        let of = |cost: u64| {
            let link = |from: &str, to: &str, cost: u64| json!({"from": from, "to": to, "cost": cost});
            let links = [
                link("a", "in", 9),
                link("out", "b", 9),
                link("in", "near", 5),
                link("near", "out", 5),
                link("in", "mid", 1),
                link("mid", "far", 4),
                link("far", "out", cost),
            ];
            let (graph, faults) = build(json!({"kind": "graph", "hosts": ["a", "b"],
                "switches": ["in", "out", "near", "mid", "far"], "links": links}));
            assert_eq!(faults, [""; 0]);
            let [a, b] = ["a", "b"].map(|name| graph.find(name).unwrap());
            let lengths = |from, to| {
                let mut found: Vec<_> = all_paths(&graph, from, to).iter().map(Vec::len).collect();
                found.sort_unstable();
                found
            };
            (lengths(a, b), lengths(b, a))
        };
        assert_eq!(of(4), (vec![5], vec![5]));
        assert_eq!(of(5), (vec![4, 5], vec![4, 5]));
        assert_eq!(of(6), (vec![4], vec![4]));
        let (_, faults) = build(json!({"kind": "graph", "hosts": ["a", "b"],
            "links": [{"from": "a", "to": "b", "cost": 0}]}));
        assert_eq!(faults, ["topology.links.0.cost: must be >= 1, got 0"]);
    }

    #[test]
    fn all_faults_of_a_graph_come_at_once() {
        let (_, faults) = build(json!({
            "kind": "graph", "hosts": ["a", "b", "a", "c->d"], "switches": ["switch", "b"],
            "links": [
                {"from": "a", "to": "swich"},
                {"from": "a", "to": "switch", "rate": "10gbps"},
                {"from": "switch", "to": "a", "duplex": false},
                {"from": "b", "to": "b"},
                {"from": "b", "too": "switch"},
            ],
        }));
        let rate = "a rate in bits a second such as \"10Gbps\" (units: bps, Kbps, Mbps, Gbps, Tbps)";
        assert_eq!(
            faults,
            [
                &format!("topology.links.1.rate: must be {rate}, got \"10gbps\" (did you mean \"10Gbps\"?)"),
                "topology.links.4.to: is required: text",
                "topology.links.4.too: unknown key; known: from, to, rate, delay, duplex, cables, cost, got \"too\" \
                 (did you mean \"to\"?)",
                "topology.hosts: must not be the name of another node, got \"a\"",
                "topology.hosts: must be letters, digits, \"-\", \"_\" and \".\", got \"c->d\"",
                "topology.switches: must not be the name of another node, got \"b\"",
                "topology.links.0.to: unknown node; known: a, b, switch, got \"swich\" (did you mean \"switch\"?)",
                "topology.links.3.to: must not be the node that the link comes from, got \"b\"",
            ]
        );
    }

    #[test]
    fn a_host_needs_a_link_and_a_network_a_host() {
        let (_, faults) =
            build(json!({"kind": "graph", "hosts": ["a", "b", "c"], "links": [{"from": "a", "to": "b"}]}));
        assert_eq!(faults, ["topology.hosts: must each have a link, got \"c\""]);
        let (_, faults) = build(json!({"kind": "graph", "hosts": [], "links": []}));
        assert_eq!(faults, ["topology.hosts: must name at least one host"]);
        let (_, faults) = build(json!({"kind": "graph", "links": []}));
        assert_eq!(faults, ["topology.hosts: is required: a name or a list of names"]);
    }
}
