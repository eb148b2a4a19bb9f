//! D3: Wilson et al. 2011, "Better Never than Late: Meeting Deadlines in Datacenter Networks" (SIGCOMM).
//!
//! Demands first, in order of requests, and equal shares of the rest: s.4.3.

use crate::bench::{FULL, MSS, Run, close, run, with};
use serde_json::{Value, json};

const PORT: &str = "switch->r0";

/// Payload in a bit that D3 assigns: a request of 50 bytes a round trip is a thousandth.
const PAYLOAD: f64 = MSS as f64 / FULL as f64;

/// Senders and one receiver at 10 Gb/s, a round trip of 300 us.
fn document(senders: u64, traffic: Value) -> Value {
    json!({
        "duration": "300ms",
        "topology": {"kind": "star", "senders": senders, "rate": "10Gbps", "delay": "75us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "port_control": "d3",
        "transport": {"cc": "d3", "opening": "handshake"},
        "traffic": traffic,
    })
}

/// Loads that ended before their deadlines, by name.
fn met(done: &Run) -> Vec<(String, bool)> {
    done.words("messages", "traffic")
        .iter()
        .zip(done.column("messages", "met"))
        .map(|(load, met)| (load.to_string(), met == 1.0))
        .collect()
}

/// N flows without deadlines: D = 0, and all have the same, whoever came first. At rest s.4.3 has
/// alpha (C - u / T) = beta q / T: the load falls short of C by ten times the term of the mean queue. With
/// a smaller beta, the same as alpha, and no more than 20 flows, that is next to nothing, and a share is C / N.
#[test]
fn flows_without_deadlines_have_c_over_n() {
    for n in [1u64, 2, 5, 20, 50] {
        for beta in [1.0, 0.1] {
            let traffic = json!({"x": {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "5ms"}});
            let changes = json!({"warmup": "100ms", "port_control": {"kind": "d3", "beta": beta}});
            let done = run(with(document(n, traffic), changes));
            let load = done.port(PORT, "utilisation");
            // Waiting, which the packet being sent is not; 1.2 us each.
            let waiting = (done.port(PORT, "mean_packets") - load) * 1.2;
            let round = done.column("flows", "srtt_mean_ps").iter().sum::<f64>() / n as f64 / 1e6;
            let at_rest = 1.0 - beta / 0.1 * waiting / round;
            close(&format!("N = {n}, beta = {beta}: load"), load, at_rest, 0.01);
            if beta == 0.1 && n <= 20 {
                close(&format!("N = {n}: load"), load, 1.0, 0.03);
            }
            for rate in done.column("flows", "goodput_bps") {
                close(
                    &format!("N = {n}, beta = {beta}: share"),
                    rate,
                    load * PAYLOAD * 10e9 / n as f64,
                    0.01,
                );
            }
        }
    }
}

/// Ten flows without end and one of 10 MB that is due after 20 ms, which takes 4 Gb/s: a fair share of 0.9 Gb/s
/// would take 88 ms. RCP, which gives that, misses it; D3 meets it, and the ten share the rest.
#[test]
fn a_deadline_that_a_fair_share_would_miss_is_met() {
    let traffic = json!({
        "long": {"kind": "bulk", "from": "s0..s9", "to": "r0"},
        "due": {"kind": "messages", "from": "s10", "to": "r0", "bytes": "10MB", "count": 1, "interval": "1s", "start": "50ms",
            "connection": "fresh", "deadline": {"kind": "fixed", "span": "20ms"}},
    });
    let done = run(document(11, traffic.clone()));
    assert!(met(&done).contains(&("due".into(), true)), "{:?}", met(&done));
    let rcp = with(document(11, traffic), json!({"port_control": "rcp", "transport": {"cc": "rcp"}}));
    assert!(met(&run(rcp)).contains(&("due".into(), false)));
}

/// Two flows need six tenths of the link each. The first to ask is served, whichever that is; the second has the
/// rest and is late, though an order by deadline would have met both: the first needs its rate only later.
#[test]
fn first_come_is_first_served_whatever_the_deadline() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        let one = |from: &str, start: &str| {
            json!({"kind": "messages", "from": from, "to": "r0", "bytes": "14MB", "count": 1, "interval": "1s", "start": start,
                "connection": "fresh", "deadline": {"kind": "fixed", "span": "20ms"}})
        };
        let mut traffic = json!({});
        traffic[first] = one("s0", "1ms");
        traffic[second] = one("s1", "2ms");
        let mut found = met(&run(document(2, traffic)));
        found.sort();
        let mut wanted = [(first.to_string(), true), (second.to_string(), false)];
        wanted.sort();
        assert_eq!(found, wanted);
    }
}
