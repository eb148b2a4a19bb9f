//! Retransmission timeouts, classified by the place in a block at which they occur.
//!
//! Source: Zhang, Ren and Lin 2011, "Modeling and Understanding TCP Incast Throughput Collapse in Data
//! Center Networks", INFOCOM. A *block head* timeout follows the loss of a whole window at the start of a
//! block: nothing comes back. A *block tail* timeout follows the loss of one of its last packets: too
//! few come after it for the duplicates that fast retransmit needs. A block is a message here. The
//! sender's view decides: a message that came whole, of which it does not know, is one of which the end is
//! missing. Timeouts of a handshake, of unbounded flows and all others are neither.

use super::ends::{Block, Message, SendingEnd};
use super::facts::TimeoutCounts;
use crate::transport::{Config, State};

/// The timeout that is about to expire at the sender of `end`, as a count.
pub(super) fn classify(end: &SendingEnd, config: &Config) -> TimeoutCounts {
    let sender = &end.sender;
    let una = sender.una();
    let block = end.blocks.iter().find(|block| block.end > una);
    let sacked = sender.sacked();
    let few = config.settings.dup_acks.saturating_mul(config.rules.mss);
    match block.filter(|_| sender.state() == State::Established) {
        Some(block) => place(una, sacked, block, few),
        None => TimeoutCounts { all: 1, ..TimeoutCounts::default() },
    }
}

/// The timeout of an end that reads, with `next` the byte that it expects, as a count.
pub(super) fn classify_read(next: u64, message: Option<&Message>, config: &Config) -> TimeoutCounts {
    let few = config.settings.dup_acks.saturating_mul(config.rules.mss);
    match message {
        Some(message) => place(next, 0, &Block { end: message.end, bytes: message.bytes }, few),
        None => TimeoutCounts { all: 1, ..TimeoutCounts::default() },
    }
}

/// With `una` the oldest byte not acknowledged, `sacked` how many beyond it have arrived, and `few` the
/// bytes whose packets are too few for a fast retransmit.
fn place(una: u64, sacked: u64, block: &Block, few: u64) -> TimeoutCounts {
    let starts = block.end - block.bytes;
    let head = una == starts && sacked == 0;
    let tail = !head && una >= starts && block.end - una <= few;
    TimeoutCounts { all: 1, head: head.into(), tail: tail.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Head and tail of a timeout in a block of ten segments from byte 50 000 on.
    fn at(una: u64, sacked: u64) -> (u64, u64) {
        let (end, bytes) = (60_000, 10_000);
        let counts = place(una, sacked, &Block { end, bytes }, 3000);
        assert_eq!(counts.all, 1);
        (counts.head, counts.tail)
    }

    #[test]
    fn a_block_of_which_nothing_arrived_timed_out_at_its_head() {
        assert_eq!(at(50_000, 0), (1, 0));
        assert_eq!(at(50_000, 1000), (0, 0)); // the first packet alone was lost
        assert_eq!(at(51_000, 0), (0, 0));
        assert_eq!(at(49_000, 0), (0, 0)); // of the block before
    }

    #[test]
    fn one_of_the_last_three_packets_is_the_tail() {
        assert_eq!(at(56_000, 0), (0, 0)); // three come after it
        assert_eq!(at(57_000, 2000), (0, 1));
        assert_eq!(at(59_000, 0), (0, 1));
    }
}
