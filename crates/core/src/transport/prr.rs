//! Proportional rate reduction: a window shrinks over a round trip, in proportion to the arriving acknowledgements.
//!
//! Source: RFC 6937 s.3, with the slow-start reduction bound; counted in segments as Linux `tcp_cwnd_reduction`.
//! Left out: the changes of RFC 9937 s.4, which obsoletes it. Linux's arithmetic has one of them: the bound grows only after
//! an acknowledgement that moves on and shows no loss.

use super::acks::Heard;
use crate::cc::WindowRules;

/// A reduction under way.
#[derive(Debug, Clone)]
pub struct Prr {
    /// RFC 6937 `prr_delivered`.
    delivered: u64,
    /// RFC 6937 `prr_out`.
    out: u64,
    /// RFC 6937 `RecoverFS`.
    from: u64,
    /// Bytes in flight plus those that may be sent now.
    window: u64,
}

impl Prr {
    /// Begins from a congestion window of `cwnd` with so much `outstanding`. Until an acknowledgement reports a delivery,
    /// `window` bytes may be in flight.
    pub(super) fn new(rules: &WindowRules, cwnd: u64, outstanding: u64, window: u64) -> Self {
        Prr { delivered: 0, out: 0, from: rules.arithmetic.reduces_from(cwnd, outstanding), window }
    }

    /// Bytes that may be in flight now.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Nothing has been sent since it began.
    pub(super) fn is_fresh(&self) -> bool {
        self.out == 0
    }

    /// So many bytes were sent.
    pub(super) fn on_send(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// RFC 6937 s.3: the bytes to send on an acknowledgement, with `pipe` bytes in flight and the window to end at
    /// `target`.
    pub(super) fn on_ack(&mut self, heard: Heard, pipe: u64, target: u64, rules: &WindowRules) {
        self.delivered += heard.delivered;
        if rules.arithmetic.in_segments() {
            return self.by_segments(heard, pipe, target, rules.mss);
        }
        let send = if pipe > target {
            let due = u128::from(self.delivered) * u128::from(target);
            (due.div_ceil(u128::from(self.from)) as u64).saturating_sub(self.out)
        } else {
            // Slow-start reduction bound.
            let limit = self.delivered.saturating_sub(self.out).max(heard.delivered) + rules.mss;
            (target - pipe).min(limit)
        };
        self.window = pipe + send;
    }

    /// Linux `tcp_cwnd_reduction`: the same, counted in segments, and a short one is a whole one. One that delivers nothing leaves the
    /// window.
    fn by_segments(&mut self, heard: Heard, pipe: u64, target: u64, mss: u64) {
        if heard.delivered == 0 {
            return;
        }
        let segments = |bytes: u64| bytes.div_ceil(mss);
        let (target, pipe) = (segments(target), segments(pipe));
        let (sent, arrived) = (segments(self.out), segments(self.delivered));
        let send = if pipe > target {
            (target * arrived).div_ceil(segments(self.from).max(1)).saturating_sub(sent)
        } else {
            let limit = arrived.saturating_sub(sent).max(segments(heard.delivered)) + u64::from(heard.clean);
            (target - pipe).min(limit)
        };
        // The first segment goes at once.
        self.window = (pipe + send.max(u64::from(sent == 0))) * mss;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::Arithmetic;
    use crate::cc::parts::window::tests::rules;

    /// An acknowledgement of `segments` of 1000 bytes that moves on without a loss.
    fn heard(segments: u64) -> Heard {
        Heard { delivered: segments * 1000, clean: true, ..Heard::default() }
    }

    /// RFC 6937 s.3: of 20 in flight to 10, a segment goes for two delivered.
    #[test]
    fn half_of_what_arrives_goes_out() {
        let rules = rules();
        let mut prr = Prr::new(&rules, 20_000, 20_000, 0);
        let mut sent = vec![];
        for arrived in 1..=10 {
            let pipe = 20_000 - 1000 * arrived + sent.iter().sum::<u64>();
            prr.on_ack(heard(1), pipe, 10_000, &rules);
            let room = (prr.window() - pipe) / 1000 * 1000;
            prr.on_send(room);
            sent.push(room);
        }
        assert_eq!(sent.iter().sum::<u64>(), 5000);
    }

    /// RFC 6937 s.3: below the target a segment more than arrived may go, and never beyond the target.
    #[test]
    fn below_the_target_the_slow_start_bound_holds() {
        let rules = rules();
        let mut prr = Prr::new(&rules, 20_000, 20_000, 0);
        prr.on_ack(heard(1), 4000, 10_000, &rules);
        assert_eq!(prr.window(), 6000);
        prr.on_ack(heard(9), 9000, 10_000, &rules);
        assert_eq!(prr.window(), 10_000);
    }

    /// Linux `tcp_cwnd_reduction`: without a delivery nothing changes; one more than arrived only after an
    /// acknowledgement that moved on and reported no loss (`FLAG_SND_UNA_ADVANCED`, `newly_lost`).
    #[test]
    fn in_linuxs_arithmetic_the_bound_depends_on_the_acknowledgement() {
        let rules = WindowRules { arithmetic: Arithmetic::Linux, ..rules() };
        let mut prr = Prr::new(&rules, 20_000, 20_000, 7000);
        prr.on_ack(heard(0), 4000, 10_000, &rules);
        assert_eq!(prr.window(), 7000);
        prr.on_ack(Heard { clean: false, ..heard(1) }, 4000, 10_000, &rules);
        assert_eq!(prr.window(), 5000);
        prr.on_send(1000);
        prr.on_ack(heard(1), 4000, 10_000, &rules);
        assert_eq!(prr.window(), 6000);
    }

    /// The short segment at the end of a message counts as a whole one: two may go when nothing is left in flight, and not one.
    #[test]
    fn in_linuxs_arithmetic_a_short_segment_is_a_whole_one() {
        let rules = WindowRules { arithmetic: Arithmetic::Linux, ..rules() };
        let mut prr = Prr::new(&rules, 3000, 3000, 3000);
        prr.on_send(400);
        prr.on_ack(Heard { delivered: 400, clean: true, ..Heard::default() }, 0, 2000, &rules);
        assert_eq!(prr.window(), 2000);
    }
}
