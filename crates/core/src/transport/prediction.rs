//! Header prediction: the short way of an acknowledgement that is as nearly all are.
//!
//! Source: Jacobson 1990, "4BSD TCP header prediction"; Linux `tcp_rcv_established`. It acknowledges new data in order, without
//! SACK, while nothing is being repaired. All that `acks.rs` and `sending.rs` would ask about repairs, headers and rarer settings
//! is then known, and not asked. The effects are the same: the tests run random experiments both ways.

use super::acks::Heard;
use super::config::Config;
use super::half::State;
use super::sender::Sender;
use super::settings::{EceGrowth, EchoMode, RttBy};
use crate::cc::CongestionControl;
use crate::cc::parts::window::Arithmetic;
use crate::net::Net;
use crate::packet::{Flags, Packet};
use shallows_units::Time;

impl Config {
    /// Whether its settings leave nothing but the common questions to a predicted acknowledgement.
    pub(super) fn can_predict(&self) -> bool {
        let s = &self.settings;
        let plain_acks = !self.explicit && !self.samples && !self.rack && self.echo != EchoMode::Counted;
        let plain_window = s.arithmetic == Arithmetic::Exact
            && !self.whole_windows
            && !s.prr_on_ecn
            && !self.caps_growth
            && !self.resumes;
        let plain_sending = s.burst == 1 && !s.nagle;
        let exact_rtt = s.rtt_by == RttBy::Timestamps;
        plain_acks && plain_window && plain_sending && exact_rtt && s.ece_growth != EceGrowth::CutFirst
    }
}

impl Sender {
    /// Whether `packet`, which has no extension, is as predicted.
    #[inline(always)]
    pub(super) fn predicts(&self, packet: &Packet, config: &Config) -> bool {
        const RARE: Flags = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::PROBE.0);
        config.predicts
            && !packet.flags.any(RARE)
            && packet.seq > self.half.una
            && packet.seq <= self.high
            && self.half.state == State::Established
            && self.recovery.is_open()
            && self.board.is_empty()
            && self.losses.dup_acks() == 0
    }

    /// Acts on a packet that is as predicted: [`Sender::on_any_packet`] in brief.
    #[inline(always)]
    pub(super) fn on_predicted(&mut self, packet: &Packet, config: &Config, net: &mut Net) {
        // Only a timeout lets SND.NXT fall back, and its recovery lasts until all that was sent before is acknowledged.
        debug_assert!(self.next == self.high, "data is sent again while nothing is repaired");
        let now = net.now;
        let acked = packet.seq - self.half.una;
        let ece = self.ecn.agreed && packet.flags.any(Flags::ECE);
        let flight = self.next - self.half.una;
        let heard = Heard { acked, delivered: acked, ece, clean: true, flight, stamp: packet.stamp };
        self.half.una = packet.seq;
        let rtt = now - packet.stamp;
        self.rtt.sample(rtt, &config.settings);
        self.rtt.progress();
        self.half.rto_at = if self.high > self.half.una { self.rto_from(now, config) } else { Time::MAX };
        let round_ended = Arithmetic::Exact.ends_round(self.half.una, self.round_end);
        if round_ended {
            self.round_end = self.next;
        }
        let may_grow = self.may_grow_plainly(heard, config);
        let ack = self.report(heard, Some(rtt), round_ended, may_grow, config);
        self.with_cc(config, now, |cc, cx| cc.on_ack(&ack, cx));
        if ece {
            self.on_ece(heard, config, now);
        }
        self.ecn.echoed = ece;
        self.send_whole(config, net);
    }

    /// Sends whole segments of new data as the window and pacing allow, and leaves the last ones of the stream to
    /// [`Sender::pump_data`].
    #[inline(always)]
    fn send_whole(&mut self, config: &Config, net: &mut Net) {
        (self.pacing.holds, self.pacing.port_at) = (false, Time::MAX);
        if self.next == self.half.una {
            return self.pump(config, net);
        }
        let mss = config.rules.mss;
        let most = self.half.window.bytes().min(config.receive_window);
        let last = self.half.written.saturating_sub(u64::from(self.half.closing));
        self.usage.window_limited = false;
        while net.room > 0 {
            let (seq, end) = (self.next, self.next + mss);
            if end > last {
                return self.send_last(config, net);
            }
            if end - self.half.una > most {
                self.usage.window_limited = end - self.half.una > self.half.window.bytes();
                return;
            }
            if self.held_by_port(config, net) || self.held_by_pace(net.now) {
                return;
            }
            self.emit_new(seq, mss, false, config, net);
            (self.next, self.high) = (end, end);
        }
    }

    #[inline(never)]
    fn send_last(&mut self, config: &Config, net: &mut Net) {
        self.pump_data(config, net);
    }
}
