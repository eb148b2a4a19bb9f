//! The event queue: a tournament over the sources of events.
//!
//! Each source (a wire, a timer, a load) has at most one event to come: a wire only its head packet,
//! a flow only its soonest timer. So every source owns a leaf of a binary tree in which each node
//! holds the smaller of its children's keys, and the root is the next event. A change replays one
//! path from leaf to root: one comparison a level, no branch that depends on the outcome, addresses
//! known in advance. A 4-ary heap, measured beside it, took twice the instructions.
//! The tree need not be full: any even number of nodes will do.
//!
//! A key packs (time, order, source) into 128 bits, so one integer comparison orders two events. The
//! order number counts scheduling, which makes ties first in, first out.

use shallows_units::Time;
use std::hint::select_unpredictable;

/// The subject of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The packet at the head of a port's wire reaches the far end.
    Wire(u32),
    /// A port that schedules at departure finishes a transmission, or looks again for a packet.
    Port(u32),
    /// The sending side of a flow set its timer.
    Sender(u32),
    /// The receiving side of a flow set its timer.
    Receiver(u32),
    /// A workload asked to be woken.
    Load(u32),
    /// The clock of a port's controller strikes.
    Tick(u32),
    /// The clock of a port that pauses its peer, or that its peer pauses.
    Pause(u32),
    /// A host's pacer may send its next pull.
    Pull(u32),
    /// A packet outside the FIFO of its wire (reordered or duplicated there) reaches the far end.
    Stray(u32),
}

/// A source of events: something that has at most one event to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source(u32);

impl Source {
    /// Not yet added to any queue.
    pub const NONE: Source = Source(u32::MAX);
}

const SOURCE_BITS: u32 = 26;
const ORDER_BITS: u32 = 38;
const ORDER_MASK: u64 = (1 << ORDER_BITS) - 1;

/// Sources that one run can hold: the bits of a source in a key.
pub const MAX_SOURCES: usize = 1 << SOURCE_BITS;

/// Bytes of memory that a source takes: its event, its leaf, and a node above.
pub const EVENT_BYTES: usize = size_of::<Event>() + 32;

/// When and in which order an event comes, and whose it is.
#[derive(Debug, Clone, Copy)]
struct Key {
    time: u64,
    /// Order and source.
    rest: u64,
}

impl Key {
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

/// Sorts after every event.
const NEVER: Key = Key { time: u64::MAX, rest: u64::MAX };

/// Place of the root's words.
const ROOT: usize = 2;

/// The events to come, in order of time, then of scheduling.
#[derive(Debug)]
pub struct EventQueue {
    /// Two words a node: time; order and source. Node 1 is the root, node n has children 2n and
    /// 2n + 1; the second half are the leaves.
    tree: Vec<u64>,
    sources: Vec<Event>,
    /// The source whose event was popped and that has not been scheduled again: its leaf is stale.
    fired: Source,
    scheduled: u64,
    /// Odd multiplier of the order number: 1 keeps ties FIFO, others shuffle them (a bijection).
    stride: u64,
}

impl EventQueue {
    /// An empty queue. `tie_stride` is 1 for FIFO ties; any other odd number permutes them, which
    /// tests use to show that no stated result depends on the order of simultaneous events.
    pub fn new(tie_stride: u64) -> Self {
        EventQueue {
            tree: vec![NEVER.time; 4],
            sources: vec![],
            fired: Source::NONE,
            scheduled: 0,
            stride: tie_stride | 1,
        }
    }

    /// A new source, nothing scheduled.
    pub fn add(&mut self, event: Event) -> Source {
        assert!(self.sources.len() < MAX_SOURCES, "a run holds at most {MAX_SOURCES} sources of events");
        let source = Source(self.sources.len() as u32);
        self.sources.push(event);
        if self.sources.len() > self.tree.len() / 4 {
            self.widen();
        }
        source
    }

    /// Sources so far.
    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    /// Events scheduled so far.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Schedules the next event of `source` at `at`, in place of the one it had.
    #[inline(always)]
    pub fn schedule(&mut self, source: Source, at: Time) {
        let order = self.scheduled.wrapping_mul(self.stride) & ORDER_MASK;
        self.scheduled += 1;
        let key = Key { time: at.as_ps(), rest: order << SOURCE_BITS | u64::from(source.0) };
        if self.fired == source {
            self.fired = Source::NONE;
        }
        self.replay(source, key);
    }

    /// `source` has no event to come.
    pub fn cancel(&mut self, source: Source) {
        if self.fired == source {
            self.fired = Source::NONE;
        }
        self.replay(source, NEVER);
    }

    /// The next event and its time.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, Event)> {
        if self.fired != Source::NONE {
            self.replay(self.fired, NEVER);
        }
        let next = Key { time: self.tree[ROOT], rest: self.tree[ROOT + 1] };
        if next.time == NEVER.time {
            self.fired = Source::NONE;
            return None;
        }
        let source = next.rest as u32 & (MAX_SOURCES as u32 - 1);
        self.fired = Source(source);
        Some((Time::ps(next.time), self.sources[source as usize]))
    }

    /// The next event and its time, if it comes before `bound`.
    #[inline]
    pub fn pop_before(&mut self, bound: Time) -> Option<(Time, Event)> {
        if self.next_at() >= bound {
            return None;
        }
        let source = self.tree[ROOT + 1] as u32 & (MAX_SOURCES as u32 - 1);
        self.fired = Source(source);
        Some((Time::ps(self.tree[ROOT]), self.sources[source as usize]))
    }

    /// When the next event comes.
    #[inline]
    pub fn next_at(&mut self) -> Time {
        if self.fired != Source::NONE {
            self.replay(self.fired, NEVER);
            self.fired = Source::NONE;
        }
        Time::ps(self.tree[ROOT])
    }

    /// Adds the events before `until` to `due`, in no order. Call between a [`EventQueue::next_at`] and a pop.
    pub fn before(&self, until: Time, due: &mut Vec<Event>) {
        debug_assert!(self.fired == Source::NONE, "a stale leaf would come once more");
        self.before_below(ROOT, until.as_ps(), due);
    }

    /// The same from `place` on downwards: a node that comes later has nothing sooner below it.
    fn before_below(&self, place: usize, until: u64, due: &mut Vec<Event>) {
        if self.tree[place] >= until {
            return;
        }
        if place >= self.tree.len() / 2 {
            let source = self.tree[place + 1] as u32 & (MAX_SOURCES as u32 - 1);
            due.push(self.sources[source as usize]);
            return;
        }
        self.before_below(2 * place, until, due);
        self.before_below(2 * place + 2, until, due);
    }

    /// Puts back an event just popped, in its old place: the loop stopped before it.
    pub fn unpop(&mut self) {
        debug_assert!(self.fired != Source::NONE);
        self.fired = Source::NONE;
    }

    /// Sets the leaf of `source` and every winner above it.
    #[inline(always)]
    fn replay(&mut self, source: Source, key: Key) {
        let tree = self.tree.as_mut_slice();
        // Twice the number of the node. Leaves are in order of their sources, and the first ones
        // are a level nearer to the root: the wires.
        let mut place = tree.len() / 2 + 2 * source.0 as usize;
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
    }

    /// Makes room for more leaves.
    #[cold]
    fn widen(&mut self) {
        let before = self.tree.len() / 4;
        let leaves = before + before / 4 + 1;
        let mut wider = EventQueue { tree: vec![NEVER.time; 4 * leaves], ..EventQueue::new(self.stride) };
        for (source, words) in (0..).zip(self.tree[2 * before..].chunks_exact(2)) {
            wider.replay(Source(source), Key { time: words[0], rest: words[1] });
        }
        self.tree = wider.tree;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Schedulings and pops in any mixture give events by time, and by scheduling at equal times.
        #[test]
        fn order_is_by_time_then_fifo(steps in prop::collection::vec(prop::option::of((0u32..20, 0u64..8)), 0..300)) {
            let mut queue = EventQueue::new(1);
            let mut model: std::collections::BTreeMap<u32, (u64, u64)> = Default::default();
            let mut known = vec![];
            let mut clock = 0;
            for (order, step) in steps.into_iter().enumerate() {
                match step {
                    Some((number, delay)) => {
                        while known.len() <= number as usize {
                            known.push(queue.add(Event::Wire(known.len() as u32)));
                        }
                        queue.schedule(known[number as usize], Time::ps(clock + delay));
                        model.insert(number, (clock + delay, order as u64));
                    }
                    None => {
                        let least = model.iter().min_by_key(|(_, k)| **k).map(|(n, k)| (*n, k.0));
                        let got = queue.pop().map(|(t, e)| (t.as_ps(), e));
                        prop_assert_eq!(got, least.map(|(n, t)| (t, Event::Wire(n))));
                        if let Some((n, t)) = least {
                            model.remove(&n);
                            clock = t;
                        }
                    }
                }
            }
        }
    }

    /// A source whose event is cancelled, also the one just popped, has none until it is scheduled again.
    #[test]
    fn a_cancelled_event_never_comes() {
        let mut queue = EventQueue::new(1);
        let sources: Vec<Source> = (0..5).map(|i| queue.add(Event::Wire(i))).collect();
        sources.iter().for_each(|source| queue.schedule(*source, Time::ps(7)));
        assert_eq!(queue.pop(), Some((Time::ps(7), Event::Wire(0))));
        queue.cancel(sources[0]);
        queue.cancel(sources[2]);
        queue.cancel(sources[2]);
        let left: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(left, [Event::Wire(1), Event::Wire(3), Event::Wire(4)]);
        queue.schedule(sources[2], Time::ps(9));
        assert_eq!(queue.pop(), Some((Time::ps(9), Event::Wire(2))));
    }

    /// The events before a time are found without a pop, each once.
    #[test]
    fn events_before_a_time_are_known() {
        for sources in [1, 2, 7, 20] {
            let mut queue = EventQueue::new(1);
            let all: Vec<Source> = (0..sources).map(|i| queue.add(Event::Wire(i))).collect();
            for (i, source) in (0..).zip(&all) {
                queue.schedule(*source, Time::ps(i * 7 % 11));
            }
            for until in 0..12 {
                let mut due = vec![];
                queue.before(Time::ps(until), &mut due);
                due.sort_by_key(|event| format!("{event:?}"));
                let mut wanted: Vec<Event> =
                    (0..sources).filter(|i| u64::from(*i) * 7 % 11 < until).map(Event::Wire).collect();
                wanted.sort_by_key(|event| format!("{event:?}"));
                assert_eq!(due, wanted, "{sources} sources, before {until}");
            }
        }
    }

    #[test]
    fn an_unpopped_event_comes_again() {
        let mut queue = EventQueue::new(1);
        let (a, b) = (queue.add(Event::Port(1)), queue.add(Event::Port(2)));
        queue.schedule(a, Time::ps(5));
        queue.schedule(b, Time::ps(5));
        let first = queue.pop();
        queue.unpop();
        assert_eq!(queue.pop(), first);
        assert_eq!(queue.pop().unwrap().1, Event::Port(2));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn another_stride_keeps_times_and_loses_no_event() {
        let mut queue = EventQueue::new(0x2b_9e37_79b9_7f4b);
        for i in 0..100 {
            let source = queue.add(Event::Wire(i));
            queue.schedule(source, Time::ps(u64::from(i / 10)));
        }
        let popped: Vec<u32> = std::iter::from_fn(|| queue.pop())
            .map(|(t, e)| match e {
                Event::Wire(i) if t == Time::ps(u64::from(i / 10)) => i,
                other => panic!("{other:?} at {t:?}"),
            })
            .collect();
        let mut sorted = popped.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert_ne!(popped, sorted);
    }
}
