//! Probabilities that rise with the queue from the origin, and are compared with the larger of several
//! random numbers.
//!
//! Source: "Data Center to the Home" (De Schepper et al. 2015), the slides on coupling; RFC 9332
//! fig. 10 (`maxrand`).

use crate::events::random::Stream;
use crate::packet::Packet;
use crate::queue::{DropWhy, Verdict};
use shallows_units::{Bytes, Rate};

crate::choices! {
    /// How a queue is measured.
    pub enum Unit {
        /// By how long it makes a packet wait.
        Time = "time",
        /// By its bytes, in units of the port's bytes a second.
        Bytes = "bytes",
    }
}

/// Seconds that `bytes` take at `rate`.
pub fn seconds(bytes: u64, rate: Rate) -> f64 {
    rate.transmit(Bytes(bytes)).as_secs_f64()
}

/// A scalable packet is marked with `probability`, a classic one marked or dropped with the square of `root`.
pub fn judge(packet: &Packet, scalable: bool, probability: f64, root: f64, random: &mut Stream) -> Verdict {
    if scalable {
        if largest(1, random) < probability { Verdict::Mark } else { Verdict::Pass }
    } else if largest(2, random) >= root {
        Verdict::Pass
    } else if packet.ecn_capable() {
        Verdict::Mark
    } else {
        Verdict::Drop(DropWhy::Aqm)
    }
}

/// RFC 9332 fig. 10: the larger of `count` random numbers; it is below p with probability p^count.
pub fn largest(count: u64, random: &mut Stream) -> f64 {
    (0..count).map(|_| random.unit()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_of_two_is_below_p_with_p_squared() {
        let mut random = Stream::new(5, "slope", 0);
        let n = 100_000;
        for p in [0.05, 0.3, 0.8] {
            for count in [1, 2] {
                let hits = (0..n).filter(|_| largest(count, &mut random) < p).count() as f64;
                let expected = libm::pow(p, count as f64);
                let four_errors = 4.0 * (expected * (1.0 - expected) / f64::from(n)).sqrt();
                assert!((hits / f64::from(n) - expected).abs() < four_errors, "{p} {count}: {hits}");
            }
        }
    }
}
