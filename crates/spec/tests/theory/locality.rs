//! Poisson arrivals by distance and by pattern: drawn shares against the binomial law.

use crate::bench::{Run, run};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Some 20 000 short flows on `topology`.
fn arrivals(topology: Value, load: Value) -> Run {
    let mut traffic =
        json!({"kind": "poisson", "from": "h*", "every": "1us", "sizes": {"kind": "fixed", "bytes": "100B"}});
    let map = traffic.as_object_mut().expect("a table");
    map.extend(load.as_object().expect("a table").clone());
    run(json!({
        "duration": "20ms", "topology": topology, "queue": {"kind": "drop-tail", "limit": "none"},
        "transport": {"opening": "established", "cc": "newreno"}, "traffic": {"x": traffic},
    }))
}

/// Sender and receiver of each flow, as numbers of hosts.
fn pairs(run: &Run) -> Vec<(usize, usize)> {
    let host = |name: &&str| name[1..].parse().expect("a host's number");
    let [from, to] =
        ["src", "dst"].map(|column| run.words("flows", column).iter().map(host).collect::<Vec<_>>());
    from.into_iter().zip(to).collect()
}

/// `count` of `all` against the share `p`: a binomial count is within four deviations but for one run in 16 000.
#[track_caller]
fn binomial(what: &str, count: usize, all: usize, p: f64) {
    let (mean, deviation) = (all as f64 * p, (all as f64 * p * (1.0 - p)).sqrt());
    let off = (count as f64 - mean).abs();
    assert!(off <= 4.0 * deviation, "{what}: {count} of {all}, by theory {mean:.0} +- {deviation:.0}");
}

/// A fat tree of k = 4: two hosts an edge switch, four a pod, sixteen in all (Al-Fares 2008). Each share goes to its tier, and within
/// it to each host alike.
#[test]
fn flows_go_by_distance_as_the_shares_say() {
    let shares = json!({"to": "h*", "rack": 0.5, "pod": 0.3, "far": 0.2});
    let flows = pairs(&arrivals(json!({"kind": "fat-tree", "k": 4}), shares));
    let all = flows.len();
    assert!(all > 19_000, "{all}");
    let tier =
        |(from, to): &(usize, usize)| usize::from(from / 2 != to / 2) + usize::from(from / 4 != to / 4);
    for (number, (share, hosts)) in [(0.5, 1), (0.3, 2), (0.2, 12)].into_iter().enumerate() {
        let mine: Vec<_> = flows.iter().filter(|pair| tier(pair) == number).collect();
        binomial(&format!("tier {number}"), mine.len(), all, share);
        let mut to: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        mine.iter().for_each(|pair| *to.entry(**pair).or_default() += 1);
        assert_eq!(to.len(), 16 * hosts);
        for (pair, count) in to {
            binomial(&format!("{pair:?}"), count, mine.len(), 1.0 / (16 * hosts) as f64);
        }
    }
}

/// Receivers are those of `to` alone, here one host of each edge switch, and the other sends.
/// A share of nothing is never drawn.
#[test]
fn distances_count_among_the_receivers() {
    let to: Vec<String> = (0..16).step_by(2).map(|host| format!("h{host}")).collect();
    let from: Vec<String> = (1..16).step_by(2).map(|host| format!("h{host}")).collect();
    let shares = json!({"from": from, "to": to, "rack": 0.25, "far": 0.75});
    let flows = pairs(&arrivals(json!({"kind": "fat-tree", "k": 4}), shares));
    let rack = flows.iter().filter(|(from, to)| from / 2 == to / 2).count();
    binomial("rack", rack, flows.len(), 0.25);
    assert!(flows.iter().all(|(from, to)| from / 2 == to / 2 || from / 4 != to / 4));
}

/// A leaf-spine network is one pod: three switches between leaves.
#[test]
fn a_leaf_spine_network_is_one_pod() {
    let topology = json!({"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4});
    let flows = pairs(&arrivals(topology, json!({"to": "h*", "rack": 0.1, "pod": 0.9})));
    let rack = flows.iter().filter(|(from, to)| from / 4 == to / 4).count();
    binomial("rack", rack, flows.len(), 0.1);
}

/// Each sender has one receiver and each receiver one sender; flows are drawn from these pairs alike.
#[test]
fn a_permutation_keeps_its_pairs() {
    let flows = pairs(&arrivals(json!({"kind": "fat-tree", "k": 4}), json!({"pattern": "permutation"})));
    let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    flows.iter().for_each(|pair| *counts.entry(*pair).or_default() += 1);
    let senders: BTreeSet<usize> = counts.keys().map(|pair| pair.0).collect();
    let receivers: BTreeSet<usize> = counts.keys().map(|pair| pair.1).collect();
    assert_eq!((counts.len(), senders.len(), receivers.len()), (16, 16, 16));
    assert!(counts.keys().all(|(from, to)| from != to));
    counts.values().for_each(|count| binomial("pair", *count, flows.len(), 1.0 / 16.0));
}

/// A share that a topology does not have is refused, with a host that shows it.
#[test]
fn shares_without_receivers_are_refused() {
    let found = |topology: Value, load: Value| {
        let mut traffic = json!({"kind": "poisson", "from": "h*", "to": "h*", "every": "1us", "sizes": {"kind": "fixed", "bytes": "100B"}});
        traffic.as_object_mut().expect("a table").extend(load.as_object().expect("a table").clone());
        let document = json!({"duration": "20ms", "topology": topology, "queue": "drop-tail",
            "transport": {"cc": "newreno"}, "traffic": {"x": traffic}});
        let faults = shallows_spec::load(&document.to_string()).err().expect("it is refused");
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let fabric = || json!({"kind": "fat-tree", "k": 4});
    let leaves = json!({"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4});
    for (got, want) in [
        (
            found(leaves, json!({"rack": 0.5, "far": 0.5})),
            "traffic.x.far: must be left out or 0: h0 has no other receiver beyond its pod, got 0.5",
        ),
        (
            found(json!({"kind": "fat-tree", "k": 2}), json!({"rack": 1.0})),
            "traffic.x.rack: must be left out or 0: h0 has no other receiver under its switch, got 1",
        ),
        (
            found(fabric(), json!({"rack": 0.5, "pod": 0.4})),
            "traffic.x.rack: must make 1 with the other shares of rack, pod and far, and they make 0.9, got 0.5",
        ),
        (
            found(fabric(), json!({"rack": 0.5, "pod": 0.5, "fan_in": 2})),
            "traffic.x.rack: needs fan_in = 1: an incast's senders are drawn from all, got 0.5",
        ),
        (
            found(fabric(), json!({"to": [], "pattern": "permutation", "far": 1.0})),
            "traffic.x.far: needs pattern = \"all\": this one says who sends to whom, got 1",
        ),
        (
            found(fabric(), json!({"to": [], "pattern": "permutation", "fan_in": 2})),
            "traffic.x.fan_in: needs pattern = \"all\": this one says who sends to whom, got 2",
        ),
    ] {
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].starts_with(want.split(", got").next().expect("a rule")), "{got:?}");
    }
}
