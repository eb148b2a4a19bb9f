//! Plans of collective operations: the messages of one operation, and what each of them waits for.
//!
//! Rings, halving and doubling and the pairwise exchange are those of `schedules.rs`. A chain of ranks and a binary tree carry
//! a broadcast, a reduction or both. Sources: the double binary tree is that of Sanders, Speck and Traeff, "Two-tree
//! algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35(12) 2009: every other rank of a
//! tree is a leaf, and the second tree is the first one reflected, or shifted where the number of ranks is odd. The
//! hierarchical all-reduce is a reduce-scatter in each server, an all-reduce between ranks of equal place, and an
//! all-gather in each server (Jia et al., "Highly Scalable Deep Learning Training System with Mixed-Precision", 2018).

use super::schedules::{Algorithm, Operation, Schedule, part_of};

/// Neighbouring blocks of a buffer that is divided into so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The first of them.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Blocks of the whole buffer.
    pub blocks: u32,
}

impl Part {
    const ALL: Part = Part { first: 0, count: 1, blocks: 1 };

    /// Its bytes in a buffer of `bytes`. The first blocks are one byte longer where they do not divide it.
    pub fn bytes(&self, bytes: u64) -> u64 {
        let [first, count, blocks] = [self.first, self.count, self.blocks].map(u64::from);
        part_of(bytes, blocks, first, count)
    }
}

/// One message of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// The rank that sends it.
    pub from: u32,
    /// The rank that it goes to.
    pub to: u32,
    /// Its step.
    pub step: u32,
    /// The part of the buffer that it carries.
    pub part: Part,
}

/// Lists of numbers, one after another in one piece of memory.
#[derive(Debug, Default)]
pub struct Lists {
    begins: Vec<u32>,
    members: Vec<u32>,
}

impl Lists {
    /// For each of `n` numbers those that stand beside it, in the order of `pairs`.
    fn new(n: usize, pairs: &[(u32, u32)]) -> Self {
        let mut begins = vec![0; n + 1];
        pairs.iter().for_each(|(of, _)| begins[*of as usize + 1] += 1);
        for i in 0..n {
            begins[i + 1] += begins[i];
        }
        let (mut next, mut members) = (begins.clone(), vec![0; pairs.len()]);
        for (of, member) in pairs {
            let place = &mut next[*of as usize];
            members[*place as usize] = *member;
            *place += 1;
        }
        Lists { begins, members }
    }

    /// The list of `i`.
    pub fn of(&self, i: u32) -> &[u32] {
        &self.members[self.begins[i as usize] as usize..self.begins[i as usize + 1] as usize]
    }
}

/// The messages of one operation, in an order in which they can be sent.
#[derive(Debug)]
pub struct Plan {
    /// Messages.
    pub messages: Vec<Message>,
    /// Names of its steps.
    pub steps: Vec<&'static str>,
    /// By message: those that its delivery lets go.
    pub next: Lists,
    /// By message: those of the same sender that wait until it is sent.
    pub then: Lists,
    /// By message: how many things it waits for, one of which is that its sender begins.
    pub waits: Vec<u32>,
    /// By rank: its messages.
    pub of_rank: Lists,
    /// By rank: messages that come to it.
    pub receives: Vec<u32>,
}

/// Where a rank stands in a plan that is being made.
#[derive(Debug, Default, Clone)]
struct Stand {
    /// Messages to it so far, in the order in which it takes them.
    came: Vec<u32>,
    /// Its latest message.
    sent: Option<u32>,
}

#[derive(Default)]
struct Maker {
    messages: Vec<Message>,
    steps: Vec<&'static str>,
    next: Vec<(u32, u32)>,
    then: Vec<(u32, u32)>,
    stands: Vec<Stand>,
}

impl Maker {
    fn message(&mut self, from: u32, to: u32, step: u32, part: Part) -> u32 {
        self.messages.push(Message { from, to, step, part });
        self.messages.len() as u32 - 1
    }

    /// The ranks `members` follow `schedule`; its blocks become parts by `part`. A message waits for those that its rank
    /// has received up to `window` steps before, and for its rank's message before it.
    fn follow(
        &mut self,
        members: &[u32],
        first_step: u32,
        schedule: &Schedule,
        window: u64,
        part: impl Fn(u64, u64) -> Part,
    ) {
        let before: Vec<usize> = members.iter().map(|rank| self.stands[*rank as usize].came.len()).collect();
        for step in 0..schedule.steps() {
            let mut came = Vec::with_capacity(members.len());
            for (i, rank) in (0..).zip(members) {
                let (peer, first, count) = schedule.send(i, step);
                let to = members[peer as usize];
                let number = self.message(*rank, to, first_step + step as u32, part(first, count));
                let stand = &mut self.stands[*rank as usize];
                // The messages of this schedule begin behind those of the stage before, all of which it needs.
                let needed = before[i as usize] as u64 + (step + 1).saturating_sub(window);
                if let Some(place) = needed.checked_sub(1) {
                    self.next.push((stand.came[place as usize], number));
                }
                self.then.extend(stand.sent.replace(number).map(|sent| (sent, number)));
                came.push((to, number));
            }
            came.into_iter().for_each(|(to, number)| self.stands[to as usize].came.push(number));
        }
    }

    /// A tree of ranks, each of which has a parent but the root, carries `part` to the root (`up`), from it (`down`), or both.
    fn climb(&mut self, parents: &[Option<u32>], depth: u32, part: Part, [up, down]: [bool; 2]) {
        let n = parents.len();
        let depths = depths(parents);
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by_key(|rank| depths[*rank as usize]);
        let mut came: Vec<Vec<u32>> = vec![vec![]; n];
        for rank in order.iter().rev().copied().filter(|_| up) {
            let Some(parent) = parents[rank as usize] else { continue };
            let number = self.message(rank, parent, depth - depths[rank as usize], part);
            self.next.extend(came[rank as usize].iter().map(|before| (*before, number)));
            came[parent as usize].push(number);
        }
        // The root waits for all of its children, every other rank for its parent.
        let climbed = if up { depth } else { 0 };
        for rank in order.into_iter().filter(|_| down) {
            let Some(parent) = parents[rank as usize] else { continue };
            let number = self.message(parent, rank, climbed + depths[rank as usize] - 1, part);
            self.next.extend(came[parent as usize].iter().map(|before| (*before, number)));
            came[rank as usize] = vec![number];
        }
    }

    fn name(&mut self, name: &'static str, steps: u64) {
        self.steps.extend((0..steps).map(|_| name));
    }

    fn done(self, ranks: usize) -> Plan {
        let n = self.messages.len();
        let mut waits = vec![1; n];
        self.next.iter().chain(&self.then).for_each(|(_, after)| waits[*after as usize] += 1);
        let mut receives = vec![0; ranks];
        self.messages.iter().for_each(|message| receives[message.to as usize] += 1);
        let of_rank: Vec<(u32, u32)> = self.messages.iter().map(|m| m.from).zip(0..).collect();
        Plan {
            steps: self.steps,
            next: Lists::new(n, &self.next),
            then: Lists::new(n, &self.then),
            waits,
            of_rank: Lists::new(ranks, &of_rank),
            receives,
            messages: self.messages,
        }
    }
}

/// The parent of each rank in a binary tree whose root is rank 0: every odd rank is a leaf. Rank r with the lowest bit b
/// lies between its children r - b/2 and r + b/2.
fn binary(n: u32) -> Vec<Option<u32>> {
    let parent = |rank: u32| {
        let bit = rank & rank.wrapping_neg();
        let right = (rank - bit) | bit << 1;
        if right < n { right } else { rank - bit }
    };
    (0..n).map(|rank| (rank > 0).then(|| parent(rank))).collect()
}

/// The second tree: the first one reflected, or shifted by one where the number of ranks is odd.
fn second(n: u32) -> Vec<Option<u32>> {
    let first = binary(n);
    let other = |rank: u32| if n.is_multiple_of(2) { n - 1 - rank } else { (rank + 1) % n };
    let back = |rank: u32| if n.is_multiple_of(2) { n - 1 - rank } else { (rank + n - 1) % n };
    (0..n).map(|rank| first[back(rank) as usize].map(other)).collect()
}

/// Links between each rank and the root.
fn depths(parents: &[Option<u32>]) -> Vec<u32> {
    let mut depths = vec![None; parents.len()];
    for rank in 0..parents.len() {
        let (mut walk, mut at) = (vec![], rank);
        let mut depth = loop {
            match (depths[at], parents[at]) {
                (Some(depth), _) => break depth,
                (None, None) => break 0,
                (None, Some(parent)) => {
                    walk.push(at);
                    at = parent as usize;
                }
            }
        };
        depths[at] = Some(depth);
        for at in walk.into_iter().rev() {
            depth += 1;
            depths[at] = Some(depth);
        }
    }
    depths.into_iter().map(Option::unwrap_or_default).collect()
}

fn depth(parents: &[Option<u32>]) -> u32 {
    depths(parents).into_iter().max().unwrap_or_default()
}

/// The operation by its algorithm.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The operation.
    pub operation: Operation,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// Ranks.
    pub ranks: u64,
    /// Ranks of a server, of a hierarchical all-reduce.
    pub group: u64,
    /// Messages of an all-to-all that a rank may be ahead.
    pub window: u64,
}

impl Shape {
    /// Blocks into which a buffer is divided: it needs as many bytes.
    pub fn blocks(&self) -> u64 {
        match (self.operation, self.algorithm) {
            (Operation::Broadcast | Operation::Reduce | Operation::SendRecv, _) | (_, Algorithm::Tree) => 1,
            (_, Algorithm::DoubleTree) => 2,
            _ => self.ranks,
        }
    }

    /// Messages of its plan, or a few more.
    pub fn messages(&self) -> u64 {
        let n = self.ranks;
        match (self.operation, self.algorithm) {
            (Operation::Broadcast | Operation::Reduce | Operation::SendRecv, _) => n,
            (_, Algorithm::Tree | Algorithm::DoubleTree) => n.saturating_mul(4),
            (_, Algorithm::Hierarchical) => {
                n.saturating_mul(self.group.saturating_add(n / self.group.max(1)).saturating_mul(2))
            }
            (operation, algorithm) => n.saturating_mul(Schedule { operation, algorithm, ranks: n }.steps()),
        }
    }

    /// Its plan. The settings do not contradict each other.
    pub fn plan(&self) -> Plan {
        let n = self.ranks as u32;
        let mut maker = Maker { stands: vec![Stand::default(); n as usize], ..Maker::default() };
        let ways = [self.operation != Operation::Broadcast, self.operation != Operation::Reduce];
        match (self.operation, self.algorithm) {
            (Operation::SendRecv, _) => {
                (0..n).for_each(|rank| _ = maker.message(rank, (rank + 1) % n, 0, Part::ALL));
                maker.name("send-recv", 1);
            }
            (Operation::Broadcast | Operation::Reduce, Algorithm::Ring) => {
                let chain: Vec<_> = (0..n).map(|rank| rank.checked_sub(1)).collect();
                maker.trees(&[chain], ways);
            }
            (_, Algorithm::Tree) => maker.trees(&[binary(n)], ways),
            (_, Algorithm::DoubleTree) => maker.trees(&[binary(n), second(n)], ways),
            (_, Algorithm::Hierarchical) => maker.hierarchy(n, self.group as u32),
            (operation, algorithm) => {
                let schedule = Schedule { operation, algorithm, ranks: self.ranks };
                let part = |first, count| Part { first: first as u32, count: count as u32, blocks: n };
                maker.follow(&(0..n).collect::<Vec<_>>(), 0, &schedule, self.window, part);
                (0..schedule.steps()).for_each(|step| maker.name(schedule.name(step), 1));
            }
        }
        maker.done(n as usize)
    }
}

impl Maker {
    /// Each of the trees carries its share of the buffer, all at once.
    fn trees(&mut self, trees: &[Vec<Option<u32>>], [up, down]: [bool; 2]) {
        let depth = trees.iter().map(|parents| depth(parents)).max().unwrap_or_default();
        for (i, parents) in (0..).zip(trees) {
            let part = Part { first: i, count: 1, blocks: trees.len() as u32 };
            self.climb(parents, depth, part, [up, down]);
        }
        self.name("reduce", u64::from(depth) * u64::from(up));
        self.name("broadcast", u64::from(depth) * u64::from(down));
    }

    /// Servers of `group` ranks each: block l of a server's buffer goes round the ranks of place l in all servers.
    fn hierarchy(&mut self, n: u32, group: u32) {
        let servers = n / group;
        let ring = |operation, ranks: u32| Schedule {
            operation,
            algorithm: Algorithm::Ring,
            ranks: u64::from(ranks),
        };
        let wide = |first: u64, count: u64| Part {
            first: first as u32 * servers,
            count: count as u32 * servers,
            blocks: n,
        };
        let inside = |maker: &mut Self, operation| {
            let (first_step, schedule) = (maker.steps.len() as u32, ring(operation, group));
            for server in 0..servers {
                let members: Vec<u32> = (0..group).map(|place| server * group + place).collect();
                maker.follow(&members, first_step, &schedule, 1, wide);
            }
            maker.name(schedule.name(0), schedule.steps());
        };
        inside(self, Operation::ReduceScatter);
        let (first_step, between) = (self.steps.len() as u32, ring(Operation::AllReduce, servers));
        for place in 0..group {
            let members: Vec<u32> = (0..servers).map(|server| server * group + place).collect();
            let narrow = |first: u64, count: u64| Part {
                first: place * servers + first as u32,
                count: count as u32,
                blocks: n,
            };
            self.follow(&members, first_step, &between, 1, narrow);
        }
        self.name("all-reduce", between.steps());
        inside(self, Operation::AllGather);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn shape(operation: Operation, algorithm: Algorithm, ranks: u64, group: u64) -> Shape {
        Shape { operation, algorithm, ranks, group, window: 1 }
    }

    /// All shapes whose data the test below can follow.
    fn all() -> Vec<Shape> {
        let mut all = vec![];
        for n in 2..=17 {
            for operation in [Operation::Broadcast, Operation::Reduce] {
                all.extend([Algorithm::Ring, Algorithm::Tree].map(|a| shape(operation, a, n, 1)));
            }
            let whole = [Algorithm::Ring, Algorithm::Tree, Algorithm::DoubleTree];
            all.extend(whole.map(|a| shape(Operation::AllReduce, a, n, 1)));
            let groups = (2..n).filter(|group| n % group == 0);
            all.extend(groups.map(|group| shape(Operation::AllReduce, Algorithm::Hierarchical, n, group)));
        }
        all
    }

    /// The data itself: a message carries what its sender holds once all that it waits for has come, and in the end all
    /// ranks hold the result. A set of ranks stands for the sum of their contributions.
    #[test]
    fn every_rank_ends_with_the_result() {
        for shape in all() {
            let plan = shape.plan();
            let (n, blocks) = (shape.ranks as usize, shape.blocks() as usize);
            let everyone: BTreeSet<usize> = (0..n).collect();
            let own = |rank| if shape.operation == Operation::Broadcast { 0 } else { rank };
            let mut held: Vec<Vec<BTreeSet<usize>>> =
                (0..n).map(|rank| vec![BTreeSet::from([own(rank)]); blocks]).collect();
            let mut waits = plan.waits.clone();
            waits.iter_mut().for_each(|waits| *waits -= 1);
            let mut free: Vec<u32> = (0..waits.len() as u32).filter(|m| waits[*m as usize] == 0).collect();
            let mut done = 0;
            while let Some(number) = free.pop() {
                done += 1;
                let Message { from, to, part, .. } = plan.messages[number as usize];
                for block in part.first..part.first + part.count {
                    let sent = held[from as usize][block as usize].clone();
                    held[to as usize][block as usize].extend(sent);
                }
                for after in plan.next.of(number).iter().chain(plan.then.of(number)) {
                    waits[*after as usize] -= 1;
                    free.extend((waits[*after as usize] == 0).then_some(*after));
                }
            }
            assert_eq!(done, plan.messages.len(), "{shape:?}: all messages are sent");
            for (rank, blocks) in held.iter().enumerate() {
                let whole = match shape.operation {
                    Operation::Reduce => rank > 0 || blocks.iter().all(|sum| *sum == everyone),
                    Operation::Broadcast => blocks.iter().all(|sum| *sum == BTreeSet::from([0])),
                    _ => blocks.iter().all(|sum| *sum == everyone),
                };
                assert!(whole, "{shape:?}: rank {rank} holds {blocks:?}");
            }
        }
    }

    /// A tree of n ranks has n - 1 edges, each used once a way, and about log2 n of them above a leaf.
    #[test]
    fn trees_are_binary_and_flat() {
        for n in 2..=70u32 {
            for parents in [binary(n), second(n)] {
                assert_eq!(parents.iter().filter(|parent| parent.is_none()).count(), 1, "{n}");
                let mut children = vec![0; n as usize];
                parents.iter().flatten().for_each(|parent| children[*parent as usize] += 1);
                assert!(children.iter().all(|count| *count <= 2), "{n}: {children:?}");
                assert!(depth(&parents) <= n.ilog2() + 1, "{n}: {}", depth(&parents));
            }
            let plan = shape(Operation::AllReduce, Algorithm::Tree, n.into(), 1).plan();
            assert_eq!(plan.messages.len() as u32, 2 * (n - 1));
        }
    }

    /// No rank of an even number of ranks has children in both trees: so each sends and receives about a buffer in all.
    #[test]
    fn ranks_inside_one_tree_are_leaves_of_the_other() {
        for n in (2..=70u32).step_by(2) {
            let inner = |parents: Vec<Option<u32>>| parents.into_iter().flatten().collect::<BTreeSet<u32>>();
            assert!(inner(binary(n)).is_disjoint(&inner(second(n))), "{n}");
        }
    }

    /// 2 (g - 1) steps in the servers and 2 (s - 1) between them; between them a rank sends 2 (s - 1) / s of its g-th.
    #[test]
    fn a_hierarchy_sends_little_between_servers() {
        let (group, servers, bytes) = (4, 3, 1200);
        let plan = shape(Operation::AllReduce, Algorithm::Hierarchical, group * servers, group).plan();
        assert_eq!(plan.steps.len() as u64, 2 * (group - 1) + 2 * (servers - 1));
        let across = |m: &&Message| u64::from(m.from) / group != u64::from(m.to) / group;
        let sent = |rank: u32| {
            let mine = plan.messages.iter().filter(across).filter(move |m| m.from == rank);
            mine.map(|m| m.part.bytes(bytes)).sum::<u64>()
        };
        for rank in 0..(group * servers) as u32 {
            assert_eq!(sent(rank), 2 * (servers - 1) * (bytes / group) / servers);
        }
    }

    /// Blocks of a buffer that they do not divide differ by a byte, and together they are the buffer.
    #[test]
    fn parts_add_up() {
        for blocks in 1..9 {
            let each = |first| Part { first, count: 1, blocks }.bytes(1003);
            assert_eq!((0..blocks).map(each).sum::<u64>(), 1003);
            assert_eq!(Part { first: 0, count: blocks, blocks }.bytes(1003), 1003);
        }
    }
}
