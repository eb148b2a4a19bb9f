//! Packets of NDP: their kinds as header bits.
//!
//! Source: Handley et al. 2017 s.3; in the authors' simulator headers, acknowledgements, NACKs and pulls have 64 bytes.
//! A trimmed packet is [`Packet::trimmed`]; one on its way back to its sender has [`Flags::REVERSE`] too.

use crate::packet::{Flags, Packet};

/// The sender has written nothing behind this packet.
pub const LAST: Flags = Flags::FIN;
/// On the way back: the packet that begins at this number came without its payload.
pub const NACK: Flags = Flags::ACK.with(Flags::ECE);
/// On the way back: all has come, and no pull of it is to be sent.
pub const DONE: Flags = Flags::FIN;
/// On the way back: one more packet may leave for each number that is new.
pub const PULL: Flags = Flags::PROBE;

/// Whether it reports that a packet came without its payload.
pub fn is_nack(packet: &Packet) -> bool {
    packet.flags.any(Flags::REVERSE) && packet.flags.any(Flags::ECE)
}

/// Whether it asks for a packet.
pub fn is_pull(packet: &Packet) -> bool {
    packet.flags.any(Flags::REVERSE) && packet.flags.any(PULL) && !packet.trimmed()
}
