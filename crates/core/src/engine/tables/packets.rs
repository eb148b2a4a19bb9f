//! The table `packets`: packets that left the tapped ports, one row each, with the header bits as on the wire.

use crate::engine::Simulation;
use crate::packet::{DropWhy, Flags, Packet};
use crate::probe::traces::PacketRow;
use crate::probe::{TableBuilder, TableData};
use crate::transport::config::{Config, TransportKind};
use crate::transport::ndp::wire::{is_nack, is_pull};
use crate::transport::roce::wire::{Numbers, asks, is_nak, opcode, payload};
use crate::transport::settings::EchoMode;
use crate::transport::uec::wire as uec;
use shallows_units::Time;

/// RFC 9293 s.3.1 and RFC 3168 s.6.1: FIN, SYN, PSH, ACK, ECE, CWR by their places in the header.
fn tcp_flags(row: &PacketRow, config: &Config) -> u32 {
    let flags = row.packet.flags;
    // All but a connection's first packet acknowledge.
    let first = flags.any(Flags::SYN) && !flags.any(Flags::REVERSE);
    let plain = [(Flags::FIN, 1), (Flags::SYN, 2), (Flags::ECE, 0x40), (Flags::CWR, 0x80)]
        .into_iter()
        .filter(|(bit, _)| flags.any(*bit))
        .fold(if first { 0 } else { 0x10 }, |all, (_, place)| all | place);
    let pushed = flags.any(Flags::PUSH) && !flags.any(Flags::REVERSE);
    let plain = plain | if pushed { 8 } else { 0 };
    if config.ecn && config.echo == EchoMode::Counted {
        plain & 0x3f | u32::from(ace(row, config)) << 6
    } else {
        plain
    }
}

/// AccECN's three bits, AE, CWR and ECE, for a counter that the simulation begins at 0.
fn ace(row: &PacketRow, config: &Config) -> u8 {
    let flags = row.packet.flags;
    let ends_handshake = flags.any(Flags::ACK) && !flags.any(Flags::REVERSE) && row.packet.seq == 0;
    match (flags.any(Flags::SYN), flags.any(Flags::REVERSE)) {
        (true, false) => 0b111, // RFC 9768 s.3.1.1: asks for AccECN
        // RFC 9768 s.3.1.1 and, on a pure acknowledgement, s.3.2.2.1: with which codepoint the other's SYN came.
        _ if flags.any(Flags::SYN) || ends_handshake => match config.ect_on_syn {
            true if config.ect.any(Flags::ECT1) => 0b011,
            true => 0b100,
            false => 0b010,
        },
        _ => (5 + flags.ace()) % 8, // s.3.2.1: the counter of CE packets begins at 5
    }
}

/// RFC 3168 s.5: the codepoint in the IP header.
fn codepoint(packet: &Packet) -> u32 {
    match packet.flags {
        flags if flags.any(Flags::CE) => 3,
        flags if flags.any(Flags::ECT0) => 2,
        flags if flags.any(Flags::ECT1) => 1,
        _ => 0,
    }
}

impl Simulation {
    /// Packets that ports lost, of a run to be audited.
    pub(in crate::engine) fn loss_table(&self) -> TableData {
        let causes: Vec<String> = DropWhy::ALL.iter().map(|why| why.column().into()).collect();
        let cause = |why| DropWhy::ALL.iter().position(|one| *one == why).unwrap_or_default() as u32;
        TableBuilder::new("losses", &self.losses)
            .u64("time_ps", |r| r.time.as_ps())
            .words("port", &self.names.ports, |r| r.port)
            .u32("flow", |r| r.flow)
            .u32("reverse", |r| r.packet.flags.any(Flags::REVERSE).into())
            .u32("pure_ack", |r| r.packet.flags.any(Flags::ACK).into())
            .u64("seq", |r| r.packet.seq)
            .u32("size", |r| r.packet.size.into())
            .u32("trimmed", |r| r.packet.trimmed().into())
            .u32("ecn", |r| codepoint(&r.packet))
            .u64("stamp_ps", |r| r.packet.stamp.as_ps())
            .words("cause", &causes, |r| cause(r.why))
            .done()
    }

    /// Packets that left the ports of `probe.packets`.
    pub(in crate::engine) fn packet_table(&self) -> TableData {
        let (names, rows) = (&self.names, &self.tapped);
        let opened = self.roster.all_opened.as_deref().unwrap_or_default();
        let of = |row: &PacketRow| opened[row.flow as usize];
        let config_of = |flow: u32| {
            let config = self.roster.loads[opened[flow as usize].0 as usize].config;
            &self.roster.configs[config as usize]
        };
        let config = |row: &PacketRow| config_of(row.flow);
        let announced = self.roster.all_announced.as_deref().unwrap_or_default();
        let numbers = Numbers::new(announced, |flow| config_of(flow).rules.mss);
        let of_pair = |row: &PacketRow| Some(config(row)).filter(|config| config.kind == TransportKind::Roce);
        let of_ndp = |row: &PacketRow| Some(row.packet).filter(|_| config(row).kind == TransportKind::Ndp);
        let block = |i: usize| move |r: &PacketRow| r.extension.and_then(|e| e.sacked().get(i).copied());
        let (first, beyond) = (
            |i| move |r: &PacketRow| block(i)(r).map(|b| b.0),
            |i| move |r: &PacketRow| block(i)(r).map(|b| b.1),
        );
        TableBuilder::new("packets", rows)
            .u64("time_ps", |r| r.left.as_ps())
            .maybe_u64("landed_ps", |r| r.landed.map(Time::as_ps))
            .words("port", &names.ports, |r| r.port)
            .u32("flow", |r| r.flow)
            .words("traffic", &names.loads, |r| of(r).0.into())
            .words("src", &names.hosts, |r| of(r).1.0.0)
            .words("dst", &names.hosts, |r| of(r).1.1.0)
            .u32("reverse", |r| r.packet.flags.any(Flags::REVERSE).into())
            .u32("pure_ack", |r| r.packet.flags.any(Flags::ACK).into())
            .u64("seq", |r| r.packet.seq)
            .u32("payload", |r| match of_pair(r) {
                Some(config) => payload(&r.packet, r.extension.as_ref(), config).into(),
                // Nothing goes back but acknowledgements, whose SACK blocks are no data.
                None if r.packet.trimmed() || r.packet.flags.any(Flags::REVERSE.with(Flags::PROBE)) => 0,
                None => {
                    let written = r.extension.map_or(0, |extension| extension.feedback.bytes(false));
                    r.packet.size.saturating_sub(config(r).header + written).into()
                }
            })
            .u32("size", |r| r.packet.size.into())
            .u32(
                "tcp_flags",
                |r| if config(r).kind == TransportKind::Tcp { tcp_flags(r, config(r)) } else { 0 },
            )
            .maybe_u64("opcode", |r| of_pair(r).map(|config| opcode(&r.packet, config).into()))
            .maybe_u64("nak", |r| {
                let of_pair = of_pair(r).map(|_| is_nak(&r.packet).into());
                let of_uec = (config(r).kind == TransportKind::Uec).then(|| uec::is_nack(&r.packet).into());
                of_pair.or_else(|| of_ndp(r).map(|packet| is_nack(&packet).into())).or(of_uec)
            })
            .maybe_u64("ack_request", |r| of_pair(r).map(|config| asks(&r.packet, config).into()))
            .maybe_u64("psn", |r| of_pair(r).map(|config| numbers.psn(&r.packet, r.flow, config)))
            .maybe_u64("pull", |r| match config(r).kind {
                TransportKind::Ndp => Some(is_pull(&r.packet).into()),
                TransportKind::ExpressPass => Some(r.packet.is_credit().into()),
                _ => None,
            })
            .u32("trimmed", |r| r.packet.trimmed().into())
            .u32("ecn", |r| codepoint(&r.packet))
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
