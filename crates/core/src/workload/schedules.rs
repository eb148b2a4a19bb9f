//! Schedules of collective operations: which block each rank sends to which peer in which step.
//!
//! Source: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
//! 19(1) 2005: s.4.1 ring and recursive doubling of the all-gather, s.4.3 pairwise exchange of the all-to-all, s.4.4
//! recursive halving of the reduce-scatter, s.4.5 all-reduce as a reduce-scatter and an all-gather (Rabenseifner). The
//! ring of the all-reduce is that of Patarasuk and Yuan, JPDC 69(2) 2009.
//! The buffer has a block for each rank, block b for rank b. Where the ranks do not divide its bytes, the first blocks
//! are one byte longer.

crate::choices! {
    /// The operation.
    pub enum Operation {
        /// Each rank ends with the sum of all buffers: a reduce-scatter, then an all-gather.
        AllReduce = "all-reduce",
        /// Each rank ends with the blocks of all.
        AllGather = "all-gather",
        /// Each rank ends with the sum of one block.
        ReduceScatter = "reduce-scatter",
        /// Each rank sends each other rank a block of its own.
        AllToAll = "all-to-all",
    }
}

crate::choices! {
    /// The order in which ranks exchange blocks.
    pub enum Algorithm {
        /// Each rank sends to the next one, a block a step.
        Ring = "ring",
        /// Each rank exchanges with partners at distances n/2, n/4 ... 1, and back again.
        HalvingDoubling = "halving-doubling",
    }
}

/// The schedule of one operation among `ranks` ranks.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// The operation.
    pub operation: Operation,
    /// Its algorithm; an all-to-all has one alone.
    pub algorithm: Algorithm,
    /// Ranks, at least two; a power of two for halving-doubling.
    pub ranks: u64,
    /// Bytes of the buffer, at least one for each rank.
    pub bytes: u64,
}

/// Names of steps, by [`Schedule::name`].
pub const NAMES: [&str; 3] = ["reduce-scatter", "all-gather", "all-to-all"];

impl Schedule {
    /// Steps of a part of the operation.
    fn part(&self) -> u64 {
        match (self.operation, self.algorithm) {
            (Operation::AllToAll, _) | (_, Algorithm::Ring) => self.ranks - 1,
            (_, Algorithm::HalvingDoubling) => u64::from(self.ranks.ilog2()),
        }
    }

    /// Parts: an all-reduce has two.
    pub fn parts(&self) -> u64 {
        if self.operation == Operation::AllReduce { 2 } else { 1 }
    }

    /// Steps.
    pub fn steps(&self) -> u64 {
        self.parts() * self.part()
    }

    /// The name of a step, by its place in [`NAMES`].
    pub fn name(&self, step: u64) -> u32 {
        match self.operation {
            Operation::AllToAll => 2,
            _ => u32::from(!self.reduces(step)),
        }
    }

    /// Whether a step belongs to a reduce-scatter.
    fn reduces(&self, step: u64) -> bool {
        match self.operation {
            Operation::AllReduce => step < self.part(),
            Operation::ReduceScatter => true,
            Operation::AllGather | Operation::AllToAll => false,
        }
    }

    /// Bytes of blocks `first` to `first + count - 1`.
    fn blocks(&self, first: u64, count: u64) -> u64 {
        let (each, longer) = (self.bytes / self.ranks, self.bytes % self.ranks);
        let end = first + count;
        count * each + end.min(longer) - first.min(longer)
    }

    /// Blocks that each rank sends in a step.
    fn width(&self, step: u64) -> u64 {
        match (self.operation, self.algorithm) {
            (Operation::AllToAll, _) | (_, Algorithm::Ring) => 1,
            _ if self.reduces(step) => self.ranks >> (step + 1),
            _ => 1 << (step % self.part()),
        }
    }

    /// Where `rank` sends in a step, and how many bytes.
    pub fn send(&self, rank: u64, step: u64) -> (u64, u64) {
        let (n, width) = (self.ranks, self.width(step));
        let aligned = |rank: u64| rank / width * width;
        match (self.operation, self.algorithm) {
            (Operation::AllToAll, _) => {
                let peer = (rank + step + 1) % n;
                (peer, self.blocks(peer, 1))
            }
            // Block b goes round from rank b + 1 to rank b, which then has its sum.
            (_, Algorithm::Ring) if self.reduces(step) => {
                ((rank + 1) % n, self.blocks((rank + 2 * n - 1 - step) % n, 1))
            }
            (_, Algorithm::Ring) => ((rank + 1) % n, self.blocks((rank + n - step % self.part()) % n, 1)),
            (_, Algorithm::HalvingDoubling) if self.reduces(step) => {
                let peer = rank ^ width;
                (peer, self.blocks(aligned(peer), width))
            }
            (_, Algorithm::HalvingDoubling) => (rank ^ width, self.blocks(aligned(rank), width)),
        }
    }

    /// Bytes that all ranks together send in a step: each block goes to as many ranks as a rank sends blocks.
    pub fn together(&self, step: u64) -> u64 {
        self.bytes.saturating_mul(self.width(step))
    }

    /// Bytes that each rank sends at least, and receives.
    pub fn least_of_a_rank(&self) -> u64 {
        (self.parts() * (self.ranks - 1)).saturating_mul(self.bytes / self.ranks)
    }

    /// Pairs of ranks that exchange data, each once.
    pub fn pairs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let steps = match (self.operation, self.algorithm) {
            (Operation::AllToAll, _) | (_, Algorithm::HalvingDoubling) => self.part(),
            (_, Algorithm::Ring) => 1,
        };
        (0..self.ranks).flat_map(move |rank| (0..steps).map(move |step| (rank, self.send(rank, step).0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// All schedules of up to 17 ranks, with bytes that the ranks divide and bytes that they do not.
    fn all() -> Vec<Schedule> {
        let mut all = vec![];
        for ranks in 2..=17u64 {
            for operation in Operation::ALL {
                for algorithm in Algorithm::ALL {
                    let power = algorithm == Algorithm::Ring || ranks.is_power_of_two();
                    if power && (operation != Operation::AllToAll || algorithm == Algorithm::Ring) {
                        let of = |bytes| Schedule { operation, algorithm, ranks, bytes };
                        all.extend([ranks, 12 * ranks, 1000 + ranks / 2].map(of));
                    }
                }
            }
        }
        all
    }

    /// 2 (n - 1) steps of a ring, 2 log2 n of halving and doubling; half of them without the other part.
    #[test]
    fn steps_are_those_of_the_literature() {
        for schedule in all() {
            let n = schedule.ranks;
            let part = match (schedule.operation, schedule.algorithm) {
                (Operation::AllToAll, _) | (_, Algorithm::Ring) => n - 1,
                (_, Algorithm::HalvingDoubling) => u64::from(n.ilog2()),
            };
            let parts = if schedule.operation == Operation::AllReduce { 2 } else { 1 };
            assert_eq!(schedule.steps(), parts * part, "{schedule:?}");
        }
    }

    /// A rank sends and receives (n - 1) / n of the buffer in each part, to a block's odd byte.
    #[test]
    fn each_rank_moves_its_share_of_the_buffer() {
        for schedule in all() {
            let mut received = vec![0; schedule.ranks as usize];
            for rank in 0..schedule.ranks {
                let sends = (0..schedule.steps()).map(|step| schedule.send(rank, step));
                let sent: u64 = sends.clone().map(|(_, bytes)| bytes).sum();
                sends.for_each(|(peer, bytes)| received[peer as usize] += bytes);
                let exact = schedule.parts() * (schedule.ranks - 1) * schedule.bytes;
                let odd = schedule.parts() * schedule.ranks;
                assert!((sent * schedule.ranks).abs_diff(exact) <= odd * schedule.ranks, "{schedule:?}");
                assert!(sent >= schedule.least_of_a_rank(), "{schedule:?}");
            }
            let together: u64 = (0..schedule.steps()).map(|step| schedule.together(step)).sum();
            assert_eq!(received.iter().sum::<u64>(), together, "{schedule:?}");
        }
    }

    /// The data itself: what each rank holds of each block follows the messages, and is all of it in the end. A set of
    /// ranks stands for the sum of their contributions.
    #[test]
    fn every_rank_ends_with_the_result() {
        for schedule in all().into_iter().filter(|s| s.bytes == s.ranks) {
            let n = schedule.ranks as usize;
            let gathers = matches!(schedule.operation, Operation::AllGather | Operation::AllToAll);
            let own = |rank: usize, block: usize| match gathers && rank != block {
                true => BTreeSet::new(),
                false => BTreeSet::from([rank]),
            };
            let mut held: Vec<Vec<BTreeSet<usize>>> =
                (0..n).map(|rank| (0..n).map(|block| own(rank, block)).collect()).collect();
            if schedule.operation == Operation::AllToAll {
                let pairs: BTreeSet<(u64, u64)> = schedule.pairs().collect();
                assert_eq!(pairs.len(), n * (n - 1));
                continue;
            }
            for step in 0..schedule.steps() {
                let before = held.clone();
                for (rank, mine) in before.iter().enumerate() {
                    let (peer, bytes) = schedule.send(rank as u64, step);
                    // A byte a block: the bytes sent are the blocks that the algorithm names.
                    let width = bytes as usize;
                    let first = match (schedule.algorithm, schedule.reduces(step)) {
                        (Algorithm::Ring, true) => (rank + 2 * n - 1 - step as usize) % n,
                        (Algorithm::Ring, false) => (rank + n - (step % schedule.part()) as usize) % n,
                        (_, true) => peer as usize / width * width,
                        (_, false) => rank / width * width,
                    };
                    for block in first..first + width {
                        let sent = mine[block].clone();
                        match schedule.reduces(step) {
                            true => held[peer as usize][block].extend(sent),
                            false => held[peer as usize][block] = sent,
                        }
                    }
                }
            }
            for (rank, blocks) in held.iter().enumerate() {
                for (block, sum) in blocks.iter().enumerate() {
                    let whole = match schedule.operation {
                        Operation::AllGather => sum == &BTreeSet::from([block]),
                        Operation::ReduceScatter => block != rank || sum.len() == n,
                        _ => sum.len() == n,
                    };
                    assert!(whole, "{schedule:?}: rank {rank}, block {block}: {sum:?}");
                }
            }
        }
    }
}
