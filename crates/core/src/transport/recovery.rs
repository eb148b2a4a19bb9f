//! Recovery from loss: fast retransmit and recovery by SACK (RFC 6675) or without it (RFC 6582),
//! limited transmit (RFC 3042), proportional rate reduction (RFC 6937), and after a timeout
//! (RFC 5681 s.3.1, RFC 6298 s.5).

use super::config::Config;
use super::scoreboard::{Next, Scoreboard};
use super::sender::Sender;
use super::settings::Pipe;
use crate::cc::Congestion;
use crate::net::Net;
use shallows_units::Time;

/// The transport's state of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing.
    Open,
    /// Spreading an ECN reduction over a round trip (Linux, state CWR).
    Reducing,
    /// Fast recovery.
    Recovery,
    /// Slow start after a timeout, until everything sent before it is acknowledged.
    AfterTimeout,
}

/// State of recovery.
#[derive(Debug, Clone, Default)]
pub struct Repair {
    /// The knowledge from SACK.
    pub board: Scoreboard,
    /// Duplicate acknowledgements in a row.
    pub dup_acks: u64,
    /// Recovery ends when this is acknowledged (RFC 6675 `RecoveryPoint`).
    pub(super) point: u64,
    /// No fast retransmit before this is acknowledged (RFC 6582 s.3.2 step 2, after recoveries and timeouts).
    guard: u64,
    /// Bytes by which recovery without SACK inflates the window (RFC 6582).
    inflation: u64,
    /// RFC 6582 s.3.2 step 3: when the timer expires that the first partial acknowledgement restarted.
    partial_rto_at: Option<Time>,
    /// RFC 6937 `prr_delivered`, `prr_out`, `RecoverFS`.
    prr_delivered: u64,
    pub(super) prr_out: u64,
    prr_flight: u64,
    /// The acknowledgement moved on and reported no loss.
    pub(super) clean: bool,
    /// Bytes in flight plus what may be sent now, under proportional rate reduction.
    prr_window: u64,
    /// RFC 6675 `pipe`, brought up at each acknowledgement and sending.
    pipe: u64,
}

impl Repair {
    /// Proportional rate reduction begins, from a window of `cwnd` and so much outstanding. Until an acknowledgement
    /// reports a delivery, `window` may be in flight.
    pub(super) fn begin_prr(&mut self, config: &Config, cwnd: u64, outstanding: u64, window: u64) {
        let from = config.rules.arithmetic.reduces_from(cwnd, outstanding);
        (self.prr_delivered, self.prr_out, self.prr_flight) = (0, 0, from);
        self.prr_window = window;
    }
}

impl Sender {
    /// The window that sending is held against.
    #[inline]
    pub(super) fn send_window(&self, config: &Config) -> u64 {
        let cwnd = self.window.bytes();
        if self.phase == Phase::Open && self.repair.dup_acks == 0 {
            return cwnd;
        }
        match self.phase {
            Phase::Reducing => self.repair.prr_window,
            Phase::Recovery if config.rack && config.settings.prr => self.repair.prr_window,
            Phase::Recovery => cwnd + self.repair.inflation,
            // RFC 3042: two segments beyond the window; with SACK the pipe has shrunk instead.
            Phase::Open if config.settings.limited_transmit && !config.settings.sack => {
                cwnd + self.repair.dup_acks.min(2) * config.rules.mss
            }
            Phase::Open | Phase::AfterTimeout => cwnd,
        }
    }

    /// Bytes in flight outside of the plain case.
    pub(super) fn repair_flight(&self, config: &Config) -> u64 {
        let outstanding = self.next - self.una;
        if let Some(rack) = &self.rack {
            return rack.flight(outstanding);
        }
        match self.phase {
            Phase::Recovery if config.settings.sack => self.repair.pipe,
            // RFC 3042 s.2 with SACK: what has left the network makes room for new segments.
            Phase::Open | Phase::Reducing if config.settings.limited_transmit => {
                outstanding - self.repair.board.bytes()
            }
            Phase::AfterTimeout => outstanding - self.repair.board.bytes_below(self.next),
            _ => outstanding,
        }
    }

    /// An acknowledgement of new data, outside of the plain case.
    #[cold]
    pub(super) fn recovery_ack(&mut self, acked: u64, delivered: u64, config: &Config, net: &mut Net) {
        let full = self.una >= self.repair.point;
        if self.phase != Phase::Recovery {
            self.repair.dup_acks = 0;
        }
        match self.phase {
            Phase::Open => {}
            Phase::Reducing if self.una > self.reduced_until => self.phase = Phase::Open,
            Phase::Reducing => self.reduce_in_proportion(delivered, self.repair_flight(config), config),
            Phase::AfterTimeout if full => self.phase = Phase::Open,
            Phase::AfterTimeout => {}
            Phase::Recovery if full => self.end_recovery(config),
            Phase::Recovery if config.settings.sack => self.update_pipe(delivered, config),
            Phase::Recovery => self.partial_ack(acked, config, net),
        }
        self.look_for_loss(config, net);
    }

    /// A duplicate acknowledgement; with SACK only one that tells something new counts (RFC 6675 s.2).
    #[cold]
    pub(super) fn on_duplicate_ack(&mut self, newly_sacked: u64, config: &Config, net: &mut Net) {
        let sack = config.settings.sack;
        if sack && newly_sacked == 0 {
            return;
        }
        self.repair.dup_acks += 1;
        self.repair.clean = false;
        match self.phase {
            Phase::Recovery if sack => self.update_pipe(newly_sacked, config),
            Phase::Recovery => self.repair.inflation += config.rules.mss, // RFC 6582 s.3.2 step 2 (RFC 5681 s.3.2 step 4)
            Phase::Reducing => self.reduce_in_proportion(newly_sacked, self.repair_flight(config), config),
            Phase::Open | Phase::AfterTimeout => {}
        }
        self.look_for_loss(config, net);
    }

    /// RFC 6675 s.5: enter recovery on enough duplicates, or when SACK says so.
    fn look_for_loss(&mut self, config: &Config, net: &mut Net) {
        let threshold = config.settings.dup_acks;
        let by_count = self.repair.dup_acks >= threshold;
        let by_sack = || self.repair.board.first_is_lost(self.una, threshold, config.rules.mss);
        let outstanding = self.high > self.una;
        if self.phase != Phase::Recovery
            && outstanding
            && self.una >= self.repair.guard
            && (by_count || by_sack())
        {
            self.enter_recovery(config, net);
        }
    }

    fn enter_recovery(&mut self, config: &Config, net: &mut Net) {
        let now = net.now;
        let mss = config.rules.mss;
        // RFC 5681 s.3.2 step 2: what limited transmit sent does not count.
        let flight = (self.high - self.una).min(self.window.bytes());
        self.counts.fast_recoveries += 1;
        // The lost segment was sent before a reduction; only one for ECN can be, by `guard`.
        let reduced = self.una < self.reduced_until;
        let why = if reduced { Congestion::LossAfterEcn } else { Congestion::Loss };
        let before = self.window.bytes();
        self.congested(why, flight, config, now);
        self.phase = Phase::Recovery;
        self.reduced_until = self.high;
        let repair = &mut self.repair;
        repair.point = self.high; // RFC 6675 s.5 step 4.1
        repair.board.high_rxt = self.una;
        repair.board.rescue = 0;
        repair.partial_rto_at = None;
        repair.begin_prr(config, before, self.high - self.una, 0); // beside the first segment nothing
        // RFC 5681 s.3.2 step 3: the segments that the duplicates report have left.
        repair.inflation = if config.settings.sack { 0 } else { config.settings.dup_acks * mss };
        // Step 4.3: the first segment goes at once, whatever the window.
        self.retransmit_first(config, net);
        if config.settings.sack {
            self.repair.pipe = self.high - self.una - self.repair.board.bytes();
            self.update_pipe(0, config);
        }
    }

    /// Sends the oldest segment again.
    fn retransmit_first(&mut self, config: &Config, net: &mut Net) {
        let (seq, gap_end) = self.repair.board.gap_from(self.una);
        let payload = self.written.saturating_sub(seq).min(config.rules.mss).min(gap_end - seq);
        let fin = self.closing && seq + payload == self.written;
        self.emit(seq, payload, fin, config, net);
        let beyond = seq + payload + u64::from(fin);
        self.repair.board.high_rxt = self.repair.board.high_rxt.max(beyond);
        self.repair.prr_out += payload;
        self.rto_at = self.rto_from(net.now, config);
    }

    pub(super) fn end_recovery(&mut self, config: &Config) {
        self.phase = Phase::Open;
        self.repair.dup_acks = 0;
        self.repair.board.high_rxt = 0;
        // RFC 6582 s.3.2 step 3, option 2: the window deflates to ssthresh, where the congestion
        // control left it.
        self.repair.inflation = 0;
        self.repair.guard = self.repair.point + u64::from(!config.settings.sack);
    }

    /// RFC 6582 s.3.2 step 3: the next hole goes at once; the window deflates by what was acknowledged.
    fn partial_ack(&mut self, acked: u64, config: &Config, net: &mut Net) {
        let mss = config.rules.mss;
        self.retransmit_first(config, net);
        let inflation = &mut self.repair.inflation;
        *inflation = inflation.saturating_sub(acked) + if acked >= mss { mss } else { 0 };
        // "Impatient" (s.4): only the first partial acknowledgement restarts the timer.
        self.rto_at = *self.repair.partial_rto_at.get_or_insert(self.rto_at);
    }

    fn update_pipe(&mut self, delivered: u64, config: &Config) {
        let (threshold, mss) = (config.settings.dup_acks, config.rules.mss);
        self.repair.board.high_rxt = self.repair.board.high_rxt.max(self.una);
        self.repair.pipe = match config.settings.pipe {
            Pipe::Rfc6675 => self.repair.board.pipe(self.una, self.high, threshold, mss),
            Pipe::Sack1 => self.repair.pipe.saturating_sub(delivered.min(mss)),
        };
        if config.settings.prr {
            self.reduce_in_proportion(delivered, self.repair.pipe, config);
        }
    }

    // ---- RFC 6937 ----

    /// Begins to spread a reduction for ECN; the congestion control has set the target already. `cwnd` and
    /// `flight` are those before the acknowledgement, which reports `delivered` bytes.
    pub(super) fn begin_spread_reduction(&mut self, cwnd: u64, flight: u64, delivered: u64, config: &Config) {
        self.phase = Phase::Reducing;
        self.repair.begin_prr(config, cwnd, flight.max(1), flight);
        if config.rules.arithmetic.in_segments() {
            // tcp_cong_control: this acknowledgement counts already. One that delivers nothing leaves the window.
            self.repair.prr_window = cwnd;
            self.reduce_in_proportion(delivered, self.repair_flight(config), config);
        }
    }

    /// RFC 6937 s.3: what may be sent on an acknowledgement of `delivered` bytes, with `pipe` in flight.
    pub(super) fn reduce_in_proportion(&mut self, delivered: u64, pipe: u64, config: &Config) {
        let target = self.window.bytes();
        let repair = &mut self.repair;
        repair.prr_delivered += delivered;
        if config.rules.arithmetic.in_segments() {
            return self.reduce_by_segments(delivered, pipe, config.rules.mss);
        }
        let send = if pipe > target {
            let due = u128::from(repair.prr_delivered) * u128::from(target);
            (due.div_ceil(u128::from(repair.prr_flight)) as u64).saturating_sub(repair.prr_out)
        } else {
            // Slow-start reduction bound.
            let limit = repair.prr_delivered.saturating_sub(repair.prr_out).max(delivered) + config.rules.mss;
            (target - pipe).min(limit)
        };
        repair.prr_window = pipe + send;
    }

    /// Linux `tcp_cwnd_reduction`: the same, counted in segments.
    fn reduce_by_segments(&mut self, delivered: u64, pipe: u64, mss: u64) {
        if delivered == 0 {
            return;
        }
        let segments = |bytes: u64| bytes / mss;
        let (target, pipe) = (segments(self.window.bytes()), segments(pipe));
        let repair = &mut self.repair;
        let (sent, arrived) = (segments(repair.prr_out), segments(repair.prr_delivered));
        let send = if pipe > target {
            (target * arrived).div_ceil(segments(repair.prr_flight).max(1)).saturating_sub(sent)
        } else {
            let limit = arrived.saturating_sub(sent).max(segments(delivered)) + u64::from(repair.clean);
            (target - pipe).min(limit)
        };
        // The first segment goes at once.
        repair.prr_window = (pipe + send.max(u64::from(sent == 0))) * mss;
    }

    /// Sends in recovery by SACK: RFC 6675 s.5 step C.
    pub(super) fn pump_recovery(&mut self, config: &Config, net: &mut Net) {
        let mss = config.rules.mss;
        let window = if config.settings.prr { self.repair.prr_window } else { self.window.bytes() };
        while self.repair.pipe + mss <= window || (self.repair.pipe == 0 && window > 0) {
            let limit = self.limit();
            let may_send_new = self.high < limit && self.high - self.una + mss <= config.receive_window;
            let board = &self.repair.board;
            let next = board.next(self.una, self.repair.point, config.settings.dup_acks, mss, may_send_new);
            let (seq, gap_end) = match next {
                None => break,
                Some(Next::New) => (self.high, u64::MAX),
                Some(Next::Again(first, beyond)) => (first, beyond),
            };
            let payload = self.written.saturating_sub(seq).min(mss).min(gap_end - seq);
            let fin = self.closing && seq + payload == self.written;
            let beyond = seq + payload + u64::from(fin);
            if beyond == seq || self.held_by_pace(net.now) {
                break;
            }
            self.emit(seq, payload, fin, config, net);
            let board = &mut self.repair.board;
            if matches!(next, Some(Next::Again(..))) {
                if seq >= self.repair.point.saturating_sub(mss) && board.high_rxt <= seq {
                    board.rescue = self.repair.point;
                }
                board.high_rxt = board.high_rxt.max(beyond);
            }
            self.next = self.next.max(beyond);
            self.high = self.high.max(self.next);
            self.repair.pipe += payload;
            self.repair.prr_out += payload;
        }
    }

    // ---- timeouts ----

    /// RFC 5681 s.3.1 and RFC 6298 s.5.4-5.6: from the oldest segment on, in slow start.
    pub(super) fn recover_by_timeout(&mut self, first: bool, config: &Config, net: &mut Net) {
        let now = net.now;
        // RFC 5681 s.3.1: a segment lost again does not lower ssthresh again.
        if first {
            let flight = (self.high - self.una).min(self.window.bytes());
            self.congested(Congestion::Timeout, flight, config, now);
        }
        self.phase = Phase::AfterTimeout;
        if !config.rack {
            self.next = self.una;
        }
        self.reduced_until = self.high;
        let repair = &mut self.repair;
        repair.point = self.high;
        repair.guard = self.high + u64::from(!config.settings.sack);
        repair.inflation = 0;
        repair.board.high_rxt = 0;
        if !first && !config.rack {
            repair.board.clear(); // RFC 2018 s.8: the receiver may have reneged
        }
        self.rto_at = self.rto_from(now, config);
        self.resend_after_timeout(config, net);
        self.pump(config, net);
    }
}
