//! The statistics of a port: counts that begin anew when the warm-up ends, and its state at a time.

use crate::net::port::chain::Store;
use crate::net::port::counts::{PortCounts, TrimCounts};
use crate::net::port::{Port, Service};
use crate::queue::DropWhy;
use shallows_units::{Span, Time};

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
