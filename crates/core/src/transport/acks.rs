//! Answers to the sending end: acknowledgements, ECN-Echo, SYN+ACK and FIN.
//!
//! Sources: RFC 5681 s.3.2 and RFC 6298 s.5 (the effects of an acknowledgement), RFC 3168 s.6.1.2 (one
//! reduction a window), RFC 7661 s.4.3 (a window grows only while it is in use).

use super::config::Config;
use super::half::State;
use super::recovery::Recovery;
use super::sender::Sender;
use super::settings::{EceGrowth, EchoMode, RttBy};
use crate::cc::{Ack, Congestion, CongestionControl};
use crate::net::Net;
use crate::packet::{Extension, Flags, Packet};
use shallows_units::{Span, Time};

/// The report of a packet from the receiver.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heard {
    /// Bytes newly acknowledged by number.
    pub acked: u64,
    /// Bytes that it is the first to report, by number or by SACK.
    pub delivered: u64,
    /// It reports a mark.
    pub ece: bool,
    /// It acknowledges new data and shows no loss.
    pub clean: bool,
    /// Bytes in flight before it came.
    pub flight: u64,
    /// When the packet was sent that it answers.
    pub stamp: Time,
}

impl Sender {
    /// A packet from the receiver.
    #[inline(always)]
    pub fn on_packet(&mut self, packet: &Packet, sack: Option<Extension>, config: &Config, net: &mut Net) {
        if sack.is_none() && self.predicts(packet, config) {
            self.on_predicted(packet, config, net);
        } else {
            self.on_any_packet(packet, sack, config, net);
        }
    }

    /// Slow path: handles any packet from the receiver.
    #[inline(never)]
    fn on_any_packet(&mut self, packet: &Packet, sack: Option<Extension>, config: &Config, net: &mut Net) {
        if config.explicit {
            self.note_round_trip(packet.stamp, net.now);
        }
        if let Some(extension) = &sack {
            self.read_feedback(&extension.feedback, packet.stamp, config, net.now);
        }
        if packet.flags.any(Flags(Flags::SYN.0 | Flags::FIN.0)) && !self.on_control(packet, config, net) {
            return;
        }
        if self.half.state != State::Established || packet.seq > self.high {
            return;
        }
        if config.asks_app_limit {
            self.note_app_limit(config);
        }
        let flight = self.flight(config);
        let delivered = match sack {
            Some(held) if held.blocks > 0 => self.read_sack(held.sacked(), packet, config, net.now),
            _ => 0,
        };
        if config.resumes {
            self.note_sacked();
        }
        let ece = self.ecn.agreed
            && match config.echo {
                EchoMode::Counted => self.read_counter(packet, delivered, config),
                _ => packet.flags.any(Flags::ECE),
            };
        let mut heard = Heard { acked: 0, delivered, ece, clean: false, flight, stamp: packet.stamp };
        let mut late = None;
        if packet.seq > self.half.una {
            (heard, late) = self.on_new_ack(packet.seq, heard, config, net);
        } else if packet.seq == self.half.una && !packet.flags.any(Flags::PROBE) {
            if config.resumes {
                self.note_delivery(heard, delivered, None);
            }
            if self.losses.is_by_time() {
                self.duplicate_by_time(heard, config, net.now);
            } else if self.next > self.half.una {
                self.on_duplicate_ack(heard, config, net);
            }
        }
        if ece {
            self.on_ece(heard, config, net.now);
        }
        if let Some(ack) = late
            && !self.recovery.is_fast()
        {
            self.with_capped_cc(config, net.now, |cc, cx| cc.grow(&ack, cx));
        }
        if config.resumes {
            self.pass_phases(config, net.now);
        }
        self.ecn.echoed = ece;
        if config.samples {
            self.end_sample(heard, config, net.now);
        }
        self.pump_here(config, net);
    }

    /// SACK blocks of an acknowledgement; returns the bytes newly sacked.
    #[inline(never)]
    fn read_sack(&mut self, blocks: &[(u64, u64)], packet: &Packet, config: &Config, now: Time) -> u64 {
        let low = self.half.una.max(packet.seq);
        if config.samples {
            self.sample_sacked(blocks, low, now);
        }
        let Some(rack) = self.losses.rack() else { return self.board.update(blocks, low, self.high) };
        // RFC 8985 s.6.2 step 3: in the order of numbers, or as a delayed acknowledgement reports them below the first
        // hole would look overtaken.
        if packet.seq > self.half.una {
            if config.settings.rtt_by == RttBy::Timestamps {
                rack.on_round_trip(now - packet.stamp);
            }
            rack.on_ack(packet.seq, now, packet.stamp);
        }
        let mut new = 0;
        for (first, beyond) in blocks {
            let (first, beyond) = ((*first).max(low), (*beyond).min(self.high));
            self.board.each_gap(first, beyond, |first, beyond| rack.on_sack(first, beyond, now));
            new += self.board.update(&[(first, beyond)], low, self.high);
        }
        new
    }

    /// AccECN: whether the receiver has counted more marked packets (RFC 9768 s.3.2.2.5, appendix A.2).
    #[inline(never)]
    fn read_counter(&mut self, packet: &Packet, newly_sacked: u64, config: &Config) -> bool {
        let old = packet.seq == self.half.una && newly_sacked == 0 && config.settings.sack;
        if packet.seq < self.half.una || old {
            return false; // it may have been overtaken by a newer count
        }
        let mss = config.rules.mss;
        let modulo = u64::from((packet.flags.ace() + 8 - self.ecn.ace.0) % 8);
        // A.2.1: where acknowledgements were lost the counter may have gone round; then the greatest number
        // of marks that fits, since too much congestion is safer than too little. The most that one acknowledgement
        // covers shows that some were lost (without loss every second mark is acknowledged). In
        // recovery the segments were acknowledged, and counted, before.
        let segments = (packet.seq - self.half.una).div_ceil(mss);
        let marks = if segments >= 8 && segments > config.settings.ack_every && self.recovery.is_open() {
            segments - (segments - modulo) % 8
        } else {
            modulo
        };
        self.ecn.ace = (packet.flags.ace(), self.ecn.ace.1 + marks * mss);
        marks > 0
    }

    /// Everything below `una` is acknowledged for the first time. Returns the whole report, and the acknowledgement
    /// where the window may grow by it after a reduction (`ece_growth = "cut-first"`).
    #[inline(always)]
    fn on_new_ack(
        &mut self,
        una: u64,
        mut heard: Heard,
        config: &Config,
        net: &mut Net,
    ) -> (Heard, Option<Ack>) {
        let now = net.now;
        heard.acked = una - self.half.una;
        if config.samples {
            self.sample_acked(una, heard.stamp, now);
        }
        let known = if self.board.is_empty() {
            self.reported_by_duplicates(heard.acked, config)
        } else {
            self.board.advance(una)
        };
        let sacked = heard.delivered;
        heard.delivered += heard.acked - known;
        self.half.una = una;
        self.next = self.next.max(una);
        let rtt = self.measure(heard.stamp, config, now);
        if config.resumes {
            self.note_delivery(heard, sacked, rtt);
        }
        self.half.rto_at = if self.next > self.half.una || self.high > self.half.una {
            self.rto_from(now, config) // RFC 6298 s.5.3
        } else {
            Time::MAX // s.5.2
        };
        let round_ended = config.rules.arithmetic.ends_round(self.half.una, self.round_end);
        if round_ended {
            self.round_end = self.next;
        }
        // Apart, so that detection by counting pays nothing for it.
        let found = self.losses.is_by_time().then(|| self.losses_by_time(true, heard.stamp, config, now));
        heard.clean = found.is_none_or(|found| found.bytes == 0);
        let must_recover = found.is_some_and(|found| self.must_recover(found));
        let may_grow = self.may_grow(heard, config) && !must_recover;
        let cut_first = config.settings.ece_growth == EceGrowth::CutFirst && heard.ece && self.may_reduce();
        let ack = self.report(heard, rtt, round_ended, may_grow && !cut_first, config);
        self.with_capped_cc(config, now, |cc, cx| cc.on_ack(&ack, cx));
        if let Some(found) = found {
            self.act_by_time(true, heard, found, config, now);
        } else if !self.recovery.is_open() || !self.board.is_empty() || self.losses.dup_acks() > 0 {
            self.on_ack_in_repair(heard, config, net);
        }
        (heard, (cut_first && may_grow).then_some(Ack { may_grow, ..ack }))
    }

    /// Bytes of `acked` that duplicate acknowledgements have reported before, where no SACK has: Linux
    /// `tcp_remove_reno_sacks` counts a segment for each, and the rest, at least one, as new.
    #[inline]
    fn reported_by_duplicates(&self, acked: u64, config: &Config) -> u64 {
        let duplicates = self.losses.dup_acks();
        if duplicates == 0 || config.settings.sack || !config.rules.arithmetic.in_segments() {
            return 0;
        }
        (duplicates * config.rules.mss).min(acked.saturating_sub(config.rules.mss))
    }

    /// The round trip that an acknowledgement of new data measures.
    #[inline(always)]
    fn measure(&mut self, stamp: Time, config: &Config, now: Time) -> Option<Span> {
        let rtt = match config.settings.rtt_by {
            RttBy::Timestamps => Some(now - stamp),
            RttBy::Karn if self.timed.0 > 0 && self.half.una >= self.timed.0 => {
                let (_, sent) = std::mem::take(&mut self.timed);
                Some(now - sent)
            }
            RttBy::Karn => None,
        };
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, &config.settings);
            self.losses.on_round_trip(rtt);
        }
        self.rtt.progress();
        rtt
    }

    /// The acknowledgement as the congestion control sees it.
    #[inline(always)]
    pub(super) fn report(
        &mut self,
        heard: Heard,
        rtt: Option<Span>,
        round_ended: bool,
        may_grow: bool,
        config: &Config,
    ) -> Ack {
        let srtt = self.rtt.srtt();
        self.half.counts.acks += 1;
        self.half.counts.srtt_sum += u128::from(srtt.as_ps());
        let Heard { acked, delivered, ece, flight, .. } = heard;
        let marked = match config.echo {
            EchoMode::Counted => {
                let marked = self.ecn.ace.1.min(acked);
                self.ecn.ace.1 -= marked;
                marked
            }
            _ if ece => acked,
            _ => 0,
        };
        Ack {
            acked,
            delivered,
            ece,
            marked,
            round_ended,
            may_grow,
            after_timeout: self.recovery.is_after_timeout(),
            rtt,
            srtt,
            flight,
            sent: self.high.min(self.half.written),
        }
    }

    /// The congestion control reduces its window. RFC 3168 s.6.1.2: CWR reports each reduction, whatever its reason.
    pub(super) fn congested(&mut self, why: Congestion, flight: u64, config: &Config, now: Time) {
        let before = self.half.window.bytes();
        self.with_cc(config, now, |cc, cx| cc.on_congestion(why, flight, cx));
        if config.resumes {
            self.retreat(why, config, now);
        }
        self.forget_flight(before);
        // A loss within the round trip of a reduction for marks: CWR again would end the echo of later marks. Linux reports
        // none in state CWR (tcp_enter_recovery calls tcp_init_cwnd_reduction only outside of it), the RFC where the window shrank.
        let reported = why == Congestion::LossAfterEcn
            && (config.settings.prr_on_ecn || self.half.window.bytes() >= before);
        // RFC 9768 s.3.2.2: CWR is a bit of the counter.
        if !reported && self.ecn.agreed && config.echo != EchoMode::Counted {
            self.ecn.send_cwr = true;
        }
    }

    /// Whether the window may grow on this acknowledgement.
    #[inline(always)]
    fn may_grow(&self, heard: Heard, config: &Config) -> bool {
        self.may_grow_plainly(heard, config)
            && (!config.caps_growth || self.below_cap(config))
            && !(config.resumes && self.holds_growth())
    }

    /// Whether the window may grow where nothing caps it, and no connection resumes.
    #[inline(always)]
    pub(super) fn may_grow_plainly(&self, heard: Heard, config: &Config) -> bool {
        let Heard { ece, flight, .. } = heard;
        let settings = &config.settings;
        let by_state = self.recovery.is_open() || self.may_grow_in_repair(config);
        let by_ecn = config.counts_marks
            || match settings.ece_growth {
                EceGrowth::Each => !ece,
                EceGrowth::First | EceGrowth::CutFirst => !ece || self.ecn.echoed,
                // State CWR alone: in state Loss a window grows despite ECN-Echo (tcp_cong_control).
                EceGrowth::Round if self.recovery.is_after_timeout() => true,
                // Where state CWR spreads a reduction, it tells; the acknowledgement that ends a loss's repair grows the window.
                EceGrowth::Round if settings.prr_on_ecn => !ece,
                EceGrowth::Round => !ece && (self.half.una > self.reduced_until || self.reduced_until == 0),
            };
        // RFC 7661 s.4.3: slow start goes on while half the window is in use.
        let in_use = || match config.rules.arithmetic.in_segments() {
            true => self.usage.lets_grow(self.slow_start(), self.half.window.bytes() / config.rules.mss),
            false => {
                self.usage.window_limited || (self.slow_start() && self.half.window.bytes() < 2 * flight)
            }
        };
        by_state && by_ecn && (!settings.validate_cwnd || in_use())
    }

    #[cold]
    fn may_grow_in_repair(&self, config: &Config) -> bool {
        match self.recovery {
            Recovery::Open | Recovery::AfterTimeout { .. } => true,
            // The acknowledgement that ends a reduction finds it ended (Linux tcp_fastretrans_alert, D).
            Recovery::Reducing(_) => {
                self.half.una > self.reduced_until && config.rules.arithmetic.grows_with_the_end()
            }
            Recovery::Fast(_) => false,
        }
    }

    pub(super) fn slow_start(&self) -> bool {
        self.half.window.cc().ssthresh().is_some_and(|ssthresh| (self.half.window.bytes() as f64) < ssthresh)
    }

    /// Whether the window before the last reduction has been acknowledged, and no loss is being repaired.
    fn may_reduce(&self) -> bool {
        self.half.una > self.reduced_until && self.recovery.is_open()
    }

    /// RFC 3168 s.6.1.2: at most one reduction a window, and none beside a loss's.
    #[inline(never)]
    pub(super) fn on_ece(&mut self, heard: Heard, config: &Config, now: Time) {
        if !self.may_reduce() || !self.half.window.cc().answers_marks(now) {
            return;
        }
        self.half.counts.ecn_reductions += 1;
        let before = self.half.window.bytes();
        self.congested(Congestion::Ecn, heard.flight, config, now);
        self.reduced_until = self.next;
        if config.settings.prr_on_ecn && !self.retreats() {
            self.begin_spread_reduction(before, heard, config);
        }
    }

    /// SYN+ACK or FIN; returns whether the rest of the packet is to be looked at.
    #[cold]
    fn on_control(&mut self, packet: &Packet, config: &Config, net: &mut Net) -> bool {
        if packet.flags.any(Flags::SYN) {
            if self.half.state == State::SynSent {
                self.half.state = State::Established;
                self.ecn.agreed = config.ecn && packet.flags.any(Flags::ECE);
                if self.ecn.agreed && config.settings.handshake_marks {
                    self.read_handshake_mark(config, net.now);
                }
                self.rtt.sample(net.now - packet.stamp, &config.settings);
                self.losses.on_round_trip(net.now - packet.stamp);
                if config.settings.lost_syns.is_some_and(|most| self.rtt.timeouts >= most) {
                    self.with_cc(config, net.now, |cc, cx| cc.on_lost_syn(cx));
                    self.usage.resume = None; // RFC 9959 s.3.2: a lost packet is congestion
                }
                self.rtt.progress();
                self.half.rto_at = Time::MAX;
                if self.half.limit() == 0 {
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

    /// A round of one byte, the SYN's number, and that one marked.
    fn read_handshake_mark(&mut self, config: &Config, now: Time) {
        let ack = Ack {
            acked: 1,
            delivered: 1,
            ece: true,
            marked: 1,
            round_ended: true,
            may_grow: false,
            after_timeout: false,
            rtt: None,
            srtt: self.rtt.srtt(),
            flight: 0,
            sent: 0,
        };
        self.with_cc(config, now, |cc, cx| cc.on_ack(&ack, cx));
    }

    /// Flags of an acknowledgement without data.
    fn pure_ack(&self, config: &Config) -> Flags {
        Flags::ACK.with_if(config.ect, self.ecn.agreed && config.ect_on_control)
    }
}
