//! Schedules of collective operations: which block each rank sends to which peer in which step.
//!
//! Source: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
//! 19(1) 2005: s.4.1 ring and recursive doubling of the all-gather, s.4.3 pairwise exchange of the all-to-all, s.4.4
//! recursive halving of the reduce-scatter, s.4.5 all-reduce as a reduce-scatter and an all-gather (Rabenseifner). The
//! ring of the all-reduce is that of Patarasuk and Yuan, JPDC 69(2) 2009.
//! The buffer has a block for each rank, block b for rank b.

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
        /// Each rank ends with the buffer of the first one.
        Broadcast = "broadcast",
        /// The first rank ends with the sum of all buffers.
        Reduce = "reduce",
        /// Each rank sends its buffer to the next one, the last to the first: the exchange of nccl-tests.
        SendRecv = "send-recv",
    }
}

crate::choices! {
    /// The order in which ranks exchange blocks.
    pub enum Algorithm {
        /// Each rank sends to the next one, a block a step; a broadcast and a reduction go along the chain of ranks.
        Ring = "ring",
        /// Each rank exchanges with partners at distances n/2, n/4 ... 1, and back again.
        HalvingDoubling = "halving-doubling",
        /// Sums go up a binary tree of ranks, and results down.
        Tree = "tree",
        /// Two such trees carry half of the buffer each; ranks inside one are leaves of the other.
        DoubleTree = "double-tree",
        /// Rings in each server of `group` ranks, and rings between the ranks of equal place.
        Hierarchical = "hierarchical",
    }
}

/// The schedule of an all-reduce, an all-gather, a reduce-scatter or an all-to-all among `ranks` ranks, by a ring or by halving and
/// doubling. `plan.rs` has the others.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// The operation.
    pub operation: Operation,
    /// Its algorithm; an all-to-all has one alone.
    pub algorithm: Algorithm,
    /// Ranks, at least two; a power of two for halving-doubling.
    pub ranks: u64,
}

/// Bytes of blocks `first` to `first + count - 1` of a buffer of `bytes` in `blocks` blocks.
pub fn part_of(bytes: u64, blocks: u64, first: u64, count: u64) -> u64 {
    let (each, longer) = (bytes / blocks, bytes % blocks);
    let end = first + count;
    count * each + end.min(longer) - first.min(longer)
}

impl Schedule {
    /// Steps of a part of the operation.
    fn part(&self) -> u64 {
        match (self.operation, self.algorithm) {
            (_, Algorithm::HalvingDoubling) => u64::from(self.ranks.ilog2()),
            _ => self.ranks - 1,
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

    /// The name of a step.
    pub fn name(&self, step: u64) -> &'static str {
        match self.operation {
            Operation::AllToAll => "all-to-all",
            _ if self.reduces(step) => "reduce-scatter",
            _ => "all-gather",
        }
    }

    /// Whether a step belongs to a reduce-scatter.
    fn reduces(&self, step: u64) -> bool {
        match self.operation {
            Operation::AllReduce => step < self.part(),
            Operation::ReduceScatter => true,
            _ => false,
        }
    }

    /// Blocks that each rank sends in a step.
    fn width(&self, step: u64) -> u64 {
        match self.algorithm {
            Algorithm::HalvingDoubling if self.reduces(step) => self.ranks >> (step + 1),
            Algorithm::HalvingDoubling => 1 << (step % self.part()),
            _ => 1,
        }
    }

    /// Where `rank` sends in a step, from which block on, and how many blocks.
    pub fn send(&self, rank: u64, step: u64) -> (u64, u64, u64) {
        let (n, width) = (self.ranks, self.width(step));
        let aligned = |rank: u64| rank / width * width;
        let (peer, first) = match (self.operation, self.algorithm) {
            (Operation::AllToAll, _) => {
                let peer = (rank + step + 1) % n;
                (peer, peer)
            }
            (_, Algorithm::HalvingDoubling) => {
                let peer = rank ^ width;
                (peer, aligned(if self.reduces(step) { peer } else { rank }))
            }
            // Block b goes round from rank b + 1 to rank b, which then has its sum.
            _ if self.reduces(step) => ((rank + 1) % n, (rank + 2 * n - 1 - step) % n),
            _ => ((rank + 1) % n, (rank + n - step % self.part()) % n),
        };
        (peer, first, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// All schedules of up to 17 ranks.
    fn all() -> Vec<Schedule> {
        use Operation::{AllGather, AllReduce, AllToAll, ReduceScatter};
        let mut all = vec![];
        for ranks in 2..=17u64 {
            for operation in [AllReduce, AllGather, ReduceScatter] {
                all.push(Schedule { operation, algorithm: Algorithm::Ring, ranks });
                let algorithm = Algorithm::HalvingDoubling;
                all.extend(ranks.is_power_of_two().then_some(Schedule { operation, algorithm, ranks }));
            }
            all.push(Schedule { operation: AllToAll, algorithm: Algorithm::Ring, ranks });
        }
        all
    }

    /// 2 (n - 1) steps of a ring, 2 log2 n of halving and doubling; half of them without the other part.
    #[test]
    fn steps_are_those_of_the_literature() {
        for schedule in all() {
            let n = schedule.ranks;
            let part = match schedule.algorithm {
                Algorithm::HalvingDoubling => u64::from(n.ilog2()),
                _ => n - 1,
            };
            let parts = if schedule.operation == Operation::AllReduce { 2 } else { 1 };
            assert_eq!(schedule.steps(), parts * part, "{schedule:?}");
        }
    }

    /// A rank sends and receives (n - 1) / n of the buffer in each part, to a block's odd byte.
    #[test]
    fn each_rank_moves_its_share_of_the_buffer() {
        for schedule in all() {
            let n = schedule.ranks;
            for bytes in [n, 12 * n, 1000 + n / 2] {
                let mut received = vec![0; n as usize];
                for rank in 0..n {
                    let mut sent = 0;
                    for step in 0..schedule.steps() {
                        let (peer, first, count) = schedule.send(rank, step);
                        let moved = part_of(bytes, n, first, count);
                        sent += moved;
                        received[peer as usize] += moved;
                    }
                    let exact = schedule.parts() * (n - 1) * bytes;
                    let odd = schedule.parts() * n;
                    assert!((sent * n).abs_diff(exact) <= odd * n, "{schedule:?}");
                }
                let together = schedule.parts() * (n - 1) * bytes;
                assert_eq!(received.iter().sum::<u64>(), together, "{schedule:?}");
            }
        }
    }

    /// The data itself: what each rank holds of each block follows the messages, and is all of it in the end. A set of
    /// ranks stands for the sum of their contributions.
    #[test]
    fn every_rank_ends_with_the_result() {
        for schedule in all() {
            let n = schedule.ranks as usize;
            if schedule.operation == Operation::AllToAll {
                let peers = |rank| (0..schedule.steps()).map(move |step| (rank, schedule.send(rank, step).0));
                let pairs: BTreeSet<(u64, u64)> = (0..schedule.ranks).flat_map(peers).collect();
                assert_eq!(pairs.len(), n * (n - 1));
                continue;
            }
            let own = |rank: usize, block: usize| match schedule.operation == Operation::AllGather
                && rank != block
            {
                true => BTreeSet::new(),
                false => BTreeSet::from([rank]),
            };
            let mut held: Vec<Vec<BTreeSet<usize>>> =
                (0..n).map(|rank| (0..n).map(|block| own(rank, block)).collect()).collect();
            for step in 0..schedule.steps() {
                let before = held.clone();
                for (rank, mine) in before.iter().enumerate() {
                    let (peer, first, count) = schedule.send(rank as u64, step);
                    for block in first as usize..(first + count) as usize {
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
