//! BBRv3 against the 22 test cases of draft-ietf-ccwg-bbr (3 August 2026), appendix "BBR Example Test Cases", and its closed numbers.
//!
//! Each runs an experiment in which the control stands behind a pointer that records its state at each call.

use crate::bench::{close, near, with};
use crate::watched::{self, After, Row, after, begins, event, first, last_of, path, samples};
use serde_json::{Value, json};
use shallows_core::cc::bbr3;
use shallows_core::params::Params;
use shallows_units::Span;

const MSS: f64 = 1460.0;
/// Payload's share of a packet.
const SHARE: f64 = 1460.0 / 1500.0;
const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

fn trace_with(settings: bbr3::Settings, changes: Value) -> Vec<Row> {
    watched::trace(move |flow, cx| bbr3::Control::start(&settings, flow, cx), changes)
}

fn trace(changes: Value) -> Vec<Row> {
    trace_with(bbr3::Settings::defaults(), changes)
}

/// As [`trace`], with a repair that turns out to be needless after the first sample for which that holds.
fn trace_needless(needless: impl Fn(&Row) -> bool + Send + Sync + 'static, changes: Value) -> Vec<Row> {
    let settings = bbr3::Settings::defaults();
    watched::trace_needless(move |flow, cx| bbr3::Control::start(&settings, flow, cx), needless, changes)
}

/// An application that writes 500 bytes a millisecond: 4 Mb/s of 10.
fn limited() -> Value {
    json!({"x": {"kind": "messages", "bytes": "1460B", "interval": "2920us"}})
}

/// Cases 1 and 3.
#[test]
fn a_plateau_ends_startup_and_an_empty_queue_ends_drain() {
    let rows = trace(json!({}));
    let drain = first(&rows, DRAIN, 0.0);
    assert_eq!((drain.get("full_bw_count"), drain.get("full_bw_reached")), (3.0, 1.0));
    close("max_bw", drain.get("max_bw_bps"), 10e6 * SHARE, 0.02);
    // s.5.6.2: half the bandwidth, less the margin of 1 %.
    close("pacing", drain.get("pacing_bps"), 0.5 * 0.99 * drain.get("max_bw_bps"), 1e-9);
    let during: Vec<&Row> = samples(&rows).filter(|row| row.state() == DRAIN).collect();
    assert!(during.iter().all(|row| row.rs.in_flight as f64 > row.get("inflight_target_bytes")));
    let (next, at) = after(&rows, drain.at);
    let out = samples(&rows).find(|row| row.at == at).expect("a sample");
    assert!(out.rs.in_flight as f64 <= out.get("inflight_target_bytes"));
    assert!(next == DOWN || next == CRUISE); // with no bound yet DOWN is over with the same acknowledgement
}

/// Case 2: 30 % of packets are lost from the first second on, so that 27 a round trip have six gaps, and samples tell nothing of the bandwidth.
#[test]
fn loss_ends_startup_though_the_application_limits() {
    let traffic = json!({"x": {"kind": "messages", "bytes": "1460B", "interval": "1460us"}});
    let loss = json!({"e": event(1.0, json!({"loss": 0.3}))});
    let rows = trace(json!({"traffic": traffic, "event": loss}));
    let drain = first(&rows, DRAIN, 0.0);
    assert!(drain.at > 1.0 && drain.get("full_bw_count") < 3.0, "{drain:?}");
    assert_eq!(drain.get("full_bw_reached"), 1.0);
    assert!(drain.get("inflight_longterm_bytes") >= drain.get("bdp_bytes"));
}

/// Case 4: 10 % less bandwidth from Drain on. The rate of Drain is half, so that the queue of Startup would still go within
/// three rounds; a slower drain keeps it.
#[test]
fn drain_lasts_three_rounds_at_most() {
    let slow = || bbr3::Settings { drain_gain: 0.88, ..bbr3::Settings::defaults() };
    let from = begins(&trace_with(slow(), json!({})), DRAIN, 0.0);
    let rows = trace_with(slow(), json!({"event": {"e": event(from, json!({"rate": "9Mbps"}))}}));
    let drain = first(&rows, DRAIN, 0.0);
    let (next, at) = after(&rows, drain.at);
    let out = samples(&rows).find(|row| row.at == at).expect("a sample");
    assert_eq!((next, out.get("rounds") - drain.get("rounds")), (DOWN, 4.0)); // round_count > start + 3
    assert!(out.rs.in_flight as f64 > out.get("inflight_target_bytes"));
}

/// Cases 5, 8 and the closed waits of s.5.3.3.8.
#[test]
fn a_plateau_ends_up_and_headroom_ends_down() {
    let rows = trace(json!({"duration": "12s"}));
    let up = begins(&rows, UP, 0.0);
    let (next, down) = after(&rows, up);
    let last = samples(&rows).find(|row| row.at == down).expect("a sample");
    assert_eq!((next, last.get("full_bw_count")), (DOWN, 3.0));
    close("pacing", last.get("pacing_bps"), 0.9 * 0.99 * last.get("max_bw_bps"), 1e-9);
    let (next, at) = after(&rows, down);
    let out = samples(&rows).find(|row| row.at == at).expect("a sample");
    assert_eq!(next, CRUISE);
    assert!(out.rs.in_flight as f64 <= out.get("bdp_bytes").max(4.0 * MSS));
    // A probe comes after min(BDP in packets, 63) rounds from a start of 0 or 1, or after 2 to 3 s: here the BDP of 34 packets.
    let refill = begins(&rows, REFILL, down);
    let rounds = first(&rows, REFILL, refill).get("rounds") - last.get("rounds");
    assert!((33.0..=36.0).contains(&rounds), "{rounds}");
    assert!((2.0..3.0).contains(&last.get("probe_wait_s")));
}

/// Cases 6, 21: loss above 2 % in UP ends it, by the samples that the application limits too, and bounds the data in flight.
#[test]
fn loss_ends_up_and_bounds_what_is_in_flight() {
    let buffer = json!({"duration": "12s", "queue": {"limit": "30KB"}});
    let rows = trace(buffer);
    let losses = rows.iter().filter(|row| row.after == After::Loss);
    let ends: Vec<&Row> = losses.filter(|row| row.state() == DOWN).collect();
    assert!(!ends.is_empty());
    let up = begins(&rows, UP, 0.0);
    let (next, at) = after(&rows, up);
    let out = rows.iter().find(|row| row.at == at && row.state() == DOWN).expect("a row");
    assert_eq!((next, out.after), (DOWN, After::Loss));
    assert!(out.rs.lost as f64 > 0.02 * out.rs.tx_in_flight as f64);
    // InflightAtLoss: the pipe of 50 kB and the buffer of 30 kB, in payload, hold what was in flight when 2 % were lost.
    let held = (50_000.0 + 30_000.0) * SHARE;
    close("inflight_longterm", out.get("inflight_longterm_bytes"), held, 0.05);
    // An application that limits the sender in UP: no loss bounds anything, but the probe ends.
    let quiet = json!({"duration": "12s", "traffic": {"x": {"kind": "messages", "bytes": "1460B", "interval": "2920us", "primer": "3MB"}}});
    let up = begins(&trace(quiet.clone()), UP, 5.0);
    let rows = trace(with(quiet, json!({"event": {"e": event(up + 0.1, json!({"loss": 0.2}))}})));
    let (next, at) = after(&rows, up);
    assert!(next == DOWN && at < up + 1.0);
    assert!(rows.iter().any(|row| row.at == at && row.after == After::Loss));
}

/// Case 7.
#[test]
fn nothing_ends_startup_or_up_while_the_application_limits_and_nothing_is_lost() {
    let rows = trace(json!({"duration": "30s", "traffic": limited()}));
    assert!(path(&rows).iter().all(|step| step.0 == STARTUP || step.0 == PROBE_RTT));
    let primed = json!({"x": {"kind": "messages", "bytes": "1460B", "interval": "2920us", "primer": "3MB"}});
    let rows = trace(json!({"duration": "20s", "traffic": primed}));
    let up = begins(&rows, UP, 5.0);
    // ProbeRTT alone ends it.
    assert_eq!(after(&rows, up).0, PROBE_RTT);
}

/// Case 9: 10 % less bandwidth keep what is in flight above the target while the rate of DOWN is 0.9 of the old one.
#[test]
fn down_that_does_not_drain_goes_to_refill() {
    let settings = || bbr3::Settings {
        probe_rounds: 10_000,
        probe_rtt_interval: Span::s(60),
        ..bbr3::Settings::defaults()
    };
    let wide = json!({"topology": {"rate": "100Mbps"}, "queue": {"limit": "2MB"}, "duration": "12s"});
    let down = begins(&trace_with(settings(), wide.clone()), DOWN, 1.0);
    let rows =
        trace_with(settings(), with(wide, json!({"event": {"e": event(down, json!({"rate": "90Mbps"}))}})));
    let (next, at) = after(&rows, down);
    let waited = first(&rows, DOWN, down).get("probe_wait_s");
    assert_eq!(next, REFILL);
    assert!(at > down + waited && at < down + waited + 0.1, "{down} {at} {waited}");
}

/// Case 10, and s.5.3.4.1: 0.98 of the bandwidth is left, so that the whole run keeps it.
#[test]
fn probe_rtt_comes_after_five_seconds_and_lasts_200_ms_and_a_round() {
    let rows = trace(json!({"duration": "12s"}));
    let probe = begins(&rows, PROBE_RTT, 0.0);
    // The least round trip is the first packet's: the handshake's 40 ms and one.
    assert!((5.0..5.2).contains(&probe), "{probe}");
    let (next, end) = after(&rows, probe);
    assert_eq!(next, CRUISE);
    assert!((0.2..0.3).contains(&(end - probe)), "{}", end - probe);
    let inside = last_of(&rows, probe);
    near("cwnd", inside.cwnd, 0.5 * inside.get("bdp_bytes"), 1.0);
    let last = samples(&rows).next_back().unwrap();
    let before = samples(&rows).rfind(|row| row.at < 2.0).unwrap();
    let rate = (last.rs.total_delivered - before.rs.total_delivered) as f64 * 8.0 / (last.at - before.at);
    let (margin, cost) = (0.99, 2.0 * 0.5 * (end - probe) / (last.at - before.at));
    assert!(rate > margin * (1.0 - cost) * 10e6 * SHARE, "{rate}");
}

/// Case 11: 5 MB each 12 s leave 8 s of idleness.
#[test]
fn an_idle_flow_skips_probe_rtt() {
    let rows = trace(
        json!({"duration": "30s", "traffic": {"x": {"kind": "messages", "bytes": "5MB", "interval": "12s"}}}),
    );
    let restart = rows.iter().find(|row| row.after == After::Sending && row.at > 12.0).expect("a restart");
    assert_eq!(restart.get("idle_restart"), 1.0);
    close("pacing", restart.get("pacing_bps"), 0.99 * restart.get("max_bw_bps"), 1e-9);
    assert!(path(&rows).iter().all(|step| step.0 != PROBE_RTT));
}

/// Cases 12 and 13: acknowledgements of up to 32 segments.
#[test]
fn aggregated_acknowledgements_open_the_window() {
    let rows = trace(json!({"transport": {"ack_every": 32, "ack_delay": "40ms", "min_rto": "200ms"}}));
    let startup = samples(&rows).rfind(|row| row.state() == STARTUP).unwrap();
    assert!(startup.get("extra_acked_bytes") > 10.0 * MSS && startup.cwnd > 2.0 * startup.get("bdp_bytes"));
    close("max_bw", startup.get("max_bw_bps"), 10e6 * SHARE, 0.02);
    let cruise = samples(&rows).rfind(|row| row.state() == CRUISE).unwrap();
    assert!(cruise.get("extra_acked_bytes") > 10.0 * MSS);
    near("cwnd", cruise.cwnd, 2.0 * cruise.get("bdp_bytes") + cruise.get("extra_acked_bytes"), MSS);
    let last = samples(&rows).next_back().unwrap();
    let before = samples(&rows).rfind(|row| row.at < 2.0).unwrap();
    let rate = (last.rs.total_delivered - before.rs.total_delivered) as f64 * 8.0 / (last.at - before.at);
    assert!(rate > 0.95 * 10e6 * SHARE, "{rate}");
}

/// Case 14: 64 kb/s and 1 ms of delay, so that a packet takes 187 ms.
#[test]
fn a_path_of_less_than_a_packet_keeps_four() {
    let quic = bbr3::Settings { offload_quanta: 1, ..bbr3::Settings::defaults() };
    let slow = json!({"duration": "60s", "topology": {"rate": "64Kbps", "delay": "10us"}, "transport": {"min_rto": "2s"}});
    let rows = trace_with(quic, slow);
    let after = samples(&rows).skip_while(|row| row.state() == STARTUP);
    let least = after.map(|row| row.cwnd).fold(f64::INFINITY, f64::min);
    assert_eq!(least, 4.0 * MSS);
    // ProbeRTT's four packets still queue: the least round trip of the later filter is theirs, not that of one.
    let probe = first(&rows, PROBE_RTT, 0.0);
    assert_eq!(probe.cwnd, 4.0 * MSS);
    let last = samples(&rows).rfind(|row| row.state() == CRUISE).expect("it cruises");
    close("pacing", last.get("pacing_bps"), 0.99 * 64e3 * SHARE, 0.02);
}

/// Case 15. After the change the first probe finds the tenfold by growth of 1.25 a round at least, and by slope where bounded.
#[test]
fn ten_times_the_bandwidth_is_found() {
    let rows = trace(
        json!({"duration": "25s", "queue": {"limit": "2MB"}, "event": {"e": event(3.0, json!({"rate": "100Mbps"}))}}),
    );
    let found = samples(&rows).find(|row| row.get("max_bw_bps") > 0.95 * 100e6 * SHARE).expect("it is found");
    assert!(found.at < 20.0, "{}", found.at);
    // The slope: bounded by loss at 10 Mb/s first, inflight_longterm then rises by 1, 2, 4 ... segments a round.
    let bounded = json!({"duration": "25s", "queue": {"limit": "30KB"}, "event": {"e": event(6.0, json!({"rate": "100Mbps"}))}});
    let rows = trace(bounded);
    let bound = |row: &&Row| row.get("inflight_longterm_bytes");
    let before = samples(&rows).rfind(|row| row.at < 6.0).unwrap();
    let most = samples(&rows).map(|row| bound(&row)).filter(|bytes| bytes.is_finite()).fold(0.0, f64::max);
    assert!(most > 4.0 * bound(&before), "{most} {}", bound(&before));
}

/// Case 16: 100 to 10 Mb/s.
#[test]
fn a_tenth_of_the_bandwidth_is_found() {
    let rows = trace(json!({"duration": "20s", "topology": {"rate": "100Mbps"}, "queue": {"limit": "500KB"},
        "transport": {"min_rto": "1s"}, "event": {"e": event(3.0, json!({"rate": "10Mbps"}))}}));
    // Two round trips with loss leave 0.49 of it, while the long-term maximum stands until two probes have come.
    let fallen = 0.49 * 100e6 * SHARE;
    let short = samples(&rows).find(|row| row.at > 3.0 && row.get("bw_shortterm_bps") <= 1.001 * fallen);
    let short = short.expect("the short term");
    assert!(short.get("max_bw_bps") > 0.98 * 100e6 * SHARE, "{short:?}");
    let long = samples(&rows).find(|row| row.at > 3.0 && row.get("max_bw_bps") < 10.1e6 * SHARE);
    let long = long.expect("the long term");
    let ups = path(&rows).iter().filter(|step| step.0 == UP && step.1 > 3.0 && step.1 < long.at).count();
    assert_eq!((ups, short.at < long.at), (2, true));
}

/// Case 17: token buckets of 10 Mb/s on a link of 100. The loss bounds the short-term model, and what arrives conforms to the rate. Losses
/// go on, since each probe of the bandwidth empties the bucket. "Excessive" is not a number of the draft: with a bucket of a fifth of the
/// bandwidth-delay product they stay below the share that a probe allows (s.2.8, BBR.LossThresh: 2 %), and with one of a product near it.
#[test]
fn the_rate_of_a_policer_is_found() {
    for (burst, most) in [("10KB", 0.02), ("50KB", 0.03)] {
        let queue = json!({"kind": "policer", "rate": "10Mbps", "burst": burst, "limit": "none"});
        let rows = trace(json!({"duration": "40s", "topology": {"rate": "100Mbps"}, "queue": queue}));
        assert!(
            rows.iter().any(|row| row.get("bw_shortterm_bps").is_finite()
                && row.get("inflight_shortterm_bytes").is_finite())
        );
        for from in [10.0, 20.0, 30.0] {
            let within = |row: &&Row| row.at > from && row.at <= from + 10.0;
            let [first, last] =
                [samples(&rows).find(within), samples(&rows).rfind(within)].map(Option::unwrap);
            let arrived = (last.rs.total_delivered - first.rs.total_delivered) as f64;
            let rate = arrived * 8.0 / (last.at - first.at) / (10e6 * SHARE);
            assert!((0.9..=1.0).contains(&rate), "{burst}: {rate}");
            let lost = rows.iter().filter(within).filter(|row| row.after == After::Loss).count() as f64 * MSS;
            let share = lost / (arrived + lost);
            assert!(lost > 0.0 && share < most, "{burst}: {share}");
        }
    }
}

/// Case 18: 30 % of packets held back by up to 30 ms from a time in UP on; loss ended nothing that stands.
#[test]
fn a_needless_fast_recovery_is_undone() {
    let held = json!({"loss_detection": "rfc6675", "min_rto": "1s"});
    let rows = trace(
        json!({"duration": "4s", "transport": held, "port": {"switch->r0": {"reorder": 0.02, "reorder_delay": "30ms"}}}),
    );
    let undo = rows.iter().position(|row| row.after == After::Undo).expect("an undo");
    let loss = rows[..undo].iter().rposition(|row| row.after == After::Loss).expect("a loss");
    let before = rows[..loss].iter().rfind(|row| row.after == After::Sample).unwrap();
    for name in ["bw_shortterm_bps", "inflight_shortterm_bytes", "inflight_longterm_bytes"] {
        assert!(rows[undo].get(name) >= before.get(name), "{name}");
    }
    assert!(rows[undo].cwnd >= before.cwnd);
}

/// Case 19: the delay grows by 600 ms for a moment, longer than the timeout.
#[test]
fn a_needless_timeout_is_undone() {
    let events =
        json!({"e": event(3.0, json!({"delay": "400ms"})), "f": event(3.2, json!({"delay": "10ms"}))});
    let rows = trace(json!({"transport": {"min_rto": "200ms"}, "event": events}));
    let timeout = rows.iter().position(|row| row.after == After::Timeout).expect("a timeout");
    let before = rows[..timeout].iter().rfind(|row| row.after == After::Sample && row.at < 3.2).unwrap();
    assert!(rows[timeout].cwnd < before.cwnd);
    let undo = rows.iter().find(|row| row.after == After::Undo).expect("an undo");
    assert!(undo.cwnd >= before.cwnd);
    assert_eq!(undo.get("bw_shortterm_bps"), before.get("bw_shortterm_bps"));
}

/// Cases 18 and 19, their last step. Startup that losses ended begins again, and still looks for the bandwidth (s.5.5.11.2).
#[test]
fn a_needless_repair_returns_to_startup() {
    let traffic = json!({"x": {"kind": "messages", "bytes": "1460B", "interval": "1460us"}});
    let loss = json!({"e": event(1.0, json!({"loss": 0.3}))});
    let rows = trace_needless(|row| row.state() == DRAIN, json!({"traffic": traffic, "event": loss}));
    let undo = rows.iter().position(|row| row.after == After::Undo).expect("an undo");
    assert_eq!((rows[undo - 1].state(), rows[undo - 1].get("full_bw_reached")), (DRAIN, 1.0));
    assert_eq!((rows[undo].state(), rows[undo].get("full_bw_reached")), (STARTUP, 0.0));
    assert_eq!(rows[undo].get("full_bw_count"), 0.0);
}

/// UP that losses ended begins again, by way of REFILL. UP that a plateau ended does not: nothing of it is undone.
#[test]
fn a_needless_repair_returns_to_up() {
    for (limit, next) in [("30KB", REFILL), ("200KB", DOWN)] {
        let buffer = json!({"duration": "12s", "queue": {"limit": limit}});
        let up = begins(&trace(buffer.clone()), UP, 0.0);
        let rows = trace_needless(move |row| row.at > up && row.state() == DOWN, buffer);
        let undo = rows.iter().position(|row| row.after == After::Undo).expect("an undo");
        assert_eq!((rows[undo - 1].state(), rows[undo].state()), (DOWN, next), "{limit}");
        assert!(next == DOWN || after(&rows, rows[undo].at).0 == UP);
    }
}

/// Case 20.
#[test]
fn probe_rtt_of_startup_returns_to_it() {
    let rows = trace(json!({"duration": "12s", "traffic": limited()}));
    let probe = begins(&rows, PROBE_RTT, 0.0);
    assert_eq!(after(&rows, probe).0, STARTUP);
}

/// Case 22: the application stops as REFILL begins.
#[test]
fn a_refill_that_the_application_limits_leaves_max_bw() {
    let rows = trace(
        json!({"duration": "12s", "traffic": {"x": {"kind": "messages", "bytes": "1460B", "interval": "2920us", "primer": "2500KB"}}}),
    );
    let refill = begins(&rows, REFILL, 0.0);
    let during: Vec<&Row> =
        samples(&rows).filter(|row| row.at > refill && row.state() == REFILL && row.rs.app_limited).collect();
    let before = samples(&rows).rfind(|row| row.at <= refill).unwrap().get("max_bw_bps");
    assert!(during.iter().all(|row| row.get("max_bw_bps") == before));
    let late = begins(&rows, REFILL, 2.5);
    assert_eq!(after(&rows, late).0, UP);
    let limited: Vec<&Row> =
        samples(&rows).filter(|row| row.at >= late && row.state() == REFILL && row.rs.app_limited).collect();
    assert!(!limited.is_empty());
    assert!(limited.iter().all(|row| row.rs.rate * 8.0 < before && row.get("max_bw_bps") == before));
}

/// The paragraph "s.5.5.10.2": 0.99^137 x 4 = 1.01, and a steady 1 % of loss is borne.
#[test]
fn a_steady_loss_of_one_percent_is_borne() {
    close("0.99^137 x 4", libm::pow(0.99, 137.0) * 4.0, 1.01, 0.01);
    let rows = trace(
        json!({"duration": "20s", "transport": {"min_rto": "200ms"}, "port": {"switch->r0": {"loss": 0.01}}}),
    );
    // Between two probes, 35 rounds, the short-term bandwidth falls by the loss and by the margin each round at most.
    let worst = (1.0 - libm::pow(0.98, 35.0)) / (35.0 * 0.02);
    let last = samples(&rows).next_back().unwrap();
    assert!(
        last.rs.total_delivered as f64 * 8.0 / 20.0 > worst * 10e6 * SHARE,
        "{}",
        last.rs.total_delivered
    );
}
