//! Histograms of bounded size: exact at small values, logarithmic beyond. They take memory for what they have seen.

/// Number of the bin of `value`. Values below `2^EXACT` have a bin each; beyond, every octave has `2^(EXACT - 1)` bins,
/// so that a bin's width is at most `2^-(EXACT - 1)` of its value.
#[inline]
fn bin<const EXACT: u32>(value: u64) -> usize {
    let half = 1 << (EXACT - 1);
    if value < 2 * half {
        return value as usize;
    }
    let octave = u64::from(64 - EXACT - value.leading_zeros());
    (octave * half + (value >> octave)) as usize
}

/// Smallest value of `bin`.
fn low<const EXACT: u32>(bin: usize) -> u64 {
    let (bin, half) = (bin as u64, 1 << (EXACT - 1));
    if bin < 2 * half {
        return bin;
    }
    let octave = bin / half - 1;
    (bin - octave * half) << octave
}

/// Exact bits of lengths: packets below 4096 have a bin each.
const LENGTHS: u32 = 12;
/// Exact bits of times: a bin is as wide as 1/128 of its value.
const TIMES: u32 = 8;

/// The interface of any histogram.
pub trait Histogram {
    /// Bins that hold anything, rising: smallest value, smallest value of the next bin, amount.
    fn rows(&self) -> Vec<(u64, u64, u64)>;

    /// Sum of all amounts.
    fn total(&self) -> u64 {
        self.rows().iter().map(|row| row.2).sum()
    }

    /// Smallest value at or below which at least the share `q` of the total lies (the bin's low
    /// end), or nothing when empty.
    fn quantile(&self, q: f64) -> Option<u64> {
        quantile(&self.rows(), q)
    }
}

/// The quantile of rows as [`Histogram::rows`] gives them.
pub fn quantile(rows: &[(u64, u64, u64)], q: f64) -> Option<u64> {
    let total: u64 = rows.iter().map(|row| row.2).sum();
    let mut below = 0;
    rows.iter().find_map(|(low, _, amount)| {
        below += amount;
        (below as f64 >= q * total as f64).then_some(*low)
    })
}

/// Mean of rows as [`Histogram::rows`] gives them: each bin counts at its low end.
pub fn mean(rows: &[(u64, u64, u64)]) -> f64 {
    let total: u64 = rows.iter().map(|row| row.2).sum();
    let sum: u128 = rows.iter().map(|(low, _, amount)| u128::from(*low) * u128::from(*amount)).sum();
    sum as f64 / total as f64
}

/// Population standard deviation, as [`mean`].
pub fn deviation(rows: &[(u64, u64, u64)]) -> f64 {
    let (mean, total) = (mean(rows), rows.iter().map(|row| row.2).sum::<u64>());
    let spread = |low: u64, amount: u64| (low as f64 - mean) * (low as f64 - mean) * amount as f64;
    let sum: f64 = rows.iter().map(|(low, _, amount)| spread(*low, *amount)).sum();
    (sum / total as f64).sqrt()
}

/// Time or departures by queue length in packets: all bins up to the longest.
#[derive(Debug, Clone, Default)]
pub struct LengthHistogram {
    bins: Vec<u64>,
}

impl LengthHistogram {
    /// Adds `amount` at `value`.
    #[inline(always)]
    pub fn add(&mut self, value: u64, amount: u64) {
        let bin = bin::<LENGTHS>(value);
        match self.bins.get_mut(bin) {
            Some(count) => *count += amount,
            None => self.grow(bin, amount),
        }
    }

    #[cold]
    fn grow(&mut self, bin: usize, amount: u64) {
        // A quarter more than is needed now, in lines of eight.
        let wanted = (bin + bin / 4 + 1).next_multiple_of(8);
        self.bins.reserve_exact(wanted - self.bins.len());
        self.bins.resize(wanted, 0);
        self.bins[bin] = amount;
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.bins.fill(0);
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.bins.capacity() * size_of::<u64>()
    }
}

impl Histogram for LengthHistogram {
    fn rows(&self) -> Vec<(u64, u64, u64)> {
        let held = self.bins.iter().enumerate().filter(|(_, amount)| **amount > 0);
        held.map(|(bin, amount)| (low::<LENGTHS>(bin), low::<LENGTHS>(bin + 1), *amount)).collect()
    }
}

/// Packets by time in ps: a hash table of the bins that were met, four bytes each.
///
/// A port meets some hundred of the 7000 bins. A slot holds a bin's number plus one and below it its count; 0 is
/// empty. A count that fills its slot moves to `spilt` and begins again.
#[derive(Debug, Clone, Default)]
pub struct TimeHistogram {
    slots: Box<[u32]>,
    used: u32,
    spilt: Vec<(u32, u64)>,
}

/// Bits of a slot's count; the bin's number has the other 13, and all bins fit.
const COUNT: u32 = 19;
const FULL: u32 = (1 << COUNT) - 1;

impl TimeHistogram {
    /// Counts one more at `value`.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let key = bin::<TIMES>(value) as u32 + 1;
        let mask = self.slots.len().wrapping_sub(1);
        let mut place = Self::home(key);
        while let Some(slot) = self.slots.get_mut(place & mask) {
            if *slot >> COUNT == key {
                *slot += 1;
                if *slot & FULL == FULL {
                    *slot -= FULL;
                    self.spill(key, u64::from(FULL));
                }
                return;
            }
            if *slot == 0 {
                break;
            }
            place += 1;
        }
        self.insert(key, 1);
    }

    /// Where the search for a bin starts: neighbours apart (Knuth, multiplicative hashing).
    #[inline]
    fn home(key: u32) -> usize {
        (key.wrapping_mul(0x9e37_79b1) >> 16) as usize
    }

    /// Gives a bin that has none yet a slot.
    #[cold]
    fn insert(&mut self, key: u32, count: u32) {
        // At most three of four slots are in use.
        if 4 * (self.used as usize + 1) > 3 * self.slots.len() {
            let wider = vec![0; (2 * self.slots.len()).max(8)].into_boxed_slice();
            let old = std::mem::replace(&mut self.slots, wider);
            old.into_iter().filter(|slot| *slot != 0).for_each(|slot| *self.place(slot >> COUNT) = slot);
        }
        self.used += 1;
        *self.place(key) = (key << COUNT) | count;
    }

    /// The slot of a bin, or the empty one where it would stand.
    fn place(&mut self, key: u32) -> &mut u32 {
        let mask = self.slots.len() - 1;
        let mut place = Self::home(key) & mask;
        while self.slots[place] != 0 && self.slots[place] >> COUNT != key {
            place = (place + 1) & mask;
        }
        &mut self.slots[place]
    }

    #[cold]
    fn spill(&mut self, key: u32, amount: u64) {
        match self.spilt.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sum)) => *sum += amount,
            None => self.spilt.push((key, amount)),
        }
    }

    /// Bins that have a slot, by number plus one and in no order, with its count.
    fn held(&self) -> impl Iterator<Item = (u32, u32)> {
        self.slots.iter().filter(|slot| **slot != 0).map(|slot| (slot >> COUNT, slot & FULL))
    }

    /// Adds all that `other` holds.
    pub fn add_all(&mut self, other: &Self) {
        for (key, count) in other.held() {
            if self.slots.is_empty() || *self.place(key) == 0 {
                self.insert(key, count);
                continue;
            }
            let slot = self.place(key);
            let sum = (*slot & FULL) + count;
            *slot = (key << COUNT) | (sum % FULL);
            if sum >= FULL {
                self.spill(key, u64::from(FULL));
            }
        }
        other.spilt.iter().for_each(|(key, amount)| self.spill(*key, *amount));
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.slots.fill(0);
        self.used = 0;
        self.spilt.clear();
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.slots) + self.spilt.capacity() * size_of::<(u32, u64)>()
    }
}

impl Histogram for TimeHistogram {
    fn rows(&self) -> Vec<(u64, u64, u64)> {
        let mut bins: Vec<(u32, u64)> = self.held().map(|(key, count)| (key, u64::from(count))).collect();
        bins.sort_unstable();
        for (key, more) in &self.spilt {
            let place = bins.binary_search_by_key(key, |bin| bin.0).expect("what is spilt has a slot");
            bins[place].1 += more;
        }
        let low = |key: u32| low::<TIMES>(key as usize - 1);
        bins.into_iter().map(|(key, count)| (low(key), low(key + 1), count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn a_value_lies_in_its_bin(value in 0u64..1 << 60) {
            let bin = bin::<TIMES>(value);
            prop_assert!(low::<TIMES>(bin) <= value && value < low::<TIMES>(bin + 1));
            prop_assert!(low::<TIMES>(bin + 1) - low::<TIMES>(bin) <= 1 + value / 128);
        }

        /// The table of times counts as a plain map does, whatever comes.
        #[test]
        fn times_are_counted(values in prop::collection::vec((0u32..64, any::<u64>()), 0..2000)) {
            let (mut times, mut model) = (TimeHistogram::default(), BTreeMap::new());
            for (shift, value) in values {
                times.add(value >> shift);
                *model.entry(bin::<TIMES>(value >> shift)).or_insert(0) += 1;
            }
            let rows: Vec<(u64, u64)> = times.rows().into_iter().map(|(low, _, count)| (low, count)).collect();
            let wanted: Vec<(u64, u64)> = model.into_iter().map(|(bin, n)| (low::<TIMES>(bin), n)).collect();
            prop_assert_eq!(rows, wanted);
        }

        /// Two tables together count as one does that saw all.
        #[test]
        fn times_add_up(values in prop::collection::vec((0u32..64, any::<u64>(), any::<bool>()), 0..2000)) {
            let [mut one, mut two, mut all] = std::array::from_fn(|_| TimeHistogram::default());
            for (shift, value, first) in values {
                if first { &mut one } else { &mut two }.add(value >> shift);
                all.add(value >> shift);
            }
            one.add_all(&two);
            prop_assert_eq!(one.rows(), all.rows());
        }
    }

    #[test]
    fn small_values_are_exact() {
        let mut lengths = LengthHistogram::default();
        for (value, amount) in [(0, 10), (3, 30), (4095, 60)] {
            lengths.add(value, amount);
        }
        let rows = lengths.rows();
        assert_eq!(rows, [(0, 1, 10), (3, 4, 30), (4095, 4096, 60)]);
        assert_eq!([0.1, 0.11, 1.0].map(|q| lengths.quantile(q)), [Some(0), Some(3), Some(4095)]);
        assert_eq!((mean(&rows), lengths.total()), ((90.0 + 60.0 * 4095.0) / 100.0, 100));
    }

    #[test]
    fn counts_beyond_a_slot_are_kept() {
        let mut times = TimeHistogram::default();
        let many = 3 * u64::from(FULL) + 5;
        (0..many).for_each(|_| times.add(7));
        times.add(1 << 40);
        let mut twice = times.clone();
        twice.add_all(&times);
        assert_eq!(twice.rows()[0], (7, 8, 2 * many));
        assert_eq!(times.rows(), [(7, 8, many), (1 << 40, (1 << 40) + (1 << 33), 1)]);
        times.clear();
        assert_eq!((times.rows(), times.quantile(0.5)), (vec![], None));
    }

    /// Memory follows what was met: a port that saw 100 lengths and 150 different waits takes little.
    #[test]
    fn memory_is_what_was_met() {
        let (mut lengths, mut times) = (LengthHistogram::default(), TimeHistogram::default());
        assert_eq!((lengths.memory(), times.memory()), (0, 0));
        (0..100).for_each(|length| lengths.add(length, 1));
        (0..150).for_each(|i| times.add(low::<TIMES>(10 * i)));
        assert!(lengths.memory() <= 1024 && times.memory() <= 1024, "{}", lengths.memory() + times.memory());
    }
}
