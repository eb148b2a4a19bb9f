//! The shares of a port under flow control, and of its lanes.

use crate::common::{Tables, example, run};
use crate::{of, sum};
use serde_json::json;

/// Sixteen senders of one port share it equally: each has a port of its own into the switch. Nothing is lost, and the
/// bottleneck is in use all the time, whatever the buffer.
#[test]
fn an_incast_is_lossless_and_keeps_the_port_busy() {
    let tables = Tables::of(&run(&json!({
        "duration": "5ms",
        "warmup": "1ms",
        "topology": {"kind": "star", "senders": 16, "rate": "10Gbps", "delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "1MB"}},
        "priority": {"3": {"pfc": true}, "6": {}},
        "transport": {"cc": "newreno", "ecn": "off", "priority": 3, "ack_priority": 6},
        "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
    })));
    assert_eq!(sum(&tables, "queues", "drops_buffer") + sum(&tables, "flows", "retransmissions"), 0);
    assert!(tables.f64("queues", "utilisation")[tables.port("switch->r0")] > 0.999);
    let shares = tables.f64("flows", "goodput_bps");
    let mean = shares.iter().sum::<f64>() / 16.0;
    assert!(shares.iter().all(|share| (share / mean - 1.0).abs() < 0.05), "{shares:?}");
    assert!(sum(&tables, "pauses", "pauses_sent") > 100);
    assert_eq!(of(&tables, "switch->r0", "pauses_sent"), 0, "a receiver is never paused");
}

/// Parking lot by ports: three flows come by one port and one by another. The shares are 1/2 and three times 1/6,
/// where shares by flows would be quarters.
#[test]
fn shares_follow_ports_not_flows() {
    let link = |from: &str, to: &str| json!({"from": from, "to": to, "rate": "10Gbps", "delay": "1us"});
    let links = [("a0", "sw0"), ("a1", "sw0"), ("a2", "sw0"), ("sw0", "sw1"), ("b", "sw1"), ("sw1", "r")];
    let tables = Tables::of(&run(&json!({
        "duration": "12ms",
        "warmup": "2ms",
        "topology": {"kind": "graph", "hosts": ["a0", "a1", "a2", "b", "r"], "switches": ["sw0", "sw1"],
            "links": links.map(|(from, to)| link(from, to))},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "400KB"}},
        "priority": {"3": {"pfc": true}, "6": {}},
        "transport": {"cc": "newreno", "ecn": "off", "priority": 3, "ack_priority": 6, "initial_window": "100pkt"},
        "traffic": {"near": {"kind": "bulk", "from": "b", "to": "r"}, "far": {"kind": "bulk", "from": "a*", "to": "r"}},
    })));
    let shares = tables.f64("flows", "goodput_bps");
    let whole: f64 = shares.iter().sum();
    assert_eq!(sum(&tables, "flows", "drops"), 0);
    for (class, share) in tables.words("flows", "class").iter().zip(shares) {
        let expected = if *class == "near" { 1.0 / 2.0 } else { 1.0 / 6.0 };
        assert!((share / whole / expected - 1.0).abs() < 0.05, "{shares:?}");
    }
}

/// A victim: `v` sends to a free receiver by the port that an incast behind the next switch has paused.
#[test]
fn a_victim_waits_for_a_port_it_does_not_use() {
    let link = |from: &str, to: &str| json!({"from": from, "to": to, "rate": "10Gbps", "delay": "1us"});
    let links = [
        ("v", "left"),
        ("s", "left"),
        ("left", "right"),
        ("i0", "right"),
        ("i1", "right"),
        ("i2", "right"),
        ("right", "busy"),
        ("right", "free"),
    ];
    let document = |pfc: bool| {
        json!({
            "duration": "10ms",
            "warmup": "2ms",
            "topology": {"kind": "graph", "hosts": ["v", "s", "i0", "i1", "i2", "busy", "free"], "switches": ["left", "right"],
                "links": links.map(|(from, to)| link(from, to))},
            "queue": {"kind": "drop-tail", "limit": if pfc { "none" } else { "100pkt" }},
            "switch": if pfc { json!({"*": {"buffer": "500KB", "reserve": "0B"}}) } else { json!({}) },
            "priority": {"3": {"pfc": pfc}, "6": {"queue": {"kind": "drop-tail", "limit": "none"}}},
            "transport": {"cc": "newreno", "ecn": "off", "priority": 3, "ack_priority": 6},
            "traffic": {"victim": {"kind": "bulk", "from": "v", "to": "free"},
                "incast": {"kind": "bulk", "from": ["s", "i0", "i1", "i2"], "to": "busy"}},
        })
    };
    let share = |pfc| {
        let tables = Tables::of(&run(&document(pfc)));
        let row =
            tables.words("flows", "class").iter().position(|class| *class == "victim").expect("the victim");
        tables.f64("flows", "goodput_bps")[row]
    };
    let (with, without) = (share(true), share(false));
    // Its port is paused whenever `s` may not send, which gets a quarter of 10 Gb/s: two flows in one line share alike.
    assert!((with / 2.5e9 - 1.0).abs() < 0.1, "{with}");
    assert!(without > 2.0 * with, "{without} {with}");
}

/// Each discipline works in a lane: two lanes that share by 3 to 1 do so in bytes, their counts add up to the port's, and
/// the books balance. Trimming has priorities of its own and is refused in a lane, which theory/ndp.rs tests.
#[test]
fn every_discipline_works_in_a_lane() {
    let listed = shallows_core::queue::Queue::list().into_iter();
    for component in listed.filter(|component| component.name != "trimming") {
        let queue = component.name;
        let lane = |quantum: &str| json!({"quantum": quantum, "queue": example(&component)});
        let load = |from: &str, priority: u64| json!({"kind": "bulk", "from": from, "to": "r0", "transport": {"priority": priority, "ack_priority": 7}});
        let simulation = run(&json!({
            "duration": "20ms",
            "warmup": "4ms",
            "topology": {"kind": "star", "senders": 4, "rate": "10Gbps", "delay": "5us"},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "priority": {
                "1": lane("9KB"), "2": lane("3KB"),
                "7": {"nic": "fq"},
            },
            "transport": {"cc": "newreno", "min_rto": "1ms"},
            "traffic": {"much": load("s0..s1", 1), "little": load("s2..s3", 2)},
        }));
        let tables = Tables::of(&simulation);
        assert!(
            simulation.books().balance() && simulation.outstanding() == simulation.books().in_flight,
            "{queue}"
        );
        let rate = |class: &str| -> f64 {
            let classes = tables.words("flows", "class");
            let rates = classes.iter().zip(tables.f64("flows", "goodput_bps"));
            rates.filter(|(name, _)| **name == class).map(|(_, rate)| rate).sum()
        };
        let (much, little) = (rate("much"), rate("little"));
        assert!((much / little / 3.0 - 1.0).abs() < 0.25, "{queue}: {much} {little}");
        let whole = tables.u64("queues", "packets_in")[tables.port("switch->r0")];
        let ports = tables.words("inner_queues", "port");
        let lanes = ports.iter().zip(tables.u64("inner_queues", "packets_in"));
        let in_lanes: u64 = lanes.filter(|(port, _)| **port == "switch->r0").map(|(_, n)| n).sum();
        // The packet that was being transmitted when the warm-up ended had left its lane.
        assert!(whole - in_lanes <= 1, "{queue}: {whole} {in_lanes}");
    }
}

/// DCQCN marks at departure, and a lossless lane takes its ramp. Four senders begin at line rate: beyond 200 KB each packet
/// that leaves is marked, and nothing is lost.
#[test]
fn a_lossless_lane_marks_by_a_ramp() {
    let document = json!({
        "duration": "1ms",
        "topology": {"kind": "star", "senders": 4, "rate": "40Gbps", "delay": "1us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "4MB"}},
        "priority": {"3": {"pfc": true, "queue": "ramp"}, "6": {}},
        "transport": {"cc": "dcqcn", "priority": 3, "ack_priority": 6},
        "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
    });
    assert_eq!(crate::faults(&document), Vec::<String>::new());
    let simulation = run(&document);
    let tables = Tables::of(&simulation);
    assert!(sum(&tables, "queues", "marks") > 100);
    assert_eq!(simulation.books().dropped, 0);
    // With a limit it could lose packets.
    let mut limited = document;
    limited["priority"]["3"]["queue"] = json!({"kind": "ramp", "limit": "100pkt"});
    let said = crate::faults(&limited);
    assert!(said.iter().any(|fault| fault.contains("write limit = \"none\"")), "{said:?}");
}
