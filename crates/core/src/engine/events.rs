//! The event queue: a 4-ary heap of packed keys, first in first out at equal times.
//!
//! A key packs (time, order, event) into 128 bits, so one integer comparison orders two events. The
//! order number counts scheduling, which makes ties FIFO. A pop leaves a hole at the root and the
//! next push fills it: nearly every event schedules a successor, and so most pops cost one sift.

use shallows_units::Time;

/// What an event concerns. Packed into 26 bits.
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
    /// A packet outside the FIFO of its wire (reordered or duplicated there) reaches the far end.
    Stray(u32),
}

const INDEX_BITS: u32 = 23;
const EVENT_BITS: u32 = 26;
const ORDER_BITS: u32 = 38;
const ORDER_MASK: u64 = (1 << ORDER_BITS) - 1;

/// Flows, ports and workloads that one run can hold at a time: the index bits of a packed event.
pub const MAX_INDEX: usize = 1 << INDEX_BITS;

impl Event {
    fn pack(self) -> u64 {
        let (kind, index) = match self {
            Event::Wire(i) => (0, i),
            Event::Port(i) => (1, i),
            Event::Sender(i) => (2, i),
            Event::Receiver(i) => (3, i),
            Event::Load(i) => (4, i),
            Event::Stray(i) => (5, i),
        };
        debug_assert!((index as usize) < MAX_INDEX);
        kind << INDEX_BITS | u64::from(index)
    }

    fn unpack(bits: u64) -> Event {
        let index = (bits & ((1 << INDEX_BITS) - 1)) as u32;
        match bits >> INDEX_BITS & 7 {
            0 => Event::Wire(index),
            1 => Event::Port(index),
            2 => Event::Sender(index),
            3 => Event::Receiver(index),
            4 => Event::Load(index),
            _ => Event::Stray(index),
        }
    }
}

/// Future events in order of time, then of scheduling.
#[derive(Debug)]
pub struct EventQueue {
    heap: Vec<u128>,
    /// The root has been popped and not yet replaced.
    hole: bool,
    scheduled: u64,
    /// Odd multiplier of the order number: 1 keeps ties FIFO, others shuffle them (a bijection).
    stride: u64,
}

impl EventQueue {
    /// An empty queue. `tie_stride` is 1 for FIFO ties; any other odd number permutes them, which
    /// tests use to show that no stated result hangs on the order of simultaneous events.
    pub fn new(tie_stride: u64) -> Self {
        EventQueue { heap: Vec::with_capacity(64), hole: false, scheduled: 0, stride: tie_stride | 1 }
    }

    /// Events scheduled so far.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Schedules `event` at `at`.
    #[inline]
    pub fn push(&mut self, at: Time, event: Event) {
        let order = self.scheduled.wrapping_mul(self.stride) & ORDER_MASK;
        self.scheduled += 1;
        let low = order << EVENT_BITS | event.pack();
        let key = u128::from(at.as_ps()) << 64 | u128::from(low);
        if self.hole {
            self.hole = false;
            self.sink(key);
        } else {
            self.rise(key);
        }
    }

    /// The next event and its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Event)> {
        self.close_hole();
        let key = *self.heap.first()?;
        self.hole = true;
        Some((Time::ps((key >> 64) as u64), Event::unpack(key as u64)))
    }

    /// Puts back an event just popped, in its old place: the loop stopped before it.
    pub fn unpop(&mut self) {
        debug_assert!(self.hole);
        self.hole = false;
    }

    #[inline]
    fn close_hole(&mut self) {
        if self.hole {
            self.hole = false;
            if let Some(last) = self.heap.pop()
                && !self.heap.is_empty()
            {
                self.sink(last);
            }
        }
    }

    /// Places `key`, starting from the root, whose old value is void.
    #[inline]
    fn sink(&mut self, key: u128) {
        let heap = self.heap.as_mut_slice();
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let (child, least) = match heap.get(first..first + 4) {
                Some(four) => {
                    let (a, x) = if four[1] < four[0] { (1, four[1]) } else { (0, four[0]) };
                    let (b, y) = if four[3] < four[2] { (3, four[3]) } else { (2, four[2]) };
                    if y < x { (first + b, y) } else { (first + a, x) }
                }
                None => match heap.get(first..).unwrap_or(&[]).iter().enumerate().min_by_key(|(_, k)| **k) {
                    Some((i, k)) => (first + i, *k),
                    None => break,
                },
            };
            if least >= key {
                break;
            }
            heap[at] = least;
            at = child;
        }
        heap[at] = key;
    }

    /// Places `key`, starting from a new leaf.
    #[inline]
    fn rise(&mut self, key: u128) {
        let mut at = self.heap.len();
        self.heap.push(key);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_event_survives_packing() {
        for event in [
            Event::Wire(0),
            Event::Port(7),
            Event::Sender(8_388_607),
            Event::Receiver(1),
            Event::Load(3),
            Event::Stray(9),
        ] {
            assert_eq!(Event::unpack(event.pack()), event);
        }
    }

    proptest! {
        /// Pushes and pops in any mixture give events by time, and by scheduling at equal times.
        #[test]
        fn order_is_by_time_then_fifo(steps in prop::collection::vec(prop::option::of(0u64..8), 0..300)) {
            let mut queue = EventQueue::new(1);
            let mut model: Vec<(u64, u32)> = vec![];
            let mut next = 0;
            let mut clock = 0;
            for step in steps {
                match step {
                    Some(delay) => {
                        queue.push(Time::ps(clock + delay), Event::Wire(next));
                        model.push((clock + delay, next));
                        next += 1;
                    }
                    None => {
                        let least = model.iter().enumerate().min_by_key(|(_, k)| **k).map(|(i, _)| i);
                        let expected = least.map(|i| model.remove(i));
                        let got = queue.pop().map(|(t, e)| (t.as_ps(), e));
                        prop_assert_eq!(got, expected.map(|(t, i)| (t, Event::Wire(i))));
                        if let Some((t, _)) = expected { clock = t; }
                    }
                }
            }
        }
    }

    #[test]
    fn an_unpopped_event_comes_again() {
        let mut queue = EventQueue::new(1);
        queue.push(Time::ps(5), Event::Port(1));
        queue.push(Time::ps(5), Event::Port(2));
        let first = queue.pop();
        queue.unpop();
        assert_eq!(queue.pop(), first);
        assert_eq!(queue.pop().unwrap().1, Event::Port(2));
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn another_stride_keeps_times_and_loses_no_event() {
        let mut queue = EventQueue::new(0x2b_9e37_79b9_7f4a);
        for i in 0..100u32 {
            queue.push(Time::ps(u64::from(i / 10)), Event::Wire(i));
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
