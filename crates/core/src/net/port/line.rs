//! Ports with a line in front of their discipline.
//!
//! While the discipline holds nothing, a few packets wait in order of arrival. Their times are known when they come, so
//! they stand in the chain, as in a port that decides at arrival: one event a packet. A packet that finds the line full
//! goes to the discipline. It has an event when its transmission begins; then its times are known too, and it joins the
//! chain behind those of the line.

use crate::net::port::chain::Store;
use crate::net::port::{Port, Scheduled, Service};

use crate::net::{Directory, Network};
use crate::packet::Packet;
use crate::queue::QueueCx;
use shallows_units::{Span, Time};

impl Network {
    /// A packet comes to a port, settled, that has a line.
    #[inline(never)]
    pub(in crate::net) fn arrive_lined(&mut self, number: u32, slot: u32, directory: &Directory) {
        let port = &mut self.ports[number as usize];
        let Service::Lined(lined) = &port.service else { return };
        let packet = self.store.at(slot);
        if port.behind > 0 || !lined.line.has_room(port.backlog(&self.store), packet.size) {
            return self.arrive_behind_line(number, slot, directory);
        }
        if port.flags.traced {
            port.note_arrival(directory.class(packet), packet.size, 0);
        }
        if let Some(at) = port.accept(slot, &mut self.store, self.now) {
            self.expect(number, at);
        }
    }

    #[inline(never)]
    fn arrive_behind_line(&mut self, number: u32, slot: u32, directory: &Directory) {
        let packet = Packet { at: self.now, ..self.store.take(slot) };
        let idle = self.ports[number as usize].behind == 0;
        let (_, marked) = self.call_behind_line(number, directory, |scheduled, cx| {
            if let Some(sockets) = &mut scheduled.sockets {
                sockets.came(&packet);
            }
            scheduled.disc.enqueue(packet, cx);
            None
        });
        let port = &mut self.ports[number as usize];
        if port.flags.traced {
            port.note_arrival(directory.class(&packet), packet.size, marked);
        }
        if idle {
            self.schedule_behind_line(number);
        }
    }

    /// The transmitter has sent its packet: the discipline behind the line gives it a packet.
    pub(in crate::net) fn serve_behind_line(&mut self, number: u32, directory: &Directory) {
        let now = self.now;
        self.ports[number as usize].settle(now, &self.store);
        let (next, _) = self.call_behind_line(number, directory, |scheduled, cx| scheduled.disc.dequeue(cx));
        if let Some(packet) = next {
            self.leaves_host(number, &packet);
            let wait = now - packet.at;
            let port = &mut self.ports[number as usize];
            if let Some(record) = &mut port.record {
                record.waited(wait);
            }
            if !port.flags.switch {
                self.host_waits[number as usize].add(wait);
            }
            if let Some(at) = port.begin(&packet, wait, &mut self.store, now) {
                self.expect(number, at);
            }
        }
        self.schedule_behind_line(number);
    }

    /// Asks the discipline for a packet when the transmitter is free, if it holds one.
    fn schedule_behind_line(&mut self, number: u32) {
        let port = &self.ports[number as usize];
        if let Service::Lined(lined) = &port.service
            && port.behind > 0
        {
            self.events.schedule(lined.behind.source, port.free_at.max(self.now));
        }
    }

    /// Calls the discipline behind the line, then counts and records its actions; returns the packet that `call` takes
    /// out of it, and how many it marked.
    fn call_behind_line(
        &mut self,
        number: u32,
        directory: &Directory,
        call: impl FnOnce(&mut Scheduled, &mut QueueCx<'_>) -> Option<Packet>,
    ) -> (Option<Packet>, u64) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let (before, chained, ahead) =
            (port.held(), u64::from(port.chain.waiting()), port.backlog(&self.store));
        let Service::Lined(lined) = &mut port.service else { return (None, 0) };
        let behind = &mut lined.behind;
        let standing = behind.standing();
        let mut dropped = std::mem::take(&mut self.dropped);
        let mut cx = QueueCx::new(now, ahead.serving, port.free_at, &mut dropped);
        let waiting = chained - u64::from(ahead.serving > 0);
        cx.line = (waiting, ahead.bytes - standing.bytes - ahead.serving);
        let taken = call(behind, &mut cx);
        let marked = cx.marked();
        port.counts.marks += marked;
        behind.count();
        let left = behind.standing();
        port.behind = left.packets as u32;
        // A packet that is taken out stays in the port: it joins the chain.
        let moved = taken.map_or(0, |packet| u64::from(packet.size));
        port.bytes = port.bytes - standing.bytes + left.bytes + moved;
        let after = (chained + left.packets + u64::from(taken.is_some()), port.bytes);
        if let Some(record) = &mut port.record
            && before != after
        {
            record.stood(before.0, before.1, now);
            record.became(after.0, after.1, now);
        }
        if dropped.is_empty() {
            self.dropped = dropped;
        } else {
            self.lose_all(number, dropped, directory);
        }
        (taken, marked)
    }
}

impl Port {
    /// Transmits a packet that the discipline behind the line has held: its times are known from now on.
    fn begin(&mut self, packet: &Packet, wait: Span, store: &mut Store, now: Time) -> Option<Time> {
        self.free_at = now + self.transmission(packet.size);
        let at = self.free_at + self.delay;
        let waited = packet.waited + if self.flags.switch { wait.as_ps() } else { 0 };
        let slot = store.put(&Packet { at, waited, ..*packet });
        self.chain.push(slot, store).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Event, EventQueue};
    use crate::net::Connection;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::{Built, Queue, fq};
    use shallows_units::{Bytes, Rate};

    /// A card of 12 Gb/s, which takes 1 us a packet of 1500 bytes; a round gives each flow one packet.
    fn card(settings: fq::Settings) -> (Network, Directory) {
        let place = crate::queue::tests::place();
        let Built::Departure(disc) = Queue::Fq(settings).build(place) else { unreachable!() };
        let port = Port::new(Rate::gbps(12), Span::ns(1), false, Service::departure(disc));
        let connection = |serial| Connection { serial, ..Connection::default() };
        (Network::new(vec![port], EventQueue::new(1)), Directory::alone((0..3).map(connection).collect(), 1))
    }

    fn one_packet_a_round() -> fq::Settings {
        fq::Settings { initial_quantum: Bytes(1500), quantum: Bytes(1500), ..fq::Settings::defaults() }
    }

    /// Lets all happen that is due by `until`; returns the flows of the packets that landed, and the events.
    fn advance(net: &mut Network, directory: &Directory, until: Time) -> (Vec<u32>, usize) {
        let (mut landed, mut events) = (vec![], 0);
        while let Some((at, event)) = net.events.pop_before(until + Span::ps(1)) {
            net.now = at;
            events += 1;
            match event {
                Event::Wire(port) => landed.extend(net.land(port, directory).map(|packet| packet.flow)),
                Event::Port(port) => net.depart(port, directory),
                _ => unreachable!(),
            }
        }
        net.now = until;
        (landed, events)
    }

    fn send(net: &mut Network, directory: &Directory, flow: u32, packets: usize) {
        for _ in 0..packets {
            net.send(&Packet { flow, flags: crate::packet::Flags::default(), ..packet(1500) }, directory);
        }
    }

    /// Linux fq_fastpath_check, by hand: of 11 packets of an idle card one is transmitted, eight wait in line, and two in
    /// their flow's queue. The other flow has to wait there too, since that is no longer empty; then they take turns.
    /// With the last of those in transmission no queue holds anything, and the line is open again.
    #[test]
    fn an_almost_idle_card_serves_in_order_of_arrival() {
        let (mut net, directory) = card(one_packet_a_round());
        send(&mut net, &directory, 1, 11);
        assert_eq!((net.ports[0].chain.waiting(), net.ports[0].behind), (9, 2));
        send(&mut net, &directory, 2, 2);
        assert_eq!((net.ports[0].behind, net.ports[0].held()), (4, (13, 13 * 1500)));
        let half = Span::ns(500);
        let (landed, events) = advance(&mut net, &directory, Time::ZERO + Span::us(12) + half);
        assert_eq!(landed, [[1; 9].as_slice(), &[1, 2, 1]].concat());
        assert_eq!(events, 12 + 4, "one a packet, and one more for each that waited behind the line");
        assert_eq!((net.ports[0].chain.waiting(), net.ports[0].behind), (1, 0));
        send(&mut net, &directory, 2, 1);
        send(&mut net, &directory, 1, 1);
        assert_eq!((net.ports[0].chain.waiting(), net.ports[0].behind), (3, 0));
        assert_eq!(advance(&mut net, &directory, Time::ZERO + Span::ms(1)), (vec![2, 2, 1], 3));
        // Waits in us: 0 to 8, 9 to 12; and half a one, and one and a half.
        let waits = &net.host_waits[0];
        assert_eq!((waits.packets, waits.sum), (15, u128::from((Span::us(78) + Span::us(2)).as_ps())));
        assert_eq!((net.in_flight(), net.ports[0].bytes), (0, 0));
    }

    /// A limit counts the packet in transmission, the line and the queue behind it.
    #[test]
    fn a_limit_is_of_all() {
        use shallows_units::Size;
        for (limit, dropped) in
            [(Size::Packets(12), 3), (Size::Packets(5), 10), (Size::Bytes(Bytes(4 * 1500)), 11)]
        {
            let (mut net, directory) = card(fq::Settings { limit: Some(limit), ..one_packet_a_round() });
            send(&mut net, &directory, 1, 15);
            assert_eq!((net.totals.dropped, net.ports[0].dropped()), (dropped, dropped), "{limit:?}");
            advance(&mut net, &directory, Time::ZERO + Span::ms(1));
            assert_eq!((net.totals.delivered, net.in_flight()), (15 - dropped, 0));
        }
    }
}
