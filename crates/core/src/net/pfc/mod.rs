//! Priority-based flow control: a switch whose memory fills up has its neighbours pause single priorities.
//!
//! Source: IEEE 802.1Qbb-2011 (802.1Q-2018 clause 36) and IEEE 802.3-2018 annexes 31B and 31D. The frame that pauses is
//! 64 bytes long, 84 with preamble and gap. Its times are in quanta of 512 bit times; a time of 0 resumes. It goes ahead
//! of all data once the frame under way has been sent, and no pause stops it. The peer ends its own frame, and applies the pause
//! after its response time. A pause runs out by itself, so the switch sends it again after half of its time.
//!
//! [`ingress`] has the accounts of a switch and the law of XOFF and XON, [`headroom`] the bytes that still come after XOFF.
//!
//! Left out: what a wire's injected faults would do to pause frames; hosts that pause a switch (a slow receiver); the
//! watchdog's restoration time (Junos: 200 ms), in which a switch drops what comes.

pub mod headroom;
pub mod ingress;

use crate::events::Source;
use crate::net::port::{Port, PortFlags, Service};
use crate::net::{Commons, Network};
use crate::packet::{Flags, NONE, Packet};
use crate::queue::DropWhy;
pub use crate::queue::parts::lanes::{NOWHERE, PRIORITIES};
use ingress::Ingress;
use shallows_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// Bytes of a pause frame on the wire (IEEE 802.3-2018 s.4.4.2, annex 31D.3): 64, preamble 8, gap 12.
pub const FRAME: u16 = 84;

/// In place of a packet's flow: a pause frame.
pub const PAUSE: u32 = u32::MAX;

/// In place of the node at a wire's end: the port there, beyond which pause frames do not go.
pub const MAC: u32 = u32::MAX - 1;

/// The contents of a pause frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Priorities that it names, a bit each.
    pub names: u8,
    /// Those of them that it pauses; it resumes the others.
    pub pauses: u8,
    /// For how long, in quanta.
    pub quanta: u16,
}

impl Frame {
    /// As it travels along a wire, among packets.
    fn packet(self) -> Packet {
        let seq = u64::from(self.names) | u64::from(self.pauses) << 8 | u64::from(self.quanta) << 16;
        Packet {
            at: Time::ZERO,
            seq,
            stamp: Time::ZERO,
            waited: 0,
            flow: PAUSE,
            label: 0,
            extension: NONE,
            size: FRAME,
            flags: Flags::default(),
        }
    }

    /// The frame that travels as `packet`.
    fn of(packet: &Packet) -> Frame {
        let seq = packet.seq;
        Frame { names: seq as u8, pauses: (seq >> 8) as u8, quanta: (seq >> 16) as u16 }
    }
}

/// A priority that the port's peer may pause.
#[derive(Debug, Clone, Copy, Default)]
pub struct Paused {
    /// The pause ends by itself then.
    until: Time,
    /// It has lasted, or counted, since then.
    since: Time,
    /// The watchdog looks at it then.
    watched_at: Time,
    /// Times that it was paused.
    pub count: u64,
    /// For how long together, the present pause not counted.
    time: Span,
}

/// A port's part in flow control: its peer pauses it, and at a switch it pauses its peer.
#[derive(Debug)]
pub struct Pausing {
    /// Its clock.
    pub source: Source,
    /// Lossless priorities, a bit each. No others are paused.
    pub lossless: u8,
    /// From a pause frame's last bit to its effect.
    response: Span,
    /// The time of 512 bits.
    quantum: Span,
    /// A pause of so long that holds packets up makes the port drop them.
    watchdog: Option<Span>,
    /// Frames that came and have no effect yet.
    received: VecDeque<(Time, Frame)>,
    paused: u8,
    priorities: [Paused; PRIORITIES],
    /// Accounts of the packets that came by this port, at a switch.
    pub ingress: Option<Box<Ingress>>,
    /// Priorities that a frame has yet to name.
    due: u8,
    sending: Option<Frame>,
    /// Pause frames on its wire.
    pub on_wire: u32,
    /// Bytes in its queue for which some ingress is charged.
    pub charged: u64,
}

impl Pausing {
    /// Of a port of `rate`, in peace.
    pub fn new(rate: Rate, lossless: u8, response: Span, watchdog: Option<Span>) -> Self {
        Pausing {
            source: Source::NONE,
            lossless,
            response,
            quantum: rate.transmit(Bytes(64)),
            watchdog,
            received: VecDeque::new(),
            paused: 0,
            priorities: Default::default(),
            ingress: None,
            due: 0,
            sending: None,
            on_wire: 0,
            charged: 0,
        }
    }

    /// A frame is being sent, or has to be.
    #[inline]
    pub(super) fn has_frame(&self) -> bool {
        self.due != 0 || self.sending.is_some()
    }

    /// Priorities that may not send now, a bit each.
    #[inline]
    pub fn paused(&self) -> u8 {
        self.paused
    }

    /// The record of a priority, and for how long it was paused by `now`.
    pub fn record(&self, priority: u8, now: Time) -> (u64, Span) {
        let one = &self.priorities[usize::from(priority)];
        let lasts = self.paused >> priority & 1 != 0;
        (one.count, one.time + if lasts { now - one.since } else { Span::ZERO })
    }

    /// Statistics begin now.
    pub fn restart(&mut self, now: Time) {
        for one in &mut self.priorities {
            (one.count, one.time, one.since) = (0, Span::ZERO, now);
        }
        if let Some(ingress) = &mut self.ingress {
            ingress.restart();
        }
    }

    /// A frame has its effect.
    fn apply(&mut self, frame: Frame, now: Time) {
        for priority in ones(frame.names & self.lossless) {
            if frame.pauses >> priority & 1 == 0 {
                self.resume(priority, now);
                continue;
            }
            let one = &mut self.priorities[usize::from(priority)];
            one.until = now + self.quantum * u64::from(frame.quanta);
            if self.paused >> priority & 1 == 0 {
                self.paused |= 1 << priority;
                one.count += 1;
                one.since = now;
                one.watched_at = self.watchdog.map_or(Time::MAX, |span| now + span);
            }
        }
    }

    fn resume(&mut self, priority: u8, now: Time) {
        if self.paused >> priority & 1 != 0 {
            self.paused &= !(1 << priority);
            let one = &mut self.priorities[usize::from(priority)];
            one.time += now - one.since;
        }
    }

    /// Obeys the frames whose time has come, and ends pauses that have run out.
    fn catch_up(&mut self, now: Time) {
        while let Some((_, frame)) = self.received.front().copied().filter(|(at, _)| *at <= now) {
            self.received.pop_front();
            self.apply(frame, now);
        }
        for priority in ones(self.paused) {
            if self.priorities[usize::from(priority)].until <= now {
                self.resume(priority, now);
            }
        }
    }

    /// A priority whose pause the watchdog ends its patience with; it looks again after as long a time.
    fn watchdog_due(&mut self, now: Time) -> Option<u8> {
        let patience = self.watchdog?;
        let late = |priority: &u8| self.priorities[usize::from(*priority)].watched_at <= now;
        let priority = ones(self.paused).find(late)?;
        self.priorities[usize::from(priority)].watched_at = now + patience;
        Some(priority)
    }

    /// The link goes down.
    pub(super) fn reset(&mut self, now: Time) {
        self.received.clear();
        ones(self.paused).for_each(|priority| self.resume(priority, now));
        (self.due, self.sending) = (0, None);
    }

    /// When its clock must run next.
    fn next(&self) -> Time {
        let received = self.received.front().map_or(Time::MAX, |(at, _)| *at);
        let one = |priority: u8| &self.priorities[usize::from(priority)];
        let paused = ones(self.paused).map(|p| one(p).until.min(one(p).watched_at)).min();
        let refresh = self.ingress.as_ref().map_or(Time::MAX, |ingress| ingress.refresh_at);
        received.min(refresh).min(paused.unwrap_or(Time::MAX))
    }
}

/// The numbers of the bits that are set.
pub fn ones(bits: u8) -> impl Iterator<Item = u8> {
    (0..PRIORITIES as u8).filter(move |priority| bits >> priority & 1 != 0)
}

impl Port {
    /// The frame that would pause all that it has closed.
    pub fn closed_accounts(&self) -> Option<Frame> {
        let ingress = self.pausing()?.ingress.as_ref()?;
        let closed = ingress.closed();
        Some(Frame { names: closed, pauses: closed, quanta: ingress.law.quanta })
    }

    /// Its part in flow control, if any.
    pub fn pausing(&self) -> Option<&Pausing> {
        match &self.service {
            Service::Departure(scheduled) => scheduled.pausing.as_deref(),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn pausing_mut(&mut self) -> Option<&mut Pausing> {
        match &mut self.service {
            Service::Departure(scheduled) => scheduled.pausing.as_deref_mut(),
            _ => None,
        }
    }
}

impl Network {
    /// The port that sends back along the cable of `number`, where flow control needs it.
    pub(super) fn back(&self, number: u32, commons: &Commons) -> u32 {
        let link = self.links.get(number as usize).map_or(usize::MAX, |link| *link as usize);
        commons.backs.get(link).copied().unwrap_or(NOWHERE)
    }

    /// A pause frame, which is no packet, is at the far end of a wire; whether it was one.
    pub(super) fn ends_frame(&mut self, number: u32, packet: &Packet) -> bool {
        if packet.flow != PAUSE {
            return false;
        }
        self.totals.hops -= 1;
        if let Some(pausing) = self.ports[number as usize].pausing_mut() {
            pausing.on_wire -= 1;
        }
        true
    }

    /// `packet` is at `node`. It came along a wire whose other direction belongs to port `came_by`.
    #[inline(never)]
    pub(super) fn forward_from(
        &mut self,
        came_by: u32,
        node: u32,
        slot: u32,
        commons: &Commons,
    ) -> Option<Packet> {
        self.came_by = came_by;
        let delivered = self.forward(node, slot, commons);
        self.came_by = NOWHERE;
        delivered
    }

    /// A pause frame has come to port `number`.
    pub(super) fn receive_frame(&mut self, number: u32, packet: &Packet, commons: &Commons) {
        let now = self.now;
        let Some(pausing) = self.ports[number as usize].pausing_mut() else { return };
        pausing.received.push_back((now + pausing.response, Frame::of(packet)));
        self.on_pause_clock(number, commons);
    }

    /// The time of the clock of a port that pauses or is paused.
    #[inline(never)]
    pub fn on_pause_clock(&mut self, number: u32, commons: &Commons) {
        let now = self.now;
        let Some(pausing) = self.ports[number as usize].pausing_mut() else { return };
        pausing.catch_up(now);
        let renewed = pausing.ingress.as_mut().map_or(0, |ingress| ingress.renewals_due(now));
        pausing.due |= renewed;
        if let Some(priority) = pausing.watchdog_due(now) {
            self.flush(number, priority, commons);
        }
        self.serve(number, commons);
        self.set_pause_clock(number);
    }

    /// Sets the clock of a port.
    fn set_pause_clock(&mut self, number: u32) {
        let Some(pausing) = self.ports[number as usize].pausing() else { return };
        let next = pausing.next();
        if next != Time::MAX {
            self.events.schedule(pausing.source, next);
        }
    }

    /// Tells the peer of `number` about a priority, as soon as the transmitter is free.
    pub(super) fn send_frame_about(&mut self, number: u32, priority: u8, commons: &Commons) {
        if let Some(pausing) = self.ports[number as usize].pausing_mut() {
            pausing.due |= 1 << priority;
            self.serve(number, commons);
        }
    }

    /// Begins a pause frame if one is due; whether the transmitter is taken by one.
    pub(super) fn sends_frame(&mut self, number: u32) -> bool {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        if port.is(PortFlags::DOWN) {
            return true;
        }
        let free_at = now + port.transmission(FRAME);
        let Service::Departure(scheduled) = &mut port.service else { return false };
        let Some(pausing) = &mut scheduled.pausing else { return false };
        if pausing.sending.is_some() || pausing.due == 0 {
            return pausing.sending.is_some();
        }
        let due = std::mem::take(&mut pausing.due);
        pausing.sending = pausing.ingress.as_mut().map(|ingress| ingress.frame(due, now));
        self.events.schedule(scheduled.source, free_at);
        port.free_at = free_at;
        self.set_pause_clock(number);
        true
    }

    /// The last bit of a pause frame goes on the wire, if one is sent.
    pub(super) fn launch_frame(&mut self, number: u32) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let over = port.free_at == now;
        let Some(pausing) = port.pausing_mut().filter(|_| over) else { return };
        let Some(frame) = pausing.sending.take() else { return };
        pausing.on_wire += 1;
        if let Some(at) = port.launch(&frame.packet(), &mut self.store, now) {
            self.expect(number, at);
        }
    }

    /// The link of port `number` has come up; `pauses` are those of its peer. The port sends its own.
    pub(super) fn restart_flow_control(&mut self, number: u32, pauses: Option<Frame>, commons: &Commons) {
        let now = self.now;
        let Some(pausing) = self.ports[number as usize].pausing_mut() else { return };
        if let Some(frame) = pauses {
            pausing.apply(frame, now);
        }
        pausing.due = pausing.ingress.as_ref().map_or(0, |ingress| ingress.closed());
        self.serve(number, commons);
        self.set_pause_clock(number);
    }

    /// The watchdog of a switch drops all that waits for the end of a pause. An upstream port may go on then.
    fn flush(&mut self, number: u32, priority: u8, commons: &Commons) {
        let mut freed = vec![];
        self.call_discipline(number, commons, |scheduled, cx| {
            cx.paused = !(1 << priority);
            while let Some(packet) = scheduled.disc.dequeue(cx) {
                freed.push((cx.came_by, packet.size));
                cx.drop(packet, DropWhy::Evicted);
            }
        });
        for (came_by, size) in freed {
            self.release(number, (priority, came_by), size, commons);
        }
    }
}

#[cfg(test)]
mod tests;
