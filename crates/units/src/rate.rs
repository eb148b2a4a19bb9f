//! Rates in bits a second, and how long data takes at them.

use crate::text::{Dimension, UnitError};
use crate::{Bytes, Span};
use std::fmt;

const RATE: Dimension = Dimension {
    what: "a rate in bits a second",
    example: "10Gbps",
    units: &[
        ("bps", 1),
        ("Kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ],
    aliases: &[
        ("kbit", "Kbps"),
        ("mbit", "Mbps"),
        ("gbit", "Gbps"),
        ("kbit/s", "Kbps"),
        ("mbit/s", "Mbps"),
        ("gbit/s", "Gbps"),
        ("kb/s", "Kbps"),
        ("mb/s", "Mbps"),
        ("gb/s", "Gbps"),
        ("g", "Gbps"),
        ("m", "Mbps"),
    ],
};

/// Bits in a byte times picoseconds in a second.
const BIT_PS: u64 = 8 * 1_000_000_000_000;

/// A rate in bits a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// So many bits a second.
    pub const fn bps(n: u64) -> Rate {
        Rate(n)
    }

    /// So many million bits a second.
    pub const fn mbps(n: u64) -> Rate {
        Rate(n * 1_000_000)
    }

    /// So many billion bits a second.
    pub const fn gbps(n: u64) -> Rate {
        Rate(n * 1_000_000_000)
    }

    /// Bits a second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// How long `data` takes, rounded up to a picosecond so that no link is ever faster than its
    /// rate. A time beyond the longest span is the longest span. At a rate of zero it panics.
    #[inline]
    pub fn transmit(self, data: Bytes) -> Span {
        // Up to 2 MB the sum fits a word, and each packet asks several times.
        if let Some(parts) = data.0.checked_mul(BIT_PS) {
            return Span::ps(parts.div_ceil(self.0));
        }
        let ps = (u128::from(data.0) * u128::from(BIT_PS)).div_ceil(self.0.into());
        Span::ps(ps.try_into().unwrap_or(u64::MAX))
    }

    /// How many picoseconds a byte takes, where that is a whole number: then
    /// [`transmit`](Self::transmit) is one multiplication.
    pub const fn ps_per_byte(self) -> Option<u64> {
        if self.0 != 0 && BIT_PS.is_multiple_of(self.0) { Some(BIT_PS / self.0) } else { None }
    }

    /// Reads a text such as `"10Gbps"`; a rate of zero is refused.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        match RATE.read(text)? {
            (0, _) => Err(RATE.must("> 0")),
            (bps, _) => Ok(Rate(bps)),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RATE.write(self.0, "bps", f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_takes_whole_picoseconds_at_every_ethernet_rate() {
        for gbps in [1, 10, 25, 40, 50, 100, 200, 400, 800, 1600] {
            let ps = Rate::gbps(gbps).ps_per_byte().unwrap();
            assert_eq!(ps * gbps, 8_000);
            assert_eq!(Rate::gbps(gbps).transmit(Bytes(1500)), Span::ps(1500 * ps));
        }
        assert_eq!(Rate::gbps(3).ps_per_byte(), None);
        assert_eq!(Rate::default().ps_per_byte(), None);
    }

    #[test]
    fn transmission_rounds_up_and_does_not_overflow() {
        assert_eq!(Rate::gbps(3).transmit(Bytes(1)), Span::ps(2_667)); // 2666.67
        assert_eq!(Rate::gbps(10).transmit(Bytes(0)), Span::ZERO);
        // On both sides of what a word holds.
        for bytes in [2_305_843, 2_305_844] {
            let ps = (u128::from(bytes) * 8_000_000_000_000u128).div_ceil(3_000_000_000);
            assert_eq!(u128::from(Rate::gbps(3).transmit(Bytes(bytes)).as_ps()), ps);
        }
        assert_eq!(Rate::gbps(8_000).transmit(Bytes(u64::MAX)), Span::ps(u64::MAX));
        assert_eq!(Rate::bps(1).transmit(Bytes(u64::MAX)), Span::ps(u64::MAX));
    }
}
