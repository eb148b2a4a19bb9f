//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! Left out: s.5.7 (3 s at the start of data after a lost SYN), since a SYN's round trip is always known here.

use super::settings::TransportSettings;
use shallows_units::Span;

/// Smoothed round-trip time, its variation, and the timeout that follows.
#[derive(Debug, Clone, Default)]
pub struct RttEstimator {
    srtt: u64,
    rttvar: u64,
    /// Factor of the timeout after timeouts in a row.
    backoff: u64,
    /// Timeouts in a row.
    pub timeouts: u64,
    /// First and least timeout by the path (`rto_rtts`), or 0.
    least: u64,
}

impl RttEstimator {
    /// Without a sample, on a path whose round trip is `base` when it is empty.
    pub fn new(base: Span, settings: &TransportSettings) -> Self {
        let least = settings.rto_rtts.map_or(0, |rtts| (rtts * base.as_ps() as f64) as u64);
        RttEstimator { least, ..RttEstimator::default() }
    }

    /// Smoothed round-trip time; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Span {
        Span::ps(self.srtt)
    }

    /// Smoothed round-trip time, after the first sample.
    pub fn known(&self) -> Option<Span> {
        Some(self.srtt()).filter(|srtt| *srtt > Span::ZERO)
    }

    /// Variation of the round-trip time.
    pub fn rttvar(&self) -> Span {
        Span::ps(self.rttvar)
    }

    /// A new measurement. It ends any backing off (RFC 6298 s.5, note): under Karn's rule only new data
    /// brings one.
    #[inline(always)]
    pub fn sample(&mut self, rtt: Span, settings: &TransportSettings) {
        self.backoff = 1;
        let grain = settings.clock_grain.as_ps();
        let mut r = rtt.as_ps();
        // A clock shows no less than a tick: ns-2 TcpAgent::rtt_update, Linux tcp_ack_update_rtt.
        if let Some(ticks) = (r + grain / 2).checked_div(grain) {
            r = ticks.max(1) * grain;
        }
        r = r.max(1); // 0 would say that there is no sample yet
        if self.srtt == 0 {
            // RFC 6298 s.2.2.
            (self.srtt, self.rttvar) = (r, r / 2);
        } else {
            // RFC 6298 s.2.3: beta = 1/4, alpha = 1/8, the variation first.
            self.rttvar = self.rttvar - self.rttvar / 4 + self.srtt.abs_diff(r) / 4;
            self.srtt = self.srtt - self.srtt / 8 + r / 8;
        }
    }

    /// New data was acknowledged: timeouts are no longer in a row.
    #[inline(always)]
    pub fn progress(&mut self) {
        self.timeouts = 0;
    }

    /// The timer expired.
    pub fn expire(&mut self, settings: &TransportSettings) {
        self.backoff = self.backoff.max(1).saturating_mul(settings.rto_backoff); // RFC 6298 s.5.5
        self.timeouts += 1;
    }

    /// The retransmission timeout now.
    #[inline(always)]
    pub fn rto(&self, settings: &TransportSettings) -> Span {
        let base = if self.srtt == 0 {
            let first = settings.initial_rto.as_ps(); // RFC 6298 s.2.1
            if self.least > 0 { self.least } else { first }
        } else {
            // RFC 6298 s.2.3: SRTT + max(G, 4 RTTVAR), s.2.4: at least the minimum.
            let spread = (4 * self.rttvar).max(settings.clock_grain.as_ps());
            let least = if self.least > 0 { self.least } else { settings.min_rto.as_ps() };
            settings.arithmetic.timeout(self.srtt, spread, least)
        };
        Span::ps(base.saturating_mul(self.backoff.max(1)).min(settings.max_rto.as_ps()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::Arithmetic;
    use crate::params::Params;

    /// Numbers that ns-3's rtt-test.cc asserts for alpha = 1/8, beta = 1/4 (ns-3-dev, 2025).
    #[test]
    fn samples_of_1s_1200ms_900ms() {
        let settings = TransportSettings::defaults();
        let mut rtt = RttEstimator::default();
        let expected_us = [(1_000_000, 500_000), (1_025_000, 425_000), (1_009_375, 350_000)];
        for (sample, (srtt, rttvar)) in [1000, 1200, 900].into_iter().zip(expected_us) {
            rtt.sample(Span::ms(sample), &settings);
            assert_eq!((rtt.srtt(), rtt.rttvar()), (Span::us(srtt), Span::us(rttvar)));
        }
    }

    #[test]
    fn the_timeout_follows_rfc_6298() {
        let settings = TransportSettings {
            initial_rto: Span::s(1),
            min_rto: Span::ms(1),
            clock_grain: Span::ZERO,
            ..TransportSettings::defaults()
        };
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.rto(&settings), Span::s(1));
        rtt.sample(Span::ms(100), &settings);
        assert_eq!(rtt.rto(&settings), Span::ms(300)); // 100 + 4 x 50
        rtt.expire(&settings);
        rtt.expire(&settings);
        assert_eq!(rtt.rto(&settings), Span::ms(1200));
        for _ in 0..20 {
            rtt.expire(&settings);
        }
        assert_eq!(rtt.rto(&settings), Span::s(60));
        rtt.progress();
        assert_eq!(rtt.rto(&settings), Span::s(60)); // an acknowledgement is not yet a measurement
        rtt.sample(Span::ms(100), &settings);
        assert_eq!(rtt.rto(&settings), Span::us(250_000)); // 100 + 4 x 37.5
    }

    /// `rto_rtts`: so many round trips of the empty path are the first timeout and the least one, in place of RFC 6298's second (s.2.1, s.2.4).
    #[test]
    fn the_path_may_give_the_first_and_the_least_timeout() {
        for (rto_rtts, first, least) in
            [(Some(2.5), Span::ms(50), Span::ms(50)), (None, Span::s(3), Span::ms(35))]
        {
            let settings = TransportSettings {
                rto_rtts,
                initial_rto: Span::s(3),
                min_rto: Span::ms(35),
                clock_grain: Span::ZERO,
                ..TransportSettings::defaults()
            };
            let mut rtt = RttEstimator::new(Span::ms(20), &settings);
            assert_eq!((rtt.known(), rtt.rto(&settings)), (None, first));
            rtt.sample(Span::ms(10), &settings);
            assert_eq!((rtt.known(), rtt.rto(&settings)), (Some(Span::ms(10)), least)); // 10 + 4 x 5 is less
            rtt.sample(Span::ms(90), &settings);
            assert_eq!(rtt.rto(&settings), Span::ms(20 + 4 * 23) + Span::us(3000)); // 10 + 80 / 8, and 5 x 3 / 4 + 80 / 4
        }
    }

    /// A clock of 10 ms shows a round trip of 100 us as one tick for ever; it never decays to nothing.
    #[test]
    fn a_coarse_clock_shows_a_tick() {
        let settings = TransportSettings { clock_grain: Span::ms(10), ..TransportSettings::defaults() };
        let mut rtt = RttEstimator::default();
        for _ in 0..1000 {
            rtt.sample(Span::us(100), &settings);
            assert_eq!(rtt.srtt(), Span::ms(10));
        }
    }

    /// Linux: the minimum bounds the spread and not the sum.
    #[test]
    fn in_linuxs_arithmetic_the_minimum_is_added_to_the_round_trip() {
        let settings = TransportSettings {
            min_rto: Span::ms(200),
            arithmetic: Arithmetic::Linux,
            ..TransportSettings::defaults()
        };
        let mut rtt = RttEstimator::default();
        rtt.sample(Span::ms(100), &settings);
        assert_eq!(rtt.rto(&settings), Span::ms(300)); // 4 x 50 is as much
        for _ in 0..100 {
            rtt.sample(Span::ms(100), &settings);
        }
        assert_eq!(rtt.rto(&settings), Span::ms(300));
    }

    #[test]
    fn the_minimum_and_the_grain_bound_it_below() {
        let settings = TransportSettings {
            min_rto: Span::ms(200),
            clock_grain: Span::ms(10),
            ..TransportSettings::defaults()
        };
        let mut rtt = RttEstimator::default();
        rtt.sample(Span::us(100), &settings);
        assert_eq!(rtt.rto(&settings), Span::ms(200));
        let coarse = TransportSettings { min_rto: Span::ms(1), ..settings };
        for _ in 0..100 {
            rtt.sample(Span::us(100), &coarse);
        }
        assert!(rtt.rto(&coarse) >= Span::ms(10));
    }
}
