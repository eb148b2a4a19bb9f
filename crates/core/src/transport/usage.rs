//! How far a sender uses its window, as Linux remembers it over a round trip.
//!
//! Source: Linux 7.2 net/ipv4/tcp_output.c `tcp_cwnd_validate`, include/net/tcp.h `tcp_is_cwnd_limited`. A window that was
//! full once counts as full until what was outstanding then is acknowledged; in slow start one grows to twice the most
//! that was outstanding. RFC 7661 s.4.3 leaves the measure open; elsewhere here it is the last sending alone.

use super::config::Config;
use super::detection::LossDetection;
use super::resume::Resumption;
use super::sender::Sender;

/// The use of the window, since `until` was set where Linux counts it.
#[derive(Debug, Default)]
pub struct Usage {
    /// The window, not the application, ended the last sending.
    pub(super) window_limited: bool,
    /// Most bytes in flight since the last reduction, where a cap on growth asks (`rate_limited.rs`).
    pub(super) max_flight: u64,
    /// Careful resume, as long as it has a part in the window (`resume.rs`).
    pub(super) resume: Option<Box<Resumption>>,
    /// One beyond the last short segment (`snd_sml`).
    pub(super) short_end: u64,
    /// `is_cwnd_limited`.
    limited: bool,
    /// `max_packets_out`, in segments.
    most_out: u64,
    /// `cwnd_usage_seq`.
    until: u64,
}

impl Usage {
    /// Nothing is sent yet.
    pub(super) fn new(config: &Config) -> Self {
        Usage { resume: Resumption::begin(&config.settings), ..Usage::default() }
    }

    /// tcp_is_cwnd_limited: whether a window of `cwnd` segments may grow.
    pub(super) fn lets_grow(&self, slow_start: bool, cwnd: u64) -> bool {
        self.limited || (slow_start && cwnd < 2 * self.most_out)
    }
}

impl Sender {
    /// tcp_write_xmit at its end: data was to be sent, and all below `high` had been before.
    pub(super) fn note_use(&mut self, high: u64, config: &Config) {
        let sent = self.high > high;
        if !sent && self.high >= self.half.limit() {
            return;
        }
        let mss = config.rules.mss;
        let full = self.flight(config).div_ceil(mss) >= self.send_window(config) / mss;
        let limited = self.usage.window_limited || full;
        let out = self.segments_out(mss);
        let Usage { limited: before, most_out, until, .. } = self.usage;
        if (sent || limited) && (self.half.una >= until || limited || (!before && out > most_out)) {
            (self.usage.limited, self.usage.most_out, self.usage.until) = (limited, out, self.high);
        }
    }

    /// `packets_out`.
    fn segments_out(&self, mss: u64) -> u64 {
        match &self.losses {
            LossDetection::Time(rack) => rack.outstanding(),
            LossDetection::Count(_) => (self.high - self.half.una).div_ceil(mss),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux tcp_is_cwnd_limited: a window that was full may grow; in slow start one below twice the most that was out.
    #[test]
    fn slow_start_grows_to_twice_what_was_out() {
        let usage = |limited| Usage { limited, most_out: 5, ..Usage::default() };
        assert_eq!([9, 10, 11].map(|cwnd| usage(false).lets_grow(true, cwnd)), [true, false, false]);
        assert_eq!([9, 10, 11].map(|cwnd| usage(false).lets_grow(false, cwnd)), [false; 3]);
        assert_eq!([9, 11].map(|cwnd| usage(true).lets_grow(false, cwnd)), [true; 2]);
    }
}
