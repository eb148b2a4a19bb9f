//! Histograms of bounded size: exact at small values, logarithmic beyond.

/// Counts (or time) by value. Values below `2^EXACT_BITS` have a bin each; beyond, every octave has
/// `2^(EXACT_BITS - 1)` bins, so that a bin's width is at most `2^-(EXACT_BITS - 1)` of its value.
#[derive(Debug, Clone, Default)]
pub struct Histogram<const EXACT_BITS: u32> {
    bins: Vec<u64>,
}

/// Queue lengths in packets: exact below 4096.
pub type LengthHistogram = Histogram<12>;
/// Times in ps: within 1/128.
pub type TimeHistogram = Histogram<8>;

impl<const EXACT_BITS: u32> Histogram<EXACT_BITS> {
    const HALF: u64 = 1 << (EXACT_BITS - 1);

    #[inline]
    fn bin(value: u64) -> usize {
        if value < 2 * Self::HALF {
            return value as usize;
        }
        let octave = u64::from(64 - EXACT_BITS - value.leading_zeros());
        (octave * Self::HALF + (value >> octave)) as usize
    }

    /// Smallest value of `bin`.
    fn low(bin: usize) -> u64 {
        let bin = bin as u64;
        if bin < 2 * Self::HALF {
            return bin;
        }
        let octave = bin / Self::HALF - 1;
        (bin - octave * Self::HALF) << octave
    }

    /// Adds `amount` at `value`.
    #[inline(always)]
    pub fn add(&mut self, value: u64, amount: u64) {
        let bin = Self::bin(value);
        match self.bins.get_mut(bin) {
            Some(count) => *count += amount,
            None => self.grow(bin, amount),
        }
    }

    #[cold]
    fn grow(&mut self, bin: usize, amount: u64) {
        self.bins.resize((bin + 1).next_power_of_two(), 0);
        self.bins[bin] = amount;
    }

    /// Adds all that `other` holds.
    pub fn add_all(&mut self, other: &Self) {
        let held = other.bins.iter().rposition(|amount| *amount > 0).map_or(0, |last| last + 1);
        if held > self.bins.len() {
            self.bins.resize(held.next_power_of_two(), 0);
        }
        self.bins.iter_mut().zip(&other.bins).for_each(|(mine, amount)| *mine += amount);
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.bins.fill(0);
    }

    /// Bins that hold anything: smallest value, smallest value of the next bin, amount.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let held = self.bins.iter().enumerate().filter(|(_, amount)| **amount > 0);
        held.map(|(bin, amount)| (Self::low(bin), Self::low(bin + 1), *amount))
    }

    /// Sum of all amounts.
    pub fn total(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Smallest value at or below which at least the share `q` of the total lies (the bin's low
    /// end), or nothing when empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let total = self.total();
        let mut below = 0;
        self.rows().find_map(|(low, _, amount)| {
            below += amount;
            (below as f64 >= q * total as f64).then_some(low)
        })
    }

    /// Mean over exact bins; beyond them each bin counts at its low end.
    pub fn mean(&self) -> f64 {
        let sum: u128 = self.rows().map(|(low, _, amount)| u128::from(low) * u128::from(amount)).sum();
        sum as f64 / self.total() as f64
    }

    /// Population standard deviation, as [`Histogram::mean`].
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let spread = |low: u64, amount: u64| (low as f64 - mean) * (low as f64 - mean) * amount as f64;
        let sum: f64 = self.rows().map(|(low, _, amount)| spread(low, amount)).sum();
        (sum / self.total() as f64).sqrt()
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.bins.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_lies_in_its_bin(value in 0u64..1 << 60) {
            type H = TimeHistogram;
            let bin = H::bin(value);
            prop_assert!(H::low(bin) <= value && value < H::low(bin + 1));
            prop_assert!(H::low(bin + 1) - H::low(bin) <= 1 + value / 128);
        }
    }

    #[test]
    fn small_values_are_exact() {
        let mut lengths = LengthHistogram::default();
        for (value, amount) in [(0, 10), (3, 30), (4095, 60)] {
            lengths.add(value, amount);
        }
        assert_eq!(lengths.rows().collect::<Vec<_>>(), [(0, 1, 10), (3, 4, 30), (4095, 4096, 60)]);
        assert_eq!(lengths.quantile(0.1), Some(0));
        assert_eq!(lengths.quantile(0.11), Some(3));
        assert_eq!(lengths.quantile(1.0), Some(4095));
        assert_eq!(lengths.mean(), (90.0 + 60.0 * 4095.0) / 100.0);
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(TimeHistogram::default().quantile(0.5), None);
    }
}
