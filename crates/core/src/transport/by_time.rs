//! The sending end where losses are found by time: recovery by RACK, and probes for a lost tail (RFC 8985).
//!
//! In the order in which Linux does it (7.2: `tcp_ack`, `tcp_fastretrans_alert`, `tcp_cong_control`,
//! `tcp_xmit_recovery`): numbers, the end of a recovery, losses, the congestion control, a new recovery, the next packets.
//! Left out: undoing spurious reductions, and so F-RTO (RFC 5682).

use super::acks::Heard;
use super::config::Config;
use super::prr::Prr;
use super::rack::{Found, Probe};
use super::recovery::{FastRecovery, Recovery, Repair};
use super::sender::Sender;
use super::timers::{Purpose, expiry};
use crate::cc::Congestion;
use crate::net::Net;
use shallows_units::{Span, Time};

impl Sender {
    /// Finds losses from an acknowledgement, before the congestion control sees it. First ends any recovery that it completes.
    #[inline(never)]
    pub(super) fn losses_by_time(
        &mut self,
        advanced: bool,
        stamp: Time,
        config: &Config,
        now: Time,
    ) -> Found {
        let Some(rack) = self.losses.rack() else { return Found::default() };
        if advanced {
            rack.on_ack(self.half.una, now, stamp);
        }
        if self.recovery.is_open() && rack.sacked() == 0 && !rack.has_lost() {
            return Found::default(); // all data sent before the delivered ones is delivered
        }
        self.end_by_number();
        self.find_losses(false, config, now)
    }

    /// tcp_fastretrans_alert, D: states that end when all data sent before them is acknowledged.
    fn end_by_number(&mut self) {
        let over = match &self.recovery {
            Recovery::Open => false,
            Recovery::Reducing(_) => self.half.una > self.reduced_until,
            Recovery::AfterTimeout { point } | Recovery::Fast(FastRecovery { point, .. }) => {
                self.half.una >= *point
            }
        };
        if over {
            self.recovery = Recovery::Open;
        }
    }

    fn find_losses(&mut self, expired: bool, config: &Config, now: Time) -> Found {
        let repairing = self.recovery.is_fast() || self.recovery.is_after_timeout();
        let srtt = self.rtt.srtt();
        let Some(rack) = self.losses.rack() else { return Found::default() };
        let at_once = repairing || rack.sacked_segments() >= config.settings.dup_acks;
        rack.look_for_losses(rack.window(at_once, srtt), expired, now)
    }

    /// Whether the losses found call for a recovery.
    pub(super) fn must_recover(&mut self, found: Found) -> bool {
        match self.recovery {
            Recovery::Fast(_) => false,
            // tcp_fastretrans_alert, CA_Loss: only when a retransmission was lost.
            Recovery::AfterTimeout { .. } => found.again.is_some(),
            Recovery::Open | Recovery::Reducing(_) => self.losses.rack().is_some_and(|rack| rack.has_lost()),
        }
    }

    /// An acknowledgement that does not move on.
    pub(super) fn duplicate_by_time(&mut self, heard: Heard, config: &Config, now: Time) {
        let found = self.losses_by_time(false, heard.stamp, config, now);
        self.act_by_time(false, heard, found, config, now);
    }

    /// Acts on an acknowledgement, after the congestion control has seen it.
    #[inline(never)]
    pub(super) fn act_by_time(
        &mut self,
        advanced: bool,
        heard: Heard,
        found: Found,
        config: &Config,
        now: Time,
    ) {
        self.on_probe_answered(advanced, heard.delivered, config, now);
        if self.must_recover(found) {
            self.recover_by_time(config, now);
        } else {
            self.reduce_again(found, config, now);
        }
        self.reduce_by_time(heard, config);
        if let Some(wait) = found.wait {
            self.wait_for_order(wait, config, now);
        } else if advanced {
            (self.early.at, self.early.wants_probe) = (Time::MAX, config.probes);
        }
    }

    fn reduce_by_time(&mut self, heard: Heard, config: &Config) {
        if config.settings.prr {
            self.reduce_in_proportion(heard, config);
        }
    }

    /// RFC 8985 s.9.3: without proportional rate reduction a lost retransmission is another indication of congestion. One
    /// reduction answers all that was sent before it, as RFC 5681 s.4.3 reduces once a window.
    fn reduce_again(&mut self, found: Found, config: &Config, now: Time) {
        let Some(rack) = self.losses.rack() else { return };
        let anew = found.again.is_some_and(|sent| sent >= rack.reduced_at);
        if config.settings.prr || !anew || !self.recovery.is_fast() {
            return;
        }
        let flight = (self.high - self.half.una).min(self.half.window.bytes());
        self.lose_by_time(Congestion::Loss, flight, config, now);
        self.reduced_until = self.high;
    }

    /// A loss reduces the window.
    fn lose_by_time(&mut self, why: Congestion, flight: u64, config: &Config, now: Time) {
        self.congested(why, flight, config, now);
        if let Some(rack) = self.losses.rack() {
            rack.reduced_at = now;
        }
    }

    /// tcp_enter_recovery.
    fn recover_by_time(&mut self, config: &Config, now: Time) {
        let outstanding = self.high - self.half.una;
        let before = self.half.window.bytes();
        // One reduction a window, whatever reported it first; a lost retransmission is another.
        let reduced = match self.recovery {
            Recovery::Reducing(_) => true,
            Recovery::AfterTimeout { .. } => false,
            Recovery::Open | Recovery::Fast(_) => self.half.una < self.reduced_until,
        };
        let why = if reduced { Congestion::LossAfterEcn } else { Congestion::Loss };
        self.half.counts.fast_recoveries += 1;
        self.lose_by_time(why, outstanding.min(before), config, now);
        let prr = match std::mem::replace(&mut self.recovery, Recovery::Open) {
            Recovery::Reducing(prr) => prr, // goes on
            _ => {
                self.reduced_until = self.high;
                Prr::new(&config.rules, before, outstanding, before)
            }
        };
        self.recovery = Recovery::Fast(FastRecovery { point: self.reduced_until, repair: Repair::Time(prr) });
        self.forget_probe();
    }

    fn forget_probe(&mut self) {
        if let Some(rack) = self.losses.rack() {
            rack.probe = None;
        }
    }

    /// Sends lost segments again, as the window allows; returns whether there is room for new data too.
    pub(super) fn resend_lost(&mut self, config: &Config, net: &mut Net) -> bool {
        let window = self.send_window(config);
        while let Some((seq, end)) = self.losses.rack().and_then(|rack| rack.next_lost()) {
            let flight = self.repair_flight(config);
            // The first goes at once: RFC 6675 s.5 step 4.3, tcp_cwnd_reduction.
            let first = self.recovery.prr().is_some_and(|prr| prr.is_fresh());
            if !first && flight > 0 && flight + (end - seq) > window {
                self.usage.window_limited = true;
                return false;
            }
            if self.held_by_pace(net.now) {
                return false;
            }
            self.resend(seq, end, config, net);
            if let Some(prr) = self.recovery.prr() {
                prr.on_send(end - seq);
            }
        }
        true
    }

    /// Sends the segment `[seq, end)` again.
    fn resend(&mut self, seq: u64, end: u64, config: &Config, net: &mut Net) {
        let fin = end > self.half.written;
        let payload = end - seq - u64::from(fin);
        self.emit(seq, payload, fin, config, net);
        if let Some(rack) = self.losses.rack() {
            rack.on_resend(seq, net.now);
        }
        if seq == self.half.una {
            self.half.rto_at = self.rto_from(net.now, config);
            if self.early.purpose != Purpose::Reordering {
                self.early.at = Time::MAX;
            }
        }
    }

    /// The retransmission timer expired: RFC 8985 s.6.3. The oldest goes at once.
    pub(super) fn resend_after_timeout(&mut self, config: &Config, net: &mut Net) {
        self.early.at = Time::MAX;
        let Some(rack) = self.losses.rack() else { return };
        rack.on_timeout(net.now);
        if config.samples {
            self.note_timeout(config, net.now);
        }
        if let Some((seq, end)) = self.losses.rack().and_then(|rack| rack.next_lost()) {
            self.resend(seq, end, config, net);
        }
    }

    // ---- the reordering timer ----

    fn wait_for_order(&mut self, wait: Span, config: &Config, now: Time) {
        let settings = &config.settings;
        self.early.purpose = Purpose::Reordering;
        self.early.at = expiry(now, wait + settings.timer_slack, settings.timer_grain);
        self.half.rto_at = self.half.rto_at.max(self.early.at); // RFC 8985 s.8: one timer at a time
    }

    /// A timer that comes before the retransmission timer.
    pub(super) fn on_early_timer(&mut self, config: &Config, net: &mut Net) {
        self.early.at = Time::MAX;
        match self.early.purpose {
            Purpose::Probe => self.send_probe(config, net),
            Purpose::Reordering => self.order_is_overdue(config, net),
        }
        self.pump(config, net);
    }

    /// tcp_rack_reo_timeout.
    fn order_is_overdue(&mut self, config: &Config, net: &mut Net) {
        let found = self.find_losses(true, config, net.now);
        if found.bytes > 0 && !self.recovery.is_fast() {
            self.recover_by_time(config, net.now);
            self.reduce_by_time(Heard { delivered: config.rules.mss, ..Heard::default() }, config);
        } else {
            self.reduce_again(found, config, net.now);
        }
        if config.samples {
            self.note_losses(config, net.now);
        }
        self.time_oldest(config, net.now);
        if let Some(wait) = found.wait {
            self.wait_for_order(wait, config, net.now);
        }
    }

    /// tcp_rearm_rto: the time since the oldest was sent counts.
    fn time_oldest(&mut self, config: &Config, now: Time) {
        let soonest = expiry(now, Span::us(1), config.settings.timer_grain);
        let oldest = self.losses.rack().and_then(|rack| rack.oldest_sent());
        self.half.rto_at = oldest.map_or(Time::MAX, |sent| self.rto_from(sent, config).max(soonest));
    }

    // ---- loss probes ----

    /// New data was sent or acknowledged. RFC 8985 s.7.2: a probe two round trips from now, unless losses are reported
    /// otherwise.
    #[inline(never)]
    pub(super) fn schedule_probe(&mut self, config: &Config, now: Time) {
        self.early.wants_probe = false;
        let repairing = self.recovery.is_fast() || self.recovery.is_after_timeout();
        let Some(rack) = self.losses.rack() else { return };
        if repairing || rack.sacked() > 0 || self.high == self.half.una {
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
        self.early.purpose = Purpose::Probe;
        self.early.at = expiry(now, wait, settings.timer_grain).min(self.half.rto_at);
    }

    /// RFC 8985 s.7.3.
    fn send_probe(&mut self, config: &Config, net: &mut Net) {
        let Some(rack) = self.losses.rack() else { return };
        if rack.probe.is_some() || !std::mem::take(&mut rack.measured) {
            return self.time_oldest(config, net.now);
        }
        let last = rack.last();
        let payload = self.half.written.saturating_sub(self.high).min(config.rules.mss);
        let fits = self.high + payload - self.half.una <= config.receive_window;
        let again = !(self.high < self.half.limit() && fits);
        if again {
            let Some((seq, end)) = last else { return };
            self.resend(seq, end, config, net);
        } else {
            self.send_new(self.high, payload, config, net); // whatever the window
        }
        if let Some(rack) = self.losses.rack() {
            rack.probe = Some(Probe { end: self.high, again });
        }
        self.half.rto_at = self.rto_from(net.now, config);
    }

    /// RFC 8985 s.7.4: an acknowledgement beyond a probe that was a retransmission tells that one of the two was lost.
    fn on_probe_answered(&mut self, advanced: bool, delivered: u64, config: &Config, now: Time) {
        let Some(rack) = self.losses.rack() else { return };
        let Some(probe) = rack.probe.filter(|probe| self.half.una >= probe.end) else { return };
        if !probe.again || (!advanced && delivered == 0) {
            rack.probe = None; // of new data; or both came (case 2)
        } else if self.half.una > probe.end {
            rack.probe = None;
            let why = config.rules.arithmetic.repaired_by_probe();
            let flight = (self.high - self.half.una).min(self.half.window.bytes());
            self.congested(why, flight, config, now);
            self.reduced_until = self.high;
        }
    }
}
