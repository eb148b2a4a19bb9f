//! The event queue: the events to come, in order of time, then of scheduling.
//!
//! Each source (a wire, a timer, a load) has at most one event to come: a wire only its head packet,
//! a flow only its soonest timer. Two tournaments order them. Wires have one of their own: nearly all events are theirs, and
//! so each is a level or more nearer to the root than among the timers of all connections.
//!
//! A key packs (time, order, source) into 128 bits. The order number counts scheduling, which makes ties first in, first
//! out, in both tournaments together.

use super::tournament::{Key, NEVER, Tournament};
use shallows_units::Time;

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
    /// The clock of a port's controller ticks.
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

/// A wire as a source of events: one at a time, for its first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// Its place in the tournament of wires.
    place: u32,
    /// The number of its port, which stands in keys.
    port: u32,
}

impl Wire {
    /// Not yet added to any queue.
    pub const NONE: Wire = Wire { place: u32::MAX, port: u32::MAX };
}

const SOURCE_BITS: u32 = 26;

/// Sources that one run can hold: the bits of a source in a key.
pub const MAX_SOURCES: usize = 1 << SOURCE_BITS;

/// Bytes of memory that a source takes: its event, its leaf, and a node above.
pub const EVENT_BYTES: usize = size_of::<Event>() + 32;

/// The number of the source in a key.
#[inline(always)]
fn source_in(rest: u64) -> u32 {
    rest as u32 & (MAX_SOURCES as u32 - 1)
}

/// The events to come, in order of time, then of scheduling.
#[derive(Debug)]
pub struct EventQueue {
    wires: Tournament,
    others: Tournament,
    /// How many there are.
    wired: usize,
    /// By source of the others: its event.
    events: Vec<Event>,
    /// The source whose event was popped and that has not been scheduled again: its leaf is stale.
    fired: Source,
    /// The order number of the next event that is scheduled, in its place in a key. It grows by an odd number: 1 keeps ties
    /// FIFO, others shuffle them (a bijection).
    order: u64,
    stride: u64,
}

impl EventQueue {
    /// An empty queue. `tie_stride` is 1 for FIFO ties; any other odd number permutes them, which
    /// tests use to show that no stated result depends on the order of simultaneous events.
    pub fn new(tie_stride: u64) -> Self {
        EventQueue {
            wires: Tournament::new(),
            others: Tournament::new(),
            wired: 0,
            events: vec![],
            fired: Source::NONE,
            order: 0,
            stride: (tie_stride | 1) << SOURCE_BITS,
        }
    }

    /// A new source, nothing scheduled.
    pub fn add(&mut self, event: Event) -> Source {
        assert!(self.events.len() < MAX_SOURCES, "a run holds at most {MAX_SOURCES} sources of events");
        let source = Source(self.events.len() as u32);
        self.events.push(event);
        self.others.hold(self.events.len());
        source
    }

    /// The wire of `port`, on which nothing travels.
    pub fn add_wire(&mut self, port: u32) -> Wire {
        assert!((port as usize) < MAX_SOURCES, "a run holds at most {MAX_SOURCES} wires");
        let place = self.wired as u32;
        self.wired += 1;
        self.wires.hold(self.wired);
        Wire { place, port }
    }

    /// Sources so far, wires included.
    pub fn sources(&self) -> usize {
        self.events.len() + self.wired
    }

    /// The key of the event that is scheduled now.
    #[inline(always)]
    fn key(&mut self, source: u32, at: Time) -> Key {
        let rest = self.order | u64::from(source);
        self.order = self.order.wrapping_add(self.stride); // bits that overflow are not needed
        Key { time: at.as_ps(), rest }
    }

    /// Schedules the next event of `source` at `at`, in place of the one it had.
    #[inline]
    pub fn schedule(&mut self, source: Source, at: Time) {
        let key = self.key(source.0, at);
        self.set(source, key);
    }

    /// `source` has no event to come.
    pub fn cancel(&mut self, source: Source) {
        self.set(source, NEVER);
    }

    #[inline(always)]
    fn set(&mut self, source: Source, key: Key) {
        if self.fired == source {
            self.fired = Source::NONE;
        }
        self.others.replay(source.0, key);
    }

    /// The first packet of `wire` lands at `at`.
    #[inline(always)]
    pub fn expect(&mut self, wire: Wire, at: Time) {
        let key = self.key(wire.port, at);
        self.wires.replay(wire.place, key);
    }

    /// Nothing travels on `wire` any more.
    #[inline(always)]
    pub fn expect_nothing(&mut self, wire: Wire) {
        self.wires.replay(wire.place, NEVER);
    }

    /// The next event and its time. See [`EventQueue::pop_before`].
    pub fn pop(&mut self) -> Option<(Time, Event)> {
        self.pop_before(Time::MAX)
    }

    /// The next event and its time, if it comes before `bound`. An event of a wire stays the next one until
    /// [`EventQueue::expect`] or [`EventQueue::expect_nothing`] is called for the wire; any other is gone.
    #[inline(always)]
    pub fn pop_before(&mut self, bound: Time) -> Option<(Time, Event)> {
        if self.fired != Source::NONE {
            self.clear_fired();
        }
        let (wire, other) = (self.wires.first, self.others.first);
        let first_is_other = other.is_before(wire);
        let first = if first_is_other { other } else { wire };
        if first.time >= bound.as_ps() {
            return None;
        }
        let source = source_in(first.rest);
        let event = if first_is_other {
            self.fired = Source(source);
            self.events[source as usize]
        } else {
            Event::Wire(source)
        };
        Some((Time::ps(first.time), event))
    }

    #[inline(never)]
    fn clear_fired(&mut self) {
        self.others.replay(self.fired.0, NEVER);
        self.fired = Source::NONE;
    }

    /// When the next event comes.
    #[inline]
    pub fn next_at(&mut self) -> Time {
        if self.fired != Source::NONE {
            self.clear_fired();
        }
        Time::ps(self.wires.first.time.min(self.others.first.time))
    }

    /// Adds the events before `until` to `due`, in no order. Call between a [`EventQueue::next_at`] and a pop.
    pub fn before(&self, until: Time, due: &mut Vec<Event>) {
        debug_assert!(self.fired == Source::NONE, "a stale leaf would come once more");
        let until = until.as_ps();
        self.wires.before(until, &mut |rest| due.push(Event::Wire(source_in(rest))));
        self.others.before(until, &mut |rest| due.push(self.events[source_in(rest) as usize]));
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

    /// Wires and timers of one time come as they were scheduled. A wire's event stays until its next one is known.
    #[test]
    fn wires_and_others_are_one_queue() {
        let mut queue = EventQueue::new(1);
        let (wire, timer) = (queue.add_wire(7), queue.add(Event::Sender(3)));
        let times = [5, 5, 6].map(Time::ps);
        queue.schedule(timer, times[0]);
        queue.expect(wire, times[1]);
        assert_eq!(queue.pop_before(times[0]), None);
        assert_eq!(queue.pop(), Some((times[0], Event::Sender(3))));
        assert_eq!(queue.pop(), Some((times[1], Event::Wire(7))));
        queue.expect(wire, times[2]);
        queue.schedule(timer, times[2]);
        assert_eq!(queue.pop(), Some((times[2], Event::Wire(7))));
        queue.expect_nothing(wire);
        assert_eq!(queue.pop(), Some((times[2], Event::Sender(3))));
        assert_eq!(queue.pop(), None);
        assert_eq!(queue.next_at(), Time::MAX);
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
