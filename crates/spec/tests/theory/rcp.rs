//! RCP: Dukkipati et al. 2005, "Processor Sharing Flows in the Internet" (IWQoS), s.3.
//!
//! At rest eq. (2) has alpha (C - y) = beta q / d0: y, the load, falls short of C by the term of the standing
//! queue, and every flow is offered y / N. With large windows the queue is short and R = C / N.

use crate::bench::{FULL, MSS, Run, close, run, with};
use serde_json::{Value, json};

const PORT: &str = "switch->r0";

/// Bytes that the header adds to each packet.
const RCP: u64 = 8;

/// Share of the load that is payload.
const PAYLOAD: f64 = MSS as f64 / (FULL + RCP) as f64;

/// N flows into a port of 10 Gb/s with a round trip of 300 us, 250 packets; measured over 50 ms.
fn flows(n: u64, changes: Value) -> Run {
    let document = json!({
        "duration": "250ms",
        "warmup": "200ms",
        "topology": {"kind": "star", "senders": n, "rate": "10Gbps", "delay": "75us"},
        "queue": {"kind": "drop-tail", "limit": "none"},
        "port_control": "rcp",
        "transport": {"cc": "rcp"},
        "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "1ms"}},
    });
    run(with(document, changes))
}

/// For N = 1 to 100: each flow has the same, the load y lies between C and C less the longest queue's term,
/// C - (beta / alpha) q / d0, and as the queue is short beside 250 packets, within 3 % of C.
#[test]
fn the_rate_is_c_over_n_less_what_the_queue_asks() {
    for n in [1u64, 2, 3, 5, 10, 20, 50, 100] {
        let done = flows(n, json!({}));
        let port = |column: &str| done.port(PORT, column);
        let load = port("utilisation");
        let longest = port("max_packets") * 1.2064; // us at 10 Gb/s
        let round = done.column("flows", "srtt_mean_ps").iter().sum::<f64>() / n as f64 / 1e6;
        assert!((1.0 - longest / round..=1.0).contains(&load), "N = {n}: a load of {load}");
        close(&format!("N = {n}: load"), load, 1.0, 0.03);
        for goodput in done.column("flows", "goodput_bps") {
            // A packet more or less in the measured time.
            let packet = n as f64 * (FULL + RCP) as f64 * 8.0 / (10e9 * 0.05);
            close(
                &format!("N = {n}: a flow's share"),
                goodput,
                load * PAYLOAD * 10e9 / n as f64,
                0.002 + packet,
            );
        }
    }
}

/// One flow alone has the whole link, from the first round trips on: rates grow by 1 + alpha a round trip.
#[test]
fn one_flow_fills_the_link() {
    let done = flows(1, json!({"duration": "20ms", "warmup": "10ms"}));
    close("goodput", done.flow("goodput_bps"), PAYLOAD * 10e9, 0.002);
    assert!(done.port(PORT, "max_packets") <= 2.0);
}

/// A flow that comes later has its share at once: a rate is offered to all alike.
#[test]
fn a_late_flow_shares_alike() {
    let changes = json!({"traffic": {"x": {"jitter": "0s", "stagger": "60ms"}}});
    for goodput in flows(3, changes).column("flows", "goodput_bps") {
        close("a flow's share", goodput, PAYLOAD * 10e9 / 3.0, 0.01);
    }
}

/// The switch's step follows the round trips that senders state (s.3, d0), whatever it assumes at first: here 5 ms, where the path takes 300 us. A
/// clock with ticks of 10 ms measures none, and a sender states what an exact one shows: two messages take as long as with that.
#[test]
fn a_sender_states_its_round_trip_whatever_its_clock() {
    let fct = |grain: &str| {
        let done = flows(
            2,
            json!({
                "warmup": "0s", "port_control": {"kind": "rcp", "initial_rtt": "5ms"}, "transport": {"clock_grain": grain},
                "traffic": {"x": {"bytes": "5MB", "jitter": "0s"}},
            }),
        );
        done.fct()
    };
    let (coarse, exact) = (fct("10ms"), fct("1ns"));
    assert_eq!(exact.len(), 2);
    for (coarse, exact) in coarse.into_iter().zip(exact) {
        close("a message's time", coarse as f64, exact as f64, 0.01);
    }
}

/// Losses change no rate, and repair does: with one data packet in a hundred lost, the load stays the same.
#[test]
fn losses_do_not_lower_the_rate() {
    let done = flows(4, json!({"port": {"s*->switch": {"loss": 0.01}}}));
    assert!(done.port(PORT, "utilisation") > 0.95, "{}", done.port(PORT, "utilisation"));
}
