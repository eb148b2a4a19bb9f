//! CUBIC against the closed forms of its RFCs.

use super::*;
use crate::cc::WindowRules;
use crate::cc::parts::window::tests::{ack, rules};
use crate::params::Params;

/// In congestion avoidance after a loss at `segments` segments of 1000 bytes.
fn after_loss(settings: &Settings, segments: u64, rules: &WindowRules) -> Control {
    let cx = Cx { now: Time::ZERO, rules };
    let mut control = Control::start(settings, &FlowInfo::default(), &cx);
    control.window.cwnd = (segments * 1000) as f64;
    control.on_congestion(Congestion::Loss, segments * 1000, &cx);
    control
}

/// A window of acknowledgements a round trip for `rounds` rounds; the time after them.
fn run(control: &mut Control, rtt: Span, rounds: u64, rules: &WindowRules) -> Time {
    let mut now = control.last;
    for _ in 0..rounds {
        let acks = control.cwnd().as_u64() / 1000;
        let start = now;
        for i in 1..=acks {
            now = start + Span::ps(rtt.as_ps() * i / acks);
            control.on_ack(&Ack { srtt: rtt, ..ack(1000) }, &Cx { now, rules });
        }
    }
    now
}

fn near(x: f64, y: f64, tolerance: f64) {
    assert!((x - y).abs() <= tolerance, "{x} is not within {tolerance} of {y}");
}

// req: RFC9438 s4.6 SHOULD beta
// req: RFC9438 s5.1 SHOULD c
#[test]
fn k_is_the_cube_root_of_the_reduction_over_c() {
    let rules = rules();
    let mut control = after_loss(&Settings::defaults(), 100, &rules);
    assert_eq!(control.window.cwnd, 70_000.0);
    control.begin_epoch(&Cx { now: Time::ZERO, rules: &rules });
    near(control.k, 4.217_163_326_508_746, 1e-12); // (100 x 0.3 / 0.4)^(1/3)
    // The curve starts at the reduced window, is flat at W_max at K, and is there symmetric.
    near(control.w_cubic(0.0, 1000.0), 70_000.0, 1e-6);
    near(control.w_cubic(control.k, 1000.0), 100_000.0, 1e-6);
    near(control.w_cubic(2.0 * control.k, 1000.0), 130_000.0, 1e-6);
    near(control.w_cubic(control.k + 2.0, 1000.0), 103_200.0, 1e-6); // 0.4 x 8 segments above
}

// req: RFC9438 s4.4 MUST concave
// req: RFC9438 s4.5 MUST convex
#[test]
fn a_long_path_follows_the_cubic() {
    let rules = rules();
    let settings = Settings { friendly: false, ..Settings::defaults() };
    let mut control = after_loss(&settings, 1000, &rules);
    let rtt = Span::ms(50);
    for _ in 0..20 {
        let now = run(&mut control, rtt, 10, &rules);
        let t = (now - control.epoch).as_secs_f64();
        // A round trip's increments aim at the end of the round: between W(t) and W(t + RTT).
        let (low, high) = (control.w_cubic(t, 1000.0), control.w_cubic(t + 0.05, 1000.0));
        let mid = (low + high) / 2.0;
        near(control.window.cwnd, mid, 0.01 * mid);
    }
}

// req: RFC9438 s4.3 SHOULD friendly
// req: RFC9438 s4.3 SHOULD friendly-alpha-one
#[test]
fn a_short_path_grows_as_reno_would() {
    let rules = rules();
    let mut control = after_loss(&Settings::defaults(), 20, &rules);
    // alpha_cubic = 3 x 0.3 / 1.7 = 0.529 segments a round trip; each round acknowledges a little
    // less than the window that it ends with.
    run(&mut control, Span::ms(1), 10, &rules);
    near(control.w_est, 14_000.0 + 10.0 * 529.4, 300.0);
    assert_eq!(control.window.cwnd, control.w_est);
    // From the window of the last congestion on, one segment a round trip (RFC 9438 s.4.3).
    while control.window.cwnd < 20_000.0 {
        run(&mut control, Span::ms(1), 1, &rules);
    }
    let before = control.window.cwnd;
    run(&mut control, Span::ms(1), 1, &rules);
    near(control.window.cwnd - before, 1000.0, 60.0);
}

// req: RFC9438 s4.10 MUST slow-start
#[test]
fn below_ssthresh_the_window_doubles_each_round_trip() {
    let rules = rules();
    let mut control = after_loss(&Settings::defaults(), 100, &rules);
    control.window.cwnd = 10_000.0; // ssthresh is 70 segments
    for segments in [20, 40] {
        run(&mut control, Span::ms(1), 1, &rules);
        assert_eq!(control.window.cwnd, f64::from(segments) * 1000.0);
    }
    run(&mut control, Span::ms(1), 1, &rules);
    assert!(control.window.cwnd >= 70_000.0 && control.window.cwnd < 72_000.0, "{}", control.window.cwnd);
}

#[test]
fn w_est_is_counted_in_acknowledged_bytes() {
    let rules = rules();
    for segments_per_ack in [1, 2] {
        let mut control = after_loss(&Settings::defaults(), 100, &rules);
        let cx = Cx { now: Time::ZERO, rules: &rules };
        control.on_ack(&Ack { srtt: Span::us(100), ..ack(1000 * segments_per_ack) }, &cx);
        near(control.w_est, 70_000.0 + 0.9 / 1.7 * 1000.0 * segments_per_ack as f64 / 70.0, 1e-9);
    }
}

#[test]
fn without_the_friendly_region_a_short_path_is_slow() {
    let rules = rules();
    let settings = Settings { friendly: false, ..Settings::defaults() };
    let mut control = after_loss(&settings, 20, &rules);
    run(&mut control, Span::ms(1), 10, &rules);
    near(control.window.cwnd, 14_000.0, 100.0); // 10 ms of 2.5 s to the plateau
}

// req: RFC9438 s4.7 SHOULD fast-convergence
// req: RFC9438 s4.6 SHOULD beta
#[test]
fn a_smaller_window_than_last_time_makes_room() {
    let rules = rules();
    let cx = Cx { now: Time::ZERO, rules: &rules };
    for (fast_convergence, plateau) in [(true, 70_000.0 * 0.85), (false, 70_000.0)] {
        let settings = Settings { fast_convergence, ..Settings::defaults() };
        let mut control = after_loss(&settings, 100, &rules);
        control.on_congestion(Congestion::Loss, 70_000, &cx);
        near(control.w_max, plateau, 1e-6);
        near(control.window.cwnd, 49_000.0, 1e-6);
    }
}

// req: RFC3168 s5 MUST mark-as-drop
#[test]
fn ecn_is_answered_as_loss_once_a_window() {
    let rules = rules();
    let cx = Cx { now: Time::ZERO, rules: &rules };
    let mut control = after_loss(&Settings::defaults(), 100, &rules);
    control.on_congestion(Congestion::Ecn, 70_000, &cx);
    near(control.window.cwnd, 49_000.0, 1e-6);
    control.on_congestion(Congestion::LossAfterEcn, 49_000, &cx);
    near(control.window.cwnd, 49_000.0, 1e-6);
}

#[test]
fn a_timeout_starts_over_with_its_own_window_as_the_plateau() {
    let rules = rules();
    let cx = Cx { now: Time::ZERO, rules: &rules };
    let mut control = after_loss(&Settings::defaults(), 100, &rules);
    control.on_congestion(Congestion::Timeout, 70_000, &cx);
    assert_eq!(control.window.cwnd, 1000.0);
    near(control.window.ssthresh, 49_000.0, 1e-6);
    control.window.cwnd = 49_000.0;
    control.on_ack(&ack(1000), &cx);
    assert_eq!((control.k, control.w_max), (0.0, 49_000.0));
}

#[test]
fn what_is_not_in_use_does_not_count() {
    let rules = rules();
    let cx = Cx { now: Time::ZERO, rules: &rules };
    let mut control = after_loss(&Settings::defaults(), 100, &rules);
    control.on_congestion(Congestion::Ecn, 30_000, &cx);
    near(control.window.cwnd, 21_000.0, 1e-6);
}

// req: RFC9438 s5.8 MUST unused-time
#[test]
fn time_without_growth_is_not_counted() {
    let rules = rules();
    let mut control = after_loss(&Settings::defaults(), 100, &rules);
    control.on_ack(&ack(1000), &Cx { now: Time::ZERO, rules: &rules });
    let later = Cx { now: Time::ZERO + Span::s(5), rules: &rules };
    control.on_ack(&Ack { may_grow: false, ..ack(1000) }, &later);
    assert_eq!(control.epoch, later.now);
    let latest = Cx { now: Time::ZERO + Span::s(9), rules: &rules };
    control.on_transmit_start(later.now, &latest);
    assert_eq!(control.epoch, latest.now);
}

#[test]
fn the_target_is_at_most_half_as_much_again() {
    let rules = rules();
    let mut control = after_loss(&Settings::defaults(), 100, &rules);
    control.on_ack(&ack(1000), &Cx { now: Time::ZERO, rules: &rules });
    let before = control.window.cwnd;
    let far = Cx { now: Time::ZERO + Span::s(1000), rules: &rules };
    control.on_ack(&ack(1000), &far);
    near(control.window.cwnd, before + 500.0, 1e-6);
}

/// RFC 8511 s.3.1: ECN alone may leave more of the window.
#[test]
fn ecn_may_leave_more_than_a_loss() {
    let rules = rules();
    let cx = Cx { now: Time::ZERO, rules: &rules };
    let settings = Settings { ecn_beta: 0.85, ..Settings::defaults() };
    let mut control = after_loss(&settings, 100, &rules);
    control.window.cwnd = 100_000.0;
    control.on_congestion(Congestion::Ecn, 100_000, &cx);
    near(control.window.cwnd, 85_000.0, 1e-6);
    near(control.w_max, 100_000.0, 1e-6);
    control.begin_epoch(&cx);
    near(control.k, libm::cbrt(15.0 / 0.4), 1e-12);
}

/// Where the texts differ. RFC 8312 eq. 2: K = cbrt(W_max (1 - beta) / C), also where fast convergence has
/// lowered W_max; eq. 4: W_est = W_max beta + 3 (1 - beta) / (1 + beta) t / RTT, whatever was acknowledged.
#[test]
fn rfc_8312_differs_in_k_in_the_friendly_window_and_in_fast_convergence() {
    let rules = rules();
    let cx = |ms: u64| Cx { now: Time::ZERO + Span::ms(ms), rules: &rules };
    let settings = Settings { standard: Standard::Rfc8312, ..Settings::defaults() };
    let mut old = after_loss(&settings, 100, &rules);
    let mut new = after_loss(&Settings::defaults(), 100, &rules);
    for control in [&mut old, &mut new] {
        control.begin_epoch(&cx(0));
        near(control.k, 4.217_163_326_508_746, 1e-12); // the same after a loss at the old plateau
    }
    // A loss at 80 segments, below the last: W_max = 68 in both; the window is 56.
    for (control, k) in [(&mut old, 68.0 * 0.3), (&mut new, 68.0 - 56.0)] {
        control.window.cwnd = 80_000.0;
        control.on_congestion(Congestion::Loss, 80_000, &cx(0));
        control.begin_epoch(&cx(0));
        near(control.w_max, 68_000.0, 1e-6);
        near(control.k, libm::cbrt(k / 0.4), 1e-12);
    }
    // A loss at 70: below the window of 80 before, above the plateau of 68.
    for (control, plateau) in [(&mut old, 70_000.0 * 0.85), (&mut new, 70_000.0)] {
        control.window.cwnd = 70_000.0;
        control.on_congestion(Congestion::Loss, 70_000, &cx(0));
        near(control.w_max, plateau, 1e-6);
    }
    // One acknowledgement after 100 ms of round trips of 1 ms: 0.9 / 1.7 x 100 segments by time.
    let mut old = after_loss(&settings, 20, &rules);
    let small = Ack { srtt: Span::ms(1), ..ack(1000) };
    old.on_ack(&small, &cx(0));
    old.on_ack(&small, &cx(100));
    near(old.window.cwnd, 14_000.0 + 1000.0 * 0.9 / 1.7 * 100.0, 1e-6);
}

/// Linux counts in whole segments, time in 1/1024 s, C as 410/1024, and K by an integer root (its table's
/// mean error is 0.195 %; here the floor of the root). Its curve against ours, for plateaus up to 1000
/// segments over twice K: half a segment's rounding each way and 0.4 % of the way to the plateau.
#[test]
fn linux_fixed_point_differs_by_less_than_a_segment_and_half_a_percent_of_the_swing() {
    let rules = rules();
    for plateau in [20_i64, 100, 1000] {
        let mut control = after_loss(&Settings::defaults(), plateau as u64, &rules);
        control.begin_epoch(&Cx { now: Time::ZERO, rules: &rules });
        let swing = plateau - plateau * 7 / 10;
        let cube = (swing << 40) / 410; // (1024 K)^3: K^3 = swing x 1024 / 410
        let k = (1..).take_while(|k| k * k * k <= cube).last().unwrap_or(0);
        for t in (0..2 * k).step_by(97) {
            let offset = t - k;
            let fixed = plateau + ((410 * offset * offset * offset) >> 40);
            let ours = control.w_cubic(t as f64 / 1024.0, 1000.0) / 1000.0;
            near(ours, fixed as f64, 1.0 + 0.005 * swing as f64);
        }
    }
}
