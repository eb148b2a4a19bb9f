//! tc's RED against its pseudocode and closed forms.

use super::tc::{eval_ewma, eval_idle_damping};
use super::*;
use crate::packet::Flags;
use crate::packet::tests::packet;
use crate::params::Params;
use crate::queue::tests::place;

/// The example of tc-red(8).
fn example() -> Settings {
    Settings {
        min: Some(Bytes(30_000)),
        max: Some(Bytes(90_000)),
        burst: Some(55),
        ecn: true,
        ..Settings::defaults()
    }
}

fn red(settings: &Settings) -> Red {
    *Discipline::new(settings, place()).0
}

fn waiting(bytes: u64) -> Backlog {
    Backlog { packets: 1 + bytes / 1000, bytes: bytes + 1000, serving: 1000, ..Backlog::default() }
}

fn fault(settings: Settings) -> String {
    let mut faults = Faults::default();
    settings.check("queue", &mut faults);
    faults.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn burst_gives_the_weight() {
    // The example: a = 55 + 1 - 30 = 26. (1 - (31/32)^55) 32 = 26.4 suffices; (1 - (15/16)^55) 16 = 15.5
    // does not.
    assert_eq!(eval_ewma(30_000, 55, 1000), Ok(5));
    // burst = min / avpkt: a = 1, and W = 1/2 suffices. Legal.
    assert_eq!(eval_ewma(40_000, 40, 1000), Ok(1));
    // a = 41: (1 - (1 - 2^-5)^80) 32 = 29.5 < 41 <= (1 - (1 - 2^-6)^80) 64 = 45.8.
    assert_eq!(eval_ewma(40_000, 80, 1000), Ok(6));
}

#[test]
fn what_is_not_given_follows_as_in_tc() {
    // limit / 4, a third of it, and (2 x 33333 + 100000) / 3000 = 55: a = 22.7 > 15.5.
    let message = Settings::defaults().message().unwrap();
    assert_eq!((message.min, message.max, message.w_log), (33_333, 100_000, 5));
    let message = Settings { min: Some(Bytes(10_000)), ..Settings::defaults() }.message().unwrap();
    assert_eq!(message.max, 30_000);
    assert_eq!(message.max_p, 85_899_345); // 0.02 x 2^32, cut
}

#[test]
fn the_idle_table_counts_ticks() {
    // 1000 B at 10 Mb/s take 800 us = 12500 ticks; -ln(31/32) = 0.0317487 a packet; the 31st halving, as
    // tc has it, at 31 x 12500 / 0.0317487 = 12205487 ticks: below 512 cells from 2^15 = 32768 on.
    let (scell_log, stab) = eval_idle_damping(5, 1000, Rate::mbps(10)).unwrap();
    assert_eq!(scell_log, 15);
    // Cell i holds i x 32768 x 0.0317487 / 12500 = 0.083227 i, cut.
    assert_eq!((stab[0], stab[12], stab[13], stab[24], stab[25]), (0, 0, 1, 1, 2));
    assert_eq!((stab[254], stab[255]), (21, 31));
    assert_eq!(stab.len(), 256);
}

#[test]
fn the_average_is_the_kernels_fixed_point() {
    let mut red = red(&example());
    let admit = |red: &mut Red, bytes| red.admit(&packet(1000), waiting(bytes), Time::ZERO);
    // avg' = avg + q - avg / 32, avg scaled by 32.
    admit(&mut red, 32_000);
    assert_eq!(red.average, 32_000);
    admit(&mut red, 32_000);
    assert_eq!(red.average, 32_000 + 32_000 - 1000);
    admit(&mut red, 0); // one in service, none waiting: not idle
    assert_eq!(red.average, 63_000 - 1968);
}

#[test]
fn idle_time_decays_by_line_and_then_by_table() {
    let mut red = red(&example());
    red.average = 1 << 20;
    assert_eq!(red.after_idle(Span::us(0)), 1 << 20);
    assert_eq!(red.after_idle(Span::us(8192)), (1 << 20) - (1 << 18)); // 8192 / 32768 of it
    assert_eq!(red.after_idle(Span::us(32_767)), 1 << 19); // never below a half by the line
    assert_eq!(red.after_idle(Span::us(13 << 15)), 1 << 19); // table: a shift by 1
    assert_eq!(red.after_idle(Span::us(25 << 15)), 1 << 18);
    assert_eq!(red.after_idle(Span::s(3600)), 0); // the last cell: a shift by 31
    let idle = Backlog { free_at: Time::ZERO + Span::ms(1), ..Backlog::default() };
    red.admit(&packet(1000), idle, Time::ZERO + Span::us(9192));
    assert_eq!(red.average, (1 << 20) - (1 << 18));
}

/// tbf_dequeue and HTB's classes look before they ask, so that red_dequeue never finds nothing: the average of
/// an empty queue falls with arrivals alone, by 1/32 each here.
#[test]
fn under_a_shaper_idle_time_never_begins() {
    let mut red = red(&Settings { shaped: true, ..example() });
    red.average = 1 << 20;
    let idle = Backlog { free_at: Time::ZERO + Span::ms(1), ..Backlog::default() };
    red.admit(&packet(1000), idle, Time::ZERO + Span::s(3600));
    assert_eq!(red.average, (1 << 20) - (1 << 15));
}

#[test]
fn marks_come_when_count_times_excess_reaches_the_random_number() {
    let mut red = red(&example());
    // slope = max_P / 60000 = 1431; random numbers up to 2^32 / 1431 = 3001374 = 60000 / 0.02.
    assert_eq!(red.slope, 1431);
    red.average = 60_000 << 5; // half-way: 30000 above min
    assert_eq!(red.act(), Action::Leave);
    assert_eq!(red.count, 0);
    red.drawn = 90_000;
    assert_eq!(red.act(), Action::Leave); // 1 x 30000 < 90000
    assert_eq!(red.act(), Action::Leave);
    assert_eq!(red.act(), Action::Chance); // 3 x 30000
    assert_eq!(red.count, 0);
    // Uniform: on average 2^32 / 1431 / 2 / 30000 = 50 packets from mark to mark, and half a one.
    let n = 400_000;
    let marks = (0..n).filter(|_| red.act() == Action::Chance).count();
    assert!((f64::from(n) / marks as f64 - 50.5).abs() < 1.5);
    red.average = 90_000 << 5;
    assert_eq!(red.act(), Action::Hard);
    red.average = (30_000 << 5) - 1;
    assert_eq!((red.act(), red.count), (Action::Leave, -1));
}

#[test]
fn flags_decide_between_mark_and_drop() {
    let mut plain = packet(1000);
    plain.flags = Flags::default();
    let fate = |settings: Settings, packet: &Packet| {
        let mut red = red(&settings);
        red.average = 100_000 << 5;
        red.admit(packet, waiting(100_000), Time::ZERO)
    };
    let drop = Verdict::Drop(DropWhy::Aqm);
    assert_eq!(fate(example(), &packet(1000)), Verdict::Mark);
    assert_eq!(fate(example(), &plain), drop);
    assert_eq!(fate(Settings { nodrop: true, ..example() }, &plain), Verdict::Pass);
    assert_eq!(fate(Settings { harddrop: true, ..example() }, &packet(1000)), drop);
    assert_eq!(fate(Settings { ecn: false, ..example() }, &packet(1000)), drop);
    let full = Settings { limit: Bytes(100_999), ..example() };
    assert_eq!(fate(full, &packet(1000)), Verdict::Drop(DropWhy::Full));
}

#[test]
fn max_p_adapts_every_half_second() {
    let settings = Settings { adaptative: true, ..example() };
    let mut red = red(&settings);
    // Targets: 30000 + 2 x 12000 and + 3 x 12000.
    assert_eq!(red.target, (54_000, 66_000));
    red.average = 70_000 << 5;
    let at = |ms| Time::ZERO + Span::ms(ms);
    red.adapt_until(at(499), None);
    assert_eq!(red.max_p, 85_899_345);
    red.adapt_until(at(500), None);
    assert_eq!(red.max_p, 85_899_345 + 21_474_836); // a quarter, less than 1 %
    assert_eq!(red.slope, 1790); // (107374181 + 30000) / 60000
    red.average = 60_000 << 5;
    red.adapt_until(at(1500), None); // on target, twice
    assert_eq!(red.max_p, 107_374_181);
    red.average = 50_000 << 5;
    red.adapt_until(at(2000), None);
    assert_eq!(red.max_p, 96_636_762); // 10737418 x 9
    // Idle since 2.1 s: at 2.5 s 400000 us >> 15 = cell 12 is 0, the line halves; below target anyway.
    red.average = 60_000 << 5;
    red.adapt_until(at(2500), Some(at(2100)));
    assert_eq!(red.max_p, 86_973_084); // 9663676 x 9
}

#[test]
fn tc_and_the_kernel_refuse_with_their_reasons() {
    assert_eq!(fault(Settings::defaults()), "");
    assert_eq!(fault(example()), "");
    assert_eq!(fault(Settings { burst: Some(30), ..example() }), ""); // burst = min / avpkt
    assert_eq!(
        fault(Settings { burst: Some(29), ..example() }),
        "queue.burst: must be >= min / avpkt, 30: tc (iproute2 6.1) fails to calculate the EWMA constant, got 29"
    );
    let same = Settings { max: Some(Bytes(30_000)), ..example() };
    assert_eq!(fault(same), "");
    let swapped = Settings { max: Some(Bytes(29_999)), ..example() };
    assert!(fault(swapped).starts_with("queue.max: must be >= min, 30000B: tc (iproute2 6.1) fails"));
    assert!(
        fault(Settings { probability: 1e-9, ..example() }).starts_with("queue.probability: must be more")
    );
    assert!(fault(Settings { ecn: false, nodrop: true, ..example() }).contains("red_validate_flags"));
    let large = Settings { max: Some(Bytes(1 << 26)), probability: 0.5, ..example() };
    assert!(fault(large).starts_with("queue.max: must be less than 2^26: Linux 6.1 refuses"));
    let slow = Settings { bandwidth: Rate::bps(8), avpkt: Bytes(1000), ..example() };
    assert!(fault(slow).starts_with("queue.bandwidth: is too low for avpkt: tc (iproute2 6.1) fails"));
}

#[test]
fn rates_beyond_tcs_microseconds_give_an_empty_table() {
    // 1000 B at 100 Gb/s take less than 1 us, so 0 ticks: tc divides by 0 and the table
    // is 0 but for its end.
    let (scell_log, stab) = eval_idle_damping(5, 1000, Rate::gbps(100)).unwrap();
    assert_eq!(scell_log, 0);
    assert!(stab[..255].iter().all(|cell| *cell == 0) && stab[255] == 31);
}
