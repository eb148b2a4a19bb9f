//! How losses are repaired: by SACK (RFC 6675), without it (RFC 6582), in proportion (RFC 6937).

use crate::bench::{FULL, HEADER, LINE, MSS, Run, close, pair, run, watch, with};
use crate::watched::{self, After};
use serde_json::{Value, json};
use shallows_core::cc::{Ack, Congestion, CongestionControl, Cx};
use shallows_units::Bytes;

/// A window of `segments`, sent at once, the first `losses` of it lost when first sent.
fn lose_first(losses: u64, segments: u64, transport: Value) -> Run {
    let transport = with(json!({"initial_window": format!("{segments}pkt")}), transport);
    let document = pair(transport, json!({"bytes": format!("{}B", segments * MSS)}));
    let lost: Vec<u64> = (1..=losses).collect();
    run(with(document, json!({"duration": "5s", "port": {"s0->switch": {"drop_packets": lost}}})))
}

/// When the third duplicate has come, `losses` segments being lost at the start of the window.
fn noticed(losses: u64, acknowledgement: u64) -> u64 {
    LINE.burst(losses + 3) + LINE.one_way(acknowledgement)
}

/// RFC 6582 s.1: without SACK one lost segment is repaired each round trip, so that k losses in a window
/// take k. Exact: the next hole goes out when the last one's acknowledgement has come.
#[test]
fn without_sack_k_losses_take_k_round_trips() {
    for losses in [1, 2, 3, 5, 8] {
        let done = lose_first(losses, 20, json!({"sack": false}));
        let expected = noticed(losses, HEADER) + (losses - 1) * LINE.round() + LINE.one_way(FULL);
        assert_eq!(done.fct(), [expected], "{losses}");
        assert_eq!([done.flow("retransmissions"), done.flow("timeouts")], [losses as f64, 0.0]);
    }
}

/// RFC 5681 s.3.2 steps 3 to 5, without SACK: the third duplicate sets the window to ssthresh plus three segments, and
/// each further one adds a segment. Of 20 segments the first is lost; two more go by limited transmit, so that 22 are in
/// flight and half of 20 is ssthresh. So duplicate n lets a new segment out when 10 + n exceeds 22, and 21 come. Exact.
// req: RFC5681 s3.2 MUST inflate
// req: RFC5681 s3.2 SHOULD new-data-in-recovery
#[test]
fn without_sack_each_duplicate_inflates_the_window() {
    let document =
        pair(json!({"sack": false, "initial_window": "20pkt"}), json!({"bytes": format!("{}B", 60 * MSS)}));
    let done = watch(with(document, json!({"port": {"s0->switch": {"drop_packets": [1]}}})), &["s0->switch"]);
    let duplicate = |n: u64| LINE.burst(n + 1) + LINE.one_way(HEADER);
    let repaired = duplicate(3) + LINE.round();
    let times = done.times("s0->switch");
    assert_eq!(times[20..23], [duplicate(1), duplicate(2), duplicate(3)]); // the third is the retransmission
    let new: Vec<u64> = times[23..].iter().copied().filter(|at| *at < repaired).collect();
    let late = [duplicate(1), duplicate(2)].map(|at| at + LINE.round());
    assert_eq!(new, (13..=19).map(duplicate).chain(late).collect::<Vec<_>>());
}

/// RFC 6675 s.5: with SACK all holes are known at once, and half the window (the new cwnd) may be sent
/// again in one round trip: k losses of n take ceil(k / (n / 2)). Each is sent again once. The round
/// trips differ by at least half of one; the transmissions together take less. One segment more may go
/// again, the rescue of s.4 NextSeg rule 4, since there is nothing new to send.
// req: RFC5681 s4.3 MUST half-while-repairing
// req: RFC6675 s5 MUST pipe-in-recovery
// req: RFC6675 s5 SHOULD send-by-pipe
// req: RFC6675 s5 MUST send-by-nextseg
#[test]
fn with_sack_k_losses_take_one_round_trip_for_each_half_window() {
    for losses in [1, 2, 5, 10, 11, 14, 17] {
        let done = lose_first(losses, 20, json!({}));
        let repair = done.fct()[0] - noticed(losses, HEADER);
        let rounds = (repair as f64 / LINE.round() as f64 + 0.5).round();
        assert_eq!(rounds, (losses as f64 / 10.0).ceil(), "{losses}");
        let rescues = done.flow("retransmissions") - losses as f64;
        assert!((0.0..=1.0).contains(&rescues) && done.flow("timeouts") == 0.0, "{losses} {rescues}");
    }
}

/// RFC 6675 s.4 NextSeg rule 4: "HighRxt MUST NOT be updated" by a rescue. Of 100 segments the first 20 are lost, and
/// some of the last 20. The first are sent again before SACK reports the others, and nothing new is there to follow,
/// so the rescue goes early. The holes that SACK reports after it are repaired all the same.
// req: RFC6675 s4 MUST rescue-keeps-highrxt
#[test]
fn an_early_rescue_does_not_hide_the_holes_before_it() {
    let lost: Vec<u64> = (1..=20).chain((0..8).map(|n| 81 + 2 * n)).collect();
    let document = pair(json!({"initial_window": "100pkt"}), json!({"bytes": format!("{}B", 100 * MSS)}));
    let done = run(with(document, json!({"port": {"s0->switch": {"drop_packets": lost}}})));
    assert_eq!(done.flow("timeouts"), 0.0);
    assert!((28.0..=29.0).contains(&done.flow("retransmissions")), "{}", done.flow("retransmissions"));
}

/// RFC 9293 s.3.4: FIN has a number of its own, in a recovery too. Of a message of 26 segments the first is lost. New data follow its
/// repair, and the last segment leaves with the FIN before the recovery ends. Its answer closes the connection, a round trip later:
/// nothing is sent again for it, no timer expires, and the last packet acknowledges the receiver's own FIN.
#[test]
fn a_fin_that_leaves_in_a_recovery_is_acknowledged() {
    for prr in [false, true] {
        let transport = json!({"opening": "handshake", "initial_window": "20pkt", "prr": prr});
        let document = pair(transport, json!({"bytes": format!("{}B", 26 * MSS)}));
        // The first packet is the SYN.
        let fault = json!({"duration": "5s", "port": {"s0->switch": {"drop_packets": [2]}}});
        let done = watch(with(document, fault), &["s0->switch"]);
        let sizes: Vec<u64> = done.sent("s0->switch").iter().map(|sent| sent.bytes).collect();
        assert_eq!(sizes, [vec![HEADER], vec![FULL; 27], vec![HEADER]].concat(), "{prr}");
        assert_eq!([done.flow("timeouts"), done.flow("retransmissions")], [0.0, 1.0]);
        let times = done.times("s0->switch");
        let repaired = times[1] + noticed(1, HEADER) + LINE.round();
        assert!(times[27] < repaired, "{prr}: {} and {repaired}", times[27]);
        assert_eq!(times[28], times[27] + LINE.round());
    }
}

/// A window of ten segments until the first loss, and then of half a segment.
struct Collapses(u64);

impl CongestionControl for Collapses {
    fn on_ack(&mut self, _: &Ack, _: &Cx<'_>) {}
    fn on_congestion(&mut self, _: Congestion, _: u64, _: &Cx<'_>) {
        self.0 = MSS / 2;
    }
    fn cwnd(&self) -> Bytes {
        Bytes(self.0)
    }
}

/// A sender whose window is below a segment sends one at a time, in a recovery by SACK too: with nothing in flight the next hole goes. Of ten
/// segments the first seven are lost, and each is repaired when the one before has been acknowledged, without a timeout.
#[test]
fn below_a_segment_a_window_lets_one_out_at_a_time() {
    let changes = json!({
        "transport": {"opening": "established", "loss_detection": "rfc6675"},
        "traffic": {"x": {"bytes": format!("{}B", 10 * MSS)}},
        "port": {"s0->switch": {"drop_packets": [1, 2, 3, 4, 5, 6, 7]}},
    });
    let rows = watched::trace(|_, _| Collapses(10 * MSS), changes);
    assert!(rows.iter().all(|row| row.after != After::Timeout));
    let last = rows.iter().rfind(|row| row.after == After::Sample).expect("samples");
    assert_eq!((last.rs.total_delivered, last.rs.in_flight), (10 * MSS, 0));
    // 40 ms of ways, the segment and the answer on both links; the three that came before the first repair wait for each other.
    let round = 40e-3 + (FULL + HEADER) as f64 * 8.0 * (1.0 / 10e6 + 1.0 / 10e9);
    let first = round + 2.0 * FULL as f64 * 8.0 / 10e6;
    close("the last answer", last.at, first + 7.0 * round, 0.001);
}

/// SACK repairs holes scattered over the window alike: every second of the first 2k segments.
// req: RFC6675 s5 MUST update
// req: RFC6675 s5 MUST send-by-nextseg
#[test]
fn scattered_losses_take_one_round_trip_with_sack_and_k_without() {
    for losses in [2, 4, 7] {
        let lost: Vec<u64> = (1..=losses).map(|n| 2 * n - 1).collect();
        let rounds = |sack: bool| {
            let transport = json!({"sack": sack, "initial_window": "20pkt"});
            let document = pair(transport, json!({"bytes": format!("{}B", 20 * MSS)}));
            let done = run(with(document, json!({"port": {"s0->switch": {"drop_packets": lost}}})));
            assert_eq!(done.flow("timeouts"), 0.0);
            // The last segment of the first burst arrives within less than half a round trip more.
            ((done.fct()[0] - LINE.burst(1)) as f64 / LINE.round() as f64).round()
        };
        assert_eq!((rounds(true), rounds(false)), (1.0, losses as f64));
    }
}

/// RFC 6582 s.3.2 step 3 and s.4, "Impatient": only the first partial acknowledgement restarts the timer, so
/// a recovery that takes longer than a timeout from there ends in one. With a timeout of 4.6 R from the
/// partial acknowledgement at R on, five losses (5 R) are repaired in time and six are not.
#[test]
fn only_the_first_partial_acknowledgement_restarts_the_timer() {
    assert_eq!(470_000_000 * 10 / LINE.round(), 45);
    let timeouts =
        |losses: u64| lose_first(losses, 20, json!({"sack": false, "min_rto": "470us"})).flow("timeouts");
    assert_eq!([timeouts(5), timeouts(6)], [0.0, 1.0]);
}

/// RFC 6675 s.4 NextSeg rule 4: the loss of the last segments shows in no SACK. With nothing new to send,
/// the last one goes again once in a recovery, and so no timeout of 10 ms is needed.
// req: RFC6675 s4 SHOULD next-rescue
#[test]
fn a_rescue_saves_a_lost_tail_behind_another_loss() {
    let document = pair(json!({"initial_window": "20pkt"}), json!({"bytes": format!("{}B", 20 * MSS)}));
    let done = run(with(document, json!({"port": {"s0->switch": {"drop_packets": [1, 20]}}})));
    assert_eq!([done.flow("retransmissions"), done.flow("timeouts")], [2.0, 0.0]);
}

/// RFC 6675 s.5.1: SACK chooses what goes after a timeout. Of four segments the first and the third are lost, too few
/// duplicates come, and the timer expires. With SACK the two go again; without it the fourth goes again as well.
// req: RFC6675 s5.1 SHOULD use-sack-after-timeout
#[test]
fn after_a_timeout_what_is_sacked_does_not_go_again() {
    let again = |sack: bool| {
        let transport = json!({"sack": sack, "initial_window": "4pkt"});
        let document = pair(transport, json!({"bytes": format!("{}B", 4 * MSS)}));
        let done =
            run(with(document, json!({"duration": "3s", "port": {"s0->switch": {"drop_packets": [1, 3]}}})));
        assert_eq!([done.flow("timeouts"), done.flow("fast_recoveries")], [1.0, 0.0]);
        done.flow("retransmissions")
    };
    assert_eq!([again(true), again(false)], [2.0, 3.0]);
}

/// RFC 6582 s.3.2: a recovery of any number of losses in one window halves the window once.
// req: RFC5681 s4.3 MUST first-loss
// req: RFC5681 s3.2 MUST deflate
// req: RFC6675 s5 MUST recovery-ends
#[test]
fn a_window_with_losses_is_halved_once() {
    for sack in [true, false] {
        for losses in [1, 3, 6] {
            let done = lose_first(losses, 20, json!({"sack": sack}));
            let after = [done.flow("fast_recoveries"), done.flow("ssthresh_bytes"), done.flow("cwnd_bytes")];
            assert_eq!(after, [1.0, 10.0 * MSS as f64, 10.0 * MSS as f64], "{sack} {losses}");
        }
    }
}

/// Data first sent during a recovery lies beyond its end point, and its loss is another congestion
/// event, which halves the window again (RFC 6675 s.5, RFC 6582 s.3.2). Window 20, segment 1 lost. Two new
/// segments go out by limited transmit, 21 and 22, and belong to the first event; the retransmission is the
/// 23rd packet, and packet n from then on is segment n - 1.
// req: RFC5681 s4.3 MUST two-windows-two-cuts
// req: RFC6675 s5 MUST recovery-ends
#[test]
fn a_loss_beyond_the_recovery_point_halves_the_window_again() {
    let lose = |sack: bool, packet: u64| {
        let transport = json!({"initial_window": "20pkt", "cwnd_max": "20pkt", "sack": sack});
        let document = pair(transport, json!({"bytes": format!("{}B", 60 * MSS)}));
        let fault = json!({"port": {"s0->switch": {"drop_packets": [1, packet]}}});
        let done = watch(with(document, fault), &["s0->switch"]);
        let mut levels = done.column("flow_trace", "ssthresh_bytes");
        levels.retain(|level| level.is_finite());
        levels.dedup();
        (done.flow("timeouts"), levels.iter().map(|level| level / MSS as f64).collect::<Vec<_>>())
    };
    for sack in [true, false] {
        assert_eq!(lose(sack, 21), (0.0, vec![10.0]), "{sack}");
        assert_eq!(lose(sack, 26), (0.0, vec![10.0, 5.0]), "{sack}");
    }
    // The very first one beyond it: SACK tells whose duplicates they are. Without it they might stem from
    // the retransmission, and RFC 6582 s.3.2 step 2 leaves the loss to the timer.
    assert_eq!(lose(true, 24), (0.0, vec![10.0, 5.0]));
    assert_eq!(lose(false, 24).0, 1.0);
}

/// A flow with 80 segments in flight, of which those numbered `lost` (counted from 2001) are lost; the
/// times of its sendings from the fast retransmit on, in round trips.
fn sendings_in_recovery(lost: std::ops::Range<u64>, prr: bool) -> Vec<f64> {
    let lost: Vec<u64> = lost.map(|n| 2000 + n).collect();
    let document = pair(json!({"cwnd_max": "80pkt", "prr": prr}), json!({}));
    let fault = json!({"duration": "4ms", "port": {"s0->switch": {"drop_packets": lost}}});
    let done = watch(with(document, fault), &["s0->switch"]);
    assert_eq!([done.flow("timeouts"), done.flow("fast_recoveries")], [0.0, 1.0]);
    assert_eq!(done.flow("ssthresh_bytes"), 40.0 * MSS as f64);
    let (times, cwnd) = (done.column("flow_trace", "time_ps"), done.column("flow_trace", "cwnd_bytes"));
    let halved = cwnd.windows(2).position(|w| w[1] < w[0]).expect("a recovery") + 1;
    let rounds = |at: u64| (at as f64 - times[halved]) / LINE.round() as f64;
    done.times("s0->switch").into_iter().map(rounds).filter(|at| *at >= 0.0).collect()
}

fn count(times: &[f64], from: f64, to: f64) -> usize {
    times.iter().filter(|at| (from..to).contains(*at)).count()
}

/// RFC 6937 s.3: ssthresh / RecoverFS segments go out for each one delivered, here one for two; RFC 6675
/// waits for half a round trip until the pipe has drained to ssthresh, then sends one for one. Either way
/// the pipe at the end of the round trip is ssthresh. Three segments of slack: the duplicates that led to
/// the recovery, which limited transmit has answered.
#[test]
fn prr_sends_in_proportion_all_through_the_recovery() {
    let (with_prr, without) = (sendings_in_recovery(0..1, true), sendings_in_recovery(0..1, false));
    let near = |got: usize, want: usize| assert!(got.abs_diff(want) <= 3, "{got} sendings, by theory {want}");
    near(count(&with_prr, 0.0, 0.45), 18);
    near(count(&with_prr, 0.0, 0.9), 36);
    near(count(&without, 0.0, 0.45), 1);
    near(count(&with_prr, 0.0, 1.0), 40);
    near(count(&without, 0.0, 1.0), 40);
}

/// RFC 6937 s.3.1: when so much is lost that the pipe falls below ssthresh, the slow-start reduction bound
/// lets out two segments for each delivered; RFC 6675 sends all at once that ssthresh allows. 60 of 80 are
/// lost: of the other 20 three are known to have arrived, two more went by limited transmit, so with
/// ssthresh at 40 a burst of 40 - (20 - 3 + 2) = 21, against bursts of 2.
#[test]
fn prr_bounds_the_burst_after_heavy_loss() {
    let longest = |times: &[f64]| times.chunk_by(|a, b| a == b).map(<[f64]>::len).max();
    assert_eq!(longest(&sendings_in_recovery(0..60, false)), Some(21));
    assert_eq!(longest(&sendings_in_recovery(0..60, true)), Some(2));
}

/// RFC 6937 s.3.1, its two figures: of a window of 20 one segment is lost, or 15. At the third duplicate the lost segment goes again.
/// Counted in segments, a new one follows at each second acknowledgement, as in the figure. Counted in bytes, of 22 in flight, it
/// follows when 2.2 more were delivered for each. After 15 losses each of the last three acknowledgements lets two out.
/// In all of it the acknowledgement that begins the recovery counts as delivered.
#[test]
fn prr_counts_the_acknowledgement_that_begins_a_recovery() {
    // Ten segments leave first, then 20 in each round trip, of which number 611 is the first.
    let sendings = |lost: u64, arithmetic: &str| {
        let lost: Vec<u64> = (611..611 + lost).collect();
        let fault = json!({"duration": "4ms", "port": {"s0->switch": {"drop_packets": lost}}});
        let transport = json!({"cwnd_max": "20pkt", "prr": true, "arithmetic": arithmetic});
        let document = pair(transport, json!({}));
        let done = watch(with(document, fault), &["s0->switch"]);
        assert_eq!([done.flow("timeouts"), done.flow("fast_recoveries")], [0.0, 1.0]);
        let (times, cwnd) = (done.column("flow_trace", "time_ps"), done.column("flow_trace", "cwnd_bytes"));
        let halved = cwnd.windows(2).position(|w| w[1] < w[0]).expect("a recovery") + 1;
        let turns = |at: u64| (at as f64 - times[halved]) / LINE.transmission(FULL) as f64;
        let turns: Vec<f64> = done.times("s0->switch").into_iter().map(turns).collect();
        turns.into_iter().filter(|turn| (0.0..8.5).contains(turn)).map(f64::round).collect::<Vec<_>>()
    };
    assert_eq!(sendings(1, "linux"), [0.0, 2.0, 4.0, 6.0, 8.0]);
    let by_bytes: Vec<f64> = (2..5).map(|sent| (2.2 * f64::from(sent)).ceil() - 1.0).collect();
    assert_eq!(sendings(1, "exact")[1..], by_bytes);
    assert_eq!(sendings(15, "exact"), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
}

/// Linux `tcp_cwnd_reduction`: packets that left before a recovery pay for nothing in it. A first message of
/// 300 segments loses one at a large window; the second, 10 segments at a time after an idle second, loses its first.
/// At its third duplicate the lost segment goes again and nothing else, however large the window of the last recovery
/// was.
#[test]
fn a_recovery_takes_no_window_over_from_the_last_one() {
    let transport = json!({"arithmetic": "linux", "prr": true});
    let load = json!({"kind": "messages", "bytes": format!("{}B", 300 * MSS), "interval": "1s", "count": 2});
    // The first retransmission is the 301st packet.
    let fault = json!({"duration": "3s", "port": {"s0->switch": {"drop_packets": [100, 302]}}});
    let done = watch(with(pair(transport, load), fault), &["s0->switch"]);
    assert_eq!([done.flow("fast_recoveries"), done.flow("timeouts")], [2.0, 0.0]);
    let second: Vec<u64> = done.times("s0->switch").split_off(301);
    assert_eq!(second.iter().filter(|at| **at == second[0]).count(), 10);
    let noticed = second[0] + LINE.burst(4) + LINE.one_way(HEADER + 12);
    assert_eq!(second.iter().filter(|at| **at == noticed).count(), 1);
}

/// RFC 9293 s.3.8.6: what leaves in a recovery by SACK lies within the receiver's window too. It is as wide as the sender's here, so that the
/// new data of the recovery reach its edge and stop there.
#[test]
fn a_recovery_keeps_within_the_receivers_window() {
    let window = 40 * MSS;
    let transport = json!({"initial_window": "40pkt", "receive_window": "40pkt"});
    let document = pair(transport, json!({"bytes": format!("{}B", 400 * MSS)}));
    let document = with(
        document,
        json!({
            "port": {"s0->switch": {"drop_packets": [1]}}, "probe": {"packets": ["s0->switch", "switch->s0"]},
        }),
    );
    let done = run(document);
    let [at, landed, seq, payload] =
        ["time_ps", "landed_ps", "seq", "payload"].map(|name| done.column("packets", name));
    let ports = done.words("packets", "port");
    let rows = |port: &str| {
        ports.iter().enumerate().filter(|(_, name)| **name == port).map(|(row, _)| row).collect::<Vec<_>>()
    };
    let (left, answers) = (rows("s0->switch"), rows("switch->s0"));
    let beyond = |row: usize| {
        let una = answers.iter().filter(|k| landed[**k] <= at[row]).map(|k| seq[*k]).fold(0.0, f64::max);
        seq[row] + payload[row] - una
    };
    let most = left.iter().map(|row| beyond(*row)).fold(0.0, f64::max);
    assert_eq!((done.flow("retransmissions"), most), (1.0, window as f64));
}
