//! Torus: switches on a grid of any number of dimensions, each joined to its two neighbours in every dimension.
//!
//! ```text
//!     |        |        |
//!  --[sw0.0]--[sw0.1]--[sw0.2]--      size = [2, 3]: two rows of three switches. The ends of each row are joined,
//!     |  h0    |  h1    |  h2         which makes a ring. Rings of two have one cable.
//!  --[sw1.0]--[sw1.1]--[sw1.2]--
//!     |  h3    |  h4    |  h5
//! ```
//!
//! Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), ch. 5. With sizes k1 .. kn there
//! are N = k1 x .. x kn switches, rings of three or more have N cables in a dimension, and switches lie at most
//! floor(k1 / 2) + .. + floor(kn / 2) cables apart. A cut in two halves across an even dimension of k >= 4 severs 2N / k cables.
//! With sizes of 2 alone it is a hypercube, without `wrap` a mesh (both ch. 5 too).
//! Left out: dimension-order routing, and virtual channels against deadlock (ch. 8 and 14). Packets take a path with the fewest
//! links, in any order of dimensions, shared as the run's `ecmp` says. Priority-based flow control can deadlock on rings.

use super::MAX_NODES;
use crate::params;
use crate::params::{Code, Faults, ParamType};
use crate::routing::graph::Graph;
use shallows_units::{Rate, Span};

params! {
    /// Switches on a grid of any number of dimensions, with rings in each, and hosts `h0`, `h1` .. at each switch.
    ///
    /// Switches are called by their place, such as `sw0.2`; hosts count on from switch to switch, the last dimension first.
    pub struct Settings {
        /// Switches in each dimension: `[4, 4, 4]` is a cube.
        size: Vec<u64> = [4, 4], "[2, 100000]", "a square of sixteen switches";
        /// Hosts at each switch.
        hosts_per_node: u64 = 1, "[1, 100000]", "Dally and Towles 2004 ch. 5: a terminal a node";
        /// Whether the two ends of each row are joined: a torus. Otherwise it is a mesh.
        wrap: bool = true, "", "Dally and Towles 2004 ch. 5: a torus";
        /// Rate of the hosts' links.
        rate: Rate = "10Gbps", "", "the faster testbed of Alizadeh 2010";
        /// Rate of the links between switches; `"none"` is `rate`.
        fabric_rate: Option<Rate> = "none", "", "ports of one kind";
        /// One-way delay of the hosts' links.
        delay: Span = "5us", "[0s, 100000s]", "with `fabric_delay`, a base round trip of 100us between the farthest of 4 x 4";
        /// One-way delay of the links between switches.
        fabric_delay: Span = "10us", "[0s, 100000s]", "with `delay`, a base round trip of 100us between the farthest of 4 x 4";
    }
    facts {
        renamed: &[
            ("switch_delay", "fabric_delay", "the delay of the links between switches. A switch has a delay of its own as \
                latency in [switch.NAME]"),
            ("switch_rate", "fabric_rate", "the rate of the links between switches"),
        ],
    }
}

impl Settings {
    /// Builds the network; one without dimensions, or too large to simulate, is a fault.
    pub fn build(&self, faults: &mut Faults) -> Graph {
        let mut graph = Graph::default();
        if self.size.is_empty() {
            let rule = Code::TooFew.rule("must have at least one dimension, such as [4, 4]");
            faults.add("topology.size", rule, &self.size.show());
            return graph;
        }
        let switches = self.size.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
        let nodes = switches.and_then(|n| n.checked_mul(self.hosts_per_node.checked_add(1)?));
        // A switch has at most one cable a dimension in each direction.
        let cables = switches.and_then(|n| n.checked_mul(self.size.len() as u64));
        let fits = |count: Option<u64>| count.is_some_and(|count| count <= MAX_NODES);
        if !fits(nodes) || !fits(cables) {
            let rule = format!("must make <= {MAX_NODES} nodes, and as many cables, with `hosts_per_node`");
            faults.add("topology.size", Code::TooMany.rule(rule), &self.size.show());
            return graph;
        }
        let count = switches.unwrap_or(0);
        let hosts = graph.hosts_named("h", count * self.hosts_per_node);
        let switches: Vec<_> = (0..count).map(|i| graph.switch(self.name(i))).collect();
        for (hosts, switch) in hosts.chunks(self.hosts_per_node as usize).zip(&switches) {
            for host in hosts {
                graph.link(*host, *switch, self.rate, self.delay);
            }
        }
        let rate = self.fabric_rate.unwrap_or(self.rate);
        // From one switch to its neighbour in a dimension there are as many switches as the later dimensions have.
        let mut stride = count;
        for size in &self.size {
            stride /= size;
            for i in 0..count {
                let next = match i / stride % size + 1 {
                    place if place < *size => i + stride,
                    _ if self.wrap && *size > 2 => i - stride * (size - 1),
                    _ => continue,
                };
                graph.link(switches[i as usize], switches[next as usize], rate, self.fabric_delay);
            }
        }
        graph
    }

    /// Name of a switch by its number: its place in each dimension.
    fn name(&self, number: u64) -> String {
        let mut rest = number;
        let mut places: Vec<String> = self
            .size
            .iter()
            .rev()
            .map(|size| {
                let place = rest % size;
                rest /= size;
                place.to_string()
            })
            .collect();
        places.reverse();
        format!("sw{}", places.join("."))
    }
}

#[cfg(test)]
mod tests {
    use crate::routing::table::tests::all_paths;
    use crate::topology::tests::{build, cut, distances, joined};
    use serde_json::json;

    const SHAPES: [&[usize]; 7] = [&[2], &[5], &[4, 4], &[3, 5], &[2, 2, 2], &[4, 3, 2], &[6, 2]];

    /// Place in each dimension of the switch `name`.
    fn place(name: &str) -> Vec<usize> {
        name[2..].split('.').map(|number| number.parse().unwrap()).collect()
    }

    /// Dally and Towles 2004 ch. 5: N cables a dimension with k > 2, else N / 2; a mesh has N (k - 1) / k.
    #[test]
    fn cables_are_as_many_as_the_closed_form_says() {
        for size in SHAPES {
            let n: usize = size.iter().product();
            for wrap in [true, false] {
                let (graph, faults) =
                    build(json!({"kind": "torus", "size": size, "hosts_per_node": 2, "wrap": wrap}));
                assert_eq!(faults, [""; 0]);
                assert_eq!(graph.nodes.len(), 3 * n);
                let rings = |k: &usize| if wrap && *k > 2 { n } else { n / k * (k - 1) };
                assert_eq!(
                    graph.links.len(),
                    2 * (2 * n + size.iter().map(rings).sum::<usize>()),
                    "{size:?}"
                );
            }
        }
    }

    /// Two switches are joined just if they differ by one, around the ring, in one dimension.
    #[test]
    fn neighbours_differ_in_one_place() {
        for size in SHAPES {
            for wrap in [true, false] {
                let (graph, _) = build(json!({"kind": "torus", "size": size, "wrap": wrap}));
                let apart = |a: &str, b: &str| -> usize {
                    let steps = place(a).into_iter().zip(place(b)).zip(size).map(|((a, b), k)| {
                        if wrap { a.abs_diff(b).min(k - a.abs_diff(b)) } else { a.abs_diff(b) }
                    });
                    steps.sum()
                };
                let names: Vec<_> =
                    graph.nodes.iter().map(|node| &node.name).filter(|name| name.starts_with("sw")).collect();
                for (a, b) in names.iter().flat_map(|a| names.iter().map(move |b| (*a, *b))) {
                    assert_eq!(joined(&graph, a, b), apart(a, b) == 1, "{a} {b} in {size:?}");
                }
            }
        }
    }

    /// Ch. 5: the diameter is the sum of floor(k / 2), and the mean distance that of k / 4 for even k and of k / 4 - 1 / (4k)
    /// for odd k, counted with a switch's distance to itself. Two cables join the hosts. A mesh has k - 1 and (k - 1/k) / 3.
    #[test]
    fn distances_are_those_of_the_book() {
        for size in SHAPES {
            for wrap in [true, false] {
                let (graph, _) = build(json!({"kind": "torus", "size": size, "wrap": wrap}));
                let far = distances(&graph);
                let n = size.iter().product::<usize>();
                assert_eq!(far.len(), n * (n - 1), "all hosts reach each other");
                let longest = |k: &usize| if wrap { k / 2 } else { k - 1 };
                assert_eq!(*far.iter().max().unwrap(), 2 + size.iter().map(longest).sum::<usize>());
                let mean = |k: &usize| match (*k as f64, wrap) {
                    (k, false) => (k - 1.0 / k) / 3.0,
                    (k, true) if k % 2.0 == 0.0 => k / 4.0,
                    (k, true) => k / 4.0 - 1.0 / (4.0 * k),
                };
                let between: usize = far.iter().map(|links| links - 2).sum();
                let found = between as f64 / (n * n) as f64;
                let expected: f64 = size.iter().map(mean).sum();
                assert!((found - expected).abs() < 1e-9, "{size:?}: {found}, not {expected}");
            }
        }
    }

    /// Ch. 5: a cut across the largest dimension, of even size k, severs 2N / k cables of a torus and N / k of a mesh or of
    /// rings of two.
    #[test]
    fn halves_are_joined_as_the_book_says() {
        for (size, wrap, cables) in [
            (&[4usize, 4][..], true, 8),
            (&[4, 4], false, 4),
            (&[8, 4, 2], true, 16),
            (&[2, 2, 2, 2], true, 8),
            (&[6], true, 2),
        ] {
            let per_node = 3;
            let (graph, _) =
                build(json!({"kind": "torus", "size": size, "wrap": wrap, "hosts_per_node": per_node}));
            let n: usize = size.iter().product();
            let near = |name: &str| match name.strip_prefix('h') {
                Some(number) => number.parse::<usize>().unwrap() / per_node < n / 2,
                None => place(name)[0] < size[0] / 2,
            };
            assert_eq!(cut(&graph, near), cables, "{size:?}");
        }
    }

    /// Two switches that differ by x and y, below half a ring, have (x + y)! / (x! y!) shortest paths; at half a ring both ways
    /// around count.
    #[test]
    fn shortest_paths_go_in_any_order_of_dimensions() {
        let (graph, _) = build(json!({"kind": "torus", "size": [8, 6]}));
        let paths = |to: &str| all_paths(&graph, graph.find("h0").unwrap(), graph.find(to).unwrap()).len();
        // h8 is at (1, 2), h20 at (3, 2), h24 at (4, 0), h25 at (4, 1).
        assert_eq!((paths("h8"), paths("h20"), paths("h24"), paths("h25")), (3, 10, 2, 2 * 5));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let faults = |size: serde_json::Value| build(json!({"kind": "torus", "size": size})).1;
        assert_eq!(
            faults(json!([])),
            ["topology.size: must have at least one dimension, such as [4, 4], got []"]
        );
        assert_eq!(faults(json!([4, 1])), ["topology.size: must be >= 2, got [4,1]"]);
        let rule = "must make <= 1000000 nodes, and as many cables, with `hosts_per_node`";
        assert_eq!(faults(json!([1000, 1000])), [format!("topology.size: {rule}, got [1000,1000]")]);
        assert_eq!(faults(vec![100_000; 30].into()).len(), 1);
    }
}
