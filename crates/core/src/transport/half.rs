//! The part that the sending ends of TCP, queue pairs, NDP and Homa have in common.

use super::config::Config;
use super::window::Window;
use crate::cc::{CongestionControl, Cx, FlowInfo, MessageInfo};
use crate::net::Net;
use crate::packet::{Flags, Packet};
use shallows_units::{Bytes, Rate, Time};

/// Where the connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing sent yet.
    Closed,
    /// SYN sent.
    SynSent,
    /// Data may flow.
    Established,
    /// Given up after too many timeouts.
    Failed,
}

/// Counts of a sender, for the statistics.
#[derive(Debug, Clone, Copy, Default)]
pub struct SenderCounts {
    /// Packets handed to the NIC.
    pub packets: u64,
    /// Packets among them whose data were sent before.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub fast_recoveries: u64,
    /// Reductions for ECN-Echo.
    pub ecn_reductions: u64,
    /// Sum over acknowledgements of the smoothed RTT in ps.
    pub srtt_sum: u128,
    /// Acknowledgements of new data.
    pub acks: u64,
}

/// Half of a connection: whose it is, how far it has come, and when it wants to be woken.
pub struct Half {
    /// The flow.
    pub flow: u32,
    /// By which switches forward its packets.
    pub label: u32,
    /// Where the connection is in its life.
    pub state: State,
    /// Oldest number not acknowledged. An end that is read from counts what it has sent; with go-back-0 it may fall back.
    pub una: u64,
    /// Bytes that the application has written.
    pub written: u64,
    /// The application will write no more, and a FIN says so.
    pub closing: bool,
    /// Congestion control and its window.
    pub window: Window,
    /// When the retransmission timer expires.
    pub rto_at: Time,
    /// Time of the soonest event that will look at the end's timers.
    pub timer_at: Time,
    /// Statistics.
    pub counts: SenderCounts,
}

impl Half {
    /// A connection not yet opened.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        let cc = config.cc.start(info, &Cx { now, rules: &config.rules });
        Half {
            flow,
            label,
            state: State::Closed,
            una: 0,
            written: 0,
            closing: false,
            window: Window::new(cc, now),
            rto_at: Time::MAX,
            timer_at: Time::MAX,
            counts: SenderCounts::default(),
        }
    }

    /// The application is about to write a message.
    pub fn announce(&mut self, message: &MessageInfo, config: &Config, now: Time) {
        self.window.with_cc(&config.rules, now, |cc, cx| cc.on_message(message, cx));
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// One beyond the last number there is to send.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.written.saturating_add(u64::from(self.closing))
    }

    /// Everything written, and the FIN if any, has been acknowledged.
    #[inline]
    pub fn all_acknowledged(&self) -> bool {
        self.una >= self.limit()
    }

    /// A packet with number `seq` of `size` bytes, as it is handed to the host's port at `now`.
    #[inline(always)]
    pub fn packet(&self, seq: u64, (size, flags): (u16, Flags), extension: u32, now: Time) -> Packet {
        let (flow, label) = (self.flow, self.label);
        Packet { at: Time::ZERO, seq, stamp: now, waited: 0, flow, label, extension, size, flags }
    }

    /// The warm-up ends: statistics begin.
    pub fn restart_counts(&mut self, now: Time) {
        self.counts = SenderCounts::default();
        self.window.restart(now);
    }
}

/// A sending end's turn at its host's port, where queue pairs, NDP and Homa have one packet at a time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Turn {
    /// The last packet has left the port then.
    pub at: Time,
    /// A packet waits for that.
    pub waits: bool,
}

impl Turn {
    /// A packet of `size` bytes was handed to the port of `flow`'s host, whose card sends at `line`: no other is before it has left.
    pub fn taken(&mut self, flow: u32, size: u16, line: Rate, net: &mut Net) {
        self.at = net.leaves_host_at(flow).max(net.now + line.transmit(Bytes(size.into())));
    }
}

/// A sending end with one timer, which waits for its turn at the host's port: NDP's, Homa's and Ultra Ethernet's.
pub trait TakesTurns {
    /// The parts that all ends have, and the turn of this one.
    fn parts(&self) -> (&Half, Turn);
    /// The timer has expired.
    fn on_timeout(&mut self, config: &Config, now: Time);
    /// Sends what may go now, and sets the timer.
    fn pump(&mut self, config: &Config, net: &mut Net);

    /// When this end wants to be woken.
    #[inline]
    fn wake_at(&self) -> Time {
        let (half, turn) = self.parts();
        if turn.waits { half.rto_at.min(turn.at) } else { half.rto_at }
    }

    /// A timer event has come.
    #[inline(never)]
    fn on_timer(&mut self, config: &Config, net: &mut Net) {
        if net.now >= self.parts().0.rto_at {
            self.on_timeout(config, net.now);
        }
        self.pump(config, net);
    }
}
