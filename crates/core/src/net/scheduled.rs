//! Ports whose discipline decides at departure: two events a packet, and their counts.

use super::buffer::ALONE;
use super::pfc::{NOWHERE, Pausing, ones};
use super::port::Service;
use super::small_queues::Sockets;
use super::statistics::TrimCounts;
use super::{Commons, Network};
use crate::events::Source;
use crate::packet::{Flags, Packet};
use crate::port_control::{AnyPortControl, PortControl};
use crate::probe::inner::InnerRecords;
use crate::queue::{Backlog, DropWhy, InnerQueues, Passing, QueueCx, QueueDisc};

/// A discipline that decides at departure, at work.
pub struct Scheduled {
    /// Holds the packets.
    pub disc: Box<dyn QueueDisc>,
    /// The contents of the discipline when it was last called.
    standing: Backlog,
    /// Being transmitted.
    pub serving: Option<Packet>,
    /// Its events: the end of a transmission, or the time to ask the discipline again.
    pub source: Source,
    /// Records of its queues, where it has several.
    pub inner: Option<Box<InnerRecords>>,
    /// Priority of the packet being transmitted, and the port that is charged for it.
    pub of: (u8, u32),
    /// The port's part in flow control, if any.
    pub pausing: Option<Box<Pausing>>,
    /// The packets of each connection here, in a host whose senders bound them.
    pub sockets: Option<Box<Sockets>>,
    /// Packets that the discipline trimmed.
    pub trimming: TrimCounts,
}

impl Scheduled {
    /// At work with `disc`, empty.
    pub fn new(disc: Box<dyn QueueDisc>) -> Self {
        let of = (0, NOWHERE);
        let (source, trimming) = (Source::NONE, TrimCounts::default());
        let standing = disc.backlog();
        let (serving, inner, pausing, sockets) = (None, None, None, None);
        Scheduled { disc, standing, serving, source, inner, of, pausing, sockets, trimming }
    }

    /// Tells the record of the inner queues, where there is one, of `packet` and its queue's number.
    #[inline]
    pub fn note(
        &mut self,
        packet: &Packet,
        commons: &Commons,
        tell: impl FnOnce(&mut InnerRecords, &dyn InnerQueues, usize),
    ) {
        if let Some(record) = &mut self.inner
            && let Some(queues) = self.disc.inner()
        {
            tell(record, queues, queues.of(packet, commons.priority(packet)));
        }
    }

    /// Packets and bytes held, the one being transmitted included.
    #[inline]
    pub fn held(&self) -> (u64, u64) {
        let serving = self.serving_bytes();
        (self.standing.packets + u64::from(serving > 0), self.standing.bytes + serving)
    }

    /// Bytes held of `priority`, the packet being transmitted included.
    pub fn held_of(&self, priority: u8) -> u64 {
        let serving = if self.of.0 == priority { self.serving_bytes() } else { 0 };
        self.disc.held_of(priority) + serving
    }

    /// Bytes held that stand in reserves of `reserve` bytes for each lossy priority.
    pub fn held_in_reserves(&self, reserve: u64) -> u64 {
        if self.disc.has_lanes() {
            let lossless = self.pausing.as_ref().map_or(0, |pausing| pausing.lossless);
            let lossy = ones(!lossless).map(|priority| self.held_of(priority).min(reserve));
            return lossy.sum();
        }
        self.held().1.min(reserve)
    }

    /// The contents of the discipline.
    #[inline]
    pub fn standing(&self) -> Backlog {
        self.standing
    }

    /// Bytes of the packet being transmitted.
    #[inline]
    fn serving_bytes(&self) -> u64 {
        self.serving.as_ref().map_or(0, |packet| u64::from(packet.size))
    }

    /// Nothing is transmitted, and no pause frame has to be.
    #[inline]
    fn is_free(&self) -> bool {
        self.serving.is_none() && !self.pausing.as_ref().is_some_and(|pausing| pausing.has_frame())
    }

    /// The discipline has been called.
    #[inline]
    pub fn count(&mut self) {
        self.standing = self.disc.backlog();
    }
}

impl Network {
    #[inline(never)]
    pub(super) fn arrive_scheduled(&mut self, number: u32, mut packet: Packet, commons: &Commons) {
        packet.at = self.now;
        let came_by = self.came_by;
        let connection = &commons.connections[packet.flow as usize];
        let (class, priority) = (usize::from(connection.class), connection.priority(packet.flags));
        let to_end = connection.end.saturating_sub(packet.seq);
        let remaining = if packet.flags.any(Flags::REVERSE) { 0 } else { to_end };
        let mut passing = Passing::No;
        let marked = self.ask(number, commons, |scheduled, cx| {
            scheduled.note(&packet, commons, |record, _, queue| record.came(queue, class, &packet));
            if let Some(sockets) = &mut scheduled.sockets {
                sockets.came(&packet);
            }
            (cx.remaining, cx.priority, cx.came_by) = (remaining, priority, came_by);
            if scheduled.is_free() {
                passing = scheduled.disc.pass(&mut packet, cx);
            }
            match passing {
                Passing::Sent => {
                    scheduled.serving = Some(packet);
                    scheduled.of = (cx.priority, cx.came_by);
                }
                Passing::Dropped => {}
                Passing::No => scheduled.disc.enqueue(packet, cx),
            }
        });
        let port = &mut self.ports[number as usize];
        if port.traced {
            port.note_arrival(class, packet.size, marked);
        }
        if marked > 0
            && let Service::Departure(scheduled) = &mut port.service
        {
            scheduled.note(&packet, commons, |record, _, queue| record.marked(queue, class, &packet, marked));
        }
        match passing {
            Passing::Sent => self.begin(number, 0, commons),
            Passing::Dropped | Passing::No => self.serve(number, commons),
        }
    }

    /// A port finishes a transmission, or asks its discipline again.
    pub fn depart(&mut self, number: u32, commons: &Commons) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let Service::Departure(scheduled) = &mut port.service else {
            return self.serve_behind(number, commons);
        };
        if scheduled.serving.is_none() && scheduled.pausing.is_some() {
            self.launch_frame(number);
        } else if scheduled.serving.is_some() && port.free_at == now {
            let packet = scheduled.serving.take().expect("just seen");
            if let Some(record) = &mut port.record {
                let (packets, bytes) = scheduled.held();
                record.stood(packets + 1, bytes + u64::from(packet.size), now);
                record.left(packets, bytes, now);
            }
            let (of, size) = (scheduled.of, packet.size);
            let (controlled, counted) = (port.control.is_some(), scheduled.sockets.is_some());
            if counted {
                self.leaves_host(number, &packet);
            }
            if controlled {
                self.consult(number, &packet, false, AnyPortControl::on_depart);
            }
            let port = &mut self.ports[number as usize];
            let charges = port.pausing().is_some() && port.share != ALONE;
            if let Some(varying) = port.varying_mut() {
                varying.ends();
            }
            if let Some(at) = port.launch(&packet, &mut self.store, now) {
                self.expect(number, at);
            }
            if charges {
                self.release(number, of, size, commons);
            }
        }
        self.serve(number, commons);
    }

    /// Begins the next transmission if the transmitter is free.
    pub(super) fn serve(&mut self, number: u32, commons: &Commons) {
        let port = &self.ports[number as usize];
        let Service::Departure(scheduled) = &port.service else { return };
        if scheduled.serving.is_some() {
            return;
        }
        let frames = scheduled.pausing.as_ref().is_some_and(|pausing| port.dead || pausing.has_frame());
        if frames && self.sends_frame(number) {
            return;
        }
        let Service::Departure(scheduled) = &self.ports[number as usize].service else { return };
        if scheduled.disc.rests() {
            return;
        }
        let marked = self.ask(number, commons, |scheduled, cx| {
            scheduled.serving = scheduled.disc.dequeue(cx);
            scheduled.of = (cx.priority, cx.came_by);
        });
        self.begin(number, marked, commons);
    }

    /// Begins to transmit the packet that the discipline has given, of which `marked` were marked; or asks again when it
    /// will give one.
    fn begin(&mut self, number: u32, marked: u64, commons: &Commons) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let Service::Departure(scheduled) = &mut port.service else { return };
        let Some(packet) = &mut scheduled.serving else {
            if let Some(at) = scheduled.disc.ready_at() {
                self.events.schedule(scheduled.source, at);
            }
            return;
        };
        let wait = now - packet.at;
        if port.is_switch {
            packet.waited += wait.as_ps();
        } else {
            self.host_waits[number as usize].add(wait);
        }
        if let Some(record) = &mut port.record {
            record.waited(wait);
        }
        let (source, size) = (scheduled.source, packet.size);
        if let Some(inner) = &mut scheduled.inner
            && let Some(queues) = scheduled.disc.inner()
        {
            let (class, queue) = (commons.class(packet), queues.of(packet, commons.priority(packet)));
            if marked > 0 {
                inner.marked(queue, class, packet, marked);
            }
            inner.left(queue, class, packet, wait, queues.len(queue));
        }
        let span = port.transmission(size);
        port.free_at = now + span;
        if let Some(varying) = port.varying_mut() {
            varying.begins(span);
        }
        self.events.schedule(source, port.free_at);
    }

    /// Calls the discipline, then counts and records its actions; returns the packets it marked. A packet that is taken out
    /// is being transmitted, so the port holds it still.
    pub(super) fn ask(
        &mut self,
        number: u32,
        commons: &Commons,
        call: impl FnOnce(&mut Scheduled, &mut QueueCx<'_>),
    ) -> u64 {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let Service::Departure(scheduled) = &mut port.service else { return 0 };
        let paused = scheduled.pausing.as_ref().map_or(0, |pausing| pausing.paused());
        let before = scheduled.held();
        let mut cx = QueueCx::new(now, scheduled.serving_bytes(), port.free_at, &mut self.dropped);
        cx.paused = paused;
        call(scheduled, &mut cx);
        let (marked, trimmed) = (cx.marked(), cx.trimmed());
        scheduled.count();
        port.counts.marks += marked;
        if let Some((flow, bytes)) = trimmed {
            scheduled.trimming.trims += 1;
            port.counts.dropped_bytes += u64::from(bytes);
            if let Some(sockets) = &mut scheduled.sockets {
                sockets.shrank(flow, bytes);
            }
        }
        let after = scheduled.held();
        if before != after
            && let Some(record) = &mut port.record
        {
            record.stood(before.0, before.1, now);
            record.became(after.0, after.1, now);
        }
        if !self.dropped.is_empty() {
            let dropped = std::mem::take(&mut self.dropped);
            self.lose_all(number, dropped, commons);
        }
        marked
    }

    /// Takes the packets that a discipline gave up out of the books, and keeps the empty list.
    pub(super) fn lose_all(&mut self, number: u32, mut dropped: Vec<(Packet, DropWhy)>, commons: &Commons) {
        for (packet, why) in dropped.drain(..) {
            self.leaves_host(number, &packet);
            match why {
                DropWhy::Returned => self.send_back(number, packet, commons),
                why => self.lose(number, packet, why, commons),
            }
        }
        self.dropped = dropped;
    }
}
