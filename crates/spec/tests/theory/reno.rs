//! Reno's sawtooth: utilisation by buffer size, and the inverse square root of p.

use crate::bench::{MSS, close, run, with};
use serde_json::{Value, json};

/// One flow through a drop-tail port with a buffer of `share` of the bandwidth-delay product, from a host
/// ten times as fast, so that only that port queues: its utilisation.
fn utilisation(share: f64) -> f64 {
    let pipe = 200.0; // packets: 1 Gb/s, 2.4 ms; the few us of transmission elsewhere are within
    let buffer = (share * pipe) as u64 + 1; // and the one in service, which the limit counts
    let done = run(json!({
        "duration": "8s",
        "warmup": "2s",
        "topology": {"kind": "star", "senders": 1, "rate": "1Gbps", "sender_rate": "10Gbps", "delay": "597us"},
        "queue": {"kind": "drop-tail", "limit": format!("{buffer}pkt")},
        "transport": {"opening": "established", "cc": "newreno", "initial_ssthresh": "100pkt"},
        "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0"}},
        "probe": {"waits": false},
    }));
    assert_eq!(done.flow("timeouts"), 0.0);
    assert!(done.flow("fast_recoveries") > 5.0);
    done.port("switch->r0", "utilisation")
}

/// The window rises from half of P + B to P + B, one packet a round trip; P is the bandwidth-delay
/// product, B the buffer, b = B / P <= 1. While the window is below P a round trip takes P / C and carries
/// a window, above it the link is full. Packets over capacity of the cycle:
/// U = 3/4 (1 + b)^2 / (1 + b + b^2): 3/4 without a buffer, 1 with one of P. The two ends are the rule of
/// Villamizar and Song 1994 (full with one bandwidth-delay product; Appenzeller et al. 2004 s.2).
/// The law leaves out the recovery, one round trip of each cycle of (P + B) / 2 at the lower window: less
/// than 1 %; and that packets are whole. 1.5 % together.
#[test]
fn utilisation_rises_from_three_quarters_to_one_with_the_buffer() {
    for share in [0.02, 0.25, 0.5, 1.0] {
        let b: f64 = share;
        let law = 0.75 * (1.0 + b) * (1.0 + b) / (1.0 + b + b * b);
        close(&format!("utilisation with a buffer of {share} P"), utilisation(share), law, 0.015);
    }
}

/// Mean window in segments of one flow that loses packets by `fault` on a link that it does not fill.
fn mean_window(fault: Value, transport: Value) -> f64 {
    let settings =
        json!({"opening": "established", "cc": "newreno", "initial_ssthresh": "20pkt", "min_rto": "50ms"});
    let done = run(with(
        json!({
            "duration": "45s",
            "warmup": "2s",
            "topology": {"kind": "star", "senders": 1, "rate": "100Gbps", "delay": "2500us"},
            "queue": "drop-tail",
            "port": {"s0->switch": fault},
            "transport": settings,
            "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0"}},
            "probe": {"waits": false, "queues": false},
        }),
        json!({"transport": transport}),
    ));
    // Only of a segment lost twice, which RFC 6675 leaves to the timer: one in 1/p losses.
    assert!(done.flow("timeouts") <= 5.0);
    let round = 0.01; // seconds; transmissions are within a promille
    done.flow("goodput_bps") * round / (8.0 * MSS as f64)
}

/// Mathis, Semke, Mahdavi and Ott 1997, eq. (3): with every 1/p-th packet lost the mean window is
/// sqrt(3/2) / sqrt(p) with an acknowledgement for each segment, and sqrt(3/4) / sqrt(p) with one for every
/// second where growth counts acknowledgements (their C, table 1).
/// Effects outside the law take up to three packets from the window, whatever its size: the part of a
/// segment that cannot be sent (1), growth in steps at the end of a round trip (1/2), the round trip of
/// recovery at the lower window (1/2) and the one after it, whose count starts from nothing (1/2), and parts
/// of cycles at the two ends of the run (1/2). So the law must come out the better the larger the window.
// req: RFC5681 s4.3 MUST after-repair
#[test]
fn a_periodic_loss_gives_the_root_of_three_halves() {
    for period in [5000, 20_000_u64] {
        let every = json!({"drop_packets": (1..=200).map(|n| n * period).collect::<Vec<u64>>()});
        let root = (period as f64).sqrt();
        let law = |what: &str, window: f64, law: f64, most: f64| {
            let missing = law - window;
            assert!(
                (0.0..=most).contains(&missing),
                "{what}, p = 1/{period}: {window:.2}, by theory {law:.2}"
            );
        };
        law("each segment acknowledged", mean_window(every.clone(), json!({})), 1.5_f64.sqrt() * root, 3.0);
        let delayed = json!({"ack_every": 2, "ack_delay": "40ms", "growth": "acks", "slow_start_limit": 1.0});
        law("every second one", mean_window(every, delayed), 0.75_f64.sqrt() * root, 3.5);
    }
}

/// Reno's mean window under independent losses: 1.31 / sqrt(p) (Mathis et al. 1997 table 1, after Ott, Kemperman and
/// Mathis 1996: 1.3098, averaged over time). 43 s see some 570 losses, so that the standard error is
/// 1 / (2 sqrt(570)) = 2.1 %; three of them, and downwards the two and a half packets of above besides.
#[test]
fn a_random_loss_gives_the_constant_of_ott_kemperman_and_mathis() {
    let p: f64 = 1.0 / 600.0;
    let (window, law) = (mean_window(json!({"loss": p}), json!({})), 1.3098 / p.sqrt());
    let error = 0.063 * law;
    assert!((law - error - 2.5..=law + error).contains(&window), "{window:.2}, by theory {law:.2}");
}
