//! Pacing: a window spread over a round trip, packet by packet; and the contrary, bursts of segmentation offload.

use crate::bench::{MSS, Run, pair, watch, with};
use serde_json::{Value, json};

/// A window of ten segments over a round trip of 10 ms, in congestion avoidance: 1 ms for each segment.
/// Transmissions take 120 ns, so that no queue disturbs.
fn prague() -> Value {
    json!({"kind": "prague", "rtt_virt": "own"})
}

fn paced(cc: Value, changes: Value) -> Run {
    let transport = json!({"cc": cc, "initial_window": "10pkt",
        "cwnd_max": "10pkt", "initial_ssthresh": "10pkt"});
    let path =
        json!({"duration": "1s", "topology": {"delay": "2500us", "rate": "100Gbps"}, "nic": "drop-tail"});
    watch(with(with(pair(transport, json!({})), path), changes), &["s0->switch"])
}

const SPACE: f64 = 1e9; // ps

/// The first window goes at once, there being no round-trip time; after that packets are a tenth of a round
/// trip apart: the smoothed one, which the first burst's own 1.2 us of transmission move by 0.01 %.
#[test]
fn packets_are_a_share_of_the_round_trip_apart() {
    let done = paced(prague(), json!({}));
    let times = done.times("s0->switch");
    assert!(times[..10].iter().all(|at| *at == 0));
    for pair in times[10..].windows(2) {
        let space = (pair[1] - pair[0]) as f64 / SPACE;
        assert!((space - 1.0).abs() < 5e-4, "{space}");
    }
    // A window a round trip, as without pacing: 100 round trips of 10 segments.
    assert!((990..=1000).contains(&times.len()), "{}", times.len());
}

/// The timer takes at most one event a packet beside the packet's own, and none where sending is not paced.
#[test]
fn a_paced_packet_is_one_event_more() {
    let extra = |cc: Value| {
        let books = paced(cc, json!({})).simulation.books();
        books.events - books.hops
    };
    let paced = extra(prague());
    assert!((900..=1100).contains(&paced), "{paced}");
    let unpaced = extra("newreno".into());
    assert!(unpaced <= 102, "{unpaced}"); // the retransmission timer, once in its 10 ms, and the load
}

/// A retransmission goes at once (RFC 6675 s.5 step 4.3), and the packets after it make up for that: of any k packets
/// in a row the last is at least k - 2 spaces after the first, one less for the retransmission, and one for
/// the k - 1 spaces between k. The window, and so the rate, is halved by the loss: spaces only widen.
#[test]
fn a_burst_is_one_packet_and_a_retransmission() {
    for sack in [true, false] {
        let faults = json!({"transport": {"sack": sack}, "port": {"s0->switch": {"drop_packets": [205]}}});
        let done = paced(prague(), faults);
        assert_eq!([done.flow("retransmissions"), done.flow("timeouts")], [1.0, 0.0]);
        let times = done.times("s0->switch");
        for first in 10..times.len() {
            for (k, at) in (1..).zip(&times[first..]).take(60) {
                let spaces = (at - times[first]) as f64 / SPACE;
                assert!(spaces > (k - 2) as f64 * 0.999, "{sack}: {k} packets in {spaces} spaces");
            }
        }
        // Sent, and all of it delivered but for the packets under way and the one that was lost.
        let delivered = done.flow("delivered_bytes") / MSS as f64;
        assert!((times.len() as f64 - delivered - 2.0).abs() <= 11.0, "{} of {delivered}", times.len());
    }
}

/// Linux `tcp_tso_should_defer`: a whole burst goes together, or a third of the window if that is less. A
/// window of 30 segments over 10 ms: after the first round trip every acknowledged segment lets one go, and
/// packets wait until there is room for as many as the burst.
#[test]
fn segments_wait_until_a_burst_goes_together() {
    for (burst, together) in [(1, 1), (4, 4), (8, 8), (44, 10)] {
        let transport = json!({"cc": "newreno", "initial_window": "30pkt", "cwnd_max": "30pkt",
            "initial_ssthresh": "30pkt", "burst": burst});
        let path = json!({"duration": "100ms", "topology": {"delay": "2500us", "rate": "100Mbps", "sender_rate": "100Gbps"}});
        let done = watch(with(pair(transport, json!({})), path), &["s0->switch"]);
        let times: Vec<u64> =
            done.times("s0->switch").into_iter().filter(|at| *at > 50_000_000_000).collect();
        // Packets of a burst leave 120 ns apart at 100 Gb/s; acknowledgements come 120 us apart.
        let mut sizes = vec![1];
        for pair in times.windows(2) {
            if pair[1] - pair[0] < 1_000_000 { *sizes.last_mut().unwrap() += 1 } else { sizes.push(1) }
        }
        let inner = &sizes[1..sizes.len() - 1];
        assert!(inner.iter().all(|size| *size == together), "{burst}: {inner:?}");
    }
}
