//! The proportional-integral controller of PI2 and DualPI2.
//!
//! Source: RFC 9332 fig. 6 and 8; De Schepper et al. 2016 eq. (4). A discipline has no periodic events:
//! before it changes its queues, it catches up with every update instant that has passed. Between
//! two such calls the queue changes only as time passes, so its delay at each instant, and with it each
//! update, is exact.

use shallows_units::{Span, Time};

/// The controller.
#[derive(Debug, Clone)]
pub struct Pi {
    alpha: f64,
    beta: f64,
    target: f64,
    interval: Span,
    most: f64,
    next: Time,
    before: f64,
    p: f64,
}

impl Pi {
    /// Gains in Hz for each `interval`; the probability stays within [0, `most`].
    pub fn new(alpha: f64, beta: f64, target: Span, interval: Span, most: f64) -> Self {
        let next = Time::ZERO + interval;
        Pi { alpha, beta, target: target.as_secs_f64(), interval, most, next, before: 0.0, p: 0.0 }
    }

    /// The base probability p'.
    pub fn p(&self) -> f64 {
        self.p
    }

    /// Does the updates that were due by `now`, when the first packet of the queue came at `since`;
    /// call before the queue changes.
    pub fn catch_up(&mut self, now: Time, since: Option<Time>) {
        match since {
            Some(since) => self.catch_up_by(now, Time::MAX, |at| at.saturating_sub(since)),
            None => self.catch_up_by(now, Time::ZERO, |_| Span::ZERO),
        }
    }

    /// Does the updates that were due by `now` for a queue whose delay at any instant is `delay`, zero from `empty_from` on.
    pub fn catch_up_by(&mut self, now: Time, empty_from: Time, delay: impl Fn(Time) -> Span) {
        while self.next <= now {
            let at = self.next;
            self.update(delay(at).as_secs_f64());
            self.next += self.interval;
            if at >= empty_from && self.p == 0.0 && self.next <= now {
                // Nothing changes before a packet comes.
                let missed = (now - self.next).as_ps() / self.interval.as_ps() + 1;
                self.next += self.interval * missed;
            }
        }
    }

    /// RFC 9332 fig. 6 line 3: p' += alpha (curq - target) + beta (curq - prevq), bounded (s.A.1).
    fn update(&mut self, delay: f64) {
        let step = self.alpha * (delay - self.target) + self.beta * (delay - self.before);
        self.p = (self.p + step).clamp(0.0, self.most);
        self.before = delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pi() -> Pi {
        Pi::new(0.16, 3.2, Span::ms(15), Span::ms(16), 1.0)
    }

    fn near(x: f64, y: f64) {
        assert!((x - y).abs() < 1e-12, "{x} is not {y}");
    }

    #[test]
    fn the_steps_are_those_computed_by_hand() {
        let mut pi = pi();
        pi.update(0.025); // 0.16 x 0.010 + 3.2 x 0.025
        near(pi.p, 0.0816);
        pi.update(0.025); // + 0.16 x 0.010
        near(pi.p, 0.0832);
        pi.update(0.010); // - 0.16 x 0.005 - 3.2 x 0.015
        near(pi.p, 0.0344);
        pi.update(0.0); // - 0.16 x 0.015 - 3.2 x 0.010 = -0.0344
        near(pi.p, 0.0);
        pi.update(0.0);
        assert_eq!(pi.p, 0.0);
        pi.update(100.0);
        assert_eq!(pi.p, 1.0);
    }

    #[test]
    fn catching_up_late_equals_updating_in_time() {
        let (mut late, mut timely) = (pi(), pi());
        let since = Time::ZERO + Span::ms(5);
        late.catch_up(Time::ZERO + Span::ms(100), Some(since));
        for n in 1..=6 {
            let now = Time::ZERO + Span::ms(16) * n;
            timely.update((now - since).as_secs_f64());
        }
        assert_eq!((late.p, late.before), (timely.p, timely.before));
        assert_eq!(late.next, Time::ZERO + Span::ms(112));
    }

    #[test]
    fn an_idle_queue_forgets_and_keeps_its_beat() {
        let mut pi = pi();
        pi.catch_up(Time::ZERO + Span::ms(50), Some(Time::ZERO)); // 48 ms waited at the third update
        near(pi.p, 0.16 * (0.096 - 0.045) + 3.2 * 0.048);
        // The first update without a queue takes 3.2 x 0.048 back, each one 0.16 x 0.015.
        pi.catch_up(Time::ZERO + Span::ms(64), None);
        near(pi.p, 0.16 * (0.096 - 0.060));
        pi.catch_up(Time::ZERO + Span::s(3600) + Span::ms(3), None);
        assert_eq!((pi.p, pi.before), (0.0, 0.0));
        assert_eq!(pi.next, Time::ZERO + Span::s(3600) + Span::ms(16));
    }
}
