//! The rules step by step.

use super::*;
use shallows_units::Span;

fn choice(entropy: Entropy, values: u32) -> AnyChoice {
    AnyChoice::new(&Values { rule: entropy, count: values, denied: [].into() }, (7, 3))
}

fn draw(choice: &mut AnyChoice, count: usize) -> Vec<u32> {
    (0..count).map(|_| choice.next(1000, Time::ZERO)).collect()
}

fn sorted(mut values: Vec<u32>) -> Vec<u32> {
    values.sort_unstable();
    values
}

/// Each value once a round, and another order in the next.
#[test]
fn oblivious_takes_each_value_once_a_round() {
    let mut rule = choice(Entropy::Oblivious, 64);
    let rounds: Vec<Vec<u32>> = (0..4).map(|_| draw(&mut rule, 64)).collect();
    for round in &rounds {
        assert_eq!(sorted(round.clone()), (0..64).collect::<Vec<_>>());
    }
    assert!(rounds.windows(2).any(|pair| pair[0] != pair[1]));
    assert_eq!(draw(&mut choice(Entropy::Single, 64), 5), [0; 5]);
}

/// A mark passes a value over once, a trimmed packet four times, a timeout fifteen times; penalties do not exceed that.
#[test]
fn bitmap_passes_over_what_met_congestion() {
    for (met, rounds) in [(Met::Nothing, 0), (Met::Mark, 1), (Met::Trim, 4), (Met::Timeout, 15)] {
        for repeated in [1, 20] {
            let mut rule = choice(Entropy::Bitmap, 1);
            (0..repeated).for_each(|_| rule.on_feedback(0, met, Time::ZERO));
            let Rule::Bitmap(rule) = &mut rule.0.0 else { unreachable!() };
            let mut random = Stream::new(1, "entropy", 0);
            let penalty = (rounds * repeated).min(15);
            // With one value there is none to turn to: it is taken all the same, and loses 1 each time.
            for left in (0..penalty).rev() {
                assert_eq!(rule.next(1, Time::ZERO, &mut random), 0);
                assert!(format!("{rule:?}").contains(&format!("penalties: [{left}]")), "{rule:?}");
            }
        }
    }
    let mut rule = choice(Entropy::Bitmap, 8);
    rule.on_feedback(5, Met::Trim, Time::ZERO);
    // Seven values a round while it is passed over, four times. It loses nothing where it ends a round and begins the next.
    let seen = draw(&mut rule, 7 * 8 + 8);
    assert!(!seen[..28].contains(&5) && seen[28..].contains(&5), "{seen:?}");
}

/// Values that met nothing come again in their order, each once; the ninth overwrites the first.
#[test]
fn reps_takes_the_oldest_fresh_value() {
    let mut rule = choice(Entropy::Reps, 1 << 16);
    (1..=3).for_each(|value| rule.on_feedback(value, Met::Nothing, Time::ZERO));
    rule.on_feedback(99, Met::Mark, Time::ZERO);
    assert_eq!(draw(&mut rule, 3), [1, 2, 3]);
    assert!(!draw(&mut rule, 8).iter().any(|value| (1..=3).contains(value) || *value == 99));
    (11..=19).for_each(|value| rule.on_feedback(value, Met::Nothing, Time::ZERO));
    assert_eq!(draw(&mut rule, 8), (12..=19).collect::<Vec<_>>());
}

/// A timeout freezes: the known values come in turn for 10 ms, then sixteen random ones, then recycling begins anew.
#[test]
fn reps_freezes_after_a_timeout() {
    let mut rule = choice(Entropy::RepsFreezing, 1 << 16);
    (1..=3).for_each(|value| rule.on_feedback(value, Met::Nothing, Time::ZERO));
    assert_eq!(draw(&mut rule, 3), [1, 2, 3]);
    rule.on_feedback(50, Met::Timeout, Time::ZERO);
    rule.on_feedback(77, Met::Nothing, Time::ZERO);
    assert_eq!(draw(&mut rule, 7), [1, 2, 3, 1, 2, 3, 1]);
    let later = Time::ZERO + Span::ms(10);
    rule.on_feedback(78, Met::Nothing, later);
    let random: Vec<u32> = (0..16).map(|_| rule.next(1, later)).collect();
    assert!(!random.iter().any(|value| [1, 2, 3, 77, 78].contains(value)));
    rule.on_feedback(5, Met::Nothing, later);
    assert_eq!(rule.next(1, later), 5);
}

/// buffer_reps.cpp, `explore_counter`: after a freeze sixteen packets take random values though others are known to work, and a timeout
/// among them freezes nothing. Values that came back meanwhile are used afterwards. A freeze lasts for 10 ms from its first timeout on.
#[test]
fn reps_explores_after_a_freeze_whatever_comes_back() {
    let mut rule = choice(Entropy::RepsFreezing, 1 << 16);
    rule.on_feedback(1, Met::Nothing, Time::ZERO);
    let over = Time::ZERO + Span::ms(10);
    [Time::ZERO, over - Span::ps(1)].iter().for_each(|now| rule.on_feedback(1, Met::Timeout, *now));
    assert_eq!(rule.next(1, over - Span::ps(1)), 1);
    let mut random = vec![rule.next(1, over)];
    (11..=14).for_each(|value| rule.on_feedback(value, Met::Nothing, over));
    rule.on_feedback(50, Met::Timeout, over);
    random.extend((1..16).map(|_| rule.next(1, over)));
    assert!(!random.iter().any(|value| [1, 11, 12, 13, 14].contains(value)), "{random:?}");
    // Each once, in their order: a freeze would take them again and again.
    assert_eq!((0..4).map(|_| rule.next(1, over)).collect::<Vec<_>>(), [11, 12, 13, 14]);
    assert!(!(11..=14).contains(&rule.next(1, over)));
    // From then on a timeout freezes again.
    rule.on_feedback(50, Met::Timeout, over);
    assert_eq!((0..5).map(|_| rule.next(1, over)).collect::<Vec<_>>(), [11, 12, 13, 14, 11]);
}

/// A first window counts up, at most over all values; then those that met nothing come without a bound.
#[test]
fn the_older_reps_and_the_mixed_rule_recycle_without_a_bound() {
    let mut rule = choice(Entropy::RepsLegacy, 16);
    let first: Vec<u32> = (0..5).map(|_| rule.next(5, Time::ZERO)).collect();
    assert_eq!(first, [0, 1, 2, 3, 4]);
    for entropy in [Entropy::RepsLegacy, Entropy::Mixed] {
        let mut rule = choice(entropy, 16);
        draw(&mut rule, 16);
        let good: Vec<u32> = (0..40).map(|place| place % 16).collect();
        good.iter().for_each(|value| rule.on_feedback(*value, Met::Nothing, Time::ZERO));
        assert_eq!(draw(&mut rule, 40), good);
    }
    let mut rule = choice(Entropy::Mixed, 8);
    rule.on_feedback(5, Met::Trim, Time::ZERO);
    assert!(!draw(&mut rule, 28).contains(&5));
}

/// A mark or a trimmed packet passes a value over once, whatever comes twice; a clean answer changes nothing.
#[test]
fn states_pass_over_once_what_met_congestion() {
    let mut random = Stream::new(1, "entropy", 0);
    for met in [Met::Mark, Met::Trim] {
        let mut rule: states::Rule = Choice::new(2, &mut random);
        rule.on_feedback(0, met, Time::ZERO);
        rule.on_feedback(0, met, Time::ZERO);
        rule.on_feedback(0, Met::Nothing, Time::ZERO);
        // Whichever is drawn first, 0 is passed over at its first turn, and then taken again.
        let drawn: Vec<u32> = (0..40).map(|_| rule.next(1, Time::ZERO, &mut random)).collect();
        assert!(drawn.contains(&0) && drawn.contains(&1), "{drawn:?}");
        let mut alone: states::Rule = Choice::new(1, &mut random);
        alone.on_feedback(0, met, Time::ZERO);
        assert_eq!(alone.next(1, Time::ZERO, &mut random), 0);
    }
}

/// After a timeout a value rests until a probe comes back: by a clean answer it is good, by a marked one passed over once more. Probes
/// take the values in turn.
#[test]
fn states_rest_until_a_probe() {
    let mut random = Stream::new(1, "entropy", 0);
    let mut rule: states::Rule = Choice::new(4, &mut random);
    assert_eq!((rule.to_probe(), rule.awaits_probes()), (None, false));
    for value in [2, 0, 2] {
        rule.on_feedback(value, Met::Timeout, Time::ZERO);
        rule.on_feedback(value, Met::Nothing, Time::ZERO);
        rule.on_feedback(value, Met::Mark, Time::ZERO);
    }
    let drawn: Vec<u32> = (0..100).map(|_| rule.next(1, Time::ZERO, &mut random)).collect();
    assert!(drawn.iter().all(|value| [1, 3].contains(value)), "{drawn:?}");
    assert!(rule.awaits_probes());
    assert_eq!([rule.to_probe(), rule.to_probe(), rule.to_probe()], [Some(2), Some(0), Some(2)]);
    rule.on_probe(2, false);
    assert_eq!([rule.to_probe(), rule.to_probe()], [Some(0); 2]);
    assert!((0..100).any(|_| rule.next(1, Time::ZERO, &mut random) == 2));
    rule.on_probe(0, true);
    assert!(!rule.awaits_probes());
    assert!((0..100).any(|_| rule.next(1, Time::ZERO, &mut random) == 0));
    // Where all are assumed bad, any is taken.
    (0..4).for_each(|value| rule.on_feedback(value, Met::Timeout, Time::ZERO));
    let drawn: Vec<u32> = (0..100).map(|_| rule.next(1, Time::ZERO, &mut random)).collect();
    assert!((0..4).all(|value| drawn.contains(&value)));
}

/// A denied value is never drawn and never probed, whatever comes by it, and also where all others are assumed bad.
#[test]
fn states_never_take_a_denied_value() {
    let denied = [1, 2];
    let mut rule = AnyChoice::new(&Values { rule: Entropy::States, count: 4, denied: denied.into() }, (7, 3));
    for met in [Met::Nothing, Met::Mark, Met::Trim, Met::Timeout] {
        denied.iter().for_each(|value| rule.on_feedback(*value, met, Time::ZERO));
        assert!(draw(&mut rule, 100).iter().all(|value| [0, 3].contains(value)), "{met:?}");
    }
    assert!(!rule.awaits_probes());
    [0, 3].iter().for_each(|value| rule.on_feedback(*value, Met::Timeout, Time::ZERO));
    let drawn = draw(&mut rule, 100);
    assert!(
        [0, 3].iter().all(|value| drawn.contains(value)) && !drawn.iter().any(|value| denied.contains(value))
    );
    assert_eq!([rule.to_probe(), rule.to_probe(), rule.to_probe()], [Some(0), Some(3), Some(0)]);
}

/// Headers take the values in turn, without denied ones and those that may not be used; where none may be used, the first that is not denied.
#[test]
fn turns_pass_over_denied_values() {
    let values = Values { rule: Entropy::States, count: 4, denied: [0, 2].into() };
    assert_eq!([0, 1, 2, 3].map(|value| values.turn(value, |_| true)), [1, 1, 3, 3]);
    assert_eq!(values.turn(3, |value| value < 3), 1);
    assert_eq!(values.turn(2, |value| value == 0), 3);
}
