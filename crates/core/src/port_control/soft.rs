//! A sum over flows that forgets silent flows, in constant space.
//!
//! A switch that adds the claims of flows, and subtracts their earlier claims (RACS: W + w_c - w_p;
//! SDC: SYN and FIN), drifts: a lost FIN leaves a claim for ever, a repeated SYN makes two. Here the sum
//! is kept in two parts, by whether a claim was renewed in this window or in the one before. Each claim
//! says when it was made and when the last one was, so that this is taken out of the part that holds it. A claim
//! that is not renewed for a whole window goes with its part. So any error, whatever the cause, is gone
//! after two windows, and without loss the sum is exact.
//!
//! Both times are the sender's. If the switch dated claims by their arrival, a change of delay near a window's
//! border would have it look for one in the wrong part, and miss it for a window. Clocks need not agree but
//! for the length of life.

use shallows_units::{Span, Time};

/// A flow's claim of a sum, and its earlier claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Claimed before; 0 in the first claim.
    pub before: f64,
    /// When that was.
    pub then: Time,
    /// Claimed now; 0 in the last claim.
    pub now: f64,
    /// When this is.
    pub at: Time,
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

    /// Takes a claim in that arrives `now`; call in order of time.
    pub fn claim(&mut self, claim: &Claim, now: Time) {
        self.advance(now);
        self.add(-claim.before, claim.then);
        self.add(claim.now, claim.at);
    }

    fn add(&mut self, what: f64, made: Time) {
        if made >= self.began {
            self.fresh += what;
        } else if made + self.window >= self.began {
            self.stale += what;
        }
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

    /// Made at `us`, `age_us` after the one before.
    fn claim(us: u64, before: f64, age_us: u64, now: f64) -> Claim {
        Claim { before, then: at(us.saturating_sub(age_us)), now, at: at(us) }
    }

    #[test]
    fn renewed_claims_stand_and_silent_ones_fade_within_two_windows() {
        let mut sum = SoftSum::new(SOME);
        sum.claim(&claim(1000, 0.0, 0, 5.0), at(1000));
        for round in 1..100 {
            let us = 1000 * (round + 1);
            sum.claim(&claim(us, if round == 1 { 0.0 } else { 1.0 }, 1000, 1.0), at(us));
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
            sum.claim(&claim(0, 0.0, 0, 3.0), at(0)); // a repeated SYN
        }
        assert_eq!(sum.total(at(0)), 6.0);
        for round in 1..40 {
            sum.claim(&claim(1000 * round, 3.0, 1000, 3.0), at(1000 * round));
        }
        assert_eq!(sum.total(at(39_000)), 3.0);
        sum.claim(&claim(40_000, 3.0, 1000, 0.0), at(40_000));
        assert_eq!(sum.total(at(40_000)), 0.0);
    }

    #[test]
    fn without_a_window_a_lost_withdrawal_stands_for_ever() {
        let mut sum = SoftSum::new(None);
        sum.claim(&claim(0, 0.0, 0, 3.0), at(0));
        assert_eq!(sum.total(at(1_000_000_000)), 3.0);
    }

    proptest! {
        /// Without loss the sum is that of the flows' claims; with any loss of claims it is so again two
        /// windows after the last loss.
        #[test]
        fn the_sum_is_exact_again_two_windows_after_the_last_loss(
            flows in prop::collection::vec((1u64..100, 50u64..900), 1..8), lost in prop::collection::vec(any::<bool>(), 0..300),
        ) {
            let mut sum = SoftSum::new(SOME);
            // (next claim, last claim and its time, weight, period)
            let mut state: Vec<_> = flows.iter().map(|(w, period)| (at(*period), 0.0, at(0), *w as f64, *period)).collect();
            let (mut lost, mut last_loss) = (lost.into_iter(), at(0));
            for _ in 0..4000 {
                let next = (0..state.len()).min_by_key(|i| state[*i].0).expect("a flow");
                let (now, before, then, weight, period) = state[next];
                let gone = lost.next().unwrap_or(false);
                if gone {
                    last_loss = now;
                } else {
                    sum.claim(&Claim { before, then, now: weight, at: now }, now);
                }
                state[next] = (now + Span::us(period), weight, now, weight, period);
                if now > last_loss + WINDOW * 2 + Span::ms(1) {
                    let expected: f64 = state.iter().map(|flow| flow.3).sum();
                    prop_assert!((sum.total(now) - expected).abs() < 1e-9, "{} of {}", sum.total(now), expected);
                }
            }
        }

        /// Without loss the sum is at every arrival that of the claims arrived, however long each was under way.
        #[test]
        fn delays_that_change_do_not_move_the_sum(
            flows in prop::collection::vec((1u64..100, 2050u64..4000), 1..8), delays in prop::collection::vec(0u64..2000, 500),
        ) {
            let mut sum = SoftSum::new(SOME);
            let mut arrivals = vec![];
            for (flow, (weight, period)) in flows.iter().enumerate() {
                for round in 0..100 {
                    let made = period * (round + 1);
                    let delay = delays[(100 * flow + round as usize) % delays.len()];
                    arrivals.push((made + delay, flow, claim(made, if round == 0 { 0.0 } else { *weight as f64 }, *period, *weight as f64)));
                }
            }
            arrivals.sort_by_key(|(arrival, flow, _)| (*arrival, *flow));
            let mut arrived = vec![0.0; flows.len()];
            for (arrival, flow, claim) in arrivals.iter().take(100) {
                sum.claim(claim, at(*arrival));
                arrived[*flow] = claim.now;
                prop_assert_eq!(sum.total(at(*arrival)), arrived.iter().sum::<f64>());
            }
        }
    }
}
