//! How windows are counted and rounded, and what follows from it: the questions in which Linux differs from the RFCs.

use crate::cc::Congestion;

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

    /// What a loss that a probe repaired is to the congestion control. Linux asks for the threshold as for marks: DCTCP's
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
