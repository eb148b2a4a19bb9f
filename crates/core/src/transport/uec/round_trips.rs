//! The round trips of a connection: the smoothed time, and the probe that measures the base round trip (UE 1.0.3 s.3.6.13.7): a header in the class of control, after the first answer, unless
//! what is left is about a bandwidth-delay product at most. Ours: the time that a full packet takes more over links of the card's rate is added.

use crate::cc::FlowInfo;
use crate::transport::Config;
use crate::transport::rtt::RttEstimator;
use shallows_units::{Bytes, Span, Time};

/// The smoothed time, and the probe beside it.
#[derive(Debug, Clone)]
pub struct RoundTrips {
    /// The smoothed time.
    pub smoothed: RttEstimator,
    /// The probe.
    pub start: Start,
}

impl RoundTrips {
    /// At the start of a connection.
    pub fn new(info: &FlowInfo<'_>, config: &Config) -> Self {
        let start = if config.uec.start_probe { Start::new(info, config) } else { Start::Never };
        RoundTrips { smoothed: RttEstimator::default(), start }
    }
}

/// The state of the probe.
#[derive(Debug, Clone, Copy)]
pub enum Start {
    /// No probe leaves, or its answer has come.
    Never,
    /// Before the first answer: bytes of a product, and the time that a full packet takes more.
    Waits(u64, Span),
    /// It leaves as soon as it may.
    Due(Span),
    /// It left then.
    Left(Time, Span),
}

impl Start {
    /// At the start of a connection.
    fn new(info: &FlowInfo<'_>, config: &Config) -> Self {
        let (rate, base) = (info.path.line_rate, info.path.base_rtt);
        let product = u128::from(rate.as_bps()) * u128::from(base.as_ps()) / 8_000_000_000_000;
        let there = u64::from(info.path.switches) + 1;
        // There it is a header too short by the payload, and back the answer counts, which base round trips leave out.
        let (payload, header) =
            (rate.transmit(Bytes(config.rules.mss)), rate.transmit(Bytes(config.header.into())));
        let more = (payload * there).as_ps().saturating_sub((header * there).as_ps());
        Start::Waits(product as u64, Span::ps(more))
    }

    /// The first answer has come while `left` bytes were not acknowledged.
    pub fn answered(&mut self, left: u64) {
        if let Start::Waits(product, more) = *self {
            *self = if left > product { Start::Due(more) } else { Start::Never };
        }
    }

    /// It leaves as soon as it may.
    pub fn is_due(&self) -> bool {
        matches!(self, Start::Due(_))
    }

    /// It leaves now.
    pub fn leaves(&mut self, now: Time) {
        if let Start::Due(more) = *self {
            *self = Start::Left(now, more);
        }
    }

    /// The round trip of a full packet, when the answer to what left at `stamp` comes.
    pub fn measured(&mut self, stamp: Time, now: Time) -> Option<Span> {
        match *self {
            Start::Left(at, more) if at == stamp => {
                *self = Start::Never;
                Some(now - stamp + more)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRODUCT: u64 = 10_000;
    const MORE: Span = Span::ns(650);

    fn at(us: u64) -> Time {
        Time::ZERO + Span::us(us)
    }

    /// The first answer decides whether a probe leaves, and no later one: what is left then must be more than a bandwidth-delay product.
    #[test]
    fn the_first_answer_decides_about_the_probe() {
        for (left, leaves) in [(0, false), (PRODUCT, false), (PRODUCT + 1, true)] {
            let mut start = Start::Waits(PRODUCT, MORE);
            assert!(!start.is_due());
            start.answered(left);
            assert_eq!(start.is_due(), leaves, "{left}");
            start.answered(PRODUCT + 1 - left);
            assert_eq!(start.is_due(), leaves, "{left}");
        }
    }

    /// The answer to the probe gives its round trip and the time that a full packet takes more, once; other answers give none.
    #[test]
    fn the_probes_own_answer_measures() {
        let mut start = Start::Waits(PRODUCT, MORE);
        assert_eq!(start.measured(Time::ZERO, at(5)), None);
        start.answered(PRODUCT + 1);
        start.leaves(at(7));
        assert!(!start.is_due());
        assert_eq!(start.measured(at(6), at(17)), None);
        assert_eq!(start.measured(at(7), at(19)), Some(Span::us(12) + MORE));
        assert_eq!(start.measured(at(7), at(19)), None);
    }
}
