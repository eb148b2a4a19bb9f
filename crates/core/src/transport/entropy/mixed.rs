//! Values that met nothing are used again once; without such a value the bitmap decides.
//!
//! Source: uet-htsim 40ccb05, uec_mp.cpp, whose default it is.

use super::{Choice, Met, bitmap};
use crate::events::random::Stream;
use shallows_units::Time;
use std::collections::VecDeque;

/// The rule at work.
#[derive(Debug, Clone)]
pub struct Rule {
    good: VecDeque<u32>,
    bitmap: bitmap::Rule,
}

impl Choice for Rule {
    fn new(values: u32, random: &mut Stream) -> Self {
        Rule { good: VecDeque::new(), bitmap: Choice::new(values, random) }
    }

    fn next(&mut self, window: u64, now: Time, random: &mut Stream) -> u32 {
        self.good.pop_front().unwrap_or_else(|| self.bitmap.next(window, now, random))
    }

    fn on_feedback(&mut self, value: u32, met: Met, now: Time) {
        if met == Met::Nothing {
            self.good.push_back(value);
        }
        self.bitmap.on_feedback(value, met, now);
    }
}
