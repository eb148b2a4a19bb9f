//! Named random streams: one for each (seed, component, index), so that a new draw in one place
//! moves no other and paired comparisons share their randomness.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use shallows_units::Span;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of `component` (such as `traffic.long`) number `index` under `seed`.
    pub fn new(seed: u64, component: &str, index: u64) -> Self {
        // FNV-1a over the name; xoshiro's own SplitMix64 seeding then scatters the 64 bits.
        let name = component
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
        let mixed = [seed, name, index].iter().fold(0x9e37_79b9_7f4a_7c15, |h: u64, x| {
            let mut z = (h ^ x).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z ^= z >> 29;
            z.wrapping_mul(0x94d0_49bb_1331_11eb) ^ z >> 32
        });
        Stream(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Uniform in [0, 1), 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..n, by multiplication (bias below n / 2^64). `n` must not be 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Exponential with the given mean, by inversion.
    pub fn exponential(&mut self, mean: Span) -> Span {
        Span::ps((-libm::log(1.0 - self.unit()) * mean.as_ps() as f64) as u64)
    }

    /// Uniform in [0, span).
    pub fn within(&mut self, span: Span) -> Span {
        if span == Span::ZERO { span } else { Span::ps(self.below(span.as_ps())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_apart_and_repeat() {
        let draw = |seed, name, index| Stream::new(seed, name, index).below(u64::MAX);
        assert_eq!(draw(1, "traffic.long", 0), draw(1, "traffic.long", 0));
        let all = [draw(1, "a", 0), draw(2, "a", 0), draw(1, "b", 0), draw(1, "a", 1)];
        for (i, x) in all.iter().enumerate() {
            assert!(!all[i + 1..].contains(x));
        }
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut stream = Stream::new(3, "x", 0);
        let n = 100_000u64;
        let sum: u64 = (0..n).map(|_| stream.exponential(Span::us(10)).as_ps()).sum();
        // Standard error of the mean is 10 us / sqrt(n) = 0.32 %; four of them.
        let mean = sum as f64 / n as f64 / 1e7;
        assert!((mean - 1.0).abs() < 0.013, "{mean}");
    }
}
