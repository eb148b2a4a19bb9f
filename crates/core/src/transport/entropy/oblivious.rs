//! All entropy values in turn, whatever their packets met: each once in a round, in an order that is drawn anew.
//!
//! Source: uet-htsim 40ccb05, uec_mp.cpp: a counter combined with a random mask by exclusive or.

use super::Choice;
use crate::events::random::Stream;
use shallows_units::Time;

/// The rule at work. Others count with it too.
#[derive(Debug, Clone)]
pub struct Rule {
    values: u32,
    counter: u32,
    mask: u32,
}

impl Rule {
    /// The value whose turn it is.
    pub(super) fn turn(&mut self, random: &mut Stream) -> u32 {
        let value = self.counter ^ self.mask;
        self.counter += 1;
        if self.counter == self.values {
            self.counter = 0;
            self.mask = random.below(self.values.into()) as u32;
        }
        value
    }
}

impl Choice for Rule {
    fn new(values: u32, random: &mut Stream) -> Self {
        Rule { values, counter: 0, mask: random.below(values.into()) as u32 }
    }

    fn next(&mut self, _window: u64, _now: Time, random: &mut Stream) -> u32 {
        self.turn(random)
    }
}
