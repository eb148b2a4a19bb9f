//! An index of a list, or none.

/// An index of a list, or none, in the four bytes of a `u32`. `Option<u32>` takes eight, and packets and ports are laid out by cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Index(u32);

impl Index {
    /// No index.
    pub const NONE: Index = Index(u32::MAX);

    /// The index `number`.
    ///
    /// # Panics
    ///
    /// In checked builds, if a list would need more than 2^32 - 1 entries to have it.
    #[inline(always)]
    pub const fn new(number: u32) -> Self {
        debug_assert!(number != u32::MAX, "a list of 2^32 entries");
        Index(number)
    }

    /// The number, if there is one.
    #[inline(always)]
    pub const fn get(self) -> Option<u32> {
        if self.0 == u32::MAX { None } else { Some(self.0) }
    }

    /// The number, where there is one.
    #[inline(always)]
    pub const fn there(self) -> u32 {
        debug_assert!(self.is_some(), "there is none");
        self.0
    }

    /// There is one.
    #[inline(always)]
    pub const fn is_some(self) -> bool {
        self.0 != u32::MAX
    }

    /// For `list.get`: beyond the end of every list if there is none.
    #[inline(always)]
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

impl From<Option<u32>> for Index {
    #[inline(always)]
    fn from(number: Option<u32>) -> Self {
        number.map_or(Index::NONE, Index::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_in_no_list() {
        assert_eq!(
            (Index::NONE.get(), Index::NONE.is_some(), [1].get(Index::NONE.at())),
            (None, false, None)
        );
        assert_eq!((Index::new(0).get(), [1].get(Index::new(0).at())), (Some(0), Some(&1)));
        assert_eq!(Index::new(7).there(), 7);
        assert_eq!((Index::from(None), Index::from(Some(3))), (Index::NONE, Index::new(3)));
        assert_eq!(size_of::<Index>(), size_of::<u32>());
    }
}
