//! Priority-based flow control: a switch whose memory fills up has its neighbours pause single priorities.
//!
//! Source: IEEE 802.1Qbb-2011 (802.1Q-2018 clause 36) and IEEE 802.3-2018 annexes 31B and 31D. The frame that pauses is
//! 64 bytes long, 84 with preamble and gap. Its times are in quanta of 512 bit times; a time of 0 resumes. It goes ahead
//! of all data once the frame under way has been sent, and no pause stops it. The peer ends its own frame, and applies the pause
//! after its response time. A pause runs out by itself, so the switch sends it again after half of its time.
//!
//! [`ingress`] has the accounts of a switch and the law of XOFF and XON, [`headroom`] the bytes that still come after XOFF.
//!
//! A peer may hold priorities by an event of the run: a slow receiver, or a card that sends pauses without end. The frames of such a
//! storm are not sent: the port stops at once, and no reverse traffic makes room for them.
//!
//! [`watchdog`] ends a switch's patience with pauses that last.
//!
//! Left out: what a wire's injected faults would do to pause frames.

mod charging;
mod frame;
pub mod headroom;
pub mod ingress;
mod pausing;
pub mod watchdog;

use super::port::{Port, Service};
use super::{Directory, Network};
use crate::net::port::WireEnd;
use crate::packet::Packet;
use crate::queue::DropWhy;
pub use frame::{FRAME, Frame, PRIORITIES, ones};
pub use pausing::Pausing;
use shallows_units::{Index, Time};

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

    /// The pauses of the port, to be changed.
    pub fn pausing_mut(&mut self) -> Option<&mut Pausing> {
        match &mut self.service {
            Service::Departure(scheduled) => scheduled.pausing.as_deref_mut(),
            _ => None,
        }
    }
}

impl Network {
    /// The port that sends back along the cable of `number`, where flow control needs it.
    pub(super) fn back(&self, number: u32, directory: &Directory) -> Index {
        let link = self.links.get(number as usize).map_or(usize::MAX, |link| *link as usize);
        directory.backs.get(link).copied().unwrap_or(Index::NONE)
    }

    /// A pause frame, which is no packet, is at the far end of a wire; whether it was one.
    pub(super) fn ends_frame(&mut self, number: u32, packet: &Packet) -> bool {
        if !packet.is_pause() {
            return false;
        }
        self.totals.hops -= 1;
        if let Some(pausing) = self.ports[number as usize].pausing_mut() {
            pausing.on_wire -= 1;
        }
        true
    }

    /// `packet` is at `end`. It came along a wire whose other direction belongs to port `came_by`.
    #[inline(never)]
    pub(super) fn forward_from(
        &mut self,
        came_by: Index,
        end: WireEnd,
        slot: u32,
        directory: &Directory,
    ) -> Option<Packet> {
        self.came_by = came_by;
        let delivered = self.forward(end, slot, directory);
        self.came_by = Index::NONE;
        delivered
    }

    /// A pause frame has come to `port`.
    pub(super) fn receive_frame(&mut self, port: Index, packet: &Packet, directory: &Directory) {
        let now = self.now;
        let Some(number) = port.get() else { return };
        let Some(pausing) = self.ports[number as usize].pausing_mut() else { return };
        pausing.received.push_back((now + pausing.response, Frame::of(packet)));
        self.on_pause_clock(number, directory);
    }

    /// The time of the clock of a port that pauses or is paused.
    #[inline(never)]
    pub fn on_pause_clock(&mut self, number: u32, directory: &Directory) {
        let now = self.now;
        let Some(pausing) = self.ports[number as usize].pausing_mut() else { return };
        pausing.catch_up(now);
        let renewed = pausing.ingress.as_mut().map_or(0, |ingress| ingress.renewals_due(now));
        pausing.due |= renewed;
        loop {
            let due = self.ports[number as usize].pausing_mut().and_then(|pausing| pausing.watchdog_due(now));
            let Some(priority) = due else { break };
            self.flush(number, priority, directory);
        }
        self.serve(number, directory);
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
    pub(super) fn send_frame_about(&mut self, number: u32, priority: u8, directory: &Directory) {
        if let Some(pausing) = self.ports[number as usize].pausing_mut() {
            pausing.due |= 1 << priority;
            self.serve(number, directory);
        }
    }

    /// Begins a pause frame if one is due; whether the transmitter is taken by one.
    pub(super) fn sends_frame(&mut self, number: u32) -> bool {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        if port.flags.down {
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
    pub(super) fn restart_flow_control(&mut self, number: u32, pauses: Option<Frame>, directory: &Directory) {
        let now = self.now;
        let Some(pausing) = self.ports[number as usize].pausing_mut() else { return };
        if let Some(frame) = pauses {
            pausing.apply(frame, now);
        }
        pausing.due = pausing.ingress.as_ref().map_or(0, |ingress| ingress.closed());
        self.serve(number, directory);
        self.set_pause_clock(number);
    }

    /// The peer of port `number` holds these priorities from now on, or no longer.
    pub fn hold(&mut self, number: u32, change: impl FnOnce(u8) -> u8, directory: &Directory) {
        let now = self.now;
        let Some(pausing) = self.ports[number as usize].pausing_mut() else { return };
        pausing.catch_up(now);
        let held = pausing.held();
        pausing.hold(change(held), now);
        self.serve(number, directory);
        self.set_pause_clock(number);
    }

    /// The watchdog drops all that waits for the end of a pause. An upstream port may go on then.
    fn flush(&mut self, number: u32, priority: u8, directory: &Directory) {
        let mut freed = vec![];
        self.call_discipline(number, directory, |scheduled, cx| {
            cx.paused = !(1 << priority);
            while let Some(packet) = scheduled.disc.dequeue(cx) {
                freed.push((cx.came_by, packet.size));
                cx.drop(packet, DropWhy::Evicted);
            }
        });
        if let Some(pausing) = self.ports[number as usize].pausing_mut() {
            pausing.note_dropped(priority, freed.len() as u64);
        }
        for (came_by, size) in freed {
            self.release(number, (priority, came_by), size, directory);
        }
    }

    /// `packet` comes to a port whose watchdog drops its priority.
    #[cold]
    pub(super) fn drop_in_storm(&mut self, number: u32, packet: &Packet, directory: &Directory) {
        if let Some(pausing) = self.ports[number as usize].pausing_mut() {
            pausing.note_dropped(directory.priority(packet), 1);
        }
        self.refuse(number, packet, DropWhy::Evicted, directory);
    }
}
