//! Several queue pairs between two hosts: how messages are shared among them, and when a message is whole again.
//!
//! Source: the practice of collective libraries over RoCEv2, which open several queue pairs to a peer, so that switches hash
//! its traffic to several paths. A message is cut into parts of whole packets, one for each queue pair, or each message goes whole by
//! the next one. A queue pair opens when it first has something to carry.
//! Each queue pair has a row of its own among the connections; a message has one row, which ends with its last part.

use super::facts::{FlowId, Pair, Write};
use super::roster::Opener;
use std::collections::BTreeMap;

/// The queue pairs of one opened connection.
#[derive(Debug, Clone)]
pub(super) struct Bundle {
    pub(super) opener: Opener,
    pub(super) ends: Pair,
    /// Those that stand; the first is the one that the load knows.
    pub(super) members: Vec<FlowId>,
    /// Running number of the first.
    pub(super) serial: u32,
    /// Most of them.
    pub(super) most: u64,
    /// Each message is cut.
    pub(super) cuts: bool,
    /// The next to carry something.
    pub(super) turn: u64,
    /// Bytes written over all of them.
    pub(super) written: u64,
}

impl Bundle {
    /// The members, by place, that carry a message of `bytes`, and what each takes of it; packets have `payload` bytes.
    pub(super) fn share_out(&mut self, bytes: u64, payload: u64) -> Vec<(usize, u64)> {
        let packets = bytes.div_ceil(payload).max(1);
        let parts = if self.cuts { packets.min(self.most) } else { 1 };
        let mut left = bytes;
        let share = |part: u64| {
            let own = (packets / parts + u64::from(part < packets % parts)).saturating_mul(payload).min(left);
            left -= own;
            (((self.turn + part) % self.most) as usize, own)
        };
        let shares = (0..parts).map(share).collect();
        self.turn = (self.turn + parts) % self.most;
        self.written = self.written.saturating_add(bytes);
        shares
    }
}

/// A message that several queue pairs carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shared {
    /// The connection that the load knows.
    pub(super) id: FlowId,
    /// Its running number.
    pub(super) serial: u32,
    /// One beyond its last byte, over all queue pairs of the bundle.
    pub(super) end: u64,
    /// Its bytes.
    pub(super) bytes: u64,
}

impl Shared {
    pub(super) fn new(bundle: &Bundle, write: Write) -> Self {
        Shared { id: bundle.members[0], serial: bundle.serial, end: bundle.written, bytes: write.bytes }
    }
}

/// The meaning of a part's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// It is no part, but a message of its own.
    Alone,
    /// Others are under way, or the message was given up before.
    Waits,
    /// It was the last, or the first that was given up.
    Last(Shared),
}

/// Parts under way, by the running number of their queue pair and one beyond their last byte there.
#[derive(Debug, Default)]
pub(super) struct Parts {
    of: BTreeMap<(u32, u64), Shared>,
    /// By message, its parts under way.
    left: BTreeMap<(u32, u64), u64>,
}

impl Parts {
    /// One of so many parts of a message.
    pub(super) fn add(&mut self, part: (u32, u64), shared: Shared, parts: u64) {
        self.of.insert(part, shared);
        self.left.insert((shared.serial, shared.end), parts);
    }

    /// A part has come whole.
    pub(super) fn came(&mut self, part: (u32, u64)) -> Part {
        let Some(shared) = self.take(part) else { return Part::Alone };
        let Some(left) = self.left.get_mut(&(shared.serial, shared.end)) else { return Part::Waits };
        *left -= 1;
        if *left > 0 {
            return Part::Waits;
        }
        self.left.remove(&(shared.serial, shared.end));
        Part::Last(shared)
    }

    /// A part never comes: its message is given up with it, once.
    pub(super) fn gives_up(&mut self, part: (u32, u64)) -> Part {
        let Some(shared) = self.take(part) else { return Part::Alone };
        self.left.remove(&(shared.serial, shared.end)).map_or(Part::Waits, |_| Part::Last(shared))
    }

    fn take(&mut self, part: (u32, u64)) -> Option<Shared> {
        if self.of.is_empty() { None } else { self.of.remove(&part) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::graph::NodeId;

    fn bundle(most: u64, cuts: bool) -> Bundle {
        Bundle {
            opener: Opener { load: 0 },
            ends: (NodeId(0), NodeId(1)),
            members: vec![7],
            serial: 3,
            most,
            cuts,
            turn: 0,
            written: 0,
        }
    }

    /// Whole packets, as equal as they can be; what is less than a packet ends the last part.
    #[test]
    fn a_message_is_cut_into_whole_packets() {
        let mut four = bundle(4, true);
        assert_eq!(four.share_out(10_500, 1000), [(0, 3000), (1, 3000), (2, 3000), (3, 1500)]);
        assert_eq!(four.share_out(2000, 1000), [(0, 1000), (1, 1000)]);
        // Short messages go on behind the last one.
        assert_eq!(four.share_out(2001, 1000), [(2, 1000), (3, 1000), (0, 1)]);
        assert_eq!(four.share_out(1, 1000), [(1, 1)]);
        assert_eq!(four.written, 14_502);
        for bytes in [1, 999, 1000, 4001, 123_457] {
            let shares = bundle(8, true).share_out(bytes, 1000);
            assert_eq!(shares.iter().map(|(_, own)| own).sum::<u64>(), bytes);
            assert!(shares.iter().all(|(_, own)| *own > 0), "{bytes}: {shares:?}");
        }
    }

    #[test]
    fn in_turns_each_message_goes_whole() {
        let mut two = bundle(2, false);
        let carried: Vec<_> = (1..=3).flat_map(|bytes| two.share_out(bytes * 9000, 1000)).collect();
        assert_eq!(carried, [(0, 9000), (1, 18_000), (0, 27_000)]);
    }

    /// The last part to come makes the message whole, whatever the order; another connection's end is no part.
    #[test]
    fn a_message_is_whole_with_its_last_part() {
        let shared = Shared { id: 7, serial: 3, end: 500, bytes: 500 };
        let mut parts = Parts::default();
        assert_eq!(parts.came((9, 10)), Part::Alone);
        for serial in [3, 4, 5] {
            parts.add((serial, 100), shared, 3);
        }
        assert_eq!(parts.came((3, 99)), Part::Alone);
        assert_eq!(
            [5, 3, 4].map(|serial| parts.came((serial, 100))),
            [Part::Waits, Part::Waits, Part::Last(shared)]
        );
        assert_eq!(parts.came((4, 100)), Part::Alone);
    }

    /// Given up once, by the first part that never comes.
    #[test]
    fn a_message_is_given_up_once() {
        let shared = Shared { id: 7, serial: 3, end: 500, bytes: 500 };
        let mut parts = Parts::default();
        for serial in [3, 4, 5] {
            parts.add((serial, 100), shared, 3);
        }
        assert_eq!(parts.came((4, 100)), Part::Waits);
        assert_eq!(parts.gives_up((5, 100)), Part::Last(shared));
        assert_eq!(parts.came((3, 100)), Part::Waits);
        assert!(parts.of.is_empty() && parts.left.is_empty());
    }
}
