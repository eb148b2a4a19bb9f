//! The cutting of a stream into packets: each message begins one.

use std::collections::VecDeque;

/// Messages of a stream that are not acknowledged whole.
#[derive(Debug, Default)]
pub struct Cutting {
    /// Their ends.
    ends: VecDeque<u64>,
    /// The end of the one before them.
    before: u64,
    /// The message that was asked for last.
    last: (u64, u64),
}

impl Cutting {
    /// A message is announced that ends before byte `end`.
    pub fn announce(&mut self, end: u64) {
        self.ends.push_back(end);
    }

    /// All below `una` is acknowledged.
    pub fn acknowledge(&mut self, una: u64) {
        while let Some(end) = self.ends.front().copied().filter(|end| *end <= una) {
            self.before = end;
            self.ends.pop_front();
        }
    }

    /// The message that byte `seq` belongs to: its first byte, and one beyond its last.
    pub fn message_of(&mut self, seq: u64) -> (u64, u64) {
        if !(self.last.0..self.last.1).contains(&seq) {
            let place = self.ends.partition_point(|end| *end <= seq);
            let starts = if place == 0 { self.before } else { self.ends[place - 1] };
            self.last = (starts, self.ends.get(place).copied().unwrap_or(u64::MAX));
        }
        self.last
    }
}
