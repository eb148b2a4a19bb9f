//! The sending end of datagrams: each leaves at its time, or as soon as its socket has room.

use super::{Due, Emitter};
use crate::cc::{FlowInfo, MessageInfo};
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE, Packet};
use crate::transport::config::Config;
use crate::transport::half::Half;
use shallows_units::{Span, Time};

/// Datagrams that waited for room in their host's port.
#[derive(Debug, Clone, Copy, Default)]
pub struct Late {
    /// How many.
    pub datagrams: u64,
    /// The longest wait.
    pub longest: Span,
}

/// The sending end. Bytes count as acknowledged once they are sent, since nobody acknowledges them.
pub struct DatagramSender {
    /// The part that all transports have in common.
    pub half: Half,
    emitter: Option<Box<dyn Emitter>>,
    /// The datagram that leaves next.
    next: Option<Due>,
    /// Datagrams sent in the whole run: the number of the next one.
    number: u64,
    /// When the sender looks again.
    pub(in crate::transport) at: Time,
    /// Since the statistics began.
    pub late: Late,
}

impl DatagramSender {
    /// A socket that has sent nothing.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        let half = Half::new(flow, label, info, config, now);
        DatagramSender { half, emitter: None, next: None, number: 0, at: Time::MAX, late: Late::default() }
    }

    /// The application begins to send; `pair` is its number in the load.
    pub fn emit(&mut self, pair: u64, config: &Config, net: &mut Net) {
        self.emitter = config.emission.as_ref().map(|emission| emission.start(pair));
        self.advance();
        self.pump(config, net);
    }

    fn advance(&mut self) {
        self.next = self.emitter.as_mut().and_then(|emitter| emitter.next());
    }

    /// Sends all that is due, as far as the socket has room.
    fn pump(&mut self, config: &Config, net: &mut Net) {
        let room = config.small_queues.unwrap_or(u64::MAX);
        while let Some(due) = self.next {
            if due.at > net.now {
                self.at = due.at;
                return;
            }
            // Linux: the check comes before the datagram's own bytes count.
            if let Some(at) = net.held_at_host(self.half.flow, room.saturating_sub(1)) {
                self.at = at;
                return;
            }
            if due.at < net.now {
                self.late.datagrams += 1;
                self.late.longest = self.late.longest.max(net.now - due.at);
            }
            let flags = Flags::default().with_if(config.ect, config.ecn);
            let size = config.header + due.bytes;
            net.send(&self.half.packet(self.number, (size, flags), NONE, net.now));
            self.number += 1;
            self.half.counts.packets += 1;
            self.half.write(u64::from(due.bytes));
            self.half.una = self.half.written;
            self.advance();
        }
        self.at = Time::MAX;
    }

    /// When the sender wants to be woken.
    #[inline]
    pub fn wake_at(&self) -> Time {
        self.at
    }

    /// A timer event has come.
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        self.pump(config, net);
    }

    // ---- calls that concern connections alone ----

    /// No datagram belongs to a message.
    pub fn announce(&mut self, _message: &MessageInfo, _config: &Config, _now: Time) {}

    /// Datagrams come from their law alone.
    pub fn write(&mut self, _bytes: u64, _config: &Config, _net: &mut Net) {}

    /// Nothing comes back.
    pub fn on_packet(
        &mut self,
        _packet: &Packet,
        _about: Option<Extension>,
        _config: &Config,
        _net: &mut Net,
    ) {
    }

    /// Nothing is measured.
    pub fn srtt(&self) -> Option<Span> {
        None
    }
}
