//! HPCC at a switch: telemetry in every data packet (INT).
//!
//! Source: Li et al. 2019, "HPCC: High Precision Congestion Control" (SIGCOMM), for the fields and their bytes: two
//! bytes, and eight for each hop. Each switch adds its port's rate, the time, the bytes sent so far and the queue
//! as the packet leaves. The simulator of HPCC's authors (int-header.h) rounds as the paper's fields do.
//! Times are rounded down to 1 ns, bytes to 128 and queues to 80, and wrap as their fields do: 24, 20 and 16 bits. A
//! port's rate is exact: the paper's codes know five rates only.
//! The header is written when the last bit has left, the authors' simulator when the first leaves.
//! An experiment is refused where a path has more switches than the header has room for, seven at most, also after tables have
//! followed a failure. A packet that is under way as they change may meet more: the last of them write nothing.
//! Left out: the path's identity, for which the number of hops stands; PINT.

use super::{Feedback, PortControl, PortView};
use crate::packet::Packet;
use shallows_units::Rate;

crate::choices! {
    /// The bytes that a switch counts.
    pub enum Counts {
        /// Those that it has sent.
        Sent = "sent",
        /// Those that have arrived for the port.
        Arrived = "arrived",
    }
}

crate::params! {
    /// HPCC. Each port writes its rate, its queue, the bytes it has sent and the time into every data packet.
    pub struct Settings {
        /// The bytes that a switch counts.
        counts: Counts = "sent", "", "Li 2019: txBytes; arrived ones (rxRate) make the rate oscillate";
    }
}

/// Most hops of a path: two bytes and eight for each fit the header.
pub const HOPS: usize = 7;

/// One switch's record.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Hop {
    /// Rate of the port in bit/s.
    pub rate: f32,
    /// Time in ns, 24 bits.
    pub time: u32,
    /// Bytes sent in units of 128, 20 bits.
    pub sent: u32,
    /// Queue in units of 80 bytes, 16 bits, without the packet itself.
    pub queue: u16,
}

/// A field's difference, which may have wrapped once.
fn since(new: u32, old: u32, bits: u32) -> u32 {
    new.wrapping_sub(old) & ((1 << bits) - 1)
}

impl Hop {
    const TIME_BITS: u32 = 24;
    const SENT_BITS: u32 = 20;

    /// Seconds from `old` to this.
    pub fn seconds_since(&self, old: &Hop) -> f64 {
        f64::from(since(self.time, old.time, Self::TIME_BITS)) * 1e-9
    }

    /// Bytes sent from `old` to this.
    pub fn bytes_since(&self, old: &Hop) -> f64 {
        f64::from(since(self.sent, old.sent, Self::SENT_BITS)) * 128.0
    }

    /// Bytes that wait.
    pub fn queue_bytes(&self) -> f64 {
        f64::from(self.queue) * 80.0
    }
}

/// The header: what each switch on the way has added.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Header {
    /// In the order of the path.
    pub hops: [Hop; HOPS],
    /// Hops in use.
    pub count: u8,
    /// Switches on the path: the bytes are taken from the first on.
    pub path: u8,
}

impl Header {
    /// The hops in use.
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..self.count as usize]
    }
}

impl super::Header for Header {
    /// Li 2019: nHop and pathID, and eight bytes a hop, as in the authors' simulator for all hops from the first on, in
    /// an acknowledgement too.
    fn bytes(&self, _back: bool) -> u16 {
        2 + 8 * u16::from(self.path)
    }
}

/// One port.
pub struct Control {
    counts: Counts,
    rate: Rate,
    bytes: u64,
}

impl Control {
    /// It records the moment of departure.
    pub const DEPARTURES: bool = true;

    /// At a port of `rate`.
    pub fn new(settings: &Settings, rate: Rate) -> Self {
        Control { counts: settings.counts, rate, bytes: 0 }
    }
}

impl PortControl for Control {
    fn on_arrive(&mut self, packet: &Packet, _header: &mut Feedback, _port: &PortView) {
        if self.counts == Counts::Arrived {
            self.bytes += u64::from(packet.size);
        }
    }

    fn on_depart(&mut self, packet: &Packet, header: &mut Feedback, port: &PortView) {
        if self.counts == Counts::Sent {
            self.bytes += u64::from(packet.size);
        }
        let Feedback::Hpcc(header) = header else { return };
        let room = HOPS.min(header.path.into());
        let Some(hop) = header.hops[..room].get_mut(header.count as usize) else { return };
        *hop = Hop {
            rate: self.rate.as_bps() as f32,
            time: (port.now.as_ps() / 1000) as u32 & ((1 << Hop::TIME_BITS) - 1),
            sent: (self.bytes / 128) as u32 & ((1 << Hop::SENT_BITS) - 1),
            queue: (port.backlog.bytes / 80).min(u64::from(u16::MAX)) as u16,
        };
        header.count += 1;
    }

    fn observe(&self, _now: shallows_units::Time, put: &mut dyn FnMut(&'static str, f64)) {
        put("counted_bytes", self.bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Header as _;
    use super::*;
    use crate::packet::Backlog;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use shallows_units::{Span, Time};

    fn view(ns: u64, queued: u64) -> PortView {
        let backlog = Backlog { packets: 0, bytes: queued, serving: 0, free_at: Time::ZERO };
        PortView { now: Time::ZERO + Span::ns(ns), rate: Rate::gbps(100), backlog }
    }

    /// Two departures, the second after both counters have wrapped.
    #[test]
    fn fields_are_rounded_and_their_differences_survive_a_wrap() {
        let mut control = Control::new(&Settings::defaults(), Rate::gbps(100));
        let mut send = |ns: u64, queued: u64, bytes: u64| {
            control.bytes += bytes;
            let mut header = Feedback::Hpcc(Header { path: 3, ..Header::default() });
            control.on_depart(&packet(1000), &mut header, &view(ns, queued));
            let Feedback::Hpcc(header) = header else { panic!("the header stays") };
            assert_eq!((header.count, header.bytes(false)), (1, 26));
            header.hops[0]
        };
        let first = send(16_777_000, 1679, 0);
        assert_eq!((first.queue_bytes(), first.sent), (1600.0, 1000 / 128));
        let second = send(16_778_000, 10_000_000, 134_217_728 + 11_000);
        assert!((second.seconds_since(&first) - 1e-6).abs() < 1e-15);
        assert_eq!(second.bytes_since(&first), ((13_000 / 128 - 1000 / 128) * 128) as f64);
        assert_eq!(second.queue, u16::MAX);
    }

    #[test]
    fn a_header_tells_no_more_hops_than_its_bytes_have_room_for() {
        for (path, told) in [(1, 1), (7, 7), (9, HOPS)] {
            let mut control = Control::new(&Settings::defaults(), Rate::gbps(100));
            let mut header = Feedback::Hpcc(Header { path, ..Header::default() });
            for hop in 0..9 {
                control.on_depart(&packet(1000), &mut header, &view(hop, 0));
            }
            let Feedback::Hpcc(header) = header else { panic!("the header stays") };
            assert_eq!(header.hops().len(), told);
        }
    }
}
