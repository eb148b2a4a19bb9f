//! The packets of a cell, and the chains of them in its ports: queue and wire in one.
//!
//! A packet has a slot of its cell from the first port there to the end of the last wire, and goes from port to port by
//! being linked anew. The slot that became free last is taken first, since it is still in the cache. So a cell touches as
//! much memory as packets are under way in it, wherever they stand.

use crate::events::fetch::fetch;
use crate::packet::Packet;
use shallows_units::Time;

/// Room for a packet with its neighbours in the chain: one cache line.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Slot {
    /// The packet.
    pub packet: Packet,
    next: u32,
    before: u32,
}

/// Memory of a packet outside of a line.
pub const PACKET_BYTES: usize = size_of::<Packet>();
/// Bytes of memory that a packet takes until it has left its cell.
pub const SLOT_BYTES: usize = size_of::<Slot>() + size_of::<u32>();

/// The packets of a cell, by slot.
#[derive(Debug, Default)]
pub struct Store {
    slots: Vec<Slot>,
    /// Empty ones; the last became free last.
    free: Vec<u32>,
}

impl Store {
    /// The packet in a slot.
    #[inline(always)]
    pub fn at(&self, slot: u32) -> &Packet {
        &self.slots[slot as usize].packet
    }

    /// A slot, to be changed.
    #[inline(always)]
    pub fn slot_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    /// The packet in a slot, to be changed.
    #[inline(always)]
    pub fn at_mut(&mut self, slot: u32) -> &mut Packet {
        &mut self.slots[slot as usize].packet
    }

    /// Gives a packet a slot.
    #[inline(always)]
    pub fn put(&mut self, packet: &Packet) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.widen(),
        };
        *self.at_mut(slot) = *packet;
        slot
    }

    /// Takes the packet out of a slot, which is free from now on.
    #[inline(always)]
    pub fn take(&mut self, slot: u32) -> Packet {
        self.free(slot);
        *self.at(slot)
    }

    /// A slot is free from now on.
    #[inline(always)]
    pub fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Asks for the slot that will be taken after `further` others.
    #[inline(always)]
    pub fn foresee_free(&self, further: usize) {
        if let Some(slot) = self.free.len().checked_sub(1 + further).map(|place| self.free[place]) {
            self.foresee(slot);
        }
    }

    /// Asks for the packet after the one in `slot`. There need be none.
    #[inline(always)]
    pub fn foresee_after(&self, slot: &Slot) {
        self.foresee(slot.next);
    }

    /// Asks for a slot. There need be no such one.
    #[inline(always)]
    fn foresee(&self, slot: u32) {
        fetch(self.slots.as_ptr().wrapping_add(slot as usize), 1);
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.free.capacity() * size_of::<u32>()
    }

    #[cold]
    #[inline(never)]
    fn widen(&mut self) -> u32 {
        let slot = self.slots.len() as u32;
        self.slots.push(Slot { packet: Packet::BLANK, next: slot, before: slot });
        slot
    }
}

/// Packets in the order in which they land. The first ones are on the wire; the others have not been transmitted yet.
#[derive(Debug, Default)]
pub struct Chain {
    first: u32,
    last: u32,
    /// The first one that waits, if any does.
    leaves_next: u32,
    held: u32,
    waiting: u32,
}

impl Chain {
    /// Packets held.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.held
    }

    /// Nothing held.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Packets whose transmission has not ended, as far as [`Chain::leave`] was called.
    #[inline(always)]
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Packets on the wire.
    #[inline(always)]
    pub fn on_wire(&self) -> u32 {
        self.held - self.waiting
    }

    /// The packet that lands next.
    #[inline(always)]
    pub fn first<'a>(&self, store: &'a Store) -> Option<&'a Packet> {
        self.first_slot(store).map(|slot| &slot.packet)
    }

    #[inline(always)]
    fn first_slot<'a>(&self, store: &'a Store) -> Option<&'a Slot> {
        (self.held > 0).then(|| &store.slots[self.first as usize])
    }

    /// The newest packet.
    pub fn last<'a>(&self, store: &'a Store) -> Option<&'a Packet> {
        (self.held > 0).then(|| store.at(self.last))
    }

    /// The slot of the oldest packet whose transmission has not ended.
    #[inline(always)]
    pub fn leaves_next<'a>(&self, store: &'a Store) -> Option<&'a Slot> {
        (self.waiting > 0).then(|| &store.slots[self.leaves_next as usize])
    }

    /// Adds the packet in `slot`, to be transmitted; returns whether it lands next.
    #[inline(always)]
    pub fn push(&mut self, slot: u32, store: &mut Store) -> bool {
        self.follow(store.slot_mut(slot));
        self.append(slot, store)
    }

    /// The first half of adding a packet, with its slot at hand.
    #[inline(always)]
    pub(in crate::net) fn follow(&self, slot: &mut Slot) {
        slot.before = self.last;
    }

    /// The second half.
    #[inline(always)]
    pub(in crate::net) fn append(&mut self, slot: u32, store: &mut Store) -> bool {
        if self.waiting == 0 {
            self.leaves_next = slot;
        }
        self.waiting += 1;
        self.link(slot, store)
    }

    /// Adds the packet in `slot`, which has been transmitted, as have all others; returns whether it lands next.
    #[inline(always)]
    pub fn launch(&mut self, slot: u32, store: &mut Store) -> bool {
        debug_assert!(self.waiting == 0, "a packet cannot leave before those that wait");
        self.follow(store.slot_mut(slot));
        self.link(slot, store)
    }

    #[inline(always)]
    fn link(&mut self, slot: u32, store: &mut Store) -> bool {
        let only = self.held == 0;
        if only {
            self.first = slot;
        } else {
            store.slots[self.last as usize].next = slot;
        }
        self.last = slot;
        self.held += 1;
        only
    }

    /// The transmission of the packet in `slot` has ended, which [`Chain::leaves_next`] has returned.
    #[inline(always)]
    pub fn leave(&mut self, slot: &Slot) {
        self.leaves_next = slot.next;
        self.waiting -= 1;
    }

    /// All transmissions have ended.
    #[inline(always)]
    pub fn leave_all(&mut self) {
        self.waiting = 0;
    }

    /// Takes the packet that lands next out of the chain, if that is before `until`; it keeps its slot, whose number is
    /// returned with it.
    #[inline(always)]
    pub fn pop_before<'a>(&mut self, until: Time, store: &'a Store) -> Option<(u32, &'a Packet)> {
        let (number, slot) = (self.first, self.first_slot(store)?);
        if slot.packet.at >= until {
            return None;
        }
        self.first = slot.next;
        self.held -= 1;
        Some((number, &slot.packet))
    }

    /// All packets, the one that lands next first.
    pub fn iter<'a>(&self, store: &'a Store) -> impl Iterator<Item = &'a Packet> + use<'a> {
        Self::walk(self.first, self.held, |slot| slot.next, store)
    }

    /// Those that wait, the oldest first.
    pub fn oldest_waiting<'a>(&self, store: &'a Store) -> impl Iterator<Item = &'a Packet> + use<'a> {
        Self::walk(self.leaves_next, self.waiting, |slot| slot.next, store)
    }

    /// The waiting packets, the newest first.
    #[inline]
    pub fn newest_waiting<'a>(&self, store: &'a Store) -> impl Iterator<Item = &'a Packet> + use<'a> {
        Self::walk(self.last, self.waiting, |slot| slot.before, store)
    }

    #[inline]
    fn walk(
        from: u32,
        packets: u32,
        neighbour: impl Fn(&Slot) -> u32,
        store: &Store,
    ) -> impl Iterator<Item = &Packet> {
        let mut slot = from;
        (0..packets).map(move |_| {
            let here = &store.slots[slot as usize];
            slot = neighbour(here);
            &here.packet
        })
    }

    /// Asks for the packets that are read when one comes or goes.
    #[inline(always)]
    pub fn foresee(&self, store: &Store) {
        store.foresee(self.first);
        store.foresee(self.leaves_next);
        store.foresee(self.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn a_slot_is_a_cache_line() {
        assert_eq!((size_of::<Slot>(), align_of::<Slot>()), (64, 64));
    }

    /// The sizes of packets, which name them here.
    fn sizes<'a>(packets: impl Iterator<Item = &'a Packet>) -> Vec<u16> {
        packets.map(|packet| packet.size).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Three chains with one store are three queues, each with a pointer to the first packet that waits; a packet that is
        /// handed on keeps its slot.
        #[test]
        fn chains_are_queues(steps in prop::collection::vec((0usize..3, 0u8..5), 1..300)) {
            let mut store = Store::default();
            let mut chains = [(); 3].map(|()| (Chain::default(), VecDeque::<u16>::new(), 0));
            let mut most = 0;
            for (number, (which, step)) in (1..).zip(steps) {
                let (chain, model, waiting) = &mut chains[which];
                match step {
                    0 | 1 => {
                        let slot = store.put(&packet(number));
                        prop_assert_eq!(chain.push(slot, &mut store), model.is_empty());
                        *waiting += 1;
                        model.push_back(number);
                    }
                    2 if *waiting > 0 => {
                        let slot = chain.leaves_next(&store).expect("a packet waits");
                        chain.leave(slot);
                        *waiting -= 1;
                    }
                    3 if *waiting < model.len() => {
                        let (slot, _) = chain.pop_before(Time::MAX, &store).expect("a packet on the wire");
                        prop_assert_eq!(Some(store.take(slot).size), model.pop_front());
                    }
                    4 if *waiting < model.len() => {
                        let (slot, _) = chain.pop_before(Time::MAX, &store).expect("a packet on the wire");
                        let moved = model.pop_front().expect("the same in the model");
                        let (chain, model, waiting) = &mut chains[(which + 1) % 3];
                        chain.push(slot, &mut store);
                        *waiting += 1;
                        model.push_back(moved);
                    }
                    _ => {}
                }
                for (chain, model, waiting) in &chains {
                    let all: Vec<u16> = model.iter().copied().collect();
                    let (_, wait) = all.split_at(all.len() - waiting);
                    prop_assert_eq!(sizes(chain.iter(&store)), &all[..]);
                    prop_assert_eq!(sizes(chain.oldest_waiting(&store)), wait);
                    let newest: Vec<u16> = wait.iter().rev().copied().collect();
                    prop_assert_eq!(sizes(chain.newest_waiting(&store)), newest);
                    prop_assert_eq!(sizes(chain.first(&store).into_iter()), &all[..all.len().min(1)]);
                    prop_assert_eq!(sizes(chain.last(&store).into_iter()), &all[all.len().saturating_sub(1)..]);
                    prop_assert_eq!(sizes(chain.leaves_next(&store).map(|slot| &slot.packet).into_iter()), &wait[..wait.len().min(1)]);
                    prop_assert_eq!((chain.len() as usize, chain.waiting() as usize), (all.len(), *waiting));
                }
                most = most.max(chains.iter().map(|(_, model, _)| model.len()).sum());
                prop_assert_eq!(store.slots.len(), most, "a slot is used again before there is a new one");
            }
        }
    }
}
