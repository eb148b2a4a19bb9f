use super::*;
use crate::cc::parts::window::tests::{echo, rules};
use crate::params::Params;

fn at(us: u64) -> Time {
    Time::ZERO + Span::us(us)
}

fn started(settings: &Settings) -> Control {
    let rules = rules();
    Control::start(settings, &FlowInfo::default(), &Cx { now: Time::ZERO, rules: &rules })
}

/// An acknowledgement at `us`, marked or not, when `sent` bytes have been sent.
fn receive(control: &mut Control, us: u64, marked: bool, sent: u64) {
    let rules = rules();
    control.on_ack(&Ack { sent, ..echo(1000, marked) }, &Cx { now: at(us), rules: &rules });
}

fn gbps(control: &Control) -> f64 {
    control.own.bps() / 1e9
}

/// Zhu 2016: the first cut halves, alpha being 1. Marks within 50 us make no second one.
#[test]
fn notifications_are_spaced_and_each_cuts_by_half_of_alpha() {
    let mut control = started(&Settings::defaults());
    assert_eq!(gbps(&control), 10.0);
    receive(&mut control, 0, true, 0);
    assert_eq!(gbps(&control), 5.0);
    receive(&mut control, 49, true, 0);
    assert_eq!(gbps(&control), 5.0);
    receive(&mut control, 50, true, 0);
    assert_eq!(gbps(&control), 2.5); // (1 - 1/256) x 1 + 1/256 is 1
    assert_eq!(control.reaction.target, 5e9);
}

/// tau' = 55 us: without a notification alpha is (255/256)^n after n periods.
#[test]
fn alpha_shrinks_by_g_each_period_without_a_notification() {
    let mut control = started(&Settings::defaults());
    receive(&mut control, 0, true, 0);
    receive(&mut control, 55 * 20, false, 0);
    let want = (0..20).fold(1.0, |alpha, _| alpha * 255.0 / 256.0);
    assert!((control.reaction.alpha - want).abs() < 1e-12);
}

/// F = 5 rounds by the timer of 55 us: half of the way to the target each; then 40 Mb/s a round. The byte counter
/// stands still, so that no hyper step is made.
#[test]
fn five_rounds_of_fast_recovery_come_before_additive_steps() {
    let mut control = started(&Settings::defaults());
    receive(&mut control, 0, true, 0);
    let mut rate = 5.0;
    for round in 1..=5 {
        receive(&mut control, 55 * round, false, 0);
        rate = f64::midpoint(rate, 10.0);
        assert!((gbps(&control) - rate).abs() < 1e-9, "round {round}");
    }
    control.reaction.target = 5e9;
    receive(&mut control, 55 * 6, false, 0);
    assert_eq!(control.reaction.target, 5.04e9);
    receive(&mut control, 55 * 12, false, 0);
    assert!((control.reaction.target - 5.28e9).abs() < 1.0);
}

/// Both counters beyond F: i x R_HAI, i = 1, 2, ...
#[test]
fn hyper_steps_begin_when_both_counters_have_passed_f() {
    let settings = Settings { increase_bytes: Some(Bytes(1000)), ..Settings::defaults() };
    let mut control = started(&settings);
    receive(&mut control, 0, true, 0);
    receive(&mut control, 55 * 6, false, 0); // six rounds by time: one additive step, then
    control.reaction.target = 1e9;
    receive(&mut control, 55 * 6, false, 5000); // five by data: additive, since one counter has passed F
    assert!((control.reaction.target - 1.2e9).abs() < 1.0, "{}", control.reaction.target);
    receive(&mut control, 55 * 6, false, 6000); // the sixth: both have
    assert!((control.reaction.target - 1.4e9).abs() < 1.0, "{}", control.reaction.target);
}

/// rdma-hw.cc: alpha 1 and no cut at the first notification, a cut 4 us later, looks each 4 us, R_AI of 5 Mb/s at
/// 25 Gb/s, one additive step after one round of fast recovery.
#[test]
fn the_vendors_constants_and_order() {
    let mut control = started(&Settings { parameters: Set::Vendor, ..Settings::defaults() });
    receive(&mut control, 100, true, 0);
    assert_eq!(gbps(&control), 10.0);
    receive(&mut control, 103, false, 0);
    assert_eq!(gbps(&control), 10.0);
    receive(&mut control, 104, false, 0);
    let alpha = (0..4).fold(1.0, |alpha, _| alpha * 255.0 / 256.0);
    assert!((gbps(&control) - 10.0 * (1.0 - alpha / 2.0)).abs() < 1e-9);
    receive(&mut control, 107, true, 0);
    assert_eq!(control.reaction.cut_at, at(108));
    let before = gbps(&control);
    receive(&mut control, 108, false, 0);
    assert!(gbps(&control) < before);
    // No timer has fired since the first cut: the target stays at the line rate.
    assert_eq!(control.reaction.target, 10e9);
    control.reaction.target = 4e9;
    receive(&mut control, 108 + 300, false, 0);
    assert_eq!(control.reaction.target, 4e9);
    receive(&mut control, 108 + 600, false, 0);
    assert_eq!(control.reaction.target, 4.002e9);
    receive(&mut control, 108 + 900, false, 0);
    assert_eq!(control.reaction.target, 4.022e9);
}

/// A silence of an hour costs no more than a moment.
#[test]
fn a_long_silence_is_worked_off_and_ends_at_the_line_rate() {
    for parameters in Set::ALL {
        let mut control = started(&Settings { parameters, ..Settings::defaults() });
        receive(&mut control, 0, true, 0);
        receive(&mut control, 60, true, 0);
        receive(&mut control, 3_600_000_000, false, 0);
        assert_eq!(gbps(&control), 10.0);
        assert_eq!((control.reaction.alpha, control.reaction.rests), (0.0, true));
    }
}

/// Over RoCEv2 the receiver spaces the notifications, and the paper's set cuts at each. Before a packet leaves, and without
/// notifications, the timer of 55 us brings the rate half of the way back.
#[test]
fn over_queue_pairs_each_notification_cuts_and_the_clock_alone_raises() {
    let rules = rules();
    let cx = |us: u64| Cx { now: at(us), rules: &rules };
    let mut control = started(&Settings::defaults());
    control.keep_time(0, &cx(10));
    assert_eq!(gbps(&control), 10.0);
    control.on_cnp(&cx(20));
    control.on_cnp(&cx(21));
    assert_eq!(gbps(&control), 2.5);
    assert_eq!(control.reaction.target, 5e9);
    for (us, rate) in [(75, 2.5), (76, 3.75), (130, 3.75), (131, 4.375)] {
        control.keep_time(0, &cx(us));
        assert_eq!(gbps(&control), rate, "{us}");
    }
    // By data: the byte counter of 10 MB counts what was sent since the cut.
    control.on_cnp(&cx(132));
    let cut = gbps(&control);
    control.keep_time(9_999_999, &cx(133));
    assert_eq!(gbps(&control), cut);
    control.keep_time(10_000_000, &cx(134));
    assert_eq!(gbps(&control), f64::midpoint(cut, 4.375));
}

/// Cards' set: the first notification cuts nothing, and the look 4 us later cuts once for all that came since.
#[test]
fn over_queue_pairs_the_vendors_set_looks_by_its_clock() {
    let rules = rules();
    let cx = |us: u64| Cx { now: at(us), rules: &rules };
    let mut control = started(&Settings { parameters: Set::Vendor, ..Settings::defaults() });
    for us in [100, 101, 102, 103] {
        control.on_cnp(&cx(us));
        assert_eq!(gbps(&control), 10.0);
    }
    control.keep_time(0, &cx(104));
    let halved = gbps(&control);
    assert!((5.0..5.1).contains(&halved), "{halved}");
    control.keep_time(0, &cx(200));
    assert_eq!(gbps(&control), halved, "no notification since");
    control.on_cnp(&cx(201));
    control.keep_time(0, &cx(203));
    assert_eq!(gbps(&control), halved);
    control.keep_time(0, &cx(204));
    assert!(gbps(&control) < halved);
}

/// 20 ms without a notification leave (255/256)^20000 = 1e-34 of alpha. The clock of 1 us goes on: the next tick brings alpha to g,
/// and the look of the 4 us' clock cuts by g / 2.
#[test]
fn the_vendors_alpha_wakes_after_a_long_silence() {
    let rules = rules();
    let cx = |ns: u64| Cx { now: Time::ZERO + Span::ns(ns), rules: &rules };
    let mut control = started(&Settings { parameters: Set::Vendor, ..Settings::defaults() });
    control.on_cnp(&cx(100_000));
    control.keep_time(0, &cx(20_100_000));
    assert_eq!((control.reaction.alpha, gbps(&control)), (0.0, 10.0));
    control.on_cnp(&cx(20_101_300));
    control.keep_time(0, &cx(20_101_999));
    assert_eq!(control.reaction.alpha, 0.0, "the clock strikes at whole microseconds");
    control.keep_time(0, &cx(20_104_000));
    let kept = 255.0 / 256.0;
    let alpha = (1.0 / 256.0) * kept * kept;
    assert!((control.reaction.alpha - alpha).abs() < 1e-12, "{}", control.reaction.alpha);
    assert!((gbps(&control) - 10.0 * (1.0 - alpha / 2.0)).abs() < 1e-9, "{}", gbps(&control));
}
