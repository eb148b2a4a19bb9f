//! Watching a run: its state at the time to which it was advanced. Looking changes nothing.
//!
//! A watched run is always run by one thread. Its tables are those of a run at once, byte for byte.

use crate::engine::{Control, RunError, SharedCells, Simulation};
use crate::hosts::Pair;
use crate::hosts::connections::locked;
use crate::hosts::records::alpha;
use crate::net::port::chain::Store;
use crate::net::port::{Port, Service};
use crate::packet::{Flags, Packet};
use crate::probe::{TableBuilder, TableData};
use shallows_units::{Bytes, Rate, Span, Time};

/// Packets that one look returns at most; a screen shows no more.
pub const MAX_PACKETS: usize = 20_000;

/// The traffic of a port in a part of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    packets_out: u64,
    bytes_out: u64,
    marks: u64,
    drops: u64,
    /// For how long it has transmitted.
    busy: Span,
}

impl Passed {
    /// Since the counters of `port` began, with the packets and bytes that it holds at `now`.
    fn of(port: &Port, (packets, bytes): (u64, u64), now: Time, store: &Store) -> Self {
        let counts = &port.counts;
        let bytes_out = counts.bytes_in - counts.dropped_bytes - bytes;
        let whole = port.varying().map_or_else(|| port.rate.transmit(Bytes(bytes_out)), |v| v.sent_for);
        Passed {
            packets_out: counts.packets_in - port.gone() - packets,
            bytes_out,
            busy: (whole + port.in_service(now, store)).saturating_sub(counts.early),
            marks: counts.marks,
            drops: port.lost() + counts.lost_early,
        }
    }

    fn and(self, later: Passed) -> Self {
        Passed {
            packets_out: self.packets_out + later.packets_out,
            bytes_out: self.bytes_out + later.bytes_out,
            marks: self.marks + later.marks,
            drops: self.drops + later.drops,
            busy: self.busy + later.busy,
        }
    }
}

/// A port as a watcher sees it; counts are those since the run began.
struct PortNow {
    time: Time,
    packets: u64,
    bytes: u64,
    rate: Rate,
    passed: Passed,
}

/// A connection as a watcher sees it.
struct FlowNow {
    time: Time,
    serial: u32,
    load: u16,
    ends: Pair,
    cwnd: Option<f64>,
    srtt: Option<f64>,
    alpha: Option<f64>,
    arrived: u64,
    flight: u64,
}

/// A packet at a port: waiting, being transmitted, or on the wire.
struct PacketNow {
    port: u32,
    serial: u32,
    packet: Packet,
}

impl Simulation {
    /// The time that the run has reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Notes the counts so far before the counters begin again with the warm-up's end.
    pub(super) fn keep_warmup(&mut self, shared: &SharedCells) {
        let now = self.now;
        let passed = |(cell, place): &(u32, u32)| {
            let network = &locked(&shared.cells[*cell as usize]).network;
            let port = &network.ports[*place as usize];
            Passed::of(port, held(port, now, &network.store), now, &network.store)
        };
        self.before_warmup = self.places.iter().map(passed).collect();
    }

    /// Tables of the present: `ports` in the order of the network's links, the `flows` that stand, and
    /// up to `most_packets` of the `packets` in queues that serve in order and on wires.
    pub fn observe(&self, most_packets: usize) -> Vec<TableData> {
        let (mut ports, mut flows) = (vec![], vec![]);
        self.look(None, &mut ports, &mut flows);
        vec![ports_table(&ports), flows_table(&flows), self.packets_now(most_packets.min(MAX_PACKETS))]
    }

    /// Advances `looks` times by `every`, or to the end, and looks each time: tables `ports` and `flows`,
    /// those of the first `most_flows` connections.
    pub fn watch(
        &mut self,
        every: Span,
        looks: usize,
        most_flows: u32,
        control: &Control,
    ) -> Result<(bool, Vec<TableData>), RunError> {
        let (mut ports, mut flows) = (vec![], vec![]);
        let mut ended = self.finished;
        for _ in 0..looks {
            if ended {
                break;
            }
            ended = self.advance(self.now + every, control)?;
            self.look(Some(most_flows), &mut ports, &mut flows);
        }
        Ok((ended, vec![ports_table(&ports), flows_table(&flows)]))
    }

    fn look(&self, most_flows: Option<u32>, ports: &mut Vec<PortNow>, flows: &mut Vec<FlowNow>) {
        ports.extend(self.ports().enumerate().map(|(number, port)| self.port_now(number, port)));
        for (id, connection) in (0..).zip(&self.directory.connections) {
            if most_flows.is_some_and(|most| connection.serial >= most) || !self.roster.stands(id) {
                continue;
            }
            let ((cell, sender), (other, receiver)) = (connection.sender, connection.receiver);
            let sending = &self.cells[cell as usize].hosts.senders[sender as usize];
            let receiving = &self.cells[other as usize].hosts.receivers[receiver as usize];
            let (about, sender) = (sending.about, &sending.sender);
            flows.push(FlowNow {
                time: self.now,
                serial: about.serial,
                load: about.load,
                ends: about.ends,
                cwnd: sender.window().bound().map(|bytes| bytes as f64),
                srtt: sender.srtt().map(|srtt| srtt.as_ps() as f64),
                alpha: alpha(sender),
                arrived: receiving.receiver.arrived(),
                flight: sender.flight(&self.roster.configs[about.config as usize]),
            });
        }
    }

    fn port_now(&self, number: usize, port: &Port) -> PortNow {
        let store = self.store(number);
        let (packets, bytes) = held(port, self.now, store);
        let earlier = self.before_warmup.get(number).copied().unwrap_or_default();
        let passed = earlier.and(Passed::of(port, (packets, bytes), self.now, store));
        PortNow { time: self.now, packets, bytes, rate: port.rate, passed }
    }

    fn packets_now(&self, most: usize) -> TableData {
        let all = (0..).zip(self.ports()).flat_map(|(number, port)| {
            let packets = port.chain.iter(self.store(number as usize)).map(move |packet| (number, *packet));
            packets.filter(|(_, packet)| !packet.is_pause())
        });
        let rows: Vec<PacketNow> = all
            .take(most)
            .map(|(port, packet)| {
                let serial = self.directory.connections[packet.flow as usize].serial;
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

fn ports_table(rows: &[PortNow]) -> TableData {
    TableBuilder::new("ports", rows)
        .u64("time_ps", |r| r.time.as_ps())
        .u64("packets", |r| r.packets)
        .u64("bytes", |r| r.bytes)
        .u64("packets_out", |r| r.passed.packets_out)
        .u64("bytes_out", |r| r.passed.bytes_out)
        .u64("busy_ps", |r| r.passed.busy.as_ps())
        .u64("rate_bps", |r| r.rate.as_bps())
        .u64("marks", |r| r.passed.marks)
        .u64("drops", |r| r.passed.drops)
        .done()
}

fn flows_table(rows: &[FlowNow]) -> TableData {
    TableBuilder::new("flows", rows)
        .u64("time_ps", |r| r.time.as_ps())
        .u32("id", |r| r.serial)
        .u32("load", |r| r.load.into())
        .u32("src", |r| r.ends.0.0)
        .u32("dst", |r| r.ends.1.0)
        .maybe_f64("cwnd_bytes", |r| r.cwnd)
        .maybe_f64("srtt_ps", |r| r.srtt)
        .maybe_f64("alpha", |r| r.alpha)
        .u64("arrived_bytes", |r| r.arrived)
        .u64("flight_bytes", |r| r.flight)
        .done()
}

/// Packets and bytes that `port` holds at `now`, without bringing its books up to now.
fn held(port: &Port, now: Time, store: &Store) -> (u64, u64) {
    match &port.service {
        Service::Arrival(_) | Service::Lined(_) => port.holds(now, store),
        Service::Departure(scheduled) => scheduled.held(),
    }
}
