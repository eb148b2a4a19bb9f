//! Dragonfly: groups of switches, all joined inside a group, and one or more cables between every two groups.
//!
//! ```text
//!   group 0: [sw0.0]--[sw0.1]      group 1: [sw1.0]--[sw1.1]      a switches a group, each joined to all others
//!             | |  \   / | |                 | |  \   / | |       p hosts a switch
//!            h0 h1  global h2 h3            h4 h5  global h6 h7   h global cables a switch: a h of a group
//! ```
//!
//! Source: Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008, s.3. There are at most
//! g = a h + 1 groups, with N = a p g hosts; a = 2p = 2h balances the load (s.3.1). Figure 5 has p = h = 2, a = 4 and 72 hosts.
//! Fewer groups share their cables evenly, so a h must be a multiple of g - 1.
//!
//! Which cable of a group leads to which other group, the paper leaves open. The cables of a group are numbered from 0, h a switch.
//! `palm-tree`: cable c of group i leads to group i - c - 1 (mod g), and is that group's cable a h - 1 - c (Camarero, Vallejo and
//! Beivide, "Topological Characterization of Hamming and Dragonfly Networks and Its Implications on Routing", ACM TACO 11(4), 2014).
//! `consecutive`: the cables of a group lead to the other groups in rising order (the absolute arrangement of Hastings et al.,
//! "Comparing Global Link Arrangements for Dragonfly Networks", CLUSTER 2015). With fewer groups the order repeats.
//! Minimal routing crosses one global cable (s.4.1), although two of them may be fewer links than a local, a global and a local one.
//! So a global cable costs 3 by default: one and two local ones cost at most 5, two global ones at least 6. Equal ways share as
//! the run's `ecmp` says.
//! Left out: groups that are not fully joined inside (s.3.2); Valiant and UGAL routing (s.4).

use super::MAX_NODES;
use crate::params;
use crate::params::{Code, Faults};
use crate::routing::graph::Graph;
use shallows_units::{Rate, Span};

params! {
    /// Groups of switches with hosts `h0`, `h1` ..: all switches of a group are joined, and every two groups.
    ///
    /// Switches are called `sw0.1` (group, place); hosts count on from switch to switch.
    pub struct Settings {
        /// Switches of a group (a).
        routers: u64 = 4, "[1, 1000]", "Kim 2008 figure 5";
        /// Hosts at each switch (p).
        hosts_per_router: u64 = 2, "[1, 100000]", "Kim 2008 figure 5";
        /// Cables of each switch to other groups (h).
        global_links: u64 = 2, "[1, 1000]", "Kim 2008 figure 5";
        /// Groups (g); `"none"` is a h + 1, as many as can be joined.
        groups: Option<u64> = "none", "[2, 1000000]", "Kim 2008 s.3.1: g = a h + 1";
        /// Which global cable leads to which group.
        arrangement: Arrangement = "palm-tree", "", "Camarero 2014; Kim 2008 leaves it open";
        /// The cost that a link between groups adds to a path, and all others add 1. With 1, paths have the fewest links.
        global_cost: u64 = 3, "[1, 65535]", "Kim 2008 s.4.1: minimal routes cross one global channel";
        /// Rate of the hosts' links.
        rate: Rate = "10Gbps", "", "the faster testbed of Alizadeh 2010";
        /// Rate of the links inside a group; `"none"` is `rate`.
        local_rate: Option<Rate> = "none", "", "ports of one kind";
        /// Rate of the links between groups; `"none"` is `rate`.
        global_rate: Option<Rate> = "none", "", "ports of one kind";
        /// One-way delay of the hosts' links.
        delay: Span = "5us", "[0s, 100000s]", "with the others, a base round trip of 100us between groups";
        /// One-way delay of the links inside a group.
        local_delay: Span = "10us", "[0s, 100000s]", "with the others, a base round trip of 100us between groups";
        /// One-way delay of the links between groups.
        global_delay: Span = "20us", "[0s, 100000s]", "global cables are longer; with the others, 100us";
    }
}

crate::choices! {
    /// Which global cable of a group leads to which other group.
    pub enum Arrangement {
        /// In falling order, each group's own next.
        PalmTree = "palm-tree",
        /// In rising order.
        Consecutive = "consecutive",
    }
}

impl Settings {
    /// Builds the network; one whose groups cannot be joined evenly, or too large to simulate, is a fault.
    pub fn build(&self, faults: &mut Faults) -> Graph {
        let mut graph = Graph::default();
        let (routers, h) = (self.routers, self.global_links);
        let cables = routers * h;
        let groups = self.groups.unwrap_or(cables + 1);
        if !self.can_be(groups, faults) {
            return graph;
        }
        let hosts = graph.hosts_named("h", groups * routers * self.hosts_per_router);
        let switches: Vec<Vec<_>> = (0..groups)
            .map(|group| (0..routers).map(|place| graph.switch(format!("sw{group}.{place}"))).collect())
            .collect();
        for (hosts, switch) in hosts.chunks(self.hosts_per_router as usize).zip(switches.iter().flatten()) {
            for host in hosts {
                graph.link(*host, *switch, self.rate, self.delay);
            }
        }
        let local_rate = self.local_rate.unwrap_or(self.rate);
        for group in &switches {
            for (place, a) in group.iter().enumerate() {
                for b in &group[place + 1..] {
                    graph.link(*a, *b, local_rate, self.local_delay);
                }
            }
        }
        let global_rate = self.global_rate.unwrap_or(self.rate);
        for group in 0..groups {
            for cable in 0..cables {
                let (other, its) = self.far_end(groups, group, cable);
                // Each cable is seen from both its ends.
                if group < other {
                    let [a, b] =
                        [(group, cable), (other, its)].map(|(g, c)| switches[g as usize][(c / h) as usize]);
                    let first = graph.links.len() as u32;
                    graph.link(a, b, global_rate, self.global_delay);
                    for link in [first, first + 1] {
                        graph.set_cost(link, self.global_cost as u32);
                    }
                }
            }
        }
        graph
    }

    /// Whether as many groups can be joined evenly, without two cables between two switches.
    fn can_be(&self, groups: u64, faults: &mut Faults) -> bool {
        let (routers, h) = (self.routers, self.global_links);
        let cables = routers * h;
        if groups > cables + 1 {
            let rule = format!(
                "must be at most {} (routers x global_links + 1), so that all are joined",
                cables + 1
            );
            faults.add("topology.groups", Code::OutOfRange.rule(rule), &groups.into());
        } else if !cables.is_multiple_of(groups - 1) {
            let rule = format!(
                "must be one more than a divisor of {cables} (routers x global_links), so that groups are joined evenly"
            );
            faults.add("topology.groups", Code::OutOfRange.rule(rule), &groups.into());
        } else if groups <= h {
            let rule = "must be above `global_links`: two switches are joined once";
            faults.add("topology.groups", Code::OutOfRange.rule(rule), &groups.into());
        } else if groups * routers * (self.hosts_per_router + 1) > MAX_NODES
            || groups * routers * (routers + h) / 2 > MAX_NODES
        {
            let rule = format!(
                "must make <= {MAX_NODES} nodes, and as many cables, with `global_links`, `groups` and `hosts_per_router`"
            );
            faults.add("topology.routers", Code::TooMany.rule(rule), &routers.into());
        } else {
            return true;
        }
        false
    }

    /// The other end of a global cable: its group, and its number there.
    fn far_end(&self, groups: u64, group: u64, cable: u64) -> (u64, u64) {
        let others = groups - 1;
        let (lap, place) = (cable / others, cable % others);
        match self.arrangement {
            Arrangement::PalmTree => {
                ((group + groups - place - 1) % groups, self.routers * self.global_links - 1 - cable)
            }
            Arrangement::Consecutive if place < group => (place, lap * others + group - 1),
            Arrangement::Consecutive => (place + 1, lap * others + group),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::routing::graph::Role;
    use crate::routing::table::tests::all_paths;
    use crate::topology::tests::{build, cut, distances, joined};
    use serde_json::json;
    use std::collections::BTreeMap;

    /// (a, p, h, g) of small networks: with all groups, and with fewer.
    const SHAPES: [(usize, usize, usize, usize); 8] = [
        (4, 2, 2, 9),
        (4, 2, 2, 5),
        (4, 2, 2, 3),
        (2, 1, 1, 3),
        (1, 3, 4, 5),
        (6, 3, 3, 19),
        (6, 1, 2, 4),
        (3, 2, 1, 2),
    ];
    const ARRANGEMENTS: [&str; 2] = ["palm-tree", "consecutive"];

    fn group(name: &str) -> usize {
        name[2..].split('.').next().unwrap().parse().unwrap()
    }

    /// Kim 2008 s.3.1: N = a p g hosts; a switch has p + (a - 1) + h ports; every two groups are joined by a h / (g - 1) cables.
    #[test]
    fn counts_are_those_of_the_paper() {
        for ((a, p, h, g), arrangement) in
            SHAPES.into_iter().flat_map(|shape| ARRANGEMENTS.map(|name| (shape, name)))
        {
            let (graph, faults) = build(json!({"kind": "dragonfly", "routers": a, "hosts_per_router": p,
                "global_links": h, "groups": g, "arrangement": arrangement}));
            assert_eq!(faults, [""; 0]);
            assert_eq!(graph.ids(Role::Host).count(), a * p * g);
            assert_eq!(graph.links.len(), a * g * (2 * p + (a - 1) + h), "{a} {p} {h} {g} {arrangement}");
            let mut between = BTreeMap::new();
            for switch in graph.ids(Role::Switch) {
                let out: Vec<_> = graph.links.iter().filter(|link| link.from == switch).collect();
                assert_eq!(out.len(), p + a - 1 + h, "{}", graph.name(switch));
                for link in out.into_iter().filter(|link| graph.role(link.to) == Role::Switch) {
                    let ends = [link.from, link.to].map(|end| group(graph.name(end)));
                    *between.entry(ends).or_insert(0) += 1;
                }
            }
            for (ends, links) in (0..g).flat_map(|i| (0..g).map(move |j| [i, j])).zip(std::iter::repeat(0)) {
                let found = between.get(&ends).copied().unwrap_or(links);
                let expected = if ends[0] == ends[1] { a * (a - 1) } else { a * h / (g - 1) };
                assert_eq!(found, expected, "{ends:?} {arrangement}");
            }
        }
    }

    /// Kim 2008 s.4.1: at most one local, one global and one local cable between switches, and two to the hosts; both are needed
    /// in a network of figure 5. Halves of the groups are joined by (g / 2)^2 times the cables between two groups.
    #[test]
    fn distances_and_halves_are_those_of_the_paper() {
        for ((a, p, h, g), arrangement) in
            SHAPES.into_iter().flat_map(|shape| ARRANGEMENTS.map(|name| (shape, name)))
        {
            let (graph, _) = build(json!({"kind": "dragonfly", "routers": a, "hosts_per_router": p,
                "global_links": h, "groups": g, "arrangement": arrangement}));
            let far = distances(&graph);
            assert_eq!(far.len(), a * p * g * (a * p * g - 1), "all hosts reach each other");
            assert!(far.iter().all(|links| *links <= 5));
            if (a, h, g) == (4, 2, 9) {
                assert_eq!(far.into_iter().max(), Some(5));
            }
            let near = |name: &str| match name.strip_prefix("sw") {
                Some(_) => group(name) < g / 2,
                None => name[1..].parse::<usize>().unwrap() / (a * p) < g / 2,
            };
            assert_eq!(cut(&graph, near), (g / 2) * (g - g / 2) * a * h / (g - 1));
        }
    }

    /// With 9 groups of 4 switches and 2 cables each: palm tree joins cable 0 of group 0 to group 8, where it is cable 7;
    /// consecutive joins it to group 1, where it is cable 0.
    #[test]
    fn arrangements_are_as_written() {
        let of = |arrangement: &str| build(json!({"kind": "dragonfly", "arrangement": arrangement})).0;
        let (palm, rising) = (of("palm-tree"), of("consecutive"));
        for (a, b) in [
            ("sw0.0", "sw8.3"),
            ("sw0.0", "sw7.3"),
            ("sw0.1", "sw6.2"),
            ("sw3.0", "sw2.3"),
            ("sw3.3", "sw4.0"),
        ] {
            assert!(joined(&palm, a, b), "{a} {b}");
        }
        // Group 3's cables lead to groups 0, 1 | 2, 4 | 5, 6 | 7, 8; group 0 has it as its cable 2, group 4 as its cable 3.
        for (a, b) in [
            ("sw0.0", "sw1.0"),
            ("sw3.0", "sw0.1"),
            ("sw3.1", "sw4.1"),
            ("sw3.3", "sw8.1"),
            ("sw8.3", "sw7.3"),
        ] {
            assert!(joined(&rising, a, b), "{a} {b}");
        }
    }

    /// Kim 2008 s.4.1: in a full network a minimal route between groups is the only one over their cable; inside a group it is one
    /// link. By the number of links alone, some routes would cross two global cables.
    #[test]
    fn minimal_routes_cross_one_global_cable() {
        for arrangement in ARRANGEMENTS {
            for (cost, over_two) in [(3, false), (1, true)] {
                let (graph, _) =
                    build(json!({"kind": "dragonfly", "arrangement": arrangement, "global_cost": cost}));
                let hosts: Vec<_> = graph.ids(Role::Host).collect();
                let mut most = 0;
                for (from, to) in
                    hosts.iter().flat_map(|a| hosts.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b)
                {
                    let paths = all_paths(&graph, from, to);
                    let global = |path: &Vec<u32>| {
                        let between = path.iter().map(|link| &graph.links[*link as usize]);
                        let between = between.filter(|link| graph.role(link.from) == graph.role(link.to));
                        between
                            .filter(|link| group(graph.name(link.from)) != group(graph.name(link.to)))
                            .count()
                    };
                    most = most.max(paths.iter().map(global).max().unwrap());
                    if cost == 3 {
                        assert_eq!(paths.len(), 1, "{} {}", graph.name(from), graph.name(to));
                    }
                }
                assert_eq!(most > 1, over_two, "{arrangement}: {most}");
            }
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let fault = |with: serde_json::Value| {
            let mut topology = json!({"kind": "dragonfly"});
            topology.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
            let (graph, faults) = build(topology);
            assert!(graph.links.is_empty());
            faults.join("\n")
        };
        assert_eq!(
            fault(json!({"groups": 10})),
            "topology.groups: must be at most 9 (routers x global_links + 1), so that all are joined, got 10"
        );
        assert_eq!(
            fault(json!({"groups": 7})),
            "topology.groups: must be one more than a divisor of 8 (routers x global_links), so that groups are joined \
             evenly, got 7"
        );
        assert_eq!(
            fault(json!({"groups": 2})),
            "topology.groups: must be above `global_links`: two switches are joined once, got 2"
        );
        let rule = "must make <= 1000000 nodes, and as many cables, with `global_links`, `groups` and `hosts_per_router`";
        assert_eq!(
            fault(json!({"routers": 1000, "global_links": 1000, "hosts_per_router": 100_000})),
            format!("topology.routers: {rule}, got 1000")
        );
    }
}
