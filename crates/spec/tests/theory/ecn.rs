//! ECN: negotiation and one reduction a window (RFC 3168 s.6.1), the echo of each mark (RFC 8257 s.3.2).

use crate::bench::{LINE, MS, MSS, Run, pair, run, with};
use crate::watched;
use serde_json::{Value, json};
use shallows_core::cc::{Ack, Congestion, CongestionControl, Cx};
use shallows_units::Bytes;

/// Ten segments over switches that mark whatever is ECN-capable.
fn through_marking_switches(transport: Value) -> Run {
    let mark_all = json!({"kind": "threshold", "mark_at": "0pkt", "measure": "after", "limit": "none"});
    let transport = with(json!({"opening": "handshake"}), transport);
    run(with(pair(transport, json!({"bytes": format!("{}B", 10 * MSS)})), json!({"queue": mark_all})))
}

/// RFC 3168 s.6.1.1: data is ECN-capable when both ends are; SYN, acknowledgements and retransmissions are
/// not (s.6.1.1, 6.1.4, 6.1.5), but in Linux's DCTCP. A switch that marks all that it may counts them:
/// forward SYN, ten segments, the last acknowledgement; back SYN+ACK and ten acknowledgements.
// req: RFC3168 s6.1.1 MUST ect-after-both-agree
// req: RFC3168 s6.1.1 MUST syn-not-ect
// req: RFC3168 s5.2 MUST ect-needs-detection
// req: RFC3168 s5.2 MUST pure-acks
// req: RFC3168 s6.1.4 MUST acks-not-ect
#[test]
fn ecn_is_used_when_both_ends_are_able() {
    let cases = [
        (json!({"ecn": "off"}), [0, 0]),
        (json!({"ecn": "auto"}), [0, 0]),
        (json!({"ecn": "on"}), [10, 0]),
        (json!({"ecn": "on", "echo": "never"}), [0, 0]), // the receiver does not agree
        (json!({"ecn": "on", "echo": "per-packet"}), [10, 0]),
        (json!({"cc": "dctcp"}), [10, 0]),
        (json!({"cc": "dctcp", "ecn": "off"}), [0, 0]),
        (json!({"cc": "dctcp", "ect_on_control": "always"}), [12, 11]),
        (json!({"ecn": "on", "ect_on_control": "always"}), [12, 11]),
    ];
    for (transport, expected) in cases {
        let done = through_marking_switches(transport.clone());
        let marks = ["switch->r0", "switch->s0"].map(|port| done.port(port, "marks") as u64);
        assert_eq!(marks, expected, "{transport}");
        assert_eq!(done.flow("marks") as u64, if expected[0] > 0 { 10 } else { 0 });
        assert_eq!(done.flow("ecn_reductions") > 0.0, expected[0] > 0, "{transport}");
    }
}

/// RFC 3168 s.6.1.1.1, Linux `tcp_ecn_fallback`: a SYN that was lost is sent again without asking for ECN, and
/// then nothing is ECN-capable; a SYN that arrives asks for it. AccECN is asked for once more (RFC 9768 s.3.1.4.1).
#[test]
fn a_lost_syn_is_the_end_of_ecn_where_there_is_a_fallback() {
    let marks = |fallback: bool, echo: &str, lost: &[u64]| {
        let transport = json!({
            "opening": "handshake", "ecn": "on", "echo": echo, "ecn_fallback": fallback, "initial_rto": "5ms",
        });
        let mark_all = json!({"kind": "threshold", "mark_at": "0pkt", "measure": "after", "limit": "none"});
        let document = pair(transport, json!({"bytes": format!("{}B", 10 * MSS)}));
        let fault = json!({"queue": mark_all, "port": {"s0->switch": {"drop_packets": lost}}});
        run(with(document, fault)).port("switch->r0", "marks")
    };
    let classic = |fallback, lost| marks(fallback, "auto", lost);
    assert_eq!([classic(false, &[1]), classic(true, &[1]), classic(true, &[])], [10.0, 0.0, 10.0]);
    let counted = |lost| marks(true, "accecn", lost);
    assert_eq!([counted(&[1]), counted(&[1, 2])], [10.0, 0.0]);
}

/// Linux `tcp_ecn_send`: a DCTCP sends all of its packets ECN-capable, a Reno with ECN data alone. With AccECN all packets after
/// the two SYN are ECN-capable.
// req: RFC8257 s3.6 SHOULD ect-on-control
#[test]
fn control_packets_are_ecn_capable_where_it_is_needed() {
    for (transport, expected) in [
        (json!({"cc": "dctcp", "ect_on_control": "needed"}), [12, 11]),
        (json!({"ecn": "on", "ect_on_control": "needed"}), [10, 0]),
        (json!({"ecn": "on", "ect_on_control": "needed", "echo": "accecn"}), [11, 10]),
    ] {
        let done = through_marking_switches(transport);
        assert_eq!(["switch->r0", "switch->s0"].map(|port| done.port(port, "marks") as u64), expected);
    }
}

/// RFC 3168 s.6.1.5: a retransmission is not ECN-capable, unless the setting says so.
// req: RFC3168 s6.1.5 MUST retransmissions-not-ect
#[test]
fn retransmissions_are_not_ecn_capable() {
    let marks = |control: bool| {
        let transport =
            json!({"ecn": "on", "ect_on_control": if control { "always" } else { "never" }, "sack": false});
        let mark_all = json!({"kind": "threshold", "mark_at": "0pkt", "measure": "after", "limit": "none"});
        let document = pair(transport, json!({"bytes": format!("{}B", 10 * MSS)}));
        let fault = json!({"queue": mark_all, "port": {"switch->r0": {"drop_packets": [1]}}});
        run(with(document, fault)).port("switch->r0", "marks")
    };
    assert_eq!([marks(false), marks(true)], [10.0, 11.0]);
}

/// RFC 3168 s.12: no router resets CE, whatever its discipline. The first of two links marks each packet.
// req: RFC3168 s12 MUST ce-kept
#[test]
fn no_discipline_resets_a_mark() {
    for kind in ["drop-tail", "fq", "threshold", "red", "codel", "fq-codel", "pie", "pi2", "dualpi2"] {
        let document = pair(json!({"ecn": "on"}), json!({"bytes": format!("{}B", 10 * MSS)}));
        let marked = json!({"queue": {"kind": kind}, "port": {"s0->switch": {"mark": 1.0}}});
        let done = run(with(document, marked));
        assert_eq!(done.flow("marks"), 10.0, "{kind}");
    }
}

/// RFC 3168 s.6.1.2: at most one reduction for each window of data, though every packet is marked. A window
/// of at most ten segments lasts from R to R + 10 T, and so 20 ms hold between 20 ms / (R + 10 T) and 20 ms
/// / R reductions.
// req: RFC3168 s6.1.2 SHOULD once-a-window
#[test]
fn a_window_is_reduced_once() {
    for echo in ["until-cwr", "per-packet"] {
        let mark_all = json!({"kind": "threshold", "mark_at": "0pkt", "measure": "after", "limit": "none"});
        let document = pair(json!({"ecn": "on", "echo": echo}), json!({}));
        let done = run(with(document, json!({"duration": "20ms", "queue": mark_all})));
        let reductions = done.flow("ecn_reductions") as u64;
        let most = 20 * MS / LINE.round();
        let least = 20 * MS / (LINE.round() + 10 * LINE.transmission(1500));
        assert!((least..=most).contains(&reductions), "{echo}: {reductions}, by theory {least} to {most}");
        // RFC 3168 s.6.1.2 halves down to the floor of one segment.
        assert_eq!(done.flow("cwnd_bytes"), MSS as f64);
    }
}

/// One packet of a window of ten is marked: the tenth of the first burst, which finds nine in the queue,
/// more than K = 8; later packets come one by one. DCTCP with g = 1 keeps the last window's share of
/// acknowledged bytes with ECN-Echo as alpha: its greatest value.
fn greatest_alpha(transport: Value) -> f64 {
    let transport = with(
        json!({"cc": {"kind": "dctcp", "g": 1.0, "initial_alpha": 0.0}, "initial_window": "10pkt",
            "cwnd_max": "10pkt"}),
        transport,
    );
    let document = pair(transport, json!({"bytes": format!("{}B", 60 * MSS)}));
    let done = run(with(
        document,
        json!({
            "topology": {"rate": "1Gbps", "sender_rate": "10Gbps"},
            "queue": {"kind": "threshold", "mark_at": "8pkt", "limit": "none"},
            "probe": {"flow_trace": "1us"},
        }),
    ));
    assert_eq!([done.flow("marks"), done.flow("ecn_reductions")], [1.0, 1.0]);
    done.column("flow_trace", "alpha").into_iter().fold(0.0, f64::max)
}

/// RFC 8257 s.3.2: each mark is echoed once, so one mark in ten makes alpha 0.1, exactly. RFC 3168 s.6.1.3:
/// ECE goes on until CWR comes, one round trip later, and so on nearly a window of acknowledgements. Either
/// way the window is reduced once.
// req: RFC8257 s3.2 MUST echo
// req: RFC8257 s3.3 MUST estimator
// req: RFC3168 s6.1.3 MUST ece-until-cwr
#[test]
fn a_mark_is_echoed_once_or_until_cwr() {
    assert_eq!(greatest_alpha(json!({})), 0.1);
    let until_cwr = greatest_alpha(json!({"echo": "until-cwr"}));
    assert!(until_cwr >= 0.8, "{until_cwr}");
}

/// RFC 8257 s.3.2, figure 1: with delayed acknowledgements a change of CE is acknowledged at once, so the
/// share of marked bytes still comes through. Windows now end with one acknowledgement in two, so they
/// hold 9 to 11 segments.
// req: RFC8257 s3.2 MUST ce-change
#[test]
fn delayed_acknowledgements_lose_no_mark() {
    let alpha = greatest_alpha(json!({"ack_every": 2}));
    assert!((1.0 / 11.0 - 1e-12..=1.0 / 9.0 + 1e-12).contains(&alpha), "{alpha}");
}

/// RFC 9331 s.4.1: Prague sends ECT(1); RFC 3168 s.5: others send ECT(0), or neither if they are not ECN-capable. A
/// queue sorts by that (RFC 9332 s.2.3): the classifier `ect1` takes Prague and flows that are set to ECT(1) only,
/// `any_ect` every ECN-capable flow. Acknowledgements go back by another port and are not ECN-capable, unless
/// `ect_on_control` says so.
// req: RFC3168 s5 SHOULD ect0
// req: RFC9332 s2.5.1 MUST l4s-node
#[test]
fn a_dual_queue_sorts_by_the_codepoint() {
    let low_latency = |transport: Value, classifier: &str| {
        let transport = with(json!({"opening": "established"}), transport);
        let document = pair(transport, json!({"bytes": "100KB"}));
        let done = run(with(document, json!({"queue": {"kind": "dualpi2", "classify": classifier}})));
        let at = |port: &str| {
            let (ports, queues) = (done.words("inner_queues", "port"), done.words("inner_queues", "queue"));
            let counts = done.column("inner_queues", "packets_in");
            let sum = |want: &dyn Fn(&str) -> bool| -> f64 {
                (0..counts.len()).filter(|i| ports[*i] == port && want(queues[*i])).map(|i| counts[i]).sum()
            };
            let share = sum(&|queue| queue == "L") / sum(&|_| true);
            assert!(share == 0.0 || share == 1.0, "{port}: {share}");
            share == 1.0
        };
        (at("switch->r0"), at("switch->s0"))
    };
    for (transport, by_ect1, by_any) in [
        (json!({"cc": "prague"}), (true, false), (true, false)),
        (json!({"cc": "prague", "ect_on_control": "always"}), (true, true), (true, true)),
        (json!({"cc": "prague", "ect": "ect0"}), (false, false), (true, false)),
        (json!({"cc": "dctcp"}), (false, false), (true, false)),
        (json!({"cc": "dctcp", "ect": "ect1"}), (true, false), (true, false)),
        (json!({"cc": "cubic"}), (false, false), (false, false)),
        (json!({"cc": "cubic", "ecn": "on"}), (false, false), (true, false)),
        (json!({"cc": "cubic", "ecn": "on", "ect": "ect1"}), (true, false), (true, false)),
    ] {
        assert_eq!(low_latency(transport.clone(), "ect1"), by_ect1, "{transport}");
        assert_eq!(low_latency(transport.clone(), "any_ect"), by_any, "{transport}");
    }
}

/// RFC 9768 s.3.2.2: the counter tells how many segments were marked, whatever the delay of
/// acknowledgements. Every tenth segment is marked and alpha, with g = 1/16, tends to 0.1: the mean of the
/// last third of the run, in which alpha moves by less than 1/16 of the spread of a round's share. Where
/// acknowledgements are lost a counter of three bits may go round; the sender then supposes rather too many
/// marks than too few (appendix A.2).
#[test]
fn counted_marks_come_through_delayed_acknowledgements() {
    let alpha = |ack_every: u64, lost: f64| {
        let transport = json!({"cc": {"kind": "prague", "rtt_virt": "own"}, "ack_every": ack_every,
            "cwnd_floor": "20pkt", "cwnd_max": "20pkt"});
        let done = run(with(
            pair(transport, json!({})),
            json!({"duration": "300ms", "port": {"s0->switch": {"mark_every": 10}, "r0->switch": {"loss": lost}},
                "probe": {"flow_trace": "1ms"}}),
        ));
        assert!(done.flow("marks") > 1000.0);
        let alphas = done.column("flow_trace", "alpha");
        let late = &alphas[2 * alphas.len() / 3..];
        late.iter().sum::<f64>() / late.len() as f64
    };
    for ack_every in [1, 2, 8] {
        let alpha = alpha(ack_every, 0.0);
        assert!((alpha - 0.1).abs() < 0.005, "{ack_every}: {alpha}");
    }
    let alpha = alpha(2, 0.2);
    assert!((0.095..0.3).contains(&alpha), "{alpha}");
}

/// A window of four segments that never moves.
struct Four;

impl CongestionControl for Four {
    fn on_ack(&mut self, _: &Ack, _: &Cx<'_>) {}
    fn on_congestion(&mut self, _: Congestion, _: u64, _: &Cx<'_>) {}
    fn cwnd(&self) -> Bytes {
        Bytes(4 * MSS)
    }
}

/// A sample of the delivery rate says whether its acknowledgement reports a mark. Each fifth packet is marked, and each mark echoed once, so that
/// the fifth, tenth and so on of the acknowledgements say it, and none where the connection has no ECN.
#[test]
fn a_sample_says_that_its_acknowledgement_reports_a_mark() {
    for ecn in ["on", "off"] {
        let changes = json!({
            "transport": {"opening": "established", "ecn": ecn, "echo": "per-packet"},
            "traffic": {"x": {"bytes": format!("{}B", 40 * MSS)}},
            "port": {"s0->switch": {"mark_every": 5}},
        });
        let rows = watched::trace(|_, _| Four, changes);
        let said: Vec<bool> = watched::samples(&rows).map(|row| row.rs.ece).collect();
        let marked: Vec<bool> = (1..=40).map(|packet| ecn == "on" && packet % 5 == 0).collect();
        assert_eq!(said, marked, "{ecn}");
    }
}
