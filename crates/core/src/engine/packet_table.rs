//! The table `packets`: what left the tapped ports, one row each, with the header bits as on the wire.

use super::Simulation;
use crate::net::packet::Flags;
use crate::probe::traces::PacketRow;
use crate::probe::{TableBuilder, TableData};

/// RFC 9293 s.3.1 and RFC 3168 s.6.1: FIN, SYN, ACK, ECE, CWR by their places in the header.
fn tcp_flags(row: &PacketRow) -> u32 {
    let flags = row.packet.flags;
    // All but a connection's first packet acknowledge.
    let first = flags.any(Flags::SYN) && !flags.any(Flags::REVERSE);
    [(Flags::FIN, 1), (Flags::SYN, 2), (Flags::ECE, 0x40), (Flags::CWR, 0x80)]
        .into_iter()
        .filter(|(bit, _)| flags.any(*bit))
        .fold(if first { 0 } else { 0x10 }, |all, (_, place)| all | place)
}

/// RFC 3168 s.5: the codepoint in the IP header.
fn codepoint(row: &PacketRow) -> u32 {
    match row.packet.flags {
        flags if flags.any(Flags::CE) => 3,
        flags if flags.any(Flags::ECT0) => 2,
        flags if flags.any(Flags::ECT1) => 1,
        _ => 0,
    }
}

impl Simulation {
    /// Packets that left the ports of `probe.packets`.
    pub(super) fn packet_table(&self) -> TableData {
        let (names, rows) = (&self.names, &self.net().tapped);
        let opened = self.hosts().all_opened.as_deref().unwrap_or_default();
        let of = |row: &PacketRow| opened[row.flow as usize];
        let header = |row: &PacketRow| {
            let config = self.hosts().loads[of(row).0 as usize].config;
            self.hosts().configs[config as usize].header
        };
        let block = |i: usize| move |r: &PacketRow| r.extension.and_then(|e| e.sacked().get(i).copied());
        let (first, beyond) = (
            |i| move |r: &PacketRow| block(i)(r).map(|b| b.0),
            |i| move |r: &PacketRow| block(i)(r).map(|b| b.1),
        );
        TableBuilder::new("packets", rows)
            .u64("time_ps", |r| r.left.as_ps())
            .u64("landed_ps", |r| r.landed.as_ps())
            .words("port", &names.ports, |r| r.port)
            .u32("flow", |r| r.flow)
            .words("traffic", &names.loads, |r| of(r).0.into())
            .words("src", &names.hosts, |r| of(r).1.0.0)
            .words("dst", &names.hosts, |r| of(r).1.1.0)
            .u32("reverse", |r| r.packet.flags.any(Flags::REVERSE).into())
            .u32("pure_ack", |r| r.packet.flags.any(Flags::ACK).into())
            .u64("seq", |r| r.packet.seq)
            .u32("payload", |r| r.packet.size.saturating_sub(header(r)).into())
            .u32("size", |r| r.packet.size.into())
            .u32("tcp_flags", tcp_flags)
            .u32("ecn", codepoint)
            .u64("stamp_ps", |r| r.packet.stamp.as_ps())
            .u32("lost", |r| r.lost.into())
            .maybe_u64("sack0_first", first(0))
            .maybe_u64("sack0_beyond", beyond(0))
            .maybe_u64("sack1_first", first(1))
            .maybe_u64("sack1_beyond", beyond(1))
            .maybe_u64("sack2_first", first(2))
            .maybe_u64("sack2_beyond", beyond(2))
            .maybe_u64("sack3_first", first(3))
            .maybe_u64("sack3_beyond", beyond(3))
            .done()
    }
}
