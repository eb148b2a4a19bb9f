//! Cards with several ports (planes) against their closed forms: the sum of rates, its share that a port or a link costs, values that name
//! paths, pulls, turns of flows, and loads that lose ports, links and packets.
//!
//! Sources: third-party notes on MRC 1.0 (OCP, 2026) for cards of 8 x 100 Gb/s, equal shares of values and static switches, as in
//! `transport/uec/card.rs` and `routing/choice/structured.rs`. Its published figures were not at hand: no number here is one of them.

use crate::bench::{MS, Run, US, close, run, with};
use serde_json::{Value, json};

/// A full packet of a port of 100 Gb/s takes 80 ps a byte.
const BYTE: u64 = 80;
const MTU: u64 = 4096;
const HEADER: u64 = 64;
const FULL: u64 = MTU + HEADER;
const PORTS: u64 = 8;
/// Payload of all ports together in bits a second.
const LINE: f64 = 800e9 * MTU as f64 / FULL as f64;
/// The round trip of a full packet over leaf, spine and leaf, as senders take it: an answer's bytes take no time.
const BASE: u64 = 8 * US + 4 * BYTE * FULL;

/// Cards of eight ports of 100 Gb/s, two leaves and four spines in each plane, four hosts at each leaf.
fn planes(changes: Value) -> Value {
    let document = json!({
        "duration": "1s",
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4, "planes": PORTS, "rate": "100Gbps", "delay": "1us",
            "uplink_delay": "1us",
        },
        "queue": {"kind": "trimming", "limit": "1bdp", "last_hop_room": "1.5bdp", "kmin": "0.2bdp", "kmax": "0.8bdp"},
        "transport": {"profile": "uec", "cc": "nscc", "entropy": "oblivious", "timeout": "100us"},
        "traffic": {"x": {"kind": "bulk", "from": "h0", "to": "h4", "start": "0s"}},
    });
    with(document, changes)
}

fn message(packets: u64) -> Value {
    json!({"traffic": {"x": {"bytes": format!("{}B", packets * MTU)}}})
}

fn sum(run: &Run, table: &str, column: &str) -> f64 {
    run.column(table, column).iter().sum()
}

/// Packets that left the ports whose names `is` picks out.
fn left(run: &Run, is: impl Fn(&str) -> bool) -> f64 {
    let ports = run.words("queues", "port").into_iter().zip(run.column("queues", "packets_out"));
    ports.filter(|(port, _)| is(port)).map(|(_, packets)| packets).sum()
}

/// Eight packets leave at once. A message of 8 k packets takes k packets' times at the host, and three on the links behind it. That is
/// its ideal, too. Beyond the first window it is the same, since answers come within the window's time.
#[test]
fn a_message_leaves_at_the_rate_of_all_ports() {
    for rounds in [1, 2, 20, 400] {
        let done = run(planes(message(PORTS * rounds)));
        let time = BYTE * FULL * (rounds + 3) + 4 * US;
        assert_eq!(done.fct(), [time], "{rounds}");
        assert_eq!(done.column("messages", "ideal_ps"), [time as f64]);
        // Each port has an equal share, in each direction that the data take.
        for plane in 0..PORTS {
            for end in [format!("h0->p{plane}.leaf0"), format!("p{plane}.leaf1->h4")] {
                assert_eq!(left(&done, |port| port == end), rounds as f64, "{end}");
            }
        }
    }
}

/// Whatever chooses the values, a long flow has the rate of all ports but for those that idle while no value of theirs is drawn.
#[test]
fn every_rule_fills_all_ports() {
    for (entropy, least) in [
        ("oblivious", 0.999),
        ("bitmap", 0.999),
        ("mixed", 0.999),
        ("reps", 0.98),
        ("reps-freezing", 0.98),
        ("reps-legacy", 0.999),
        ("states", 0.98),
    ] {
        let done = run(planes(json!({"duration": "2ms", "warmup": "1ms", "transport": {"entropy": entropy}})));
        let share = done.flow("goodput_bps") / LINE;
        println!("{entropy} {share}");
        assert!((least..=1.0001).contains(&share), "{entropy}: {share}");
    }
    // One value is one port.
    let done = run(planes(json!({"duration": "2ms", "warmup": "1ms", "transport": {"entropy": "single"}})));
    close("one port", done.flow("goodput_bps"), LINE / 8.0, 0.001);
}
