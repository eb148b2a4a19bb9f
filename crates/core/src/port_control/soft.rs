//! A sum over flows that forgets who has fallen silent, in constant room.
//!
//! A switch that adds what flows claim, and subtracts what they claimed before (RACS: W + w_c - w_p;
//! SDC: SYN and FIN), drifts: a lost FIN leaves a claim for ever, a repeated SYN makes two. Here the sum
//! is kept in two parts, by whether a claim was renewed in this window or in the one before. Each claim
//! says how long ago the last one was made, so that it is taken out of the part where it stands. What has
//! not been renewed for a whole window goes with its part. So any error, whatever the cause, is gone
//! after two windows, and without loss the sum is exact.
//!
//! Claims are dated by their senders and counted as they arrive. One that falls near a window's border may
//! so be looked for in the wrong part; the total is right even then, and the next two windows put it right.

use shallows_units::{Span, Time};

/// What a flow claims of a sum, against what it claimed before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Claimed before; 0 in the first claim.
    pub before: f64,
    /// How long ago that was.
    pub age: Span,
    /// Claimed now; 0 in the last claim.
    pub now: f64,
}

/// A sum of claims.
#[derive(Debug, Clone)]
pub struct SoftSum {
    window: Span,
    began: Time,
    /// Claimed or renewed in this window.
    fresh: f64,
    /// In the one before, and not since.
    stale: f64,
}

impl SoftSum {
    /// Nothing claimed; claims last between one and two `window`s, or without one for ever.
    pub fn new(window: Option<Span>) -> Self {
        let window = window.unwrap_or(Span::ps(u64::MAX >> 2));
        SoftSum { window, began: Time::ZERO, fresh: 0.0, stale: 0.0 }
    }

    /// Takes a claim in; call in order of time.
    pub fn claim(&mut self, claim: &Claim, now: Time) {
        self.advance(now);
        if claim.age <= now - self.began {
            self.fresh -= claim.before;
        } else if claim.age <= now - self.began + self.window {
            self.stale -= claim.before;
        }
        self.fresh += claim.now;
    }

    /// The sum of all claims that stand.
    pub fn total(&mut self, now: Time) -> f64 {
        self.advance(now);
        (self.fresh + self.stale).max(0.0)
    }

    fn advance(&mut self, now: Time) {
        let since = now - self.began;
        if since < self.window {
            return;
        }
        let windows = since.as_ps() / self.window.as_ps();
        self.stale = if windows == 1 { self.fresh } else { 0.0 };
        self.fresh = 0.0;
        self.began += self.window * windows;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WINDOW: Span = Span::ms(10);
    const SOME: Option<Span> = Some(WINDOW);

    fn at(us: u64) -> Time {
        Time::ZERO + Span::us(us)
    }

    fn claim(before: f64, age_us: u64, now: f64) -> Claim {
        Claim { before, age: Span::us(age_us), now }
    }

    #[test]
    fn renewed_claims_stand_and_silent_ones_fade_within_two_windows() {
        let mut sum = SoftSum::new(SOME);
        sum.claim(&claim(0.0, 0, 5.0), at(1000));
        for round in 1..100 {
            sum.claim(&claim(if round == 1 { 0.0 } else { 1.0 }, 1000, 1.0), at(1000 * (round + 1)));
            let expected = if round < 19 { 6.0 } else { 1.0 };
            assert_eq!(sum.total(at(1000 * (round + 1))), expected, "after {round} ms");
        }
        assert_eq!(sum.total(at(119_000)), 1.0);
        assert_eq!(sum.total(at(120_000)), 0.0);
    }

    #[test]
    fn a_claim_twice_made_or_never_withdrawn_is_forgotten() {
        let mut sum = SoftSum::new(SOME);
        for _ in 0..2 {
            sum.claim(&claim(0.0, 0, 3.0), at(0)); // a repeated SYN
        }
        assert_eq!(sum.total(at(0)), 6.0);
        for round in 1..40 {
            sum.claim(&claim(3.0, 1000, 3.0), at(1000 * round));
        }
        assert_eq!(sum.total(at(39_000)), 3.0);
        sum.claim(&claim(3.0, 1000, 0.0), at(40_000));
        assert_eq!(sum.total(at(40_000)), 0.0);
    }

    #[test]
    fn without_a_window_a_lost_withdrawal_stands_for_ever() {
        let mut sum = SoftSum::new(None);
        sum.claim(&claim(0.0, 0, 3.0), at(0));
        assert_eq!(sum.total(at(1_000_000_000)), 3.0);
    }

    proptest! {
        /// Without loss the sum is what the flows claim; with any loss of claims it is so again two
        /// windows after the last loss.
        #[test]
        fn the_sum_is_exact_again_two_windows_after_the_last_loss(
            flows in prop::collection::vec((1u64..100, 50u64..900), 1..8), lost in prop::collection::vec(any::<bool>(), 0..300),
        ) {
            let mut sum = SoftSum::new(SOME);
            // (next claim, what was claimed last and when, weight, period)
            let mut state: Vec<_> = flows.iter().map(|(w, period)| (at(*period), 0.0, at(0), *w as f64, *period)).collect();
            let (mut lost, mut last_loss) = (lost.into_iter(), at(0));
            for _ in 0..4000 {
                let next = (0..state.len()).min_by_key(|i| state[*i].0).expect("a flow");
                let (now, before, then, weight, period) = state[next];
                let gone = lost.next().unwrap_or(false);
                if gone {
                    last_loss = now;
                } else {
                    sum.claim(&Claim { before, age: now - then, now: weight }, now);
                }
                state[next] = (now + Span::us(period), weight, now, weight, period);
                if now > last_loss + WINDOW * 2 + Span::ms(1) {
                    let expected: f64 = state.iter().map(|flow| flow.3).sum();
                    prop_assert!((sum.total(now) - expected).abs() < 1e-9, "{} of {}", sum.total(now), expected);
                }
            }
        }
    }
}
