//! The sending end where losses are found by arrivals beyond them: fast retransmit and recovery by SACK (RFC 6675)
//! or without it (RFC 6582).

use super::acks::Heard;
use super::config::Config;
use super::detection::{Counting, LossDetection};
use super::prr::Prr;
use super::recovery::{FastRecovery, PlainRepair, Recovery, Repair, SackRepair};
use super::scoreboard::{Next, Resent};
use super::sender::Sender;
use super::settings::Pipe;
use crate::cc::Congestion;
use crate::net::Net;

impl Sender {
    fn counting(&mut self) -> Option<&mut Counting> {
        match &mut self.losses {
            LossDetection::Count(counting) => Some(counting),
            LossDetection::Time(_) => None,
        }
    }

    /// An acknowledgement of new data, outside of the plain case.
    #[cold]
    pub(super) fn on_ack_in_repair(&mut self, heard: Heard, config: &Config, net: &mut Net) {
        if !self.recovery.is_fast()
            && let Some(counting) = self.counting()
        {
            counting.dup_acks = 0;
        }
        match &self.recovery {
            Recovery::Open => {}
            Recovery::Reducing(_) if self.half.una > self.reduced_until => self.recovery = Recovery::Open,
            Recovery::Reducing(_) => self.reduce_in_proportion(heard, config),
            Recovery::AfterTimeout { point } if self.half.una >= *point => self.recovery = Recovery::Open,
            Recovery::AfterTimeout { .. } => {}
            Recovery::Fast(FastRecovery { point, .. }) if self.half.una >= *point => {
                let point = *point;
                self.end_by_count(point, config);
            }
            Recovery::Fast(FastRecovery { repair: Repair::Plain(_), .. }) => {
                self.partial_ack(heard, config, net)
            }
            Recovery::Fast(_) => self.update_pipe(heard, config),
        }
        self.look_for_loss(heard, config, net);
    }

    /// A duplicate acknowledgement; with SACK only one that tells something new counts (RFC 6675 s.2).
    #[cold]
    pub(super) fn on_duplicate_ack(&mut self, heard: Heard, config: &Config, net: &mut Net) {
        if config.settings.sack && heard.delivered == 0 {
            return;
        }
        if let Some(counting) = self.counting() {
            counting.dup_acks += 1;
        }
        match &mut self.recovery {
            Recovery::Open | Recovery::AfterTimeout { .. } => {}
            Recovery::Reducing(_) => self.reduce_in_proportion(heard, config),
            Recovery::Fast(fast) => match &mut fast.repair {
                // RFC 6582 s.3.2 step 2 (RFC 5681 s.3.2 step 4).
                Repair::Plain(plain) => plain.inflation += config.rules.mss,
                Repair::Sack(_) | Repair::Time(_) => self.update_pipe(heard, config),
            },
        }
        self.look_for_loss(heard, config, net);
    }

    /// RFC 6675 s.5: enter recovery on enough duplicates, or when SACK says so.
    fn look_for_loss(&mut self, heard: Heard, config: &Config, net: &mut Net) {
        if self.recovery.is_fast() || self.high == self.half.una {
            return;
        }
        let LossDetection::Count(counting) = &self.losses else { return };
        let threshold = config.settings.dup_acks;
        let by_count = counting.dup_acks >= threshold;
        let by_sack = || self.board.first_is_lost(self.half.una, threshold, config.rules.mss);
        if self.half.una >= counting.guard && (by_count || by_sack()) {
            self.recover_by_count(heard, config, net);
        }
    }

    fn recover_by_count(&mut self, heard: Heard, config: &Config, net: &mut Net) {
        // RFC 5681 s.3.2 step 2: segments of limited transmit do not count.
        let outstanding = self.high - self.half.una;
        let before = self.half.window.bytes();
        self.half.counts.fast_recoveries += 1;
        // The lost segment was sent before a reduction; only one for ECN can be, by `guard`.
        let reduced = self.half.una < self.reduced_until;
        let why = if reduced { Congestion::LossAfterEcn } else { Congestion::Loss };
        self.congested(why, outstanding.min(before), config, net.now);
        self.reduced_until = self.high;
        let by_sack = config.settings.sack;
        let repair = if by_sack {
            let prr = Prr::new(&config.rules, before, outstanding, 0);
            let resent = Resent::first(self.half.una);
            Repair::Sack(SackRepair { prr, pipe: outstanding - self.board.bytes(), resent })
        } else {
            // RFC 5681 s.3.2 step 3: the segments that the duplicates report have left.
            let inflation = config.settings.dup_acks * config.rules.mss;
            Repair::Plain(PlainRepair { inflation, rto_at: None })
        };
        self.recovery = Recovery::Fast(FastRecovery { point: self.high, repair }); // RFC 6675 s.5 step 4.1
        if by_sack {
            // RFC 6937 s.3.1: the acknowledgement that begins a recovery counts, and pays for the segment that goes at once.
            self.measure_pipe(0, config);
            self.pay_by_proportion(Heard { clean: false, ..heard }, config);
        }
        // Step 4.3: the first segment goes at once, whatever the window.
        self.retransmit_first(config, net);
        if by_sack {
            if let Some(sack) = self.recovery.sack() {
                sack.resent = Resent::first(sack.resent.high_rxt);
            }
            self.measure_pipe(0, config);
        }
    }

    /// Sends the oldest segment again.
    fn retransmit_first(&mut self, config: &Config, net: &mut Net) {
        let (seq, gap_end) = self.board.gap_from(self.half.una);
        let payload = self.half.written.saturating_sub(seq).min(config.rules.mss).min(gap_end - seq);
        let fin = self.half.closing && seq + payload == self.half.written;
        self.emit(seq, payload, fin, config, net);
        if let Some(sack) = self.recovery.sack() {
            sack.resent.reach(seq + payload + u64::from(fin));
            sack.prr.on_send(payload);
        }
        self.half.rto_at = self.rto_from(net.now, config);
    }

    fn end_by_count(&mut self, point: u64, config: &Config) {
        // RFC 6582 s.3.2 step 3, option 2: the window deflates to ssthresh, where the congestion control left it.
        self.recovery = Recovery::Open;
        if let Some(counting) = self.counting() {
            counting.dup_acks = 0;
            counting.guard = point + u64::from(!config.settings.sack);
        }
    }

    /// RFC 6582 s.3.2 step 3: the next hole goes at once; the window deflates by the data acknowledged.
    fn partial_ack(&mut self, heard: Heard, config: &Config, net: &mut Net) {
        self.retransmit_first(config, net);
        let mss = config.rules.mss;
        let rto_at = self.half.rto_at;
        if let Recovery::Fast(FastRecovery { repair: Repair::Plain(plain), .. }) = &mut self.recovery {
            let more = if heard.acked >= mss { mss } else { 0 };
            plain.inflation = plain.inflation.saturating_sub(heard.acked) + more;
            // "Impatient" (s.4): only the first partial acknowledgement restarts the timer.
            self.half.rto_at = *plain.rto_at.get_or_insert(rto_at);
        }
    }

    /// An acknowledgement came in a recovery by SACK.
    fn update_pipe(&mut self, heard: Heard, config: &Config) {
        self.measure_pipe(heard.delivered, config);
        self.pay_by_proportion(heard, config);
    }

    /// RFC 6675 s.4: `SetPipe()`, after an acknowledgement that delivered so many bytes.
    fn measure_pipe(&mut self, delivered: u64, config: &Config) {
        let (threshold, mss) = (config.settings.dup_acks, config.rules.mss);
        let Some(sack) = self.recovery.sack() else { return };
        sack.resent.reach(self.half.una);
        sack.pipe = match config.settings.pipe {
            Pipe::Rfc6675 => self.board.pipe(self.half.una, self.high, sack.resent.high_rxt, threshold, mss),
            Pipe::Sack1 => sack.pipe.saturating_sub(delivered.min(mss)),
        };
    }

    fn pay_by_proportion(&mut self, heard: Heard, config: &Config) {
        if config.settings.prr {
            self.reduce_in_proportion(heard, config);
        }
    }

    /// Sends in recovery by SACK: RFC 6675 s.5 step C.
    pub(super) fn pump_by_sack(&mut self, config: &Config, net: &mut Net) {
        let (threshold, mss) = (config.settings.dup_acks, config.rules.mss);
        let (window, limit) = (self.send_window(config), self.half.limit());
        while let Recovery::Fast(FastRecovery { point, repair: Repair::Sack(sack) }) = &self.recovery {
            let (point, pipe) = (*point, sack.pipe);
            if pipe + mss > window && (pipe > 0 || window == 0) {
                break;
            }
            let may_send_new = self.high < limit && self.high - self.half.una + mss <= config.receive_window;
            let next = self.board.next(self.half.una, point, &sack.resent, threshold, mss, may_send_new);
            let Some(next) = next else { break };
            let (seq, gap_end) = match next {
                Next::New => (self.high, u64::MAX),
                Next::Again(first, beyond) | Next::Rescue(first, beyond) => (first, beyond),
            };
            let payload = self.half.written.saturating_sub(seq).min(mss).min(gap_end - seq);
            let fin = self.half.closing && seq + payload == self.half.written;
            let beyond = seq + payload + u64::from(fin);
            if beyond == seq || self.held_by_pace(net.now) {
                break;
            }
            self.emit(seq, payload, fin, config, net);
            self.next = self.next.max(beyond);
            self.high = self.high.max(self.next);
            let Some(sack) = self.recovery.sack() else { break };
            sack.resent.on_send(next, beyond, point);
            sack.pipe += payload;
            sack.prr.on_send(payload);
        }
    }
}
