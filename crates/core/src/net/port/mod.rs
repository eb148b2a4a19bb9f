//! One direction of a link: a queue, a transmitter and the wire behind it.
//!
//! For a discipline that decides at arrival everything is known at arrival: when transmission begins
//! and ends, and when the packet is at the far end. Queue and wire are then one chain, the event queue
//! holds only its head, and the chain remembers the first packet that has not left the queue, as far as is known. A departure
//! at the instant of an arrival comes first.

pub mod chain;
pub mod counts;
mod flags;
mod line;
mod scheduled;
mod service;
mod small_queues;
mod sockets;
mod statistics;

use crate::events::fetch::fetch;
use crate::events::{Source, Wire};
pub use crate::net::wire::faults::{Varying, WireFaults};
use crate::packet::{Flags, Packet};
use crate::port_control::{AnyPortControl, PortView};
use crate::probe::queue::QueueRecord;
use crate::probe::traces::Arrivals;
use crate::queue::{Admission, Backlog, DropWhy, Verdict};
use chain::{Chain, Store};
pub use counts::{PortCounts, TrimCounts};
use flags::Equipment;
pub use flags::PortFlags;
pub use service::{Scheduled, Service};
use shallows_units::{Bytes, Index, Rate, Span, Time};
use std::num::NonZeroU32;

/// A controller at work.
pub struct Controlled {
    /// The controller.
    pub control: AnyPortControl,
    /// Its clock.
    pub source: Source,
    /// Its clock runs.
    pub ticking: bool,
}

impl Controlled {
    /// With its clock stopped.
    pub fn new(control: AnyPortControl) -> Self {
        Controlled { control, source: Source::NONE, ticking: false }
    }
}

/// The end of a wire, in four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireEnd(u32);

impl WireEnd {
    /// A host, which takes all that comes.
    pub const HOST: WireEnd = WireEnd(u32::MAX);
    /// The port there, beyond which pause frames do not go.
    pub const MAC: WireEnd = WireEnd(u32::MAX - 1);

    /// A node that forwards.
    pub const fn node(number: u32) -> Self {
        debug_assert!(number < Self::MAC.0, "a network of 2^32 - 2 nodes");
        WireEnd(number)
    }

    /// The node that forwards, if it is one.
    #[inline(always)]
    pub const fn forwards(self) -> Option<u32> {
        if self.0 < Self::MAC.0 { Some(self.0) } else { None }
    }
}

/// One direction of a link. The first three cache lines have all that a packet needs that comes and goes; one that
/// only goes needs the first two.
#[repr(C, align(64))]
pub struct Port {
    /// Queue and wire (discipline at arrival), or wire alone.
    pub chain: Chain,
    /// Time a byte takes, where it is a whole number of ps.
    pub(super) ps_per_byte: Option<NonZeroU32>,
    /// When the transmitter will be idle.
    pub free_at: Time,
    /// Propagation delay.
    pub delay: Span,
    /// Bytes held in the queue, behind its line too.
    pub(super) bytes: u64,
    /// Its wire as a source of events.
    pub end: Wire,
    /// Its wire's end.
    pub leads_to: WireEnd,
    /// Its yes-or-no facts.
    pub(super) flags: PortFlags,
    /// Its share of its switch's buffer, if it has one.
    pub share: Index,
    /// The cell at its wire's end, where there are several.
    pub far_cell: u32,
    /// Packets behind its line, if it has one.
    pub(super) behind: u32,
    /// A packet that finds fewer than these joins the chain whatever it is, and nothing is recorded about it.
    pub(super) passes_below: u32,
    /// The queue over time.
    pub record: Option<Box<QueueRecord>>,
    /// How it queues.
    pub service: Service,
    /// The counts of passing packets.
    pub counts: PortCounts,
    /// By class, when traced.
    pub arrivals: Option<Box<[Arrivals]>>,
    /// Injected faults.
    pub faults: Option<Box<WireFaults>>,
    /// The switch's half of a protocol, if any.
    pub control: Option<Box<Controlled>>,
    /// Where its wire ends, the port that sends back along the same cable, if a controller stands there.
    pub opposite: Option<u32>,
    /// Rate of the transmitter.
    pub rate: Rate,
}

impl Port {
    /// An empty port.
    pub fn new(rate: Rate, delay: Span, is_switch: bool, service: Service) -> Self {
        Port {
            chain: Chain::default(),
            ps_per_byte: Self::ps_per_byte(rate),
            end: Wire::NONE,
            free_at: Time::ZERO,
            delay,
            bytes: 0,
            flags: PortFlags::new(is_switch),
            passes_below: 0,
            leads_to: WireEnd::HOST,
            far_cell: 0,
            behind: 0,
            share: Index::NONE,
            service,
            counts: PortCounts::default(),
            record: None,
            arrivals: None,
            faults: None,
            control: None,
            opposite: None,
            rate,
        }
    }

    /// The time that a byte takes, where it is a whole number of ps.
    pub(super) fn ps_per_byte(rate: Rate) -> Option<NonZeroU32> {
        rate.ps_per_byte().and_then(|ps| u32::try_from(ps).ok()).and_then(NonZeroU32::new)
    }

    /// Its yes-or-no facts. Those that follow from others are up to date from [`crate::net::Network::new`] on.
    pub fn flags(&self) -> PortFlags {
        self.flags
    }

    /// Sets facts that follow from no others.
    pub fn set(&mut self, change: impl FnOnce(&mut PortFlags)) {
        change(&mut self.flags);
        self.update_flags();
    }

    /// Computes the facts that follow from the others and from the port's equipment. The network calls it when it takes the port
    /// over, and whenever it changes the equipment.
    pub(super) fn update_flags(&mut self) {
        let takes_all = matches!(&self.service, Service::Arrival(admission) if admission.takes_all());
        self.flags = self.flags.derive(&Equipment {
            at_arrival: matches!(self.service, Service::Arrival(_)),
            takes_all,
            record: self.record.is_some(),
            arrivals: self.arrivals.is_some(),
            control: self.control.is_some(),
            share: self.share.is_some(),
            faults: self.faults.is_some(),
            opposite: self.opposite.is_some(),
            pausing: self.pausing().is_some(),
        });
        self.passes_below = if self.flags.short_ways { self.passing(takes_all) } else { 0 };
    }

    /// The facts that a controller may know; call after [`Port::settle`].
    pub fn view(&self, now: Time, store: &Store) -> PortView {
        let backlog = match &self.service {
            Service::Arrival(_) | Service::Lined(_) => self.backlog(store),
            Service::Departure(scheduled) => {
                let (packets, bytes) = scheduled.held();
                let serving = scheduled.serving.map_or(0, |p| u64::from(p.size));
                Backlog { packets, bytes, serving, free_at: self.free_at }
            }
        };
        PortView { now, rate: self.rate, backlog }
    }

    /// Time to transmit `size` bytes, rounded up to a ps.
    #[inline(always)]
    pub fn transmission(&self, size: u16) -> Span {
        match self.ps_per_byte {
            Some(ps) => Span::ps(u64::from(ps.get()) * u64::from(size)),
            None => self.rate.transmit(Bytes(u64::from(size))),
        }
    }

    /// Packets and bytes held in the queue, the one in transmission included; call after [`Port::settle`].
    #[inline]
    pub fn held(&self) -> (u64, u64) {
        match &self.service {
            Service::Arrival(_) | Service::Lined(_) => (self.queued(), self.bytes),
            Service::Departure(scheduled) => scheduled.held(),
        }
    }

    /// Lets go of the packets whose transmission has ended by `now`; returns the bytes of the oldest one that is left.
    #[inline(always)]
    pub fn settle(&mut self, now: Time, store: &Store) -> u64 {
        while let Some(slot) = self.chain.leaves_next(store) {
            let (left_at, size) = (slot.packet.at - self.delay, u64::from(slot.packet.size));
            if left_at > now {
                store.foresee_after(slot);
                return size;
            }
            if let Some(record) = &mut self.record {
                let packets = u64::from(self.chain.waiting()) + u64::from(self.behind);
                record.stood(packets, self.bytes, left_at);
                record.left(packets - 1, self.bytes - size, left_at);
            }
            self.bytes -= size;
            self.chain.leave(slot);
        }
        0
    }

    /// Lets go of the oldest packet, of a port that keeps no backlog. The packet has left its queue by now.
    #[inline(always)]
    fn let_go(&mut self, store: &Store) {
        if let Some(slot) = self.chain.leaves_next(store) {
            self.bytes -= u64::from(slot.packet.size);
            self.chain.leave(slot);
        }
    }

    /// The packets of the chain whose transmission has not ended by `now`, newest first; none if they have no more than
    /// `most` bytes, which is often known without a look at them.
    pub fn waiting_beyond<'a>(
        &self,
        most: u64,
        now: Time,
        store: &'a Store,
    ) -> impl Iterator<Item = &'a Packet> + use<'a> {
        let few = self.free_at <= now || self.bytes <= most;
        let packets = (!few).then(|| self.chain.newest_waiting(store));
        let delay = self.delay;
        packets.into_iter().flatten().take_while(move |packet| packet.at - delay > now)
    }

    /// Bytes that wait at the port, with those behind its line.
    #[inline]
    fn queued(&self) -> u64 {
        u64::from(self.chain.waiting()) + u64::from(self.behind)
    }

    /// The queue that an arriving packet finds; call after [`Port::settle`].
    #[inline(always)]
    pub fn backlog(&self, store: &Store) -> Backlog {
        // The transmitter never idles while packets wait, so the oldest one is being transmitted.
        let serving = self.chain.leaves_next(store).map_or(0, |slot| u64::from(slot.packet.size));
        self.backlog_with(serving)
    }

    #[inline(always)]
    fn backlog_with(&self, serving: u64) -> Backlog {
        Backlog { packets: self.queued(), bytes: self.bytes, serving, free_at: self.free_at }
    }

    /// Asks a discipline that decides at arrival about the packet in `slot`, counts its answer, and queues the packet
    /// unless it is refused; call after [`Port::settle`], which has returned `serving`. `class` gives the packet's, where
    /// arrivals are traced. Returns when its wire's next event comes, if that is this packet's.
    #[inline(always)]
    pub fn admit(
        &mut self,
        slot: u32,
        serving: u64,
        store: &mut Store,
        now: Time,
        class: impl FnOnce(&Packet) -> usize,
    ) -> Result<Option<Time>, DropWhy> {
        let backlog = self.backlog_with(serving);
        let here = store.slot_mut(slot);
        let packet = &mut here.packet;
        let verdict = match &mut self.service {
            Service::Arrival(admission) => admission.admit(packet, backlog, now),
            Service::Lined(_) | Service::Departure(_) => Verdict::Pass,
        };
        let marked = verdict == Verdict::Mark && packet.ecn_capable() && !packet.flags.any(Flags::CE);
        self.counts.marks += u64::from(marked);
        if self.flags.traced {
            self.note_arrival(class(packet), packet.size, u64::from(marked));
        }
        packet.flags = packet.flags.with_if(Flags::CE, marked);
        if let Verdict::Drop(why) = verdict {
            return Err(why);
        }
        let at = self.set_times(packet, now);
        self.chain.follow(here);
        Ok(self.chain.append(slot, store).then_some(at))
    }

    /// A packet of `class` has come, which was marked so many times.
    #[cold]
    pub(super) fn note_arrival(&mut self, class: usize, size: u16, marks: u64) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals[class].came(size, marks);
        }
    }

    /// Queues the packet in `slot` behind all others, its times known. Returns when it lands, if that is the wire's next event.
    #[inline(always)]
    pub fn accept(&mut self, slot: u32, store: &mut Store, now: Time) -> Option<Time> {
        let here = store.slot_mut(slot);
        let at = self.set_times(&mut here.packet, now);
        self.chain.follow(here);
        self.chain.append(slot, store).then_some(at)
    }

    /// Counts and records `packet`, which is the last in the queue now; returns when it lands.
    #[inline(always)]
    fn set_times(&mut self, packet: &mut Packet, now: Time) -> Time {
        let size = packet.size;
        let begin = self.free_at.max(now);
        let wait = begin - now;
        self.free_at = begin + self.transmission(size);
        let at = self.free_at + self.delay;
        packet.at = at;
        // A packet adds up its waits in switches: all ones there and 0 on a host, without a branch.
        packet.waited += wait.as_ps() & u64::from(self.flags.switch).wrapping_neg();
        let packets = self.queued();
        if let Some(record) = &mut self.record {
            let after = self.bytes + u64::from(size);
            record.stood(packets, self.bytes, now);
            record.became(packets + 1, after, now);
            record.waits_until(begin, wait);
            record.shares(packet, begin, wait);
        }
        self.bytes += u64::from(size);
        at
    }

    /// Puts a packet, just transmitted by a discipline at departure, on the wire.
    pub fn launch(&mut self, packet: &Packet, store: &mut Store, now: Time) -> Option<Time> {
        let mut at = now + self.delay;
        if self.faults.is_some() {
            at = self.leaves(at, now, store);
        }
        let flags = packet.flags.without(Flags::CLASSIC);
        let slot = store.put(&Packet { at, flags, ..*packet });
        self.chain.launch(slot, store).then_some(at)
    }

    /// Takes the packet that reaches the far end at `now`; returns its slot, which it keeps, and when the next one will.
    #[inline(always)]
    pub fn land(&mut self, store: &Store, now: Time) -> (u32, Option<Time>) {
        if self.chain.on_wire() == 0 {
            if self.flags.plain {
                self.let_go(store);
            } else {
                self.settle(now, store);
            }
        }
        let (slot, _) = self.chain.pop_before(Time::MAX, store).expect("a wire event has its packet");
        (slot, self.chain.first(store).map(|packet| packet.at))
    }

    /// When the next packet of its wire lands.
    #[inline]
    pub fn soonest(&self, store: &Store) -> Time {
        self.chain.first(store).map_or(Time::MAX, |packet| packet.at)
    }

    /// Asks for its own lines: the first of two steps. The second needs the lines that this one has brought.
    #[inline(always)]
    pub fn foresee(&self) {
        fetch(self, 3);
    }

    /// Asks for the packets that it looks at when the next one comes or goes, and for its record.
    #[inline(always)]
    pub fn foresee_queue(&self, store: &Store) {
        self.chain.foresee(store);
        if let Some(record) = &self.record {
            record.foresee(self.chain.waiting() > 0);
        }
    }

    /// Brings its queue up to `now`, before packets are taken from a wire between cells.
    #[inline]
    pub fn leave(&mut self, now: Time, store: &Store) {
        if !self.flags.plain {
            self.settle(now, store);
        }
    }

    /// Takes the next packet of its wire, which has left the queue, if it lands before `until`. It keeps its slot, which is
    /// returned.
    #[inline(always)]
    pub fn take_before<'a>(&mut self, until: Time, store: &'a Store) -> Option<(u32, &'a Packet)> {
        if self.flags.plain && self.chain.on_wire() == 0 && self.soonest(store) < until {
            self.let_go(store);
        }
        debug_assert!(
            self.soonest(store) >= until || self.chain.on_wire() > 0,
            "a packet leaves its queue first"
        );
        self.chain.pop_before(until, store)
    }

    // ---- the short way through a host's port ----

    /// A packet that finds fewer than so many is certain to be taken, and nothing is recorded about it; `takes_all` says that
    /// the discipline takes every packet.
    pub(super) fn passing(&self, takes_all: bool) -> u32 {
        let watched = self.record.is_some() || self.flags.traced;
        if watched || self.flags.controlled || self.flags.switch {
            return 0;
        }
        match &self.service {
            Service::Lined(lined) => lined.line.takes(),
            _ if takes_all => u32::MAX,
            _ => 0,
        }
    }

    /// Queues the packet in `slot` if it is certain to be taken, and nothing about it is recorded. Returns how long it waits, and
    /// when it lands if that is the wire's next event. The packets that have left are not looked at: more may seem to wait
    /// than do, until [`Port::settle`] is called.
    #[inline(always)]
    pub(super) fn pass(&mut self, slot: u32, store: &mut Store, now: Time) -> Option<(Span, Option<Time>)> {
        let idle = self.free_at <= now;
        let waiting = if idle { 0 } else { self.chain.waiting() };
        if waiting >= self.passes_below || self.behind > 0 {
            return None;
        }
        if idle {
            self.bytes = 0;
            self.chain.leave_all();
        }
        let begin = self.free_at.max(now);
        let here = store.slot_mut(slot);
        let size = here.packet.size;
        self.counts.packets_in += 1;
        self.counts.bytes_in += u64::from(size);
        self.bytes += u64::from(size);
        self.free_at = begin + self.transmission(size);
        let at = self.free_at + self.delay;
        here.packet.at = at;
        self.chain.follow(here);
        Some((begin - now, self.chain.append(slot, store).then_some(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port is laid out by cache line: an end of a wire takes no more than a number does.
    #[test]
    fn an_end_of_a_wire_takes_four_bytes() {
        assert_eq!((size_of::<WireEnd>(), size_of::<Index>()), (4, 4));
        assert_eq!((size_of::<Port>(), align_of::<Port>()), (320, 64));
        let forwards = [WireEnd::HOST, WireEnd::MAC, WireEnd::node(7)].map(WireEnd::forwards);
        assert_eq!(forwards, [None, None, Some(7)]);
    }
}
