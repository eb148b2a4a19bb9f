//! Losses in bursts, and by wrong bits.
//!
//! Sources: Gilbert 1960 and Elliott 1963 (Bell System Technical Journal 39 and 42): a chain of two states, each with a chance of loss;
//! Linux sch_netem.c `loss_gilb_ell`, which decides by the state before it moves on. Wrong bits are independent of each other.

use crate::events::random::Stream;

/// The chain of a wire that loses packets in bursts.
#[derive(Debug)]
pub struct Bursts {
    /// Chance that a burst begins behind a packet, and that it ends.
    pub moves: (f64, f64),
    /// Chance of loss within a burst; outside it is the wire's own.
    pub loss: f64,
    /// A burst is on.
    pub on: bool,
    /// Random numbers of these losses alone.
    pub random: Stream,
}

impl Bursts {
    /// Whether the packet that has come to the far end is lost in a burst; call once for each.
    pub fn lose(&mut self) -> bool {
        let lost = self.on && self.random.chance(self.loss);
        let (begins, ends) = self.moves;
        if self.random.chance(if self.on { ends } else { begins }) {
            self.on = !self.on;
        }
        lost
    }
}

/// Wrong bits on a wire.
#[derive(Debug)]
pub struct BitErrors {
    /// Logarithm of the chance that a byte is right.
    pub right: f64,
    /// Random numbers of these losses alone.
    pub random: Stream,
}

impl BitErrors {
    /// With this chance that a bit is wrong.
    pub fn new(rate: f64, random: Stream) -> Self {
        BitErrors { right: 8.0 * libm::log1p(-rate), random }
    }

    /// Whether a frame of so many bytes has a wrong bit, and fails its check at the far end.
    pub fn spoil(&mut self, bytes: u16) -> bool {
        self.random.chance(-libm::expm1(self.right * f64::from(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elliott 1963: p / (p + r) of all packets meet a burst, whose mean length is 1 / r.
    #[test]
    fn bursts_have_their_share_and_length() {
        let (p, r, n) = (0.01, 0.25, 400_000);
        let mut bursts = Bursts { moves: (p, r), loss: 1.0, on: false, random: Stream::new(1, "bursts", 0) };
        let lost: Vec<bool> = (0..n).map(|_| bursts.lose()).collect();
        let all = lost.iter().filter(|lost| **lost).count() as f64;
        let runs = lost.windows(2).filter(|w| w[0] && !w[1]).count() as f64;
        // Four standard errors: neighbours count (2 - p - r) / (p + r) times as much.
        let share = p / (p + r);
        let error = 4.0 * (share * (1.0 - share) / f64::from(n) * (2.0 - p - r) / (p + r)).sqrt();
        assert!((all / f64::from(n) - share).abs() < error, "{}", all / f64::from(n));
        assert!((all / runs * r - 1.0).abs() < 4.0 * (1.0 / runs).sqrt(), "{}", all / runs);
    }

    /// 1 - (1 - e)^(8 bytes): at 1e-6 some .0119 of 1500 bytes and .00051 of 64.
    #[test]
    fn long_frames_are_spoilt_more_often() {
        for bytes in [64, 1500] {
            let mut wire = BitErrors::new(1e-6, Stream::new(2, "bits", 0));
            let n = 1_000_000;
            let lost = (0..n).filter(|_| wire.spoil(bytes)).count() as f64;
            let share = 1.0 - libm::pow(1.0 - 1e-6, 8.0 * f64::from(bytes));
            assert!((lost / f64::from(n) - share).abs() < 4.0 * (share / f64::from(n)).sqrt(), "{lost}");
        }
    }
}
