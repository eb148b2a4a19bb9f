//! Answers to a requester: acknowledgements, NAKs and notifications.
//!
//! Source: as `requester.rs`. A NAK acknowledges all before the packet that it asks for (InfiniBand specification s.9.7.5.1.1).

use super::requester::Requester;
use super::wire::NAK;
use crate::cc::{Ack, Congestion, CongestionControl};
use crate::net::Net;
use crate::packet::{Extension, Flags, Packet};
use crate::port_control::Feedback;
use crate::transport::{Config, State};
use shallows_units::{Span, Time};

impl Requester {
    /// An acknowledgement, a NAK or a notification.
    pub fn on_packet(&mut self, packet: &Packet, about: Option<Extension>, config: &Config, net: &mut Net) {
        let now = net.now;
        if self.half.state != State::Established {
            return;
        }
        if packet.flags.any(Flags::CNP) {
            self.half.counts.ecn_reductions += 1;
            let high = self.high;
            self.half.window.with_cc(&config.rules, now, |cc, cx| {
                cc.keep_time(high, cx);
                cc.on_cnp(cx);
            });
            return self.pump(config, net);
        }
        let rtt = now - packet.stamp;
        let about = about.unwrap_or_default();
        if !matches!(about.feedback, Feedback::None) {
            let srtt = if self.rtt.srtt() > Span::ZERO { self.rtt.srtt() } else { rtt };
            self.half.window.with_cc(&config.rules, now, |cc, cx| cc.on_feedback(&about.feedback, srtt, cx));
        }
        let flight = self.flight();
        let covers = self.covered(packet.seq, config);
        let acked = covers.saturating_sub(self.half.una);
        if acked > 0 && covers <= self.high {
            self.on_new_ack(covers, (acked, flight, rtt), config, now);
        }
        if packet.flags.any(NAK) && packet.seq == self.first_lost(config) {
            self.on_nak(about.sacked(), flight, config, now);
        }
        if self.high > self.half.una {
            self.restart_timer(config, now);
        } else {
            self.half.rto_at = Time::MAX;
        }
        self.pump(config, net);
    }

    /// All below is acknowledged. With go-back-0 an answer beyond what this attempt has sent belongs to one before: whole messages
    /// stay, their parts do not.
    fn covered(&mut self, seq: u64, config: &Config) -> u64 {
        let before = config.roce.restarts && seq > self.next;
        if before { self.cutting.message_of(seq).0 } else { seq }
    }

    fn on_new_ack(&mut self, una: u64, (acked, flight, rtt): (u64, u64, Span), config: &Config, now: Time) {
        let before = self.sacked();
        self.half.una = una;
        self.next = self.next.max(una);
        self.retries = 0;
        self.cutting.acknowledge(una, config.rules.mss);
        if let Some(selective) = &mut self.selective {
            selective.advance(una);
        }
        self.rtt.sample(rtt, &config.settings);
        let round_ended = una > self.round_end;
        if round_ended {
            self.round_end = self.next;
        }
        self.half.counts.acks += 1;
        self.half.counts.srtt_sum += u128::from(self.rtt.srtt().as_ps());
        let ack = Ack {
            acked,
            delivered: acked - (before - self.sacked()).min(acked),
            ece: false,
            marked: 0,
            round_ended,
            may_grow: flight + config.rules.mss > self.half.window.bytes(),
            after_timeout: false,
            rtt: Some(rtt),
            srtt: self.rtt.srtt(),
            flight,
            sent: self.high,
        };
        self.half.window.with_cc(&config.rules, now, |cc, cx| {
            cc.keep_time(ack.sent, cx);
            cc.on_ack(&ack, cx);
        });
    }

    /// The packet at `una` is missing, and `arrived` came beyond it. With go-back-N the control learns about a loss once, until all
    /// that had been sent is acknowledged: a NAK may be repeated, or report a retransmission. With go-back-0 it is another loss if
    /// the attempt had been answered.
    #[cold]
    fn on_nak(&mut self, arrived: &[(u64, u64)], flight: u64, config: &Config, now: Time) {
        let begins = match &mut self.selective {
            None => {
                let from = self.first_lost(config);
                let begins =
                    self.next > self.half.una && (self.half.una >= self.reported || self.half.una > from);
                if begins {
                    self.reported = self.high;
                }
                self.go_back(from);
                begins
            }
            Some(selective) => {
                let (una, high) = (self.half.una, self.high);
                arrived.iter().fold(false, |begins, (first, beyond)| {
                    begins | selective.on_nack(*first, *beyond, una, high).0
                })
            }
        };
        if begins {
            self.half.counts.fast_recoveries += 1;
            self.half
                .window
                .with_cc(&config.rules, now, |cc, cx| cc.on_congestion(Congestion::Loss, flight, cx));
        }
    }
}
