//! SDC and RACS: Munir 2012, "Improving Flow Completion Times in Data Center Networks" (MS thesis, NUST).
//!
//! Each protocol's own rule gives the shares of flows on one link; simulation agrees within 3 %.

use crate::bench::{FULL, MSS, Run, close, run, with};
use serde_json::{Value, json};

const PORT: &str = "switch->r0";

/// Payload in a bit that RACS assigns: a request of 24 bytes a round trip is less than a thousandth.
const RACS_PAYLOAD: f64 = MSS as f64 / FULL as f64;

/// N long flows into a port of 1 Gb/s with a round trip of 300 us, 25 packets, as in the thesis.
fn flows(protocol: &str, n: u64, changes: Value) -> Run {
    let document = json!({
        "duration": "400ms",
        "warmup": "100ms",
        "topology": {"kind": "star", "senders": n, "rate": "1Gbps", "delay": "75us"},
        "queue": {"kind": "drop-tail", "limit": "100pkt"},
        "port_control": protocol,
        "transport": {"cc": protocol, "initial_window": "2pkt"},
        "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "2ms"}},
    });
    run(with(document, changes))
}

/// Hops in a row, one flow over all of them and `crossing[h]` over hop h alone.
fn line(protocol: &str, crossing: &[u64], changes: Value) -> Run {
    let mut document = json!({
        "duration": "600ms",
        "warmup": "200ms",
        "topology": {"kind": "parking-lot", "hops": crossing.len(), "rate": "1Gbps", "access_rate": "10Gbps",
            "delay": "50us", "access_delay": "25us"},
        "queue": {"kind": "drop-tail", "limit": "100pkt"},
        "port_control": protocol,
        "transport": {"cc": protocol, "initial_window": "2pkt"},
        "traffic": {"long": {"kind": "bulk", "from": "s", "to": "r"}},
    });
    for (hop, flows) in (1..).zip(crossing) {
        document["traffic"][format!("x{hop}")] = json!({"kind": "bulk", "from": format!("a{hop}"),
            "to": format!("b{hop}"), "flows": flows, "stagger": "730us", "jitter": "1ms"});
    }
    run(with(document, changes))
}

/// Sum of the goodputs of a load.
fn goodput(run: &Run, load: &str) -> f64 {
    let rates = run.column("flows", "goodput_bps");
    run.loads().iter().zip(rates).filter(|(name, _)| **name == load).map(|(_, rate)| rate).sum()
}

// ---- RACS ----

/// Eq. (4.2) with equal weights: C / N each, all of the link, and next to no queue.
#[test]
fn racs_divides_the_link_by_weight() {
    for n in [1, 2, 5, 10] {
        let done = flows("racs", n, json!({}));
        close(&format!("N = {n}: load"), done.port(PORT, "utilisation"), 1.0, 0.015);
        assert!(done.port(PORT, "mean_packets") < 5.0);
        assert_eq!(done.port(PORT, "drops_full"), 0.0);
        for rate in done.column("flows", "goodput_bps") {
            close(&format!("N = {n}: R"), rate, RACS_PAYLOAD * 1e9 / n as f64, 0.03);
        }
    }
}

/// Eq. (4.2) with unequal weights, 1 against 4, of loads with weights of their own.
#[test]
fn racs_gives_four_times_the_weight_four_times_the_rate() {
    let heavy = json!({"kind": "bulk", "from": "s1", "to": "r0", "jitter": "2ms",
        "transport": {"cc": {"kind": "racs", "w_min": 4.0}}});
    let done = flows("racs", 2, json!({"traffic": {"x": {"from": "s0"}, "heavy": heavy}}));
    close("w = 1", goodput(&done, "x"), RACS_PAYLOAD * 1e9 / 5.0, 0.03);
    close("w = 4", goodput(&done, "heavy"), RACS_PAYLOAD * 1e9 * 4.0 / 5.0, 0.03);
}

/// Over several hops a flow gets the least of its shares, min over hops of w C / W, and the rest of its share at the
/// others stays unused: this is the protocol's rule, and not max-min fairness.
#[test]
fn racs_over_several_hops_gives_the_least_share() {
    for crossing in [[1u64, 1, 1], [1, 2, 1], [3, 1, 5]] {
        let done = line("racs", &crossing, json!({}));
        let share = |hop: usize| RACS_PAYLOAD * 1e9 / (crossing[hop] + 1) as f64;
        let least = (0..3).map(share).fold(f64::INFINITY, f64::min);
        close(&format!("{crossing:?}: long"), goodput(&done, "long"), least, 0.03);
        for hop in 0..3 {
            let law = share(hop) * crossing[hop] as f64;
            close(&format!("{crossing:?}: hop {hop}"), goodput(&done, &format!("x{}", hop + 1)), law, 0.03);
        }
    }
}

/// s.4.2: a rate of less than a packet a round leaves headers alone on their way, and no flow starves:
/// 50 flows share 25 packets a round trip.
#[test]
fn racs_starves_no_flow() {
    let done = flows("racs", 50, json!({"duration": "600ms", "queue": {"limit": "none"}}));
    let rates = done.column("flows", "goodput_bps");
    let (least, most) = rates.iter().fold((f64::INFINITY, 0.0f64), |(a, b), r| (a.min(*r), b.max(*r)));
    assert!(least > 0.9 * most, "from {least} to {most}");
}

/// s.4.2, incast: admitted flows are in the sum before any of them is assigned a rate, so that 40 servers that answer
/// together, round after round, lose nothing with 100 packets of buffer, though slots are then longer than
/// the round trips of those that come.
#[test]
fn racs_loses_nothing_under_incast() {
    for limit in ["100pkt", "150KB"] {
        let done = run(json!({
            "duration": "1s", "topology": {"kind": "star", "senders": 40, "rate": "1Gbps", "delay": "75us"},
            "queue": {"kind": "drop-tail", "limit": limit}, "port_control": "racs",
            "transport": {"cc": "racs", "opening": "handshake"},
            "traffic": {"x": {"kind": "incast", "from": "s*", "to": "r0", "response": "25KB", "rounds": 20,
                "jitter": "20us", "connection": "fresh"}},
        }));
        let rounds = done.column("rounds", "fct_ps");
        assert!(rounds.len() == 20 && rounds.iter().all(|fct| fct.is_finite()), "{rounds:?}");
        assert_eq!(done.port(PORT, "drops_full"), 0.0);
    }
}

/// SYN, request, data: a flow of one segment alone takes its handshake, a round trip for the rate, and its
/// way; exactly.
#[test]
fn racs_admits_then_assigns_then_sends() {
    let done = flows(
        "racs",
        1,
        json!({"warmup": "0s", "duration": "10ms",
        "traffic": {"x": {"bytes": "1000B", "jitter": "0s"}}}),
    );
    // At 8 ns a byte over two links of 75 us, packets of 40 bytes and requests of 24 (echo 8).
    let way = |bytes: u64| 2 * (150_000 + 8 * 2 * bytes) / 2 * 1000;
    let handshake = way(40 + 24) + way(40 + 8);
    let asked = way(40 + 24) + way(40 + 8);
    assert_eq!(done.fct(), [handshake + asked + way(1000 + 40 + 24)]);
}

// ---- SDC ----

/// Thesis s.3.5.1: at least 95 % of the link for any number of long flows, with small queues and no loss; the
/// header's bytes are load too.
#[test]
fn sdc_fills_the_link_with_a_short_queue() {
    for n in [1, 2, 5, 10] {
        let done = flows("sdc", n, json!({}));
        assert!(done.port(PORT, "utilisation") >= 0.95, "N = {n}: {}", done.port(PORT, "utilisation"));
        assert!(done.port(PORT, "mean_packets") < 10.0);
        assert_eq!(done.port(PORT, "drops_full"), 0.0);
    }
}

/// Long flows alone act as class A and share alike.
#[test]
fn sdc_shares_alike_within_a_class() {
    let done = flows("sdc", 4, json!({"duration": "2s"}));
    let total: f64 = done.column("flows", "goodput_bps").iter().sum();
    for rate in done.column("flows", "goodput_bps") {
        close("a quarter", rate, total / 4.0, 0.03);
    }
}

/// Eq. (3.12): flows in classes A and C that keep to their classes divide as alpha (1 + beta) / (1 - beta),
/// synchronised, with windows of many packets: 10 Gb/s x 1.2 ms are 1000. Some twelve periods: 5 %.
#[test]
fn sdc_divides_between_classes_by_eq_3_12() {
    let keep = |class: &str| match class {
        "a" => json!({"kind": "sdc", "r_a": "1000GB", "r_b": "1000GB"}),
        _ => json!({"kind": "sdc", "r_a": "1B", "r_b": "1B"}),
    };
    let load = |from: &str, class: &str| json!({"kind": "bulk", "from": from, "to": "r0", "bytes": "500GB", "transport": {"cc": keep(class)}});
    let done = run(json!({
        "duration": "2s",
        "warmup": "500ms",
        "topology": {"kind": "star", "senders": 2, "rate": "10Gbps", "delay": "300us"},
        "queue": "drop-tail",
        "port_control": {"kind": "sdc", "interval": "1200us"},
        "transport": {"cc": "sdc"},
        "traffic": {"a": load("s0", "a"), "c": load("s1", "c")},
    }));
    let gain = goodput(&done, "a") / goodput(&done, "c");
    let law = |alpha: f64, beta: f64| alpha * (1.0 + beta) / (1.0 - beta);
    close("gain", gain, law(0.9, 0.887) / law(0.5, 0.5), 0.05);
}

/// Over several hops the long flow is cut by the overloads of each. A window grows by alpha a round trip while no
/// overload is reported, G in all between two of one hop, and loses (1 - beta) w to each, so that at rest
/// w x (rate of overloads) is alpha / ((1 - beta) T). Where hops overload one by one, all as often, the long flow
/// meets h times as many: its rate is (T / T0)^2 / h of a crossing flow's. It also stands still for each: an overload is
/// reported for t_p, and once more if the interval in which it is reported is full too, so that its G is shorter by at most
/// 2 (h - 1) t_p. Where hops lock in phase it meets each once: (T / T0)^2. Which one applies depends on when the clocks
/// began; it lies between, within 3 %.
#[test]
fn sdc_over_several_hops_lies_between_hops_in_phase_and_out() {
    const ALPHA: f64 = 2.0;
    const BETA: f64 = 0.887;
    const INTERVAL_S: f64 = 6e-3;
    for (hops, seed) in [(2usize, 1), (2, 3), (3, 1), (3, 2)] {
        let done = line(
            "sdc",
            &vec![1; hops],
            json!({
                "duration": "12s", "warmup": "4s", "seed": seed,
                "topology": {"delay": "100us", "access_delay": "1400us"}, "queue": {"limit": "none"},
                "port_control": {"kind": "sdc", "interval": "6ms"},
                "transport": {"cc": {"kind": "sdc", "alpha_a": ALPHA, "beta_a": BETA, "r_a": "1B", "r_b": "1B"}},
                "probe": {"queues": false, "waits": false},
            }),
        );
        let rtt = done.column("flows", "srtt_mean_ps");
        let ratio = goodput(&done, "long") / goodput(&done, "x1");
        let in_phase = (rtt[1] / rtt[0]) * (rtt[1] / rtt[0]);
        // From beta w to w = 2 / (1 + beta) of the mean, alpha segments a round trip.
        let trip = rtt[1] * 1e-12;
        let mean = goodput(&done, "x1") * trip / (8.0 * MSS as f64);
        let growth = (1.0 - BETA) * 2.0 / (1.0 + BETA) * mean / ALPHA * trip;
        let out = in_phase / hops as f64 * (1.0 - 2.0 * (hops as f64 - 1.0) * INTERVAL_S / growth);
        assert!(
            (0.97 * out..=1.03 * in_phase).contains(&ratio),
            "{hops} hops, seed {seed}: {ratio} of {out} to {in_phase}"
        );
    }
}
