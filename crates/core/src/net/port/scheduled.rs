//! Ports whose discipline decides at departure: two events a packet, and their counts.

use crate::net::port::WireEnd;
use crate::net::port::{Scheduled, Service};
use crate::net::{Directory, Network};
use crate::packet::{Flags, Packet};
use crate::port_control::{AnyPortControl, PortControl};
use crate::queue::{DropWhy, Passing, QueueCx};

impl Network {
    #[inline(never)]
    pub(in crate::net) fn arrive_scheduled(
        &mut self,
        number: u32,
        mut packet: Packet,
        directory: &Directory,
    ) {
        packet.at = self.now;
        let came_by = self.came_by;
        let connection = &directory.connections[packet.flow as usize];
        let (class, priority) = (usize::from(connection.class), directory.priority(&packet));
        let to_end = connection.end.saturating_sub(packet.seq);
        let remaining = if packet.flags.any(Flags::REVERSE) { 0 } else { to_end };
        let mut passing = Passing::No;
        let marked = self.call_discipline(number, directory, |scheduled, cx| {
            scheduled.note(&packet, directory, |record, _, queue| record.came(queue, class, &packet));
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
        if port.flags.traced {
            port.note_arrival(class, packet.size, marked);
        }
        if marked > 0
            && let Service::Departure(scheduled) = &mut port.service
        {
            scheduled
                .note(&packet, directory, |record, _, queue| record.marked(queue, class, &packet, marked));
        }
        match passing {
            Passing::Sent => self.begin(number, 0, directory),
            Passing::Dropped | Passing::No => self.serve(number, directory),
        }
    }

    /// A port finishes a transmission, or asks its discipline again.
    pub fn depart(&mut self, number: u32, directory: &Directory) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let Service::Departure(scheduled) = &mut port.service else {
            return self.serve_behind_line(number, directory);
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
                self.show_controller(number, &packet, false, AnyPortControl::on_depart);
            }
            let port = &mut self.ports[number as usize];
            let charges = port.pausing().is_some() && port.share.is_some();
            if let Some(varying) = port.varying_mut() {
                varying.ends();
            }
            if let Some(at) = port.launch(&packet, &mut self.store, now) {
                self.expect(number, at);
            }
            if charges {
                self.release(number, of, size, directory);
            }
        }
        self.serve(number, directory);
    }

    /// Begins the next transmission if the transmitter is free.
    pub(in crate::net) fn serve(&mut self, number: u32, directory: &Directory) {
        let port = &self.ports[number as usize];
        let Service::Departure(scheduled) = &port.service else { return };
        if scheduled.serving.is_some() {
            return;
        }
        let frames = scheduled.pausing.as_ref().is_some_and(|pausing| port.flags.down || pausing.has_frame());
        if frames && self.sends_frame(number) {
            return;
        }
        let Service::Departure(scheduled) = &self.ports[number as usize].service else { return };
        if scheduled.disc.rests() {
            return;
        }
        let marked = self.call_discipline(number, directory, |scheduled, cx| {
            scheduled.serving = scheduled.disc.dequeue(cx);
            scheduled.of = (cx.priority, cx.came_by);
        });
        self.begin(number, marked, directory);
    }

    /// Begins to transmit the packet that the discipline has given, of which `marked` were marked; or asks again when it
    /// will give one.
    fn begin(&mut self, number: u32, marked: u64, directory: &Directory) {
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
        if port.flags.switch {
            packet.waited += wait.as_ps();
        } else {
            self.host_waits[number as usize].add(wait);
        }
        if let Some(record) = &mut port.record {
            record.waited(wait);
            record.shares(packet, now, wait);
        }
        let (source, size) = (scheduled.source, packet.size);
        if let Some(inner) = &mut scheduled.inner
            && let Some(queues) = scheduled.disc.inner()
        {
            let (class, queue) = (directory.class(packet), queues.of(packet, directory.priority(packet)));
            if marked > 0 {
                inner.marked(queue, class, packet, marked);
            }
            inner.left(queue, class, packet, wait, queues.len(queue));
        }
        let trace = port.varying().and_then(|varying| varying.trace.as_ref());
        let span = trace.map_or_else(|| port.transmission(size), |trace| trace.transmission(size, now));
        port.free_at = now + span;
        if let Some(varying) = port.varying_mut() {
            varying.begins(span);
        }
        self.events.schedule(source, port.free_at);
        if let (Some(_), Service::Departure(scheduled)) = (&port.control, &port.service)
            && let Some(packet) = scheduled.serving
        {
            self.show_controller(number, &packet, false, AnyPortControl::on_begin);
        }
    }

    /// Calls the discipline, then counts and records its actions; returns the packets it marked. A packet that is taken out
    /// is being transmitted, so the port holds it still.
    pub(in crate::net) fn call_discipline(
        &mut self,
        number: u32,
        directory: &Directory,
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
            self.lose_all(number, dropped, directory);
        }
        marked
    }

    /// Takes the packets that a discipline gave up out of the books, and keeps the empty list.
    pub(in crate::net) fn lose_all(
        &mut self,
        number: u32,
        mut dropped: Vec<(Packet, DropWhy)>,
        directory: &Directory,
    ) {
        for (packet, why) in dropped.drain(..) {
            self.leaves_host(number, &packet);
            match why {
                DropWhy::Returned => self.send_back(number, packet, directory),
                why => self.lose(number, packet, why, directory),
            }
        }
        self.dropped = dropped;
    }

    /// The header `packet`, for which port `number` has no room, goes back to its sender by the switch's tables. A host has
    /// none: there it is lost.
    #[cold]
    fn send_back(&mut self, number: u32, packet: Packet, directory: &Directory) {
        let port = &mut self.ports[number as usize];
        let is_switch = port.flags.switch;
        let Some(scheduled) = port.service.scheduled_mut().filter(|_| is_switch) else {
            return self.lose(number, packet, DropWhy::Full, directory);
        };
        scheduled.trimming.returned += 1;
        port.counts.dropped_bytes += u64::from(packet.size);
        let label = directory.connections[packet.flow as usize].back;
        let packet = Packet { label, flags: packet.flags.with(Flags::REVERSE), ..packet };
        let node = directory.routing.leaves(self.links[number as usize]);
        let slot = self.store.put(&packet);
        self.forward(WireEnd::node(node), slot, directory);
    }
}
