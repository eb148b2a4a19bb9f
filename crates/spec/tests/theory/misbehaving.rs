//! Misbehaving receivers: Savage, Cardwell, Wetherall and Anderson 1999, s.2.1 to s.2.3; RFC 3540 s.1.

use crate::bench::{MS, MSS, Run, close, pair, run, with};
use crate::slow_start::windows;
use serde_json::{Value, json};

/// Savage 1999 s.2.1: where each acknowledgement adds a segment, N of them for each segment let the window grow by a factor of
/// 1 + N a round trip. RFC 3465 s.2.2: where bytes count, it doubles for any N. Exact: the round trips do not overlap.
#[test]
fn ack_division_speeds_slow_start_up_unless_bytes_are_counted() {
    for pieces in [1, 2, 3, 7] {
        let divided = |growth: &str| {
            let about = json!({"initial_window": "2pkt", "growth": growth, "slow_start_limit": 1.0, "ack_pieces": pieces,
                "small_queues": "none"});
            windows(3, about)
        };
        let grown = |factor: u32| (1..=3).map(|n| 2.0 * f64::from(factor.pow(n))).collect::<Vec<f64>>();
        assert_eq!(divided("acks"), grown(1 + pieces), "{pieces}");
        assert_eq!(divided("bytes"), grown(2), "{pieces}");
    }
}

/// The linux profile counts in segments, in which a part of one would be a whole one: CUBIC got five times its rate so.
#[test]
fn ack_division_is_refused_where_segments_are_counted() {
    let document = |arithmetic: &str| {
        let transport =
            json!({"profile": "linux", "ack_every": 1, "ack_pieces": 4, "arithmetic": arithmetic});
        with(pair(json!({}), json!({})), json!({"transport": transport}))
    };
    let faults =
        |arithmetic: &str| shallows_spec::load(&document(arithmetic).to_string()).err().unwrap_or_default();
    assert!(
        faults("linux").iter().any(|fault| fault.path.ends_with("transport.ack_pieces")),
        "{:?}",
        faults("linux")
    );
    assert!(!faults("exact").iter().any(|fault| fault.path.ends_with("transport.ack_pieces")));
}

/// In congestion avoidance the window grows by a segment for each window of acknowledgements (RFC 3465 s.2.1). A round trip
/// brings W of them, or N W where each segment is acknowledged in N pieces and pieces count.
#[test]
fn ack_division_speeds_congestion_avoidance_up_unless_bytes_are_counted() {
    let grown = |growth: &str, pieces: u64| {
        let about = json!({"growth": growth, "initial_ssthresh": "10pkt", "ack_pieces": pieces, "small_queues": "none"});
        let cwnd = windows(40, about);
        cwnd[39] - cwnd[19]
    };
    let by_count = |pieces: u64| {
        let (mut window, mut credit, mut after) = (10, 0, vec![]);
        for _ in 0..40 {
            for _ in 0..pieces * window {
                credit += 1;
                if credit >= window {
                    (window, credit) = (window + 1, credit - window);
                }
            }
            after.push(window);
        }
        (after[39] - after[19]) as f64
    };
    for pieces in [1, 4] {
        close("bytes", grown("bytes", pieces), by_count(1), 0.06);
        close("pieces", grown("acks", pieces), by_count(pieces), 0.06);
    }
    assert!(by_count(4) > 3.0 * by_count(1));
}

/// The completion time of 400 segments over a long path, where the window grows slowly, with forged duplicates.
fn forged(transport: Value, repeats: u64) -> u64 {
    let slow = json!({"topology": {"delay": "5ms", "rate": "10Gbps"}, "duration": "5s"});
    let about = json!({"initial_ssthresh": "2pkt", "initial_window": "2pkt", "small_queues": "none", "ack_repeats": repeats});
    let load = json!({"bytes": format!("{}B", 400 * MSS)});
    run(with(pair(with(about, transport), load), slow)).fct()[0]
}

/// Savage 1999 s.2.2: each duplicate inflates the window of a sender in fast recovery by a segment (RFC 5681 s.3.2, step 4, which
/// lets a sender bound this), so that the sender follows the receiver's forgery and not its own window.
#[test]
fn forged_duplicates_inflate_the_window_of_reno_without_sack() {
    let (honest, forged) = (forged(json!({"sack": false}), 0), forged(json!({"sack": false}), 10));
    assert!(2 * forged < honest, "{forged} {honest}");
}

/// RFC 6675 s.2: a duplicate acknowledgement has new SACK information, and RFC 8985 counts no duplicates. A forged one has none,
/// and the sender takes no notice of it.
#[test]
fn forged_duplicates_gain_nothing_where_sack_reports_losses() {
    for profile in [json!({}), json!({"loss_detection": "rack"}), json!({"profile": "linux", "ack_every": 1})]
    {
        let honest = forged(profile.clone(), 0);
        let forged = forged(profile.clone(), 10);
        assert!(forged >= honest, "{profile}: {forged} {honest}");
    }
}

/// A fixed window of W segments, on a path of a long round trip.
fn fixed_window(transport: Value) -> Run {
    let slow =
        json!({"topology": {"delay": "25ms", "rate": "100Gbps"}, "duration": "10100ms", "warmup": "1s"});
    let fixed = json!({"cwnd_max": "20pkt", "initial_window": "20pkt"});
    run(with(pair(with(fixed, transport), json!({})), slow))
}

/// A receiver that runs k segments ahead lets W + k of them be under way, where an honest one lets W be: as many a round
/// trip. The sender's own clock sees W / (W + k) of the round trip, the echoed stamps all of it.
#[test]
fn optimistic_acknowledgements_shorten_the_round_trip() {
    let rate = |transport| fixed_window(transport).flow("arrived_bytes") / MSS as f64 / 91.0;
    close("honest", rate(json!({})), 20.0, 0.02);
    close("ahead", rate(json!({"ack_ahead": "10pkt"})), 30.0, 0.02);
    let trip = |transport| fixed_window(transport).flow("srtt_mean_ps") / (100 * MS) as f64;
    close("stamps", trip(json!({"ack_ahead": "10pkt"})), 1.0, 0.01);
    let own = trip(json!({"ack_ahead": "10pkt", "rtt_by": "karn"}));
    assert!(own < 0.8, "{own}");
    close("own clock of an honest one", trip(json!({"rtt_by": "karn"})), 1.0, 0.01);
}

/// Lost data that were acknowledged are never sent again, and do not reduce the window. Data before them are
/// delivered, and data behind them have arrived. An honest receiver gets all.
#[test]
fn optimistic_acknowledgements_conceal_losses() {
    let lossy = |transport: Value| {
        let transport = with(json!({"cwnd_max": "20pkt"}), transport);
        let lost = json!({"duration": "20ms", "port": {"s0->switch": {"drop_packets": [50, 51, 90]}}});
        run(with(pair(transport, json!({})), lost))
    };
    for profile in [json!({}), json!({"sack": false}), json!({"loss_detection": "rack"})] {
        let (honest, ahead) = (lossy(profile.clone()), lossy(with(profile, json!({"ack_ahead": "4pkt"}))));
        assert_eq!(ahead.flow("retransmissions"), 0.0);
        assert_eq!(ahead.flow("delivered_bytes") as u64, 49 * MSS);
        assert!(ahead.flow("arrived_bytes") > 200.0 * MSS as f64);
        assert!(honest.flow("retransmissions") >= 3.0);
        assert!(honest.flow("delivered_bytes") > 49.0 * MSS as f64);
    }
}

/// The end of what is written is acknowledged as it came, so that no acknowledgement runs ahead of the data for good: messages
/// complete, and connections close. A message that lost data does not complete.
#[test]
fn messages_complete_that_lost_nothing() {
    for opening in ["established", "handshake"] {
        let fct = |ahead: Value, lost: Value| {
            let transport = json!({"opening": opening, "ack_ahead": ahead});
            let done = run(with(pair(transport, json!({"bytes": format!("{}B", 70 * MSS + 1)})), lost));
            done.fct().into_iter().filter(|fct| *fct > 0).collect::<Vec<u64>>() // 0 stands for none
        };
        let (honest, ahead) = (fct(json!("none"), json!({})), fct(json!("5pkt"), json!({})));
        assert_eq!((honest.len(), ahead.len()), (1, 1));
        assert!(ahead[0] < honest[0], "{ahead:?} {honest:?}");
        let lost = json!({"port": {"s0->switch": {"drop_packets": [30]}}});
        assert_eq!((fct(json!("none"), lost.clone()).len(), fct(json!("5pkt"), lost).len()), (1, 0));
    }
}

/// A sender that is idle between messages gets true acknowledgements, and never waits for a timer.
#[test]
fn idle_senders_do_not_time_out() {
    let load = json!({"kind": "messages", "bytes": format!("{}B", 3 * MSS), "interval": "1ms", "count": 50});
    let done = run(pair(json!({"ack_ahead": "30pkt"}), load));
    assert_eq!((done.flow("timeouts"), done.flow("retransmissions"), done.fct().len()), (0.0, 0.0, 50));
}

/// RFC 3540 s.1: a receiver that agrees on ECN and hides the marks. Its data are marked, and nothing is reduced, however marks
/// are echoed. `echo = "never"` does not agree on ECN, so that nothing is marked.
#[test]
fn hidden_marks_reduce_nothing() {
    for echo in ["until-cwr", "per-packet", "accecn"] {
        let marked = |hidden: bool| {
            let mark_all =
                json!({"kind": "threshold", "mark_at": "0pkt", "measure": "after", "limit": "none"});
            let transport = json!({"opening": "handshake", "ecn": "on", "echo": echo, "hide_marks": hidden, "initial_window": "4pkt"});
            let done = run(with(
                pair(transport, json!({"bytes": format!("{}B", 40 * MSS)})),
                json!({"queue": mark_all}),
            ));
            (done.flow("marks") as u64, done.flow("ecn_reductions") as u64)
        };
        assert_eq!(marked(true), (40, 0), "{echo}");
        let (marks, reductions) = marked(false);
        assert!(marks == 40 && reductions > 0, "{echo}: {reductions}");
    }
}
