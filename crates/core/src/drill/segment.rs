//! A segment of a connection with data in both directions, and the two packets of one direction each that it is here.
//!
//! Numbers of segments are those of a packet script: the SYN has number 0, the first byte 1 (RFC 9293 s.3.4). A packet's
//! numbers begin with the first byte and the SYN has none.

use crate::packet::Flags;
use shallows_units::Time;

/// Bits of a packet by their letters, in the order in which scripts write them.
const LETTERS: [(char, Flags); 5] =
    [('S', Flags::SYN), ('E', Flags::ECE), ('W', Flags::CWR), ('F', Flags::FIN), ('.', Flags::ACK)];

/// Codepoints of ECN by their names.
const CODEPOINTS: [(&str, Flags); 4] =
    [("noecn", Flags(0)), ("ect0", Flags::ECT0), ("ect1", Flags::ECT1), ("ce", Flags::CE)];

/// A segment on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Segment {
    /// When it left.
    pub at: Time,
    /// Header bits, and the codepoint of ECN.
    pub flags: Flags,
    /// Number of its first byte.
    pub seq: u64,
    /// Bytes of payload.
    pub length: u64,
    /// The next number that its sender expects.
    pub ack: u64,
    /// SACK blocks.
    pub sack: Vec<(u64, u64)>,
}

impl Segment {
    /// The header bits of `letters` and the codepoint of that name; `None` for others.
    pub fn flags(letters: &str, codepoint: &str) -> Option<Flags> {
        let point = CODEPOINTS.iter().find(|(name, _)| *name == codepoint)?.1;
        letters.chars().try_fold(point, |all, letter| {
            LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, flag)| all.with(*flag))
        })
    }

    /// Its header bits as letters.
    pub fn letters(&self) -> String {
        LETTERS.iter().filter(|(_, flag)| self.flags.any(*flag)).map(|(letter, _)| letter).collect()
    }

    /// The name of its codepoint of ECN.
    pub fn codepoint(&self) -> &'static str {
        let named = CODEPOINTS[1..].iter().rev().find(|(_, flag)| self.flags.any(*flag));
        named.map_or(CODEPOINTS[0].0, |(name, _)| name)
    }
}
