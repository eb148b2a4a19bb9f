//! Histograms of bounded size: exact at small values, logarithmic beyond. Their memory follows the values seen.

/// Number of the bin of `value`. Values below `2^EXACT` have a bin each; beyond, every octave has `2^(EXACT - 1)` bins,
/// so that a bin's width is at most `2^-(EXACT - 1)` of its value.
#[inline(always)]
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

    /// The quantile, or nothing when empty.
    fn quantile(&self, q: f64) -> Option<f64> {
        quantile(&self.rows(), q)
    }
}

/// The quantile of rows as [`Histogram::rows`] gives them: the least value with at least the share `q` of the total at or
/// below it. Its bin is known for certain. Within the bin the values are taken to lie evenly, from its low end to the last
/// value before its high end. So the error is less than the bin's width. A bin of one value is exact, and no quantile is
/// outside what was seen as long as the first and the last bin end there.
/// `binned_quantile` in `python/shallows/tables/metrics.py` is the same function.
pub fn quantile(rows: &[(u64, u64, u64)], q: f64) -> Option<f64> {
    let total: u64 = rows.iter().map(|row| row.2).sum();
    let mut below = 0;
    rows.iter().find_map(|(low, high, amount)| {
        let rank = (q * total as f64 - below as f64).ceil().max(1.0);
        below += amount;
        let share = (rank - 0.5) / *amount as f64;
        (rank <= *amount as f64).then(|| *low as f64 + (high - 1 - low) as f64 * share)
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
    bins: Box<[u64]>,
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
        let mut longer = vec![0; wanted];
        longer[..self.bins.len()].copy_from_slice(&self.bins);
        longer[bin] = amount;
        self.bins = longer.into_boxed_slice();
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.bins.fill(0);
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.bins)
    }
}

impl Histogram for LengthHistogram {
    fn rows(&self) -> Vec<(u64, u64, u64)> {
        let held = self.bins.iter().enumerate().filter(|(_, amount)| **amount > 0);
        held.map(|(bin, amount)| (low::<LENGTHS>(bin), low::<LENGTHS>(bin + 1), *amount)).collect()
    }
}

/// Packets by time in ps: pages of 64 neighbouring bins, half an octave each, that were met.
///
/// A port meets some ten of the 116 pages. Where they stand is known without looking elsewhere, so an observation
/// touches one cache line beside. A count takes two bytes; one that has filled them moves to `spilt` and begins again.
#[derive(Debug, Clone, Default)]
#[repr(C)] // the fields that each packet needs come first
pub struct TimeHistogram {
    counts: Box<[[u16; PAGE]]>,
    /// The least and the greatest value: the first and the last bin end there.
    extent: Extent,
    /// Bins whose counts have filled their places, with the counts from before.
    spilt: Option<Box<Spilt>>,
    places: Places,
}

/// The least value that was seen, and the distance of the greatest from it. A value inside costs one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    least: u64,
    spread: u64,
}

impl Default for Extent {
    /// Nothing was seen.
    fn default() -> Self {
        Extent { least: u64::MAX, spread: 0 }
    }
}

impl Extent {
    /// `value` was seen.
    #[inline(always)]
    pub fn reach(&mut self, value: u64) {
        if value.wrapping_sub(self.least) > self.spread {
            self.stretch(value);
        }
    }

    #[cold]
    #[inline(never)]
    fn stretch(&mut self, value: u64) {
        let most = self.most().map_or(value, |most| most.max(value));
        self.least = self.least.min(value);
        self.spread = most - self.least;
    }

    /// The greatest value, if any was seen.
    fn most(&self) -> Option<u64> {
        self.least.checked_add(self.spread).filter(|most| *most < u64::MAX)
    }

    /// All that `other` has seen was seen.
    pub fn cover(&mut self, other: Self) {
        if let Some(most) = other.most() {
            self.reach(other.least);
            self.reach(most);
        }
    }

    /// The bin from `low` to before `high`, as far as values were seen.
    fn clip(&self, low: u64, high: u64) -> (u64, u64) {
        (low.max(self.least), self.most().map_or(high, |most| high.min(most + 1)))
    }
}

/// Bins of a page: half an octave.
const PAGE: usize = 1 << (TIMES - 2);
/// Pages of all bins.
const PAGES: usize = 2 * (66 - TIMES as usize);

/// A page's place among the counts, or none, in a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place(u8);

impl Place {
    /// The page was not met.
    const NONE: Place = Place(u8::MAX);

    /// For `counts.get`: beyond the end of any if it was not met.
    #[inline(always)]
    fn at(self) -> usize {
        usize::from(self.0)
    }
}

#[derive(Debug, Clone, Default)]
struct Spilt(Vec<(usize, u64)>);

/// By page.
#[derive(Debug, Clone)]
struct Places([Place; PAGES]);

impl Default for Places {
    fn default() -> Self {
        Places([Place::NONE; PAGES])
    }
}

impl TimeHistogram {
    /// Counts one more at `value`.
    #[inline(always)]
    pub fn add(&mut self, value: u64) {
        self.extent.reach(value);
        self.count_one(bin::<TIMES>(value));
    }

    /// The number by which [`TimeHistogram::add_bins`] knows `value`.
    #[inline(always)]
    pub fn bin(value: u64) -> u16 {
        const { assert!(PAGES * PAGE <= 1 << 16) };
        bin::<TIMES>(value) as u16
    }

    /// Counts one more at each value, given by the number of its bin; [`TimeHistogram::reach`] tells how far they reach.
    pub fn add_bins(&mut self, bins: &[u16]) {
        bins.iter().for_each(|bin| self.count_one(usize::from(*bin)));
    }

    #[inline(always)]
    fn count_one(&mut self, bin: usize) {
        let count = self.count(bin);
        *count += 1;
        if *count == u16::MAX {
            *count = 0;
            self.spill(bin, u16::MAX.into());
        }
    }

    /// The count of `bin`.
    #[inline(always)]
    fn count(&mut self, bin: usize) -> &mut u16 {
        let place = self.places.0[bin / PAGE].at();
        let place = if place < self.counts.len() { place } else { self.meet(bin / PAGE) };
        &mut self.counts[place][bin % PAGE]
    }

    /// Gives a page that was not met before a place. Room grows by half, so that few pages are moved often.
    #[cold]
    fn meet(&mut self, page: usize) -> usize {
        let place = self.places.0.iter().filter(|place| **place != Place::NONE).count();
        if place == self.counts.len() {
            let room = place + place / 2 + 1;
            let mut wider = vec![[0; PAGE]; room].into_boxed_slice();
            wider[..place].copy_from_slice(&self.counts);
            self.counts = wider;
        }
        self.places.0[page] = Place(place as u8);
        place
    }

    /// The values of [`TimeHistogram::add_bins`] reach so far.
    pub fn reach(&mut self, extent: Extent) {
        self.extent.cover(extent);
    }

    /// Counts `amount` more at `value`.
    pub fn add_many(&mut self, value: u64, amount: u64) {
        if amount > 0 {
            self.extent.reach(value);
            self.add_to(bin::<TIMES>(value), amount);
        }
    }

    fn add_to(&mut self, bin: usize, amount: u64) {
        let count = self.count(bin);
        let sum = u64::from(*count) + amount;
        *count = (sum % u64::from(u16::MAX)) as u16;
        if sum >= u16::MAX.into() {
            self.spill(bin, sum - sum % u64::from(u16::MAX));
        }
    }

    #[cold]
    fn spill(&mut self, bin: usize, amount: u64) {
        let spilt = &mut self.spilt.get_or_insert_default().0;
        match spilt.iter_mut().find(|(known, _)| *known == bin) {
            Some((_, sum)) => *sum += amount,
            None => spilt.push((bin, amount)),
        }
    }

    /// Bins that hold anything, rising.
    fn held(&self) -> Vec<(usize, u64)> {
        let mut held = vec![];
        for (page, place) in self.places.0.iter().enumerate() {
            let counts = self.counts.get(place.at()).into_iter().flatten().enumerate();
            let counts = counts.filter(|(_, count)| **count > 0);
            held.extend(counts.map(|(i, count)| (page * PAGE + i, u64::from(*count))));
        }
        for (bin, more) in self.spilt.iter().flat_map(|spilt| &spilt.0) {
            match held.binary_search_by_key(bin, |held| held.0) {
                Ok(place) => held[place].1 += more,
                Err(place) => held.insert(place, (*bin, *more)),
            }
        }
        held
    }

    /// Adds all that `other` holds.
    pub fn add_all(&mut self, other: &Self) {
        self.extent.cover(other.extent);
        other.held().into_iter().for_each(|(bin, amount)| self.add_to(bin, amount));
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.counts.fill([0; PAGE]);
        self.spilt = None;
        self.extent = Extent::default();
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let spilt = |spilt: &Spilt| size_of::<Spilt>() + spilt.0.capacity() * size_of::<(usize, u64)>();
        size_of_val(&*self.counts) + self.spilt.as_deref().map_or(0, spilt)
    }
}

impl Histogram for TimeHistogram {
    fn rows(&self) -> Vec<(u64, u64, u64)> {
        let row = |(bin, amount)| {
            let (low, high) = self.extent.clip(low::<TIMES>(bin), low::<TIMES>(bin + 1));
            (low, high, amount)
        };
        self.held().into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Where pages stand is known from two cache lines.
    #[test]
    fn a_page_takes_a_byte() {
        assert_eq!((size_of::<Place>(), size_of::<Places>()), (1, PAGES));
    }

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
            prop_assert_eq!(times.held(), model.into_iter().collect::<Vec<_>>());
        }

        /// A quantile of any values is less than a bin's width from the true order statistic, never below the
        /// least nor above the greatest value, and rises with its share. A constant is exact.
        #[test]
        fn quantiles_are_within_a_bin(
            values in prop::collection::vec((0u32..50, 0u64..1 << 50), 1..300),
            same in any::<bool>(),
            share in 0.0f64..=1.0,
        ) {
            let mut sorted: Vec<u64> = values.iter().map(|(shift, value)| value >> shift).collect();
            if same {
                let first = sorted[0];
                sorted.fill(first);
            }
            let mut times = TimeHistogram::default();
            sorted.iter().for_each(|value| times.add(*value));
            sorted.sort_unstable();
            let (least, most) = (sorted[0] as f64, sorted[sorted.len() - 1] as f64);
            let mut before = 0.0;
            for q in [0.0, share / 2.0, share, 1.0] {
                let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
                let (found, exact) = (times.quantile(q).unwrap_or(-1.0), sorted[rank - 1] as f64);
                prop_assert!((found - exact).abs() <= exact / 128.0, "{q}: {found} for {exact}");
                prop_assert!(least <= found && found <= most && before <= found, "{q}: {found} in {least}..{most}");
                prop_assert!(!same || found == exact);
                before = found;
            }
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
        assert_eq!([0.1, 0.11, 1.0].map(|q| lengths.quantile(q)), [Some(0.0), Some(3.0), Some(4095.0)]);
        assert_eq!((mean(&rows), lengths.total()), ((90.0 + 60.0 * 4095.0) / 100.0, 100));
    }

    #[test]
    fn counts_beyond_a_slot_are_kept() {
        let mut times = TimeHistogram::default();
        let many = 3 * u64::from(u16::MAX) + 5;
        (0..many).for_each(|_| times.add(7));
        times.add(1 << 40);
        let mut twice = times.clone();
        twice.add_all(&times);
        assert_eq!(twice.rows()[0], (7, 8, 2 * many));
        assert_eq!(times.rows(), [(7, 8, many), (1 << 40, (1 << 40) + 1, 1)]);
        times.clear();
        assert_eq!((times.rows(), times.quantile(0.5)), (vec![], None));
    }

    /// Memory follows the values seen: a port that saw 100 lengths and 150 different waits, as neighbours as a queue of
    /// 30 to 100 packets makes them, takes little.
    #[test]
    fn memory_is_what_was_met() {
        let (mut lengths, mut times) = (LengthHistogram::default(), TimeHistogram::default());
        assert_eq!((lengths.memory(), times.memory()), (0, 0));
        (0..100).for_each(|length| lengths.add(length, 1));
        (0..150).for_each(|i| times.add(low::<TIMES>(2500 + i)));
        assert!(lengths.memory() <= 1024 && times.memory() <= 1024, "{}", lengths.memory() + times.memory());
    }
}
