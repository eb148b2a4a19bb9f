//! The unit and rounding of windows, and the consequences: the questions in which Linux differs from the RFCs.

use crate::cc::Congestion;
use shallows_units::Span;

crate::choices! {
    /// How windows are counted and rounded.
    pub enum Arithmetic {
        /// In bytes and fractions of them.
        Exact = "exact",
        /// In whole segments, as Linux: reductions are rounded to them, Reno reduces the window and not the
        /// flight, alpha is a whole number of 1/1024, and a round ends with the acknowledgement of its last byte.
        Linux = "linux",
    }
}

/// Linux DCTCP_MAX_ALPHA.
const WHOLE: f64 = 1024.0;

impl Arithmetic {
    /// Windows and reductions are counted in whole segments.
    #[inline]
    pub fn in_segments(self) -> bool {
        self == Arithmetic::Linux
    }

    /// Whether an acknowledgement up to `una` ends the round that ends at `end`. RFC 8257 s.3.3 step 4: beyond WindowEnd;
    /// Linux `dctcp_update_alpha`: at it.
    #[inline]
    pub fn ends_round(self, una: u64, end: u64) -> bool {
        una > end || (self == Arithmetic::Linux && una == end)
    }

    /// Whether the acknowledgement that ends a reduction may grow the window (Linux `tcp_fastretrans_alert`, D).
    #[inline]
    pub fn grows_with_the_end(self) -> bool {
        self == Arithmetic::Linux
    }

    /// The start of proportional rate reduction's counts. RFC 6937 s.3: RecoverFS = snd.nxt - snd.una; Linux
    /// `tcp_init_cwnd_reduction`: prior_cwnd.
    pub fn reduces_from(self, cwnd: u64, outstanding: u64) -> u64 {
        match self {
            Arithmetic::Exact => outstanding,
            Arithmetic::Linux => cwnd,
        }
    }

    /// Whether of the data that an acknowledgement confirms by number, only the part that it is the first to report lets
    /// the window grow. RFC 3465 s.2.3 asks for that caution after a timeout alone, when an acknowledgement covers much
    /// that had arrived long before. Today's Linux counts what SACK is the first to report too: `growth = "delivered"`.
    #[inline]
    pub fn counts_what_is_new(self, after_timeout: bool) -> bool {
        after_timeout || self == Arithmetic::Linux
    }

    /// A window as it is counted, in bytes: in whole segments of `mss` where Linux counts it.
    #[inline]
    pub fn round(self, window: f64, mss: u64) -> f64 {
        match self {
            Arithmetic::Exact => window,
            Arithmetic::Linux => libm::floor(window / mss as f64) * mss as f64,
        }
    }

    /// Half of the window in use: RFC 5681 eq. (4) of the flight, Linux `tcp_reno_ssthresh` of the window.
    pub fn half(self, cwnd: f64, in_use: f64, mss: u64) -> f64 {
        match self {
            Arithmetic::Exact => in_use / 2.0,
            Arithmetic::Linux => self.share(cwnd, 0.5, mss),
        }
    }

    /// A share of `cwnd`, both as windows are counted: Linux `tcp_reno_ssthresh`, cwnd >> 1.
    pub fn share(self, cwnd: f64, share: f64, mss: u64) -> f64 {
        self.round(self.round(cwnd, mss) * share, mss)
    }

    /// `cwnd` less a share `cut` of it: Linux `dctcp_ssthresh` takes whole segments.
    pub fn less(self, cwnd: f64, cut: f64, mss: u64) -> f64 {
        match self {
            Arithmetic::Exact => cwnd * (1.0 - cut),
            Arithmetic::Linux => self.less_whole_segments(cwnd, cut, mss),
        }
    }

    /// `cwnd` less a share `cut` in whole segments. Linux `dctcp_ssthresh` counts in them and rounds the reduction down, so
    /// that a window of less than 1 / cut segments is not reduced at all. The window itself is rounded as it is counted.
    pub fn less_whole_segments(self, cwnd: f64, cut: f64, mss: u64) -> f64 {
        let (cwnd, mss) = (self.round(cwnd, mss), mss as f64);
        cwnd - libm::floor(cwnd * cut / mss) * mss
    }

    /// A running mean after `marked` of `counted`, with the weight `g`. RFC 8257 s.3.3 step 6: alpha = alpha x (1 - g) +
    /// g x M. Linux `dctcp_update_alpha`: the same in 1/1024, every product rounded down; a mean that would fall by less
    /// than one falls to 0 (`min_not_zero`), so that a mean below g^-1 / 1024 is forgotten at once.
    #[inline]
    pub fn mean(self, before: f64, g: f64, marked: u64, counted: u64) -> f64 {
        match self {
            Arithmetic::Exact => before * (1.0 - g) + g * (marked as f64 / counted as f64),
            Arithmetic::Linux => {
                let alpha = libm::floor(before * WHOLE);
                let falls = libm::floor(alpha * g);
                let rises = libm::floor(marked as f64 * (WHOLE * g) / counted as f64);
                let left = if falls == 0.0 { 0.0 } else { alpha - falls };
                (left + rises).min(WHOLE) / WHOLE
            }
        }
    }

    /// Segments that an acknowledgement may add in a slow start after a timeout, of `limit` otherwise: RFC 3465 s.2.3, L = 1;
    /// Linux `tcp_slow_start` has no limit.
    pub fn limit_after_timeout(self, limit: f64) -> f64 {
        match self {
            Arithmetic::Exact => limit.min(1.0),
            Arithmetic::Linux => limit,
        }
    }

    /// The time that a loss probe allows for the acknowledgement of a single segment (RFC 8985 `TLP.max_ack_delay`). Either
    /// every segment is acknowledged at once or the receiver may wait for `ack_delay`. Linux `tcp_schedule_loss_probe`:
    /// tcp_rto_min_us.
    pub fn single_ack_delay(self, ack_delay: Option<Span>, min_rto: Span) -> Span {
        match self {
            Arithmetic::Exact => ack_delay.unwrap_or(Span::ZERO),
            Arithmetic::Linux => min_rto,
        }
    }

    /// The congestion control's view of a loss that a probe repaired. Linux asks for the threshold as for marks: DCTCP's
    /// is by alpha.
    pub fn repaired_by_probe(self) -> Congestion {
        match self {
            Arithmetic::Exact => Congestion::Loss,
            Arithmetic::Linux => Congestion::Ecn,
        }
    }

    /// The retransmission timeout of a smoothed round trip, four variations and the least, in ps. RFC 6298 s.2.4 bounds the
    /// sum, Linux `tcp_rtt_estimator` (mdev_max) the variations.
    #[inline]
    pub fn timeout(self, srtt: u64, spread: u64, least: u64) -> u64 {
        match self {
            Arithmetic::Exact => srtt.saturating_add(spread).max(least),
            Arithmetic::Linux => srtt.saturating_add(spread.max(least)),
        }
    }
}
