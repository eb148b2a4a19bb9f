//! BBRv1 against closed forms of its own rules (Linux 7.2 net/ipv4/tcp_bbr.c; Cardwell et al. 2016).
//!
//! One flow over 10 Mb/s and 40 ms, unless a test says otherwise. `./shallows validate --cells 'bbr-*'` holds whole runs to Linux.

use crate::bench::{close, with};
use crate::watched::{self, After, Row, after, begins, event, first, samples};
use serde_json::{Value, json};
use shallows_core::cc::bbr1;
use shallows_core::params::Params;

const MSS: f64 = 1460.0;
/// Payload's share of a packet.
const SHARE: f64 = 1460.0 / 1500.0;
/// 1500 bytes at 10 Mb/s.
const PACKET_S: f64 = 1.2e-3;
const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const PROBE_BW: f64 = 2.0;
const PROBE_RTT: f64 = 3.0;

fn trace(changes: Value) -> Vec<Row> {
    let settings = bbr1::Settings::defaults();
    watched::trace(move |flow, cx| bbr1::Control::start(&settings, flow, cx), changes)
}

/// The phases of ProbeBW: gain and beginning of each.
fn phases(rows: &[Row]) -> Vec<(f64, f64)> {
    let mut phases: Vec<(f64, f64)> = vec![];
    for row in samples(rows).filter(|row| row.state() == PROBE_BW) {
        let gain = row.get("pacing_gain");
        if phases.last().is_none_or(|last| last.0 != gain) {
            phases.push((gain, row.at));
        }
    }
    phases
}

/// `bbr_init_pacing_rate_from_rtt`, `bbr_check_full_bw_reached`, `bbr_check_drain`: the first rate is 739/256 of a window in a
/// round trip; three rounds without a quarter of growth end Startup; Drain's rate is 88/256 of the bandwidth.
#[test]
fn startup_finds_the_bandwidth_and_drain_empties_the_queue() {
    let rows = trace(json!({}));
    let begin = rows.iter().find(|row| row.after == After::Sending).expect("a packet leaves");
    assert_eq!(begin.state(), STARTUP);
    close(
        "first rate",
        begin.get("pacing_bps"),
        8.0 * 739.0 / 256.0 * 0.99 * 10.0 * MSS / begin.get("min_rtt_s"),
        2.4e-4,
    ); // 4194 in 2^24 packets a microsecond, cut
    let drain = first(&rows, DRAIN, 0.0);
    assert_eq!((drain.get("full_bw_count"), drain.get("full_bw_reached")), (3.0, 1.0));
    // The bandwidth is shown less the margin of 1 %.
    close("max_bw", drain.get("max_bw_bps"), 0.99 * 10e6 * SHARE, 0.02);
    close("Drain's rate", drain.get("pacing_bps"), 88.0 / 256.0 * drain.get("max_bw_bps"), 1e-4);
    let (next, at) = after(&rows, drain.at);
    let out = samples(&rows).find(|row| row.at == at).expect("a sample");
    assert_eq!(next, PROBE_BW);
    // `bbr_inflight`: a product and three offloaded packets of two segments, rounded to an even number, and two more in the
    // first phase of the cycle.
    let in_flight = out.rs.in_flight as f64;
    assert!(in_flight <= out.get("bdp_bytes") + 9.0 * MSS, "{in_flight}");
}

/// `bbr_pacing_gain`: 5/4, 3/4 and six times 1, each for a least round trip and up to the next acknowledgement; that of 5/4 until a
/// quarter more is in flight too, that of 3/4 until a product is.
#[test]
fn gains_go_round_in_eight_phases() {
    let rows = trace(json!({}));
    let phases = phases(&rows);
    let cycles: Vec<_> = phases.windows(4).filter(|four| four[0].0 == 1.25).collect();
    assert!(cycles.len() > 10, "{phases:?}");
    let rtt = samples(&rows).next_back().expect("a sample").get("min_rtt_s");
    for four in cycles {
        assert_eq!([four[1].0, four[2].0, four[3].0], [0.75, 1.0, 1.25], "{four:?}");
        let (up, down, even) = (four[1].1 - four[0].1, four[2].1 - four[1].1, four[3].1 - four[2].1);
        assert!(up > rtt && up < 2.5 * rtt, "{up}");
        assert!(down < rtt + 2.0 * PACKET_S, "{down}");
        assert!(even > 6.0 * rtt && even < 6.0 * (rtt + 2.0 * PACKET_S), "{even}");
    }
    // The margin: 1 % below the bandwidth.
    let even = samples(&rows).rfind(|row| row.get("pacing_gain") == 1.0).expect("a sample");
    close("rate", even.get("pacing_bps"), even.get("max_bw_bps"), 1e-4);
}

/// `bbr_cycle_rand`: the cycle begins anywhere but where it drains, by the seed.
#[test]
fn the_first_phase_is_drawn_from_seven() {
    let mut drawn = [0, 0];
    for seed in 1..=12 {
        let first = phases(&trace(json!({"duration": "1s", "seed": seed})))[0].0;
        assert!(first == 1.0 || first == 1.25, "{first}");
        drawn[usize::from(first == 1.25)] += 1;
    }
    assert!(drawn[0] > drawn[1], "{drawn:?}"); // six of seven
}

/// `bbr_set_cwnd`: two products, what acknowledgements aggregate, three offloaded packets of two segments, rounded to an even number.
#[test]
fn the_window_is_two_products() {
    let rows = trace(json!({}));
    let even =
        samples(&rows).filter(|row| row.at > 4.0 && row.state() == PROBE_BW && row.get("pacing_gain") == 1.0);
    assert!(even.clone().count() > 1000);
    assert!({ even }.all(|row| {
        let target = (2.0 * row.get("bdp_bytes") + row.get("extra_acked_bytes")) / MSS + 6.0;
        // Two products are rounded up once, a product before it is doubled.
        (target - 2.0..=target + 1.0).contains(&(row.cwnd / MSS))
    }));
}

/// `bbr_update_min_rtt`: ten seconds without a lower round trip, then four segments for 200 ms and a round trip; again ten seconds
/// after its end. So 200 ms and two round trips at most are spent on it every 10.2 s.
#[test]
fn every_ten_seconds_the_queue_is_drained() {
    let rows = trace(json!({"duration": "35s"}));
    let mut from = 0.0;
    let mut ends = vec![];
    for _ in 0..3 {
        let begin = begins(&rows, PROBE_RTT, from);
        let (next, end) = after(&rows, begin);
        assert_eq!(next, PROBE_BW);
        let during = samples(&rows).filter(|row| row.at >= begin && row.at < end);
        assert!(during.clone().all(|row| row.cwnd == 4.0 * MSS));
        let rtt = { during }.next_back().expect("a sample").get("min_rtt_s");
        // The queue and the pipe drain first, which takes a round trip.
        assert!(end - begin > 0.2 && end - begin < 0.2 + 3.0 * rtt, "{}", end - begin);
        if let Some(last) = ends.last() {
            assert!(begin - last > 10.0 && begin - last < 10.1, "{}", begin - last);
        }
        let restored = samples(&rows).find(|row| row.at >= end).expect("a sample");
        assert!(restored.cwnd > 2.0 * restored.get("bdp_bytes"));
        ends.push(end);
        from = end;
    }
}

/// `bbr_set_cwnd_to_recover_or_restore`: the first acknowledgement of a repair leaves what is in flight and what it reports; the one
/// that ends it restores the window.
#[test]
fn a_repair_conserves_packets_and_gives_the_window_back() {
    let rows = trace(json!({"event": {"e": event(1.0, json!({"loss": 0.005}))}}));
    let all: Vec<&Row> = samples(&rows).filter(|row| row.rs.newly_acked > 0).collect();
    let mut repairs = 0;
    for pair in all.windows(2).filter(|pair| pair[0].state() == PROBE_BW && pair[1].state() == PROBE_BW) {
        let (before, now) = (pair[0], pair[1]);
        if now.rs.in_fast_recovery && !before.rs.repairing {
            assert_eq!(now.cwnd, (now.rs.in_flight + now.rs.newly_acked) as f64, "{now:?}");
            repairs += 1;
        }
        if before.rs.in_fast_recovery && !now.rs.repairing {
            assert!(now.cwnd >= 2.0 * now.get("bdp_bytes"), "{now:?}");
        }
    }
    assert!(repairs > 10, "{repairs}");
    let last = samples(&rows).next_back().expect("a sample");
    close("bandwidth despite losses", last.get("max_bw_bps"), 0.99 * 10e6 * SHARE, 0.03);
}

/// `tcp_enter_loss`: after a timeout one segment more than what is in flight.
#[test]
fn a_timeout_leaves_one_segment_more_than_is_in_flight() {
    let cut = json!({"a": event(1.0, json!({"state": "down"})), "b": event(2.0, json!({"state": "up"}))});
    let rows = trace(json!({"event": cut}));
    let timeout = rows.iter().find(|row| row.after == After::Timeout).expect("a timeout");
    assert_eq!(timeout.cwnd, MSS);
    // Until all that was outstanding is acknowledged a repair is under way, and it is not one by duplicates.
    let first = samples(&rows).find(|row| row.at > timeout.at && row.rs.newly_acked > 0).expect("a sample");
    assert!(first.rs.repairing && !first.rs.in_fast_recovery, "{first:?}");
    let last = samples(&rows).next_back().expect("a sample");
    close("bandwidth afterwards", last.get("max_bw_bps"), 0.99 * 10e6 * SHARE, 0.03);
}

/// `tcp_rate_skb_sent` (net/ipv4/tcp_rate.c): a needless timeout counts nothing as in flight, and yet a sample's time does not begin with
/// the repair. The acknowledgement after it reports a whole window, and shows no higher bandwidth. Without acknowledgements
/// for 2 s, neither Linux nor the simulator loses a packet afterwards.
#[test]
fn acknowledgements_after_a_needless_timeout_are_no_higher_bandwidth() {
    let link = |at: f64, loss: f64| json!({"at": format!("{at}s"), "link": "r0->switch", "loss": loss});
    let rows = trace(json!({"duration": "6s", "event": {"a": link(1.0, 1.0), "b": link(3.0, 0.0)}}));
    let after = |row: &&Row| row.at > 3.0;
    assert!(rows.iter().any(|row| row.after == After::Timeout));
    let most = samples(&rows).filter(after).map(|row| row.get("max_bw_bps")).fold(0.0, f64::max);
    close("bandwidth", most, 0.99 * 10e6 * SHARE, 0.03);
}

/// `bbr_lt_bw_sampling`: a policer of 4 Mb/s before a link of 10 is found, and its rate holds for 48 rounds; so fewer packets are
/// lost than without the rule.
#[test]
fn a_policer_is_found_and_its_rate_kept() {
    let policer = json!({"switch->r0": {"queue": {"kind": "policer", "rate": "4Mbps", "burst": "30KB"}}});
    let rows = trace(json!({"duration": "20s", "port": policer}));
    let used: Vec<&Row> = samples(&rows).filter(|row| row.get("lt_uses_bw") == 1.0).collect();
    assert!(used.len() > 500, "{}", used.len());
    let held = used.iter().find(|row| row.state() == PROBE_BW).expect("it holds in ProbeBW");
    assert_eq!(held.get("pacing_gain"), 1.0);
    // The mean over intervals that a loss begins and ends, which the burst of the bucket makes a little larger.
    close("rate", held.get("pacing_bps"), 4e6 * SHARE, 0.1);
}

/// `tcp_rate_check_app_limited` is called by `tcp_sendmsg_locked` alone: the first acknowledgement of a message ends its limit, so what a
/// repair sends counts in full. The draft asks at each acknowledgement too, and counts none of it: its estimate
/// never falls where messages fit into the window.
#[test]
fn repairs_of_short_messages_lower_the_estimate_where_writes_alone_are_asked() {
    let messages =
        json!({"kind": "messages", "bytes": "17520B", "interval": "1s", "connection": "persistent"});
    // SYN, its answer's acknowledgement and five messages of twelve packets; then the second packet of each.
    let lost: Vec<u64> = (0..40).map(|message| 64 + 13 * message).collect();
    let document = json!({
        "duration": "44s", "traffic": {"x": messages}, "port": {"s0->switch": {"drop_packets": lost}},
    });
    let kept = |checks: &str| {
        let rows = trace(with(
            document.clone(),
            json!({"transport": {"app_limit_checks": checks, "initial_window": "12pkt"}}),
        ));
        assert!(samples(&rows).filter(|row| row.rs.in_fast_recovery).count() > 100);
        let before = samples(&rows).rfind(|row| row.at < 5.0).expect("a sample").get("max_bw_bps");
        samples(&rows).next_back().expect("a sample").get("max_bw_bps") / before
    };
    assert_eq!(kept("events"), 1.0);
    assert!(kept("writes") < 0.9, "{}", kept("writes"));
}
