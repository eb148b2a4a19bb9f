//! The steps of the upward probe (draft s.5.3.3.9). Whole runs are in `crates/spec/tests/theory/bbr3.rs`.

use super::*;
use crate::cc::parts::window::tests::{cx, rules};
use crate::params::Params;

const MSS: f64 = 1000.0;

fn state() -> State {
    *Control::start(&Settings::defaults(), &FlowInfo::default(), &cx(&rules())).0
}

/// A full window's acknowledgement.
fn acked(newly_acked: u64) -> RateSample {
    RateSample { newly_acked, cwnd_limited: true, sack: true, ..RateSample::default() }
}

/// BBRRaiseInflightLongtermSlope: a segment for each cwnd / 2^n that is acknowledged in round n, at most one for each segment; n
/// goes up to 30.
#[test]
fn the_slope_doubles_each_round() {
    let mut state = state();
    state.cwnd = 64.0 * MSS;
    for segments in [64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 1.0] {
        state.raise_slope();
        assert_eq!(state.up_per_inc, segments * MSS);
    }
    (0..30).for_each(|_| state.raise_slope());
    assert_eq!((state.up_rounds, state.up_per_inc), (30, MSS));
}

/// A window acknowledged a round, segment by segment: the bound rises by 1, 2, 4 ... segments, from 1 to 2^n. A new probe begins anew,
/// whatever the last one left.
#[test]
fn the_bound_doubles_with_the_rounds_of_a_probe() {
    let mut state = state();
    state.cwnd = 64.0 * MSS;
    for _ in 0..2 {
        state.inflight_long = MSS;
        (state.round_start, state.up_acked) = (false, 999.0);
        state.start_refill();
        state.start_up(&acked(0));
        for round in 0..6 {
            for segment in 1..=64 {
                state.round_start = segment == 64;
                state.probe_upward(&acked(1000));
            }
            assert_eq!(state.inflight_long, MSS * f64::from(2 << round));
        }
    }
}

/// BBRProbeInflightLongtermUpward: what is acknowledged counts once, by whole steps, and the rest counts in the next.
#[test]
fn the_bound_rises_by_whole_steps_of_what_is_acknowledged() {
    let mut state = state();
    (state.cwnd, state.inflight_long, state.up_per_inc) = (64.0 * MSS, 10.0 * MSS, 4000.0);
    for (bytes, segments, rest) in
        [(3999, 10.0, 3999.0), (1, 11.0, 0.0), (10_500, 13.0, 2500.0), (1499, 13.0, 3999.0), (2, 14.0, 1.0)]
    {
        state.probe_upward(&acked(bytes));
        assert_eq!((state.inflight_long, state.up_acked), (segments * MSS, rest), "{bytes}");
    }
    assert_eq!((state.up_per_inc, state.up_rounds), (4000.0, 0), "a slope stands for its round");
}

/// "Not fully using inflight_longterm, so don't grow it": the window must have been full and must reach the bound.
#[test]
fn the_bound_rises_only_where_it_is_used() {
    let risen = |cwnd: f64, cwnd_limited: bool| {
        let mut state = state();
        (state.cwnd, state.inflight_long, state.up_per_inc) = (cwnd, 10.0 * MSS, MSS);
        state.round_start = true;
        state.probe_upward(&RateSample { cwnd_limited, ..acked(1000) });
        (state.inflight_long - 10.0 * MSS, state.up_acked, state.up_rounds)
    };
    assert_eq!(risen(10.0 * MSS, true), (MSS, 0.0, 1));
    assert_eq!(risen(10.0 * MSS + 1.0, true), (MSS, 0.0, 1));
    for (cwnd, limited) in [(10.0 * MSS - 1.0, true), (10.0 * MSS, false), (MSS, false)] {
        assert_eq!(risen(cwnd, limited), (0.0, 0.0, 0), "{cwnd} {limited}");
    }
}
