//! Where a sender stands in its recovery from congestion: its states, each with all that it needs, and a timeout.
//!
//! Sources: RFC 5681 s.3.1 and RFC 6298 s.5 (timeouts), RFC 3042 (limited transmit). Losses are found and repaired in
//! `by_count.rs` or in `by_time.rs`.

use super::acks::Heard;
use super::config::Config;
use super::detection::LossDetection;
use super::prr::Prr;
use super::scoreboard::Resent;
use super::sender::Sender;
use crate::cc::Congestion;
use crate::net::Net;
use shallows_units::Time;

/// The transport's state of congestion.
#[derive(Debug)]
pub enum Recovery {
    /// Nothing.
    Open,
    /// Spreading an ECN reduction over a round trip (Linux, state CWR).
    Reducing(Prr),
    /// Fast recovery.
    Fast(FastRecovery),
    /// Slow start after a timeout, until everything below `point` is acknowledged.
    AfterTimeout {
        /// One beyond the last byte sent when the timer expired.
        point: u64,
    },
}

/// A fast recovery under way.
#[derive(Debug)]
pub struct FastRecovery {
    /// It ends when this is acknowledged (RFC 6675 `RecoveryPoint`, RFC 6582 `recover`).
    pub(super) point: u64,
    /// How losses are repaired.
    pub(super) repair: Repair,
}

/// How a fast recovery repairs losses.
#[derive(Debug)]
pub(super) enum Repair {
    /// Hole by hole (RFC 6582).
    Plain(PlainRepair),
    /// By SACK (RFC 6675).
    Sack(SackRepair),
    /// All that was found lost by the times of sending (RFC 8985).
    Time(Prr),
}

/// Repair without SACK.
#[derive(Debug)]
pub(super) struct PlainRepair {
    /// Bytes by which the window is inflated (RFC 6582 s.3.2).
    pub inflation: u64,
    /// RFC 6582 s.3.2 step 3: when the timer expires that the first partial acknowledgement restarted.
    pub rto_at: Option<Time>,
}

/// Repair by SACK.
#[derive(Debug)]
pub(super) struct SackRepair {
    /// The reduction, where it is proportional.
    pub prr: Prr,
    /// RFC 6675 `pipe`, brought up at each acknowledgement and sending.
    pub pipe: u64,
    /// How far it has sent again.
    pub resent: Resent,
}

impl Recovery {
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Recovery::Open)
    }

    #[inline]
    pub(super) fn is_fast(&self) -> bool {
        matches!(self, Recovery::Fast(_))
    }

    #[inline]
    pub(super) fn is_after_timeout(&self) -> bool {
        matches!(self, Recovery::AfterTimeout { .. })
    }

    /// The proportional reduction under way.
    #[inline]
    pub(super) fn prr(&mut self) -> Option<&mut Prr> {
        match self {
            Recovery::Open | Recovery::AfterTimeout { .. } => None,
            Recovery::Reducing(prr) => Some(prr),
            Recovery::Fast(fast) => match &mut fast.repair {
                Repair::Plain(_) => None,
                Repair::Sack(sack) => Some(&mut sack.prr),
                Repair::Time(prr) => Some(prr),
            },
        }
    }

    /// The repair by SACK under way.
    pub(super) fn sack(&mut self) -> Option<&mut SackRepair> {
        match self {
            Recovery::Fast(FastRecovery { repair: Repair::Sack(sack), .. }) => Some(sack),
            _ => None,
        }
    }
}

impl Sender {
    /// The window that sending is held against.
    #[inline(always)]
    pub(super) fn send_window(&self, config: &Config) -> u64 {
        if self.recovery.is_open() && self.losses.dup_acks() == 0 {
            return self.usable_window(config);
        }
        self.repair_window(config)
    }

    /// The part of a window that lets segments out (`window_counts`).
    #[inline(always)]
    fn usable_window(&self, config: &Config) -> u64 {
        let cwnd = self.half.window.bytes();
        if config.whole_windows && cwnd > config.rules.mss { cwnd - cwnd % config.rules.mss } else { cwnd }
    }

    /// The window that sending is held against while losses are repaired or duplicates counted.
    fn repair_window(&self, config: &Config) -> u64 {
        let cwnd = self.usable_window(config);
        match &self.recovery {
            // RFC 3042: two segments beyond the window; with SACK the pipe has shrunk instead.
            Recovery::Open if config.settings.limited_transmit && !config.settings.sack => {
                cwnd + self.losses.dup_acks().min(2) * config.rules.mss
            }
            Recovery::Open | Recovery::AfterTimeout { .. } => cwnd,
            Recovery::Reducing(prr) => prr.window(),
            Recovery::Fast(fast) => match &fast.repair {
                Repair::Plain(plain) => cwnd + plain.inflation,
                // RFC 9959 s.4.5: proportional reductions do not drain a path after a jump.
                Repair::Sack(SackRepair { prr, .. }) | Repair::Time(prr)
                    if config.settings.prr && !self.retreats() =>
                {
                    prr.window()
                }
                Repair::Sack(_) | Repair::Time(_) => cwnd,
            },
        }
    }

    /// Bytes in flight outside of the plain case.
    pub(super) fn repair_flight(&self, config: &Config) -> u64 {
        let outstanding = self.next - self.half.una;
        if let LossDetection::Time(rack) = &self.losses {
            return rack.flight(outstanding);
        }
        match &self.recovery {
            Recovery::Fast(FastRecovery { repair: Repair::Sack(sack), .. }) => sack.pipe,
            // RFC 3042 s.2 with SACK: segments that have left the network make room for new ones.
            Recovery::Open | Recovery::Reducing(_) if config.settings.limited_transmit => {
                outstanding - self.board.bytes()
            }
            Recovery::AfterTimeout { .. } => outstanding - self.board.bytes_below(self.next),
            _ => outstanding,
        }
    }

    // ---- proportional reductions ----

    /// Begins to spread a reduction for ECN; the congestion control has set the target already. `cwnd` is the window
    /// before the acknowledgement.
    pub(super) fn begin_spread_reduction(&mut self, cwnd: u64, heard: Heard, config: &Config) {
        let counts_at_once = config.rules.arithmetic.in_segments();
        let window = if counts_at_once { cwnd } else { heard.flight };
        self.recovery = Recovery::Reducing(Prr::new(&config.rules, cwnd, heard.flight.max(1), window));
        if counts_at_once {
            self.reduce_in_proportion(heard, config); // tcp_cong_control
        }
    }

    /// The proportional reduction under way, if there is one, takes an acknowledgement into account.
    pub(super) fn reduce_in_proportion(&mut self, heard: Heard, config: &Config) {
        let (pipe, target) = (self.repair_flight(config), self.half.window.bytes());
        if let Some(prr) = self.recovery.prr() {
            prr.on_ack(heard, pipe, target, &config.rules);
        }
    }

    // ---- repairs ----

    /// Sends the segments again that recovery wants; returns whether new data may follow.
    #[cold]
    pub(super) fn pump_repair(&mut self, config: &Config, net: &mut Net) -> bool {
        if matches!(self.recovery, Recovery::Open | Recovery::Reducing(_)) {
            return true;
        }
        if self.losses.is_by_time() {
            return self.resend_lost(config, net);
        }
        let by_sack = self.recovery.sack().is_some();
        if by_sack {
            self.pump_by_sack(config, net);
        }
        !by_sack
    }

    // ---- timeouts ----

    /// RFC 5681 s.3.1 and RFC 6298 s.5.4-5.6: from the oldest segment on, in slow start.
    pub(super) fn recover_by_timeout(&mut self, first: bool, config: &Config, net: &mut Net) {
        let now = net.now;
        // RFC 5681 s.3.1: a segment lost again does not lower ssthresh again.
        if first {
            let flight = (self.high - self.half.una).min(self.half.window.bytes());
            self.congested(Congestion::Timeout, flight, config, now);
        }
        self.recovery = Recovery::AfterTimeout { point: self.high };
        self.reduced_until = self.high;
        if let LossDetection::Count(counting) = &mut self.losses {
            self.next = self.half.una;
            counting.dup_acks = 0; // tcp_timeout_mark_lost: what they reported is unknown again
            counting.guard = self.high + u64::from(!config.settings.sack);
            if !first {
                self.board.clear(); // RFC 2018 s.8: the receiver may have reneged
            }
        }
        if config.samples && !self.losses.is_by_time() {
            self.note_timeout(config, now);
        }
        self.half.rto_at = self.rto_from(now, config);
        self.resend_after_timeout(config, net);
        self.pump(config, net);
    }
}
