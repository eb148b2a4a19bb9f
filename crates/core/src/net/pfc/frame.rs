//! A pause frame, and how it travels among packets.

use crate::packet::Packet;
pub use crate::queue::parts::lanes::PRIORITIES;

/// Bytes of a pause frame on the wire (IEEE 802.3-2018 s.4.4.2, annex 31D.3): 64, preamble 8, gap 12.
pub const FRAME: u16 = 84;

/// The contents of a pause frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Priorities that it names, a bit each.
    pub names: u8,
    /// Those of them that it pauses; it resumes the others.
    pub pauses: u8,
    /// For how long, in quanta.
    pub quanta: u16,
}

impl Frame {
    /// As it travels along a wire, among packets.
    pub(super) fn packet(self) -> Packet {
        let contents = u64::from(self.names) | u64::from(self.pauses) << 8 | u64::from(self.quanta) << 16;
        Packet::pause(contents, FRAME)
    }

    /// The frame that travels as `packet`.
    pub(super) fn of(packet: &Packet) -> Frame {
        let seq = packet.seq;
        Frame { names: seq as u8, pauses: (seq >> 8) as u8, quanta: (seq >> 16) as u16 }
    }
}

/// The numbers of the bits that are set.
pub fn ones(bits: u8) -> impl Iterator<Item = u8> {
    (0..PRIORITIES as u8).filter(move |priority| bits >> priority & 1 != 0)
}
