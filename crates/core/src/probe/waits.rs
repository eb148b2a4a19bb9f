//! Waits, counted some at a time.
//!
//! A port counts its packets by their wait, in a table of many cache lines. The line that a packet will change is not known
//! before the packet comes, so in a large network the processor would wait for it. So the latest waits are kept and then
//! counted together: the processor fetches their lines at the same time.

use super::histogram::{Extent, TimeHistogram};

/// Waits that are counted together: with the extent of all, they fill two cache lines.
const RECENT: usize = 56;

/// Packets by their wait in ps.
#[derive(Debug, Default)]
#[repr(C)] // what each packet needs comes first
pub struct WaitCounts {
    /// How many of `recent` are to be counted.
    fresh: usize,
    counted: Option<Box<TimeHistogram>>,
    extent: Extent,
    recent: Recent,
}

/// The most recent waits, by their bins.
#[derive(Debug)]
struct Recent([u16; RECENT]);

impl Default for Recent {
    fn default() -> Self {
        Recent([0; RECENT])
    }
}

impl WaitCounts {
    /// One more packet waited `wait` ps.
    #[inline(always)]
    pub fn add(&mut self, wait: u64) {
        self.extent.reach(wait);
        if let Some(place) = self.recent.0.get_mut(self.fresh) {
            *place = TimeHistogram::bin(wait);
        }
        self.fresh += 1;
        if self.fresh == RECENT {
            self.count();
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&mut self) {
        self.counted.get_or_insert_default().add_bins(&self.recent.0[..self.fresh]);
        self.fresh = 0;
    }

    /// All of them.
    pub fn all(&self) -> TimeHistogram {
        let mut all = self.counted.as_deref().cloned().unwrap_or_default();
        all.add_bins(&self.recent.0[..self.fresh]);
        all.reach(self.extent);
        all
    }

    /// None waited.
    pub fn is_empty(&self) -> bool {
        self.fresh == 0 && self.extent == Extent::default()
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.counted.iter_mut().for_each(|counted| counted.clear());
        (self.fresh, self.extent) = (0, Extent::default());
    }

    /// Bytes of memory in use elsewhere.
    pub fn memory(&self) -> usize {
        self.counted.as_ref().map_or(0, |counted| size_of::<TimeHistogram>() + counted.memory())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::histogram::Histogram;

    /// At every number of packets, all that came are there, each counted once.
    #[test]
    fn no_wait_is_lost_between_two_counts() {
        let (mut kept, mut plain) = (WaitCounts::default(), TimeHistogram::default());
        for number in 0..5 * RECENT as u64 / 2 {
            assert_eq!(kept.all().rows(), plain.rows());
            let wait = number * number * 1000;
            kept.add(wait);
            plain.add(wait);
        }
        kept.clear();
        assert_eq!(kept.all().total(), 0);
        kept.add(7);
        assert_eq!(kept.all().rows(), [(7, 8, 1)]);
    }
}
