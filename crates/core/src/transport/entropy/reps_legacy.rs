//! REPS as it was: each entropy value that met nothing is used again once, however many there are.
//!
//! Source: uet-htsim 40ccb05, uec_mp.cpp: the first packets of a window, or as many as there are values, count up; then the
//! oldest value that came back, or a random one.

use super::{Choice, Met};
use crate::events::random::Stream;
use shallows_units::Time;
use std::collections::VecDeque;

/// The rule at work.
#[derive(Debug, Clone)]
pub struct Rule {
    values: u32,
    sent: u32,
    good: VecDeque<u32>,
}

impl Choice for Rule {
    fn new(values: u32, _random: &mut Stream) -> Self {
        Rule { values, sent: 0, good: VecDeque::new() }
    }

    fn next(&mut self, window: u64, _now: Time, random: &mut Stream) -> u32 {
        if u64::from(self.sent) < window.min(self.values.into()) {
            self.sent += 1;
            return self.sent - 1;
        }
        self.good.pop_front().unwrap_or_else(|| random.below(self.values.into()) as u32)
    }

    fn on_feedback(&mut self, value: u32, met: Met, _now: Time) {
        if met == Met::Nothing {
            self.good.push_back(value);
        }
    }
}
