//! Ranges of bytes, disjoint and in order: the data that a receiver holds beyond its acknowledgement, and
//! the sender's knowledge of it.

/// Disjoint, ordered, non-adjacent `[first, beyond)` ranges.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// None.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Bytes covered.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(a, b)| b - a).sum()
    }

    /// Adds `[first, beyond)`; returns how many bytes are new.
    pub fn add(&mut self, first: u64, beyond: u64) -> u64 {
        if first >= beyond {
            return 0;
        }
        let from = self.0.partition_point(|r| r.1 < first);
        let to = self.0.partition_point(|r| r.0 <= beyond);
        let held: u64 = self.0[from..to].iter().map(|(a, b)| b - a).sum();
        let low = self.0[from..to].first().map_or(first, |r| r.0.min(first));
        let high = self.0[from..to].last().map_or(beyond, |r| r.1.max(beyond));
        self.0.splice(from..to, [(low, high)]);
        high - low - held
    }

    /// Removes everything below `edge`; returns how many bytes were covered there.
    pub fn cut_below(&mut self, edge: u64) -> u64 {
        let gone = self.0.partition_point(|r| r.1 <= edge);
        let mut bytes: u64 = self.0.drain(..gone).map(|(a, b)| b - a).sum();
        if let Some(first) = self.0.first_mut()
            && first.0 < edge
        {
            bytes += edge - first.0;
            first.0 = edge;
        }
        bytes
    }

    /// The range that begins at or below `edge` and reaches beyond it or touches it, removed: what
    /// comes in order once everything below `edge` is there. Returns its end.
    pub fn take_through(&mut self, edge: u64) -> Option<u64> {
        let first = *self.0.first()?;
        if first.0 > edge {
            return None;
        }
        self.0.remove(0);
        Some(first.1)
    }

    /// The range that holds `point`.
    pub fn holding(&self, point: u64) -> Option<(u64, u64)> {
        let at = self.0.partition_point(|r| r.1 <= point);
        self.0.get(at).copied().filter(|r| r.0 <= point)
    }

    /// Beginning of the first range above `point`.
    pub fn next_above(&self, point: u64) -> Option<u64> {
        self.0.get(self.0.partition_point(|r| r.0 <= point)).map(|r| r.0)
    }

    /// Calls `f` with each part of `[first, beyond)` that is not covered.
    pub fn each_gap(&self, first: u64, beyond: u64, mut f: impl FnMut(u64, u64)) {
        let mut at = first;
        let from = self.0.partition_point(|r| r.1 <= first);
        for (start, end) in self.0[from..].iter().copied().take_while(|r| r.0 < beyond) {
            if at < start {
                f(at, start);
            }
            at = at.max(end);
        }
        if at < beyond {
            f(at, beyond);
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Highest covered byte's successor.
    pub fn end(&self) -> Option<u64> {
        self.0.last().map(|r| r.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Held against a set of bytes.
        #[test]
        fn ranges_are_a_set_of_bytes(adds in prop::collection::vec((0u64..60, 1u64..12), 0..30), edge in 0u64..80) {
            let mut ranges = Ranges::default();
            let mut set = std::collections::BTreeSet::new();
            for (first, len) in adds {
                let before = set.len();
                set.extend(first..first + len);
                prop_assert_eq!(ranges.add(first, first + len) as usize, set.len() - before);
                prop_assert_eq!(ranges.bytes() as usize, set.len());
                prop_assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
            }
            let mut gaps = 0;
            ranges.each_gap(5, 60, |a, b| gaps += (a..b).filter(|byte| !set.contains(byte)).count());
            prop_assert_eq!(gaps, 55 - set.range(5..60).count());
            for point in 0..80 {
                prop_assert_eq!(ranges.holding(point).is_some(), set.contains(&point));
            }
            let below = set.iter().filter(|b| **b < edge).count();
            prop_assert_eq!(ranges.cut_below(edge) as usize, below);
            prop_assert_eq!(ranges.bytes() as usize, set.len() - below);
        }
    }
}
