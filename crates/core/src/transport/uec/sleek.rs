//! SLEEK: losses that packets beyond a gap show, or a probe that comes back soon, for switches that do not trim.
//!
//! Source: the consortium's simulator (`ultraethernet/uet-htsim`, 40ccb05, uec.cpp, `-sleek`). Recovery begins when so many packets
//! stand beyond a gap as the least of 1.5 windows and the greatest window have, and five at least; or when a probe's answer met less
//! delay than the target. It lasts until all is acknowledged that had been sent by then. Each acknowledgement meanwhile takes the packets
//! that were not acknowledged within a window from the first gap; each goes again once, whatever the window. Timers repair the rest.
//! A probe is a header alone. It leaves a base round trip and the target after the last acknowledgement if nothing is left to send,
//! else three base round trips after it, and again after five.
//! Ours, where the source leaves it open: the greatest window is that of the start; packets are counted full; a repair leaves the
//! window and the record of paths as they are.

use shallows_units::{Span, Time};

/// Packets beyond a gap that begin recovery at least.
const LEAST: u64 = 5;

/// The memory of a sending end.
#[derive(Debug, Clone, Copy)]
pub struct Sleek {
    /// In recovery until all below this is acknowledged.
    until: Option<u64>,
    /// All below this went again, or need not.
    pub repaired: u64,
    /// A probe leaves then.
    pub probe_at: Time,
    /// Bytes of the greatest window.
    most: u64,
}

impl Sleek {
    /// Before the first packet, with the greatest window.
    pub fn new(most: u64) -> Self {
        Sleek { until: None, repaired: 0, probe_at: Time::MAX, most }
    }

    /// In recovery.
    pub fn recovers(&self) -> bool {
        self.until.is_some()
    }

    /// An acknowledgement up to `una`, when `ahead` packets of `mtu` bytes are beyond a gap and all below `next` has been sent. `early`: it
    /// answers a probe, and met little delay.
    pub fn on_ack(&mut self, una: u64, next: u64, (ahead, mtu): (u64, u64), window: u64, early: bool) {
        let enough = (window + window / 2).min(self.most).max(LEAST * mtu);
        if self.until.is_none() && una < next && (ahead > 0 && ahead * mtu >= enough || early) {
            self.until = Some(next);
        }
        self.until = self.until.filter(|until| una < *until);
    }

    /// Bytes from where to where go again if they were not acknowledged.
    pub fn range(&self, una: u64, window: u64) -> Option<(u64, u64)> {
        let until = self.until?;
        let range = (self.repaired.max(una), until.min(una + window));
        (range.0 < range.1).then_some(range)
    }

    /// When a probe leaves, if no acknowledgement comes after `now`. `delays` are the base round trip and the target.
    pub fn arm(&mut self, now: Time, (base, target): (Span, Span), awaits: bool, has_data: bool) {
        self.probe_at = match (awaits, has_data) {
            (false, _) => Time::MAX,
            (true, true) => now + base * 3,
            (true, false) => now + base + target,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threshold is min(1.5 cwnd, most), and five packets at least; exactly there recovery begins.
    #[test]
    fn recovery_begins_at_its_threshold_and_ends_with_what_was_sent() {
        for (window, most, packets) in [(10_000, 100_000, 15), (10_000, 12_000, 12), (1000, 100_000, 5)] {
            let ahead = |ahead: u64| {
                let mut sleek = Sleek::new(most);
                sleek.on_ack(0, 50_000, (ahead, 1000), window, false);
                sleek
            };
            assert!(!ahead(packets - 1).recovers(), "{window}");
            let mut sleek = ahead(packets);
            assert_eq!(sleek.range(0, window), Some((0, window)));
            sleek.repaired = 1500;
            assert_eq!(sleek.range(1000, window), Some((1500, 1000 + window)));
            sleek.on_ack(49_999, 90_000, (0, 1000), window, false);
            assert_eq!(sleek.range(49_999, window), Some((49_999, 50_000)));
            sleek.on_ack(50_000, 90_000, (0, 1000), window, false);
            assert!(!sleek.recovers());
        }
    }

    /// A probe's early answer begins it, unless all is acknowledged.
    #[test]
    fn an_early_answer_begins_recovery() {
        for (una, recovers) in [(0, true), (9000, false)] {
            let mut sleek = Sleek::new(100_000);
            sleek.on_ack(una, 9000, (0, 1000), 10_000, true);
            assert_eq!(sleek.recovers(), recovers);
        }
    }

    #[test]
    fn probes_wait_for_what_may_come() {
        let (mut sleek, base, target) = (Sleek::new(1), Span::us(10), Span::us(7));
        for (awaits, has_data, at) in [(true, true, 31), (true, false, 18), (false, true, u64::MAX)] {
            sleek.arm(Time::ZERO + Span::us(1), (base, target), awaits, has_data);
            let at = if at == u64::MAX { Time::MAX } else { Time::ZERO + Span::us(at) };
            assert_eq!(sleek.probe_at, at);
        }
    }
}
