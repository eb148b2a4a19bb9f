//! A packet, by value: 48 bytes, so that it fits a cache line with its neighbours' places.

mod extension;
mod fate;
pub mod level;

pub use extension::{Carried, Extension, Extensions, NONE};
pub use fate::{Backlog, DropWhy, LostAt, Verdict};
use shallows_units::Time;

/// A data segment or an acknowledgement on its way.
///
/// Sequence numbers are 64-bit offsets into the flow's byte stream: they do not wrap. SYN takes no
/// number; FIN takes the one after the last byte.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Packet {
    /// On a wire: arrival at the far end. In a discipline that schedules: arrival there.
    pub at: Time,
    /// Data: first byte. Acknowledgement: next byte expected.
    pub seq: u64,
    /// Data: when it was handed to the NIC. Acknowledgement: that time, echoed (RFC 7323 s.3).
    pub stamp: Time,
    /// Time spent waiting in switch queues so far, in ps.
    pub waited: u64,
    /// The flow it belongs to.
    pub flow: u32,
    /// Destination and a hash of the flow, by which switches forward it (`routing/table.rs`).
    pub label: u32,
    /// SACK blocks and explicit feedback, kept apart because few packets have them; or [`NONE`].
    pub extension: u32,
    /// Bytes on the wire, headers included.
    pub size: u16,
    /// Kind and header bits.
    pub flags: Flags,
}

/// Header bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// Travels from receiver to sender.
    pub const REVERSE: Flags = Flags(1);
    /// Opens the connection.
    pub const SYN: Flags = Flags(1 << 1);
    /// No data after this.
    pub const FIN: Flags = Flags(1 << 2);
    /// `seq` acknowledges.
    pub const ACK: Flags = Flags(1 << 3);
    /// ECN-Echo (RFC 3168 s.6.1).
    pub const ECE: Flags = Flags(1 << 4);
    /// Congestion window reduced (RFC 3168 s.6.1.2).
    pub const CWR: Flags = Flags(1 << 5);
    /// ECN-capable transport, codepoint ECT(0).
    pub const ECT0: Flags = Flags(1 << 6);
    /// ECN-capable transport, codepoint ECT(1).
    pub const ECT1: Flags = Flags(1 << 7);
    /// Congestion experienced.
    pub const CE: Flags = Flags(1 << 8);
    /// Sent before.
    pub const RETRANSMITTED: Flags = Flags(1 << 9);
    /// Header only: asks switches or tells them, and carries nothing of the stream. Its answer has it too.
    pub const PROBE: Flags = Flags(1 << 10);
    /// Place of the ACE counter of AccECN (RFC 9768 s.3.2.2), three bits.
    const ACE_SHIFT: u32 = 11;
    /// A switch may cut its payload off instead of dropping it. With [`Flags::PROBE`] that has happened.
    pub const TRIMMABLE: Flags = Flags(1 << 14);
    /// Stands in the classic one of two queues: set and read by a port's discipline, cleared as it departs.
    /// A mark changes the codepoint by which it was sorted.
    pub const CLASSIC: Flags = Flags(1 << 15);

    /// On the way there over TCP: the last segment of what the application has written so far (RFC 9293 s.3.9.1.2). The counter of
    /// AccECN travels on the way back alone.
    pub const PUSH: Flags = Flags(1 << Self::ACE_SHIFT);
    /// On the way there: a copy that an injected fault made. Datagrams have nothing else by which to know one.
    pub const COPY: Flags = Flags(1 << (Self::ACE_SHIFT + 1));
    /// On the way there, beside [`Packet::trimmed`]: trimmed at the port to its destination.
    pub const LAST_HOP: Flags = Flags(1 << (Self::ACE_SHIFT + 2));
    /// On the way back: a credit of ExpressPass, which ports of the kind credit meter. A trimmed packet has [`Flags::PROBE`] too.
    pub const CREDIT: Flags = Flags(Flags::TRIMMABLE.0 | Flags::REVERSE.0);
    /// On the way back over RoCEv2: a congestion notification packet. No acknowledgement of TCP has the bit.
    pub const CNP: Flags = Flags::CWR;

    /// Any of `bits` set.
    #[inline]
    pub fn any(self, bits: Flags) -> bool {
        self.0 & bits.0 != 0
    }

    /// The ACE counter: CE-marked packets that have come, modulo 8.
    #[inline]
    pub fn ace(self) -> u8 {
        (self.0 >> Self::ACE_SHIFT) as u8 & 7
    }

    /// These and the ACE counter of `packets`.
    #[inline]
    #[must_use]
    pub fn with_ace(self, packets: u8) -> Flags {
        Flags(self.0 | u16::from(packets & 7) << Self::ACE_SHIFT)
    }

    /// These and `bits`.
    #[inline]
    #[must_use]
    pub const fn with(self, bits: Flags) -> Flags {
        Flags(self.0 | bits.0)
    }

    /// These but for `bits`.
    #[inline]
    #[must_use]
    pub fn without(self, bits: Flags) -> Flags {
        Flags(self.0 & !bits.0)
    }

    /// These, and `bits` where `yes`.
    #[inline]
    #[must_use]
    pub fn with_if(self, bits: Flags, yes: bool) -> Flags {
        if yes { self.with(bits) } else { self }
    }
}

/// In place of a flow: a pause frame.
const PAUSE: u32 = u32::MAX;

impl Packet {
    /// No packet: for room in which one will stand.
    pub const BLANK: Packet = Packet {
        at: Time::ZERO,
        seq: 0,
        stamp: Time::ZERO,
        waited: 0,
        flow: 0,
        label: 0,
        extension: NONE,
        size: 0,
        flags: Flags(0),
    };

    /// A pause frame of a link, which belongs to no flow, with these contents.
    pub fn pause(contents: u64, size: u16) -> Packet {
        Packet { flow: PAUSE, seq: contents, size, ..Packet::BLANK }
    }

    /// It is a pause frame.
    #[inline(always)]
    pub fn is_pause(&self) -> bool {
        self.flow == PAUSE
    }

    /// A switch has cut its payload off.
    #[inline]
    pub fn trimmed(&self) -> bool {
        self.flags.any(Flags::TRIMMABLE) && self.flags.any(Flags::PROBE)
    }

    /// A header alone, on its way there, that belongs to the class of control: [`Flags::PROBE`] and [`Flags::LAST_HOP`], and no payload was cut off.
    #[inline]
    pub fn is_control(&self) -> bool {
        let kinds = Flags::PROBE.with(Flags::LAST_HOP);
        let all = kinds.with(Flags::TRIMMABLE).with(Flags::REVERSE);
        self.flags.0 & all.0 == kinds.0
    }

    /// It is a credit of ExpressPass.
    #[inline]
    pub fn is_credit(&self) -> bool {
        let kinds = Flags::CREDIT.with(Flags::PROBE);
        self.flags.0 & kinds.0 == Flags::CREDIT.0
    }

    /// A switch may mark it instead of dropping it.
    #[inline]
    pub fn ecn_capable(&self) -> bool {
        self.flags.any(Flags(Flags::ECT0.0 | Flags::ECT1.0 | Flags::CE.0))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An ECN-capable data packet of `size` bytes.
    pub(crate) fn packet(size: u16) -> Packet {
        let (at, stamp) = (Time::ZERO, Time::ZERO);
        Packet { at, seq: 0, stamp, waited: 0, flow: 0, label: 0, extension: NONE, size, flags: Flags::ECT0 }
    }

    #[test]
    fn a_packet_is_48_bytes() {
        assert_eq!(size_of::<Packet>(), 48);
    }

    #[test]
    fn a_pause_frame_is_of_no_flow() {
        assert!(Packet::pause(5, 84).is_pause() && !packet(84).is_pause());
    }
}
