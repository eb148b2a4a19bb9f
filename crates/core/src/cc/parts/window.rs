//! The window of Reno and its kin: slow start, congestion avoidance, reductions.
//!
//! Source: RFC 5681 s.3.1; RFC 3465 (appropriate byte counting). Borrowed by name by NewReno, DCTCP
//! and others, as Linux's DCTCP borrows `tcp_reno_cong_avoid`.

pub use super::arithmetic::Arithmetic;
use crate::cc::{Ack, Cx};

crate::choices! {
    /// The cause of the window's growth.
    pub enum Growth {
        /// Bytes acknowledged (RFC 3465).
        Bytes = "bytes",
        /// Bytes that an acknowledgement which moves on is the first to report, by number or by SACK (Linux
        /// `tcp_cong_control`, acked_sacked).
        Delivered = "delivered",
        /// Acknowledgements, each counted as a segment (RFC 5681 s.3.1 without byte counting; ns-2).
        Acks = "acks",
    }
}

crate::choices! {
    /// The amount that a loss halves.
    pub enum Halves {
        /// The bytes in flight (RFC 5681 eq. (4)).
        Flight = "flight",
        /// The window, used or not (ns-2 `slowdown`; Linux's arithmetic in any case).
        Window = "window",
    }
}

/// Segment size, growth rule and bounds: the same for all flows of a transport.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowRules {
    /// Payload of a full segment in bytes.
    pub mss: u64,
    /// Bytes of headers that windows count with each segment: over UEC alone.
    pub overhead: u64,
    /// First window in bytes.
    pub initial_window: f64,
    /// First slow-start threshold in bytes; infinity for none.
    pub initial_ssthresh: f64,
    /// The cause of the window's growth.
    pub growth: Growth,
    /// How windows are counted and rounded.
    pub arithmetic: Arithmetic,
    /// The amount that a loss halves.
    pub loss_halves: Halves,
    /// Most that one acknowledgement may add in slow start, in segments (RFC 3465 s.2.3 `L`).
    pub slow_start_limit: f64,
    /// Segments that leave together.
    pub burst: u64,
    /// Least window after a reduction by ECN, in bytes.
    pub cwnd_floor: f64,
    /// Least slow-start threshold, in bytes.
    pub ssthresh_floor: f64,
    /// Most window, in bytes; infinity for none.
    pub cwnd_max: f64,
    /// Window after an idle time, in bytes.
    pub restart_window: f64,
    /// Whether an idle time halves the window for each timeout, down to the restart window.
    pub idle_halves: bool,
}

/// A congestion window and its slow-start threshold, in bytes.
#[derive(Debug, Clone)]
pub struct Window {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold.
    pub ssthresh: f64,
    /// Counted towards the next segment of congestion avoidance. [`AFTER_TIMEOUT`] in a slow start that follows a
    /// timeout, where nothing is counted: one number says both, since every flow holds it.
    credit: f64,
}

const AFTER_TIMEOUT: f64 = -1.0;

impl WindowRules {
    /// The part of an acknowledgement by which the window grows, in bytes.
    #[inline]
    pub fn counted(&self, ack: &Ack) -> f64 {
        match self.growth {
            Growth::Bytes if self.arithmetic.counts_what_is_new(ack.after_timeout) => {
                ack.acked.min(ack.delivered) as f64
            }
            Growth::Bytes => ack.acked as f64,
            Growth::Delivered => ack.delivered as f64,
            Growth::Acks => self.mss as f64,
        }
    }
}

impl Window {
    /// The initial window (RFC 6928).
    pub fn new(rules: &WindowRules) -> Self {
        Window { cwnd: rules.initial_window, ssthresh: rules.initial_ssthresh, credit: 0.0 }
    }

    /// Grows on an acknowledgement, where it allows growth.
    #[inline]
    pub fn grow(&mut self, ack: &Ack, cx: &Cx<'_>) {
        if !ack.may_grow {
            return;
        }
        let mut counted = cx.rules.counted(ack);
        if self.cwnd < self.ssthresh {
            let stops = cx.rules.growth == Growth::Delivered;
            let room = if stops { self.room_in_slow_start(cx) } else { f64::INFINITY };
            if counted <= room {
                return self.slow_start(ack, cx.rules.slow_start_limit, 1.0, cx);
            }
            // Linux `tcp_slow_start` stops at ssthresh, and `tcp_reno_cong_avoid` counts the rest: an acknowledgement may
            // be the first to report many segments.
            self.cwnd += room;
            counted -= room;
        }
        // RFC 3465 s.2.1: one segment once a window has been counted.
        self.credit = self.credit.max(0.0) + counted;
        if self.credit >= self.cwnd {
            self.credit -= self.cwnd;
            self.cwnd += cx.rules.mss as f64;
        }
        self.cwnd = self.cwnd.min(cx.rules.cwnd_max);
    }

    /// Bytes between the window and ssthresh, as windows are counted.
    fn room_in_slow_start(&self, cx: &Cx<'_>) -> f64 {
        cx.rules.arithmetic.round(self.ssthresh - self.cwnd, cx.rules.mss)
    }

    /// Grows in slow start, where the acknowledgement allows growth: RFC 5681 eq. (2) with RFC 3465
    /// s.2.2's limit of `limit` segments, and of that a `share`.
    #[inline]
    pub fn slow_start(&mut self, ack: &Ack, limit: f64, share: f64, cx: &Cx<'_>) {
        if ack.may_grow {
            let limit =
                if self.credit < 0.0 { cx.rules.arithmetic.limit_after_timeout(limit) } else { limit };
            let most = limit * cx.rules.mss as f64;
            self.cwnd = (self.cwnd + share * cx.rules.counted(ack).min(most)).min(cx.rules.cwnd_max);
        }
    }

    /// Shrinks to `target`, from where congestion avoidance goes on; never grows.
    pub fn shrink(&mut self, target: f64, cx: &Cx<'_>) {
        let cwnd = target.min(self.cwnd).max(cx.rules.cwnd_floor);
        self.ssthresh = cwnd.max(cx.rules.ssthresh_floor);
        self.cwnd = cwnd;
        self.credit = 0.0;
    }

    /// RFC 5681 eq. (4): half of the flight, or as the rules say.
    pub fn on_loss(&mut self, flight: u64, cx: &Cx<'_>) {
        let in_use = match cx.rules.loss_halves {
            Halves::Flight => flight as f64,
            Halves::Window => self.cwnd,
        };
        let half = cx.rules.arithmetic.half(self.cwnd, in_use, cx.rules.mss);
        self.ssthresh = half.max(cx.rules.ssthresh_floor);
        self.cwnd = self.ssthresh;
        self.credit = 0.0;
    }

    /// RFC 5681 s.3.1, end: one segment, and slow start to half of the flight.
    pub fn on_timeout(&mut self, flight: u64, cx: &Cx<'_>) {
        self.on_loss(flight, cx);
        self.begin_again(cx);
    }

    /// RFC 5681 s.3.1, end: a timeout leaves one segment, whatever became of ssthresh.
    pub fn begin_again(&mut self, cx: &Cx<'_>) {
        self.cwnd = cx.rules.mss as f64;
        self.credit = AFTER_TIMEOUT;
    }

    /// Careful resume (RFC 9959) sets the window, and the threshold where it gives one.
    pub fn set(&mut self, cwnd: f64, ssthresh: Option<f64>) {
        self.cwnd = cwnd;
        self.ssthresh = ssthresh.unwrap_or(self.ssthresh);
        self.credit = 0.0;
    }

    /// RFC 5681 s.3.1: one segment where the SYN or the SYN+ACK was lost. ssthresh stays as high as it is.
    pub fn on_lost_syn(&mut self, cx: &Cx<'_>) {
        self.cwnd = cx.rules.mss as f64;
    }

    /// RFC 5681 s.4.1: at most the restart window after an idle time. RFC 2861 and Linux's tcp_cwnd_restart halve
    /// the window for each timeout instead, and slow start goes to three quarters of the window that stood.
    pub fn on_idle(&mut self, timeouts: u32, cx: &Cx<'_>) {
        let least = self.cwnd.min(cx.rules.restart_window);
        if cx.rules.idle_halves {
            let (mss, segments) = (cx.rules.mss as f64, (self.cwnd / cx.rules.mss as f64).floor());
            let kept = (segments / 2.0).floor() + (segments / 4.0).floor(); // tcp_current_ssthresh
            self.ssthresh = self.ssthresh.max(kept * mss);
            let halved = (1..timeouts).fold(segments, |left, _| (left / 2.0).floor());
            self.cwnd = least.max(halved * mss);
        } else {
            self.cwnd = least;
        }
        self.credit = 0.0;
    }
}

/// The questions of [`crate::cc::CongestionControl`] that a field `window` answers.
macro_rules! by_window {
    () => {
        #[inline]
        fn cwnd(&self) -> shallows_units::Bytes {
            shallows_units::Bytes(self.window.cwnd as u64)
        }

        fn ssthresh(&self) -> Option<f64> {
            Some(self.window.ssthresh)
        }

        fn grow(&mut self, ack: &crate::cc::Ack, cx: &crate::cc::Cx<'_>) {
            self.window.grow(ack, cx);
        }

        fn on_idle(&mut self, timeouts: u32, cx: &Cx<'_>) {
            self.window.on_idle(timeouts, cx);
        }

        fn on_lost_syn(&mut self, cx: &Cx<'_>) {
            self.window.on_lost_syn(cx);
        }

        fn set_window(&mut self, cwnd: f64, ssthresh: Option<f64>) {
            self.window.set(cwnd, ssthresh);
        }
    };
}
pub(crate) use by_window;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use shallows_units::{Span, Time};

    /// Rules with a segment of 1000 bytes, for arithmetic by eye.
    pub(crate) fn rules() -> WindowRules {
        WindowRules {
            mss: 1000,
            overhead: 0,
            initial_window: 10_000.0,
            initial_ssthresh: f64::INFINITY,
            growth: Growth::Bytes,
            arithmetic: Arithmetic::Exact,
            loss_halves: Halves::Flight,
            slow_start_limit: 2.0,
            burst: 1,
            cwnd_floor: 1000.0,
            ssthresh_floor: 2000.0,
            cwnd_max: f64::INFINITY,
            restart_window: 10_000.0,
            idle_halves: false,
        }
    }

    /// An acknowledgement of `acked` bytes.
    pub(crate) fn ack(acked: u64) -> Ack {
        let srtt = Span::us(100);
        let (ece, round_ended, may_grow) = (false, false, true);
        Ack {
            acked,
            delivered: acked,
            ece,
            marked: 0,
            round_ended,
            may_grow,
            after_timeout: false,
            rtt: None,
            srtt,
            flight: 0,
            sent: 0,
        }
    }

    /// An acknowledgement of `acked` bytes, with ECN-Echo if `ece`.
    pub(crate) fn echo(acked: u64, ece: bool) -> Ack {
        Ack { ece, marked: if ece { acked } else { 0 }, ..ack(acked) }
    }

    /// The context with `rules`.
    pub(crate) fn cx(rules: &WindowRules) -> Cx<'_> {
        Cx { now: Time::ZERO, rules }
    }

    #[test]
    fn slow_start_doubles_each_round_with_or_without_delayed_acks() {
        for segments_per_ack in [1, 2] {
            let rules = rules();
            let mut window = Window::new(&rules);
            for _ in 0..10 / segments_per_ack {
                window.grow(&ack(1000 * segments_per_ack), &cx(&rules));
            }
            assert_eq!(window.cwnd, 20_000.0);
        }
    }

    #[test]
    fn one_ack_adds_at_most_the_limit_in_slow_start() {
        let rules = rules();
        let mut window = Window::new(&rules);
        window.grow(&ack(8000), &cx(&rules));
        assert_eq!(window.cwnd, 12_000.0);
    }

    // req: RFC5681 s3.1 SHOULD avoidance-once-a-round
    // req: RFC5681 s3.1 MUST avoidance-at-most-one
    #[test]
    fn avoidance_adds_one_segment_a_window() {
        let rules = rules();
        let mut window = Window { cwnd: 10_000.0, ssthresh: 5000.0, ..Window::new(&rules) };
        for _ in 0..10 {
            assert_eq!(window.cwnd, 10_000.0);
            window.grow(&ack(1000), &cx(&rules));
        }
        assert_eq!(window.cwnd, 11_000.0);
    }

    #[test]
    fn counting_acks_ignores_how_much_they_acknowledge() {
        let rules = WindowRules { growth: Growth::Acks, ..rules() };
        let mut window = Window { cwnd: 4000.0, ssthresh: 2000.0, ..Window::new(&rules) };
        for _ in 0..4 {
            window.grow(&ack(2000), &cx(&rules));
        }
        assert_eq!(window.cwnd, 5000.0);
    }

    // req: RFC5681 s3.1 MUST timeout-ssthresh
    // req: RFC5681 s3.1 MUST loss-window
    // req: RFC5681 s3.1 MUST ssthresh-reduced
    #[test]
    fn loss_halves_the_flight_and_a_timeout_leaves_one_segment() {
        let rules = rules();
        let mut window = Window::new(&rules);
        window.on_loss(8000, &cx(&rules));
        assert_eq!((window.cwnd, window.ssthresh), (4000.0, 4000.0));
        window.on_timeout(3000, &cx(&rules));
        assert_eq!((window.cwnd, window.ssthresh), (1000.0, 2000.0));
        // ns-2 `slowdown`: of the window, of which less was in use.
        let rules = WindowRules { loss_halves: Halves::Window, ..rules };
        let mut window = Window::new(&rules);
        window.on_loss(8000, &cx(&rules));
        assert_eq!((window.cwnd, window.ssthresh), (5000.0, 5000.0));
    }

    /// RFC 3465 s.2.3: the acknowledgement of the segment sent again covers data that the receiver held already. It adds
    /// L = 1 segment, whatever L is elsewhere; so does each until the window has reached ssthresh.
    #[test]
    fn after_a_timeout_slow_start_adds_one_segment_an_acknowledgement() {
        let rules = WindowRules { slow_start_limit: 100.0, ..rules() };
        let mut window = Window::new(&rules);
        window.on_timeout(10_000, &cx(&rules));
        let covers = Ack { delivered: 1000, after_timeout: true, ..ack(100_000) };
        let steps = [covers, ack(2000), ack(2000), ack(2000)].map(|ack| {
            window.grow(&ack, &cx(&rules));
            window.cwnd
        });
        assert_eq!(steps, [2000.0, 3000.0, 4000.0, 5000.0]);
        window.grow(&Ack { after_timeout: true, delivered: 1000, ..ack(100_000) }, &cx(&rules));
        assert_eq!((window.cwnd, window.credit), (5000.0, 1000.0)); // avoidance counts new data too
        window.ssthresh = f64::INFINITY;
        window.grow(&ack(2000), &cx(&rules));
        assert_eq!(window.cwnd, 7000.0); // a later slow start is any other
    }

    /// Linux `tcp_cong_control` passes acked_sacked on, the segments that an acknowledgement is the first to report.
    /// `tcp_slow_start` stops at ssthresh and `tcp_reno_cong_avoid` counts the rest in `tcp_cong_avoid_ai`.
    #[test]
    fn all_that_an_acknowledgement_is_the_first_to_report_can_count() {
        let grown = |growth, window: &Window, acked, delivered| {
            let rules =
                WindowRules { growth, arithmetic: Arithmetic::Linux, slow_start_limit: 1e6, ..rules() };
            let mut window = window.clone();
            window.grow(&Ack { delivered, ..ack(acked) }, &cx(&rules));
            (window.cwnd, window.credit)
        };
        let avoiding = Window { cwnd: 10_000.0, ssthresh: 5000.0, credit: 8000.0 };
        // One segment by number and one by SACK complete a window of ten after eight.
        assert_eq!(grown(Growth::Bytes, &avoiding, 1000, 2000), (10_000.0, 9000.0));
        assert_eq!(grown(Growth::Delivered, &avoiding, 1000, 2000), (11_000.0, 0.0));
        // 4 of 5 segments acknowledged had been reported before: SACK's do not count twice.
        assert_eq!(grown(Growth::Delivered, &avoiding, 5000, 1000), (10_000.0, 9000.0));
        // 4 of 6 reported bring the window to ssthresh.
        let slow = Window { cwnd: 10_000.0, ssthresh: 14_000.0, credit: AFTER_TIMEOUT };
        assert_eq!(grown(Growth::Delivered, &slow, 1000, 4000), (14_000.0, AFTER_TIMEOUT));
        assert_eq!(grown(Growth::Delivered, &slow, 1000, 6000), (14_000.0, 2000.0));
        assert_eq!(grown(Growth::Bytes, &slow, 6000, 6000), (16_000.0, AFTER_TIMEOUT));
    }

    /// RFC 3465 s.2.1 counts the bytes that are newly acknowledged, of which some may have been reported by SACK before. s.2.3 asks for
    /// more caution after a timeout alone, Linux always. Counting acknowledgements takes each for a segment.
    #[test]
    fn what_sack_reported_before_counts_where_no_caution_is_asked_for() {
        let counted = |growth, arithmetic, after_timeout| {
            let rules = WindowRules { growth, arithmetic, ..rules() };
            rules.counted(&Ack { delivered: 3000, after_timeout, ..ack(5000) })
        };
        use Arithmetic::{Exact, Linux};
        assert_eq!(counted(Growth::Bytes, Exact, false), 5000.0);
        assert_eq!(counted(Growth::Bytes, Exact, true), 3000.0);
        assert_eq!([false, true].map(|after| counted(Growth::Bytes, Linux, after)), [3000.0; 2]);
        assert_eq!([Exact, Linux].map(|each| counted(Growth::Delivered, each, false)), [3000.0; 2]);
        assert_eq!([Exact, Linux].map(|each| counted(Growth::Acks, each, true)), [1000.0; 2]);
        // More was delivered than is acknowledged by number: SACK is the first to report it, and it does not count twice.
        let rules = WindowRules { arithmetic: Linux, ..rules() };
        assert_eq!(rules.counted(&Ack { delivered: 9000, ..ack(5000) }), 5000.0);
    }

    /// Linux `tcp_reno_ssthresh`: max(cwnd >> 1, 2), of a window of which less may be in use.
    #[test]
    fn in_linuxs_arithmetic_a_loss_halves_the_window_in_whole_segments() {
        let rules = WindowRules { arithmetic: Arithmetic::Linux, ..rules() };
        let mut window = Window::new(&rules);
        for (cwnd, half) in [(11_000.0, 5000.0), (11_900.0, 5000.0), (3000.0, 2000.0)] {
            window.cwnd = cwnd;
            window.on_loss(4000, &cx(&rules));
            assert_eq!((window.cwnd, window.ssthresh), (half, half));
        }
    }

    /// Linux tcp_cwnd_restart: 110 segments leave a threshold of 55 + 27, unless it was higher.
    #[test]
    fn an_idle_time_that_halves_keeps_three_quarters_as_the_threshold() {
        let rules = WindowRules { idle_halves: true, ..rules() };
        let cx = Cx { now: Time::ZERO, rules: &rules };
        for (ssthresh, left) in [(20_000.0, 82_000.0), (90_000.0, 90_000.0), (f64::INFINITY, f64::INFINITY)] {
            let mut window = Window { cwnd: 110_000.0, ssthresh, credit: 0.0 };
            window.on_idle(3, &cx);
            assert_eq!((window.cwnd, window.ssthresh), (27_000.0, left));
        }
    }

    #[test]
    fn the_window_stays_within_its_bounds() {
        let rules = WindowRules { cwnd_max: 10_500.0, ..rules() };
        let mut window = Window::new(&rules);
        window.grow(&ack(1000), &cx(&rules));
        assert_eq!(window.cwnd, 10_500.0);
        window.shrink(10.0, &cx(&rules));
        assert_eq!((window.cwnd, window.ssthresh), (1000.0, 2000.0));
    }
}
