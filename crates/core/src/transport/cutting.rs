//! The cutting of a stream into packets: each message begins one.

use std::collections::VecDeque;

/// Messages of a stream that are not acknowledged whole.
#[derive(Debug, Default)]
pub struct Cutting {
    /// Their ends.
    ends: VecDeque<u64>,
    /// The end of the one before them, and the packets up to there.
    before: u64,
    packets: u64,
    /// The message that was asked for last.
    last: (u64, u64),
}

impl Cutting {
    /// A message is announced that ends before byte `end`.
    pub fn announce(&mut self, end: u64) {
        self.ends.push_back(end);
    }

    /// All below `una` is acknowledged; a full packet has `mtu` bytes.
    pub fn acknowledge(&mut self, una: u64, mtu: u64) {
        while let Some(end) = self.ends.front().copied().filter(|end| *end <= una) {
            self.packets += (end - self.before).div_ceil(mtu);
            self.before = end;
            self.ends.pop_front();
        }
    }

    /// Packets below `una`, up to which all is acknowledged.
    pub fn packets_below(&self, una: u64, mtu: u64) -> u64 {
        self.packets + (una - self.before).div_ceil(mtu)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of 1, 2500 and 1000 bytes in packets of 1000: 1, 3 and 1.
    #[test]
    fn each_message_begins_a_packet() {
        let mut cutting = Cutting::default();
        [1, 2501, 3501].into_iter().for_each(|end| cutting.announce(end));
        assert_eq!(
            [0, 1, 2500, 2501].map(|seq| cutting.message_of(seq)),
            [(0, 1), (1, 2501), (1, 2501), (2501, 3501)]
        );
        for (una, packets) in [(0, 0), (1, 1), (1001, 2), (2001, 3), (2501, 4), (3501, 5)] {
            cutting.acknowledge(una, 1000);
            assert_eq!(cutting.packets_below(una, 1000), packets, "{una}");
        }
        assert_eq!(cutting.message_of(3501), (3501, u64::MAX), "without an announced end");
    }
}
