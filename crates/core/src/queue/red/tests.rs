//! RED against its pseudocode and closed forms.

use super::*;
use crate::packet::Flags;
use crate::packet::tests::packet;
use crate::params::Params;
use crate::queue::tests::place;
use shallows_units::Span;

fn settings(min: u64, max: u64) -> Settings {
    Settings { limit: None, min: Size::Packets(min), max: Size::Packets(max), ..Settings::defaults() }
}

fn standing(packets: u64) -> Backlog {
    Backlog { packets, bytes: packets * 1500, serving: 1500.min(packets * 1500), ..Backlog::default() }
}

fn red(settings: &Settings) -> Red {
    *Discipline::new(settings, place()).0
}

/// RED whose average stands at `packets` and stays there.
fn steady(settings: &Settings, packets: u64) -> Red {
    let mut red = red(&Settings { w_q: 1.0, ..settings.clone() });
    red.take_average(standing(packets), Time::ZERO);
    red
}

/// Packets from one mark to the next, for `marks` marks at an average of `packets`.
fn gaps(settings: &Settings, packets: u64, marks: usize) -> Vec<u64> {
    let mut red = steady(settings, packets);
    let (mut all, mut gap) = (vec![], 0);
    while all.len() <= marks {
        gap += 1;
        if red.admit(&packet(1500), standing(packets), Time::ZERO) == Verdict::Mark {
            all.push(gap);
            gap = 0;
        }
    }
    all.split_off(1) // the first began below min, with a count of its own
}

#[test]
fn a_burst_of_l_packets_gives_the_papers_average() {
    // Floyd and Jacobson 1993 eq. (2): avg_L = L + 1 + ((1 - w)^(L + 1) - 1) / w; s.6: with
    // min_th = 5, L = 50 the weight must be below 0.0042.
    let mut red = red(&Settings { w_q: 0.0042, ..settings(5, 15) });
    for i in 1..=50 {
        red.take_average(standing(i), Time::ZERO);
    }
    let closed = 51.0 + (libm::pow(1.0 - 0.0042, 51.0) - 1.0) / 0.0042;
    assert!((red.average - closed).abs() < 1e-9, "{} {closed}", red.average);
    assert!((red.average - 5.0).abs() < 0.02);
}

#[test]
fn an_idle_time_of_m_packets_decays_the_average_m_times() {
    let mut red = red(&settings(5, 15));
    red.average = 10.0;
    // 1500 B at 10 Gb/s take 1.2 us; idle from 8 us to 128 us is 100 packets.
    let idle = Backlog { free_at: Time::ZERO + Span::us(8), ..Backlog::default() };
    red.take_average(idle, Time::ZERO + Span::us(128));
    assert!((red.average - 10.0 * libm::pow(0.998, 100.0)).abs() < 1e-12);
    // A second arrival at once, the first having been dropped: no more decay.
    red.take_average(idle, Time::ZERO + Span::us(128));
    assert!((red.average - 10.0 * libm::pow(0.998, 100.0)).abs() < 1e-12);
}

#[test]
fn the_probability_is_the_papers_line_and_the_gentle_one() {
    let p = |gentle, packets| steady(&Settings { gentle, ..settings(10, 30) }, packets).probability();
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    near(p(true, 9), 0.0);
    near(p(true, 10), 0.0);
    near(p(true, 20), 0.05);
    near(p(true, 30), 0.1);
    near(p(true, 45), 0.55);
    near(p(true, 60), 1.0);
    near(p(false, 29), 0.095);
    near(p(false, 30), 1.0);
}

#[test]
fn gaps_between_marks_are_uniform_or_geometric_as_the_paper_says() {
    // p_b = 0.05: uniform on 1..19 (fig. 2), mean 10, variance (19^2 - 1) / 12 = 30.
    let n = 20_000;
    let base = settings(10, 30);
    let mean = |gaps: &[u64]| gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    let uniform = gaps(&base, 20, n);
    assert!(uniform.iter().all(|gap| (1..=19).contains(gap)));
    assert!((mean(&uniform) - 10.0).abs() < 4.0 * (30.0 / n as f64).sqrt());
    let each = |k: u64| uniform.iter().filter(|gap| **gap == k).count() as f64;
    for k in 1..=19 {
        // Binomial(n, 1/19): five standard deviations of 32.
        assert!((each(k) - 1053.0).abs() < 160.0, "{k}: {}", each(k));
    }
    // ns-2's wait_: 1/p later.
    let wait = gaps(&Settings { spacing: Spacing::Wait, ..base.clone() }, 20, n);
    assert!(wait.iter().all(|gap| (20..=39).contains(gap)));
    // Geometric: mean 20, standard deviation 19.5.
    let geometric = gaps(&Settings { spacing: Spacing::Independent, ..base }, 20, n);
    assert!((mean(&geometric) - 20.0).abs() < 4.0 * 19.5 / (n as f64).sqrt());
}

#[test]
fn small_packets_are_spared_by_size() {
    // p_b = 0.05 x 500 / 1500: gaps uniform on 1..59, mean 30.
    let settings = Settings { by_size: true, ..settings(10, 30) };
    let mut red = steady(&settings, 20);
    let n = 300_000;
    let marks = (0..n).filter(|_| red.admit(&packet(500), standing(20), Time::ZERO) == Verdict::Mark);
    let gap = f64::from(n) / marks.count() as f64;
    assert!((gap - 30.0).abs() < 0.7, "{gap}");
}

// req: RFC3168 s5 SHOULD mark-instead-of-drop
#[test]
fn packets_without_ect_are_dropped_and_the_rest_marked() {
    let mut plain = packet(1500);
    plain.flags = Flags::default();
    let fate = |settings: &Settings, packet: &Packet, packets| {
        steady(settings, packets).admit(packet, standing(packets), Time::ZERO)
    };
    let base = settings(10, 30);
    assert_eq!(fate(&base, &packet(1500), 60), Verdict::Mark);
    assert_eq!(fate(&base, &plain, 60), Verdict::Drop(DropWhy::Aqm));
    let hard = Settings { hard_drop: true, ..base.clone() };
    assert_eq!(fate(&hard, &packet(1500), 60), Verdict::Drop(DropWhy::Aqm));
    let without = Settings { ecn: false, ..base.clone() };
    assert_eq!(fate(&without, &packet(1500), 60), Verdict::Drop(DropWhy::Aqm));
    let full = Settings { limit: Some(Size::Packets(60)), ..base };
    assert_eq!(fate(&full, &packet(1500), 60), Verdict::Drop(DropWhy::Full));
}

/// Drops of `n` arrivals at a queue that is never served, as ns-3's red-queue-disc test has them.
fn drops(settings: &Settings, n: u64) -> usize {
    let mut red = red(&Settings { ecn: false, ..settings.clone() });
    let mut queue = 0;
    (0..n)
        .filter(|_| match red.admit(&packet(500), standing(queue), Time::ZERO) {
            Verdict::Drop(_) => true,
            _ => {
                queue += 1;
                false
            }
        })
        .count()
}

#[test]
fn ns3s_assertions_hold() {
    let max_p = 1.0 / 50.0;
    let base = Settings { limit: Some(Size::Packets(300)), max_p, ..settings(70, 150) };
    let base = Settings { spacing: Spacing::Wait, ..base };
    assert_eq!(drops(&base, 300), 0);
    let quick = Settings { w_q: 0.02, ..base };
    let few = drops(&quick, 300);
    assert!(few > 0);
    assert!(drops(&Settings { max: Size::Packets(100), ..quick.clone() }, 300) > few);
    assert!(drops(&Settings { max_p: 0.2, ..quick.clone() }, 300) > few);
    assert!(drops(&Settings { gentle: false, ..quick.clone() }, 300) > few);
    assert!(drops(&Settings { spacing: Spacing::Uniform, ..quick }, 300) > few);
}

#[test]
fn thresholds_in_the_wrong_order_or_unit_are_refused() {
    let fault = |settings: Settings| {
        let mut faults = Faults::default();
        settings.check("queue", &mut faults);
        faults.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(fault(settings(5, 15)), "");
    assert_eq!(fault(settings(15, 5)), "queue.max: must be above min, 15pkt, got \"5pkt\"");
    let mixed = Settings { max: Size::Bytes(Bytes(9000)), ..settings(5, 15) };
    assert_eq!(fault(mixed), "queue.max: must be in the unit of min, 5pkt, got \"9KB\"");
    let small = Settings { limit: Some(Size::Packets(5)), ..settings(5, 15) };
    assert!(fault(small).starts_with("queue.min: must be below the limit of 5pkt"));
}

/// ns-2 red.cc initialize_params since 2001: at 1 Gb/s with packets of 500 bytes ptc = 250 000 a second, 5 ms of them are
/// 1250, half is 625; th_max three times that. At 1 Mb/s 5 ms are 1.25 packets, and 5 is the least.
#[test]
fn thresholds_of_nought_follow_from_the_rate() {
    let automatic = Settings { mean_packet: Bytes(500), ..settings(0, 0) };
    assert_eq!(automatic.thresholds(Rate::gbps(1)), (625.0, 1875.0));
    assert_eq!(automatic.thresholds(Rate::mbps(1)), (5.0, 15.0));
    let in_bytes = Settings { min: Size::Bytes(Bytes(0)), max: Size::Bytes(Bytes(0)), ..automatic };
    assert_eq!(in_bytes.thresholds(Rate::gbps(1)), (312_500.0, 937_500.0));
    assert_eq!(settings(7, 0).thresholds(Rate::gbps(1)), (7.0, 21.0));
    let mut faults = Faults::default();
    settings(0, 9).check("queue", &mut faults);
    assert_eq!(faults.0.len(), 1);
}
