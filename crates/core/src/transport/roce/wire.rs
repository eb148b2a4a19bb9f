//! Packets of RoCEv2: their kinds as header bits, and their bytes.
//!
//! Source: the bytes are those of the wire: IPv4 20, UDP 8, BTH 12, RETH 16, AETH 4, a notification's 16 reserved bytes,
//! ICRC 4 (InfiniBand specification s.9, annex A17), and Ethernet's as `ethernet` says.

use crate::packet::{Extension, Flags, Packet};
use crate::transport::Config;
use std::collections::BTreeMap;

/// A message's first packet, on its way to the responder.
pub const FIRST: Flags = Flags::CWR;
/// A message's last packet, which asks for an acknowledgement.
pub const LAST: Flags = Flags::FIN;
/// On the way to the responder: asks for an acknowledgement within a message.
pub const ASKS: Flags = Flags::ECE;
/// On the way back: what came was beyond a gap.
pub const NAK: Flags = Flags::ECE;

/// IPv4, UDP, BTH and ICRC.
pub const HEADERS: u64 = 20 + 8 + 12 + 4;
/// RETH: address and length of a WRITE, in its first packet.
pub const RETH: u16 = 16;
/// AETH: an acknowledgement's code.
pub const AETH: u16 = 4;
/// A notification's reserved bytes.
pub const CNP_BODY: u16 = 16;
/// IRN: the number of the packet that caused a NACK, with a byte of padding.
pub const TRIGGER: u16 = 4;

// ---- as a capture shows them ----

/// Opcodes of the reliable connection's SEND and WRITE: first, middle, last, only (InfiniBand specification table 38).
const SEND: [u8; 4] = [0x00, 0x01, 0x02, 0x04];
const WRITE: [u8; 4] = [0x06, 0x07, 0x08, 0x0a];
/// Responses of READ, and its request.
const READ: [u8; 4] = [0x0d, 0x0e, 0x0f, 0x10];
const READ_REQUEST: u8 = 0x0c;
const ACKNOWLEDGE: u8 = 0x11;
/// Annex A17.
const NOTIFICATION: u8 = 0x81;
/// Packet numbers have 24 bits.
const PSN_BITS: u32 = 24;

/// The opcode in the BTH.
pub fn opcode(packet: &Packet, config: &Config) -> u8 {
    let flags = packet.flags;
    let reads = config.roce.reads.is_some();
    let all = match config.roce.first {
        _ if reads => READ,
        0 => SEND,
        _ => WRITE,
    };
    match (flags.any(FIRST), flags.any(LAST)) {
        _ if flags.any(Flags::REVERSE) && flags.any(Flags::CNP) => NOTIFICATION,
        _ if flags.any(Flags::REVERSE) && reads => READ_REQUEST,
        _ if flags.any(Flags::REVERSE.with(Flags::ACK)) => ACKNOWLEDGE,
        (true, false) => all[0],
        (false, false) => all[1],
        (false, true) => all[2],
        (true, true) => all[3],
    }
}

/// Whether it reports a gap.
pub fn is_nak(packet: &Packet) -> bool {
    packet.flags.any(Flags::REVERSE.with(Flags::ACK)) && packet.flags.any(NAK)
}

/// Whether it asks for an acknowledgement.
pub fn asks(packet: &Packet, config: &Config) -> bool {
    let data = config.roce.reads.is_none() && !packet.flags.any(Flags::REVERSE);
    data && packet.flags.any(ASKS.with(LAST))
}

/// Bytes of payload, after the headers that the packet has.
pub fn payload(packet: &Packet, extension: Option<&Extension>, config: &Config) -> u16 {
    if packet.flags.any(Flags::REVERSE.with(Flags::ACK)) {
        return 0;
    }
    let header = extension.map_or(0, |extension| extension.feedback.bytes(false));
    packet.size - config.header - config.roce.extra(packet.flags) - header
}

/// The packet numbers of all queue pairs: they follow from where messages end, since each begins a packet.
pub struct Numbers(BTreeMap<u32, Vec<(u64, u64)>>);

impl Numbers {
    /// From running numbers of connections and ends of messages, in the order in which they were posted; `mtu` is that of a
    /// connection.
    pub fn new(announced: &[(u32, u64)], mtu: impl Fn(u32) -> u64) -> Self {
        let mut ends: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for (flow, end) in announced {
            let of_flow = ends.entry(*flow).or_default();
            let (starts, packets) = of_flow.last().copied().unwrap_or_default();
            of_flow.push((*end, packets + (end - starts).div_ceil(mtu(*flow))));
        }
        Numbers(ends)
    }

    /// The number in the BTH: of a data packet its own, of an acknowledgement that of the last packet that it covers, of a NAK
    /// that of the one that is missing, of a READ request that of its first response, of a notification 0.
    pub fn psn(&self, packet: &Packet, flow: u32, config: &Config) -> u64 {
        let (flags, seq) = (packet.flags, packet.seq);
        let ends = self.0.get(&flow).map_or(&[][..], Vec::as_slice);
        let whole = ends.partition_point(|(end, _)| *end <= seq);
        let (starts, before) = if whole == 0 { (0, 0) } else { ends[whole - 1] };
        let packets = before + (seq - starts).div_ceil(config.rules.mss);
        let number = match flags.any(Flags::REVERSE) {
            true if flags.any(Flags::CNP) => 0,
            true if !flags.any(NAK) && config.roce.reads.is_none() => packets.wrapping_sub(1),
            _ => packets,
        };
        number & ((1 << PSN_BITS) - 1)
    }
}
