//! HPCC at a switch: telemetry in every data packet (INT).
//!
//! Source: Li et al. 2019, "HPCC: High Precision Congestion Control" (SIGCOMM), for the fields and their bytes: two
//! bytes, and eight for each hop. Each switch adds its port's rate, the time, the bytes sent so far and the queue
//! as the packet leaves. The simulator of HPCC's authors (int-header.h) rounds as the paper's fields do.
//! Times are rounded down to 1 ns, bytes to 128 and queues to 80, and wrap as their fields do: 24, 20 and 16 bits. A
//! port's rate is exact: the paper's codes know five rates only. That simulator multiplies both units by the rate of the hosts
//! over 25 Gb/s, so that the fields suffice for faster links: [`Settings::unit_factor`].
//! The path's identity is the exclusive or of its switches' numbers, 12 bits each. A switch's number is a permutation of its
//! place in the network, so that two paths that differ in one switch differ always; others share an identity once in 4096.
//! The header is written when the last bit has left. The authors' simulator writes it as the first leaves (switch-node.cc), by the
//! queue and the bytes before the packet: the setting `written`. The queue then lacks what comes during the transmission, so that senders
//! share more equally and leave a longer queue.
//! An experiment is refused where a path has more switches than the header has room for, seven at most, also after tables have
//! followed a failure. A packet that is under way as they change may meet more: the last of them write nothing.
//! Left out: PINT.

use super::{Feedback, Place, PortControl, PortView};
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

crate::choices! {
    /// The moment of a packet's record.
    pub enum Moment {
        /// Its first bit leaves.
        FirstBit = "first-bit",
        /// Its last bit has left.
        LastBit = "last-bit",
    }
}

crate::params! {
    /// HPCC. Each port writes its rate, its queue, the bytes it has sent and the time into every data packet.
    pub struct Settings {
        /// The bytes that a switch counts.
        counts: Counts = "sent", "", "Li 2019: txBytes; arrived ones (rxRate) make the rate oscillate";
        /// The moment of a packet's record: the queue and the bytes sent are those of then, without the packet or with it.
        written: Moment = "last-bit", "", "Li 2019: as the packet is emitted; its authors' simulator: first-bit, at its dequeue (switch-node.cc)";
        /// Units of the header: bytes sent count in 128 bytes times this, queues in 80 bytes times this.
        unit_factor: u64 = 1, "[1, 64]", "Li 2019: 128 B and 80 B; its authors' simulator: the hosts' rate / 25 Gb/s, so 4 at 100 Gb/s";
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
    /// Bytes sent in units of 128 times the factor, 20 bits.
    pub sent: u32,
    /// Queue in units of 80 bytes times the factor, 16 bits, without the packet itself.
    pub queue: u16,
    /// Factor of both units. Both ends know it, and no bit of the header has it.
    pub factor: u16,
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
        f64::from(since(self.sent, old.sent, Self::SENT_BITS)) * f64::from(self.factor) * 128.0
    }

    /// Bytes that wait.
    pub fn queue_bytes(&self) -> f64 {
        f64::from(self.queue) * f64::from(self.factor) * 80.0
    }
}

/// The header: what each switch on the way has added.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Header {
    /// In the order of the path.
    pub hops: [Hop; HOPS],
    /// Identity of the path so far: the exclusive or of its switches' numbers, 12 bits.
    pub identity: u16,
    /// Hops in use.
    pub count: u8,
    /// Switches on the path: the bytes are taken from the first on.
    pub path: u8,
}

impl Header {
    const IDENTITY_BITS: u32 = 12;

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
    written: Moment,
    rate: Rate,
    /// The switch's number in identities of paths.
    number: u16,
    factor: u16,
    bytes: u64,
}

/// The 12 bits of a switch: a permutation of the numbers from 0 to 4095, whose exclusive ors have no pattern.
fn number_of(switch: u32) -> u16 {
    let mask = (1 << Header::IDENTITY_BITS) - 1;
    let mixed = (1..=3u32).fold(switch & mask, |x, round| {
        let x = (x ^ x >> 6).wrapping_mul(0x0b4d).wrapping_add(0x09e3 * round) & mask;
        x ^ x >> 5
    });
    mixed as u16
}

impl Control {
    /// It records the moment of departure.
    pub const DEPARTURES: bool = true;

    /// At a port.
    pub fn new(settings: &Settings, at: Place) -> Self {
        let (number, factor) = (number_of(at.switch), settings.unit_factor as u16);
        Control {
            counts: settings.counts,
            written: settings.written,
            rate: at.rate,
            number,
            factor,
            bytes: 0,
        }
    }
}

impl PortControl for Control {
    fn on_arrive(&mut self, packet: &Packet, _header: &mut Feedback, _port: &PortView) {
        if self.counts == Counts::Arrived {
            self.bytes += u64::from(packet.size);
        }
    }

    fn on_begin(&mut self, packet: &Packet, header: &mut Feedback, port: &PortView) {
        if self.written == Moment::FirstBit {
            self.write(header, port, port.backlog.bytes.saturating_sub(packet.size.into()));
        }
    }

    fn on_depart(&mut self, packet: &Packet, header: &mut Feedback, port: &PortView) {
        if self.counts == Counts::Sent {
            self.bytes += u64::from(packet.size);
        }
        if self.written == Moment::LastBit {
            self.write(header, port, port.backlog.bytes);
        }
    }

    fn observe(&self, _now: shallows_units::Time, put: &mut dyn FnMut(&'static str, f64)) {
        put("counted_bytes", self.bytes as f64);
    }
}

impl Control {
    /// Adds this port's record, with so many bytes that wait, to the header.
    fn write(&self, header: &mut Feedback, port: &PortView, queue: u64) {
        let Feedback::Hpcc(header) = header else { return };
        let room = HOPS.min(header.path.into());
        let Some(hop) = header.hops[..room].get_mut(header.count as usize) else { return };
        *hop = Hop {
            rate: self.rate.as_bps() as f32,
            time: (port.now.as_ps() / 1000) as u32 & ((1 << Hop::TIME_BITS) - 1),
            sent: (self.bytes / (128 * u64::from(self.factor))) as u32 & ((1 << Hop::SENT_BITS) - 1),
            queue: (queue / (80 * u64::from(self.factor))).min(u64::from(u16::MAX)) as u16,
            factor: self.factor,
        };
        header.identity ^= self.number;
        header.count += 1;
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

    const PLACE: Place = Place { rate: Rate::gbps(100), switch: 0 };

    fn view(ns: u64, queued: u64) -> PortView {
        let backlog = Backlog { packets: 0, bytes: queued, serving: 0, free_at: Time::ZERO };
        PortView { now: Time::ZERO + Span::ns(ns), rate: Rate::gbps(100), backlog }
    }

    /// A packet of 1000 bytes before 4000 others, after 128 000 bytes: as its first bit leaves, or when its last has left.
    #[test]
    fn a_record_is_of_the_first_bit_or_the_last() {
        for (written, sent, queue) in [(Moment::FirstBit, 1000, 4000), (Moment::LastBit, 1007, 6000)] {
            let mut control = Control::new(&Settings { written, ..Settings::defaults() }, PLACE);
            control.bytes = 128_000;
            let mut header = Feedback::Hpcc(Header { path: 1, ..Header::default() });
            control.on_begin(&packet(1000), &mut header, &view(0, 5000));
            control.on_depart(&packet(1000), &mut header, &view(80, 6000));
            let Feedback::Hpcc(header) = header else { panic!("the header stays") };
            assert_eq!(
                (header.count, header.hops[0].sent, header.hops[0].queue_bytes()),
                (1, sent, f64::from(queue))
            );
            assert_eq!(control.bytes, 129_000);
        }
    }

    /// Two departures, the second after both counters have wrapped.
    #[test]
    fn fields_are_rounded_and_their_differences_survive_a_wrap() {
        let mut control = Control::new(&Settings::defaults(), PLACE);
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

    /// The authors' simulator at 100 Gb/s: 512 and 320 bytes, so that a queue of 20 MB fits, and smaller differences are lost.
    #[test]
    fn a_factor_makes_the_units_coarser_and_the_fields_longer() {
        let settings = Settings { unit_factor: 4, ..Settings::defaults() };
        let mut control = Control::new(&settings, PLACE);
        let mut header = Feedback::Hpcc(Header { path: 1, ..Header::default() });
        control.bytes = 1_000_000;
        control.on_depart(&packet(1000), &mut header, &view(0, 10_000_000));
        let Feedback::Hpcc(header) = header else { panic!("the header stays") };
        let hop = header.hops[0];
        assert_eq!((hop.sent, hop.queue), (1_001_000 / 512, (10_000_000 / 320) as u16));
        assert_eq!(hop.queue_bytes(), 10_000_000.0);
    }

    /// Li 2019: all switches have numbers of their own, and the identity of a path is their exclusive or. In a leaf-spine network
    /// no two paths share one; of the 64 paths of a fat tree with 16-port switches few pairs do.
    #[test]
    fn paths_have_identities() {
        let numbers: std::collections::BTreeSet<u16> = (0..4096).map(number_of).collect();
        assert_eq!(numbers.len(), 4096);
        let identity = |switches: &[u32]| {
            let mut header = Feedback::Hpcc(Header { path: 5, ..Header::default() });
            for switch in switches {
                let mut control = Control::new(&Settings::defaults(), Place { switch: *switch, ..PLACE });
                control.on_depart(&packet(1000), &mut header, &view(0, 0));
            }
            let Feedback::Hpcc(header) = header else { panic!("the header stays") };
            assert!(header.identity < 4096 && usize::from(header.count) == switches.len());
            header.identity
        };
        assert_eq!(identity(&[17]), number_of(17));
        let spines: std::collections::BTreeSet<u16> =
            (100..164).map(|spine| identity(&[1, spine, 2])).collect();
        assert_eq!(spines.len(), 64);
        // Edge 0 in pod 0, edge 136 in pod 1; aggregation 8.. and 144.., 8 cores for each.
        let paths: Vec<u16> =
            (0..64).map(|core| identity(&[0, 8 + core / 8, 300 + core, 144 + core / 8, 136])).collect();
        let equal =
            (0..64).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|(i, j)| paths[*i] == paths[*j]).count();
        assert!(equal <= 4, "{equal} of 2016 pairs");
    }

    #[test]
    fn a_header_tells_no_more_hops_than_its_bytes_have_room_for() {
        for (path, hops) in [(1, 1), (7, 7), (9, HOPS)] {
            let mut control = Control::new(&Settings::defaults(), PLACE);
            let mut header = Feedback::Hpcc(Header { path, ..Header::default() });
            for hop in 0..9 {
                control.on_depart(&packet(1000), &mut header, &view(hop, 0));
            }
            let Feedback::Hpcc(header) = header else { panic!("the header stays") };
            assert_eq!(header.hops().len(), hops);
        }
    }
}
