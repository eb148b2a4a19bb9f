//! Sorts numbers that are spread over a range more or less evenly, as the times at which packets land in a window.
//!
//! Each number is counted in one of some boxes of equal width, and put where its box begins; numbers out of order within a
//! box are put right in the end. The two passes to the boxes take no branch on the numbers. By comparison, a hundred numbers
//! take seven comparisons each.
//!
//! Source: Knuth, "The Art of Computer Programming", volume 3, section 5.2, algorithm D (distribution counting).

/// Boxes a number, at least; more of them leave less to be put right.
const BOXES: usize = 2;

/// Fewer numbers are compared.
const FEW: usize = 32;

/// With more than so many in one box, the numbers are not spread: they are compared too.
const CROWD: u32 = 16;

/// Memory for sorting, used again and again.
#[derive(Debug, Default)]
pub struct Spread {
    /// By box: the numbers in it; then the place of the next one.
    boxes: Vec<u32>,
    placed: Vec<u64>,
}

impl Spread {
    /// Sorts `numbers`, whose upper halves lie below `end`.
    pub fn sort(&mut self, numbers: &mut Vec<u64>, end: u64) {
        debug_assert!(numbers.iter().all(|number| number >> 32 < end));
        if numbers.len() < FEW || !self.place(numbers, end) {
            return numbers.sort_unstable();
        }
        std::mem::swap(numbers, &mut self.placed);
        put_right(numbers);
    }

    /// Places the numbers by their boxes, unless there is a crowd in one.
    fn place(&mut self, numbers: &[u64], end: u64) -> bool {
        let boxes = (BOXES * numbers.len()).next_power_of_two();
        // Rounded down, so that the upper half of the greatest product is below the number of boxes.
        let scale = ((boxes as u64) << 32) / end;
        let of = |number: u64| (((number >> 32) * scale) >> 32) as usize;
        self.boxes.clear();
        self.boxes.resize(boxes, 0);
        for number in numbers {
            self.boxes[of(*number)] += 1;
        }
        let (mut before, mut most) = (0, 0);
        for held in &mut self.boxes {
            most = most.max(*held);
            before += std::mem::replace(held, before);
        }
        if most > CROWD {
            return false;
        }
        self.placed.clear();
        self.placed.resize(numbers.len(), 0);
        for number in numbers {
            let place = &mut self.boxes[of(*number)];
            self.placed[*place as usize] = *number;
            *place += 1;
        }
        true
    }
}

/// Sorts numbers of which few are out of order, and none is far from its place.
fn put_right(numbers: &mut [u64]) {
    let mut greatest = 0;
    for i in 0..numbers.len() {
        let number = numbers[i];
        if number >= greatest {
            greatest = number;
            continue;
        }
        let mut place = i;
        while place > 0 && numbers[place - 1] > number {
            numbers[place] = numbers[place - 1];
            place -= 1;
        }
        numbers[place] = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whether they are spread, stand in runs, crowd or are all the same.
        #[test]
        fn numbers_are_sorted(
            end in prop::sample::select(vec![1u64, 2, 50, 1_000_003, u32::MAX as u64]),
            sets in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..400), 1..4),
        ) {
            let mut spread = Spread::default();
            for set in sets {
                for crowded in [false, true] {
                    let range = if crowded { end.div_ceil(1000) } else { end };
                    let number = |(place, time): (usize, &u64)| (time % range) << 32 | place as u64;
                    let mut numbers: Vec<u64> = set.iter().enumerate().map(number).collect();
                    let mut wanted = numbers.clone();
                    wanted.sort_unstable();
                    spread.sort(&mut numbers, end);
                    prop_assert_eq!(&numbers, &wanted);
                }
            }
        }
    }
}
