//! A growable ring of packets: the queue of a FIFO port and its wire in one.

use crate::events::fetch::fetch;
use crate::packet::Packet;

/// First in, first out; positions are running numbers that never repeat within 2^32 packets held.
#[derive(Debug, Default)]
pub struct Ring {
    slots: Box<[Packet]>,
    head: u32,
    tail: u32,
}

impl Ring {
    /// Packets held.
    #[inline]
    pub fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    /// Nothing held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Running number of the oldest packet held.
    #[inline]
    pub fn head(&self) -> u32 {
        self.head
    }

    /// Running number that the next packet will get.
    #[inline]
    pub fn tail(&self) -> u32 {
        self.tail
    }

    /// The packet with running number `number`, which must be held.
    #[inline(always)]
    pub fn at(&self, number: u32) -> &Packet {
        let mask = self.slots.len() - 1;
        &self.slots[number as usize & mask]
    }

    /// The oldest packet.
    #[inline]
    pub fn front(&self) -> Option<&Packet> {
        if self.is_empty() { None } else { Some(self.at(self.head)) }
    }

    /// The newest packet.
    pub fn back(&self) -> Option<&Packet> {
        if self.is_empty() { None } else { Some(self.at(self.tail.wrapping_sub(1))) }
    }

    /// Adds a packet at the end.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet) {
        if self.len() as usize == self.slots.len() {
            self.grow(packet);
        }
        let mask = self.slots.len() - 1;
        self.slots[self.tail as usize & mask] = packet;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Removes the oldest packet.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Packet> {
        if self.is_empty() {
            return None;
        }
        let packet = *self.at(self.head);
        self.head = self.head.wrapping_add(1);
        Some(packet)
    }

    /// Asks for the place of a packet: `number` may be the next one, and nothing need stand there.
    #[inline(always)]
    pub fn foresee(&self, number: u32) {
        if let Some(slot) = self.slots.get(number as usize & self.slots.len().wrapping_sub(1)) {
            fetch(slot, 1);
            fetch(&slot.flags, 1); // the last field: it may stand in the next line
        }
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.slots)
    }

    #[cold]
    fn grow(&mut self, filler: Packet) {
        let mut wider = vec![filler; (self.slots.len() * 2).max(8)];
        let mask = wider.len() - 1;
        let mut number = self.head;
        while number != self.tail {
            wider[number as usize & mask] = *self.at(number);
            number = number.wrapping_add(1);
        }
        self.slots = wider.into_boxed_slice();
    }
}
