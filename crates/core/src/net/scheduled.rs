//! Ports whose discipline decides at departure: two events a packet, and their counts.

use super::buffer::ALONE;
use super::pfc::{NOWHERE, Pausing};
use super::port::Service;
use super::small_queues::Sockets;
use super::statistics::TrimCounts;
use super::{Commons, Network};
use crate::events::Source;
use crate::packet::{Flags, Packet};
use crate::port_control::{AnyPortControl, PortControl};
use crate::probe::inner::InnerRecords;
use crate::queue::{DropWhy, InnerQueues, QueueCx, QueueDisc};

/// A discipline that decides at departure, at work.
pub struct Scheduled {
    /// Holds the packets.
    pub disc: Box<dyn QueueDisc>,
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
        Scheduled { disc, serving: None, source, inner: None, of, pausing: None, sockets: None, trimming }
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
    pub fn held(&self) -> (u64, u64) {
        let backlog = self.disc.backlog();
        let serving = self.serving.map_or(0, |p| u64::from(p.size));
        (backlog.packets + u64::from(serving > 0), backlog.bytes + serving)
    }
}

impl Network {
    #[inline(never)]
    pub(super) fn arrive_scheduled(&mut self, number: u32, mut packet: Packet, commons: &Commons) {
        packet.at = self.now;
        let class = commons.class(&packet);
        let to_end = commons.connections[packet.flow as usize].end.saturating_sub(packet.seq);
        let remaining = if packet.flags.any(Flags::REVERSE) { 0 } else { to_end };
        let (priority, came_by) = (commons.priority(&packet), self.came_by);
        let marked = self.ask(number, true, commons, |scheduled, cx| {
            scheduled.note(&packet, commons, |record, _, queue| record.came(queue, class, &packet));
            if let Some(sockets) = &mut scheduled.sockets {
                sockets.came(&packet);
            }
            (cx.remaining, cx.priority, cx.came_by) = (remaining, priority, came_by);
            scheduled.disc.enqueue(packet, cx);
        });
        let port = &mut self.ports[number as usize];
        if let Some(arrivals) = &mut port.arrivals {
            arrivals[class].came(packet.size, marked);
        }
        if marked > 0
            && let Service::Departure(scheduled) = &mut port.service
        {
            scheduled.note(&packet, commons, |record, _, queue| record.marked(queue, class, &packet, marked));
        }
        self.serve(number, commons);
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
            if let Some(at) = port.launch(packet, now) {
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
        let now = self.now;
        let port = &self.ports[number as usize];
        let Service::Departure(scheduled) = &port.service else { return };
        let taken = scheduled.serving.is_some();
        if taken || scheduled.pausing.is_some() && self.sends_frame(number) {
            return;
        }
        let Service::Departure(scheduled) = &self.ports[number as usize].service else { return };
        if scheduled.disc.rests() {
            return;
        }
        let mut next = None;
        let marked = self.ask(number, false, commons, |scheduled, cx| {
            next = scheduled.disc.dequeue(cx);
            scheduled.serving = next;
            scheduled.of = (cx.priority, cx.came_by);
        });
        let port = &mut self.ports[number as usize];
        match next {
            Some(mut packet) => {
                let wait = now - packet.at;
                if port.is_switch {
                    packet.waited += wait.as_ps();
                } else {
                    self.host_waits[number as usize].add(wait);
                }
                if let Some(record) = &mut port.record {
                    record.waited(wait);
                }
                let span = port.transmission(packet.size);
                port.free_at = now + span;
                if let Some(varying) = port.varying_mut() {
                    varying.begins(span);
                }
                if let Service::Departure(scheduled) = &mut port.service {
                    let class = commons.class(&packet);
                    scheduled.note(&packet, commons, |record, queues, queue| {
                        if marked > 0 {
                            record.marked(queue, class, &packet, marked);
                        }
                        record.left(queue, class, &packet, wait, queues.len(queue));
                    });
                    scheduled.serving = Some(packet);
                    self.events.schedule(scheduled.source, port.free_at);
                }
            }
            None => {
                let Service::Departure(scheduled) = &mut port.service else { return };
                if let Some(at) = scheduled.disc.ready_at() {
                    self.events.schedule(scheduled.source, at);
                }
            }
        }
    }

    /// Calls the discipline, then counts and records its actions; returns the packets it marked. A call that gives it nothing
    /// (`gives`) leaves the port with the same packets, unless it drops some: one that is taken out is being transmitted.
    pub(super) fn ask(
        &mut self,
        number: u32,
        gives: bool,
        commons: &Commons,
        call: impl FnOnce(&mut Scheduled, &mut QueueCx<'_>),
    ) -> u64 {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let Service::Departure(scheduled) = &mut port.service else { return 0 };
        let paused = scheduled.pausing.as_ref().map_or(0, |pausing| pausing.paused());
        let before = if gives && port.record.is_some() { scheduled.held() } else { (0, 0) };
        let mut dropped = std::mem::take(&mut self.dropped);
        let serving = scheduled.serving.map_or(0, |p| u64::from(p.size));
        let mut cx = QueueCx::new(now, serving, port.free_at, &mut dropped);
        cx.paused = paused;
        call(scheduled, &mut cx);
        let (marked, trimmed) = (cx.marked(), cx.trimmed());
        port.counts.marks += marked;
        if let Some((flow, bytes)) = trimmed {
            scheduled.trimming.trims += 1;
            port.counts.dropped_bytes += u64::from(bytes);
            if let Some(sockets) = &mut scheduled.sockets {
                sockets.shrank(flow, bytes);
            }
        }
        if let Some(record) = &mut port.record
            && (gives || !dropped.is_empty())
        {
            let after = scheduled.held();
            let lost = || dropped.iter().map(|(packet, _)| u64::from(packet.size)).sum::<u64>();
            let before = if gives { before } else { (after.0 + dropped.len() as u64, after.1 + lost()) };
            if before != after {
                record.stood(before.0, before.1, now);
                record.became(after.0, after.1, now);
            }
        }
        if dropped.is_empty() {
            self.dropped = dropped;
        } else {
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
