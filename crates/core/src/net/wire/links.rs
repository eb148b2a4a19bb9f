//! Links that change while a run lasts: they go down and come up, and get another rate, delay or probability of loss.
//!
//! A port whose link changes so decides at departure, from the start of the run, so that nothing about a packet is known before
//! it leaves. It has two events a packet instead of one, so simultaneous events may come in another order than in a run without
//! changes: a tie at a full queue may drop another packet, from the first instant on. Where nothing ties, the numbers are the
//! same until the change. To see the effect of a change alone, compare with a run whose change comes at the end. A link that
//! goes down takes the packets with it that wait at its port, are transmitted or travel. A new rate holds for the next
//! packet, a new delay for those that have not left. A wire keeps its order: after its delay has become shorter, packets
//! wait for those that left before.
//!
//! Flow control begins anew with the link: pauses end, frames on the way are lost. When the link is up, what the peer has
//! to pause is paused at once, as though the frames had come while the link was made ready.

use crate::net::pfc::Frame;
use crate::net::port::chain::Store;
use crate::net::port::{Port, Service, Varying};
use crate::net::{Directory, Network};
use crate::packet::{DropWhy, Packet};
use crate::queue::QueueCx;
use shallows_units::{Bytes, Index, Rate, Span, Time};

impl Port {
    /// Facts of its link, if that changes.
    pub fn varying(&self) -> Option<&Varying> {
        self.faults.as_ref()?.varying.as_ref()
    }

    /// Facts of a link that changes, to be changed.
    pub(in crate::net) fn varying_mut(&mut self) -> Option<&mut Varying> {
        self.faults.as_mut()?.varying.as_mut()
    }

    /// A packet leaves at `now`, to land at `at`. Returns when it lands behind those before it.
    pub(in crate::net) fn leaves(&mut self, at: Time, now: Time, store: &Store) -> Time {
        let last = self.chain.last(store).map_or(now, |last| last.at);
        match self.varying_mut() {
            Some(varying) => {
                varying.left.push_back(now);
                at.max(last)
            }
            None => at,
        }
    }

    /// The packets on its wire, each with the time at which it left; call after [`Port::settle`].
    pub(super) fn wire<'a>(&'a self, store: &'a Store) -> impl Iterator<Item = (Time, Packet)> + 'a {
        let left = |(place, packet): (usize, &Packet)| {
            self.varying().map_or_else(|| packet.at - self.delay, |varying| varying.left[place])
        };
        let packets = self.chain.iter(store).take(self.chain.on_wire() as usize).enumerate();
        packets.map(move |(place, packet)| (left((place, packet)), *packet))
    }

    /// When the packet that is at the far end of the wire at `now` has left.
    pub(in crate::net) fn left_at(&self, now: Time) -> Time {
        self.varying().map_or_else(|| now - self.delay, |varying| varying.last)
    }

    /// Whether the packet that is at the far end of the wire at `now` left before the statistics began.
    pub(in crate::net) fn left_early(&self, now: Time) -> bool {
        self.faults.as_ref().is_some_and(|faults| self.left_at(now) < faults.counts_from)
    }

    /// How long the transmitter takes for the packet that it has, of so many bytes.
    pub(in crate::net) fn serving_for(&self, size: u16) -> Span {
        self.varying().map_or_else(|| self.transmission(size), |varying| varying.serving_for)
    }

    /// How long it takes to send all that it holds at `now`.
    pub fn work(&self, now: Time) -> Span {
        let behind = self.service.scheduled().map_or(0, |scheduled| scheduled.standing().bytes);
        self.free_at.saturating_sub(now) + self.rate.transmit(Bytes(behind))
    }

    /// The highest rate that its link has had.
    pub fn highest_rate(&self) -> Rate {
        self.varying().map_or(self.rate, |varying| varying.highest.max(self.rate))
    }

    /// From now on it sends at `rate`, the packet under way excepted.
    pub fn set_rate(&mut self, rate: Rate) {
        let before = self.rate;
        if let Some(varying) = self.varying_mut() {
            varying.highest = varying.highest.max(before);
        }
        self.rate = rate;
        self.ps_per_byte = Port::ps_per_byte(rate);
        if let Some(scheduled) = self.service.scheduled_mut() {
            scheduled.disc.rate_changes(rate);
            scheduled.pausing.iter_mut().for_each(|pausing| pausing.rate_changes(rate));
        }
    }
}

impl Network {
    /// The link of port `number` goes down.
    pub fn cut(&mut self, number: u32, directory: &Directory) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        port.set(|flags| flags.down = true);
        self.empty_queue(number, directory);
        self.empty_wire(number, directory);
        if let Some(pausing) = self.ports[number as usize].pausing_mut() {
            pausing.reset(now);
        }
    }

    /// The link of port `number` comes up; `pauses` are those of its peer.
    pub fn revive(&mut self, number: u32, pauses: Option<Frame>, directory: &Directory) {
        let port = &mut self.ports[number as usize];
        port.set(|flags| flags.down = false);
        if port.pausing().is_some() {
            self.restart_flow_control(number, pauses, directory);
        }
    }

    /// All packets at a port whose link is down are lost.
    fn empty_queue(&mut self, number: u32, directory: &Directory) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let shares = port.share.is_some();
        let charges = shares && port.pausing().is_some();
        let sent_for = port.in_service(now, &self.store);
        if let Some(varying) = port.varying_mut() {
            varying.sent_for += sent_for;
        }
        let Service::Departure(scheduled) = &mut port.service else { return };
        let before = scheduled.held();
        let (serving, of) = (scheduled.serving.take(), scheduled.of);
        let (mut held, mut dropped) = (vec![], std::mem::take(&mut self.dropped));
        loop {
            let standing = scheduled.disc.backlog().packets;
            let mut cx = QueueCx::new(now, 0, now, &mut dropped);
            let packet = scheduled.disc.dequeue(&mut cx);
            held.extend(packet.map(|packet| (packet, (cx.priority, cx.came_by))));
            if scheduled.disc.backlog().packets == standing {
                break;
            }
        }
        // Its discipline drops some by its law; no lossless ones, so no account is charged for them.
        held.extend(dropped.drain(..).map(|(packet, _)| (packet, (0, Index::NONE))));
        self.dropped = dropped;
        scheduled.count();
        self.events.cancel(scheduled.source);
        port.free_at = port.free_at.min(now);
        if let Some(record) = &mut port.record
            && before.0 > 0
        {
            record.stood(before.0, before.1, now);
            record.became(0, 0, now);
        }
        for (packet, of) in held {
            self.leaves_host(number, &packet);
            self.lose(number, packet, DropWhy::Dead, directory);
            if charges {
                self.release(number, of, packet.size, directory);
            }
        }
        if let Some(packet) = serving {
            self.leaves_host(number, &packet);
            self.lose_outside(number, packet, DropWhy::Dead, directory);
            if charges {
                self.release(number, of, packet.size, directory);
            }
        }
        if shares {
            self.count(number);
        }
    }

    /// All packets on a wire that is down are lost.
    fn empty_wire(&mut self, number: u32, directory: &Directory) {
        loop {
            let port = &mut self.ports[number as usize];
            let Some((slot, _)) = port.chain.pop_before(Time::MAX, &self.store) else { break };
            let packet = self.store.take(slot);
            if let Some(varying) = port.varying_mut() {
                varying.lands();
            }
            if packet.is_pause() {
                port.pausing_mut().into_iter().for_each(|pausing| pausing.on_wire -= 1);
                continue;
            }
            if port.flags.tapped {
                self.tap(number, packet, self.now, true, directory);
            }
            self.lose(number, packet, DropWhy::Cut, directory);
        }
        let port = &self.ports[number as usize];
        if port.flags.crosses {
            self.crossing.retain(|other| *other != number);
        } else {
            self.events.expect_nothing(port.end);
        }
    }

    /// A packet comes to a port whose link is down.
    #[cold]
    #[inline(never)]
    pub(in crate::net) fn arrive_down(&mut self, number: u32, packet: &Packet, directory: &Directory) {
        let port = &mut self.ports[number as usize];
        let class = directory.class(packet);
        port.note_arrival(class, packet.size, 0);
        if let Service::Departure(scheduled) = &mut port.service {
            scheduled.note(packet, directory, |record, _, queue| record.came(queue, class, packet));
        }
        self.lose(number, *packet, DropWhy::Dead, directory);
    }
}
