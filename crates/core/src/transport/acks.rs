//! The sending end hears from its receiver: acknowledgements, ECN-Echo, SYN+ACK and FIN.
//!
//! Sources: RFC 5681 s.3.2 and RFC 6298 s.5 (what an acknowledgement does), RFC 3168 s.6.1.2 (one
//! reduction a window), RFC 7661 s.4.3 (a window grows only while it is in use).

use super::config::Config;
use super::recovery::Phase;
use super::sender::{Sender, State};
use super::settings::{EceGrowth, EchoMode, RttBy};
use crate::cc::{Ack, Congestion, CongestionControl};
use crate::net::Net;
use crate::packet::{Extension, Flags, Packet};
use shallows_units::Time;

impl Sender {
    /// A packet from the receiver.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, sack: Option<Extension>, config: &Config, net: &mut Net) {
        if config.explicit {
            self.note_round_trip(packet.stamp, net.now);
        }
        if let Some(extension) = &sack {
            self.hear(&extension.feedback, packet.stamp, config, net.now);
        }
        if packet.flags.any(Flags(Flags::SYN.0 | Flags::FIN.0)) && !self.on_control(packet, config, net) {
            return;
        }
        if self.state != State::Established || packet.seq > self.high {
            return;
        }
        let flight = self.flight(config);
        let newly_sacked = match sack {
            Some(held) if held.blocks > 0 => self.hear_sack(held.sacked(), packet, config, net.now),
            _ => 0,
        };
        let ece = self.ecn
            && match config.echo {
                EchoMode::Counted => self.hear_counter(packet, newly_sacked, config),
                _ => packet.flags.any(Flags::ECE),
            };
        let mut delivered = newly_sacked;
        self.repair.clean = false;
        if packet.seq > self.una {
            delivered = self.on_new_ack(packet, ece, flight, newly_sacked, config, net);
        } else if packet.seq == self.una && !packet.flags.any(Flags::PROBE) {
            if config.rack {
                let found = self.losses_by_time(false, packet.stamp, config, net.now);
                self.act_by_time(false, newly_sacked, found, config, net.now);
            } else if self.next > self.una {
                self.on_duplicate_ack(newly_sacked, config, net);
            }
        }
        if ece {
            self.on_ece(flight, delivered, config, net.now);
        }
        self.ece_before = ece;
        self.pump(config, net);
    }

    /// AccECN: whether the receiver has counted more marked packets (RFC 9768 s.3.2.2.5, appendix A.2).
    fn hear_counter(&mut self, packet: &Packet, newly_sacked: u64, config: &Config) -> bool {
        let old = packet.seq == self.una && newly_sacked == 0 && config.settings.sack;
        if packet.seq < self.una || old {
            return false; // it may have been overtaken by a newer count
        }
        let mss = config.rules.mss;
        let modulo = u64::from((packet.flags.ace() + 8 - self.ace.0) % 8);
        // A.2.1: where acknowledgements were lost the counter may have gone round; then the greatest number
        // of marks that fits, since too much congestion is safer than too little. What one acknowledgement
        // covers at most tells that some were lost (without loss every second mark is acknowledged). In
        // recovery the segments were acknowledged, and counted, before.
        let segments = (packet.seq - self.una).div_ceil(mss);
        let marks = if segments >= 8 && segments > config.settings.ack_every && self.phase == Phase::Open {
            segments - (segments - modulo) % 8
        } else {
            modulo
        };
        self.ace = (packet.flags.ace(), self.ace.1 + marks * mss);
        marks > 0
    }

    /// Returns the bytes that it tells to have arrived.
    #[inline]
    fn on_new_ack(
        &mut self,
        packet: &Packet,
        ece: bool,
        flight: u64,
        newly_sacked: u64,
        config: &Config,
        net: &mut Net,
    ) -> u64 {
        let now = net.now;
        let settings = &config.settings;
        let known = if self.repair.board.is_empty() { 0 } else { self.repair.board.advance(packet.seq) };
        let acked = packet.seq - self.una;
        let delivered = acked - known + newly_sacked;
        self.una = packet.seq;
        self.next = self.next.max(self.una);

        let rtt = match settings.rtt_by {
            RttBy::Timestamps => Some(now - packet.stamp),
            RttBy::Karn if self.timed.0 > 0 && self.una >= self.timed.0 => {
                let (_, sent) = std::mem::take(&mut self.timed);
                Some(now - sent)
            }
            RttBy::Karn => None,
        };
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, settings);
            if let Some(rack) = &mut self.rack {
                rack.on_round_trip(rtt);
            }
        }
        self.rtt.progress();
        self.rto_at = if self.next > self.una || self.high > self.una {
            self.rto_from(now, config) // RFC 6298 s.5.3
        } else {
            Time::MAX // s.5.2
        };

        let round_ended = config.rules.arithmetic.ends_round(self.una, self.round_end);
        if round_ended {
            self.round_end = self.next;
        }
        // Apart, so that who finds losses otherwise pays nothing for it.
        let found = config.rack.then(|| self.losses_by_time(true, packet.stamp, config, now));
        let must_recover = found.is_some_and(|found| self.must_recover(found));
        let srtt = self.rtt.srtt();
        self.counts.acks += 1;
        self.counts.srtt_sum += u128::from(srtt.as_ps());
        let marked = match config.echo {
            EchoMode::Counted => {
                let marked = self.ace.1.min(acked);
                self.ace.1 -= marked;
                marked
            }
            _ if ece => acked,
            _ => 0,
        };
        let ack = Ack {
            acked,
            delivered,
            ece,
            marked,
            round_ended,
            may_grow: self.may_grow(ece, flight, config) && !must_recover,
            after_timeout: self.phase == Phase::AfterTimeout,
            rtt,
            srtt,
            flight,
            sent: self.high.min(self.written),
        };
        self.steer(config, now, |cc, cx| cc.on_ack(&ack, cx));
        self.repair.clean = true;
        if let Some(found) = found {
            self.repair.clean = found.bytes == 0;
            self.act_by_time(true, delivered, found, config, now);
        } else if self.phase != Phase::Open || self.repair.dup_acks > 0 || !self.repair.board.is_empty() {
            self.recovery_ack(acked, delivered, config, net);
        }
        delivered
    }

    /// The congestion control reduces its window. RFC 3168 s.6.1.2: the receiver is told, whatever the reason.
    pub(super) fn congested(&mut self, why: Congestion, flight: u64, config: &Config, now: Time) {
        self.steer(config, now, |cc, cx| cc.on_congestion(why, flight, cx));
        // RFC 9768 s.3.2.2: CWR is a bit of the counter.
        self.tell_cwr = self.ecn && config.echo != EchoMode::Counted;
    }

    /// Whether the window may grow on this acknowledgement.
    #[inline]
    fn may_grow(&self, ece: bool, flight: u64, config: &Config) -> bool {
        let settings = &config.settings;
        // The acknowledgement that ends a reduction finds it ended (Linux tcp_fastretrans_alert, D).
        let by_phase = matches!(self.phase, Phase::Open | Phase::AfterTimeout)
            || (self.phase == Phase::Reducing
                && self.una > self.reduced_until
                && config.rules.arithmetic.grows_with_the_end());
        let by_ecn = config.counts_marks
            || match settings.ece_growth {
                EceGrowth::Each => !ece,
                EceGrowth::First => !ece || self.ece_before,
                // State CWR alone: in state Loss a window grows whatever is told (tcp_cong_control).
                EceGrowth::Round if self.phase == Phase::AfterTimeout => true,
                EceGrowth::Round => !ece && (self.una > self.reduced_until || self.reduced_until == 0),
            };
        // RFC 7661 s.4.3, in Linux's form (tcp_is_cwnd_limited): slow start goes on while half the window is in use.
        let in_use = || self.window_limited || (self.slow_start() && self.window.bytes() < 2 * flight);
        by_phase && by_ecn && (!settings.validate_cwnd || in_use())
    }

    fn slow_start(&self) -> bool {
        self.cc.ssthresh().is_some_and(|ssthresh| (self.window.bytes() as f64) < ssthresh)
    }

    /// RFC 3168 s.6.1.2: at most one reduction a window, and none beside a loss's.
    fn on_ece(&mut self, flight: u64, delivered: u64, config: &Config, now: Time) {
        if self.una <= self.reduced_until || !matches!(self.phase, Phase::Open) {
            return;
        }
        self.counts.ecn_reductions += 1;
        let before = self.window.bytes();
        self.congested(Congestion::Ecn, flight, config, now);
        self.reduced_until = self.next;
        if config.settings.prr_on_ecn {
            self.begin_spread_reduction(before, flight, delivered, config);
        }
    }

    /// SYN+ACK or FIN; returns whether the rest of the packet is to be looked at.
    #[cold]
    fn on_control(&mut self, packet: &Packet, config: &Config, net: &mut Net) -> bool {
        if packet.flags.any(Flags::SYN) {
            if self.state == State::SynSent {
                self.state = State::Established;
                self.ecn = config.ecn && packet.flags.any(Flags::ECE);
                self.rtt.sample(net.now - packet.stamp, &config.settings);
                if let Some(rack) = &mut self.rack {
                    rack.on_round_trip(net.now - packet.stamp);
                }
                self.rtt.progress();
                self.rto_at = Time::MAX;
                if self.limit() == 0 {
                    self.emit_raw(0, 0, self.pure_ack(config), config, net);
                }
                self.pump(config, net);
            }
            return false;
        }
        // The receiver's FIN: acknowledged at once, as often as it comes.
        self.emit_raw(packet.seq + 1, 0, self.pure_ack(config), config, net);
        true
    }

    /// Flags of an acknowledgement without data.
    fn pure_ack(&self, config: &Config) -> Flags {
        Flags::ACK.with_if(config.ect, self.ecn && config.ect_on_control)
    }
}
