//! The statistics of a port: counts that begin anew when the warm-up ends, and its state at a time.

use crate::net::Network;
use crate::net::port::chain::Store;
use crate::net::port::{Port, Service};
use crate::queue::DropWhy;
use shallows_units::{Span, Time};

/// The traffic of a port since the warm-up; `packets_in` = out + dropped in the queue + held.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)] // the fields that each packet changes come first
pub struct PortCounts {
    /// Packets that arrived, dropped ones included.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Packets that were marked CE here.
    pub marks: u64,
    /// Packets dropped, by the common ones of [`DropWhy`].
    pub drops: [u64; DropWhy::COMMON],
    /// Bytes that left the queue otherwise than by the transmitter: dropped, cut off, or sent back.
    pub dropped_bytes: u64,
    /// Time for which the first of these packets had been transmitted when counting began.
    pub early: Span,
    /// Packets that left before counting began, and that were lost on the wire since.
    pub lost_early: u64,
}

/// Packets that a port trimmed since the warm-up.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrimCounts {
    /// Packets whose payload was cut off.
    pub trims: u64,
    /// Headers sent back to their senders, since no room was left for them.
    pub returned: u64,
}

/// Packets over the whole run; sent + duplicated = delivered + dropped + in flight.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Handed to a NIC.
    pub sent: u64,
    /// Handed to a host.
    pub delivered: u64,
    /// Dropped, anywhere.
    pub dropped: u64,
    /// Made by an injected fault.
    pub duplicated: u64,
    /// Transmissions that reached the far end of a wire (lost ones included).
    pub hops: u64,
}

/// How long packets wait in a host's port: of those whose transmission begins within the run, as far as is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waits {
    /// How many.
    pub packets: u64,
    /// In ps, all together.
    pub sum: u128,
}

impl Waits {
    #[inline]
    pub(in crate::net) fn add(&mut self, wait: Span) {
        self.packets += 1;
        self.sum += u128::from(wait.as_ps());
    }
}

impl Network {
    /// Packets in queues and on wires now.
    pub fn in_flight(&self) -> u64 {
        let in_ports = |p: &Port| match &p.service {
            Service::Arrival(_) | Service::Lined(_) => u64::from(p.chain.len()) + u64::from(p.behind),
            Service::Departure(s) => p.on_wire() + s.held().0,
        };
        let strays = (self.strays.len() - self.free_strays.len()) as u64;
        self.ports.iter().map(in_ports).sum::<u64>() + strays
    }

    /// The warm-up ends: the statistics of all ports begin.
    pub fn restart(&mut self, now: Time) {
        if now == Time::ZERO && self.totals.sent == 0 {
            return; // everything is at its beginning
        }
        self.ports.iter_mut().for_each(|port| port.restart(now, &self.store));
        self.host_waits.fill(Waits::default());
        self.lost_answers.clear();
    }

    /// Brings the records of all ports up to `now`.
    pub fn sync(&mut self, now: Time) {
        self.ports.iter_mut().for_each(|port| port.sync(now, &self.store));
    }
}

impl Port {
    /// Packets dropped for a reason.
    pub fn drops(&self, why: DropWhy) -> u64 {
        let number = why as usize;
        match number.checked_sub(DropWhy::COMMON) {
            None => self.counts.drops[number],
            Some(late) => self.varying().map_or(0, |varying| varying.drops[late]),
        }
    }

    /// Counts a dropped packet.
    pub(in crate::net) fn drop_for(&mut self, why: DropWhy) {
        let number = why as usize;
        match (number.checked_sub(DropWhy::COMMON), self.varying_mut()) {
            (Some(late), Some(varying)) => varying.drops[late] += 1,
            _ => self.counts.drops[number] += 1,
        }
    }

    /// Packets dropped in the queue.
    pub fn dropped(&self) -> u64 {
        DropWhy::ALL.into_iter().filter(|why| !why.on_wire()).map(|why| self.drops(why)).sum()
    }

    /// The port's trimming, where its discipline decides at departure.
    pub fn trimming(&self) -> TrimCounts {
        self.service.scheduled().map_or_else(TrimCounts::default, |scheduled| scheduled.trimming)
    }

    /// Packets that left the queue otherwise than by the transmitter: dropped, or sent back to their senders.
    pub fn gone(&self) -> u64 {
        self.dropped() + self.trimming().returned
    }

    /// Packets dropped in the queue or lost on the wire.
    pub fn lost(&self) -> u64 {
        DropWhy::ALL.into_iter().map(|why| self.drops(why)).sum()
    }

    /// Packets and bytes in or before transmission at `now`, where the chain has them: as [`Port::held`], without settling.
    pub fn holds(&self, now: Time, store: &Store) -> (u64, u64) {
        let (mut packets, mut bytes) = (self.chain.waiting() + self.behind, self.bytes);
        let left = self.chain.oldest_waiting(store).take_while(|packet| packet.at - self.delay <= now);
        for packet in left {
            packets -= 1;
            bytes -= u64::from(packet.size);
        }
        (packets.into(), bytes)
    }

    /// For how long the packet in the transmitter has been transmitted, with or without settling before.
    pub fn in_service(&self, now: Time, store: &Store) -> Span {
        let serving = match &self.service {
            Service::Arrival(_) | Service::Lined(_) => {
                let mut waiting = self.chain.oldest_waiting(store).map(|p| (p.at - self.delay, p.size));
                waiting.find(|(ends, _)| *ends > now)
            }
            Service::Departure(scheduled) => scheduled.serving.map(|packet| (self.free_at, packet.size)),
        };
        serving.map_or(Span::ZERO, |(ends, size)| now.saturating_sub(ends - self.serving_for(size)))
    }

    /// Packets whose transmission has ended and that are still on the wire.
    pub fn on_wire(&self) -> u64 {
        let pauses = self.pausing().map_or(0, |pausing| pausing.on_wire);
        u64::from(self.chain.on_wire()) - u64::from(pauses)
    }

    /// The warm-up ends: statistics begin with the packets held now.
    pub fn restart(&mut self, now: Time, store: &Store) {
        if now == Time::ZERO && self.counts.packets_in == 0 && self.faults.is_none() {
            return; // nothing has come: everything is at its beginning
        }
        self.settle(now, store);
        let (packets, bytes) = self.held();
        if let Some(record) = &mut self.record {
            record.stood(packets, bytes, now);
            record.restart(bytes, now);
        }
        if let Service::Departure(scheduled) = &mut self.service {
            scheduled.trimming = TrimCounts::default();
            if let Some(inner) = &mut scheduled.inner {
                inner.restart();
            }
        }
        if let Some(pausing) = self.pausing_mut() {
            pausing.restart(now);
        }
        if let Some(faults) = &mut self.faults {
            // A discipline at arrival has let go of the packet that leaves now, one at departure has not.
            let at_arrival = !matches!(self.service, Service::Departure(_));
            faults.counts_from = if at_arrival { now + Span::ps(1) } else { now };
        }
        let early = self.in_service(now, store);
        if let Some(varying) = self.varying_mut() {
            (varying.sent_for, varying.drops) = (Span::ZERO, Default::default());
        }
        self.counts = PortCounts { packets_in: packets, bytes_in: bytes, early, ..PortCounts::default() };
    }

    /// Brings the record up to `now`.
    pub fn sync(&mut self, now: Time, store: &Store) {
        self.settle(now, store);
        let (packets, bytes) = self.held();
        if let Some(record) = &mut self.record {
            record.stood(packets, bytes, now);
        }
    }
}
