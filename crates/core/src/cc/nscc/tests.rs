//! The events of s.3.6.13.5 and 3.6.13.6 step by step, at 100 Gb/s and 12 us: a = 1, b = 0.75, 150 000 bytes, target 9 us.

use super::*;
use crate::cc::PathInfo;
use crate::cc::parts::window::tests::rules;
use crate::params::Params;
use shallows_units::Rate;

/// Segments of 936 bytes with 64 of headers: an MTU of 1000.
fn wire() -> crate::cc::WindowRules {
    crate::cc::WindowRules { mss: 936, overhead: 64, ..rules() }
}

fn started(change: impl FnOnce(&mut Settings)) -> Control {
    started_between((Rate::gbps(100), Rate::gbps(100)), change)
}

/// Between cards of these rates, the sender's first.
fn started_between((line_rate, peer_rate): (Rate, Rate), change: impl FnOnce(&mut Settings)) -> Control {
    let path = PathInfo { line_rate, peer_rate, switches: 1, base_rtt: Span::us(12) };
    let flow = FlowInfo { path, ..FlowInfo::default() };
    let mut settings = Settings::defaults();
    change(&mut settings);
    let rules = wire();
    Control::start(&settings, &flow, &Cx { now: Time::ZERO, rules: &rules })
}

/// The constants of the specification.
fn specified() -> Control {
    started(|_| {})
}

/// An acknowledgement of `new` bytes at `at` microseconds, `delay` microseconds beyond the base.
fn answer(control: &mut Control, at: f64, (new, delay, marked): (u64, f64, bool)) {
    let flight = (control.0.cwnd as i64) - new as i64;
    let sample = Some(Span::ps(((12.0 + delay) * 1e6) as u64));
    tell(control, at, Answer { new, marked, sample, flight, ..Answer::default() });
}

fn at(us: f64) -> Time {
    Time::ZERO + Span::ps((us * 1e6) as u64)
}

fn tell(control: &mut Control, us: f64, answer: Answer) {
    let rules = wire();
    control.on_answer(&answer, &Cx { now: at(us), rules: &rules });
}

fn trim(control: &mut Control, us: f64, counts: bool) {
    let rules = wire();
    let trim = Trim { bytes: 1000, sample: Some(Span::us(12)), flight: 40_000, counts };
    control.on_trim(&trim, &Cx { now: at(us), rules: &rules });
}

fn near(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-9 * want.abs().max(1.0), "{got} is not {want}");
}

/// P. 390: 1.5 bandwidth-delay products, and targets of three quarters of the round trip or all of it.
#[test]
fn the_first_window_is_the_most() {
    for (trimming, target) in [(true, Span::us(9)), (false, Span::us(12))] {
        let control = started(|s| s.trimming = trimming);
        assert_eq!((control.0.cwnd, control.0.max_wnd), (225_000.0, 225_000.0));
        assert_eq!(control.0.constants.target, target);
    }
    // A shorter round trip lowers the most, from the next adjustment on.
    let mut control = specified();
    answer(&mut control, 13.0, (1000, -6.0, false));
    assert_eq!((control.0.base_rtt, control.0.max_wnd), (Span::us(6), 112_500.0));
    near(control.0.cwnd, 112_500.0);
}

/// Table 3-82: the product has the lesser rate of sender and receiver; in uet it has the sender's.
#[test]
fn the_slower_card_bounds_the_window() {
    let (slow, fast) = (Rate::gbps(100), Rate::gbps(400));
    for (rates, uet) in [((fast, slow), 900_000.0), ((slow, fast), 225_000.0)] {
        assert_eq!(started_between(rates, |_| {}).0.max_wnd, 225_000.0);
        assert_eq!(started_between(rates, |s| s.reading = Reading::Uet).0.max_wnd, uet);
    }
}

/// The quadrant without mark, above the target: 5 a MTU in a round trip, whatever the window, and eta beside it.
#[test]
fn fair_increase_does_not_depend_on_the_window() {
    for window in [20_000.0, 40_000.0, 100_000.0] {
        let mut control = specified();
        control.0.cwnd = window;
        // All of a window, adjusted once, after a round trip.
        control.0.constants.adjust_bytes = u64::MAX;
        let packets = window as u64 / 1000;
        for packet in 0..packets {
            answer(&mut control, 12.0 * (packet + 1) as f64 / packets as f64, (1000, 9.0, false));
        }
        near(control.0.cwnd, window + 5.0 * 1000.0 + 0.15 * 1000.0);
    }
}

/// The quadrant without mark, below the target: 4 a b MTU (1 - delay / target) in a round trip.
#[test]
fn proportional_increase_is_linear_in_the_delay() {
    for delay in [1.0, 3.0, 6.0, 8.999] {
        let mut control = specified();
        control.0.cwnd = 40_000.0;
        control.0.constants.adjust_bytes = u64::MAX;
        control.0.constants.eta = 0.0;
        for packet in 0..40 {
            answer(&mut control, 12.0 * f64::from(packet + 1) / 40.0, (1000, delay, false));
        }
        near(control.0.cwnd, 40_000.0 + 4.0 * 0.75 * 1000.0 * (1.0 - delay / 9.0));
    }
}

/// Increases wait for more than eight packets, or for a base round trip, which adds 0.15 a MTU.
#[test]
fn increases_are_carried_out_together() {
    let mut control = specified();
    control.0.cwnd = 40_000.0;
    for packet in 0..8 {
        answer(&mut control, 1.0 + 0.1 * f64::from(packet), (1000, 9.0, false));
        near(control.0.cwnd, 40_000.0);
    }
    answer(&mut control, 2.0, (1000, 9.0, false));
    let grown = 40_000.0 + 5000.0 * 9000.0 / 40_000.0;
    near(control.0.cwnd, grown);
    answer(&mut control, 11.999, (1000, 9.0, false));
    near(control.0.cwnd, grown);
    answer(&mut control, 12.0, (1000, 9.0, false));
    near(control.0.cwnd, grown + 5000.0 * 2000.0 / grown + 150.0);
}

/// The quadrant with a mark, below the target: another path may mend it, and nothing happens.
#[test]
fn a_mark_with_little_delay_changes_nothing() {
    let mut control = specified();
    control.0.cwnd = 40_000.0;
    (0..8).for_each(|packet| answer(&mut control, f64::from(packet), (1000, 8.9, true)));
    assert_eq!((control.0.cwnd, control.0.inc_bytes), (40_000.0, 0.0));
}

/// The quadrant with a mark, above the target: by 0.8 of the mean's excess, half at most, once a round trip, to a packet at least.
#[test]
fn decrease_follows_the_mean_delay_once_a_round_trip() {
    let mut control = specified();
    control.0.cwnd = 40_000.0;
    control.0.constants.eta = 0.0;
    answer(&mut control, 11.0, (1000, 18.0, true));
    near(control.0.cwnd, 40_000.0); // none before a round trip has passed since the start
    answer(&mut control, 12.5, (1000, 10.0, true));
    let once = 40_000.0 * (1.0 - 0.8 * (14.0 - 9.0) / 14.0); // the mean of 18 and 10
    near(control.0.cwnd, once);
    answer(&mut control, 24.5, (1000, 10.0, true));
    near(control.0.cwnd, once);
    answer(&mut control, 24.6, (1000, 200.0, true));
    near(control.0.cwnd, once / 2.0);
    control.0.cwnd = 1100.0;
    answer(&mut control, 40.0, (1000, 200.0, true));
    near(control.0.cwnd, 1000.0);
    // The mean alone decides: a delay above the target among small ones does nothing.
    let mut control = specified();
    control.0.cwnd = 40_000.0;
    control.0.constants.eta = 0.0;
    control.0.constants.alpha = 0.0;
    (0..9).for_each(|packet| answer(&mut control, 12.1 + 0.1 * f64::from(packet), (100, 2.0, true)));
    answer(&mut control, 13.1, (100, 20.0, true));
    near(control.0.cwnd, 40_000.0);
}

/// An idle path: once more than a window has found it so, each byte adds a quarter, up to the most. A delay ends it.
#[test]
fn fast_increase_begins_after_an_idle_window() {
    let mut control = specified();
    control.0.cwnd = 10_000.0;
    control.0.constants.alpha = 0.0;
    control.0.constants.eta = 0.0;
    (0..10).for_each(|_| answer(&mut control, 1.0, (1000, 0.5, false)));
    near(control.0.cwnd, 10_000.0);
    answer(&mut control, 1.0, (1000, 0.5, false));
    near(control.0.cwnd, 10_250.0);
    answer(&mut control, 1.0, (1000, 0.5, false));
    near(control.0.cwnd, 10_500.0);
    answer(&mut control, 1.0, (1000, 1.0, false));
    answer(&mut control, 1.0, (1000, 0.5, false));
    near(control.0.cwnd, 10_500.0);
    control.0.increase_mode = true;
    (0..10_000).for_each(|_| answer(&mut control, 1.0, (1000, 0.5, false)));
    near(control.0.cwnd, 225_000.0);
}

/// Quick adapt, with its interval over: less than an eighth of the most must have been delivered.
#[test]
fn quick_adapt_takes_over_what_was_delivered() {
    let eighth = 225_000 / 8;
    for (delivered, adapts) in [(eighth - 1, true), (eighth, false)] {
        let mut control = specified();
        // The first answer begins an interval of 12 + 9 us.
        answer(&mut control, 0.0, (1000, 2.0, true));
        assert_eq!(control.0.qa_endtime, at(21.0));
        trim(&mut control, 5.0, true);
        let before = control.0.cwnd;
        near(before, 224_000.0);
        control.0.achieved_bytes = delivered - 1000;
        answer(&mut control, 21.0, (1000, 2.0, true));
        near(control.0.cwnd, if adapts { delivered as f64 } else { before + 150.0 });
        assert_eq!((control.0.achieved_bytes, control.0.qa_endtime), (0, at(42.0)));
    }
    // The simulator's interval is over after its end.
    let mut control = started(|s| s.reading = Reading::Uet);
    answer(&mut control, 0.0, (1000, 2.0, true));
    assert_eq!(control.0.qa_endtime, Time::ZERO);
    answer(&mut control, 0.1, (1000, 2.0, true));
    assert_eq!(control.0.qa_endtime, at(21.1));
}

/// By the specification delay alone never causes quick adapt with trimming; by the code four times the target does, and without
/// trimming by both.
#[test]
fn delay_causes_quick_adapt_as_the_reading_says() {
    for (reading, trimming, adapts) in [
        (Reading::Specification, true, false),
        (Reading::Specification, false, true),
        (Reading::Uet, true, true),
    ] {
        let mut control = started(|s| (s.reading, s.trimming) = (reading, trimming));
        answer(&mut control, 0.1, (1000, 2.0, true));
        answer(&mut control, 30.0, (1000, 48.1, false));
        let window = if adapts { 1000.0 } else { 225_000.0 };
        near(control.0.cwnd, window);
    }
}

/// After it, marked answers count for nothing until as much has come as was in flight.
#[test]
fn quick_adapt_ignores_what_was_under_way() {
    let mut control = specified();
    answer(&mut control, 0.0, (1000, 2.0, true));
    control.0.trigger_qa = true;
    let ack =
        Answer { new: 1000, marked: true, sample: Some(Span::us(14)), flight: 3000, ..Answer::default() };
    tell(&mut control, 21.0, ack);
    assert_eq!((control.0.cwnd, control.0.bytes_to_ignore), (1000.0, 3000));
    let deep = Answer { sample: Some(Span::us(40)), ..ack };
    for (now, acted) in [(34.0, true), (35.0, true), (36.0, false)] {
        control.0.received_bytes = 5;
        tell(&mut control, now, deep);
        assert_eq!(control.0.received_bytes == 0, acted || now == 36.0, "{now}");
        assert_eq!(control.0.bytes_ignored, (now as i64 - 33) * 1000);
    }
    // An unmarked one is looked at as any other.
    let mut control = specified();
    (control.0.bytes_to_ignore, control.0.cwnd) = (10_000, 10_000.0);
    answer(&mut control, 0.0, (1000, 9.0, false));
    assert!(control.0.inc_bytes > 0.0);
}

/// A penalty of 64 in each answer of a round trip halves the window; then it is given back.
#[test]
fn a_penalty_of_half_halves_the_window() {
    let mut control = specified();
    control.0.cwnd = 64_000.0;
    for _ in 0..64 {
        let flight = control.0.cwnd as i64;
        tell(
            &mut control,
            1.0,
            Answer { new: 1000, flight, penalty: 64, sample: Some(Span::us(14)), ..Answer::default() },
        );
    }
    near(control.0.cwnd, 32_000.0);
    assert_eq!(control.0.inc_bytes, 0.0, "nothing grows meanwhile");
    tell(&mut control, 1.0, Answer { restore: true, ..Answer::default() });
    near(control.0.cwnd, 64_000.0);
    // The flight bounds it first, and a packet is the least.
    tell(&mut control, 1.0, Answer { new: 1000, flight: 1200, penalty: 127, ..Answer::default() });
    near(control.0.cwnd, 1000.0);
}

/// A trimmed packet takes its bytes off, and the mean gets a base round trip. At the last hop beside credit of receivers it
/// does not trigger quick adapt.
#[test]
fn a_trimmed_packet_takes_its_bytes() {
    for counts in [true, false] {
        let mut control = specified();
        answer(&mut control, 0.0, (1000, 2.0, true));
        trim(&mut control, 5.0, counts);
        near(control.0.cwnd, 224_000.0);
        assert_eq!((control.0.trigger_qa, control.0.bytes_ignored), (counts, 2000));
        near(control.0.average.seconds(), 7e-6); // of 2 and 12 us
        // A loss counts for quick adapt whatever the trigger says.
        trim(&mut control, 22.0, counts);
        near(control.0.cwnd, 1000.0);
    }
    let mut control = specified();
    let rules = wire();
    control.on_lost_packet(1000, &Cx { now: at(3.0), rules: &rules });
    near(control.0.cwnd, 224_000.0);
    control.0.cwnd = 1500.0;
    control.on_lost_packet(1000, &Cx { now: at(3.0), rules: &rules });
    near(control.0.cwnd, 1000.0);
}

/// The simulator's average has a weight of 0.0125, and an unmarked delay above the target counts as a quarter of the round trip.
#[test]
fn the_simulators_average_is_weighted() {
    let mut control = started(|s| s.reading = Reading::Uet);
    answer(&mut control, 0.1, (1000, 40.0, true));
    near(control.0.average.seconds() * 1e6, 0.0125 * 40.0);
    answer(&mut control, 0.2, (1000, 10.0, false));
    near(control.0.average.seconds() * 1e6, 0.5 * 0.9875 + 0.0125 * 3.0);
    near(control.0.constants.fair, 5.0 * 936.0);
}

/// Without a sample an answer counts bytes alone.
#[test]
fn an_answer_without_a_sample_only_counts() {
    let mut control = specified();
    control.0.cwnd = 40_000.0;
    tell(&mut control, 30.0, Answer { new: 9000, marked: true, ..Answer::default() });
    assert_eq!(
        (control.0.received_bytes, control.0.achieved_bytes, control.0.bytes_ignored),
        (9000, 9000, 9000)
    );
    assert_eq!((control.0.cwnd, control.0.qa_endtime), (40_000.0, Time::ZERO));
}
