use super::super::choice::Ecmp;
use super::super::choice::tests::STILL;
use super::super::longest::Longest;
use super::super::select::select;
use super::*;
use crate::params::{Faults, Names, Table};
use crate::topology::Topology;
use proptest::prelude::*;
use serde_json::{Value, json};
use shallows_units::{Bytes, Rate, Span};
use std::collections::BTreeSet;

/// Tables are read at each hop, and a large network has many.
#[test]
fn entries_take_four_bytes() {
    assert_eq!((size_of::<Next>(), size_of::<Destination>(), size_of::<Index>()), (4, 8, 4));
}

fn graph(hosts: u64, switches: u64, links: &[(u32, u32)]) -> Graph {
    let mut graph = Graph::default();
    graph.hosts_named("h", hosts);
    (0..switches).for_each(|i| _ = graph.switch(format!("sw{i}")));
    for (from, to) in links {
        graph.simplex(NodeId(*from), NodeId(*to), Rate::gbps(10), Span::us(1));
    }
    graph
}

fn topology(value: Value) -> Graph {
    let mut faults = Faults::default();
    let map = value.as_object().unwrap();
    let graph = Topology::read(&mut Table::new("topology", map, &mut faults)).unwrap().build(&mut faults);
    assert!(faults.0.is_empty(), "{:?}", faults.0);
    graph
}

/// Every shortest path from one host to another, as its ports.
pub(crate) fn all_paths(graph: &Graph, from: NodeId, to: NodeId) -> Vec<Vec<u32>> {
    let mut routing = Routing::new(graph, 1);
    assert!(routing.leads(from, to));
    let (mut found, mut open) = (vec![], vec![(from, vec![])]);
    while let Some((node, path)) = open.pop() {
        if node == to {
            found.push(path);
            continue;
        }
        let longer = |link: &u32| (routing.end(*link), [&path[..], &[*link]].concat());
        open.extend(routing.ways(node, to).iter().map(longer));
    }
    found
}

/// A packet's way from host to host: the ports that it leaves by.
fn walk(routing: &Routing, choosers: &mut [Chooser], (from, to): (u32, u32), serial: u32) -> Vec<u32> {
    let [label, _] = routing.labels((NodeId(from), NodeId(to)), serial);
    let mut choose = |node: u32| routing.next(node, label, &mut choosers[node as usize], || &STILL);
    let first = match routing.enters(NodeId(from)) {
        Entry::Port(port) => port,
        Entry::Any(node) => choose(node),
    };
    let mut path = vec![first];
    while let Some(node) = routing.goes_on(path[path.len() - 1]) {
        path.push(choose(node));
    }
    assert_eq!(routing.end(path[path.len() - 1]), NodeId(to));
    path
}

fn names(graph: &Graph, path: &[u32]) -> Vec<String> {
    path.iter().map(|link| graph.port_name(*link)).collect()
}

#[test]
fn a_path_is_the_shortest() {
    let ring = [(0, 2), (2, 3), (3, 4), (4, 2), (3, 1)]; // h0 sw0 sw1 sw2, h1 at sw1
    let graph = graph(2, 3, &ring);
    let mut routing = Routing::new(&graph, 1);
    assert!(routing.leads(NodeId(0), NodeId(1)) && !routing.leads(NodeId(1), NodeId(0)));
    let path = walk(&routing, &mut routing.choosers(&Sharing::by(Ecmp::Flow, 1)), (0, 1), 7);
    assert_eq!(names(&graph, &path), ["h0->sw0", "sw0->sw1", "sw1->h1"]);
}

#[test]
fn hosts_never_forward() {
    let graph = graph(3, 0, &[(0, 1), (1, 2)]);
    let mut routing = Routing::new(&graph, 1);
    assert_eq!([1, 2].map(|to| routing.leads(NodeId(0), NodeId(to))), [true, false]);
    assert_eq!(walk(&routing, &mut routing.choosers(&Sharing::by(Ecmp::Flow, 1)), (0, 1), 0), [0]);
}

#[test]
fn a_host_on_several_links_chooses_too() {
    // h0 on sw0 and sw1, both joined to h1, which is on two links as well.
    let graph = graph(2, 2, &[(0, 2), (0, 3), (2, 1), (3, 1)]);
    let mut routing = Routing::new(&graph, 1);
    assert!(routing.leads(NodeId(0), NodeId(1)));
    let mut choosers = routing.choosers(&Sharing::by(Ecmp::RoundRobin, 1));
    let paths: BTreeSet<_> = (0..2).map(|_| walk(&routing, &mut choosers, (0, 1), 0)).collect();
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), [[0, 2], [1, 3]]);
}

#[test]
fn hosts_of_one_switch_share_a_search() {
    let mut graph = graph(1024, 1, &[]);
    let switch = graph.find("sw0").unwrap();
    for host in graph.ids(Role::Host).collect::<Vec<_>>() {
        graph.link(host, switch, Rate::gbps(10), Span::us(1));
    }
    let mut routing = Routing::new(&graph, 1);
    routing.find(graph.ids(Role::Host));
    let mut choosers = routing.choosers(&Sharing::by(Ecmp::Flow, 1));
    for i in 0..1024 {
        let to = (i + 1) % 1024;
        assert_eq!(walk(&routing, &mut choosers, (i, to), 0), [2 * i, 2 * to + 1]);
    }
    assert_eq!((routing.roots.len(), routing.counts()), (1, (1, 1)));
}

/// Al-Fares 2008: flows between pods spread over all (k/2)^2 paths, evenly, each on one for good.
#[test]
fn equal_paths_share_the_flows() {
    let graph = topology(json!({"kind": "fat-tree", "k": 4}));
    let mut routing = Routing::new(&graph, 3);
    assert!(routing.leads(NodeId(0), NodeId(15)));
    let mut choosers = routing.choosers(&Sharing::by(Ecmp::Flow, 3));
    let mut flows: BTreeMap<Vec<u32>, i32> = BTreeMap::new();
    for serial in 0..4000 {
        let path = walk(&routing, &mut choosers, (0, 15), serial);
        assert_eq!(walk(&routing, &mut choosers, (0, 15), serial), path);
        *flows.entry(path).or_default() += 1;
    }
    assert_eq!(flows.len(), 4);
    // Binomial: standard deviation 27.4; five of them.
    assert!(flows.values().all(|n| (1000 - n).abs() < 137), "{flows:?}");
}

/// Paths there and back are chosen apart: of the flows that share one way there, all ways back are used.
#[test]
fn ways_back_are_chosen_apart() {
    let graph = topology(json!({"kind": "fat-tree", "k": 4}));
    let mut routing = Routing::new(&graph, 3);
    assert!(routing.leads(NodeId(0), NodeId(15)) && routing.leads(NodeId(15), NodeId(0)));
    let mut choosers = routing.choosers(&Sharing::by(Ecmp::Flow, 3));
    let mut pairs = BTreeSet::new();
    for serial in 0..400 {
        let [there, back] = routing.labels((NodeId(0), NodeId(15)), serial);
        let core = |label: u32, first: u32, choosers: &mut [Chooser]| {
            let agg = routing.end(routing.next(first, label, &mut choosers[first as usize], || &STILL));
            routing.next(agg.0, label, &mut choosers[agg.index()], || &STILL)
        };
        let [near, far] = [0, 15].map(|host| {
            let Entry::Port(port) = routing.enters(NodeId(host)) else { panic!("one link") };
            routing.end(port).0
        });
        pairs.insert((core(there, near, &mut choosers), core(back, far, &mut choosers)));
    }
    assert_eq!(pairs.len(), 16);
}

/// The memory of a 64-port fat tree: 65 536 hosts, 5120 switches. The bound is 100 MB.
#[test]
fn a_fat_tree_of_64_port_switches_takes_few_megabytes() {
    let graph = topology(json!({"kind": "fat-tree", "k": 64}));
    assert_eq!(graph.ids(Role::Switch).count(), 5120);
    let before = Routing::new(&graph, 1).memory();
    let mut routing = Routing::new(&graph, 1);
    routing.find(graph.ids(Role::Host));
    let (tables, all) = (routing.memory() - before, routing.memory());
    assert!(tables < 12 << 20 && all < 40 << 20, "{tables} of {all}");
    let path = walk(&routing, &mut routing.choosers(&Sharing::by(Ecmp::Random, 1)), (0, 65_535), 0);
    assert_eq!(path.len(), 6);
}

/// Links that go down leave the tables, and come back.
#[test]
fn tables_are_made_anew() {
    let graph = topology(json!({"kind": "leaf-spine", "leaves": 2, "spines": 3, "hosts_per_leaf": 2}));
    let mut routing = Routing::new(&graph, 1);
    let link = |from: &str, to: &str| {
        let [from, to] = [from, to].map(|name| graph.find(name).unwrap());
        graph.find_link(from, to, 0).unwrap()
    };
    let hosts = select(&graph, &Names(vec!["*".into()])).unwrap();
    let (from, to) = (hosts[0], hosts[3]);
    assert!(routing.leads(from, to));
    let used = |routing: &Routing| {
        let mut choosers = routing.choosers(&Sharing::by(Ecmp::RoundRobin, 1));
        (0..12).map(|_| walk(routing, &mut choosers, (from.0, to.0), 0)[1]).collect::<BTreeSet<_>>()
    };
    let all = used(&routing);
    assert_eq!(all.len(), 3);
    routing.rebuild(&[link("leaf0", "spine1"), link("spine2", "leaf1")]);
    assert_eq!(used(&routing), BTreeSet::from([link("leaf0", "spine0")]));
    // No way is left from leaf0. It keeps those of the whole network, on which packets meet a link that is down.
    let uplinks = ["spine0", "spine1", "spine2"].map(|spine| link("leaf0", spine));
    routing.rebuild(&uplinks);
    assert!(routing.leads(from, to));
    assert_eq!(used(&routing), all);
    routing.rebuild(&[]);
    assert_eq!(used(&routing), all);
}

/// The next hops towards each host are exactly those that lead nearest by `costs`, as relaxation finds them.
fn groups_lead_nearest(hosts: u64, switches: u64, links: &[(u32, u32)], costs: &[u32], serial: u32) {
    let nodes = (hosts + switches) as u32;
    let mut graph = graph(hosts, switches, links);
    (0..).zip(links).zip(costs).for_each(|((link, _), cost)| graph.set_cost(link, *cost));
    let mut routing = Routing::new(&graph, 1);
    routing.find(graph.ids(Role::Host));
    let mut choosers = routing.choosers(&Sharing::by(Ecmp::Flow, 1));
    let cost = |link: u32| costs[link as usize] as usize;
    for dst in 0..hosts as u32 {
        let mut away = vec![None; nodes as usize];
        away[dst as usize] = Some(0);
        for _ in 0..nodes {
            for (link, (a, b)) in (0..).zip(links) {
                let forwards = *b == dst || u64::from(*b) >= hosts;
                let over = away[*b as usize].filter(|_| forwards).map(|n: usize| n + cost(link));
                let old = away[*a as usize];
                away[*a as usize] = old.into_iter().chain(over).min();
            }
        }
        for src in (0..nodes).filter(|src| *src != dst) {
            let nearest: Vec<u32> = (0u32..)
                .zip(links)
                .filter(|(_, (a, b))| *a == src && (u64::from(*b) >= hosts || *b == dst))
                .filter(|(link, (_, b))| {
                    away[*b as usize].is_some_and(|n| Some(n + cost(*link)) == away[src as usize])
                })
                .map(|(link, _)| link)
                .collect();
            let is_host = u64::from(src) < hosts;
            if is_host {
                assert_eq!(routing.leads(NodeId(src), NodeId(dst)), away[src as usize].is_some());
            }
            if away[src as usize].is_some() || !is_host {
                assert_eq!(routing.ways(NodeId(src), NodeId(dst)), &nearest[..]);
            }
            if is_host && away[src as usize].is_some() {
                let path = walk(&routing, &mut choosers, (src, dst), serial);
                assert_eq!(Some(path.iter().map(|link| cost(*link)).sum()), away[src as usize]);
                let most = all_paths(&graph, NodeId(src), NodeId(dst)).iter().map(Vec::len).max();
                assert_eq!(Some(routing.most_links((NodeId(src), NodeId(dst)))), most);
            }
        }
    }
}

proptest! {
    /// Nearest by the number of links, and by the sum of costs.
    #[test]
    fn groups_are_all_that_lead_nearest(
        hosts in 1u64..5,
        switches in 0u64..6,
        pairs in prop::collection::btree_set((0u32..11, 0u32..11), 0..40),
        costs in prop::collection::vec(1u32..4, 40),
        serial: u32,
    ) {
        let nodes = (hosts + switches) as u32;
        let legal = |(a, b): &(u32, u32)| a != b && *a < nodes && *b < nodes;
        let links: Vec<_> = pairs.into_iter().filter(legal).collect();
        groups_lead_nearest(hosts, switches, &links, &[1; 40], serial);
        groups_lead_nearest(hosts, switches, &links, &costs, serial);
    }
}

/// The longest of all paths, found path by path, whether links between switches are alike or not.
#[test]
fn the_longest_time_is_that_of_some_path_and_of_no_shorter_one() {
    let fat_tree = json!({"kind": "fat-tree", "k": 4, "rate": "10Gbps", "delay": "1us"});
    let rails = graph(2, 2, &[(0, 2), (0, 3), (2, 1), (3, 1), (1, 2), (1, 3), (2, 0), (3, 0)]);
    let link =
        |from: &str, to: &str, cost: u64| json!({"from": from, "to": to, "delay": "1us", "cost": cost});
    let links = [
        ("a", "in", 1),
        ("out", "b", 1),
        ("in", "out", 4),
        ("in", "s", 2),
        ("s", "out", 2),
        ("s", "t", 1),
        ("t", "out", 1),
    ]
    .map(|(from, to, cost)| link(from, to, cost));
    let uneven =
        json!({"kind": "graph", "hosts": ["a", "b"], "switches": ["in", "out", "s", "t"], "links": links});
    for graph in [topology(fat_tree), rails, topology(uneven)] {
        let hosts: Vec<_> = graph.ids(Role::Host).collect();
        let of_graph: Vec<_> = graph.links.iter().map(|link| (link.rate, link.delay)).collect();
        for changed in (0..=graph.links.len()).rev().step_by(5) {
            let mut wires = of_graph.clone();
            if let Some(wire) = wires.get_mut(changed) {
                *wire = (Rate::gbps(1), Span::us(9));
            }
            let (mut longest, mut routing) = (Longest::default(), Routing::new(&graph, 1));
            for pair in [(0, 1), (1, 0), (0, hosts.len() - 1), (hosts.len() - 1, 0)] {
                let ends = (hosts[pair.0], hosts[pair.1]);
                assert!(routing.leads(ends.0, ends.1));
                for bytes in [0, 1500] {
                    let over = |link: &u32| {
                        let (rate, delay) = wires[*link as usize];
                        delay + if bytes > 0 { rate.transmit(Bytes(bytes)) } else { Span::ZERO }
                    };
                    let times = all_paths(&graph, ends.0, ends.1)
                        .iter()
                        .map(|path| path.iter().map(over).fold(Span::ZERO, |sum, one| sum + one))
                        .max();
                    assert_eq!(
                        Some(longest.time(&routing, ends, bytes, &wires)),
                        times,
                        "{changed} {ends:?} {bytes}"
                    );
                }
            }
        }
    }
}

/// Two hosts with a port in each of three planes, each a leaf a host and two spines.
fn planes() -> Graph {
    let mut graph = Graph::default();
    let hosts = graph.hosts_named("h", 2);
    for plane in 0..3 {
        let leaves = [0, 1].map(|leaf| graph.switch(format!("p{plane}.leaf{leaf}")));
        let spines = [0, 1].map(|spine| graph.switch(format!("p{plane}.spine{spine}")));
        for (host, leaf) in hosts.iter().zip(leaves) {
            graph.link(*host, leaf, Rate::gbps(100), Span::us(1));
            spines.iter().for_each(|spine| graph.link(leaf, *spine, Rate::gbps(100), Span::us(1)));
        }
    }
    graph
}

/// A value has the port that it leaves when it is divided by their number, in the label too, and hashes differ all the same.
#[test]
fn labels_keep_the_plane_of_a_value() {
    let graph = planes();
    let mut routing = Routing::new(&graph, 1);
    routing.find([NodeId(0), NodeId(1)]);
    let [label, back] = routing.labels((NodeId(0), NodeId(1)), 5);
    assert_eq!(routing.ways_of(NodeId(0), label), routing.links_of(NodeId(0)));
    let mut seen = std::collections::BTreeSet::new();
    for value in 0..64 {
        let whole = routing.with_plane(label, value, 3);
        assert_eq!(routing.port_of(whole, 3), value % 3);
        assert_eq!((whole & !routing.mask(), back & !routing.mask()), (label & !routing.mask(), 0));
        assert_eq!(routing.port_of(routing.with_hash_of(back, whole), 3), value % 3);
        seen.insert(whole);
    }
    assert!(seen.len() > 60, "{}", seen.len());
    routing.structured = true;
    assert_eq!(routing.with_plane(label, 17, 3) & routing.mask(), 17);
}

/// A host's own links to another, and the other's, are those of all planes; a plane whose spine is down at both is left out.
#[test]
fn own_links_are_those_of_all_planes() {
    let graph = planes();
    let mut routing = Routing::new(&graph, 1);
    let ends = (NodeId(0), NodeId(1));
    routing.find([ends.0, ends.1]);
    let names = |links: &[u32]| links.iter().map(|link| graph.port_name(*link)).collect::<Vec<_>>();
    let [first, last] = routing.own_links(ends);
    assert_eq!(names(&first), ["h0->p0.leaf0", "h0->p1.leaf0", "h0->p2.leaf0"]);
    assert_eq!(names(&last), ["p0.leaf1->h1", "p1.leaf1->h1", "p2.leaf1->h1"]);
    let down: Vec<u32> = (0..graph.links.len() as u32)
        .filter(|link| graph.port_name(*link).starts_with("p1.leaf0->p1.spine"))
        .collect();
    routing.rebuild(&down);
    let [first, last] = routing.own_links(ends);
    assert_eq!((first.len(), last.len()), (2, 2));
}

/// Tiers are hosts, leaves and spines: three ports, two spines, and one way down.
#[test]
fn tiers_have_fields_of_their_own() {
    let graph = planes();
    let routing = Routing::new(&graph, 1);
    let fields = routing.fields().expect("a network of tiers");
    let of = |name: &str| fields[graph.find(name).expect("a node").index()];
    let parts = |name: &str| (of(name).divisor, of(name).width);
    assert_eq!([parts("h1"), parts("p2.leaf0"), parts("p0.spine1")], [(1, 3), (3, 2), (6, 1)]);
    let mut joined = planes();
    let [one, other] = ["p0.leaf0", "p1.leaf1"].map(|name| joined.find(name).expect("a node"));
    joined.link(one, other, Rate::gbps(1), Span::us(1));
    assert_eq!(Routing::new(&joined, 1).fields(), Err((one, other)));
}
