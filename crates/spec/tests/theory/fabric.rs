//! Several equal paths: ECMP keeps the order of a flow, spraying gives it up. Al-Fares et al., SIGCOMM 2008; RFC 2992.

use crate::bench::{run, with};
use serde_json::{Value, json};

/// A permutation of messages over a fat tree of 4-port switches.
fn fat_tree(ecmp: &str, cc: &str) -> Value {
    json!({"duration": "40ms", "ecmp": ecmp,
        "topology": {"kind": "fat-tree", "k": 4},
        "queue": {"kind": "threshold", "limit": "250pkt", "mark_at": "65pkt"},
        "transport": {"profile": "datacentre", "cc": cc},
        "traffic": {"t": {"kind": "bulk", "from": "h*", "pattern": "permutation", "bytes": "2MB"}}})
}

/// A flow that keeps to one path of FIFOs is never reordered: without a drop nothing is sent twice.
#[test]
fn order_is_kept_by_flow_and_lost_by_packet() {
    for (ecmp, ordered) in [("flow", true), ("random", false)] {
        let done = run(with(fat_tree(ecmp, "dctcp"), json!({"queue": {"limit": "10000pkt"}})));
        assert_eq!(done.column("flows", "drops").iter().sum::<f64>(), 0.0, "{ecmp}");
        let again: f64 = done.column("flows", "retransmissions").iter().sum();
        assert_eq!(again == 0.0, ordered, "{ecmp}: {again} packets sent twice");
        assert!(done.column("messages", "fct_ps").iter().all(|fct| !fct.is_nan()), "{ecmp}");
    }
}

/// Four flows from one pod to another have four paths: in turns their packets load the core links alike, to
/// the packet that each flow is ahead on one; hashed by flow, some link carries more.
#[test]
fn turns_balance_the_core() {
    let spread = |ecmp: &str| {
        // Patience with duplicates and no drops: the same load for both.
        let across = json!({"transport": {"dup_acks": 10_000}, "queue": {"limit": "10000pkt"},
            "traffic": {"t": {"from": "h0..h3", "to": "h12..h15", "pattern": "pairs"}}});
        let done = run(with(fat_tree(ecmp, "newreno"), across));
        let sent: Vec<f64> =
            (0..4).map(|core| done.port(&format!("core{core}->agg3.{}", core / 2), "packets_out")).collect();
        (sent.iter().copied().fold(0.0, f64::max), sent.iter().sum::<f64>() / 4.0)
    };
    let ((most, mean), (hashed, _)) = (spread("round-robin"), spread("flow"));
    assert!(most - mean <= 4.0, "{most} on one link, {mean} on all");
    assert!(hashed >= 2.0 * mean, "{hashed} on one link of four flows");
}

/// Same experiment and seed, same tables; another seed hashes otherwise.
#[test]
fn paths_hang_on_the_seed_alone() {
    for ecmp in ["flow", "round-robin", "random"] {
        let tables = |seed: u64| {
            let done = run(with(fat_tree(ecmp, "dctcp"), json!({"seed": seed, "duration": "5ms"})));
            format!("{:?}", done.simulation.tables())
        };
        assert!(tables(1) == tables(1), "{ecmp}");
        assert!(tables(1) != tables(2), "{ecmp}");
    }
}

/// No message is faster than its ideal time, however its packets are shared out: over paths of different rates and
/// delays, over paths that are slower than the hosts' links and together faster than one of them, and where a short
/// last packet overtakes the one before it.
#[test]
fn nothing_is_faster_than_its_ideal() {
    let slow_spines = json!({"topology": {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4,
        "uplink_rate": "2500Mbps"}});
    let uneven = with(
        slow_spines.clone(),
        json!({"topology": {"uplink_rate": "10Gbps"},
        "port": {"*->spine0": {"rate": "1Gbps"}, "spine1->*": {"delay": "50us"}}}),
    );
    for ecmp in ["flow", "round-robin", "random"] {
        for network in [&slow_spines, &uneven, &json!({})] {
            let sizes = json!({"kind": "uniform", "min": "1B", "max": "20KB"});
            let load = json!({"kind": "poisson", "from": "h*", "to": "h*", "sizes": sizes, "every": "20us"});
            let mut document = fat_tree(ecmp, "dctcp");
            document["topology"] = json!({"kind": "fat-tree", "k": 4});
            document["traffic"] = json!({"t": load});
            if let Some(topology) = network.get("topology") {
                document["topology"] = topology.clone();
            }
            if let Some(port) = network.get("port") {
                document["port"] = port.clone();
            }
            let done = run(document);
            let slowdowns = done.column("messages", "slowdown");
            let least = slowdowns.iter().copied().filter(|s| !s.is_nan()).fold(f64::INFINITY, f64::min);
            assert!(slowdowns.len() > 1000, "{} messages", slowdowns.len());
            // The bound is sharp: some message meets nobody and takes the best path.
            assert!((1.0..1.05).contains(&least), "{ecmp} on {network}: {least}");
        }
    }
}

/// A host sends a window of 1000 segments, and then a message of one segment elsewhere. Behind one FIFO it waits for them
/// all, 1000 times 1.2 us; by turns it waits for the packet being transmitted at most. Linux sch_fq: a new flow goes first.
#[test]
fn a_card_that_serves_flows_in_turn_lets_a_message_pass() {
    let waited = |nic: &str| {
        let done = run(json!({"duration": "5ms", "nic": nic,
        "topology": {"kind": "star", "senders": 1, "receivers": 2, "rate": "10Gbps", "delay": "25us"},
        "queue": {"kind": "drop-tail"},
        "transport": {"cc": "newreno", "opening": "established", "initial_window": "1000pkt"},
        "traffic": {
            "bulk": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": "1460KB"},
            "short": {"kind": "messages", "from": "s0", "to": "r1", "bytes": "1460B", "interval": "1s", "start": "100us"},
        }}));
        let row = done.words("messages", "traffic").iter().position(|name| *name == "short").expect("a row");
        done.column("messages", "fct_ps")[row] - done.column("messages", "ideal_ps")[row]
    };
    let packet = 1.2e6;
    assert!(waited("fq") <= packet, "{}", waited("fq"));
    assert!(waited("drop-tail") > 900.0 * packet, "{}", waited("drop-tail"));
}

/// Each host of one half sends as much to its like in the other half, over a fat tree of 8-port switches with 128 hosts:
/// by symmetry every link between switches has the same load. In turns, a switch gives its ways up equally many packets,
/// to one: an edge switch to one, an aggregation switch to one more for each of its four edge switches. At random, and on
/// the ways down, the loads are binomial.
#[test]
fn spraying_fills_every_link_evenly() {
    for ecmp in ["round-robin", "random"] {
        let done = run(with(
            fat_tree(ecmp, "newreno"),
            json!({"topology": {"k": 8}, "queue": {"limit": "10000pkt"}, "transport": {"dup_acks": 10_000},
                "traffic": {"t": {"from": "h*", "to": ["h64..h127", "h0..h63"], "pattern": "pairs", "bytes": "150KB"}}}),
        ));
        assert_eq!(done.column("flows", "retransmissions").iter().sum::<f64>(), 0.0, "{ecmp}");
        let tier = |from: &str, to: &str| -> Vec<f64> {
            let names = done.words("queues", "port").into_iter().zip(done.column("queues", "packets_out"));
            let ends = |name: &str| {
                name.split_once("->").is_some_and(|(a, b)| a.starts_with(from) && b.starts_with(to))
            };
            names.filter(|(name, _)| ends(name)).map(|(_, packets)| packets).collect()
        };
        let sent: f64 = tier("h", "edge").iter().sum();
        for (from, to, in_turn) in
            [("edge", "agg", 1.0), ("agg", "core", 5.0), ("core", "agg", f64::NAN), ("agg", "edge", f64::NAN)]
        {
            let loads = tier(from, to);
            let fair = sent / 128.0;
            assert_eq!((loads.len(), loads.iter().sum::<f64>()), (128, sent), "{ecmp}: {from} to {to}");
            // Binomial: the standard deviation is below the root of the mean; five of them.
            let slack = if ecmp == "round-robin" && in_turn > 0.0 { in_turn } else { 5.0 * fair.sqrt() };
            assert!(
                loads.iter().all(|load| (load - fair).abs() <= slack),
                "{ecmp}: {from} to {to}, {fair}: {loads:?}"
            );
        }
    }
}

// ---- costs of links ----

/// Hosts a0 .. a3 and b0 .. b3 behind switches that are joined directly, at a cost, and through two more at 1 a link.
fn detour(direct: u64, ecmp: &str) -> Value {
    let mut links = vec![json!({"from": "in", "to": "out", "cost": direct, "delay": "5us"})];
    links.extend(
        [("in", "s"), ("s", "t"), ("t", "out")]
            .map(|(from, to)| json!({"from": from, "to": to, "delay": "5us"})),
    );
    for i in 0..4 {
        links.push(json!({"from": format!("a{i}"), "to": "in", "delay": "5us"}));
        links.push(json!({"from": "out", "to": format!("b{i}"), "delay": "5us"}));
    }
    json!({"duration": "20ms", "ecmp": ecmp,
        "topology": {"kind": "graph", "hosts": ["a0..a3", "b0..b3"], "switches": ["in", "out", "s", "t"], "links": links},
        "queue": {"kind": "threshold", "limit": "10000pkt", "mark_at": "65pkt"},
        "transport": {"profile": "datacentre", "cc": "dctcp", "dup_acks": 10_000},
        "traffic": {"t": {"kind": "bulk", "from": "a*", "to": "b*", "pattern": "pairs", "bytes": "1MB"}}})
}

/// The way around costs 3. Below that the direct link carries all, above it nothing, and at 3 both do, in turns.
#[test]
fn the_least_sum_of_costs_carries_the_packets() {
    for (direct, there, back) in
        [(2, [1.0, 0.0], [1.0, 0.0]), (4, [0.0, 1.0], [0.0, 1.0]), (3, [0.5, 0.5], [0.5, 0.5])]
    {
        let done = run(detour(direct, "round-robin"));
        assert!(done.column("messages", "fct_ps").iter().all(|fct| !fct.is_nan()), "{direct}");
        for (ports, shares) in [(["in->out", "in->s"], there), (["out->in", "out->t"], back)] {
            let sent = ports.map(|port| done.port(port, "packets_out"));
            let sum = sent[0] + sent[1];
            for (sent, share) in sent.iter().zip(shares) {
                // A switch gives its packets in turn; both ends take an odd one.
                assert!((sent - share * sum).abs() <= 1.0, "{direct} {ports:?}: {sent} of {sum}");
            }
        }
    }
}

/// Ways of equal cost and different length: no message is faster than its ideal, which the shorter way gives, and a flow that is
/// alone on the shorter way takes exactly that long.
#[test]
fn nothing_is_faster_than_its_ideal_over_ways_of_different_length() {
    for ecmp in ["flow", "round-robin", "random"] {
        for seed in 1..=8 {
            let one = json!({"seed": seed, "traffic": {"t": {"from": "a0", "to": "b0", "bytes": "1KB"}}});
            let done = run(with(detour(3, ecmp), one));
            let [fct, ideal] = ["fct_ps", "ideal_ps"].map(|column| done.column("messages", column)[0]);
            // At 10 Gb/s with 5 us: SYN and SYN-ACK of 40 bytes take 5032 ns a link, 1 KB and its header 5832 ns. Three links, or five.
            let time = |links: [u64; 3]| ((links[0] + links[1]) * 5_032_000 + links[2] * 5_832_000) as f64;
            assert_eq!(ideal, time([3, 3, 3]), "{ecmp}");
            let ways = (0..8).map(|bits| [0, 1, 2].map(|bit| if bits >> bit & 1 == 1 { 5 } else { 3 }));
            assert!(ways.map(time).any(|time| time == fct), "{ecmp} {seed}: {fct}");
            let done = run(with(detour(3, ecmp), json!({"seed": seed})));
            let (fct, ideal) = (done.column("messages", "fct_ps"), done.column("messages", "ideal_ps"));
            assert!(fct.iter().zip(&ideal).all(|(fct, ideal)| fct >= ideal), "{ecmp}: {fct:?} {ideal:?}");
        }
    }
}

/// When the cheap way fails, the dear one carries the packets, as the tables follow; after the repair it carries none.
#[test]
fn a_dear_way_stands_in_for_a_cheap_one() {
    let events = json!({"event": {
        "fail": {"at": "1ms", "link": "s<->t", "state": "down"},
        "mend": {"at": "4ms", "link": "s<->t", "state": "up"},
    }, "traffic": {"t": {"bytes": "10MB"}}});
    let done = run(with(detour(9, "flow"), events));
    let [direct, around] = ["in->out", "in->s"].map(|port| done.port(port, "bytes_out"));
    // 10 Gb/s for 3 ms are 3.75 MB; the rest of 40 MB goes around. The window opens anew after the losses of the failure.
    assert!(direct > 1e6 && direct < 3.9e6, "{direct}");
    assert!(around > 10e6, "{around}");
}
