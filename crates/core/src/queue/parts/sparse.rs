//! A long list of which few places are used: memory for those that were, in blocks.

/// Places of a block.
const BLOCK: usize = 16;

/// A list of default values, each of which takes memory once it has been asked for.
#[derive(Debug, Clone)]
pub struct Sparse<T> {
    len: usize,
    blocks: Vec<Option<Box<[T; BLOCK]>>>,
}

impl<T: Default> Sparse<T> {
    /// `len` values, none of which takes memory yet.
    pub fn new(len: usize) -> Self {
        Sparse { len, blocks: vec![] }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value at `place`, to change.
    #[inline]
    pub fn at(&mut self, place: usize) -> &mut T {
        let block = place / BLOCK;
        if block >= self.blocks.len() {
            self.lengthen(place);
        }
        let values = self.blocks[block].get_or_insert_with(Self::block);
        &mut values[place % BLOCK]
    }

    /// A place beyond the list would take memory without bound, so that it is refused as a slice would.
    #[cold]
    fn lengthen(&mut self, place: usize) {
        assert!(place < self.len);
        self.blocks.resize_with(place / BLOCK + 1, || None);
    }

    #[cold]
    fn block() -> Box<[T; BLOCK]> {
        Box::new(std::array::from_fn(|_| T::default()))
    }

    /// The value at `place`, if it or a neighbour has been asked for.
    pub fn get(&self, place: usize) -> Option<&T> {
        Some(&self.blocks.get(place / BLOCK)?.as_ref()?[place % BLOCK])
    }

    /// Those that take memory, in order, each with its place.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let block = |(i, block)| (i * BLOCK..).zip(block as &[T; BLOCK]);
        self.blocks.iter().enumerate().filter_map(|(i, b)| Some((i, &**b.as_ref()?))).flat_map(block)
    }

    /// Those that take memory, in order, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.blocks.iter_mut().flatten().flat_map(|block| block.iter_mut())
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let blocks = self.blocks.iter().flatten().count() * BLOCK * size_of::<T>();
        self.blocks.capacity() * size_of::<usize>() + blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_are_used_take_memory() {
        let mut list: Sparse<u64> = Sparse::new(1000);
        assert_eq!((list.len(), list.memory(), list.get(999)), (1000, 0, None));
        *list.at(40) += 7;
        *list.at(5) += 3;
        assert_eq!((list.get(40), list.get(41), list.get(100)), (Some(&7), Some(&0), None));
        let used: Vec<_> = list.iter().filter(|(_, value)| **value > 0).collect();
        assert_eq!(used, [(5, &3), (40, &7)]);
        // Two blocks of sixteen, and a pointer for each of at least three.
        let (values, pointers) = (2 * 16 * 8, 3 * 8);
        assert!((values + pointers..400).contains(&list.memory()), "{}", list.memory());
    }

    #[test]
    #[should_panic(expected = "place < self.len")]
    fn a_place_beyond_the_list_is_refused() {
        let mut list: Sparse<u64> = Sparse::new(32);
        *list.at(31) += 1;
        list.at(32);
    }
}
