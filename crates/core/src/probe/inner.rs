//! Record of the queues inside a discipline that has several: the packets each took of each class, their
//! waits there, and the length of the queue when a packet left it.

use super::histogram::LengthHistogram;
use super::waits::WaitCounts;
use crate::packet::{Flags, Packet};
use crate::queue::parts::sparse::Sparse;
use crate::queue::{DropWhy, InnerQueues};
use shallows_units::Span;

/// Packets of one class that travel one way, in one inner queue.
#[derive(Debug, Default)]
pub struct InnerCell {
    /// Packets that came, dropped ones included; after the warm-up, with those held at its end.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Packets whose transmission began.
    pub packets_out: u64,
    /// Packets held now.
    pub held: u64,
    /// Their bytes.
    pub held_bytes: u64,
    /// Marked here.
    pub marks: u64,
    /// Dropped here, by [`DropWhy`].
    pub drops: [u64; DropWhy::COUNT],
    /// Waits in ps until transmission began.
    pub waits: WaitCounts,
    /// Their sum.
    pub wait_sum: u128,
}

/// One inner queue.
#[derive(Debug, Default)]
pub struct InnerRecord {
    /// Its cells, two a class: packets of senders, packets of receivers. Empty before the first packet.
    pub cells: Vec<InnerCell>,
    /// Departures that left each length behind, in packets.
    pub at_dequeue: LengthHistogram,
}

impl InnerRecord {
    #[inline]
    fn cell(&mut self, class: usize, packet: &Packet) -> &mut InnerCell {
        &mut self.cells[2 * class + usize::from(packet.flags.any(Flags::REVERSE))]
    }
}

/// Every inner queue of one port.
#[derive(Debug)]
pub struct InnerRecords {
    queues: Sparse<InnerRecord>,
    classes: usize,
}

impl InnerRecords {
    /// Nothing recorded yet of `queues` queues and `classes` classes.
    pub fn new(queues: usize, classes: usize) -> Self {
        InnerRecords { queues: Sparse::new(queues), classes }
    }

    /// The queues that saw a packet, each with its place in the discipline's order.
    pub fn queues(&self) -> impl Iterator<Item = (usize, &InnerRecord)> {
        self.queues.iter().filter(|(_, queue)| !queue.cells.is_empty())
    }

    #[inline]
    fn record(&mut self, queue: usize) -> &mut InnerRecord {
        let record = self.queues.at(queue);
        if record.cells.is_empty() {
            record.cells.resize_with(2 * self.classes, InnerCell::default);
        }
        record
    }

    #[inline]
    fn cell(&mut self, queue: usize, class: usize, packet: &Packet) -> &mut InnerCell {
        self.record(queue).cell(class, packet)
    }

    /// `packet` of `class` comes to `queue`.
    pub fn came(&mut self, queue: usize, class: usize, packet: &Packet) {
        let cell = self.cell(queue, class, packet);
        cell.packets_in += 1;
        cell.bytes_in += u64::from(packet.size);
        cell.held += 1;
        cell.held_bytes += u64::from(packet.size);
    }

    /// A packet like `packet` was marked in `queue`, `marks` times.
    pub fn marked(&mut self, queue: usize, class: usize, packet: &Packet, marks: u64) {
        self.cell(queue, class, packet).marks += marks;
    }

    /// `packet`, which had come to `queue`, is dropped.
    pub fn dropped(&mut self, queue: usize, class: usize, packet: &Packet, why: DropWhy) {
        let cell = self.cell(queue, class, packet);
        cell.drops[why as usize] += 1;
        cell.held -= 1;
        cell.held_bytes -= u64::from(packet.size);
    }

    /// `packet` leaves `queue` after `wait`, to be transmitted; `length` packets remain there.
    pub fn left(&mut self, queue: usize, class: usize, packet: &Packet, wait: Span, length: u64) {
        let record = self.record(queue);
        record.at_dequeue.add(length, 1);
        let cell = record.cell(class, packet);
        cell.packets_out += 1;
        cell.held -= 1;
        cell.held_bytes -= u64::from(packet.size);
        cell.waits.add(wait.as_ps());
        cell.wait_sum += u128::from(wait.as_ps());
    }

    /// The warm-up ends: statistics begin with the packets held now.
    pub fn restart(&mut self) {
        for queue in self.queues.iter_mut() {
            queue.at_dequeue.clear();
            for cell in &mut queue.cells {
                let mut waits = std::mem::take(&mut cell.waits);
                waits.clear();
                let (held, held_bytes) = (cell.held, cell.held_bytes);
                *cell = InnerCell {
                    packets_in: held,
                    bytes_in: held_bytes,
                    held,
                    held_bytes,
                    waits,
                    ..InnerCell::default()
                };
            }
        }
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        let cell = |c: &InnerCell| size_of::<InnerCell>() + c.waits.memory();
        let queue = |q: &InnerRecord| q.at_dequeue.memory() + q.cells.iter().map(cell).sum::<usize>();
        size_of::<Self>() + self.queues.memory() + self.queues.iter().map(|(_, q)| queue(q)).sum::<usize>()
    }
}

/// The records of a discipline with several queues.
pub fn records(inner: Option<&dyn InnerQueues>, classes: usize) -> Option<Box<InnerRecords>> {
    inner.map(|inner| Box::new(InnerRecords::new(inner.count(), classes)))
}
