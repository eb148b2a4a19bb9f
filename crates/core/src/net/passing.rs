//! The short way of a packet through its host's port: it is queued without a look at the packets that have left.

use super::chain::Store;
use super::port::{Port, Service};
use shallows_units::{Span, Time};

impl Port {
    /// A packet that finds fewer than so many is certain to be taken, and nothing is recorded about it; `takes_all` says that
    /// the discipline takes every packet.
    pub(super) fn passing(&self, takes_all: bool) -> u32 {
        if self.record.is_some() || self.traced || self.apart || self.is_switch {
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
