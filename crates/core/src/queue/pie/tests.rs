//! PIE against its pseudocode and closed forms.

use super::*;
use crate::packet::Flags;
use crate::packet::tests::packet;
use crate::params::Params;
use crate::queue::test_bench::{Seen, conforms, drive, load};
use shallows_units::Rate;

fn discipline(settings: &Settings) -> Discipline {
    Discipline::new(
        settings,
        Place { rate: Rate::mbps(40), last_hop: false, random: Stream::new(7, "queue", 0) },
    )
}

fn near(x: f64, y: f64) {
    assert!((x - y).abs() < 1e-15, "{x} is not {y}");
}

#[test]
fn the_steps_are_those_computed_by_hand() {
    let mut disc = discipline(&Settings::defaults());
    disc.delay = 0.025;
    disc.update(); // (0.125 x 0.010 + 1.25 x 0.025) / 2048
    near(disc.p, 0.0325 / 2048.0);
    disc.update(); // at 1.6e-5: + 0.125 x 0.010 / 128
    near(disc.p, 0.0325 / 2048.0 + 0.00125 / 128.0);
    // The scale at each decade: 15 ms more than before, at the target's 15 ms, is 1.25 x 0.015.
    let scales = [(5e-7, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0)];
    for (p, scale) in scales {
        (disc.p, disc.delay, disc.before) = (p, 0.015, 0.0);
        disc.update();
        near(disc.p, p + 0.01875 / scale);
    }
    (disc.p, disc.delay, disc.before) = (0.1, 0.035, 0.015);
    disc.update(); // 0.125 x 0.020 + 1.25 x 0.020 = 0.0275, capped
    near(disc.p, 0.12);
    let mut uncapped = discipline(&Settings { cap_adjustment: false, ..Settings::defaults() });
    (uncapped.p, uncapped.delay, uncapped.before) = (0.1, 0.035, 0.015);
    uncapped.update();
    near(uncapped.p, 0.1275);
}

#[test]
fn without_delay_the_probability_decays() {
    let mut disc = discipline(&Settings::defaults());
    disc.p = 0.5;
    disc.update();
    near(disc.p, (0.5 - 0.125 * 0.015) * 0.98);
    disc.catch_up(Time::ZERO + Span::s(1000));
    assert_eq!(disc.p, 0.0);
    assert!(disc.next > Time::ZERO + Span::s(1000));
    assert_eq!(disc.next.as_ps() % Span::ms(15).as_ps(), 0);
}

#[test]
fn catching_up_late_equals_updating_in_time() {
    let (mut late, mut timely) = (discipline(&Settings::defaults()), discipline(&Settings::defaults()));
    (late.delay, timely.delay) = (0.040, 0.040);
    late.catch_up(Time::ZERO + Span::ms(300));
    (0..20).for_each(|_| timely.update());
    assert_eq!((late.p, late.before, late.burst), (timely.p, timely.before, timely.burst));
}

fn overload(settings: &Settings, flags: Flags, over: f64) -> Seen {
    let rate = Rate::mbps(40);
    drive(&mut discipline(settings), rate, load(&[flags], over, rate, 100_000))
}

// req: RFC8033 s4.4 SHOULD burst
#[test]
fn a_burst_shorter_than_the_allowance_loses_nothing() {
    let rate = Rate::mbps(40);
    let settings = Settings { limit: None, ..Settings::defaults() };
    let mut disc = discipline(&settings);
    let seen = drive(&mut disc, rate, load(&[Flags::default()], 5.0, rate, 2400)); // 144 ms
    assert!(seen.dropped.is_empty());
    let none = Settings { max_burst: Span::ZERO, ..settings };
    let seen = drive(&mut discipline(&none), rate, load(&[Flags::default()], 5.0, rate, 2400));
    assert!(seen.drops(0) > 0);
}

// req: RFC8033 s4.2 SHOULD target
#[test]
fn an_overload_is_held_at_the_target() {
    for derandomise in [false, true] {
        let latency = if derandomise { Latency::DepartureRate } else { Latency::Timestamps };
        let settings = Settings { derandomise, latency, ..Settings::defaults() };
        let seen = overload(&settings, Flags::default(), 1.2);
        assert!((seen.drops(0) as f64 / 1e5 - 1.0 / 6.0).abs() < 0.01, "{}", seen.drops(0));
        let late: Vec<_> = seen.out.iter().filter(|(_, at)| *at > Time::ZERO + Span::s(10)).collect();
        let mean = late.iter().map(|(p, at)| (*at - p.at).as_secs_f64()).sum::<f64>() / late.len() as f64;
        assert!((mean - 0.015).abs() < 0.002, "{mean}");
    }
}

/// RFC 8033 s.5.1: below a probability of 0.1 an ECN-capable packet is marked, from there on it is dropped.
// req: RFC8033 s5.1 SHOULD mark-threshold
#[test]
fn a_packet_is_marked_below_a_tenth() {
    let fates = |p: f64| {
        let mut disc = discipline(&Settings { max_burst: Span::ZERO, ..Settings::defaults() });
        let mut dropped = vec![];
        let mut cx = QueueCx::new(Time::ZERO, 1500, Time::ZERO, &mut dropped);
        (0..10).for_each(|_| disc.held.push(packet(1500)));
        for _ in 0..200 {
            (disc.p, disc.before, disc.delay, disc.burst) = (p, 0.030, 0.030, Span::ZERO);
            disc.enqueue(packet(1500), &mut cx);
        }
        (cx.marked() > 0, dropped.is_empty())
    };
    assert_eq!([fates(0.0999), fates(0.1)], [(true, true), (false, false)]);
}

#[test]
fn above_the_threshold_ecn_does_not_save_a_packet() {
    let seen = overload(&Settings::defaults(), Flags::ECT0, 1.2);
    assert!(seen.marks(0) > 0 && seen.drops(0) > 0);
    let deaf = overload(&Settings { mark_ecnth: 0.0, ..Settings::defaults() }, Flags::ECT0, 1.2);
    assert!(deaf.marks(0) == 0 && deaf.drops(0) > 0);
}

/// Distances between drops at a probability of 0.05.
fn gaps(derandomise: bool) -> Vec<u32> {
    let mut disc = discipline(&Settings { derandomise, ..Settings::defaults() });
    (0..10).for_each(|_| disc.held.push(packet(1500)));
    (disc.p, disc.before) = (0.05, 0.030);
    let (mut gaps, mut gap) = (vec![], 0);
    for _ in 0..200_000 {
        gap += 1;
        if disc.drop_early() {
            disc.accumulated = 0.0;
            gaps.push(std::mem::take(&mut gap));
        }
    }
    gaps
}

#[test]
fn derandomised_drops_keep_their_distance() {
    assert!(gaps(false).contains(&1));
    let gaps = gaps(true);
    assert!(gaps.iter().all(|gap| (17..=171).contains(gap))); // 0.85 / 0.05, 8.5 / 0.05
    let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
    assert!((mean - 36.0).abs() < 1.0, "{mean}"); // 16 spared, then 20 on average
}

#[test]
fn it_keeps_the_rules() {
    for derandomise in [false, true] {
        let limit = Some(Size::Packets(100));
        let latency = if derandomise { Latency::DepartureRate } else { Latency::Timestamps };
        let active_from = derandomise.then_some(1.0 / 3.0);
        let settings = Settings { derandomise, limit, latency, active_from, ..Settings::defaults() };
        conforms(|_| Box::new(discipline(&settings)), 100);
    }
}

#[test]
fn below_its_share_of_the_limit_it_sleeps() {
    let limit = Some(Size::Packets(300));
    let asleep =
        Settings { limit, active_from: Some(1.0 / 3.0), max_burst: Span::ZERO, ..Settings::defaults() };
    let rate = Rate::mbps(40);
    // 97 packets wait behind the one being transmitted: 29.1 ms, twice the target, for as long as it lasts.
    let standing = |settings: &Settings| {
        let mut arrivals = load(&[Flags::default()], 1e6, rate, 98);
        let steady = load(&[Flags::default()], 1.0, rate, 20_000).into_iter();
        arrivals.extend(steady.map(|(at, p)| (at + Span::us(1), Packet { seq: p.seq + 98, ..p })));
        drive(&mut discipline(settings), rate, arrivals).drops(0)
    };
    assert_eq!(standing(&asleep), 0);
    assert!(standing(&Settings { active_from: None, ..asleep.clone() }) > 0);
    assert!(standing(&Settings { active_from: Some(0.3), ..asleep }) > 0);
}

#[test]
fn a_share_of_no_limit_is_refused() {
    let mut faults = Faults::default();
    Settings { limit: None, active_from: Some(0.3), ..Settings::defaults() }.check("queue", &mut faults);
    assert_eq!(faults.0.len(), 1);
    assert!(faults.0[0].to_string().starts_with("queue.active_from: is a share of the limit"));
}
