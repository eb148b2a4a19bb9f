//! A first slow start that ends when round trips grow, not when the queue overflows: HyStart++. HyStart as in Linux is
//! in `hystart/linux.rs`.
//!
//! Source: RFC 9406 s.4. A round trip that is longer than the last one's by a threshold ends slow start;
//! five rounds of conservative slow start (a quarter of the growth) follow, in which a round trip below
//! that of the exit shows that it was a false alarm. Round-trip times are kept in ns, in 32 bits.
//! Left out: the use beyond the first slow start, which s.4.3 advises against.

mod linux;

use crate::cc::{Ack, Cx, Window};
use linux::Train;
use shallows_units::Span;

crate::choices! {
    /// How the first slow start ends.
    pub enum SlowStart {
        /// By HyStart where CUBIC counts as Linux does (`arithmetic`), else as standard.
        Auto = "auto",
        /// By congestion, or at the slow-start threshold (RFC 5681 s.3.1).
        Standard = "standard",
        /// When acknowledgements come for half a round trip without a gap, or round trips grow (Ha and Rhee 2008; Linux).
        Hystart = "hystart",
        /// When round trips grow (RFC 9406); an acknowledgement may then add 8 segments (L, s.4.3).
        HystartPlusPlus = "hystart++",
    }
}

/// RFC 9406 s.4.3, where sending is not paced.
const L: f64 = 8.0;
/// RFC 9406 s.4.3.
const N_RTT_SAMPLE: u8 = 8;
/// RFC 9406 s.4.3.
const MIN_RTT_DIVISOR: u32 = 8;
/// RFC 9406 s.4.3: 1 / CSS_GROWTH_DIVISOR.
const CSS_GROWTH: f64 = 0.25;
/// RFC 9406 s.4.3.
const CSS_ROUNDS: u8 = 5;

/// RFC 9406's infinity.
const UNKNOWN: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// Conservative slow start.
    Css,
    Over,
}

/// The first slow start of one flow; its state stands apart, since few flows have any.
#[derive(Debug, Clone)]
pub struct FirstSlowStart(Option<Box<Detector>>);

#[derive(Debug, Clone)]
enum Detector {
    PlusPlus(HyStart),
    Linux(Train),
}

impl FirstSlowStart {
    /// At the start of a flow, with `MIN_RTT_THRESH` and `MAX_RTT_THRESH`.
    pub fn new(how: SlowStart, min_rtt_thresh: Span, max_rtt_thresh: Span) -> Self {
        let detector = match how {
            SlowStart::Auto | SlowStart::Standard => return FirstSlowStart(None),
            SlowStart::Hystart => Detector::Linux(Train::default()),
            SlowStart::HystartPlusPlus => Detector::PlusPlus(HyStart::new(min_rtt_thresh, max_rtt_thresh)),
        };
        FirstSlowStart(Some(Box::new(detector)))
    }

    /// Grows `window` on an acknowledgement.
    #[inline]
    pub fn grow(&mut self, window: &mut Window, ack: &Ack, cx: &Cx<'_>) {
        match self.0.as_deref_mut() {
            Some(Detector::PlusPlus(hystart)) => return hystart.grow(window, ack, cx),
            Some(Detector::Linux(train)) => train.on_ack(window, ack, cx),
            None => {}
        }
        window.grow(ack, cx);
    }

    /// Grows the window of an algorithm in Linux's arithmetic; returns whether it has grown.
    pub fn grow_or_detect(&mut self, window: &mut Window, ack: &Ack, cx: &Cx<'_>) -> bool {
        debug_assert!(cx.rules.arithmetic.in_segments());
        match self.0.as_deref_mut() {
            Some(Detector::PlusPlus(hystart))
                if hystart.phase != Phase::Over && window.cwnd < window.ssthresh =>
            {
                hystart.grow(window, ack, cx);
                true
            }
            Some(Detector::Linux(train)) => {
                train.on_ack(window, ack, cx);
                false
            }
            _ => false,
        }
    }

    /// Congestion has ended it.
    pub fn stop(&mut self) {
        self.0 = None;
    }

    /// Slow start begins again after a timeout: RFC 9406 s.4.3 is for the first alone, Linux's `bictcp_reset` begins anew.
    pub fn begin_again(&mut self) {
        match self.0.as_deref_mut() {
            Some(Detector::Linux(train)) => train.begin_again(),
            _ => self.stop(),
        }
    }
}

#[derive(Debug, Clone)]
struct HyStart {
    phase: Phase,
    /// `rttSampleCount`.
    samples: u8,
    /// Rounds of conservative slow start that have ended.
    css_rounds: u8,
    /// `lastRoundMinRTT`.
    last: u32,
    /// `currentRoundMinRTT`.
    current: u32,
    /// `cssBaselineMinRtt`.
    baseline: u32,
    /// `MIN_RTT_THRESH`, `MAX_RTT_THRESH`.
    thresh: (u32, u32),
}

fn ns(span: Span) -> u32 {
    u32::try_from(span.as_ps() / 1000).unwrap_or(UNKNOWN).min(UNKNOWN - 1)
}

impl HyStart {
    fn new(min_rtt_thresh: Span, max_rtt_thresh: Span) -> Self {
        HyStart {
            phase: Phase::SlowStart,
            samples: 0,
            css_rounds: 0,
            last: UNKNOWN,
            current: UNKNOWN,
            baseline: UNKNOWN,
            thresh: (ns(min_rtt_thresh), ns(max_rtt_thresh)),
        }
    }

    /// Grows `window` on an acknowledgement: by RFC 9406 as long as that is in force, else as Reno.
    fn grow(&mut self, window: &mut Window, ack: &Ack, cx: &Cx<'_>) {
        if self.phase == Phase::Over || window.cwnd >= window.ssthresh {
            self.phase = Phase::Over;
            return window.grow(ack, cx);
        }
        self.start(window, ack, cx);
    }

    /// RFC 9406 s.4.2.
    #[cold]
    fn start(&mut self, window: &mut Window, ack: &Ack, cx: &Cx<'_>) {
        if ack.round_ended {
            (self.last, self.current, self.samples) = (self.current, UNKNOWN, 0);
            if self.phase == Phase::Css {
                self.css_rounds += 1; // a part of a round counts
                if self.css_rounds == CSS_ROUNDS {
                    window.ssthresh = window.cwnd;
                    self.phase = Phase::Over;
                    return window.grow(ack, cx);
                }
            }
        }
        window.slow_start(ack, L, if self.phase == Phase::Css { CSS_GROWTH } else { 1.0 }, cx);
        let Some(rtt) = ack.rtt else { return };
        self.current = self.current.min(ns(rtt));
        self.samples = self.samples.saturating_add(1);
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        if self.phase == Phase::Css {
            if self.current < self.baseline {
                (self.phase, self.baseline) = (Phase::SlowStart, UNKNOWN);
            }
        } else if self.last != UNKNOWN {
            let thresh = (self.last / MIN_RTT_DIVISOR).min(self.thresh.1).max(self.thresh.0);
            if self.current >= self.last.saturating_add(thresh) {
                (self.phase, self.baseline, self.css_rounds) = (Phase::Css, self.current, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::tests::{ack, cx, rules};
    use super::*;

    fn start() -> (HyStart, Window) {
        (HyStart::new(Span::ms(4), Span::ms(16)), Window::new(&rules()))
    }

    /// A round of `acks` acknowledgements of a segment, each with this round-trip time.
    fn round(state: &mut (HyStart, Window), acks: u64, rtt: Span) {
        let rules = rules();
        for i in 0..acks {
            let ack = Ack { rtt: Some(rtt), round_ended: i == 0, ..ack(1000) };
            state.0.grow(&mut state.1, &ack, &cx(&rules));
        }
    }

    /// s.4.2: RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / 8, MAX_RTT_THRESH)).
    #[test]
    fn slow_start_ends_at_the_threshold_and_not_below() {
        for (base_us, thresh_us) in [(1000, 4000), (32_000, 4000), (80_000, 10_000), (200_000, 16_000)] {
            for (more_us, phase) in [(thresh_us - 1, Phase::SlowStart), (thresh_us, Phase::Css)] {
                let mut state = start();
                round(&mut state, 8, Span::us(base_us));
                round(&mut state, 8, Span::us(base_us + more_us));
                assert_eq!(state.0.phase, phase, "{base_us} us and {more_us} more");
            }
        }
    }

    /// s.4.2: only rounds with N_RTT_SAMPLE samples tell, and the least of each counts.
    #[test]
    fn a_round_needs_eight_samples_and_its_least_counts() {
        let mut state = start();
        round(&mut state, 8, Span::ms(20));
        round(&mut state, 7, Span::ms(60));
        assert_eq!(state.0.phase, Phase::SlowStart);
        let mut state = start();
        round(&mut state, 8, Span::ms(20));
        round(&mut state, 1, Span::ms(20));
        let rules = rules();
        for _ in 0..20 {
            let late = Ack { rtt: Some(Span::ms(60)), ..ack(1000) };
            state.0.grow(&mut state.1, &late, &cx(&rules));
        }
        assert_eq!(state.0.phase, Phase::SlowStart);
    }

    /// s.4.2: CSS grows by a quarter; after CSS_ROUNDS rounds, the one of the transition included,
    /// ssthresh = cwnd and congestion avoidance begins.
    #[test]
    fn conservative_slow_start_grows_by_a_quarter_for_five_rounds() {
        let mut state = start();
        round(&mut state, 8, Span::ms(20));
        round(&mut state, 8, Span::ms(24)); // the eighth sample is in; the first round of CSS
        assert_eq!(state.1.cwnd, 26_000.0);
        for _ in 2..=5 {
            let before = state.1.cwnd;
            round(&mut state, 8, Span::ms(24));
            assert_eq!(state.1.cwnd, before + 2000.0);
            assert_eq!(state.0.phase, Phase::Css);
        }
        round(&mut state, 1, Span::ms(24));
        assert_eq!((state.0.phase, state.1.ssthresh, state.1.cwnd), (Phase::Over, 34_000.0, 34_000.0));
    }

    /// s.4.2: a round trip below that of the exit shows that it was spurious; slow start goes on, and may
    /// end again.
    #[test]
    fn a_shorter_round_trip_resumes_slow_start() {
        let mut state = start();
        round(&mut state, 8, Span::ms(20));
        round(&mut state, 8, Span::ms(30));
        assert_eq!(state.0.phase, Phase::Css);
        round(&mut state, 8, Span::ms(29));
        assert_eq!(state.0.phase, Phase::SlowStart);
        round(&mut state, 8, Span::ms(33));
        assert_eq!(state.0.phase, Phase::Css);
    }

    /// s.4.3: L = 8 without pacing.
    #[test]
    fn one_acknowledgement_adds_eight_segments_at_most() {
        let (mut state, rules) = (start(), rules());
        state.0.grow(&mut state.1, &ack(20_000), &cx(&rules));
        assert_eq!(state.1.cwnd, 18_000.0);
        state.0.phase = Phase::Over;
        state.0.grow(&mut state.1, &ack(20_000), &cx(&rules));
        assert_eq!(state.1.cwnd, 20_000.0); // and the transport's limit of 2 afterwards
    }

    #[test]
    fn standard_slow_start_is_left_alone() {
        let (mut hystart, mut window) =
            (FirstSlowStart::new(SlowStart::Standard, Span::ms(4), Span::ms(16)), start().1);
        let rules = rules();
        let mut twin = window.clone();
        for i in 0..100_u64 {
            let ack = Ack { rtt: Some(Span::ms(10 * i)), round_ended: i % 10 == 0, ..ack(1000) };
            hystart.grow(&mut window, &ack, &cx(&rules));
            twin.grow(&ack, &cx(&rules));
            assert_eq!(window.cwnd, twin.cwnd);
        }
    }
}
