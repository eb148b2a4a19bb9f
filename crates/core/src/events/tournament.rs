//! A tournament over sources of events, each of which has at most one event to come.
//!
//! Every source owns a leaf of a binary tree in which each node holds the sooner of its children's keys, so the root is
//! the next event. A change replays one path from leaf to root: one comparison a level, no branch that depends on the
//! outcome, addresses known in advance. A 4-ary heap, measured beside it, took twice the instructions.
//! The tree need not be full: any even number of nodes will do.

use std::hint::select_unpredictable;

/// When and in which order an event comes, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    /// Time in ps.
    pub time: u64,
    /// Order and source. No two events to come have the same.
    pub rest: u64,
}

/// Sorts after every event.
pub(super) const NEVER: Key = Key { time: u64::MAX, rest: u64::MAX };

impl Key {
    /// Whether its event comes before that of `other`.
    #[inline(always)]
    pub fn is_before(self, other: Key) -> bool {
        self.time < other.time || self.time == other.time && self.rest < other.rest
    }

    /// The sooner of the two. Which one that is is a coin toss, so a branch on it would mispredict
    /// every other time; two selections do not. Equal times are rare enough for a branch.
    #[inline(always)]
    fn sooner(self, other: Key) -> Key {
        if other.time == self.time {
            return self.first_of_tied(other);
        }
        Key {
            time: select_unpredictable(other.time < self.time, other.time, self.time),
            rest: select_unpredictable(other.time < self.time, other.rest, self.rest),
        }
    }

    /// The one that was scheduled first; their times are equal.
    #[cold]
    #[inline(never)]
    fn first_of_tied(self, other: Key) -> Key {
        Key { time: self.time, rest: self.rest.min(other.rest) }
    }
}

/// Place of the root's words.
const ROOT: usize = 2;

/// The next event of each source, and the soonest of all.
#[derive(Debug)]
pub(super) struct Tournament {
    /// The soonest of all: what stands at the root.
    pub first: Key,
    /// Two words a node: time; order and source. Node 1 is the root, node n has children 2n and
    /// 2n + 1; the second half are the leaves.
    tree: Vec<u64>,
}

impl Tournament {
    /// Without sources.
    pub fn new() -> Self {
        Tournament::of(1)
    }

    fn of(leaves: usize) -> Self {
        Tournament { first: NEVER, tree: vec![NEVER.time; 4 * leaves] }
    }

    /// Has room for so many sources from now on.
    pub fn hold(&mut self, sources: usize) {
        if sources > self.tree.len() / 4 {
            self.widen();
        }
    }

    /// Sets the leaf of `source` and every winner above it.
    #[inline(always)]
    pub fn replay(&mut self, source: u32, key: Key) {
        let tree = self.tree.as_mut_slice();
        // Twice the number of the node.
        let mut place = tree.len() / 2 + 2 * source as usize;
        let mut winner = key;
        assert!(place + 1 < tree.len());
        // SAFETY: `place` is even and below the length, which is a multiple of 4. So is the place
        // of its sibling, `place ^ 2`, and that of its parent, which is smaller; and a place that is
        // even and below an even length has a word after it. The checks took 7 % of a run.
        #[allow(unsafe_code)]
        unsafe {
            let mut node = tree.get_unchecked_mut(place..);
            *node.get_unchecked_mut(0) = winner.time;
            *node.get_unchecked_mut(1) = winner.rest;
            while place > ROOT {
                let sibling = tree.get_unchecked(place ^ 2..);
                let (time, rest) = (*sibling.get_unchecked(0), *sibling.get_unchecked(1));
                winner = winner.sooner(Key { time, rest });
                place = (place / 2) & !1;
                // One address for both words of a node: (place + 1) by itself takes four instructions more a level.
                node = tree.get_unchecked_mut(place..);
                *node.get_unchecked_mut(0) = winner.time;
                *node.get_unchecked_mut(1) = winner.rest;
            }
        }
        self.first = winner;
    }

    /// Calls `found` with the rest of each key before `until`, in no order.
    pub fn before(&self, until: u64, found: &mut impl FnMut(u64)) {
        self.before_below(ROOT, until, found);
    }

    /// Calls `found` for keys from `place` on downwards: a node that comes later has nothing sooner below it.
    fn before_below(&self, place: usize, until: u64, found: &mut impl FnMut(u64)) {
        if self.tree[place] >= until {
            return;
        }
        if place >= self.tree.len() / 2 {
            return found(self.tree[place + 1]);
        }
        self.before_below(2 * place, until, found);
        self.before_below(2 * place + 2, until, found);
    }

    /// Makes room for more leaves.
    #[cold]
    fn widen(&mut self) {
        let before = self.tree.len() / 4;
        let mut wider = Tournament::of(before + before / 4 + 1);
        for (source, words) in (0..).zip(self.tree[2 * before..].chunks_exact(2)) {
            wider.replay(source, Key { time: words[0], rest: words[1] });
        }
        *self = wider;
    }
}
