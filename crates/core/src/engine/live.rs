//! Watching a run: its state at the time to which it was advanced. Looking changes nothing.
//!
//! A watched run is always run by one thread. Its tables are those of a run at once, byte for byte.

use super::Simulation;
use crate::cc::CongestionControl;
use crate::hosts::records::alpha;
use crate::net::port::{Port, Service};
use crate::packet::{Flags, Packet};
use crate::probe::{TableBuilder, TableData};
use shallows_units::Time;

/// Packets that one look returns at most; more could not be told apart on a screen.
pub const MAX_PACKETS: usize = 20_000;

/// What passed a port in a part of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    packets_out: u64,
    bytes_out: u64,
    marks: u64,
    drops: u64,
}

impl Passed {
    /// Since the counters of `port` began, with the packets and bytes that it holds now.
    fn of(port: &Port, (packets, bytes): (u64, u64)) -> Self {
        let counts = &port.counts;
        Passed {
            packets_out: counts.packets_in - counts.dropped() - packets,
            bytes_out: counts.bytes_in - counts.dropped_bytes - bytes,
            marks: counts.marks,
            drops: counts.drops.iter().sum(),
        }
    }

    fn and(self, later: Passed) -> Self {
        Passed {
            packets_out: self.packets_out + later.packets_out,
            bytes_out: self.bytes_out + later.bytes_out,
            marks: self.marks + later.marks,
            drops: self.drops + later.drops,
        }
    }
}

/// A port as a watcher sees it; counts are those since the run began.
struct PortNow {
    packets: u64,
    bytes: u64,
    passed: Passed,
}

/// A packet in a ring: waiting, being transmitted, or on the wire.
struct PacketNow {
    port: u32,
    serial: u32,
    packet: Packet,
}

impl Simulation {
    /// The time that the run has reached.
    pub fn now(&self) -> Time {
        self.net.now
    }

    /// Notes what passed before the counters begin again with the warm-up's end.
    pub(super) fn keep_warmup(&mut self) {
        let now = self.net.now;
        self.before_warmup = self.net.ports.iter().map(|port| Passed::of(port, held(port, now))).collect();
    }

    /// Tables of the present: `ports` in the order of the network's links, the `flows` that stand, and
    /// up to `most_packets` of the `packets` in queues that serve in order and on wires.
    pub fn observe(&self, most_packets: usize) -> Vec<TableData> {
        let ports: Vec<PortNow> =
            self.net.ports.iter().enumerate().map(|(i, p)| self.port_now(i, p)).collect();
        let ports = TableBuilder::new("ports", &ports)
            .u64("packets", |r| r.packets)
            .u64("bytes", |r| r.bytes)
            .u64("packets_out", |r| r.passed.packets_out)
            .u64("bytes_out", |r| r.passed.bytes_out)
            .u64("marks", |r| r.passed.marks)
            .u64("drops", |r| r.passed.drops)
            .done();
        vec![ports, self.flows_now(), self.packets_now(most_packets.min(MAX_PACKETS))]
    }

    fn port_now(&self, number: usize, port: &Port) -> PortNow {
        let (packets, bytes) = held(port, self.net.now);
        let earlier = self.before_warmup.get(number).copied().unwrap_or_default();
        PortNow { packets, bytes, passed: earlier.and(Passed::of(port, (packets, bytes))) }
    }

    fn flows_now(&self) -> TableData {
        let hosts = self.hosts();
        let standing: Vec<_> = hosts.flows.iter().filter(|flow| !flow.vacant).collect();
        TableBuilder::new("flows", &standing)
            .u32("id", |f| f.serial)
            .u32("load", |f| f.load.into())
            .u32("src", |f| f.ends.0.0)
            .u32("dst", |f| f.ends.1.0)
            .f64("cwnd_bytes", |f| f.sender.cc.cwnd().as_u64() as f64)
            .maybe_f64("srtt_ps", |f| f.sender.srtt().map(|srtt| srtt.as_ps() as f64))
            .maybe_f64("alpha", |f| alpha(&f.sender))
            .u64("delivered_bytes", |f| f.receiver.delivered())
            .u64("flight_bytes", |f| f.sender.flight(&hosts.configs[f.config as usize]))
            .done()
    }

    fn packets_now(&self, most: usize) -> TableData {
        let rings = (0..).zip(&self.net.ports).flat_map(|(number, port)| {
            let (head, held) = (port.ring.head(), port.ring.len());
            (0..held).map(move |i| (number, *port.ring.at(head.wrapping_add(i))))
        });
        let rows: Vec<PacketNow> = rings
            .take(most)
            .map(|(port, packet)| {
                let serial = self.net.tags[packet.flow as usize].serial;
                PacketNow { port, serial, packet }
            })
            .collect();
        let has = |row: &PacketNow, bits: Flags| u32::from(row.packet.flags.any(bits));
        TableBuilder::new("packets", &rows)
            .u32("port", |r| r.port)
            .u32("flow", |r| r.serial)
            .u64("seq", |r| r.packet.seq)
            .u32("size", |r| r.packet.size.into())
            .u64("lands_ps", |r| r.packet.at.as_ps())
            .u32("reverse", |r| has(r, Flags::REVERSE))
            .u32("ce", |r| has(r, Flags::CE))
            .u32("ece", |r| has(r, Flags::ECE))
            .u32("retransmitted", |r| has(r, Flags::RETRANSMITTED))
            .done()
    }
}

/// Packets and bytes that `port` holds at `now`, without bringing its books up to now.
fn held(port: &Port, now: Time) -> (u64, u64) {
    match &port.service {
        Service::Arrival(_) => port.holds(now),
        Service::Departure(scheduled) => scheduled.held(),
    }
}
