//! The sending end's timer: one event that serves the retransmission timeout (RFC 6298 s.5) and pacing.

use super::config::Config;
use super::sender::{Sender, State};
use crate::cc::CongestionControl;
use crate::net::Net;
use shallows_units::{Bytes, Time};

impl Sender {
    /// When this sender wants to be woken.
    #[inline]
    pub fn wake_at(&self) -> Time {
        let soon = self.rto_at.min(self.ask_at);
        if self.waits_for_pace { soon.min(self.pace_at) } else { soon }
    }

    /// A timer event has come.
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        if net.now < self.rto_at {
            return self.pump(config, net);
        }
        self.counts.timeouts += 1;
        if self.rtt.timeouts >= config.settings.max_timeouts {
            return self.give_up();
        }
        let first = self.rtt.timeouts == 0;
        self.rtt.expire(&config.settings);
        if self.state == State::SynSent {
            return self.send_syn(config, net);
        }
        self.count_cwnd(net.now);
        self.recover_by_timeout(first, config, net);
    }

    /// Nothing is sent any more, and so there is nothing left to wake for: not the retransmission timer, not a
    /// request, and not a packet that pacing held back.
    fn give_up(&mut self) {
        self.state = State::Failed;
        (self.rto_at, self.ask_at, self.waits_for_pace) = (Time::MAX, Time::MAX, false);
    }

    /// Whether pacing keeps the next packet back; then the timer lets it out. A sender that only pacing
    /// keeps from sending fills its window: its rate follows from that.
    #[inline]
    pub(super) fn held_by_pace(&mut self, now: Time) -> bool {
        self.waits_for_pace = self.pace_at > now;
        self.window_limited |= self.waits_for_pace;
        self.waits_for_pace
    }

    /// `size` bytes go out: the next packet waits for as long as they take at the pacing rate, whatever
    /// was saved up before. So bursts are one packet, and a retransmission sent at once is made up for.
    #[inline]
    pub(super) fn pace(&mut self, size: u64, now: Time) {
        if let Some(rate) = self.cc.pacing_rate() {
            self.pace_at = self.pace_at.max(now) + rate.transmit(Bytes(size));
        }
    }
}
