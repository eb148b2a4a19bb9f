//! DualPI2 under traffic that does not respond: RFC 9332 s.4.2.

mod common;

use common::{Tables, run};
use serde_json::{Value, json};

/// A constant bit rate beside one classic flow on a port of 40 Mb/s; the load's packets are ECN-capable, or not.
fn document(rate: &str, ecn: &str, scheduler: &str) -> Value {
    json!({
        "duration": "30s", "warmup": "10s",
        "topology": {"kind": "star", "senders": 2, "rate": "40Mbps", "delay": "2500us"},
        "port": {"s*->switch": {"rate": "1Gbps"}},
        "queue": {"kind": "dualpi2", "classify": "any_ect", "scheduler": scheduler},
        "transport": {"profile": "rfc", "cc": "newreno", "ecn": "off"},
        "traffic": {
            "classic": {"kind": "bulk", "from": "s0", "to": "r0"},
            // Retransmissions too are ECN-capable, or they would load the classic queue.
            "cbr": {"kind": "bulk", "from": "s1", "to": "r0",
                "transport": {"cc": {"kind": "cbr", "rate": rate}, "ecn": ecn, "ect_on_control": "always"}},
        },
    })
}

/// Packets out a second, mean and 99th percentile wait in ms, marks and drops by the law, of a class in a queue.
fn row(tables: &Tables, class: &str, queue: &str) -> [f64; 5] {
    let words = |column| tables.words("inner_queues", column);
    let is = |i: &usize| {
        [words("port")[*i], words("class")[*i], words("queue")[*i], words("what")[*i]]
            == ["switch->r0", class, queue, "data"]
    };
    let i = (0..tables.rows("inner_queues")).find(is).unwrap_or_else(|| panic!("no {class} in {queue}"));
    let count = |column| tables.u64("inner_queues", column)[i] as f64;
    let wait = |column| tables.f64("inner_queues", column)[i] / 1e9;
    [
        count("packets_out") / 20.0,
        wait("mean_wait_ps"),
        wait("p99_wait_ps"),
        count("marks"),
        count("drops_aqm"),
    ]
}

const FULL: f64 = 40e6 / (8.0 * 1500.0);

#[test]
fn the_load_is_constant() {
    let tables = Tables::of(&run(&document("10Mbps", "off", "wrr")));
    let [out, ..] = row(&tables, "cbr", "C");
    let sent = 10e6 / (8.0 * 1500.0);
    // Some of it is dropped; no more is sent than the rate.
    assert!(out <= sent * 1.001 && out > sent * 0.9, "{out} of {sent} a second");
}

/// S.4.2.1: below the port's rate such traffic keeps its rate, and the others share the rest.
// req: RFC9332 s2.5.2.2 SHOULD statistics
#[test]
fn without_overload_it_keeps_its_rate_and_its_latency() {
    let tables = Tables::of(&run(&document("20Mbps", "on", "wrr")));
    let [out, _, tail, _, drops] = row(&tables, "cbr", "L");
    assert!((out / (FULL / 2.0) - 1.0).abs() < 0.01, "{out}");
    assert!(tail < 1.5, "{tail} ms"); // a classic packet of 0.3 ms, and round robin's turn
    assert_eq!(drops, 0.0);
    let [classic, wait, ..] = row(&tables, "classic", "C");
    assert!(classic > 0.85 * FULL / 2.0, "{classic}");
    assert!(wait < 25.0, "{wait} ms, about the target of 15");
}

/// S.4.2.3.1: beyond it, ECN-capable or not it is dropped, and the low-latency queue is held at the classic target.
// req: RFC9332 s2.5.1.1 MUST overload-drops
// req: RFC9332 s2.5.1 MUST priority-bounded
#[test]
fn in_overload_ecn_does_not_save_it() {
    let tables = Tables::of(&run(&document("60Mbps", "on", "wrr")));
    let [out, mean, tail, marks, drops] = row(&tables, "cbr", "L");
    assert!(drops > 0.25 * 20.0 * out, "{drops} drops");
    assert!(marks > 0.9 * 20.0 * out, "all that is left is marked");
    assert!(mean < 20.0 && tail < 40.0, "{mean} ms, {tail} ms");
    // S.4.2.2: round robin leaves the classic queue its sixteenth.
    let classic = row(&tables, "classic", "C")[0];
    assert!(out > 0.85 * FULL && classic > 0.0, "{out} {classic}");
}

/// The scheduler decides which queue starves: strict priority leaves the classic queue nothing.
#[test]
fn strict_priority_starves_the_classic_queue() {
    let share = |scheduler: &str| {
        let tables = Tables::of(&run(&document("60Mbps", "on", scheduler)));
        let delivered = tables.u64("flows", "delivered_bytes");
        let class = tables.words("flows", "class");
        let classic = class.iter().position(|class| *class == "classic").expect("a row");
        delivered[classic] as f64 * 8.0 / 20.0 / 40e6
    };
    let [wrr, priority] = ["wrr", "priority"].map(share);
    assert!(priority <= wrr, "{priority} {wrr}");
    assert!(priority < 0.01, "{priority}");
}
