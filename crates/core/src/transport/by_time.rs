//! The sending end where losses are found by time: recovery by RACK, and probes for a lost tail (RFC 8985).
//!
//! In the order in which Linux does it (7.2: `tcp_ack`, `tcp_fastretrans_alert`, `tcp_cong_control`,
//! `tcp_xmit_recovery`): numbers, the end of a recovery, losses, the congestion control, a new recovery, what may be sent.
//! Left out: undoing what was spurious, and so F-RTO (RFC 5682).

use super::config::Config;
use super::rack::{Found, Probe};
use super::recovery::Phase;
use super::sender::Sender;
use super::settings::RttBy;
use super::timers::expiry;
use crate::cc::Congestion;
use crate::net::Net;
use crate::packet::Packet;
use shallows_units::{Span, Time};

/// What a timer that comes before the retransmission timer is for (RFC 8985 s.5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Early {
    /// A loss probe is due (PTO).
    Probe,
    /// All segments not delivered until now are lost.
    Reordering,
}

impl Sender {
    /// SACK blocks of an acknowledgement; returns the bytes newly sacked.
    pub(super) fn hear_sack(
        &mut self,
        blocks: &[(u64, u64)],
        packet: &Packet,
        config: &Config,
        now: Time,
    ) -> u64 {
        let low = self.una.max(packet.seq);
        let board = &mut self.repair.board;
        let Some(rack) = &mut self.rack else { return board.update(blocks, low, self.high) };
        // RFC 8985 s.6.2 step 3: in the order of numbers, or as a delayed acknowledgement reports them below the first
        // hole would look overtaken.
        if packet.seq > self.una {
            if config.settings.rtt_by == RttBy::Timestamps {
                rack.on_round_trip(now - packet.stamp);
            }
            rack.on_ack(packet.seq, now, packet.stamp);
        }
        let mut new = 0;
        for (first, beyond) in blocks {
            let (first, beyond) = ((*first).max(low), (*beyond).min(self.high));
            board.each_gap(first, beyond, |first, beyond| rack.on_sack(first, beyond, now));
            new += board.update(&[(first, beyond)], low, self.high);
        }
        new
    }

    /// Finds losses from an acknowledgement, before the congestion control sees it. First ends any recovery that it completes.
    #[inline(never)]
    pub(super) fn losses_by_time(
        &mut self,
        advanced: bool,
        stamp: Time,
        config: &Config,
        now: Time,
    ) -> Found {
        let Some(rack) = &mut self.rack else { return Found::default() };
        if advanced {
            rack.on_ack(self.una, now, stamp);
        }
        if self.phase == Phase::Open && rack.sacked() == 0 && !rack.has_lost() {
            return Found::default(); // all that was sent before what was delivered is delivered
        }
        self.end_by_number(config);
        self.find_losses(false, config, now)
    }

    /// tcp_fastretrans_alert, D: what ends when all that was sent before it is acknowledged.
    fn end_by_number(&mut self, config: &Config) {
        let full = self.una >= self.repair.point;
        match self.phase {
            Phase::Reducing if self.una > self.reduced_until => self.phase = Phase::Open,
            Phase::AfterTimeout if full => self.phase = Phase::Open,
            Phase::Recovery if full => self.end_recovery(config),
            _ => {}
        }
    }

    fn find_losses(&mut self, expired: bool, config: &Config, now: Time) -> Found {
        let repairing = matches!(self.phase, Phase::Recovery | Phase::AfterTimeout);
        let Some(rack) = &mut self.rack else { return Found::default() };
        let at_once = repairing || rack.sacked_segments() >= config.settings.dup_acks;
        rack.look_for_losses(rack.window(at_once, self.rtt.srtt()), expired, now)
    }

    /// Whether what was found calls for a recovery.
    pub(super) fn must_recover(&self, found: Found) -> bool {
        match self.phase {
            Phase::Recovery => false,
            // tcp_fastretrans_alert, CA_Loss: only when a retransmission was lost.
            Phase::AfterTimeout => found.again > 0,
            Phase::Open | Phase::Reducing => self.rack.as_ref().is_some_and(|rack| rack.has_lost()),
        }
    }

    /// Acts on an acknowledgement that reports `delivered` bytes, after the congestion control has seen it.
    #[inline(never)]
    pub(super) fn act_by_time(
        &mut self,
        advanced: bool,
        delivered: u64,
        found: Found,
        config: &Config,
        now: Time,
    ) {
        self.hear_of_probe(advanced, delivered, config, now);
        if self.must_recover(found) {
            self.recover_by_time(config, now);
        }
        self.reduce_by_time(delivered, config);
        if let Some(wait) = found.wait {
            self.wait_for_order(wait, config, now);
        } else if advanced {
            (self.early_at, self.wants_probe) = (Time::MAX, config.probes);
        }
    }

    fn reduce_by_time(&mut self, delivered: u64, config: &Config) {
        if config.settings.prr && matches!(self.phase, Phase::Recovery | Phase::Reducing) {
            self.reduce_in_proportion(delivered, self.repair_flight(config), config);
        }
    }

    /// tcp_enter_recovery.
    fn recover_by_time(&mut self, config: &Config, now: Time) {
        let flight = (self.high - self.una).min(self.window.bytes());
        let before = self.window.bytes();
        // One reduction a window, whatever reported it first; a lost retransmission is another.
        let reduced = match self.phase {
            Phase::Reducing => true,
            Phase::AfterTimeout => false,
            Phase::Open | Phase::Recovery => self.una < self.reduced_until,
        };
        let why = if reduced { Congestion::LossAfterEcn } else { Congestion::Loss };
        self.counts.fast_recoveries += 1;
        self.congested(why, flight, config, now);
        if self.phase != Phase::Reducing {
            self.repair.begin_prr(config, before, self.high - self.una, before);
            self.reduced_until = self.high;
        }
        self.repair.point = self.reduced_until;
        self.phase = Phase::Recovery;
        self.forget_probe();
    }

    fn forget_probe(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.probe = None;
        }
    }

    /// Sends again what is lost, as the window allows; returns whether there is room for new data too.
    pub(super) fn resend_lost(&mut self, config: &Config, net: &mut Net) -> bool {
        let window = self.send_window(config);
        while let Some((seq, end)) = self.rack.as_mut().and_then(|rack| rack.next_lost()) {
            let flight = self.repair_flight(config);
            // The first goes at once: RFC 6675 s.5 step 4.3, tcp_cwnd_reduction.
            let first = self.phase == Phase::Recovery && self.repair.prr_out == 0;
            if !first && flight > 0 && flight + (end - seq) > window {
                self.window_limited = true;
                return false;
            }
            if self.held_by_pace(net.now) {
                return false;
            }
            self.resend(seq, end, config, net);
            self.repair.prr_out += end - seq;
        }
        true
    }

    /// Sends the segment `[seq, end)` again.
    fn resend(&mut self, seq: u64, end: u64, config: &Config, net: &mut Net) {
        let fin = end > self.written;
        let payload = end - seq - u64::from(fin);
        self.emit(seq, payload, fin, config, net);
        if let Some(rack) = &mut self.rack {
            rack.on_resend(seq, net.now);
        }
        if seq == self.una {
            self.rto_at = self.rto_from(net.now, config);
            if self.early != Early::Reordering {
                self.early_at = Time::MAX;
            }
        }
    }

    /// The retransmission timer expired: RFC 8985 s.6.3. The oldest goes at once.
    pub(super) fn resend_after_timeout(&mut self, config: &Config, net: &mut Net) {
        self.early_at = Time::MAX;
        let Some(rack) = &mut self.rack else { return };
        rack.on_timeout(net.now);
        if let Some((seq, end)) = rack.next_lost() {
            self.resend(seq, end, config, net);
        }
    }

    // ---- the reordering timer ----

    fn wait_for_order(&mut self, wait: Span, config: &Config, now: Time) {
        let settings = &config.settings;
        self.early = Early::Reordering;
        self.early_at = expiry(now, wait + settings.timer_slack, settings.timer_grain);
        self.rto_at = self.rto_at.max(self.early_at); // RFC 8985 s.8: one timer at a time
    }

    /// A timer that comes before the retransmission timer.
    pub(super) fn on_early_timer(&mut self, config: &Config, net: &mut Net) {
        self.early_at = Time::MAX;
        match self.early {
            Early::Probe => self.send_probe(config, net),
            Early::Reordering => self.order_is_overdue(config, net),
        }
        self.pump(config, net);
    }

    /// tcp_rack_reo_timeout.
    fn order_is_overdue(&mut self, config: &Config, net: &mut Net) {
        let found = self.find_losses(true, config, net.now);
        if found.bytes > 0 && self.phase != Phase::Recovery {
            self.recover_by_time(config, net.now);
            self.repair.clean = false;
            self.reduce_by_time(config.rules.mss, config);
        }
        self.time_oldest(config, net.now);
        if let Some(wait) = found.wait {
            self.wait_for_order(wait, config, net.now);
        }
    }

    /// tcp_rearm_rto: the time since the oldest was sent counts.
    fn time_oldest(&mut self, config: &Config, now: Time) {
        let soonest = expiry(now, Span::us(1), config.settings.timer_grain);
        let oldest = self.rack.as_ref().and_then(|rack| rack.oldest_sent());
        self.rto_at = oldest.map_or(Time::MAX, |sent| self.rto_from(sent, config).max(soonest));
    }

    // ---- loss probes ----

    /// New data was sent or acknowledged. RFC 8985 s.7.2: a probe two round trips from now, unless losses are reported
    /// otherwise.
    #[inline(never)]
    pub(super) fn schedule_probe(&mut self, config: &Config, now: Time) {
        self.wants_probe = false;
        let Some(rack) = &self.rack else { return };
        let repairing = !matches!(self.phase, Phase::Open | Phase::Reducing);
        if repairing || rack.sacked() > 0 || self.high == self.una {
            return;
        }
        let settings = &config.settings;
        let srtt = self.rtt.srtt();
        let wait = if srtt == Span::ZERO {
            Span::s(1)
        } else if rack.is_single() {
            srtt + srtt + config.single_ack_delay
        } else {
            srtt + srtt + settings.timer_slack
        };
        self.early = Early::Probe;
        self.early_at = expiry(now, wait, settings.timer_grain).min(self.rto_at);
    }

    /// RFC 8985 s.7.3.
    fn send_probe(&mut self, config: &Config, net: &mut Net) {
        let Some(rack) = &mut self.rack else { return };
        if rack.probe.is_some() || !std::mem::take(&mut rack.measured) {
            return self.time_oldest(config, net.now);
        }
        let last = rack.last();
        let payload = self.written.saturating_sub(self.high).min(config.rules.mss);
        let fits = self.high + payload - self.una <= config.receive_window;
        let again = !(self.high < self.limit() && fits);
        if again {
            let Some((seq, end)) = last else { return };
            self.resend(seq, end, config, net);
        } else {
            self.send_new(self.high, payload, config, net); // whatever the window
        }
        if let Some(rack) = &mut self.rack {
            rack.probe = Some(Probe { end: self.high, again });
        }
        self.rto_at = self.rto_from(net.now, config);
    }

    /// RFC 8985 s.7.4: an acknowledgement beyond a probe that was a retransmission tells that one of the two was lost.
    fn hear_of_probe(&mut self, advanced: bool, delivered: u64, config: &Config, now: Time) {
        let Some(rack) = &mut self.rack else { return };
        let Some(probe) = rack.probe.filter(|probe| self.una >= probe.end) else { return };
        if !probe.again || (!advanced && delivered == 0) {
            rack.probe = None; // of new data; or both came (case 2)
        } else if self.una > probe.end {
            rack.probe = None;
            let why = config.rules.arithmetic.repaired_by_probe();
            let flight = (self.high - self.una).min(self.window.bytes());
            self.congested(why, flight, config, now);
            self.reduced_until = self.high;
        }
    }
}
