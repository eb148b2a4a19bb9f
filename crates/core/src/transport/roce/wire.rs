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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use crate::params::{Faults, Table};
    use crate::transport::Transport;
    use serde_json::{Value, json};

    const MTU: u16 = 1024;

    fn transport(changes: Value) -> Transport {
        let mut settings =
            json!({"profile": "roce", "cc": {"kind": "dcqcn"}, "mtu": format!("{MTU}B"), "ethernet": "18B"});
        let map = settings.as_object_mut().expect("a table");
        map.extend(changes.as_object().expect("a table").clone());
        let mut faults = Faults::default();
        let transport = Transport::read(&mut Table::new("transport", map, &mut faults), &map.clone());
        transport.unwrap_or_else(|| panic!("{:?}", faults.0))
    }

    fn config(verb: &str) -> Config {
        let repair = if verb == "read" { json!({"repair": "go-back-n"}) } else { json!({}) };
        let mut changes = json!({"verb": verb});
        changes.as_object_mut().expect("a table").extend(repair.as_object().expect("a table").clone());
        Config::new(&transport(changes))
    }

    fn with_flags(flags: Flags) -> Packet {
        Packet { flags, ..packet(MTU) }
    }

    /// InfiniBand specification table 38: opcodes of a message's packets, first, middle, last and only, of what comes back, and annex A17's of
    /// a notification. With READ the data are responses, and what goes the other way asks for them.
    #[test]
    fn opcodes_are_those_of_the_specification() {
        let both = FIRST.with(LAST);
        let answer = Flags::REVERSE.with(Flags::ACK);
        let notification = Flags::REVERSE.with(Flags::CNP);
        for (verb, data, back) in [
            ("send", [0x00, 0x01, 0x02, 0x04], 0x11),
            ("write", [0x06, 0x07, 0x08, 0x0a], 0x11),
            ("read", [0x0d, 0x0e, 0x0f, 0x10], 0x0c),
        ] {
            let config = config(verb);
            let of = |flags: Flags| opcode(&with_flags(flags), &config);
            assert_eq!([FIRST, Flags::default(), LAST, both].map(of), data, "{verb}");
            assert_eq!([answer, answer.with(NAK), notification].map(of), [back, back, 0x81], "{verb}");
        }
    }

    /// A NAK is an answer that reports a gap. Data asks for an acknowledgement at a message's end and where it says so; a READ's never does.
    #[test]
    fn packets_ask_and_report_by_their_bits() {
        let answer = Flags::REVERSE.with(Flags::ACK);
        assert!(is_nak(&with_flags(answer.with(NAK))) && !is_nak(&with_flags(answer)));
        assert!(!is_nak(&with_flags(ASKS)));
        for (flags, want) in
            [(Flags::default(), false), (ASKS, true), (LAST, true), (answer.with(NAK), false)]
        {
            assert_eq!(asks(&with_flags(flags), &config("write")), want, "{flags:?}");
            assert!(!asks(&with_flags(flags), &config("read")));
        }
    }

    /// The largest frames by the bytes of the wire: 18 of Ethernet, 44 of IPv4, UDP, BTH and ICRC, an MTU, a RETH of 16, an AETH of 4 with IRN's
    /// 4, a notification's 16. A READ's request has a RETH, and its responses an AETH.
    #[test]
    fn the_largest_frames_have_the_bytes_of_the_wire() {
        let frame = |body: u64| 18 + 44 + body;
        let mtu = u64::from(MTU);
        for (verb, data, answer) in [("send", mtu, 8), ("write", mtu + 16, 8), ("read", mtu + 4, 16)] {
            let repair = if verb == "read" { "go-back-n" } else { "selective-repeat" };
            let transport = transport(
                json!({"verb": verb, "repair": repair, "priority": 3, "ack_priority": 5, "cnp_priority": 6}),
            );
            let frames = [(3, frame(data)), (5, frame(answer)), (6, frame(16))];
            assert_eq!(transport.largest_frames(), frames, "{verb}");
        }
    }

    /// A packet number counts the packets of all messages before, each of which begins one: of 1, 1025 and 3000 bytes that are 1, 2 and 3.
    #[test]
    fn packet_numbers_count_from_message_to_message() {
        let ends = [1u64, 1026, 4026];
        let numbers = Numbers::new(&ends.map(|end| (7, end)), |_| MTU.into());
        let config = config("write");
        let psn = |seq: u64, flags: Flags| numbers.psn(&Packet { seq, ..with_flags(flags) }, 7, &config);
        let starts = [0, 1, 1025, 1026, 2050, 3074, 4026];
        assert_eq!(starts.map(|seq| psn(seq, Flags::default())), [0, 1, 2, 3, 4, 5, 6]);
        let answer = Flags::REVERSE.with(Flags::ACK);
        assert_eq!([1, 1026, 4026].map(|seq| psn(seq, answer)), [0, 2, 5], "the last packet that it covers");
        assert_eq!([1, 1026].map(|seq| psn(seq, answer.with(NAK))), [1, 3], "the one that is missing");
        assert_eq!(psn(1026, Flags::REVERSE.with(Flags::CNP)), 0);
        assert_eq!(psn(0, answer), (1 << 24) - 1, "24 bits");
    }
}
