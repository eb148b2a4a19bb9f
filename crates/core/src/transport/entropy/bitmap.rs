//! All entropy values in turn, but those that met congestion are passed over for a while.
//!
//! Source: uet-htsim 40ccb05, uec_mp.cpp: a mark adds 1 to a value's penalty, a trimmed packet 4, a timeout 15, which is the most.
//! The first value with a penalty that is met for a packet loses 1 of it.

use super::{Choice, Met, oblivious};
use crate::events::random::Stream;
use shallows_units::Time;

/// The greatest penalty.
const MOST: u8 = 15;

/// The rule at work.
#[derive(Debug, Clone)]
pub struct Rule {
    turns: oblivious::Rule,
    penalties: Vec<u8>,
}

impl Choice for Rule {
    fn new(values: u32, random: &mut Stream) -> Self {
        Rule { turns: Choice::new(values, random), penalties: vec![0; values as usize] }
    }

    fn next(&mut self, _window: u64, _now: Time, random: &mut Stream) -> u32 {
        let mut value = self.turns.turn(random);
        for met in 0..self.penalties.len() {
            let penalty = &mut self.penalties[value as usize];
            if *penalty == 0 {
                break;
            }
            *penalty -= u8::from(met == 0);
            value = self.turns.turn(random);
        }
        value
    }

    fn on_feedback(&mut self, value: u32, met: Met, _now: Time) {
        let penalty = &mut self.penalties[value as usize];
        let more = match met {
            Met::Nothing => 0,
            Met::Mark => 1,
            Met::Trim => 4,
            Met::Timeout => MOST,
        };
        *penalty = (*penalty + more).min(MOST);
    }
}
